"""Programs that use the kernel pack: results, and behaviour in several processes and threads."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import flambeau as torch
from flambeau.backend import find
from flambeau_backends.numpy.packs import kernels as numpy_kernels

nn = torch.nn


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done


TRAINING = """
import flambeau as torch
torch.manual_seed(0)
nn = torch.nn
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3),
                      nn.GELU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(3200, 300), nn.LayerNorm(300), nn.Linear(300, 10))
x, y = torch.randn(16, 3, 24, 24), torch.randint(10, (16,))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def test_training_as_without_the_pack():
    ours, plain = (python(TRAINING, **variables).stdout.split() for variables in ({}, {"FLAMBEAU_PLUGINS": ""}))
    np.testing.assert_allclose([*map(float, ours)], [*map(float, plain)], rtol=1e-3)


def test_conformance():
    """Run the conformance kit with compiled kernels also for small arrays."""
    kit = "from flambeau.conformance import run; failures = [each for family in run('numpy') for each in family.failures]"
    python(f"{kit}; assert not failures, '\\n'.join(failures)", FLAMBEAU_FAST_LEAST="1", OMP_NUM_THREADS="1")


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True}, {"amsgrad": True}])
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.AdamW])
def test_adam(optimizer, options, monkeypatch):
    start, slopes = torch.randn(200, 100), [torch.randn(200, 100) for _ in range(3)]

    def trained():
        param = nn.Parameter(start.clone())
        stepper = optimizer([param], lr=0.01, **options)
        for param.grad in slopes:
            stepper.step()
        return param.detach()

    ours = trained()
    backend = find("numpy")
    monkeypatch.setattr(backend, "all_kernels", {**backend.all_kernels, "adam_step": numpy_kernels.KERNELS["adam_step"]})
    torch.testing.assert_close(ours, trained())
    monkeypatch.setattr(
        backend, "all_kernels", {name: function for name, function in backend.all_kernels.items() if name != "adam_step"}
    )
    torch.testing.assert_close(ours, trained())


# --- processes and threads ---


def test_operations_do_not_import_numba():
    python(
        "import sys, flambeau as torch; x = torch.randn(300, 300, requires_grad=True); (torch.relu(x) @ x).sum().backward();"
        "torch.optim.Adam([x]).step(); assert 'flambeau_fast._kernels' in sys.modules and 'numba' not in sys.modules"
    )


@pytest.mark.parametrize("processor", ["amx", "avx512_bf16", "avx512", "avx2", "plain"])
def test_other_processors(processor):
    """A kernel variant that this processor does not support is replaced by the best supported one."""
    from flambeau_fast.kernels import kernels

    names = ("plain", "avx2", "avx512", "avx512_bf16", "amx")
    here = names.index(kernels.processor)
    ran = python("import flambeau_fast.__main__ as main; main.main()", FLAMBEAU_FAST_CPU=processor).stdout
    assert f"{names[min(here, names.index(processor))]} kernels" in ran if os.uname().machine == "x86_64" else "plain" in ran


def test_a_forked_child_computes():
    python(
        "import os, flambeau as torch; x = torch.full((500, 500), 0.5); torch.tanh(x); x @ x\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if abs(torch.tanh(x).sum().item() / 250000 - 0.46211716) < 1e-5 and (x @ x)[0, 0] == 125 else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0"
    )


def test_several_threads_at_once():
    x = torch.randn(300, 400)
    expected = torch.tanh(x @ x.T)
    wrong = []

    def work():
        for _ in range(20):
            if not torch.equal(torch.tanh(x @ x.T), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("stride", [16, 17])
def test_depthwise_convolution_with_a_large_stride(stride):
    """The pack computes horizontal strides up to 16; NumPy computes larger ones."""
    x, weight = torch.randn(2, 5, 7, 60, requires_grad=True), torch.randn(5, 1, 3, 4, requires_grad=True)
    options = {"stride": (2, stride), "padding": (1, 3)}
    together = nn.functional.conv2d(x, weight, groups=5, **options)
    separate = torch.cat([nn.functional.conv2d(x[:, i : i + 1], weight[i : i + 1], **options) for i in range(5)], 1)
    torch.testing.assert_close(together, separate)
    grad = torch.randn(together.shape)
    for ours, expected in zip(
        torch.autograd.grad(together, (x, weight), grad), torch.autograd.grad(separate, (x, weight), grad), strict=True
    ):
        torch.testing.assert_close(ours, expected)


def test_rows_whose_variance_overflows_are_nan_in_plans():
    model, x = nn.Sequential(nn.Linear(16, 70), nn.LayerNorm(70), nn.Linear(70, 16)).eval(), torch.randn(20, 16)
    compiled = torch.compile(model)
    with torch.no_grad():
        for _ in range(4):
            compiled(x)
        x[3] *= 1e25
        rows = compiled(x).isnan()
    assert compiled.__dict__["_compiled_call"].programs[0].inference is not None
    assert rows[3].all() and rows.sum() == 16

"""flambeau on JAX: the conformance kit, compilation, training."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy
import pytest
from flambeau_jax.compiled import Compiled, Programs

import flambeau as torch
from flambeau.conformance import FAMILIES, run


@pytest.mark.parametrize("family", FAMILIES)
def test_conformance(family):
    """XLA compiles for every shape: the first run is slow, later runs use the cache."""
    (report,) = run("jax", [family])
    assert not report.failures, "\n".join(report.failures)


# --- compilation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 4, 5, 8, 9, 30])
def test_the_programs_used_last_are_kept(count):
    programs = Programs(4)
    for number in range(count):
        programs.put(number, str(number))
    assert [programs.get(number) for number in range(count)[-4:]] == [str(number) for number in range(count)[-4:]]
    assert len(programs.young) + len(programs.old) <= 8 and programs.get(count - 9) is None
    programs.forget()
    assert programs.get(count - 1) is None


def counted(forward):
    """Return a compiled forward, and a list to which each trace of the forward appends an item."""
    traced = []

    def counting(*args, **kwargs):
        traced.append(args)
        return forward(*args, **kwargs)

    return Compiled("counting", counting), traced


def test_a_program_is_compiled_once_for_each_shape_and_parameter():
    kernel, traced = counted(lambda x, /, dim, keepdim=False: jnp.sum(x, axis=dim, keepdims=keepdim))
    x = jnp.ones((2, 3))
    for _ in range(3):
        assert kernel(x, 1).shape == (2,) and kernel(x, [0, 1], keepdim=True).shape == (1, 1)
    assert len(traced) == 2
    kernel(jnp.ones((4, 3)), 1)
    kernel(x.astype("float32"), 1)
    assert len(traced) == 4


def test_floats_are_no_parameters_to_compile_for():
    kernel, traced = counted(lambda x, /, rate: x * rate)
    for rate in (0.1, 0.2, 0.3):
        result = kernel(jnp.ones(2, "float32"), rate)
        assert result.dtype == jnp.float32 and jnp.allclose(result, rate)
    assert len(traced) == 1


def test_a_forward_that_decides_by_a_float_is_compiled_for_each():
    kernel, traced = counted(lambda x, /, p: jnp.abs(x) if p == 1.0 else x**p)
    for _ in range(2):
        assert kernel(jnp.full(2, -3.0), 1.0).tolist() == [3, 3] and kernel(jnp.full(2, -3.0), 2.0).tolist() == [9, 9]
    assert len(traced) == 3  # one trace per float, and a first one that failed because the float was traced


def test_a_forward_that_looks_into_arrays_is_not_compiled():
    kernel, traced = counted(lambda x: x + 1 if bool(jnp.all(x > 0)) else x - 1)
    assert kernel(jnp.ones(1)).tolist() == [2] and kernel(-jnp.ones(1)).tolist() == [-2]
    assert len(traced) == 3


def test_slices_and_arrays_may_be_inside_of_parameters():
    kernel, traced = counted(lambda x, /, index: x[index])
    for start in (0, 1):
        assert kernel(jnp.arange(4), (slice(1, 3),)).tolist() == [1, 2]
        assert kernel(jnp.arange(4), (jnp.asarray([start, 3]),)).tolist() == [start, 3]
    assert len(traced) == 2


def test_learning_rates_that_change_compile_nothing():
    x = torch.nn.Parameter(torch.ones(7, device="jax"))
    optimizer = torch.optim.Adam([x], lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step():
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
        scheduler.step()

    for _ in range(3):
        step()
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    for _ in range(3):
        step()
    assert not compiled


def test_where_an_index_begins_compiles_nothing():
    x = torch.arange(20, device="jax").view(4, 5)

    def use(row, start):
        y = x.clone()
        y[row] = 7
        y[:, start : start + 2] = -1
        y[row, start::3][:1] = 9
        return y[row], y[:, start : start + 2], y

    use(0, 0), use(1, 1)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    for row, start in ((2, 1), (-1, 1)):
        there = torch.arange(20).view(4, 5)
        there[row] = 7
        there[:, start : start + 2] = -1
        there[row, start::3][:1] = 9
        row_found, columns, whole = use(row, start)
        assert whole.tolist() == there.tolist() and row_found.tolist() == there[row].tolist()
        assert columns.tolist() == there[:, start : start + 2].tolist()
    assert not compiled


def test_arrays_from_the_host_and_full_ones_compile_nothing():
    def create(rows, columns):
        array = numpy.ones((rows, columns), "float32")
        return [
            torch.tensor(array, device="jax"),
            torch.full(array.shape, 1.0, device="jax"),
            torch.ones(array.shape, device="jax"),
        ]

    create(2, 3)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    created = create(31, 37)
    assert not compiled and all(tensor.cpu().eq(1).all() and tensor.shape == (31, 37) for tensor in created)


def test_losses_of_classes_are_compiled_and_refuse_other_classes():
    logits = torch.tensor([[1.0, 2, 3], [0, 1, 0]], device="jax", requires_grad=True)
    right, ignored = torch.tensor([2, 0], device="jax"), torch.tensor([2, -100], device="jax")
    first, second = torch.nn.functional.cross_entropy(logits, right), torch.nn.functional.cross_entropy(logits, ignored)
    (first + second).backward()
    there = logits.detach().cpu().double().requires_grad_()
    expected = [torch.nn.functional.cross_entropy(there, target.cpu()) for target in (right, ignored)]
    sum(expected).backward()
    assert first.item() == pytest.approx(expected[0].item()) and second.item() == pytest.approx(expected[1].item())
    torch.testing.assert_close(logits.grad.cpu().double(), there.grad, rtol=1e-5, atol=1e-6)
    for target in ([3, 0], [-1, 0]):
        with pytest.raises(IndexError, match="out of bounds"):
            torch.nn.functional.cross_entropy(logits, torch.tensor(target, device="jax"))
    with pytest.raises(IndexError):
        torch.nn.functional.embedding(torch.tensor([3], device="jax"), logits)


def test_tensors_do_not_share_memory_that_others_write_to():
    memory = numpy.zeros(1 << 20, "float32")
    x = torch.tensor(memory, device="jax")
    memory[:] = 1
    assert x.sum().item() == 0


def test_many_tensors_are_joined():
    parts = [torch.full((2, 3), float(n), device="jax") for n in range(40)]
    assert torch.stack(parts, 1).shape == (2, 40, 3) and torch.stack(parts, 1)[1, :, 2].tolist() == list(range(40))
    assert torch.cat(parts, 1)[0, ::3].tolist() == list(range(40)) and torch.stack(parts[:1]).shape == (1, 2, 3)


@pytest.mark.parametrize("groups, stride, padding, dilation", [(1, 1, 0, 1), (2, 2, 1, 1), (1, 3, 2, 2)])
def test_convolutions_are_those_on_the_cpu(groups, stride, padding, dilation):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, 9, 8), torch.randn(6, 4 // groups, 3, 2)
    results = []
    for place in ("cpu", "jax"):
        a, w = (tensor.clone().to(place).requires_grad_() for tensor in (x, weight))
        output = torch.nn.functional.conv2d(a, w, None, stride, padding, dilation, groups)
        back = torch.nn.functional.conv_transpose2d(output, w, None, stride, padding, 0, groups, dilation)
        (back * back).sum().backward()
        results.append([tensor.detach().cpu() for tensor in (output, back, a.grad, w.grad)])
    for there, here in zip(*results, strict=True):
        torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-3)


# --- programs -------------------------------------------------------------------------------------------------------


def test_selected_by_the_environment(tmp_path):
    code = "import torch; x = torch.randn(2, requires_grad=True); (x * x).sum().backward(); print(x.device, x.grad.device)"
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", "-c", code],
        env={**os.environ, "FLAMBEAU_BACKEND": "jax"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["jax:0", "jax:0"]


DIGITS = """
import torch, torch.nn.functional as F
from torch import nn
from torchvision.datasets import UCIDigits

def digits(train):
    data = UCIDigits(train=train)
    return data.data.unsqueeze(1).float() / 255, data.targets

torch.manual_seed(0)
(images, targets), (held_out, truth) = digits(True), digits(False)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for batch in torch.randperm(len(images))[:1280].split(32):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), targets[batch]).backward()
        optimizer.step()
with torch.no_grad():
    print((model(held_out).argmax(1) == truth).float().mean().item(), model[0].weight.device)
"""


def test_the_digits_are_learnt(tmp_path):
    path = tmp_path / "digits.py"
    path.write_text(DIGITS)
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", str(path)],
        env={**os.environ, "FLAMBEAU_BACKEND": "jax"},
        capture_output=True,
        text=True,
        check=True,
    )
    accuracy, device = done.stdout.split()
    assert float(accuracy) > 0.9 and device == "jax:0"

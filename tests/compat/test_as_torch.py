"""How libraries detect `torch` when it is flambeau: versions, metadata, specs and environment variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.__name__, nn.functional.__name__, torchvision.__name__", "torch torch.nn.functional torchvision"),
        ("torch.Tensor, torch.Size, torch.dtype, torch.device", "<class 'torch.Tensor'> <class 'torch.Size'> <class 'torch.dtype'> "
         "<class 'torch.device'>"),
        ("nn.Linear, nn.Parameter", "<class 'torch.nn.modules.linear.Linear'> <class 'torch.nn.parameter.Parameter'>"),
        ("nn.Softmax.__module__, nn.AdaptiveAvgPool2d.__module__, nn.LSTMCell.__module__, nn.MultiheadAttention.__module__",
         "torch.nn.modules.activation torch.nn.modules.pooling torch.nn.modules.rnn torch.nn.modules.activation"),
        ("torch.optim.lr_scheduler.StepLR, torch.optim.Adafactor",
         "<class 'torch.optim.lr_scheduler.StepLR'> <class 'torch.optim.Adafactor'>"),
        ("torch.distributions.AffineTransform.__module__, torch.save.__module__, torch.utils.checkpoint.CheckpointPolicy.__module__",
         "torch.distributions.transforms torch.serialization torch.utils.checkpoint"),
        ("torch.add.__module__, torch.einsum.__module__, torch.linalg.inv.__module__", "torch torch.functional torch._C._linalg"),
        ("torch.linalg.inv.__name__, torch.fft.rfft.__name__", "linalg_inv fft_rfft"),
        ("torch.clip.__name__, torch.concat.__name__, torch.absolute.__name__", "clip concat absolute"),
        ("nn.functional.relu.__module__, torch.optim.Adam.__module__", "torch.nn.functional torch.optim.adam"),
        ("[pickle.loads(pickle.dumps(each)) is each for each in (nn.Softmax, torch.optim.lr_scheduler.StepLR, torch.save)]",
         "[True, True, True]"),
        ("pickle.loads(pickle.dumps(nn.Linear)) is nn.Linear, pickle.loads(pickle.dumps(torch.linalg.inv)) == torch.linalg.inv", "True True"),
        ("hasattr(torch.ones(1), '__array_namespace__')", "False"),
        ("[pickle.loads(pickle.dumps(each)) is each for each in (torch.bool, torch.float32)]", "[True, True]"),
        ("sys.modules[nn.Linear.__module__] is nn.modules.linear, torch.nn is sys.modules['flambeau_nnlib.nn']", "True True"),
    ],
)  # fmt: skip
def test_names(expression: str, expected: str) -> None:
    code = f"import torch, torchvision, pickle, sys; from torch import nn; print({expression})"
    assert run("-m", "flambeau", "-c", code).strip() == expected


def test_under_its_own_name_flambeau_keeps_its_names() -> None:
    code = "import flambeau as f; print(f.__name__, f.Tensor, f.nn.Linear.__module__, f.linalg.inv.__module__, f.add.__module__)"
    assert run("-c", code).split() == ["flambeau", "<class", "'flambeau.Tensor'>", "flambeau_nnlib.nn.modules.linear",
                                       "flambeau.linalg", "flambeau"]  # fmt: skip


SCRIPT = """
import io, torch
from torch.fft import fftn
from torch.linalg import inv

def function(x):
    return inv(x) + torch.real(fftn(x, s=(2, 2), dim=(0, 1))) + torch.special.erf(x)

file = io.BytesIO()
torch.jit.save(torch.jit.script(function), file)
file.seek(0)
print(torch.equal(torch.jit.load(file)(2 * torch.eye(2)), function(2 * torch.eye(2))))

nn = torch.nn
layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ConvTranspose2d(2, 1, 2), nn.Flatten(2), nn.LSTM(16, 3, batch_first=True)).eval()
file = io.BytesIO()
torch.jit.save(torch.jit.script(layers), file)
file.seek(0)
x = torch.randn(1, 1, 5, 5)
print(torch.equal(torch.jit.load(file)(x)[0], layers(x)[0]))
"""


def test_scripts_know_functions_and_layers_by_the_names_of_torch(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    assert run("-m", "flambeau", str(tmp_path / "script.py")).split() == ["True", "True"]


def test_modules_are_loaded_once_by_whichever_name_comes_first() -> None:
    code = (
        "import torch.nn.utils.rnn as a, flambeau.nn.utils.rnn as b, flambeau_nnlib.nn.utils.rnn as c;"
        "import flambeau.optim.sgd as d, torch.optim.sgd as e; print(a is b, b is c, d is e)"
    )
    assert run("-m", "flambeau", "-c", code).split() == ["True"] * 3


EVERY_MODULE = """
import importlib, pkgutil

def load(name):
    parent, _, child = name.rpartition(".")
    try:
        exec(f"from {parent} import {child}" if parent else f"import {name}", {})
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("flambeau"):
            raise
        return 0  # CuPy is not there
    parts = [found.name for folder in getattr(module, "__path__", ()) for found in pkgutil.iter_modules([folder])]
    return 1 + sum(load(f"{name}.{part}") for part in parts if part != "__main__")

print(*map(load, ("flambeau", "flambeau_nnlib", "flambeau_vision", "flambeau_backends")))
"""


def test_every_module_is_imported_from_its_package() -> None:
    counts = [int(count) for count in run("-m", "flambeau", "-c", EVERY_MODULE).split()]
    assert min(counts) > 5 and sum(counts) > 500


def test_modules_that_pytorch_does_not_have_keep_their_names() -> None:
    code = "import flambeau_nnlib.notebooks as n, functorch, importlib.util as u; print(n.__name__, functorch.__name__, u.find_spec('torch.functorch'))"
    assert run("-m", "flambeau", "-c", code).split() == ["flambeau_nnlib.notebooks", "functorch", "None"]


def test_operators_of_torchvision_are_exported_by_either_name() -> None:
    code = """
import torch, torchvision
class Kept(torch.nn.Module):
    def forward(self, boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.5)
boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2], [3, 3, 4, 4]])
graph = torch.export.export(Kept(), (boxes, torch.ones(3))).graph
print([str(node.target) for node in graph.nodes if node.op == "call_function"])
"""
    assert run("-m", "flambeau", "-c", code).strip() == "['torchvision.nms.default']"


def test_distributions() -> None:
    code = """
import importlib.metadata as metadata, torch, importlib.util
assert metadata.version("torch") == metadata.version("Torch") == torch.__version__
assert metadata.version("torchvision").startswith("0.")
assert metadata.distribution("torch").name == "torch" and metadata.requires("torch") == ["flambeau"]
assert set(metadata.packages_distributions()["torch"]) == {"torch"}
assert [each.version for each in metadata.distributions(name="torch")] [0] == torch.__version__
assert importlib.util.find_spec("torch") is not None
try:
    metadata.version("torchaudio-of-nobody")
except metadata.PackageNotFoundError:
    print("as expected")
"""
    assert run("-m", "flambeau", "-c", code) == "as expected\n"


def test_distributions_of_the_backport() -> None:
    if run("-c", "import importlib.util as u; print(u.find_spec('importlib_metadata') is None)") == "True\n":
        pytest.skip("importlib_metadata is not installed")  # `import setuptools` lets this process import a copy
    code = (
        "import importlib_metadata as m, torch; found = m.distribution('torch');"
        "print(m.version('torch') == torch.__version__, found.metadata['Name'], found.requires, m.version('torchvision')[:4])"
    )
    assert run("-m", "flambeau", "-c", code).split() == ["True", "torch", "['flambeau']", "0.28"]


def test_a_saved_module_has_pytorchs_names() -> None:
    code = """
import io, torch
file = io.BytesIO()
torch.save(torch.nn.Linear(2, 3), file)
assert b"ctorch.nn" in file.getvalue() and b"flambeau" not in file.getvalue()
file.seek(0)
print(torch.load(file, weights_only=False))
"""
    assert run("-m", "flambeau", "-c", code) == "Linear(in_features=2, out_features=3, bias=True)\n"


@pytest.mark.parametrize(("value", "expected"), [("1", "torch"), ("0", "nothing"), ("", "nothing")])
def test_the_environment_makes_any_python_run_on_flambeau(value: str, expected: str, tmp_path: Path) -> None:
    """Run the line of `flambeau_as_torch.pth`, which `site` executes at startup."""
    (line,) = (ROOT / "core/flambeau_as_torch.pth").read_text(encoding="utf-8").splitlines()
    assert line.startswith("import ")  # `site` treats other lines as paths
    code = f"{line}\nimport sys\nprint(sys.modules['flambeau'].__name__ if 'flambeau' in sys.modules else 'nothing')"
    assert run("-c", code, FLAMBEAU_AS_TORCH=value).strip() == expected


def test_products_of_sparse_tensors() -> None:
    code = "import torch; s = 2 * torch.eye(2).to_sparse(); print((s @ torch.ones(2, 1)).tolist(), (s * s).to_dense().tolist())"
    assert run("-m", "flambeau", "-c", code) == "[[2.0], [2.0]] [[4.0, 0.0], [0.0, 4.0]]\n"

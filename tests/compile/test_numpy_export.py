"""Export models to Python files that only need NumPy, and the command that writes them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from export_models import LeNet, models
from flambeau.export.numpy_files import save_numpy

import flambeau as torch
from flambeau import nn
from flambeau.export import Dim, export
from flambeau.nn import functional as F
from flambeau.utils import _pytree as pytree


def assert_file_agrees(model, path, *args):
    """Run an exported file and compare its results with the model's."""
    names = {"__file__": str(path), "__name__": "written"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    results = pytree.tree_leaves(names["Model"]()(*(arg.numpy() for arg in args)))
    expected = pytree.tree_leaves(model(*args))
    for result, wanted in zip(results, expected, strict=True):
        wanted = wanted.detach().numpy()
        assert result.dtype == wanted.dtype and result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "resnet18", "lstm", "gru", "sentences", "vit", "detector", "detector with nms"])
def test_models(name, tmp_path):
    torch.manual_seed(0)
    model, x = models()[name]
    model.eval()
    path, _ = save_numpy(export(model, (x,), dynamic_shapes=({0: Dim("batch")},)), tmp_path)
    assert_file_agrees(model, path, torch.cat([x, x[:1]]))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.npz", "model.py"]
    if name != "vit" and name != "resnet18" and name not in ("lstm", "gru"):
        assert "# export_models.py:" in path.read_text()


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


torch.manual_seed(0)
X, Y, P = torch.randn(4, 6), torch.randn(4, 6), torch.rand(4, 6) + 0.5
INDEX, IMAGE = torch.randint(0, 6, (4, 3)), torch.randn(4, 6, 8, 8)
OPERATORS = {
    "arithmetic": (lambda x, y: (x + y, x - 2 * y, x / y, 1 / x, 2 - x, -x, x**2, 2**x, torch.add(x, y, alpha=3), x // y, x % y), X, P),
    "whole_numbers": (lambda i: (i / 2, i - 0.5, i.float().sqrt(), i.sqrt(), i * 1.5, i.float() + i.double(), i.sum(), i & 3), INDEX),
    "functions": (lambda x: (x.exp(), x.log(), x.rsqrt(), x.erf(), x.sigmoid(), x.abs(), x.log1p(), x.reciprocal()), P),
    "activations": (
        lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.elu(x),
                   F.leaky_relu(x, 0.2), F.celu(x, 2.0), F.softplus(x), F.logsigmoid(x), F.relu6(x * 5), F.glu(x), F.relu(x)), X),
    "reductions": (
        lambda x: (x.sum(), x.sum(1), x.mean((0, 1), keepdim=True), x.max(), x.min(1), x.amax(0), x.argmax(1), x.var(1),
                   x.std(0, unbiased=False), x.norm(dim=1), x.logsumexp(1), x.cumsum(1), (x > 0).any(1), (x > 0).sum()), X),
    "sorting": (lambda x: (x.sort(1), x.topk(3), x.argsort(1, descending=True), x.topk(2, largest=False)), X),
    "shapes": (
        lambda x: (x.view(2, -1), x.t(), x.unsqueeze(1), x[None].squeeze(0), x.flatten(), x.unflatten(1, (2, 3)), x.expand(2, 4, 6),
                   x.repeat(2, 1), x.flip(1), x.roll(2, 1), x.tril(), x.unbind(1), x.split(4, 1), x.chunk(4, 1)), X),
    "indices": (
        lambda x, i: (x[1], x[:, 2], x[1:3, ::2], x[..., -1], x[i[:, 0] % 4], x.gather(1, i), x[torch.arange(4), i[:, 1]],
                      x.scatter_add(1, i, x[:, :3]), x.scatter(1, i[:, :1], 5.0), F.one_hot(i, 6), x[x > 0], x.nonzero()), X, INDEX),
    "choice": (lambda x, y: (torch.where(x > 0, x, y), torch.where(x > 0, x, 0), x.masked_fill(x > 0, -1), x.clamp(0, 1),
                             x.clamp(max=y), torch.maximum(x, y)), X, Y),
    "writes": (lambda x, y: _write(x * 1, y), X, Y),
    "windows": (
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1),
                   F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, 3),
                   F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 7), mode="bilinear"), F.pad(x, (1, 2, 0, 1)),
                   F.interpolate(x, size=(12, 12), mode="bilinear", align_corners=True), F.pixel_shuffle(x[:, :4], 2)), IMAGE),
    "creation": (lambda x: (torch.zeros_like(x), torch.full((2, 3), 7), torch.arange(1, 6, 2.0), x.new_ones(3), torch.eye(3),
                            torch.tensor([1.0, 2.0]) + x[0, 0]), X),
}  # fmt: skip


def _write(x, y):
    x[0] = 1
    x[:, 1:3] += y[:, :2]
    x[torch.tensor([1, 2])] = y[:2]
    return x.relu_() + 1


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, tmp_path):
    function, *args = OPERATORS[name]
    model = Call(function)
    path, _ = save_numpy(export(model, tuple(args)), tmp_path)
    assert_file_agrees(model, path, *args)


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (nn.Conv1d(6, 4, 3, padding="same", dilation=2), IMAGE[:, :, 0]),
        (nn.Conv2d(6, 9, (3, 2), (2, 1), 1, groups=3), IMAGE),
        (nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2), IMAGE),
        (nn.ConvTranspose2d(6, 4, 2, 1, 2, dilation=2), IMAGE),
        (nn.GroupNorm(3, 6), IMAGE),
        (nn.InstanceNorm2d(6, affine=True), IMAGE),
        (nn.RMSNorm(8), IMAGE),
        (nn.PReLU(6), IMAGE),
        (nn.RNN(8, 5, nonlinearity="relu", bias=False), IMAGE[0]),
        (nn.TransformerEncoderLayer(8, 2, 16), IMAGE[0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_layers(layer, x, tmp_path):
    layer.eval()
    path, _ = save_numpy(export(layer, (x,)), tmp_path)
    assert_file_agrees(layer, path, x)


def test_control_flow(tmp_path):
    class Branches(nn.Module):
        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))
            return torch.while_loop(lambda i, y: y.abs().sum() < 40, lambda i, y: (i + 1, y * 2), (torch.tensor(0), y))

    path, _ = save_numpy(export(Branches(), (torch.ones(2),)), tmp_path)
    assert_file_agrees(Branches(), path, -torch.ones(2))


def test_what_cannot_be_written(tmp_path):
    for model, says in (
        (nn.Sequential(nn.Linear(6, 2), nn.Dropout()), "eval"),
        (Call(torch.linalg.svd), "no expression in NumPy"),
        (nn.Linear(6, 2).bfloat16(), "bfloat16"),
    ):
        x = X.bfloat16() if "bfloat16" in says else X
        with pytest.raises(RuntimeError, match=says):
            save_numpy(export(model, (x,)), tmp_path)
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.Dropout())

    def forward(self, image):
        return self.layers(image).softmax(-1)

torch.manual_seed(0)
model = Net()
if __name__ == "__main__":
    raise SystemExit("the program itself is not to run")
"""
ALONE = """
import json, sys
sys.modules["flambeau"] = sys.modules["flambeau_nnlib"] = sys.modules["torch"] = None  # as if they were not installed
sys.path.insert(0, sys.argv[1])
import numpy as np
from model import Model
print(json.dumps(Model()(np.arange(24, dtype=np.float32).reshape(2, 3, 4)).tolist()))
"""


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "flambeau", "export", *arguments], capture_output=True, text=True, **options)


@pytest.mark.slow
def test_the_command(tmp_path):
    script = tmp_path / "net.py"
    script.write_text(SCRIPT)
    done = command(f"{script}:model", "--input", "batch=4,3,4", str(tmp_path / "out"), "--numpy")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "out" / "model.py").read_text()
    assert "# net.py:11  return self.layers(image).softmax(-1)" in written
    alone = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path / "out")], capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr
    torch.manual_seed(0)
    linear = nn.Linear(12, 5)
    expected = linear(torch.arange(24.0).view(2, 12)).softmax(-1)
    np.testing.assert_allclose(json.loads(alone.stdout), expected.detach(), atol=1e-6)
    assert command(f"{script}:Net", "--input", "4,3,4", str(tmp_path / "net.pt2")).returncode == 0
    assert torch.export.load(tmp_path / "net.pt2").module()(torch.ones(4, 3, 4)).shape == (4, 5)


@pytest.mark.slow
def test_the_command_writes_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    script = tmp_path / "net.py"
    script.write_text(SCRIPT)
    done = command(f"{script}:model", "--input", "batch=4,3,4", str(tmp_path / "net.onnx"))
    assert done.returncode == 0, done.stderr
    model = onnx.load(tmp_path / "net.onnx")
    assert [each.dim_param or each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", 3, 4]


@pytest.mark.slow
def test_the_command_explains_mistakes(tmp_path):
    script = tmp_path / "net.py"
    script.write_text(SCRIPT)
    for arguments, says in (
        ([f"{script}:other", "--input", "1,3,4", "out.onnx"], "does not define other"),
        ([f"{script}:model", "--input", "1,x", "out.onnx"], "expected sizes such as"),
        ([f"{script}:model", "--input", "1,3,5", "out.onnx"], "export: "),
        ([f"{script}:model", "--input", "1", "out.txt"], "neither"),
        ([f"{script}", "--input", "1", "out.onnx"], "expected a model as FILE.py:NAME"),
    ):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and says in done.stderr


def test_lenet_is_readable(tmp_path):
    path, _ = save_numpy(export(LeNet().eval(), (torch.randn(1, 1, 28, 28),)), tmp_path)
    lines = path.read_text()
    assert 'conv(x, weights["conv1.weight"], weights["conv1.bias"]' in lines and "import flambeau" not in lines
    assert not [line for line in lines.splitlines() if "lstm" in line]  # unused helpers are not written

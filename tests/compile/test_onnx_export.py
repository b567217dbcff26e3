"""`torch.onnx.export`: exported models run in onnxruntime or, without onnxruntime, in `onnx`'s reference implementation."""

from __future__ import annotations

import io
import os
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from export_models import LeNet, models

import flambeau as torch
from flambeau import nn
from flambeau.export import Dim
from flambeau.nn import functional as F
from flambeau.utils import _pytree as pytree

onnx = pytest.importorskip("onnx")


class Decode(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16)

    def forward(self, x):
        return self.layer(x, x * 2)


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def run(program, inputs):
    """Run a program. Skip the test if it fails in `onnx`'s reference implementation, which lacks some operators."""
    try:
        return program(*inputs)
    except Exception as error:
        if find_spec("onnxruntime") is not None:
            raise
        pytest.skip(f"onnx's reference implementation cannot run this: {error}")


def assert_onnx_agrees(model, *args, tolerance=1e-5, more=(), **options):
    """Export a model and compare its results for the example inputs and for the inputs in `more`."""
    model.eval()
    program = torch.onnx.export(model, args, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for inputs in (args, *more):
        expected = [leaf for leaf in pytree.tree_leaves(model(*inputs)) if isinstance(leaf, torch.Tensor)]
        for result, wanted in zip(run(program, inputs), expected, strict=True):
            assert result.dtype is wanted.dtype and result.shape == wanted.shape
            np.testing.assert_allclose(result.numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)
    return program


torch.manual_seed(0)
X, Y, P = torch.randn(4, 6), torch.randn(4, 6), torch.rand(4, 6) + 0.5
INDEX, IMAGE, MASK = torch.randint(0, 6, (4, 3)), torch.randn(4, 6, 8, 8), torch.randn(4, 6) > 0
OPERATORS = {
    "arithmetic": (lambda x, y: (x + y, x - 2 * y, x * 3, x / y, 1 / x, 2 - x, -x, x**2, 2**x, torch.add(x, y, alpha=3)), X, P),
    "division": (lambda x, y: (x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc")), X, P),
    "whole_numbers": (lambda i: (i + 1, i * i, i // 2, -i % 4, i / 2, i - 0.5, i.float().sqrt(), i & 3, i.clamp(1, 4)), INDEX),
    "comparisons": (lambda x, y: (x < y, x <= 0, x > y, x >= 0.5, x == y, x != y, (x > 0) & (y > 1) | ~(x < 1)), X, P),
    "functions": (lambda x: (x.exp(), x.log(), x.sqrt(), x.rsqrt(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.erf(), x.abs()), P),
    "more_functions": (lambda x: (x.log2(), x.log1p(), x.expm1(), x.floor(), x.ceil(), x.round(), x.sign(), x.trunc()), P),
    "activations": (
        lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.elu(x),
                   F.leaky_relu(x, 0.2), F.selu(x), F.celu(x, 2.0), F.softplus(x), F.logsigmoid(x), F.relu6(x * 5), F.hardtanh(x),
                   F.softsign(x), F.threshold(x, 0.1, 2.0), F.glu(x), F.relu(x), F.tanhshrink(x)), X),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(0), F.softmin(x, 1)), X),
    "limits": (lambda x, y: (x.clamp(min=0), x.clamp(-1, 1), torch.maximum(x, y), x.clamp(max=y), torch.min(x, y)), X, Y),
    "choice": (lambda x, m: (torch.where(m, x, 0.0), x.masked_fill(m, -1.0), torch.where(m, 1, 2), m.logical_not()), X, MASK),
    "reductions": (
        lambda x: (x.sum(), x.sum(1), x.mean((0, 1), keepdim=True), x.max(), x.min(1), x.amax(0), x.argmax(1), x.var(1),
                   x.std(0, unbiased=False), x.norm(dim=1), x.logsumexp(1), x.prod(1), x.cumsum(1), x.argmin()), X),
    "truth": (lambda m: (m.any(), m.all(1), m.any(0, keepdim=True), m.sum(1)), MASK),
    "sorting": (lambda x: (x.sort(1), x.topk(3), x.argsort(1, descending=True)), X),
    "shapes": (
        lambda x: (x.view(2, -1), x.reshape(-1, 3), x.t(), x.unsqueeze(1), x[None].squeeze(0), x.flatten(), x.unflatten(1, (2, 3)),
                   x.expand(2, 4, 6), x.repeat(2, 1), x.permute(1, 0), x.flip(1), x.roll(2, 1), x.tril(), x.triu(1), x.mT), X),
    "joining": (lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y], 1), x.split(2, 1), x.chunk(3, 1), x.unbind(1)), X, Y),
    "parts": (lambda x: (x[1], x[:, 2], x[1:3], x[:, ::2], x[..., -1], x[:, None, -2:], x.narrow(1, 1, 2)), X),
    "indices": (
        lambda x, i: (x[i[:, 0] % 4], x.gather(1, i), x[torch.arange(4), i[:, 1]], x.index_select(1, i[0]), x[:, i[1]],
                      x.scatter_add(1, i, x[:, :3]), x.scatter(1, i[:, :1], 5.0), F.one_hot(i, 6)), X, INDEX),
    "masks": (lambda x, m: (x[m], x.masked_select(m), m.nonzero()), X, MASK),
    "writes": (Call(lambda x, y: _write(x * 1, y)), X, Y),
    "products": (
        lambda x, y: (x @ y.t(), torch.einsum("ij,kj->ik", x, y), torch.mv(x, y[0]), torch.outer(x[0], y[1]), torch.addmm(x[:, :4],
                      x, y.t(), beta=0.5), x[0] @ y[0], torch.bmm(x[None], y.t()[None])), X, Y),
    "creation": (
        lambda x: (torch.zeros_like(x), torch.full((2, 3), 7), torch.arange(5), torch.arange(1, 6, 2.0), torch.ones(2), x.new_zeros(3),
                   torch.tensor([1.0, 2.0]) + x[0, 0], torch.eye(3), torch.linspace(0, 1, 5)), X),
    "padding": (lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1, 2, 0), value=3.0), F.pad(x, (2, 2), mode="reflect"),
                           F.pad(x, (2, 1), mode="replicate")), X),
    "pooling": (
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
                   F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (4, 2)), F.adaptive_avg_pool2d(x, (3, 5)),
                   F.adaptive_max_pool2d(x, 2), F.lp_pool2d(x.abs(), 2, 2)), IMAGE),
    "resampling": (
        lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 7), mode="bilinear"),
                   F.interpolate(x, size=(12, 12), mode="bilinear", align_corners=True), F.pixel_shuffle(x[:, :4], 2),
                   F.interpolate(x, size=(11, 5), mode="nearest-exact"), F.upsample(x, scale_factor=3)), IMAGE),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True), IMAGE),
    "dtypes": (lambda x: (x.long(), x.double() * 2, x.half().float(), x.bool(), x.to(torch.int32), x.type_as(x.long())), X * 10),
}  # fmt: skip


def _write(x, y):
    x[0] = 1
    x[:, 1:3] += y[:, :2]
    x[:, 0].mul_(2)
    x[torch.tensor([1, 2])] = y[:2]
    x.t()[3].fill_(7)
    return x, x.relu_() + 1


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    function, *args = OPERATORS[name]
    if os.environ.get("FLAMBEAU_BACKEND", "numpy") != "numpy":
        args = [arg.cpu() for arg in args]
    assert_onnx_agrees(function if isinstance(function, nn.Module) else Call(function), *args)


LAYERS = {
    "conv1d": (lambda: nn.Conv1d(6, 4, 3, padding="same", dilation=2), IMAGE[:, :, 0]),
    "conv2d": (lambda: nn.Conv2d(6, 9, (3, 2), (2, 1), 1, groups=3, bias=False), IMAGE),
    "conv_transpose": (lambda: nn.ConvTranspose2d(6, 4, 3, 2, 1, 1), IMAGE),
    "batch_norm": (lambda: nn.BatchNorm2d(6), IMAGE),
    "group_norm": (lambda: nn.GroupNorm(3, 6), IMAGE),
    "instance_norm": (lambda: nn.InstanceNorm2d(6, affine=True), IMAGE),
    "layer_norm": (lambda: nn.LayerNorm((8, 8)), IMAGE),
    "rms_norm": (lambda: nn.RMSNorm(8), IMAGE),
    "prelu": (lambda: nn.PReLU(6), IMAGE),
    "linear": (lambda: nn.Linear(8, 3), IMAGE),
    "embedding": (lambda: nn.Embedding(6, 4, padding_idx=0), INDEX),
    "lstm": (lambda: nn.LSTM(8, 5, 2, bidirectional=True), IMAGE[0]),
    "gru": (lambda: nn.GRU(8, 5, batch_first=True), IMAGE[0]),
    "rnn": (lambda: nn.RNN(8, 5, nonlinearity="relu", bias=False), IMAGE[0]),
    "lstm_without_batch": (lambda: nn.LSTM(8, 5), IMAGE[0, 0]),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), IMAGE[0]),
    "decoder": (Decode, IMAGE[0]),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("batch", [None, ({0: Dim("n", min=2)},)], ids=["fixed", "dynamic"])
def test_layers(name, batch):
    torch.manual_seed(0)
    make, x = LAYERS[name]
    if name in ("lstm_without_batch",):
        batch = None
    layer = make()
    assert_onnx_agrees(layer, x, dynamic_shapes=batch, more=() if batch is None else ((torch.cat([x, x[:1]]),),))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "resnet18", "lstm", "gru", "sentences", "vit", "detector", "detector with nms"])
def test_models(name):
    torch.manual_seed(0)
    model, x = models()[name]
    more = torch.cat([x, x[:1]])
    assert_onnx_agrees(model, x, dynamic_shapes=({0: Dim("batch")},), more=[(more,)])


def test_names_axes_and_files(tmp_path):
    model, x = LeNet().eval(), torch.randn(1, 1, 28, 28)
    path = tmp_path / "model.onnx"
    program = torch.onnx.export(
        model, (x,), path, input_names=["image"], output_names=["classes"], dynamic_axes={"image": {0: "batch"}, "classes": {0: "batch"}},
        opset_version=18,
    )  # fmt: skip
    assert program.input_names == ["image"] and program.output_names == ["classes"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    loaded = onnx.load(path)
    assert loaded.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert loaded.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert {weight.name for weight in loaded.graph.initializer} >= set(dict(model.named_parameters())) - {"fc1.weight"}
    assert [each.version for each in loaded.opset_import if not each.domain] == [18]
    more = torch.randn(3, 1, 28, 28)
    np.testing.assert_allclose(program(more)[0], model(more).detach(), atol=1e-5)
    before = path.read_bytes()
    torch.onnx.export(model, (x,), path, external_data=False)
    assert len(path.read_bytes()) > len(before) + 100_000 and onnx.load(path).graph.initializer[0].raw_data


def test_control_flow():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda x: self.linear(x), lambda x: x * 2 - 1, (x,))
            return torch.while_loop(lambda i, y: y.abs().sum() < 40, lambda i, y: (i + 1, y * 2), (torch.tensor(0), y))

    x = torch.ones(2, 3)
    assert_onnx_agrees(Branches(), x, more=[(-x,), (x * 3,)])


def test_sizes_are_computed():
    def program(x):
        n = x.shape[0]
        return torch.zeros(n, 3) + n, torch.arange(n * 2).float() / x.shape[1], x.view(n // 1, -1), x.new_ones(n + 1)

    assert_onnx_agrees(Call(lambda x: program(x)), X, dynamic_shapes=(({0: Dim("n")},),), more=[(X[:2],)])


def test_what_has_no_translation_is_named_with_its_line():
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"aten\.linalg_svd") as caught:
        torch.onnx.export(Call(lambda x: torch.linalg.svd(x)), (X,))
    assert "test_onnx_export.py" in str(caught.value)
    with pytest.raises(ValueError, match="Unsupported ONNX opset version: 6"):
        torch.onnx.export(nn.ReLU(), (X,), opset_version=6)


NEEDED = {"whole_numbers": 18, "indices": 16, "products": 12}  # bitwise operators, scatter with a reduction, Einsum


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("opset", [11, 13, 16, 23])
def test_operators_of_other_versions(name, opset):
    function, *args = OPERATORS[name]
    if os.environ.get("FLAMBEAU_BACKEND", "numpy") != "numpy":
        args = [arg.cpu() for arg in args]
    model = function if isinstance(function, nn.Module) else Call(function)
    if opset < NEEDED.get(name, 0):
        with pytest.raises(
            torch.onnx.OnnxExporterError, match=f"requires opset_version={NEEDED[name]} or higher, but got {opset}"
        ):
            torch.onnx.export(model, tuple(args), opset_version=opset)
        return
    program = assert_onnx_agrees(model, *args, opset_version=opset)
    assert [each.version for each in program.model_proto.opset_import if not each.domain] == [opset]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_version_11(name):
    torch.manual_seed(0)
    make, x = LAYERS[name]
    if name == "batch_norm" and find_spec("onnxruntime") is None:
        pytest.skip("onnx's reference implementation mixes the batch's statistics into version 9 of BatchNormalization")
    assert_onnx_agrees(make(), x, opset_version=11)


def test_results_of_the_reference_implementation(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    flipped, total = torch.onnx.export(Call(lambda x: (x.flip(0), x.sum())), (X,))(X)
    assert torch.equal(flipped, X.flip(0)) and torch.allclose(total, X.sum())


def test_an_open_file():
    file = io.BytesIO()
    torch.onnx.export(nn.Linear(6, 2).eval(), (X,), file)
    loaded = onnx.load_from_string(file.getvalue())
    assert [weight.dims for weight in loaded.graph.initializer] == [[2, 6], [2]] and loaded.graph.initializer[0].raw_data


@pytest.mark.parametrize("options", [(2,), ((3, 2), (1, 2), (2, 1), (2, 3))])
def test_windows_as_columns(options):
    images = torch.randn(2, 3, 7, 8)
    assert_onnx_agrees(Call(lambda x: F.unfold(x, *options)), images)
    assert_onnx_agrees(Call(lambda x: F.unfold(x, *options)), images[0])


def test_a_dictionary_as_input():
    program = torch.onnx.export(Call(lambda pair: pair["a"] + pair["b"]), ({"a": X, "b": Y}, {}))
    np.testing.assert_allclose(program({"a": X, "b": Y})[0], X + Y)
    layer = nn.Linear(6, 2).eval()
    by_name = torch.onnx.export(layer, {"input": X}, io.BytesIO(), dynamo=False)
    np.testing.assert_allclose(by_name(X)[0], layer(X).detach(), rtol=1e-5)


def test_symbolic_functions():
    def softplus(g, self, beta, threshold):
        assert self.type().dim() == 2 and self.type().sizes() == [4, 6] and self.type().scalarType() == "Float"
        return g.op("Div", g.op("Softplus", g.op("Mul", self, beta)), beta)

    @torch.onnx.symbolic_helper.parse_args("v", "i", "f")
    def scaled(g, x, dim, by):
        assert (dim, by) == (1, 0.5)
        total = g.op("ReduceSum", x, g.op("Constant", value_t=torch.tensor([dim])), keepdims_i=1)
        return g.op("Mul", total, g.op("Constant", value_t=torch.tensor(by)))

    scale = torch.library.custom_op(
        "symbolic_tests::scaled", lambda x, dim, by: x.sum(dim, keepdim=True) * by, mutates_args=(),
        schema="(Tensor x, int dim=1, float by=0.5) -> Tensor",
    )  # fmt: skip
    model = Call(lambda x: scale(F.softplus(x, beta=2)))
    registered = [("aten::softplus", softplus, 9), ("symbolic_tests::scaled", scaled, 18)]
    for name, function, version in registered:
        torch.onnx.register_custom_op_symbolic(name, function, version)
    try:
        program = assert_onnx_agrees(model, X, dynamo=False)
        assert [node.op_type for node in program.model_proto.graph.node] == ["Mul", "Softplus", "Div", "ReduceSum", "Mul"]
    finally:
        for name, _, version in registered:
            torch.onnx.unregister_custom_op_symbolic(name, version)
    with pytest.raises(torch.onnx.OnnxExporterError, match="symbolic_tests.scaled"):
        torch.onnx.export(model, (X,), dynamo=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="must match the format domain::name"):
        torch.onnx.register_custom_op_symbolic("softplus", softplus, 9)
    with pytest.raises(ValueError, match="onnx domain cannot be modified"):
        torch.onnx.register_custom_op_symbolic("onnx::Softplus", softplus, 9)


def test_translations_of_ones_own():
    table = {torch.ops.aten.linalg_svd.default: lambda b, x: [b.op("Identity", x)] * 3}
    program = torch.onnx.export(Call(lambda x: torch.linalg.svd(x)[0]), (torch.eye(3),), custom_translation_table=table)
    assert program(torch.eye(3))[0].tolist() == torch.eye(3).tolist()


def test_verify_finds_differences():
    torch.onnx.export(LeNet().eval(), (torch.randn(1, 1, 28, 28),), verify=True)
    table = {torch.ops.aten.relu.default: lambda b, x: b.op("Neg", x)}
    with pytest.raises(AssertionError):
        torch.onnx.export(nn.ReLU(), (X,), verify=True, custom_translation_table=table)


def test_modules_that_say_how_they_are_exported():
    class Doubles(torch.onnx.ExportableModule):
        def forward(self, x):
            return x * 2

        def example_arguments(self):
            return (torch.ones(2, 3),), None

        def dynamic_shapes(self):
            return ({0: "batch"},)

        def input_names(self):
            return ("numbers",)

    for program in (Doubles().to_onnx(), torch.onnx.export(Doubles())):
        assert program.input_names == ["numbers"]
        assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
        assert program(torch.ones(5, 3))[0].tolist() == [[2.0] * 3] * 5


def test_an_observer_finds_the_arguments():
    model, observer = nn.Linear(3, 2), torch.onnx.InputObserver()
    with pytest.raises(RuntimeError, match="No inputs"):
        observer.infer_arguments()
    with observer(model):
        for size in (2, 4, 5, 6):
            model(torch.randn(size, 3))
    assert observer.num_obs() == 3 and observer.infer_arguments()[0].shape == (2, 3)
    program = torch.onnx.export(model, observer.infer_arguments(), dynamic_shapes=observer.infer_dynamic_shapes())
    assert all(found["SUCCESS"] and found["abs"] < 1e-5 for found in observer.check_discrepancies(program))
    with (other := torch.onnx.InputObserver())(model):
        model(input=torch.randn(2, 3))
    assert other.infer_dynamic_shapes(set_batch_dimension_for=True) == {"input": {0: Dim.DYNAMIC}}

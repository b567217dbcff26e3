"""`torch.jit.load` reads traced and scripted modules written by `torch.jit.save`, and computes the same."""

from __future__ import annotations

import copy
import enum
import io
import warnings
import zipfile
from collections import OrderedDict
from typing import Dict, List, Optional, Tuple  # noqa: UP035  # as scripted code writes them

import pytest

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.nn import functional as F


def saved(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


class Flattening(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(64, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.convolution(x))), 2)
        return F.log_softmax(self.head(self.dropout(x).view(x.size(0), -1)), dim=1)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.extra = None
        self.factor = 2.0

    def forward(self, x, times: int = 2, mask: Optional[Tensor] = None) -> Tuple[Tensor, Dict[str, int]]:  # noqa: UP006, UP045
        if x.sum() > 0:
            x = -x
        for place, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) * self.factor + place
        if self.extra is not None:
            x = self.extra(x)
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        parts: List[Tensor] = []  # noqa: UP006
        for i in range(times):
            parts.append(x + i)
        while times > 1:
            times -= 1
        return torch.cat(parts, dim=1), {"times": times}

    @torch.jit.export
    def doubled(self, x):
        return x[:, 1:] * 2


@pytest.mark.parametrize("training", [False, True])
def test_a_trace_computes_the_same_for_other_sizes(training):
    network = Flattening().train(training)
    network.dropout.p = 0.0
    traced = torch.jit.trace(network, torch.randn(1, 1, 10, 10))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    loaded, x = saved(traced), torch.randn(3, 1, 10, 10)
    torch.testing.assert_close(network.state_dict(), before)  # tracing restored the batch norm statistics
    torch.testing.assert_close(loaded(x), network(x))
    torch.testing.assert_close(loaded.norm.running_mean, network.norm.running_mean)
    assert list(loaded.state_dict()) == list(network.state_dict())
    assert [name for name, _ in loaded.named_modules()] == [name for name, _ in network.named_modules()]
    assert loaded.training is training and "torch.conv2d(" in loaded.code


def test_dropout_of_a_trace_is_that_of_the_mode_in_which_it_was_traced():
    for training in (True, False):
        traced = torch.jit.trace(nn.Dropout(0.5).train(training), torch.ones(2)).train(not training)
        for each in (traced, saved(traced)):
            assert (each(torch.ones(1000)) == 0).any() == training


def test_dropout_of_a_script_follows_its_mode():
    loaded = saved(torch.jit.script(nn.Sequential(nn.Dropout(0.5))))
    assert (loaded(torch.ones(1000)) == 0).any()
    torch.testing.assert_close(loaded.eval()(torch.ones(1000)), torch.ones(1000))


class Warns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] == 1:
            warnings.warn("a single row", stacklevel=2)
        if x.shape[0] == 2:
            warnings.warn(f"{x.shape[0]} rows")  # TorchScript has its own default for `stacklevel`
        return x * 2


@pytest.mark.parametrize(("rows", "said"), [(1, ["a single row"]), (2, ["2 rows"]), (3, [])])
def test_scripts_that_warn(rows, said):
    module = saved(torch.jit.script(Warns()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert module(torch.ones(rows)).tolist() == [2.0] * rows
    assert [(str(each.message), each.category) for each in caught] == [(text, UserWarning) for text in said]


class Reduces(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, list[list[float]]]:
        axes: list[int] = torch.arange(1, len(x.shape)).tolist()
        values: list[list[float]] = x.flatten(1).tolist()
        return x.sum(dim=axes), values


def test_lists_of_tensors_whose_types_are_annotated():
    x = torch.randn(2, 3, 4)
    (sums, values), (expected, listed) = saved(torch.jit.script(Reduces()))(x), Reduces()(x)
    assert torch.equal(sums, expected) and values == listed


class Converts(nn.Module):
    def forward(self, x: Tensor) -> Dict[str, Tensor]:  # noqa: UP006
        double = torch.as_tensor(x, dtype=torch.float64, device=x.device)
        return OrderedDict(list(zip(["same", "double"], [x, double])))  # noqa: B905  # scripts know no `strict`


def test_ordered_dictionaries_and_as_tensor():
    x = torch.ones(2, dtype=torch.float32)
    found = saved(torch.jit.script(Converts()))(x)
    assert {name: value.dtype for name, value in found.items()} == {"same": torch.float32, "double": torch.float64}


class Selects(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.places = nn.ModuleList([nn.Linear(3, 2), nn.Linear(3, 2)]), (1, 0)

    def forward(self, parts: List[Tensor]) -> Tensor:  # noqa: UP006
        found = [layer(parts[place]) for layer, place in zip(self.layers, self.places)]  # noqa: B905
        return torch.stack(found)


def test_comprehensions_over_modules_and_values():
    module, parts = Selects(), [torch.randn(4, 3), torch.randn(4, 3)]
    assert torch.equal(saved(torch.jit.script(module))(parts), module(parts))


class Kind(enum.Enum):
    SUM, MEAN = 1, 2


class Named(enum.StrEnum):
    SUM, MEAN = "sum", "mean"


class Reduced(nn.Module):
    def __init__(self, kind, named):
        super().__init__()
        self.kind, self.named = kind, named

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == Kind.SUM:
            x = x.sum(0)
        if self.named == str(Named.MEAN):
            x = x.mean(-1)
        return x


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("named", Named)
def test_attributes_that_are_enumerations(kind, named):
    module, x = Reduced(kind, named), torch.randn(2, 3)
    assert torch.equal(saved(torch.jit.script(module))(x), module(x))


class Visits(nn.Sequential):
    def forward(self, x: Tensor) -> tuple[Tensor, list[str]]:
        names: list[str] = []
        for layer in self.children():
            x = layer(x)
        for name, layer in self.named_children():
            names.append(name)
            x = x + layer(x)
        return x, names


def test_loops_over_children():
    module, x = Visits(nn.Linear(3, 3), nn.Tanh()), torch.randn(2, 3)
    (output, names), (expected, _) = saved(torch.jit.script(module))(x), module(x)
    assert torch.equal(output, expected) and names == ["0", "1"]


def test_lists_of_tensors_need_a_type():
    def function(x: Tensor):
        values = x.tolist()
        return values

    with pytest.raises(RuntimeError, match=r"Expected type hint for result of tolist\(\)"):
        saved(torch.jit.script(function))


def test_a_trace_warns_where_python_decides_by_a_value():
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean"):
        traced = torch.jit.trace(lambda x: x if x.sum() > 0 else -x, torch.ones(2))
    assert traced(-torch.ones(2)).tolist() == saved(traced)(-torch.ones(2)).tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("read", [
    lambda x: x * x[0].item(), lambda x: x * float(x[0]), lambda x: x * x.tolist()[0], lambda x: x + torch.from_numpy(x.numpy()) - x + x
], ids=["item", "float", "tolist", "numpy"])  # fmt: skip
def test_a_trace_warns_of_values_that_become_constants(read):
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(read, torch.ones(2))
    torch.testing.assert_close(traced(2 * torch.ones(2)), saved(traced)(2 * torch.ones(2)))


@pytest.mark.filterwarnings("ignore::flambeau.jit.TracerWarning")
def test_a_trace_is_checked():
    seen = []

    def grow(x):
        seen.append(1)
        return x * len(seen)

    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed"), pytest.warns(match="Output nr 1"):
        torch.jit.trace(grow, torch.ones(2))
    torch.jit.trace(grow, torch.ones(2), check_trace=False)
    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed"):
        torch.jit.trace(lambda x: x if x.sum() > 0 else -x, torch.ones(2), check_inputs=[-torch.ones(2)])
    torch.jit.trace(lambda x: x.relu(), torch.ones(2), check_inputs=[-torch.ones(3), (torch.ones(1),)])


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 11


def test_a_trace_keeps_hooks_sizes_and_derivatives():
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, inputs, output: output * 100)
    x = torch.ones(3, 2, requires_grad=True)
    traced = torch.jit.trace(layer, torch.ones(1, 2))
    torch.testing.assert_close(traced(x), layer(x))
    torch.jit.trace(lambda x: Tripled.apply(x) * x.shape[0], torch.ones(1, 2))(x).sum().backward()
    assert x.grad.tolist() == [[33.0, 33.0]] * 3
    assert torch.jit.trace(lambda x: (x, x.shape[0]), x)(torch.ones(5, 2))[1].item() == 5
    with pytest.raises(RuntimeError, match="takes tensors"):
        traced(3)


class Unchanged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad


apply_tripled, apply_unchanged = Tripled.apply, Unchanged.apply


@pytest.mark.parametrize(
    "function", [apply_unchanged, lambda x: apply_unchanged(x), lambda x: apply_unchanged(apply_tripled(x)), apply_tripled]
)
def test_traces_keep_functions_whose_apply_was_looked_up_before(function):
    traced = torch.jit.trace(function, torch.ones(1))
    x, y = (torch.tensor([2.0, 3.0], requires_grad=True) for _ in range(2))
    assert torch.equal(traced(x), function(y))
    traced(x).sum().backward()
    function(y).sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_a_trace_inside_a_traced_function():
    inner = torch.jit.trace(apply_unchanged, torch.ones(1))
    outer = torch.jit.trace(lambda x: inner(x) + apply_tripled(x), torch.ones(1))
    assert outer(torch.tensor([1.0, 2.0])).tolist() == [4, 8]


def test_a_copied_trace_uses_its_own_parameters():
    traced = torch.jit.trace(nn.Sequential(torch.jit.script(nn.Linear(2, 1))), torch.ones(1, 2))
    copied = copy.deepcopy(traced)
    torch.nn.init.zeros_(copied[0].weight)
    assert (copied(torch.ones(1, 2)) == copied[0].bias).all() and (traced(torch.ones(1, 2)) != traced[0].bias).all()


def test_a_script_keeps_its_branches_and_loops():
    network = Branching()
    loaded = saved(torch.jit.script(network))
    for x in (torch.ones(2, 4), -torch.ones(3, 4)):
        for times in (1, 3):
            assert loaded(x, times)[1] == {"times": 1}
            torch.testing.assert_close(loaded(x, times)[0], network(x, times)[0])
        torch.testing.assert_close(loaded(x, 2, x > 0)[0], network(x, 2, x > 0)[0])
        torch.testing.assert_close(loaded.doubled(x), 2 * x[:, 1:])
    assert loaded.factor == 2.0 and list(loaded.state_dict()) == list(network.state_dict())


def test_scripts_inside_of_traces_and_traces_inside_of_scripts():
    class Around(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 1

    class Gate(nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -2 * x

    mixed = torch.jit.trace(Around(torch.jit.script(Gate())), torch.ones(2))
    for network in (mixed, torch.jit.script(Around(mixed))):
        loaded = saved(network)
        for x in (torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(loaded(x), network(x))


def test_functions_are_saved_as_a_module():
    @torch.jit.script
    def powers(x, count: int):
        out = [x]
        for _ in range(count):
            out.append(out[-1] * x)
        return torch.stack(out)

    assert saved(powers)(torch.tensor(2.0), 3).tolist() == [2.0, 4.0, 8.0, 16.0]
    assert saved(torch.jit.trace(lambda x, y: {"sum": x + y["a"]}, (torch.ones(2), {"a": torch.ones(1)}), strict=False))(
        torch.ones(3), {"a": torch.ones(1)}
    )["sum"].tolist() == [2.0, 2.0, 2.0]  # fmt: skip


@pytest.mark.parametrize("layer", [
    nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), nn.GRU(3, 4), nn.RNN(3, 4), nn.LayerNorm(3), nn.GELU("tanh"),
    nn.Conv1d(5, 2, 3, padding="same", padding_mode="circular"), nn.AvgPool1d(2), nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1)),
    nn.TransformerEncoderLayer(3, 1, 4, 0.0, batch_first=True), nn.Upsample(scale_factor=2.0),
    nn.InstanceNorm1d(5, affine=True), nn.BatchNorm1d(5, momentum=None), nn.MaxPool1d(2, return_indices=True), nn.PReLU(),
    nn.ConvTranspose1d(5, 2, 2, stride=2), nn.Bilinear(3, 3, 2), nn.LSTMCell(3, 4), nn.MSELoss(reduction="sum"),
    nn.SmoothL1Loss(beta=0.25), nn.Hardtanh(-1, 2), nn.TransformerEncoderLayer(3, 1, 4, 0.0, nn.GELU("tanh"), batch_first=True),
    nn.TransformerEncoderLayer(3, 1, 4, 0.0, torch.tanh, batch_first=True), nn.AdaptiveMaxPool1d(2), nn.GroupNorm(5, 5),
], ids=lambda layer: type(layer).__name__)  # fmt: skip
def test_layers_are_scripted(layer):
    x = torch.randn(2, 5, 3) if not isinstance(layer, nn.LSTMCell) else torch.randn(5, 3)
    inputs = (x, x.flip(0)) if isinstance(layer, (nn.Bilinear, nn.MSELoss, nn.SmoothL1Loss)) else (x,)
    loaded = saved(torch.jit.script(layer))
    torch.testing.assert_close(loaded(*inputs), layer(*inputs))


INDICES = torch.tensor([[1, 2], [3, 1]])


@pytest.mark.parametrize(("layer", "inputs"), [
    (nn.InstanceNorm1d(3, track_running_stats=True), (torch.rand(3, 6),)), (nn.InstanceNorm2d(3), (torch.rand(3, 6, 6),)),
    (nn.InstanceNorm3d(3, affine=True), (torch.rand(2, 3, 4, 4, 4),)),
    (nn.FractionalMaxPool2d(2, output_size=3, _random_samples=torch.rand(2, 3, 2)), (torch.rand(2, 3, 6, 6),)),
    (nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True, _random_samples=torch.rand(1, 3, 2)),
     (torch.rand(3, 6, 6),)),
    (nn.FractionalMaxPool3d(2, output_size=3, _random_samples=torch.rand(1, 3, 3)), (torch.rand(3, 6, 6, 6),)),
    (nn.EmbeddingBag(5, 3), (INDICES,)), (nn.EmbeddingBag(5, 3, mode="sum"), (INDICES, None, torch.rand(2, 2))),
    (nn.EmbeddingBag(5, 3, mode="max", padding_idx=1), (INDICES[0], torch.tensor([0, 1]))),
    (nn.EmbeddingBag(5, 3, include_last_offset=True), (INDICES[0], torch.tensor([0, 1, 2]))),
    (nn.MultiLabelSoftMarginLoss(torch.rand(3), reduction="none"), (torch.rand(2, 3), torch.ones(2, 3))),
    (nn.MultiLabelSoftMarginLoss(reduction="sum"), (torch.rand(3), torch.ones(3))),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_layers_with_several_forms_of_inputs(layer, inputs):
    torch.testing.assert_close(saved(torch.jit.script(layer))(*inputs), layer(*inputs))


def test_positions_of_fractional_pooling_are_drawn_in_each_call():
    layer, x = nn.FractionalMaxPool2d(2, output_size=3), torch.rand(2, 3, 6, 6)
    loaded = saved(torch.jit.script(layer))
    torch.manual_seed(1)
    expected = layer(x)
    torch.manual_seed(1)
    assert torch.equal(loaded(x), expected)


def test_two_poolings_with_different_windows():
    class Pools(nn.Module):
        def forward(self, x):
            return F.lp_pool1d(x, 2.0, 3), F.lp_pool1d(x, 2.0, 7)

    x = torch.rand(1, 3, 7)
    torch.testing.assert_close(saved(torch.jit.script(Pools()))(x), Pools()(x))


def test_what_cannot_be_written_names_its_line(tmp_path):
    @torch.jit.ignore
    def python_only(x):
        return x

    class Refused(nn.Module):
        def forward(self, x):
            return x + python_only(x)

    path = tmp_path / "net.pt"
    path.write_bytes(b"former")
    with pytest.raises(
        RuntimeError, match=r"Could not export Python function call(.|\n)*test_jit_saving.py.*line(.|\n)*python_only"
    ):
        torch.jit.script(Refused()).save(path)
    assert path.read_bytes() == b"former" and [file.name for file in tmp_path.iterdir()] == ["net.pt"]


def test_wrong_input():
    file = io.BytesIO()
    with pytest.raises(AttributeError, match="save_to_buffer"):
        torch.jit.save(nn.Linear(2, 1), file)
    with pytest.raises(RuntimeError, match="cannot be traced"):
        torch.jit.save(torch.jit.trace(lambda x, n: x * n, (torch.ones(2), 3)), file)
    with pytest.raises(RuntimeError, match="Only tensors"):
        torch.jit.save(torch.jit.trace(lambda x: 3, torch.ones(2)), file)
    with pytest.raises(RuntimeError, match="a dict at the output"):
        torch.jit.trace(lambda x: {"a": x}, torch.ones(2))
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        torch.jit.save(torch.jit.trace(lambda x: x * weight, torch.ones(2)), file)


def test_an_interrupted_save_leaves_what_was_there(tmp_path):
    path = tmp_path / "net.pt"
    torch.jit.trace(nn.Linear(2, 1), torch.ones(1, 2)).save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        torch.jit.trace(nn.Linear(2, 1), torch.ones(1, 2)).save(path, _extra_files={"broken": object()})
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_further_files(tmp_path):
    torch.jit.script(nn.ReLU()).save(tmp_path / "net.pt", _extra_files={"notes.txt": "some"})
    files = {"notes.txt": ""}
    torch.jit.load(tmp_path / "net.pt", _extra_files=files)
    assert files["notes.txt"] in ("some", b"some")
    with zipfile.ZipFile(tmp_path / "net.pt") as archive:
        assert archive.read("net/version") == b"10\n"


def test_operators_of_a_script():
    assert torch.jit.export_opnames(torch.jit.script(nn.Sequential(nn.Linear(2, 1), nn.ReLU()))) == ["aten::linear", "aten::relu"]


class Resizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2

    def forward(self, x, size: List[int]):  # noqa: UP006
        smooth = F.interpolate(x, scale_factor=self.factor, mode="bilinear", align_corners=False)
        sizes = [rows * columns for rows, columns in [(1, 2), (3, 4)]]
        return smooth, F.interpolate(x, size), F.interpolate(x, size=[3, 2], mode="area"), sizes


def test_interpolation_and_comprehensions_of_several_names_in_a_script():
    network, x = Resizes(), torch.randn(2, 3, 4, 6)
    expected, got = network(x, [5, 9]), saved(torch.jit.script(network))(x, [5, 9])
    assert got[3] == expected[3] == [2, 12]
    for one, other in zip(got[:3], expected[:3], strict=True):
        torch.testing.assert_close(one, other)


def test_what_has_no_operator_is_refused_by_name():
    @torch.jit.script
    def bags(i, w):
        return F.embedding_bag(i, w)

    with pytest.raises(RuntimeError, match="use nn.EmbeddingBag"):
        saved(bags)


def test_load_passes_archives_with_code_to_the_loader_of_scripts(tmp_path):
    path, x = tmp_path / "net.pt", torch.ones(1, 2)
    scripted = torch.jit.script(nn.Linear(2, 1))
    scripted.save(path)
    for file in (path, io.BytesIO(path.read_bytes())):
        with pytest.warns(UserWarning, match="looks like a TorchScript archive"):
            loaded = torch.load(file, weights_only=False)
        torch.testing.assert_close(loaded(x), scripted(x))
    with pytest.raises(RuntimeError, match="Cannot use `weights_only=True` with TorchScript"):
        torch.load(path)


def test_functions_defined_by_text_use_names_of_types():
    unit = torch.jit.CompilationUnit("""
def summed(values: List[int], x: Optional[Tensor] = None) -> Tuple[int, Dict[str, int]]:
    total : List[int] = []
    return len(values), {"first": values[0]}

def first(x):
    # type: (List[Tensor]) -> Tensor
    return x[0]
""")
    assert unit.summed([1, 2]) == (2, {"first": 1}) and unit.first([torch.ones(1)]).item() == 1
    assert saved(unit.first)([torch.ones(1), torch.zeros(1)]).item() == 1 and "aten::len" in str(unit.summed.graph)


class Incremented(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def ten_times(self, input: Tuple[Tensor]) -> Tuple[Tensor]:  # noqa: UP006
    return (input[0] * 10,)


def hundred_times(self, input: Tuple[Tensor], output: Tensor) -> Tensor:  # noqa: UP006
    return output * 100


def look_at(self, inputs: tuple[Tensor], output: Tensor):
    torch.relu(output)


def test_hooks_of_a_saved_script_that_return_nothing_keep_the_result():
    layer = nn.ReLU()
    layer.register_forward_hook(look_at)
    assert saved(torch.jit.script(layer))(torch.ones(1)).tolist() == [1.0]


def test_a_saved_script_keeps_forward_hooks():
    inner = Incremented()
    inner.register_forward_pre_hook(ten_times)
    inner.register_forward_hook(hundred_times)
    for network in (inner, nn.Sequential(inner)):
        scripted = torch.jit.script(network)
        for each in (network, scripted, saved(scripted)):
            assert each(torch.ones(1)).tolist() == [1100.0]
        frozen = torch.jit.freeze(scripted.eval())  # without the hooks of the frozen module itself
        expected = [2.0] if network is inner else [1100.0]
        assert frozen(torch.ones(1)).tolist() == saved(frozen)(torch.ones(1)).tolist() == expected


class Pair(nn.ModuleList):
    def __len__(self):
        return 2


class HoldsPair(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = Pair([nn.ReLU()])

    def forward(self, x):
        return x * len(self.pair)


def test_the_length_of_a_container_may_be_a_method_of_the_program():
    scripted = torch.jit.script(HoldsPair())
    assert scripted(torch.ones(1)).item() == saved(scripted)(torch.ones(1)).item() == 2.0


def test_dictionaries_for_a_trace_may_have_another_order_and_more_keys():
    x, y = torch.ones(1), 2 * torch.ones(1)
    traced = torch.jit.trace(lambda values: values["x"] - values["y"], ({"x": x, "y": y},))
    assert traced({"z": x, "y": y, "x": x}).item() == -1
    with pytest.raises(RuntimeError, match="same containers"):
        traced({"x": x})


def test_a_trace_returns_dictionaries_keyed_by_its_tensors():
    traced = torch.jit.trace(lambda a, b: {a: b + 1, b: a}, (torch.zeros(1), torch.zeros(1)), strict=False)
    a, b = torch.ones(1), 2 * torch.ones(1)
    for function in (traced, saved(traced)):
        assert [(key.item(), value.item()) for key, value in function(a, b).items()] == [(1, 3), (2, 1)]
    assert traced(a, b)[b] is a


def test_a_trace_detaches_in_place():
    x = torch.ones(2, requires_grad=True)
    traced = torch.jit.trace(lambda x: (x * 2).detach_() + 1, x, check_trace=False)
    for module in (traced, saved(traced)):
        assert module(3 * x).tolist() == [7.0, 7.0] and not module(x).requires_grad


def test_a_trace_refuses_lists_of_lists():
    with pytest.raises(RuntimeError, match="Lists may contain only tensors"):
        torch.jit.trace(lambda x: [[x], [x]], torch.ones(1))


class SumsItsTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x, scale=torch.full((1,), 2.0)):  # noqa: B008
        for _name, parameter in self.named_parameters():
            x = x + parameter.sum()
        for buffer in self.buffers():
            x = x + buffer
        return x * scale


def test_loops_over_parameters_and_tensors_as_defaults():
    module = torch.jit.script(SumsItsTensors())
    torch.testing.assert_close(saved(module)(torch.ones(1)), module(torch.ones(1)))


@pytest.mark.parametrize("layer, shape", [
    (nn.LPPool2d(2.0, 2), (2, 3, 6, 7)), (nn.LPPool2d(1.5, (2, 3), 2, True), (2, 3, 6, 7)), (nn.LPPool1d(3.0, 2), (3, 2, 6)),
    (nn.LocalResponseNorm(3, 0.5, 0.7, 2.0), (2, 5, 4, 4)), (nn.LocalResponseNorm(2), (2, 5, 4)),
    (nn.LocalResponseNorm(2), (2, 5, 2, 3, 4)), (nn.Softmin(1), (2, 3)),
])  # fmt: skip
def test_layers_made_of_several_operators(layer, shape):
    x = torch.rand(shape)
    torch.testing.assert_close(saved(torch.jit.script(layer))(x), layer(x))


def test_a_softmin_without_a_dimension_is_refused():
    with pytest.raises(RuntimeError, match="softmin cannot be written"):
        saved(torch.jit.script(nn.Softmin()))


class Packing(nn.Module):
    def __init__(self, kind, batch_first, enforce_sorted, with_state):
        super().__init__()
        self.layer = kind(2, 3, num_layers=2, bidirectional=True, batch_first=batch_first)
        self.batch_first, self.enforce_sorted, self.with_state = batch_first, enforce_sorted, with_state

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted)
        h = x.new_ones(4, lengths.size(0), 3)
        state = (h, h) if isinstance(self.layer, nn.LSTM) else h
        output, _ = self.layer(packed, state if self.with_state else None)
        return nn.utils.rnn.pad_packed_sequence(output, self.batch_first)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [(True, False, False), (False, True, True), (False, True, False)])
def test_traces_of_packed_sequences_take_other_lengths_and_batches(kind, options):
    module = Packing(kind, *options)
    traced = torch.jit.trace(module, (torch.ones(3, 3, 2), torch.tensor([3, 2, 1])))
    x, lengths = torch.rand(4, 4, 2), torch.tensor([4, 4, 2, 1])
    for call in (traced, saved(traced)):
        for result, expected in zip(call(x, lengths), module(x, lengths), strict=True):
            torch.testing.assert_close(result, expected)

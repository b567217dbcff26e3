"""`torch.export`: exported graphs compute what the modules compute."""

from __future__ import annotations

import numpy as np
import pytest
from flambeau.fx.experimental.proxy_tensor import make_fx

import flambeau as torch
from flambeau import nn
from flambeau.conformance.samples import families
from flambeau.export import Dim, export
from flambeau.utils import _pytree as pytree


class Mixed(nn.Module):
    """A module with layers, buffers, constants, views, in-place writes and nested results."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4 * 6 * 6, 5)
        self.register_buffer("offset", torch.arange(5.0))
        self.register_buffer("passing", torch.ones(5), persistent=False)
        self.plain = torch.full((5,), 2.0)

    def forward(self, x, *, scale=None):
        y = self.norm(self.conv(x)).relu().view(x.shape[0], -1)
        z = self.linear(y) * 2 + self.offset - self.plain * self.passing
        z[0] = 1
        z += torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        if scale is not None:
            z = z * scale
        return z[:, 1:3], {"max": z.max(1)[0], "halves": torch.cat([z, z], 1).split(5, 1), "gaps": 1 / z[..., None]}


def assert_equal(left, right):
    left, right = pytree.tree_leaves(left), pytree.tree_leaves(right)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def operators(program):
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_a_program_computes_what_the_module_does():
    torch.manual_seed(0)
    model, x = Mixed().eval(), torch.randn(2, 3, 8, 8)
    program = export(model, (x,), {"scale": torch.tensor(3.0)})
    assert_equal(program.module()(x, scale=torch.tensor(2.0)), model(x, scale=torch.tensor(2.0)))
    program.validate()
    assert program.graph_signature.parameters == tuple(dict(model.named_parameters()))
    assert program.graph_signature.user_inputs == ("x", "scale")
    assert program.graph_signature.non_persistent_buffers == ("passing",)
    assert set(program.constants) == {"plain", "passing", "lifted_tensor_0", "lifted_tensor_1"}
    assert set(program.state_dict) == set(model.state_dict())


def test_the_parameters_are_shared_and_trained():
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    module = export(model, (x,)).module()
    module(x).sum().backward()
    np.testing.assert_array_equal(model.weight.grad.numpy(), np.full((2, 3), 4.0, np.float32))


def test_a_dynamic_batch():
    torch.manual_seed(0)
    model = Mixed().eval()
    program = export(model, (torch.randn(2, 3, 8, 8),), dynamic_shapes={"x": {0: Dim("batch", max=64)}})
    for size in (1, 3, 7):
        x = torch.randn(size, 3, 8, 8)
        assert_equal(program.module()(x), model(x))
    assert list(program.range_constraints.values()) == [(0, 64)]
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[2\] == 8"):
        program.module()(torch.randn(2, 3, 9, 8))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.randn(65, 3, 8, 8))


class Sizes(nn.Module):
    def forward(self, x, y):
        half = x.shape[1] // 2
        grid = torch.arange(x.shape[1]).float() + x.shape[0]
        return torch.cat([x[:, half:], x[:, :half]], 1) * grid, y.reshape(x.shape[0], -1), x.new_zeros((*x.shape[:-1], 3))


def test_sizes_are_computed_in_the_graph():
    batch, width = Dim("batch"), Dim("width", min=4)
    program = export(Sizes(), (torch.ones(2, 4), torch.ones(6)), dynamic_shapes=({0: batch, 1: width}, {0: 3 * batch}))
    for b, w in ((2, 4), (3, 5), (5, 8)):
        x, y = torch.randn(b, w), torch.randn(3 * b)
        assert_equal(program.module()(x, y), Sizes()(x, y))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(2, 4), torch.ones(7))


class Looks(nn.Module):
    def __init__(self, look):
        super().__init__()
        self.look = look

    def forward(self, x):
        return self.look(x)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * float(x[0]),
        lambda x: [x for _ in range(int(x.sum().item()))],
        lambda x: x[: x.sum().long().item()] if x.sum().item() > 1 else x,
        lambda x: x if torch.equal(x, x) else -x,
    ],
)
def test_a_look_at_a_value_is_refused_with_its_line(look):
    with pytest.raises(RuntimeError, match="Could not guard on data-dependent expression") as caught:
        export(Looks(look), (torch.tensor([1.0, 2.0]),))
    assert "test_export.py" in str(caught.value) and "lambda x" in str(caught.value)


def test_arrays_are_refused():
    with pytest.raises(RuntimeError, match="numpy"):
        export(Looks(lambda x: x * torch.from_numpy(x.numpy())), (torch.ones(2),))


def test_numbers_that_are_only_computed_with_stay_in_the_graph():
    program = export(Looks(lambda x: x * x.sum().item()), (torch.tensor([1.0, 2.0]),))
    np.testing.assert_array_equal(program.module()(torch.tensor([2.0, 3.0])).numpy(), [10.0, 15.0])


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (lambda x: sum(row for row in [x[i] for i in range(x.shape[0])]), "specialized it to be a constant"),
        (lambda x: x + 1 if x.shape[0] == 4 else x, "specialized it to be a constant"),
        (lambda x: x + 1 if x.shape[0] > 3 else x, "Not all values of batch"),
        (lambda x: sum(x.unbind(0)), "specialized|Constraints violated"),
    ],
)
def test_dynamic_sizes_that_decide_are_refused(program, says):
    with pytest.raises(RuntimeError, match=says):
        export(Looks(program), (torch.ones(4, 2),), dynamic_shapes=({0: Dim("batch")},))


def test_sizes_left_open_become_fixed_where_they_decide():
    program = export(
        Looks(lambda x: x[int(x.shape[0]) - 1] + x.shape[1]), (torch.ones(4, 2),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)
    )
    np.testing.assert_array_equal(program.module()(torch.ones(4, 5)).numpy(), np.full(5, 6.0, np.float32))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(5, 5))
    narrowed = export(Looks(lambda x: x + 1 if x.shape[0] > 3 else x), (torch.ones(4),), dynamic_shapes=({0: Dim.DYNAMIC},))
    assert next(iter(narrowed.range_constraints.values())) == (4, None)


def test_training_changes_the_buffers_of_the_program_alone_when_it_runs():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)), torch.randn(8, 3)
    state = torch.random.get_rng_state()
    program = export(model, (x,))
    assert int(model[0].num_batches_tracked) == 0 and torch.equal(state, torch.random.get_rng_state())
    program.module()(x)
    assert int(model[0].num_batches_tracked) == 1


def test_attributes_that_are_assigned_are_refused():
    class Keeps(nn.Module):
        def forward(self, x):
            self.last = x
            return x + 1

    model = Keeps()
    with pytest.raises(ValueError, match=r"self\.last"):
        export(model, (torch.ones(2),))
    assert not hasattr(model, "last")


@pytest.mark.parametrize(("args", "error"), [([torch.ones(2)], RuntimeError), ((torch.ones(2), 1), TypeError)])
def test_bad_arguments(args, error):
    with pytest.raises(error):
        export(nn.ReLU(), args)
    with pytest.raises(ValueError, match="instance of"):
        export(lambda x: x, (torch.ones(1),))


def test_bad_dynamic_shapes():
    for shapes in ({"x": {0: Dim("b")}}, ({0: Dim("b")}, None), ({5: Dim("b")},), ({0: 7},)):
        with pytest.raises(RuntimeError):
            export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=shapes)


# --- control flow ---


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        shift = x.mean(0)
        return torch.cond(x.sum() > 0, lambda x: self.linear(x) + shift, lambda x: x * 2 - x.shape[0], (x,))


def test_cond_in_a_graph_decides_anew():
    model = Branches()
    program = export(model, (torch.ones(2, 3),), dynamic_shapes=({0: Dim("batch")},))
    for x in (torch.ones(4, 3), -torch.ones(5, 3)):
        assert_equal(program.module()(x), model(x))
    assert sum(name.endswith("cond") for name in operators(program)) == 1


def test_while_loop_in_a_graph():
    class Doubles(nn.Module):
        def forward(self, x, limit):
            return torch.while_loop(lambda i, y: y.sum() < limit, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))

    program = export(Doubles(), (torch.ones(2), torch.tensor(20.0)))
    count, y = program.module()(torch.ones(2), torch.tensor(100.0))
    assert int(count) == 6 and y.tolist() == [64.0, 64.0]


def test_cond_differentiates():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.cond(x.sum() > 2, lambda x: (x**2).sum(), lambda x: x.sum(), (x,)).backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="bool or tensor"):
        torch.cond(3.0, lambda: 1, lambda: 2)
    with pytest.raises(RuntimeError, match="operands"):
        torch.cond(True, lambda x: x, lambda x: x, "text")


def test_branches_of_other_kinds_are_refused():
    with pytest.raises(RuntimeError, match="same kinds"):
        export(Looks(lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x[:1], (x,))), (torch.ones(2),))


def test_programs_of_layers():
    torch.manual_seed(0)
    for layer, x in (
        (nn.LSTM(3, 4, 2, bidirectional=True), torch.randn(5, 2, 3)),
        (nn.GRU(3, 4, batch_first=True), torch.randn(2, 5, 3)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 5, 8)),
        (nn.MultiheadAttention(8, 2, batch_first=True), None),
    ):
        layer.eval()
        args = (x,) if x is not None else (torch.randn(2, 5, 8),) * 3
        program = export(layer, args)
        assert_equal(program.module()(*args), layer(*args))
    assert "aten.lstm.input" in operators(export(nn.LSTM(3, 4), (torch.randn(5, 2, 3),)))


# --- graphs without writes ---


class Writes(nn.Module):
    def forward(self, x):
        flat, (first, _) = x.view(-1), x.split(1, 0)
        first.mul_(2)
        flat[3] = 7
        x.t()[1].add_(1)
        every_other = x[:, ::2]
        every_other.copy_(every_other * 3)
        x.unbind(1)[0].sub_(5)
        x.unsqueeze(0).permute(2, 0, 1)[0].neg_()
        return x.sum(), flat * 1, every_other + 0


def test_writes_become_outputs():
    program = export(Writes(), (torch.arange(6.0).view(2, 3),))
    functional = program.run_decompositions({})
    assert not any(name.rpartition(".")[0].endswith("_") for name in operators(functional))
    assert functional.graph_signature.user_inputs_to_mutate == {functional.graph_signature.output_specs[0].arg.name: "x"}
    x, y, z = (torch.arange(6.0).view(2, 3) for _ in range(3))
    expected = Writes()(x)
    assert_equal(program.module()(y), expected)
    assert_equal(functional.module()(z), expected)
    assert_equal([y, z], [x, x])


def test_running_statistics_become_outputs():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout(0.5)), torch.randn(2, 3, 5, 5)
    functional = export(model, (x,)).run_decompositions()
    written = functional.graph_signature.buffers_to_mutate
    assert set(written.values()) == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
    module = functional.module()
    module(x)
    changed = {name: value.clone() for name, value in model.state_dict().items()}
    assert changed["1.num_batches_tracked"] == 1
    np.testing.assert_allclose(changed["1.running_mean"], 0.1 * model[0](x).mean((0, 2, 3)).detach(), rtol=1e-5)


def test_decompositions_compute_the_same():
    torch.manual_seed(0)
    layer, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.randn(2, 5, 8)
    decomposed = export(layer, (x,), dynamic_shapes=({0: Dim("batch")},)).run_decompositions()
    assert not {"aten.linear.default", "aten.scaled_dot_product_attention.default", "aten.dropout.default"} & set(
        operators(decomposed)
    )
    more = torch.randn(3, 5, 8)
    np.testing.assert_allclose(decomposed.module()(more).detach(), layer(more).detach(), atol=1e-6)


def test_a_table_of_ones_own():
    table = torch.export.default_decompositions()
    table[torch.ops.aten.relu.default] = lambda x: torch.clamp(x, min=0)
    program = export(nn.ReLU(), (torch.tensor([-1.0, 2.0]),)).run_decompositions(table)
    assert operators(program) == ["aten.clamp.default"]
    assert program.module()(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


# --- files ---


def test_programs_are_saved_and_loaded(tmp_path):
    torch.manual_seed(0)
    x, scale = torch.randn(2, 3, 8, 8), torch.tensor(3.0)
    programs = [
        (Mixed().eval(), (x,), {"scale": scale}, {"x": {0: Dim("batch", max=9)}, "scale": None}),
        (Branches(), (torch.ones(2, 3),), {}, ({0: Dim("batch")},)),
        (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), (torch.randn(4, 3),), {}, None),
    ]
    for model, args, kwargs, shapes in programs:
        program = export(model, args, kwargs, dynamic_shapes=shapes)
        extra = {"notes": ""}
        torch.export.save(program, tmp_path / "program.pt2", extra_files={"notes": "mine"})
        loaded = torch.export.load(tmp_path / "program.pt2", extra_files=extra)
        assert extra == {"notes": "mine"} and [each.name for each in tmp_path.iterdir()] == ["program.pt2"]
        assert loaded.graph_module.code == program.graph_module.code
        assert loaded.graph_signature == program.graph_signature and loaded.range_constraints == program.range_constraints
        with torch.no_grad():
            assert_equal(loaded.module()(*args, **kwargs), program.module()(*args, **kwargs))
        if shapes is not None:
            with pytest.raises(AssertionError, match="Guard failed"):
                loaded.module()(torch.ones(2, 4, 8, 8), **kwargs)
        loaded.run_decompositions().validate()


def test_files_cannot_name_other_functions(tmp_path):
    import json
    import zipfile

    path = tmp_path / "program.pt2"
    for target in ("os.system", "torch.ops.aten.add.__class__", "torch.load", "torch.ops.aten"):
        torch.export.save(export(nn.ReLU(), (torch.ones(2),)), path)
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        described = json.loads(files["program.json"])
        described["graph"]["nodes"][1]["target"] = target
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**files, "program.json": json.dumps(described)}.items():
                archive.writestr(name, content)
        with pytest.raises(RuntimeError, match="refers to"):
            torch.export.load(path)
    path.write_bytes(b"text")
    with pytest.raises(RuntimeError, match="not a file written by"):
        torch.export.load(path)


# --- modules again ---


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(3, 3)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(2)])
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, *, shift=None):
        x = self.shared(x) * self.scale
        for block in self.blocks:
            x = block(x).relu()
        x = self.shared(x)
        return {"result": x if shift is None else x + shift}


def test_unflattened_programs_have_the_modules_of_the_original():
    torch.manual_seed(0)
    model, x = Twice().eval(), torch.randn(4, 3)
    unflattened = torch.export.unflatten(export(model, (x,), {"shift": torch.ones(3)}))
    assert_equal(unflattened(x, shift=torch.zeros(3)), model(x, shift=torch.zeros(3)))
    assert isinstance(unflattened, torch.export.UnflattenedModule)
    names = {name for name, _ in unflattened.named_modules()}
    assert {"shared", "shared@1", "blocks.0", "blocks.0.1", "blocks.1.0"} <= names
    assert set(dict(unflattened.named_parameters())) >= set(dict(model.named_parameters()))
    assert unflattened.get_submodule("shared@1").weight is unflattened.get_parameter("shared.weight")


def test_arguments_are_adapted():
    class Reversed(torch.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return input_args[:1]

    unflattened = torch.export.unflatten(export(nn.ReLU(), (torch.ones(2),)), Reversed())
    assert unflattened(torch.ones(2), torch.zeros(2)).tolist() == [1.0, 1.0]


def test_dataclasses_are_arguments():
    from dataclasses import dataclass

    @dataclass
    class Pair:
        first: torch.Tensor
        second: torch.Tensor

    torch.export.register_dataclass(Pair)
    program = export(Looks(lambda pair: Pair(pair.second, pair.first * 2)), (Pair(torch.ones(1), torch.zeros(1)),))
    result = program.module()(Pair(torch.ones(1), torch.full((1,), 5.0)))
    assert result.first.tolist() == [5.0] and result.second.tolist() == [2.0]


# --- the sample table ---

# Operations that cannot be exported, and why.
NOT_HELD = {
    # `Tensor.copy_(x, y)` is called on the class, where modes do not see the write; `x.copy_(y)` is exported
    "Tensor.copy_", "Tensor.fill_", "Tensor.zero_",
    "Tensor.resize_", "Tensor.resize_as_",  # these change the shape of their argument
    "nn.functional.gaussian_nll_loss",  # checks the values of the variance, as PyTorch does
    "nn.functional.embedding_bag",
    "nn.functional.adaptive_max_pool1d",  # fails only with return_indices=True
    "nn.functional.feature_alpha_dropout",  # the graph draws random numbers in another order
}  # fmt: skip


class Sampled(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *args):
        return self.call(torch, *args)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", sorted(families()))
def test_samples(family):
    def tensors(sample):
        return tuple(map(torch.tensor, sample.arrays(np, sample.dtypes[0])))

    for sample in families()[family]:
        if sample.name in NOT_HELD or sample.name.endswith("_copy"):  # copies of views have no operators
            continue
        torch.manual_seed(0)
        wanted = pytree.tree_leaves(sample.call(torch, *tensors(sample)))
        if not any(isinstance(leaf, torch.Tensor) for leaf in wanted):
            continue
        program = export(Sampled(sample.call), tensors(sample))
        torch.manual_seed(0)
        got = pytree.tree_leaves(program.module()(*tensors(sample)))
        for a, b in zip(got, wanted, strict=True):
            if isinstance(b, torch.Tensor):
                assert a.dtype is b.dtype, sample.name
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5, equal_nan=True, msg=sample.name)


# --- modes, and writes that are to be gone ---------------------------------------------------------------------------------


class WithoutGrad(nn.Module):
    """A module that computes values under `no_grad`, returns them, and uses them in a result that requires a gradient."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        with torch.no_grad():
            fixed = self.linear(x)
            larger = fixed.relu() + 1
        return self.linear(x) * fixed, larger * 2, fixed.argmax(1), larger


def test_no_grad_keeps_gradients_out():
    module, x = WithoutGrad(), torch.randn(4, 3)
    program = export(module, (x,))
    exported = program.module()
    assert_equal(exported(x), module(x))
    assert [result.requires_grad for result in exported(x)] == [True, False, False, False]
    exported(x)[0].sum().backward()
    module(x)[0].sum().backward()
    for one, other in zip(exported.parameters(), module.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    with torch.no_grad():  # inside another no_grad, the module's no_grad exports no `detach`
        assert "detach" not in export(module, (x,)).graph_module.code


def test_results_that_are_written_to_out():
    class Out(nn.Module):
        def forward(self, x):
            out = torch.empty(2, 3)
            torch.add(x, 1, out=out)
            return out * 2

    x = torch.randn(2, 3)
    assert_equal(export(Out(), (torch.zeros(2, 3),)).module()(x), (x + 1) * 2)


def writes_through_a_view(a):
    b = a + 1
    b.view(-1).add_(1)
    return b


def writes_to_its_argument(a):
    a.add_(1)
    return a * 2


def writes_parts(a):
    b = a.clone()
    b[0] = 5
    b[:, 1].mul_(2)
    return b.t(), (b + torch.arange(2.0)).zero_()


def writes_out(a):
    out = torch.empty(2, 2)
    torch.mul(a, a, out=out)
    return {"out": out}


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("function", [writes_through_a_view, writes_to_its_argument, writes_parts, writes_out])
def test_functionalized_graphs_write_to_nothing(function, remove):
    from flambeau.fx.experimental.proxy_tensor import make_fx

    from flambeau.func import functionalize

    example = torch.ones(2, 2)
    traced = make_fx(functionalize(function, remove=remove))(example)
    calls = [node for node in traced.graph.nodes if node.op == "call_function"]
    writes = [node for node in calls if node.target.overloadpacket.__name__.endswith("_")]
    assert [str(node.target) for node in writes] == ["aten.copy_.default"] * (function is writes_to_its_argument)
    assert torch.equal(example, torch.ones(2, 2))
    x = torch.randn(2, 2)
    y = x.clone()
    assert_equal(traced(x), function(y))
    assert torch.equal(x, y)
    plain = make_fx(function)(example)
    assert any(node.op == "call_function" and node.target.overloadpacket.__name__.endswith("_") for node in plain.graph.nodes)
    assert_equal(plain(torch.full((2, 2), 3.0)), function(torch.full((2, 2), 3.0)))


def test_functionalized_views_are_copying_operators():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    from flambeau.func import functionalize

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 0).view(-1)

    traced = make_fx(functionalize(function, remove="mutations_and_views"))(torch.zeros(1, 2))
    calls = [node for node in traced.graph.nodes if node.op == "call_function"]
    assert [str(node.target) for node in calls] == ["aten.transpose_copy.int", "aten.view_copy.default"]
    assert [node.name for node in calls] == ["transpose_copy", "view_copy"]
    assert traced.graph.output_node().type == function.__annotations__["return"]
    assert torch.equal(traced(torch.tensor([[1.0, 2.0]])), torch.tensor([1.0, 2.0]))


def test_repeats_as_a_number_keep_the_size_symbolic():
    class Repeat(nn.Module):
        def forward(self, x, repeats):
            return x.repeat_interleave(2), x.repeat_interleave(repeats)

    program = export(Repeat(), (torch.ones(3), torch.tensor([1, 0, 4])), dynamic_shapes=({0: Dim("n")}, {0: Dim("n")}))
    by_number, by_tensor = (
        node.meta["val"].shape[0] for node in program.graph.nodes if "repeat" in node.name and node.op != "placeholder"
    )
    assert str(by_number) == "2*s0"
    assert str(by_tensor).startswith("u")


def test_assignments_at_indices():
    """The indices mix tensors with slices, numbers, None and an ellipsis.  PyTorch computes the same."""
    rows, columns = torch.tensor([1]), torch.tensor([0, 2])

    class Assigning(nn.Module):
        def forward(self, x, v):
            x = x.clone()
            x[..., rows, columns] = v
            x[1, :, columns] = 7.0
            x[x > 5] = -1.0
            x[:, [0, 1]] = x[:, [1, 0]]
            x[0, 1:, rows] = v.sum()
            x[None, ..., 0] += 3.0
            return x

    x, v = torch.arange(18.0).reshape(2, 3, 3), torch.tensor([10.0, 20.0])
    expected = [[[2.0, 4.0, -1.0], [3.0, 30.0, 2.0], [2.0, 30.0, -1.0]], [[2.0, -1.0, -1.0]] * 3]
    program = export(Assigning(), (x, v))
    assert program.module()(x, v).tolist() == Assigning()(x, v).tolist() == expected
    assert program.module()(x + 1, v * 2).equal(Assigning()(x + 1, v * 2))


def test_traced_functions_keep_the_order_of_arguments():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    rows, places = torch.arange(4.0).reshape(2, 2), torch.tensor([1, 0])
    offset = torch.ones(2) * 3
    traced = make_fx(lambda x, index: x[index] + offset)(rows, places)
    assert [node.name for node in traced.graph.nodes if node.op == "placeholder"] == ["x_1", "index_1"]
    assert torch.equal(traced(rows * 2, places), rows[places] * 2 + 3)


def test_traced_vmap_calls_each_member():
    from flambeau.fx.experimental.proxy_tensor import make_fx

    x, scale = torch.arange(6.0).reshape(2, 3), torch.tensor(3.0)
    for function in (
        torch.vmap(lambda row, scale: row * scale, in_dims=(1, None)),
        torch.vmap(lambda row, scale: (row.sum(), row * scale), (0, None), out_dims=(0, 1)),
        lambda x, scale: torch.func.jacrev(lambda x: x.sin() * scale)(x),
        lambda x, scale: torch.vmap(torch.func.grad(lambda row: (row**2).sum() * scale))(x),
    ):
        traced, others = make_fx(function)(x, scale), (x + 1, torch.tensor(2.0))
        torch.testing.assert_close(traced(*others), function(*others))
    for function in (torch.vmap(lambda row: row + torch.rand(3)), torch.vmap(torch.dropout, in_dims=(0, None, None))):
        with pytest.raises(RuntimeError, match="randomness"):
            make_fx(function)(x, *((0.5, True) if function.__name__ == "dropout" else ()))
    with pytest.raises(RuntimeError, match="empty"):
        make_fx(torch.vmap(torch.sin))(x[:0])


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, x * 2

    @staticmethod
    def backward(ctx, first, second):
        return -first


def test_functions_that_return_an_input():
    class Model(nn.Module):
        def forward(self, x):
            same, double = Reversed.apply(x)
            return same * 3, double, same

    program = export(Model(), (torch.ones(2),)).module()
    assert [y.tolist() for y in program(torch.tensor([2.0, 3.0]))] == [[6, 9], [4, 6], [2, 3]]


def test_operators_with_side_effects_stay_in_graphs():
    noted = []

    @torch.library.custom_op("effects::increase", mutates_args=("x",))
    def increase(x: torch.Tensor) -> None:
        x.add_(1)

    @torch.library.custom_op("effects::note", mutates_args=())
    def note(x: torch.Tensor) -> None:
        noted.append(x.tolist())

    @torch.library.custom_op("effects::halve", mutates_args=("x",))
    def halve(x: torch.Tensor) -> int:
        x.div_(2)
        return 1

    torch.fx.has_side_effect(torch.ops.effects.note.default)

    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            increase(y)
            note(y)
            halve(y)
            return y * 6

    x, expected = torch.ones(2), torch.full((2,), 9.0)
    program = export(Net(), (torch.zeros(2),))
    decomposed = program.run_decompositions()
    cleaned = torch.fx.symbolic_trace(Net())
    cleaned.graph.eliminate_dead_code()
    made = [make_fx(traced)(torch.zeros(2)) for traced in (Net(), torch.func.functionalize(Net()))]
    for run in (program.module(), decomposed.module(), torch.jit.trace(Net(), torch.zeros(2)), cleaned, *made):
        noted.clear()
        torch.testing.assert_close(run(x), expected)
        assert noted == [[3.0, 3.0]]


def test_unflattened_modules_have_their_own_state():
    tied = nn.Linear(2, 2)
    model = nn.Sequential(tied, nn.BatchNorm1d(2), tied)
    program = export(model, (torch.ones(3, 2),))
    module = torch.export.unflatten(program)
    expected = model[0].weight.detach().clone()
    with torch.no_grad():
        module.get_parameter("0.weight").add_(1)
        module.get_buffer("1.running_mean").add_(1)
    assert torch.equal(model[0].weight, expected) and model[1].running_mean.tolist() == [0, 0]
    assert module.get_parameter("0.weight") is module.get_parameter("2.weight")
    assert torch.equal(program.state_dict["0.weight"], expected)

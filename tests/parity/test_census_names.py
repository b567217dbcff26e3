"""Private names that two or more libraries use (`tests/ecosystem/census.py`): each test passes on PyTorch and on flambeau."""

from __future__ import annotations

import builtins
import functools
import gc
import importlib
import io
import math
import warnings

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(params=["torch", "flambeau"])
def library(request):
    """Return a function that imports a module of PyTorch or flambeau, given its name without the first part."""
    name = request.param
    return lambda module="": importlib.import_module(f"{name}.{module}".rstrip("."))


def test_a_custom_trace(library):
    """A tracer written like PyTorch's."""
    torch, fx, tracing = library(), library("fx"), library("fx._symbolic_trace")
    nn = torch.nn

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.scale

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.inner = nn.Linear(2, 2), Scale()
            self.register_buffer("offset", torch.ones(2))

        def forward(self, x):
            return self.inner(self.linear(x)) + math.sqrt(x.size(0)) + self.offset + torch.ones(2)

    class Tracer(fx.Tracer):
        def trace(self, root, concrete_args=None):
            self.root, self.graph, self.tensor_attrs = root, fx.Graph(tracer_cls=type(self)), {}
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            function = type(root).forward
            names = function.__globals__
            function, args = self.create_args_for_root(function, True, concrete_args)
            cache = {}

            @functools.wraps(tracing._orig_module_getattr)
            def traced_getattr(module, name):
                return self.getattr(name, tracing._orig_module_getattr(module, name), cache)

            @functools.wraps(tracing._orig_module_call)
            def traced_call(module, *args, **kwargs):
                tracing._autowrap_check(patcher, module.forward.__globals__, self._autowrap_function_ids)
                return self.call_module(module, functools.partial(tracing._orig_module_call, module), args, kwargs)

            with tracing._Patcher() as patcher:
                patcher.patch_method(nn.Module, "__getattr__", traced_getattr, deduplicate=False)
                patcher.patch_method(nn.Module, "__call__", traced_call, deduplicate=False)
                tracing._patch_wrapped_functions(patcher)
                tracing._autowrap_check(patcher, names, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    tracing._autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(function(*args)),), {}, type_expr=None)
            return self.graph

    model, x = Model(), torch.randn(3, 2)
    graph = Tracer().trace(model)
    assert [node.name for node in graph.nodes] == [
        "x", "linear", "inner_scale", "mul", "size", "sqrt", "add", "offset", "add_1", "_tensor_constant0", "add_2", "output",
    ]  # fmt: skip
    assert torch.equal(fx.GraphModule(model, graph)(x), model(x))
    assert nn.Module.__call__ is tracing._orig_module_call and math.sqrt(4) == 2


def test_patches_are_undone(library):
    names = {"a": len}
    with library("fx._symbolic_trace")._Patcher() as patcher:
        patcher.patch(names, "a", lambda x: "patched")
        patcher.patch(names, "len", lambda x: "builtin")
        assert (names["a"](0), names["len"](0), len(patcher.patches_made)) == ("patched", "builtin", 2)
        patcher.revert_all_patches()
        assert names == {"a": len}
        patcher.reapply_all_patches()
        assert sorted(names) == ["a", "len"]
        assert [patcher.visit_once(names), patcher.visit_once(names)] == [True, False]
    assert names == {"a": len} and not patcher.patches_made and not patcher.visited


def test_tracers_find_the_wrapped_functions_and_methods(library):
    tracing, tensor = library("fx._symbolic_trace"), library().Tensor
    assert all(name in module or hasattr(builtins, name) for (_, name), module in tracing._wrapped_fns_to_patch.items())
    assert all(issubclass(tensor, cls) and hasattr(cls, name) for cls, name in tracing._wrapped_methods_to_patch)
    assert tracing.map_aggregate((1, [2, {"a": 3}]), lambda value: value + 1) == (2, [3, {"a": 4}])

    def count(first, *rest, **options):
        return first, rest, options

    assert count.__code__.co_flags & tracing.HAS_VARSTUFF == tracing.HAS_VARSTUFF
    assert tracing._patch_function(count, 3)(1, 2, 3) == (1, 2, 3)


def test_registered_methods_of_proxies_become_nodes(library, monkeypatch):
    torch, fx = library(), library("fx")
    monkeypatch.setattr(torch.Tensor, "scale_by", lambda self, factor: self * factor, raising=False)
    methods = library("fx._symbolic_trace")._wrapped_methods_to_patch
    methods.append((torch.Tensor, "scale_by"))
    try:
        graph = fx.symbolic_trace(lambda x: torch.ones(2).scale_by(x)).graph
    finally:
        methods.pop()
    assert [(node.op, node.target) for node in graph.nodes if node.op == "call_method"] == [("call_method", "scale_by")]


def test_meta_tracer(library):
    torch, tracing = library(), library("fx.experimental.meta_tracer")
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.linear, self.norm = nn.Embedding(10, 4), nn.Linear(4, 3), nn.LayerNorm(4)
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, ids):
            x = nn.ReLU()(self.linear(self.norm(self.embedding(ids))))
            rows, columns = x.shape[0], x.size(1)
            if x.dim() == 3:
                x = x.view(rows * columns, 3) * self.weight
            places = torch.arange(columns, device=ids.device).to(torch.float)
            return x.sum(-1).reshape(rows, columns) + places, x.dtype

    model = Model().to("meta")
    traced = tracing.symbolic_trace(model, {"ids": torch.zeros(2, 5, dtype=torch.long, device="meta")})
    assert [str(node) for node in traced.graph.nodes] == [
        "ids", "embedding", "norm", "linear", "relu_0", "view", "weight", "mul", "getattr_1", "arange", "to", "sum_1",
        "reshape", "add", "output",
    ]  # fmt: skip
    assert next(node.args[1:] for node in traced.graph.nodes if node.name == "view") == (10, 3)
    assert set(traced.graph._tracer_extras["meta_args"]) == {"ids"}
    weights = {name: torch.randn(value.shape) for name, value in model.state_dict().items()}
    for each in (model, traced):
        each.to_empty(device="cpu").load_state_dict(weights)
    ids = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 0]])
    assert torch.equal(traced(ids)[0], model(ids)[0]) and traced(ids)[1] is torch.float32


def test_a_value_that_the_meta_tracer_cannot_compute(library):
    torch, tracing = library(), library("fx.experimental.meta_tracer")
    with pytest.warns(UserWarning, match="Could not compute metadata for call_method target nonzero"):
        tracing.symbolic_trace(lambda x: x.nonzero(), {"x": torch.zeros(2, device="meta")})


def test_symbolic_helpers(library):
    torch, helper = library(), library("onnx.symbolic_helper")
    seen, errors = [], library("onnx.errors")

    def softplus(g, self, beta, threshold):
        seen.append((
            helper._get_tensor_sizes(self), helper._get_tensor_sizes(self, allow_nonstatic=False), helper._get_tensor_rank(self),
            helper._get_tensor_dim_size(self, 1), helper._is_none(None), helper._is_none(self), helper._is_value(self),
            helper._is_constant(self), helper._is_constant(beta), helper._get_const(beta, "f", "beta"),
            helper._maybe_get_const(beta, "i"), helper._maybe_get_const(self, "t") is self,
            helper._maybe_get_scalar(beta).tolist(),
        ))  # fmt: skip
        with pytest.raises(errors.SymbolicValueError, match="expected a constant value of the 'input' argument"):
            helper._get_const(self, "f", "input")
        return g.op("Cast", g.op("Softplus", self), to_i=helper.cast_pytorch_to_onnx["Double"])

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.softplus(x, beta=2)

    torch.onnx.register_custom_op_symbolic("aten::softplus", softplus, 9)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for axes in ({}, {"dynamic_axes": {"x": {0: "n"}}}):
                file = io.BytesIO()
                torch.onnx.export(Model(), (torch.ones(4, 6),), file, dynamo=False, input_names=["x"], opset_version=18, **axes)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::softplus", 9)
    rest = (2, 6, True, False, True, False, True, 2.0, 2, True, 2)
    assert seen == [([4, 6], [4, 6], *rest), ([None, 6], None, *rest)]
    onnx = importlib.import_module("onnx")
    assert onnx.load_from_string(file.getvalue()).graph.node[-1].attribute[0].i == onnx.TensorProto.DOUBLE
    assert len(helper.cast_pytorch_to_onnx) == 13 and int(helper.cast_pytorch_to_onnx["BFloat16"]) == onnx.TensorProto.BFLOAT16


def test_backends_that_count_graphs(library):
    torch, testing = library(), library("_dynamo.testing")
    counter = testing.CompileCounter()
    compiled = torch.compile(lambda x: torch.relu(x) * 2 + 1, backend=counter)
    for x in (torch.ones(2), torch.ones(2), torch.ones(2, 3)):
        assert torch.equal(compiled(x), torch.full(x.shape, 3.0))
    assert (counter.frame_count, counter.op_count) == (2, 6)
    counter.clear()
    assert (counter.frame_count, counter.op_count) == (0, 0)
    kept = testing.CompileCounterWithBackend("eager")
    torch.compile(lambda x: x.sin().cos(), backend=kept)(torch.ones(2))
    assert (kept.frame_count, kept.op_count, len(kept.graphs), kept.backend) == (1, 2, 1, "eager")
    library("_dynamo").optimize(counter, nopython=True)(lambda x: x.sin())(torch.ones(2))
    assert (counter.frame_count, counter.op_count) == (1, 1)
    recording = testing.EagerAndRecordGraphs()
    torch.compile(lambda x: x.sin(), backend=recording)(torch.ones(2))
    assert [node.op for node in recording.graphs[0].graph.nodes] == ["placeholder", "call_method", "output"]


def test_optimizers_with_foreach(library):
    torch, optimizers = library(), library("optim._multi_tensor")
    for name in ("ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"):
        results = []
        for module in (optimizers, torch.optim):
            weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
            optimizer = getattr(module, name)([weight], lr=0.1)
            weight.square().sum().backward()
            optimizer.step()
            results.append(weight.tolist())
            assert isinstance(optimizer, getattr(torch.optim, name))
            if module is optimizers:
                assert optimizer.defaults["foreach"] is True
        assert results[0] == pytest.approx(results[1])


def test_weak_references_to_storages(library):
    torch, reference = library(), library("multiprocessing.reductions").StorageWeakRef
    x, other = torch.ones(4), torch.ones(4)
    y, detached, found = x[1:], x.detach(), reference(x.untyped_storage())
    for tensor, same in ((y, True), (detached, True), (other, False)):
        assert (found == reference(tensor.untyped_storage())) is same
    assert len({found, reference(y._typed_storage()), reference(other.untyped_storage())}) == 2
    expired = []
    del x, tensor
    gc.collect()
    expired.append(found.expired())
    del detached
    storage = y.untyped_storage()
    del y
    gc.collect()
    expired.append(found.expired())
    del storage
    gc.collect()
    assert [*expired, found.expired()] == [False, False, True]
    buffer = bytearray(8)
    x = torch.frombuffer(buffer, dtype=torch.float32)
    found = reference(x.untyped_storage())
    assert found == reference(x[1:].untyped_storage())
    del x
    gc.collect()
    assert found.expired()


def test_switch_of_scripts(library):
    torch, state = library(), library("jit._state")

    def double(x: int) -> int:
        return 2 * x

    assert state._enabled
    state.disable()
    try:
        assert torch.jit.script(double) is double and torch.jit.trace(double, (1,)) is double
    finally:
        state.enable()
    scripted = torch.jit.script(double)
    assert isinstance(scripted, torch.jit.ScriptFunction)
    state._clear_class_state()
    assert scripted(3) == 6 and torch.jit.script(double)(4) == 8


def test_export_by_its_private_name(library):
    torch, tracing = library(), library("export._trace")
    program = tracing._export(torch.nn.Linear(2, 3), (torch.ones(1, 2),), strict=False)
    assert isinstance(program, torch.export.ExportedProgram) and program.module()(torch.ones(1, 2)).shape == (1, 3)


@pytest.fixture
def fake_job(library):
    """Run the test as rank 1 of a job of 4."""
    distributed = library("distributed")
    store = library("testing._internal.distributed.fake_pg").FakeStore()
    assert isinstance(store, distributed.Store)
    distributed.init_process_group("fake", store=store, rank=1, world_size=4)
    yield distributed
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
def test_a_job_without_other_processes(library, fake_job):
    torch, distributed = library(), fake_job
    assert (distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()) == (1, 4, "fake")
    x, out = torch.ones(2), [torch.zeros(2) for _ in range(4)]
    for collective in (distributed.all_reduce, lambda x: distributed.broadcast(x, 0), lambda x: distributed.reduce(x, 0)):
        collective(x)
        assert x.tolist() == [1, 1]
    distributed.send(x, 0)
    distributed.recv(x, 0)
    distributed.barrier()
    distributed.all_gather(out, 2 * x)
    assert [each.tolist() for each in out] == [[2, 2]] * 4
    received = torch.zeros(2)
    distributed.reduce_scatter_tensor(received, torch.arange(8.0))
    assert received.tolist() == [2, 3]
    everything = torch.zeros(8)
    distributed.all_to_all_single(everything, torch.arange(8.0))
    assert everything.tolist() == list(range(8))
    objects = [None] * 4
    distributed.all_gather_object(objects, {"rank": 1})
    assert objects == [{"rank": 1}] * 4
    group = distributed.new_group([0, 1])
    assert (distributed.get_rank(group), distributed.get_world_size(group)) == (1, 2)


@pytest.mark.filterwarnings("ignore")
def test_layers_in_parts_without_other_processes(library, fake_job):
    torch, tensor = library(), library("distributed.tensor")
    mesh = tensor.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    parts = tensor.distribute_tensor(torch.arange(16.0).view(4, 4), mesh, [tensor.Shard(0), tensor.Replicate()])
    assert parts.to_local().shape == (2, 4) and parts.full_tensor().shape == (4, 4)
    layer = torch.nn.Linear(4, 4)
    library("distributed.fsdp").fully_shard(layer)
    assert layer.weight.to_local().shape == (1, 4) and layer(torch.ones(1, 4)).shape == (1, 4)


def test_the_device_of_a_group(library, fake_job):
    private = library("distributed.distributed_c10d")
    with pytest.warns(UserWarning, match="_get_pg_default_device"):
        assert private._get_pg_default_device() == library().device("cpu")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "int8"])
def test_quantized_linear_layers(dtype):
    """The results of PyTorch and flambeau are equal, up to a rounding of the pointwise functions."""
    flambeau = importlib.import_module("flambeau")
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 255, (4, 8), dtype=torch.uint8, generator=generator)
    weight = torch.randint(-127, 127, (5, 8), dtype=torch.int8, generator=generator)
    scales, bias, other = (torch.rand(shape, generator=generator) * 0.1 for shape in ((5,), (5,), (4, 5)))
    functions = [
        ("none", [], ""), ("relu", [], ""), ("gelu", [], "none"), ("gelu", [], "tanh"), ("hardtanh", [0.0, 6.0], ""),
        ("hardswish", [], ""), ("swish", [], ""), ("tanh", [], ""), ("leaky_relu", [0.1], ""),
    ]  # fmt: skip
    results = []
    for lib in (torch, flambeau):
        ops, given = lib.ops.onednn, [lib.tensor(each.tolist(), dtype=getattr(lib, str(each.dtype)[6:])) for each in
                                      (x, weight, scales, bias, other)]  # fmt: skip
        q, w, s, b, o = given
        packed, zeros, out = ops.qlinear_prepack(w, [4, 8]), lib.zeros(5, dtype=lib.int64), getattr(lib, dtype)
        last = (1.0, 0, out) if "float" in dtype else (0.5, 30, out)
        found = [ops.qlinear_pointwise(q, 0.03, 12, packed, s, zeros, b, *last, *function) for function in functions]
        scale, zero = lib.tensor(0.03), lib.tensor(12)
        found.append(ops.qlinear_pointwise.tensor(q, scale, zero, packed, s, zeros, None, *last, *functions[0]))
        if dtype == "float32":
            found.append(ops.qlinear_pointwise(q.view(2, 2, 8), 0.03, 12, packed, s, zeros, b, *last, *functions[0]))
            binary = (q, 0.03, 12, packed, s, zeros, o, b, *last, 1.0, 0)
            found.append(ops.qlinear_pointwise.binary(*binary, "add", 1.0, "relu", [], ""))
            found.append(ops.qlinear_pointwise.binary(*binary, "sum", 1.0, "none", [], ""))
            assert found[-1].tolist() == o.tolist()
            with pytest.raises(RuntimeError, match="alpha != 1"):
                ops.qlinear_pointwise.binary(*binary, "add", 2.0, "none", [], "")
        with pytest.raises(RuntimeError, match="unsupported unary post op sigmoid"):
            ops.qlinear_pointwise(q, 0.03, 12, packed, s, zeros, b, *last, "sigmoid", [], "")
        results.append([(str(each.dtype), [float(value) for value in each.flatten().tolist()]) for each in found])
    for theirs, ours in zip(*results, strict=True):
        assert theirs[0] == ours[0]
        assert ours[1] == pytest.approx(theirs[1], rel=0.02 if dtype == "bfloat16" else 1e-4, abs=1e-3)


def test_overloads_are_chosen_by_the_arguments(library):
    torch = library()
    operators = torch.library.Library("census_names", "DEF")
    for overload, kind in (("", "float"), (".tensor", "Tensor"), (".str", "str")):
        operators.define(f"change{overload}(Tensor x, {kind} by) -> Tensor")
    operators.impl("change", lambda x, by: x * by, "CPU")
    operators.impl("change.tensor", lambda x, by: x + by, "CPU")
    operators.impl("change.str", lambda x, by: x - len(by), "CPU")
    change, x = torch.ops.census_names.change, torch.ones(2)
    assert [change(x, 3.0).tolist(), change(x, x).tolist(), change(x, by="abc").tolist()] == [[3, 3], [2, 2], [-2, -2]]
    with pytest.raises(RuntimeError, match="failed to match any schema") as raised:
        change(x, [1])
    assert str(raised.value).count("Declaration: census_names::change") == 3


def test_parts_of_a_jacobian(library):
    torch, functional = library(), library("autograd.functional")
    first, second = functional._construct_standard_basis_for((torch.zeros(1), torch.zeros(2, 2, dtype=torch.float64)), (1, 4))
    assert torch.equal(torch.cat([first.double(), second], 1), torch.eye(5, dtype=torch.float64))
    assert first.dtype is torch.float32 and second.dtype is torch.float64
    x = torch.ones(1, requires_grad=True)
    assert functional._as_tuple(x, "x", "f") == (False, (x,)) and functional._as_tuple((x, x), "x", "f") == (True, (x, x))
    with pytest.raises(
        TypeError, match="The x given to f must be either a Tensor or a tuple of Tensors but the value at index 1"
    ):
        functional._as_tuple((x, 2), "x", "f")
    nested = ((x, 2 * x), (3 * x, 4 * x))
    for to_unpack, expected in (
        (True, nested), (False, nested[0]), ((True, True), nested), ((True, False), (x, nested[1][0])),
        ((False, True), nested[0]), ((False, False), x),
    ):  # fmt: skip
        assert str(functional._tuple_postprocess(nested, to_unpack)) == str(expected)
    assert functional._grad_postprocess(nested, True) is nested or functional._grad_postprocess(nested, True) == nested
    assert not any(part.requires_grad for parts in functional._grad_postprocess(nested, False) for part in parts)


def test_line_search(library):
    torch, lbfgs = library(), library("optim.lbfgs")
    found = []

    def valley(x, t, d):
        y = (x + t * d).requires_grad_()
        value = (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2
        value.backward()
        return value.item(), y.grad

    for start, options in (((-1.0, 2.0), {}), ((0.5, 0.1), {"c2": 0.1, "max_ls": 40}), ((3.0, -2.0), {"tolerance_change": 0.5})):
        x = torch.tensor(start)
        value, grad = valley(x, 0.0, x)
        value, gradient, t, evaluations = lbfgs._strong_wolfe(valley, x, 1.0, -grad, value, grad, -grad.dot(grad), **options)
        found += [value, *gradient.tolist(), float(t), evaluations]
    slope = torch.tensor
    found += [float(lbfgs._cubic_interpolate(0.0, 1.0, slope(-2.0), 1.0, 0.5, slope(1.0)))]
    found += [float(lbfgs._cubic_interpolate(1.0, 0.5, slope(1.0), 0.0, 1.0, slope(-2.0), bounds=(0.9, 2.0)))]
    assert found == pytest.approx(
        [
            5.445653, -0.6759834, 1.500955, 0.008930373, 5, 0.3098577, -0.6918434, -0.4596196, 0.02594220, 3, 53.25291, -87.31608,
            -44.49655, 0.002974026, 7, 0.6666666, 0.9,
        ],
        rel=1e-4,
    )  # fmt: skip

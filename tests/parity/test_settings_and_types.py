"""Public names that are not tensor operations: tensor types, storages, settings, buffers, generators, sizes and hooks."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import tempfile
import warnings
from functools import partial

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

TYPES = ["Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short", "BFloat16"]
STORAGES = [*TYPES, "ComplexDouble", "ComplexFloat"]


def set_and_restore(get, set, value):
    """Return the results of `get` before and after `set(value)`, and restore the setting."""
    before = get()
    try:
        return before, set(value), get()
    finally:
        set(before)


def from_file(torch):
    with tempfile.NamedTemporaryFile() as file:
        file.write(np.arange(6, dtype=np.float32).tobytes())
        file.flush()
        return torch.from_file(file.name, size=4), torch.from_file(file.name, size=2, dtype=torch.int32)


def grad_modes(torch):
    """Return `is_grad_enabled()` inside and after each grad mode."""
    said = [torch.is_grad_enabled()]
    with torch.no_grad():
        said += [torch.is_grad_enabled()]
        with torch.enable_grad():
            said += [torch.is_grad_enabled(), (torch.ones(1, requires_grad=True) * 2).requires_grad]
        with torch.set_grad_enabled(True):
            said += [torch.is_grad_enabled()]
    torch.set_grad_enabled(False)
    said += [torch.is_grad_enabled(), torch.enable_grad()(torch.is_grad_enabled)()]
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        said += [torch.is_inference_mode_enabled(), torch.ones(1).is_inference(), torch.is_grad_enabled()]
    return said


def generator_states(torch):
    g = torch.Generator().manual_seed(3)
    other = g.clone_state()
    first = torch.rand(3, generator=g)
    again = torch.rand(3, generator=other)
    state = g.graphsafe_get_state() if torch is ours else g.clone_state()
    return first, again, torch.equal(g.get_state(), other.get_state()), type(state).__name__, str(g.device), g.initial_seed()


def forked(torch):
    torch.manual_seed(1)
    with torch.random.fork_rng():
        a = torch.rand(2)
    b, state = torch.rand(2), torch.random.get_rng_state()
    c = torch.rand(2)
    torch.random.set_rng_state(state)
    return a, b, c, torch.rand(2), torch.random.initial_seed(), torch.initial_seed(), torch.get_rng_state().dtype


def saved_elsewhere(torch):
    x = torch.arange(3.0, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    return x.grad


def disabled_hooks(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"), torch.autograd.graph.saved_tensors_hooks(str, str):
        pass


def versions(torch):
    x = torch.ones(2)
    before = x._version
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, x])
    return x._version - before


def edges(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    return (
        type(edge).__name__,
        edge._fields,
        edge.output_nr,
        isinstance(edge.node, torch.autograd.graph.Node),
        edge.node.name(),
        torch.autograd.grad(y.sum(), edge),
        isinstance(edge, torch.autograd.graph.GradientEdge),
    )


def anomalies(torch):
    with torch.autograd.set_detect_anomaly(True):
        x = torch.zeros(1, requires_grad=True)
        (x.sqrt() * 0).sum().backward()


def multithreaded(torch):
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    with torch.autograd.enforce_grad_layout_policy(True):
        x = torch.ones(2, 3).t().requires_grad_()
        (x * 2).sum().backward()
    return inside, torch.autograd.is_multithreading_enabled(), x.grad.stride()


def regions(torch):
    import inspect

    return str(inspect.signature(torch.autograd.graph.region_activation_memory_budget).parameters.keys())


def autocast(torch):
    with torch.autocast("cpu", torch.bfloat16):
        inside = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    torch.set_autocast_enabled("cpu", True)
    inside += (torch.is_autocast_enabled("cpu"), torch.set_autocast_enabled("cpu", False), torch.is_autocast_enabled("cpu"))
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", torch.float16)
    inside += (torch.get_autocast_dtype("cpu"), torch.set_autocast_dtype("cpu", before))
    torch.set_autocast_cache_enabled(False)
    return (*inside, torch.is_autocast_cache_enabled(), torch.set_autocast_cache_enabled(True), torch.is_autocast_cache_enabled())


def nested_inputs(torch):
    variable = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    return type(variable) is torch.Tensor, isinstance(variable, torch.autograd.Variable), variable


class Anything:
    """A non-tensor with `__torch_function__`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [each.__name__ for each in types], len(args), sorted(kwargs or {})


def overridden(torch):
    o, x = torch.overrides, torch.ones(2)
    return (
        o.has_torch_function((Anything(),)),
        o.has_torch_function((x, 1)),
        o.is_tensor_like(Anything()),
        o.is_tensor_like(x),
        o.is_tensor_like(1),
        o.is_tensor_method_or_property(torch.Tensor.add),
        o.is_tensor_method_or_property(torch.add),
        o.handle_torch_function(torch.add, (Anything(),), Anything(), x, alpha=2),
        torch.add(Anything(), x),
        o.resolve_name(torch.Tensor.add),
        o.resolve_name(torch.add),
    )


def wrapped(torch):
    @torch.overrides.wrap_torch_function(lambda a: (a,))
    def function(a):
        return "plain"

    return function(torch.ones(1)), function(Anything())


def tables(torch):
    """Return facts about the functions that `torch.overrides` lists as overridable or ignored."""
    o = torch.overrides
    overridable, ignored = o.get_overridable_functions(), o.get_ignored_functions()
    testing = o.get_testing_overrides()
    return [
        torch.add in testing,
        torch.Tensor.add in overridable[torch.Tensor],
        torch.nn.functional.relu in testing,
        torch.typename in ignored,
        torch.is_tensor in ignored,
        torch.add in ignored,
        callable(testing[torch.add]),
        all(each not in ignored for each in overridable[torch]),
    ]


def replaced(torch):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Sequential(torch.nn.BatchNorm2d(3)))
    same = torch.func.replace_all_batch_norm_modules_(model)
    return same is model, model[0].running_mean, model[0].num_batches_tracked, model[1][0].track_running_stats


def masked(torch):
    x = torch.masked.as_masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))
    return (
        torch.masked.is_masked_tensor(x),
        torch.masked.is_masked_tensor(1),
        type(x).__name__,
        isinstance(x, torch.masked.MaskedTensor),
        repr(x + x),
    )


def mapped(torch):
    x, y = torch.arange(3.0), torch.ones(3)
    return (
        x.clone().map_(y, lambda a, b: a + 2 * b),
        x.clone().map2_(y, y, lambda a, b, c: a * b - c),
        x.clone().apply_(lambda a: -a),
    )


def shared_storage(torch):
    x, y = torch.arange(6.0), torch.zeros(2)
    y.set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    return (
        y,
        y.is_set_to(x[1:5].view(2, 2)),
        y.is_set_to(x),
        torch.zeros(0).set_(x).is_set_to(x),
        x.dim_order(),
        y.t().dim_order(),
    )


def cpu_module(torch):
    cpu = torch.cpu
    own = cpu.Stream()
    with cpu.stream(own):
        inside = cpu.current_stream() is own
        own.wait_stream(cpu.Stream())
    event = cpu.Event()
    event.record()
    return (
        inside,
        cpu.current_stream() is own,
        event.query(),
        cpu.is_available(),
        cpu.is_initialized(),
        cpu.device_count(),
        cpu.current_device(),
        cpu.set_device(0),
        cpu.synchronize(),
        cpu.amp.autocast().fast_dtype,
        cpu.amp.GradScaler().get_scale(),
    )


CASES = {
    **{f"{name}Tensor": lambda t, name=name: [getattr(t, f"{name}Tensor")(*args) for args in ((), ([1, 0],), (np.zeros(2),))[:2]]
       for name in TYPES},
    **{f"{name}Tensor type": lambda t, name=name: [isinstance(t.zeros(1, dtype=d), getattr(t, f"{name}Tensor")) for d in (t.float32, t.int64, t.bool)]
       + [t.ones(2).type(getattr(t, f"{name}Tensor")).dtype] for name in TYPES},
    **{f"{name}Storage": lambda t, name=name: described_storage(getattr(t, f"{name}Storage")([1, 0, 1])) for name in STORAGES},
    "Storage": lambda t: described_storage(t.Storage([1.5, 2])), "UntypedStorage": lambda t: (t.UntypedStorage(4).nbytes(), t.UntypedStorage([1, 2]).tolist()),
    "TypedStorage": lambda t: len(t.TypedStorage(3, dtype=t.int16)), "is_storage": lambda t: (t.is_storage(t.FloatStorage(2)), t.is_storage(1)),
    "is_tensor": lambda t: (t.is_tensor(t.ones(1)), t.is_tensor(1)), "typename": lambda t: [t.typename(each) for each in (t.ones(1), 1, t.ones(1).long(), "a")],
    "OutOfMemoryError": lambda t: [each.__name__ for each in t.OutOfMemoryError.__mro__], "newaxis": lambda t: t.newaxis,
    "iinfo": lambda t: [repr(t.iinfo(getattr(t, each))) for each in ("int8", "uint8", "int64", "uint32")], "iinfo of float": lambda t: t.iinfo(t.float32),
    "finfo": lambda t: [repr(t.finfo(getattr(t, each))) for each in ("float16", "float32", "float64", "bfloat16")], "finfo of int": lambda t: t.finfo(t.int8),
    "constants": lambda t: (t.pi, t.e, t.inf, t.nan, t.preserve_format, t.channels_last_3d, t.contiguous_format, t.strided),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.int16, count=2, offset=2), "from_file": from_file,
    "frombuffer empty": lambda t: t.frombuffer(bytearray(), dtype=t.uint8), "frombuffer rest": lambda t: t.frombuffer(bytearray(5), dtype=t.int16),
    "frombuffer offset": lambda t: t.frombuffer(bytearray(4), dtype=t.int16, offset=9), "dlpack": lambda t: t.from_dlpack(np.arange(3.0)),
    "dlpack round": lambda t: t.from_dlpack(t.to_dlpack(t.arange(3))), "dlpack grad": lambda t: t.from_dlpack(t.to_dlpack(t.ones(1, requires_grad=True))),
    "dlpack device": lambda t: [int(each) for each in t.ones(1).__dlpack_device__()], "grad modes": grad_modes,
    "default dtype": lambda t: set_and_restore(t.get_default_dtype, t.set_default_dtype, t.float64), "default dtype wrong": lambda t: t.set_default_dtype(t.int64),
    "default type": lambda t: (t.set_default_tensor_type(t.DoubleTensor), t.ones(1), t.set_default_tensor_type(t.FloatTensor), t.ones(1)),
    "default device": lambda t: (t.get_default_device(), t.set_default_device("cpu"), t.get_default_device(), t.set_default_device(None)),
    "precision": lambda t: set_and_restore(t.get_float32_matmul_precision, t.set_float32_matmul_precision, "high"),
    "precision wrong": lambda t: t.set_float32_matmul_precision("best"), "flush": lambda t: t.set_flush_denormal(False),
    "warn always": lambda t: set_and_restore(t.is_warn_always_enabled, t.set_warn_always, True), "threads": lambda t: set_and_restore(t.get_num_threads, t.set_num_threads, 1)[1:],
    "threads wrong": lambda t: t.set_num_threads(0), "threads type": lambda t: t.set_num_threads("a"), "interop": lambda t: t.get_num_interop_threads() > 0,
    "interop wrong": lambda t: t.set_num_interop_threads(-1), "debug mode": lambda t: set_and_restore(t.get_deterministic_debug_mode, t.set_deterministic_debug_mode, "warn"),
    "debug mode wrong": lambda t: t.set_deterministic_debug_mode("loud"), "deterministic": lambda t: (
        t.are_deterministic_algorithms_enabled(), t.use_deterministic_algorithms(True, warn_only=True), t.are_deterministic_algorithms_enabled(),
        t.is_deterministic_algorithms_warn_only_enabled(), t.get_deterministic_debug_mode(), t.use_deterministic_algorithms(False)),
    "device module": lambda t: [t.get_device_module(each) is getattr(t, each) for each in ("cuda", "cpu")], "cpu module": cpu_module,
    "forked": forked, "generator": generator_states,
    "generator offset": lambda t: t.Generator().get_offset(), "generator set_offset": lambda t: t.Generator().set_offset(4),
    "generator pickled": lambda t: t.rand(2, generator=pickle.loads(pickle.dumps(t.Generator().manual_seed(5)))),
    "generator state": lambda t: t.Generator().set_state(t.ones(3)), "generator device": lambda t: t.Generator("nothing"),
    "rng state wrong": lambda t: t.set_rng_state(t.ones(3).byte()), "saved on cpu": saved_elsewhere, "no hooks": disabled_hooks,
    "versions": versions, "edges": edges, "anomalies": anomalies, "Variable": nested_inputs, "overrides": overridden, "wrapped": wrapped,
    "tables": tables, "batch norms": replaced, "masked": masked, "map_": mapped, "set_": shared_storage,
    "multithreading": multithreaded, "autocast": autocast, "AcceleratorError": lambda t: [each.__name__ for each in t.AcceleratorError.__mro__],
    "anomaly": lambda t: (t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()),
    "memory budget": regions, "pin_memory": lambda t: t.ones(2).pin_memory(),
    "of old": lambda t: (t.tensor(2.0).__nonzero__(), t.tensor(2.7).__long__(), t.ones(2).__div__(4), t.ones(2).__idiv__(4), callable(t.autograd.variable)),
    **{name: lambda t, name=name: (getattr(t, name)(t.ones(3, 2), 0.5, False), getattr(t, name)(t.ones(3, 2), 0.0, True))
       for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")},
    "streams of graphs": lambda t: (t.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True), t.autograd.graph.set_override_stale_capture_stream(False)),
    "gradcheck": lambda t: t.autograd.gradcheck(t.sin, t.ones(2, dtype=t.float64, requires_grad=True)),
    "gradgradcheck": lambda t: t.autograd.gradgradcheck(t.sin, t.ones(2, dtype=t.float64, requires_grad=True)),
    "gradcheck single": lambda t: t.autograd.gradcheck(t.sin, t.ones(2)), "gradcheck wrong": lambda t: t.autograd.gradcheck(
        lambda x: x * x.detach(), t.ones(2, dtype=t.float64, requires_grad=True), raise_exception=False),
    "dual": lambda t: t.autograd.forward_ad.unpack_dual(t.ones(2)), "dual type": lambda t: t.autograd.forward_ad.UnpackedDualTensor._fields,
    "LinAlgError": lambda t: [each.__name__ for each in t.linalg.LinAlgError.__mro__], "singular": lambda t: t.linalg.inv(t.zeros(2, 2)),
    "rearrange": lambda t: t.func.rearrange(t.arange(6).reshape(2, 3), "a b -> b a") if t is ours else t.arange(6).reshape(2, 3).T,
    "Size": lambda t: (operator.add(t.Size([2, 3]), (1,)), operator.add((1,), t.Size([2])), t.Size([2, 3]) * 2, 2 * t.Size([2]), t.Size([2, 3]).numel(), t.Size([2, 3, 2]).count(2)),
    "Size types": lambda t: [type(each).__name__ for each in (operator.add(t.Size([2]), (1,)), operator.add((1,), t.Size([2])), t.Size([2]) * 2, 2 * t.Size([2]), t.Size([1, 2])[:1])],
    "Size in": lambda t: (3 in t.Size([3]), t.Size([3]).index(3), list(t.Size([1, 2])), len(t.Size()), t.Size([1]).__getnewargs__(), repr(t.Size([1, 2]))),
    "Size pickled": lambda t: type(pickle.loads(pickle.dumps(t.Size([2])))).__name__, "Size wrong": lambda t: t.Size([1.5]), "Size str": lambda t: t.Size("a"),
    "Size plus list": lambda t: operator.add(t.Size([1]), [2]), "Size class": lambda t: str(t.Size[int]).split("[")[1], "Size absent": lambda t: t.Size([1]).index(2),
    "as_subclass": lambda t: type(t.ones(1).as_subclass(type("Mine", (t.Tensor,), {}))).__name__, "as_subclass wrong": lambda t: t.ones(1).as_subclass(int),
    "new": lambda t: (t.ones(2).new([1, 2]), t.ones(2).new(2, 3).shape, t.ones(2).long().new().dtype),
    "eig": lambda t: t.ones(2, 2).eig(), "lstsq": lambda t: t.ones(2, 2).lstsq(t.ones(2, 2)), "solve": lambda t: t.ones(2, 2).solve(t.ones(2, 2)),
    "pinned": lambda t: t.ones(1).is_pinned(), "shared": lambda t: (t.ones(1).is_shared(), t.ones(1).share_memory_().is_shared()),
    "places": lambda t: (t.ones(1).is_cpu, t.ones(1).is_cuda, t.ones(1).const_data_ptr() > 0, t.ones(1).get_device(), t.ones(2).storage_type().__name__),
    "resize_as": lambda t: (t.ones(2).resize_as(t.ones(1, 2)), t.ones(2).resize(2, 1)), "module_load": lambda t: t.ones(2).module_load(t.zeros(2)),
    "cuda": lambda t: t.ones(1).cuda(), "reinforce": lambda t: t.ones(1).reinforce(1), "index": lambda t: t.ones(2).index(t.tensor([0])),
    "grad_dtype": lambda t: (t.ones(1, requires_grad=True).grad_dtype, t.ones(1).__array_priority__), "array interface": lambda t: t.ones(1).__cuda_array_interface__,
    "copies": lambda t: (copy.copy(t.ones(2)), copy.deepcopy(t.ones(2, requires_grad=True)), copy.deepcopy(t.ones(1, requires_grad=True) * 2)),
    "pickled": lambda t: pickle.loads(pickle.dumps(t.arange(4.0).reshape(2, 2).t())), "reversed": lambda t: list(reversed(t.arange(3))),
    "in": lambda t: (1 in t.arange(2), 5 in t.arange(2), t.tensor(1) in t.arange(2)), "in wrong": lambda t: "a" in t.arange(2),
    **{name: lambda t, convert=convert: [outcome(lambda t, x=x: convert(x), t) for x in (t.tensor(2), t.tensor(1.5), t.tensor([1]), t.tensor([1, 2]), t.tensor([]))]
       for name, convert in {"int": int, "float": float, "complex": complex, "bool": bool, "index": operator.index, "len": len, "hex": lambda x: format(x, "d")}.items()},
    **{f"{name} random": lambda t, name=name: random_in_batches(t, name) for name in ("error", "same", "different")},
}  # fmt: skip


def random_in_batches(torch, randomness):
    torch.manual_seed(0)
    made = torch.vmap(lambda x: (x + torch.rand(2), torch.randn_like(x), torch.nn.functional.dropout(x)), randomness=randomness)(
        torch.ones(3, 2)
    )
    return [(each.shape, bool((each[0] == each[1]).all())) for each in made[:2]]


def described_storage(storage):
    return storage.tolist(), len(storage), storage.element_size(), str(storage.dtype), storage.nbytes()


def rounded(value, torch):
    """Round a tensor to 4 decimals, to compare results of both libraries."""
    return torch.round(torch.nan_to_num(value), decimals=4) + 0.0 if isinstance(value, torch.Tensor) else value


UNARY = [
    "abs_", "acos_", "acosh_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "asin_", "asinh_", "atan_",
    "atanh_", "ceil_", "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach", "detach_", "erf_", "erfc_", "exp2_", "exp_",
    "expm1_", "fix_", "floor_", "frac_", "get_device", "i0_", "is_signed", "log10_", "log1p_", "log2_", "log_", "logit_",
    "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_",
    "sqrt_", "square_", "tan_", "tanh_", "trunc_", "zero_",
]  # fmt: skip
CASES.update({f"torch.{name}": lambda t, name=name: rounded(getattr(t, name)(t.tensor([0.25, 1.0])), t) for name in UNARY})
CASES.update({
    "torch.addmv_": lambda t: t.addmv_(t.ones(2), t.ones(2, 3), t.ones(3), alpha=2), "torch.clamp_": lambda t: t.clamp_(t.arange(4.0), 1, max=2),
    "torch.as_strided_": lambda t: t.as_strided_(t.arange(6.0), (2, 2), (1, 2), 1), "torch.clip_": lambda t: t.clip_(t.arange(4.0), min=1),
    "torch.clamp_max_": lambda t: t.clamp_max_(t.arange(4.0), 2), "torch.clamp_min_": lambda t: t.clamp_min_(t.arange(4.0), 2),
    "torch.fill_": lambda t: t.fill_(t.arange(4.0), 2), "torch.gcd_": lambda t: t.gcd_(t.arange(4), t.tensor(2)), "torch.lcm_": lambda t: t.lcm_(t.arange(4), t.tensor(2)),
    "torch.index_put_": lambda t: t.index_put_(t.arange(4.0), (t.tensor([1, 1]),), t.tensor([5.0, 6.0]), accumulate=True),
    "torch.is_same_size": lambda t: t.is_same_size(t.ones(2), t.ones(2, 1)), "torch.ldexp_": lambda t: t.ldexp_(t.arange(4.0), t.tensor([1, 2, 3, 4])),
    "torch.resize_as_": lambda t: t.resize_as_(t.arange(4.0), t.ones(2)), "torch.xlogy_": lambda t: t.xlogy_(t.arange(3.0), t.ones(3) * 2),
    "to_dense": lambda t: [t.ones(2).to_dense(), t.ones(2).to_dense(t.float64)],
    "what no tensor is": lambda t: [getattr(t.ones(2), each) for each in ("is_sparse", "is_sparse_csr", "is_nested", "is_quantized", "is_mkldnn", "is_meta",
                                    "is_ipu", "is_maia", "is_mps", "is_mtia", "is_vulkan", "is_xla", "is_xpu")],
})  # fmt: skip


def described(value, torch):
    if isinstance(value, torch.Tensor):
        return type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad, value.tolist()
    if isinstance(value, (tuple, list)):
        return [described(each, torch) for each in value]
    return repr(value).replace("flambeau", "torch")


def outcome(call, torch):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(call(torch), torch)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    got, wanted = (outcome(CASES[name], torch) for torch in (ours, theirs))
    assert got == wanted


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "matmul"]
OPERANDS = [3, 2.5, True, [1, 2], None, "a", 1j]


@pytest.mark.parametrize("name", [*BINARY, *(f"i{each.rstrip('_')}" for each in BINARY)])
def test_operators(name):
    """Python operators between a tensor and a tensor, number or other object, in both orders."""
    for dtype in ("int64", "float32", "bool"):
        for other in ["tensor", *OPERANDS]:
            for turned in (False, True) if not name.startswith("i") or other == "tensor" else (False,):
                case = partial(applied, name=name, dtype=dtype, other=other, turned=turned)
                got, wanted = (outcome(case, torch) for torch in (ours, theirs))
                assert got == wanted, (dtype, other, turned)


def applied(torch, name, dtype, other, turned):
    x = torch.tensor([1, 2, 1]).to(getattr(torch, dtype))
    pair = (x, torch.tensor([2, 1, 1]) if other == "tensor" else other)
    made = getattr(operator, name)(*(reversed(pair) if turned else pair))
    return (
        torch.view_as_real(made + 0j).double().mul(1e5).round() + 0.0 if made.is_floating_point() or made.is_complex() else made
    )


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
def test_operators_of_one(name):
    for dtype in ("int64", "float32", "bool", "complex64"):
        got, wanted = (
            outcome(lambda torch: getattr(operator, name)(torch.tensor([1, 0]).to(getattr(torch, dtype))), torch)  # noqa: B023
            for torch in (ours, theirs)
        )
        assert got == wanted, dtype


def plain(tensor):
    return (tensor if tensor.is_complex() else tensor.double()).numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "complex64", "complex128"])
def test_every_number_of_linspace(dtype):
    """linspace matches PyTorch bit for bit, so it must round in the same order."""
    numbers = np.random.default_rng(0).normal(0, 10, (60, 2)).tolist()
    huge = [(1e300, 1e305), (1e308, -1e308)] if dtype == "float64" else []
    if dtype.startswith("complex"):
        numbers = [(complex(start, end), complex(end, 1)) for start, end in numbers]
        huge = [(complex(math.inf, 1), 3j), (complex(0, math.nan), 1)]
    for start, end in [*numbers, (0.0, 1.0), (-3, 7), *huge]:
        for steps in (1, 2, 3, 7, 10, 100, 257):
            mine, his = (plain(torch.linspace(start, end, steps, dtype=getattr(torch, dtype))) for torch in (ours, theirs))
            np.testing.assert_array_equal(mine, his, err_msg=f"linspace({start}, {end}, {steps})")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "complex64", "complex128"])
def test_every_number_of_logspace(dtype):
    """logspace matches PyTorch bit for bit, except in float64, where the results of `pow` may differ."""
    ends = np.random.default_rng(0).uniform(-1, 3, (60, 2)).tolist()
    if dtype.startswith("complex"):
        ends = [(complex(start, end), complex(end, 1)) for start, end in ends]
    for start, end in ends:
        for steps, base in ((1, 2.0), (2, 10.0), (7, 3.3), (40, 0.5), (101, 10.0), (3, 0.0)):
            mine, his = (plain(torch.logspace(start, end, steps, base, dtype=getattr(torch, dtype))) for torch in (ours, theirs))
            rtol = 1e-15 if dtype in ("float64", "complex128") else 0
            np.testing.assert_allclose(mine, his, rtol=rtol, atol=0, err_msg=f"logspace({start}, {end}, {steps}, {base})")


def bases(torch):
    class Memory(torch.StorageBase):
        pass

    storage = torch.ones(2).untyped_storage()
    return (
        isinstance(storage, torch.StorageBase),
        issubclass(torch.UntypedStorage, torch.StorageBase),
        issubclass(Memory, torch.StorageBase),
    )


def slices(torch):
    x = torch.arange(12.0).reshape(3, 4)
    part = x[:, 1:3]
    whole = part.slice_inverse(x, 1, 1, 3)
    return whole, whole.data_ptr() == x.data_ptr(), whole.stride(), whole.is_distributed(), torch.slice_inverse(part, x, 1, 1, 3)


def overriding(torch):
    class Mine:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "offered"

    class Marked(torch.Tensor):
        pass

    class Meta(type):
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "offered"

    class OfMeta(metaclass=Meta):
        pass

    class Disabled:
        __torch_function__ = torch._C._disabled_torch_function_impl

    marked = torch.ones(2).as_subclass(Marked)
    values = [torch.ones(2), Mine(), 3, None, marked, torch.nn.Parameter(torch.ones(2)), OfMeta(), Disabled()]
    values += [Mine, Marked, torch.Tensor, torch.nn.Parameter, Disabled, OfMeta, torch.overrides.TorchFunctionMode, int]
    said = [torch.overrides.has_torch_function_unary(value) for value in values]
    said += [torch.overrides.has_torch_function_variadic(1, value) for value in values]
    said += [torch.overrides.is_tensor_like(value) for value in values]
    with torch.overrides.BaseTorchFunctionMode() as mode:
        said += [isinstance(mode, torch.overrides.TorchFunctionMode), torch.overrides.has_torch_function_unary(3)]
        said += [torch.ones(2) + 1, type(marked + 1) is Marked, torch.add(1, Mine())]
    return said


@pytest.mark.parametrize("program", [bases, slices, overriding], ids=lambda program: program.__name__)
def test_classes_to_derive_from_and_queries(program):
    assert outcome(program, ours) == outcome(program, theirs)


def test_a_storage_of_no_kind():
    for torch in (ours, theirs):
        with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
            torch.StorageBase()


@pytest.mark.parametrize("name", [
    "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric",
])  # fmt: skip
def test_qschemes(name):
    mine, wanted = getattr(ours, name), getattr(theirs, name)
    assert repr(mine) == repr(wanted) and isinstance(mine, ours.qscheme) and isinstance(wanted, theirs.qscheme)

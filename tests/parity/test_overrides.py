"""A mode with `__torch_function__` receives the functions that the user calls, but not their internal calls, as in PyTorch."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import flambeau  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

ATTRIBUTES = ["shape", "dtype", "device", "grad", "requires_grad", "is_leaf", "ndim", "T", "mT", "data", "itemsize", "nbytes"]
PLAIN_METHODS = [
    "size", "stride", "numel", "dim", "is_contiguous", "contiguous", "flatten", "squeeze", "unbind", "norm", "unique", "t",
    "type", "cpu", "clone", "detach", "detach_", "tolist", "numpy", "zero_", "normal_", "uniform_", "random_", "bernoulli_",
    "requires_grad_", "max", "min", "mean", "std", "var", "sum", "prod", "argmax", "argmin", "sort", "nonzero", "diag",
    "trace", "tril", "triu", "inverse", "det", "exp", "sigmoid_", "abs", "sqrt", "round", "isnan", "data_ptr", "element_size",
    "is_floating_point", "is_complex", "get_device", "cov", "nan_to_num", "square", "hardshrink", "nelement",
    "storage_offset", "float", "double", "long", "half", "bool", "int", "ravel", "fliplr", "flipud", "T_", "median",
    "nanmean", "nansum", "logdet", "any", "all", "sinh_", "neg_", "log_", "adjoint", "matrix_exp", "pinverse", "conj",
    "positive", "sign", "frac", "is_inference", "retain_grad_", "histc",
]  # fmt: skip
METHODS = {
    **{name: lambda lib, x, name=name: getattr(x, name)() for name in PLAIN_METHODS if hasattr(torch.Tensor, name)},
    "view": lambda lib, x: x.view(-1), "reshape": lambda lib, x: x.reshape(-1), "reshape_as": lambda lib, x: x.reshape_as(x),
    "view_as": lambda lib, x: x.view_as(x), "expand_as": lambda lib, x: x.expand_as(x), "permute": lambda lib, x: x.permute(1, 0),
    "chunk": lambda lib, x: x.chunk(2), "split": lambda lib, x: x.split(2), "split of sizes": lambda lib, x: x.split([1, 2]),
    "unflatten": lambda lib, x: x.unflatten(1, (3, 1)), "to": lambda lib, x: x.to(lib.float64), "type_as": lambda lib, x: x.type_as(x),
    "copy_": lambda lib, x: x.copy_(x), "fill_": lambda lib, x: x.fill_(1), "add_": lambda lib, x: x.add_(1),
    "clamp": lambda lib, x: x.clamp(0, 1), "max along": lambda lib, x: x.max(1), "topk": lambda lib, x: x.topk(2),
    "cumsum": lambda lib, x: x.cumsum(0), "softmax": lambda lib, x: x.softmax(1), "item": lambda lib, x: x[0, 0].item(),
    "masked_fill": lambda lib, x: x.masked_fill(x > 1, 0.0), "masked_select": lambda lib, x: x.masked_select(x > 1),
    "index_select": lambda lib, x: x.index_select(0, lib.tensor([0])), "repeat": lambda lib, x: x.repeat(2, 1),
    "repeat_interleave": lambda lib, x: x.repeat_interleave(2), "tile": lambda lib, x: x.tile(2), "roll": lambda lib, x: x.roll(1),
    "flip": lambda lib, x: x.flip(0), "new_zeros": lambda lib, x: x.new_zeros(2), "new_full": lambda lib, x: x.new_full((2,), 1.0),
    "new_tensor": lambda lib, x: x.new_tensor([1.0]), "matmul": lambda lib, x: x.matmul(x), "mm": lambda lib, x: x.mm(x),
    "mv": lambda lib, x: x.mv(x[0]), "dot": lambda lib, x: x[0].dot(x[0]), "outer": lambda lib, x: x[0].outer(x[0]),
    "addmm_": lambda lib, x: x.addmm_(x, x), "where": lambda lib, x: x.where(x > 1, x), "unfold": lambda lib, x: x.unfold(1, 2, 1),
    "eq": lambda lib, x: x.eq(x), "equal": lambda lib, x: x.equal(x), "allclose": lambda lib, x: x.allclose(x),
    "logsumexp": lambda lib, x: x.logsumexp(1), "pow": lambda lib, x: x.pow(2), "swapaxes": lambda lib, x: x.swapaxes(0, 1),
    "movedim": lambda lib, x: x.movedim(0, 1), "narrow": lambda lib, x: x.narrow(0, 0, 1), "select": lambda lib, x: x.select(0, 0),
    "apply_": lambda lib, x: x.apply_(lambda each: each), "quantile": lambda lib, x: x.quantile(0.5), "dist": lambda lib, x: x.dist(x),
    "renorm": lambda lib, x: x.renorm(2, 0, 1.0), "prelu": lambda lib, x: x.prelu(lib.ones(1)), "resize_": lambda lib, x: x.resize_(2, 2),
    "sum_to_size": lambda lib, x: x.sum_to_size(1, 3), "gather": lambda lib, x: x.gather(0, lib.tensor([[0, 0, 0]])),
    "scatter": lambda lib, x: x.scatter(0, lib.tensor([[0, 0, 0]]), 1.0), "index_put_": lambda lib, x: x.index_put_((lib.tensor([0]),), lib.tensor(1.0)),
    "backward": lambda lib, x: x.requires_grad_().sum().backward(), "register_hook": lambda lib, x: x.requires_grad_().register_hook(len),
    "repr": lambda lib, x: repr(x), "len": lambda lib, x: len(x), "bool": lambda lib, x: bool(x[0, 0]), "float": lambda lib, x: float(x[0, 0]),
    "in": lambda lib, x: 1.0 in x, "array": lambda lib, x: np.asarray(x), "setitem": lambda lib, x: operator.setitem(x, 0, 1.0),
    "stft": lambda lib, x: x.flatten().stft(4, window=lib.ones(4), return_complex=True),
}  # fmt: skip
OPERATORS = {
    **{name: lambda lib, x, name=name: getattr(operator, name)(x, x)
       for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "ge", "matmul", "iadd", "imul", "ipow")},
    **{f"2 {name} x": lambda lib, x, name=name: getattr(operator, name)(2, x)
       for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt")},
    **{name: lambda lib, x, name=name: getattr(operator, name)(x.long(), x.long())
       for name in ("and_", "or_", "xor", "lshift", "iand", "irshift")},
    **{name: lambda lib, x, name=name: getattr(operator, name)(x) for name in ("neg", "pos", "abs")},
    "invert": lambda lib, x: ~(x > 1),
}  # fmt: skip
FUNCTIONS = {
    "relu": lambda F, lib, x: F.relu(x), "dropout": lambda F, lib, x: F.dropout(x), "glu": lambda F, lib, x: F.glu(x[:, :2]),
    "softmax": lambda F, lib, x: F.softmax(x, 1), "gumbel_softmax": lambda F, lib, x: F.gumbel_softmax(x),
    "linear": lambda F, lib, x: F.linear(x, x), "bilinear": lambda F, lib, x: F.bilinear(x, x, lib.ones(1, 3, 3)),
    "conv2d": lambda F, lib, x: F.conv2d(x[None, None], lib.ones(1, 1, 2, 2)), "unfold": lambda F, lib, x: F.unfold(x[None, None], 2),
    "max_pool2d": lambda F, lib, x: F.max_pool2d(x[None], 2), "avg_pool2d": lambda F, lib, x: F.avg_pool2d(x[None], 2),
    "adaptive_avg_pool2d": lambda F, lib, x: F.adaptive_avg_pool2d(x[None], 2), "lp_pool2d": lambda F, lib, x: F.lp_pool2d(x[None], 2, 2),
    "pad": lambda F, lib, x: F.pad(x[None], (1, 1), mode="reflect"), "grid_sample": lambda F, lib, x: F.grid_sample(x[None, None], lib.zeros(1, 2, 2, 2)),
    "interpolate": lambda F, lib, x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    "embedding": lambda F, lib, x: F.embedding(lib.tensor([0]), x), "embedding_bag": lambda F, lib, x: F.embedding_bag(lib.tensor([[0]]), x),
    "layer_norm": lambda F, lib, x: F.layer_norm(x, (3,)), "batch_norm": lambda F, lib, x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda F, lib, x: F.group_norm(x, 1), "instance_norm": lambda F, lib, x: F.instance_norm(x[None]),
    "cosine_similarity": lambda F, lib, x: F.cosine_similarity(x, x), "normalize": lambda F, lib, x: F.normalize(x),
    "mse_loss": lambda F, lib, x: F.mse_loss(x, x), "cross_entropy": lambda F, lib, x: F.cross_entropy(x, lib.tensor([0, 1, 2])),
    "kl_div": lambda F, lib, x: F.kl_div(x, x), "triplet": lambda F, lib, x: F.triplet_margin_loss(x, x, x),
    "smoothed": lambda F, lib, x: F.cross_entropy(x, lib.tensor([0, 1, 2]), label_smoothing=0.1),
    "attention": lambda F, lib, x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "einsum": lambda F, lib, x: lib.einsum("ij,jk->ik", x, x), "norm": lambda F, lib, x: lib.norm(x), "std": lambda F, lib, x: lib.std(x),
    "meshgrid": lambda F, lib, x: lib.meshgrid(x[0], x[0]), "tensordot": lambda F, lib, x: lib.tensordot(x, x, 1),
    "block_diag": lambda F, lib, x: lib.block_diag(x, x), "rand_like": lambda F, lib, x: lib.rand_like(x),
    "split": lambda F, lib, x: lib.split(x, 2), "arange": lambda F, lib, x: lib.arange(3), "tensor": lambda F, lib, x: lib.tensor([1.0]),
    "quantile": lambda F, lib, x: lib.quantile(x, 0.5), "cdist": lambda F, lib, x: lib.cdist(x, x), "isclose": lambda F, lib, x: lib.isclose(x, x),
}  # fmt: skip
MODULES = {
    "Linear": lambda lib: lib.nn.Linear(3, 2), "Dropout": lambda lib: lib.nn.Dropout(), "LayerNorm": lambda lib: lib.nn.LayerNorm(3),
    "Sequential": lambda lib: lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1)),
    "BatchNorm1d": lambda lib: lib.nn.BatchNorm1d(3), "PReLU": lambda lib: lib.nn.PReLU(), "Flatten": lambda lib: lib.nn.Flatten(),
    "Unflatten": lambda lib: lib.nn.Unflatten(1, (3, 1)), "GELU": lambda lib: lib.nn.GELU(), "Softmax": lambda lib: lib.nn.Softmax(1),
    "Conv1d": lambda lib: lib.nn.Conv1d(3, 2, 2), "AvgPool1d": lambda lib: lib.nn.AvgPool1d(2), "RMSNorm": lambda lib: lib.nn.RMSNorm(3),
}  # fmt: skip


def seen(lib, call):
    """Return the names of the functions and attributes passed to `__torch_function__` of a mode, in order."""
    names = []

    class Log(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            name = func.__name__
            names.append(lib.overrides.resolve_name(func).split(".")[2] if name == "__get__" else name)
            return func(*args, **(kwargs or {}))

    x = lib.tensor(np.arange(1.0, 10.0, dtype="float32").reshape(3, 3) % 5 + 0.5)
    with Log():
        call(lib, x)
    return names


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    ours, theirs = (seen(lib, lambda lib, x: getattr(x, name)) for lib in (flambeau, torch))
    assert ours == theirs == [name]


@pytest.mark.parametrize("calls, name", [(table, name) for table in (METHODS, OPERATORS) for name in table])
def test_methods(calls, name):
    ours, theirs = (seen(lib, calls[name]) for lib in (flambeau, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    ours, theirs = (seen(lib, lambda lib, x: FUNCTIONS[name](lib.nn.functional, lib, x)) for lib in (flambeau, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    """A module calls the same functions as in PyTorch, apart from reads of attributes such as `shape` and `dtype`."""
    questions = {"dim", "size", "shape", "ndim", "dtype", "device", "requires_grad", "numel"}
    found = []
    for lib in (flambeau, torch):
        module = MODULES[name](lib)
        found.append([each for each in seen(lib, lambda lib, x, module=module: module(x)) if each not in questions])
    assert found[0] == found[1]


LISTED_OTHERWISE = {
    "symeig", "eig", "solve", "lstsq", "matrix_rank",  # removed: PyTorch keeps stubs that raise, and does not list them
    "segment_reduce", "while_loop",  # not listed by PyTorch
    "quantize_per_channel", "quantize_per_tensor",  # raise an error: flambeau has no quantized tensors
    "autocast", "set_default_dtype", "from_dlpack", "to_dlpack",  # a class, and functions that cannot be overridden
}  # fmt: skip


@pytest.mark.parametrize("space", ["", "Tensor", "linalg", "fft", "special", "nn.functional"])
def test_lists(space):
    """`torch.overrides` lists a public function as overridable, or as ignored, if PyTorch does."""
    owners = [functools.reduce(getattr, filter(None, space.split(".")), lib) for lib in (flambeau, torch)]
    lists = [
        (
            {each for found in lib.overrides.get_overridable_functions().values() for each in found},
            lib.overrides.get_ignored_functions(),
        )
        for lib in (flambeau, torch)
    ]
    public = {each for each in vars(owners[0]) if not each.startswith("_") and callable(getattr(owners[1], each, None))}
    for name in public - LISTED_OTHERWISE:
        got, wanted = ([getattr(owner, name) in each for each in of] for owner, of in zip(owners, lists, strict=True))
        assert got == wanted, name


class RecordsCalls:
    """A non-tensor that records the functions passed to its `__torch_function__`."""

    offered = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.offered.append(func.__name__.removeprefix("linalg_").removeprefix("fft_"))


STRANGE = {
    **{f"{symbol} {side}": lambda lib, x, o, name=symbol, side=side: getattr(operator, name)(*((x, o) if side == "right" else (o, x)))
       for symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "eq", "lt", "and_", "or_", "xor", "lshift", "rshift")
       for side in ("left", "right") if (symbol, side) not in (("eq", "left"), ("lt", "left"))},
    **{name: lambda lib, x, o, name=name: getattr(operator, name)(x.clone(), o)
       for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift")},
    **{f"x.{name}(o)": lambda lib, x, o, name=name: getattr(x, name)(o)
       for name in ("add", "sub", "mul", "div", "dot", "mv", "mm", "bmm", "matmul", "outer", "kron", "cross", "copy_", "fill_", "type_as", "view_as",
                    "expand_as", "reshape_as", "resize_as_", "to", "is_same_size", "is_set_to", "equal", "allclose", "isclose", "atan2", "hypot",
                    "lt", "eq", "logical_and", "bitwise_or", "maximum", "clamp", "clamp_min", "take", "gcd", "dist", "xlogy", "fmod", "add_", "mul_",
                    "pow_", "atan2_", "eq_", "normal_", "uniform_", "exponential_", "bernoulli_", "softmax", "sum", "mean", "prelu")},
    **{f"x.{name}(x, o)": lambda lib, x, o, name=name: getattr(x, name)(x, o)
       for name in ("addmm", "addmv", "baddbmm", "addcmul", "addcdiv", "addr", "lerp", "where", "put", "put_", "addmm_", "addbmm_")},
    **{name: lambda lib, x, o, name=name: getattr(lib, name)([x, o])
       for name in ("stack", "cat", "vstack", "hstack", "dstack", "column_stack", "atleast_1d", "meshgrid", "block_diag", "cartesian_prod")
       if name not in ("block_diag", "cartesian_prod")},
    **{f"{name}(x, o)": lambda lib, x, o, name=name: getattr(lib, name)(x, o)
       for name in ("broadcast_tensors", "meshgrid", "block_diag", "cartesian_prod", "atleast_2d", "tensordot", "chain_matmul", "cdist", "result_type",
                    "searchsorted", "bincount", "isin", "add")},
    "x[o]": lambda lib, x, o: x[o], "x[o, 0]": lambda lib, x, o: x[o, 0], "x[[o]]": lambda lib, x, o: x[[o]],
    "x[o] = 1": lambda lib, x, o: operator.setitem(x, o, 1.0), "x[0] = o": lambda lib, x, o: operator.setitem(x, 0, o),
    "einsum": lambda lib, x, o: lib.einsum("ij,jk", x, o), "alpha": lambda lib, x, o: lib.add(x, x, alpha=o), "out": lambda lib, x, o: lib.add(x, x, out=o),
    "index_add": lambda lib, x, o: x.index_add(0, lib.tensor([0]), o), "index_put": lambda lib, x, o: x.index_put((o,), x),
    "bias": lambda lib, x, o: lib.nn.functional.linear(x, x, o), "norm's weight": lambda lib, x, o: lib.layer_norm(x, (3,), o),
    "grad": lambda lib, x, o: lib.autograd.grad(o, x), "full": lambda lib, x, o: lib.full((2,), o), "ones": lambda lib, x, o: lib.ones(o),
    "init": lambda lib, x, o: lib.nn.init.constant_(o, 1.0), "pad_sequence": lambda lib, x, o: lib.nn.utils.rnn.pad_sequence([x, o]),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_operands_that_are_no_tensors(name):
    """If an operand is not a tensor but has `__torch_function__`, it is called once, with the same function as in PyTorch."""
    found = []
    for lib in (flambeau, torch):
        RecordsCalls.offered.clear()
        x = (
            lib.tensor([[True, False, True]] * 3)
            if name.partition(" ")[0] in ("and_", "or_", "xor", "iand", "ior", "ixor")
            else lib.ones(3, 3)
        )
        STRANGE[name](lib, x, RecordsCalls())
        found.append(list(RecordsCalls.offered))
    assert found[0] == found[1] != []


class Quantized(NamedTuple):
    """A tensor-like tuple, as in brevitas: it is one argument, not a sequence of tensors."""

    value: Any
    scale: float

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [each.__name__ for each in types]

    def __radd__(self, other):
        raise AssertionError("adds to a sequence of arguments")


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x, q: lib.add(x, q),
        lambda lib, x, q: lib.nn.functional.linear(x, q),
        lambda lib, x, q: lib.nn.functional.interpolate(q, 2),
        lambda lib, x, q: lib.cat((x, q)),
        lambda lib, x, q: lib.where(x > 0, q, x),
        lambda lib, x, q: lib.mm(q, x),
        lambda lib, x, q: lib.clamp(x, min=q),
        lambda lib, x, q: lib.add(x, x, out=q),
        lambda lib, x, q: x.copy_(q),
        lambda lib, x, q: x @ q,
    ],
)
def test_tuples_that_override_calls_are_arguments(call):
    results = [call(lib, lib.ones(2, 2), Quantized(lib.ones(2, 2), 2.0)) for lib in (flambeau, torch)]
    assert results[0] == results[1]
    assert results[0][1] == ["Quantized"]

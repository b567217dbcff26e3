"""Calls of public functions and methods as calls of PyTorch's operators: `x.float()` is `aten.to.dtype(x, torch.float32)`.

What a tracer is offered are functions as programs call them. A graph holds operators, with arguments in the order that PyTorch
declares and without those that are the defaults. For most functions both have the same name and order; the others are listed
here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import LOSSES, REDUCTIONS

from ..fx._names import public_module
from ._overloads import overload_of

__all__ = ["COMPOSITES", "Call", "call_of", "name_of"]


class Call(NamedTuple):
    """A call of an operator."""

    target: Any
    args: list[Any]
    kwargs: dict[str, Any]


# Functions that are no operators of PyTorch: what they call is.
COMPOSITES = frozenset(
    [
        "nn.functional.affine_grid",
        "nn.functional.batch_norm",
        "nn.functional.embedding",
        "nn.functional.embedding_bag",
        "nn.functional.gaussian_nll_loss",
        "nn.functional.gumbel_softmax",
        "nn.functional.instance_norm",
        "nn.functional.multi_head_attention_forward",
        "nn.functional.multilabel_soft_margin_loss",
        "nn.functional.normalize",
        "nn.functional.softmin",
        "nn.functional.softsign",
        "nn.functional.tanhshrink",
        "nn.functional.triplet_margin_with_distance_loss",
        "nn.functional.dropout1d",
        "Tensor.module_load",
    ]
)

# Operators of Python, and methods that are another operator.
_RENAMED = {
    "__abs__": "abs", "__add__": "add", "__and__": "bitwise_and", "__deepcopy__": "clone", "__eq__": "eq", "__ge__": "ge",
    "__gt__": "gt", "__invert__": "bitwise_not", "__iter__": "unbind", "__le__": "le", "__lshift__": "bitwise_left_shift",
    "__lt__": "lt", "__matmul__": "matmul", "__mul__": "mul", "__ne__": "ne", "__neg__": "neg", "__or__": "bitwise_or",
    "__pow__": "pow", "__radd__": "add", "__rmul__": "mul", "__rshift__": "bitwise_right_shift", "__sub__": "sub",
    "__truediv__": "div", "__xor__": "bitwise_xor", "__floordiv__": "floor_divide", "__mod__": "remainder",
    "__rsub__": "rsub", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_", "absolute": "abs", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "logsigmoid": "log_sigmoid", "unfold_windows": "im2col", "concat": "concat", "mH": "adjoint",
}  # fmt: skip
_SWAPPED = {"__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rmatmul__": "matmul",
            "__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift", "__rtruediv__": "div"}  # fmt: skip
_TO_DTYPE = {
    "bfloat16": torch.bfloat16, "bool": torch.bool, "byte": torch.uint8, "cdouble": torch.complex128, "cfloat": torch.complex64,
    "char": torch.int8, "double": torch.float64, "float": torch.float32, "half": torch.float16, "int": torch.int32,
    "long": torch.int64, "short": torch.int16,
}  # fmt: skip
_PROPERTIES = {"T": "numpy_T", "mT": "mT", "H": "adjoint", "mH": "adjoint", "real": "real", "imag": "imag", "data": "detach"}
_LISTS = frozenset(
    [
        "sum.1",
        "mean.1",
        "prod.-",
        "amax.1",
        "amin.1",
        "logsumexp.1",
        "var.1",
        "std.1",
        "var_mean.1",
        "std_mean.1",
        "nansum.1",
        "conv1d.3",
        "conv1d.4",
        "conv1d.5",
        "conv2d.3",
        "conv2d.4",
        "conv2d.5",
        "conv3d.3",
        "conv3d.4",
        "conv3d.5",
        "max_pool1d.1",
        "max_pool1d.2",
        "max_pool1d.3",
        "max_pool1d.4",
        "avg_pool1d.1",
        "avg_pool1d.2",
        "avg_pool1d.3",
        "max_pool2d.1",
        "max_pool2d.2",
        "max_pool2d.3",
        "max_pool2d.4",
        "avg_pool2d.1",
        "avg_pool2d.2",
        "avg_pool2d.3",
        "max_pool3d.1",
        "max_pool3d.2",
        "max_pool3d.3",
        "max_pool3d.4",
        "avg_pool3d.1",
        "avg_pool3d.2",
        "avg_pool3d.3",
        "conv_transpose1d.3",
        "conv_transpose1d.4",
        "conv_transpose1d.5",
        "conv_transpose1d.7",
        "conv_transpose2d.3",
        "conv_transpose2d.4",
        "conv_transpose2d.5",
        "conv_transpose2d.7",
        "conv_transpose3d.3",
        "conv_transpose3d.4",
        "conv_transpose3d.5",
        "conv_transpose3d.7",
        "adaptive_avg_pool1d.1",
        "adaptive_avg_pool2d.1",
        "adaptive_avg_pool3d.1",
        "adaptive_max_pool1d.1",
        "adaptive_max_pool2d.1",
        "adaptive_max_pool3d.1",
        "roll.1",
        "roll.2",
        "flip.1",
    ]
)


def name_of(func: Any) -> str:
    """The path of a function below `torch`: `nn.functional.relu`, `Tensor.add_`, `Tensor.T`; its plain name elsewhere."""
    return _name_of(func.__wrapped__ if type(func).__name__ == "ForOuterModes" else func)


@functools.lru_cache(maxsize=4096)
def _name_of(func: Any) -> str:
    path = torch.overrides.resolve_name(func)
    if path is not None:
        return path.removeprefix("torch.").removesuffix(".__get__")
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):  # its setter
        attribute = next((name for name, value in vars(Tensor).items() if getattr(value, "original", value) is owner), "?")
        return f"Tensor.{attribute}.{func.__name__}"
    if public_module(getattr(func, "__module__", None) or "").startswith("torchvision."):
        return f"torchvision.{func.__name__}"
    return getattr(func, "__name__", type(func).__name__)


def call_of(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The operator's call that a call of a public function is.

    Args:
        name: the function's path, by `name_of`.
        func: the function.
        args, kwargs: the arguments.
    """
    space, _, short = name.rpartition(".")
    if not space and short in _INTERNAL and not hasattr(func, "__body__"):
        return _INTERNAL[short](*args, **kwargs)
    special = _SPECIAL.get(short)
    if special is not None:
        found = special(space, *args, **kwargs)
        if found is not None:
            return found
    if space == "torchvision":
        return Call(getattr(torch.ops.torchvision, short).default, *_arranged(func, args, kwargs, short))
    if space == "nn.functional" and short in _COMPILED_LOSSES:
        return _compiled_loss(short, func, args, kwargs)
    if space == "nn.functional" and short in LOSSES:
        return _loss(short, func, args, kwargs)
    if short in _PROPERTIES and not kwargs and len(args) == 1:
        return aten(_PROPERTIES[short], list(args))
    if short in _SWAPPED:
        return aten(_SWAPPED[short], [args[1], args[0]])
    positional, keywords = _arranged(func, args, kwargs, short)
    if space in ("linalg", "fft", "special"):
        short = f"{space}_{short}"
    if keywords.pop("inplace", False):
        short = f"{short}_"
    return aten(_RENAMED.get(short, short), positional, keywords)


def aten(name: str, args: list[Any], kwargs: dict[str, Any] | None = None, overload: str | None = None) -> Call:
    """A call of one of PyTorch's operators, in the form for these arguments.

    Raises:
        RuntimeError: there is no such operator.
    """
    kwargs = kwargs or {}
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        raise RuntimeError(f"torch.export: {name} is no operator that a graph can hold")
    chosen = overload or overload_of(name, args, kwargs)
    return Call(getattr(packet, chosen, packet.default), args, kwargs)


# --- arguments in order ---


@functools.lru_cache(maxsize=4096)
def _parameters(func: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        parameters = list(inspect.signature(func).parameters.values())
        return [each for each in parameters if each.name != "legacy"]  # an order of arguments that few programs use
    except (TypeError, ValueError):
        return None


def _arranged(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> tuple[list[Any], dict[str, Any]]:
    """Arguments in their declared order, without defaults at the end; those that can only be given by name, by name."""
    func = func.__wrapped__ if type(func).__name__ == "ForOuterModes" else func
    parameters = _parameters(func)
    if parameters is None:
        return list(args), dict(kwargs)
    rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "")
    if rest == "args":  # several orders of arguments
        return [_plain_sequence(value) for value in args], {key: value for key, value in kwargs.items() if value is not None}
    if rest:
        return _with_rest(parameters, args, kwargs)
    if all(each.name != "axis" for each in parameters):  # NumPy's name for `dim`, but `segment_reduce` calls it so itself
        kwargs = {"dim" if key == "axis" else key: value for key, value in kwargs.items()}
    bound = inspect.Signature(parameters).bind(*args, **kwargs).arguments
    values: list[tuple[Any, Any]] = []
    keywords: dict[str, Any] = {}
    for each in parameters:
        value = bound.get(each.name, each.default)
        if each.name.startswith("_") or each.name in ("out", "generator", "names"):
            continue
        if each.name == "inplace":
            keywords["inplace"] = value
        elif each.kind is each.KEYWORD_ONLY:
            if each.name in bound and not _equal(value, each.default):
                keywords[each.name] = value
        elif each.name == "dtype" and isinstance(func, MethodType) is False and value is None:
            continue
        else:
            place = f"{name}.{len(values)}"
            values.append((_as_list(value, name) if place in _LISTS else value, each.default))
    while values and values[-1][1] is not inspect.Parameter.empty and _equal(*values[-1]):
        values.pop()
    return [_plain_sequence(value) for value, _ in values], keywords


def _with_rest(
    parameters: list[inspect.Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a function to which sizes may be given one by one, or as a sequence."""
    kwargs = dict(kwargs)
    first = 1 if args and isinstance(args[0], Tensor) else 0
    rest: Any = list(args[first:])
    for key in ("size", "sizes", "shape", "dims", "repeats"):
        if key in kwargs:
            rest = list(kwargs.pop(key))
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
        rest = list(rest[0])
    kwargs = {key: value for key, value in kwargs.items() if value is not None and key not in ("out", "generator", "names")}
    return [*args[:first], rest], {key: value for key, value in kwargs.items() if not (key == "requires_grad" and not value)}


def _as_list(value: Any, name: str) -> Any:
    """A list, of one number for each dimension of windows, where one number stands for all."""
    if value is None or isinstance(value, (str, bool)):
        return value
    times = int(name[-2]) if name[-2:] in ("1d", "2d", "3d") else 1
    return list(value) if isinstance(value, (list, tuple)) else [value] * times


def _plain_sequence(value: Any) -> Any:
    return list(value) if isinstance(value, (tuple, torch.Size)) else value


def _equal(value: Any, default: Any) -> bool:
    """Whether an argument is the default, also one number for a list of equal ones."""
    if value is default:
        return True
    if isinstance(value, (list, tuple)) and isinstance(default, (int, float)):
        return len(value) > 0 and all(type(item) in (int, float) and item == default for item in value)
    if isinstance(value, (list, tuple)) and default in (None, ()):
        return len(value) == 0
    return type(value) is type(default) and isinstance(value, (int, float, str, bool)) and value == default


# --- functions whose operator has other arguments ---


def _loss(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    operator, parameters = LOSSES[name]
    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    reduced_as = _reduction_of(given)
    values = [reduced_as if each == "reduction" else given[each] for each in parameters]
    defaults = [1 if each == "reduction" else inspect.signature(func).parameters[each].default for each in parameters]
    while values and _equal(values[-1], defaults[-1]):
        values.pop()
        defaults.pop()
    return aten(operator, [given["input"], given["target"], *values])


# Losses that PyTorch has in the namespace `torch`, too, with their reduction as a number.
_COMPILED_LOSSES = {
    "cosine_embedding_loss": ("input1", "input2", "target", "margin", "reduction"),
    "ctc_loss": ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity"),
    "hinge_embedding_loss": ("input", "target", "margin", "reduction"),
    "margin_ranking_loss": ("input1", "input2", "target", "margin", "reduction"),
    "poisson_nll_loss": ("input", "target", "log_input", "full", "eps", "reduction"),
    "triplet_margin_loss": ("anchor", "positive", "negative", "margin", "p", "eps", "swap", "reduction"),
}


def _reduction_of(given: dict[str, Any]) -> int:
    """The number of a reduction, also where it is said as in PyTorch before 0.4.1."""
    reduction = given["reduction"]
    if given.get("size_average") is not None or given.get("reduce") is not None:
        averaged, reduced = given.get("size_average") is not False, given.get("reduce") is not False
        reduction = ("mean" if averaged else "sum") if reduced else "none"
    return REDUCTIONS.index(reduction)


def _compiled_loss(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments) | {"reduction": _reduction_of(bound.arguments)}
    return aten(name, [given[each] for each in _COMPILED_LOSSES[name]])


def _to(space: str, self: Tensor, *args: Any, **kwargs: Any) -> Call | None:
    kwargs = {key: value for key, value in kwargs.items() if value not in (None, False)}
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    for value in args:
        if isinstance(value, Tensor):
            return aten("to", [self, value], kwargs, "other")
        if isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, (str, torch.device)):
            device = value
    kwargs.pop("memory_format", None)
    if device is not None and torch.device(device).type == self.device.type and dtype is not None:
        device = None
    if device is None:
        return aten("to", [self, self.dtype if dtype is None else dtype], kwargs, "dtype")
    return aten("to", [self, torch.device(device), self.dtype if dtype is None else dtype], kwargs, "device")


def _to_dtype(dtype: torch.dtype) -> Callable[..., Call]:
    return lambda space, self, **kwargs: aten("to", [self, dtype], None, "dtype")


def _view(space: str, self: Tensor, *size: Any, dtype: Any = None, **kwargs: Any) -> Call | None:
    dtype = size[0] if size and isinstance(size[0], torch.dtype) else dtype
    return None if dtype is None else aten("view", [self, dtype], None, "dtype")


def _split(space: str, self: Tensor, *args: Any, dim: int = 0, **kwargs: Any) -> Call:
    sizes = args[0] if args else next(iter(kwargs.values()))
    dim = args[1] if len(args) > 1 else dim
    rest = [] if type(dim) is int and dim == 0 else [dim]
    if isinstance(sizes, (list, tuple)):
        return aten("split_with_sizes", [self, list(sizes), *rest])
    return aten("split", [self, sizes, *rest])


def _where(space: str, *args: Any, **kwargs: Any) -> Call | None:
    if space == "Tensor":
        self, condition, other = (*args, *kwargs.values())
        return aten("where", [condition, self, other])
    return None


def _extreme(name: str) -> Callable[..., Call]:
    def arranged(
        space: str, self: Tensor, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None, **kw: Any
    ) -> Call:
        values = [value for value in (*args, dim, other) if value is not None]
        return aten(name, [self, *values, *([True] if keepdim else [])])

    return arranged


def _arange(space: str, *args: Any, start: Any = None, end: Any = None, step: Any = 1, **kwargs: Any) -> Call:
    limits = list(args)
    if not limits:
        limits = [0 if start is None else start, end] if start is not None or step != 1 else [end]
    elif end is not None:
        limits.append(end)
    if not isinstance(step, int) or step != 1:
        limits = [*([0] if len(limits) == 1 else []), *limits, step]
    return aten("arange", limits, {key: value for key, value in kwargs.items() if value not in (None, False)})


def _interpolate(space: str, *args: Any, **kwargs: Any) -> Call | None:
    if space != "nn.functional":
        return None
    bound = inspect.signature(torch.nn.functional.interpolate).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    input, mode = given["input"], given["mode"]
    dims = input.dim() - 2
    size, factors = (
        value if value is None else list(value) if isinstance(value, (list, tuple)) else [value] * dims
        for value in (given["size"], given["scale_factor"])
    )
    if given["recompute_scale_factor"] and factors is not None:
        shape = torch.Tensor.size(input)
        size, factors = [int(shape[2 + place] * factor) for place, factor in enumerate(factors)], None
    if factors is not None:
        factors = [float(factor) for factor in factors]
    if mode == "area":
        return aten(f"adaptive_avg_pool{dims}d", [input, size])
    if mode in ("nearest", "nearest-exact"):
        return aten(f"{'_' * (mode != 'nearest')}upsample_{mode.replace('-', '_')}{dims}d", [input, size, factors], None, "vec")
    form = f"{'_' * given['antialias']}upsample_{mode}{'' if mode[-1] == 'd' else dims}{'' if mode[-1] == 'd' else 'd'}"
    return aten(form + "_aa" * given["antialias"], [input, size, bool(given["align_corners"]), factors], None, "vec")


def _dropout(name: str) -> Callable[..., Call | None]:
    def arranged(space: str, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, **kwargs: Any) -> Call:
        training = kwargs.get("train", training)
        return aten(name + "_" * inplace, [input, p, training])

    return arranged


def _softmax(name: str) -> Callable[..., Call]:
    def arranged(space: str, input: Tensor, *args: Any, dim: Any = None, dtype: Any = None, **kwargs: Any) -> Call:
        if args:
            dim, *more = args
            more = [value for value in more if isinstance(value, torch.dtype)]
            dtype = more[0] if more else dtype
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return aten(name, [input, dim, *([] if dtype is None else [dtype])])

    return arranged


def _max_pool(name: str) -> Callable[..., Call | None]:
    def arranged(space: str, *args: Any, **kwargs: Any) -> Call | None:
        if not (kwargs.pop("return_indices", False) or (space == "nn.functional" and len(args) > 6 and args[6])):
            return None
        dims = int(name[-2])
        bound = inspect.signature(getattr(torch.nn.functional, name)).bind(*args[:6], **kwargs)
        bound.apply_defaults()
        values = list(bound.arguments.values())[:6]
        values[2] = values[1] if values[2] is None else values[2]
        listed = [list(value) if isinstance(value, (list, tuple)) else [value] * dims for value in values[1:5]]
        return aten(f"{name}_with_indices", [values[0], *listed, values[5]])

    return arranged


def _unfold(space: str, *args: Any, **kwargs: Any) -> Call | None:
    if space != "nn.functional":
        self, dimension, size, step = (*args, *kwargs.values())[:4]
        return aten("unfold", [self, dimension, size, step])
    bound = inspect.signature(torch.nn.functional.unfold).bind(*args, **kwargs)
    bound.apply_defaults()
    input, *sizes = bound.arguments.values()
    return aten("im2col", [input, *(list(size) if isinstance(size, (list, tuple)) else [size] * 2 for size in sizes)])


def _fold(space: str, *args: Any, **kwargs: Any) -> Call:
    bound = inspect.signature(torch.nn.functional.fold).bind(*args, **kwargs)
    bound.apply_defaults()
    input, *sizes = bound.arguments.values()
    return aten("col2im", [input, *(list(size) if isinstance(size, (list, tuple)) else [size] * 2 for size in sizes)])


def _grid_sample(space: str, *args: Any, **kwargs: Any) -> Call:
    bound = inspect.signature(torch.nn.functional.grid_sample).bind(*args, **kwargs)
    bound.apply_defaults()
    input, grid, mode, padding, corners = list(bound.arguments.values())[:5]
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return aten("grid_sampler", [input, grid, modes.index(mode), paddings.index(padding), bool(corners)])


def _einsum(space: str, equation: Any, *operands: Any, **kwargs: Any) -> Call:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return aten("einsum", [equation, list(given)])


def _meshgrid(space: str, *tensors: Any, indexing: Any = None) -> Call:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if indexing is None:
        return aten("meshgrid", [list(given)])
    return aten("meshgrid", [list(given)], {"indexing": indexing}, "indexing")


def _sequence_of_tensors(name: str) -> Callable[..., Call]:
    def arranged(space: str, *tensors: Any) -> Call:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return aten(name, [list(given)])

    return arranged


def _recurrent(name: str) -> Callable[..., Call | None]:
    def arranged(space: str, *args: Any, **kwargs: Any) -> Call | None:
        is_packed = len(args) > (1 if name == "lstm" else 2) and isinstance(args[1 if name == "lstm" else 2], Tensor)
        positional = [list(value) if isinstance(value, tuple) else value for value in args]
        return aten(name, positional, kwargs, "data" if is_packed or "data" in kwargs else "input")

    return arranged


# Operations of layers, which are no public functions: theirs take other arguments.
_INTERNAL: dict[str, Callable[..., Call]] = {
    "linear": lambda bias, input, weight: aten("linear", [input, weight, bias]),
    "attention": lambda query, key, value, scale: aten("scaled_dot_product_attention", [query, key, value], {"scale": scale}),
}


def _unbound_write(space: str, *args: Any) -> Call:
    raise RuntimeError("torch.export: a write by torch.Tensor.copy_(x, y), or fill_ or zero_, is not seen; call it as x.copy_(y)")


def _batch_norm(space: str, *args: Any, **kwargs: Any) -> Call | None:
    return aten("batch_norm", [*args[:8], args[0].is_cuda and torch.backends.cudnn.enabled]) if len(args) in (8, 9) else None


_SPECIAL: dict[str, Callable[..., Call | None]] = {
    "to": _to,
    "view": _view,
    "split": _split,
    "where": _where,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "arange": _arange,
    "interpolate": _interpolate,
    "upsample": _interpolate,
    "upsample_bilinear": functools.partial(_interpolate, mode="bilinear", align_corners=True),
    "upsample_nearest": functools.partial(_interpolate, mode="nearest"),
    "unfold": _unfold,
    "copied": _unbound_write,
    "fold": _fold,
    "grid_sample": _grid_sample,
    "einsum": _einsum,
    "meshgrid": _meshgrid,
    "batch_norm": _batch_norm,
    **{
        name: _sequence_of_tensors(name)
        for name in (
            "atleast_1d",
            "atleast_2d",
            "atleast_3d",
            "block_diag",
            "broadcast_tensors",
            "cartesian_prod",
            "chain_matmul",
        )
    },
    **{name: _to_dtype(dtype) for name, dtype in _TO_DTYPE.items()},
    **{name: _dropout(name) for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")},
    **{name: _dropout("feature_dropout") for name in ("dropout1d", "dropout2d", "dropout3d", "feature_dropout")},
    **{name: _softmax(name) for name in ("softmax", "log_softmax")},
    **{name: _max_pool(name) for name in ("max_pool1d", "max_pool2d", "max_pool3d")},
    **{name: _recurrent(name) for name in ("gru", "lstm", "rnn_relu", "rnn_tanh")},
}

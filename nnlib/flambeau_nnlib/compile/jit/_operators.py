"""The operators that the code in an archive may name; nothing else can be reached from it."""

from __future__ import annotations

import builtins
import math
import operator
import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any

import flambeau as torch
from flambeau.extension.aten import ATEN
from flambeau.extension.schemas import schemas

from ...amp.autocast_mode import is_autocast_enabled
from ...nn import functional as F

__all__ = ["operator_named"]

# Dtypes, layouts and memory formats stand in the code as numbers.
DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, None,
    torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16,
]  # fmt: skip
_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


def dtype_numbered(number: Any) -> Any:
    """The dtype with a number in the code of archives; what is no number stays as it is."""
    if not isinstance(number, int) or isinstance(number, bool):
        return number
    if not 0 <= number < len(DTYPES) or DTYPES[number] is None:
        raise RuntimeError(f"the archive uses the dtype number {number}, which is none of ours")
    return DTYPES[number]


def _named(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments with what their numbers stand for, without those that say nothing."""
    kwargs = {name: value for name, value in kwargs.items() if value is not None and name not in ("layout", "pin_memory")}
    if "dtype" in kwargs:
        kwargs["dtype"] = dtype_numbered(kwargs["dtype"])
    if isinstance(kwargs.get("memory_format"), int):
        kwargs["memory_format"] = _FORMATS[kwargs["memory_format"]]
    return kwargs


def _arithmetic(symbol: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    function = getattr(torch, name)

    def compute(left: Any, right: Any, *rest: Any, **kwargs: Any) -> Any:
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            if rest:  # the factor of the second term
                kwargs["alpha"] = rest[0]
            if not isinstance(left, torch.Tensor):
                left = torch.scalar_tensor(left)
            return function(left, right, **kwargs)
        return symbol(left, right)

    return compute


def _unary(symbol: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(torch, name)(value) if isinstance(value, torch.Tensor) else symbol(value)


def _binary(numbers: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    def compute(left: Any, right: Any) -> Any:
        return getattr(torch, name)(left, right) if isinstance(left, torch.Tensor) else numbers(left, right)

    return compute


def _with_indices(name: str) -> Callable[..., Any]:
    pool = getattr(F, name)
    return lambda *args: pool(*args, return_indices=True)


def _sort(values: Any, *args: Any, **kwargs: Any) -> Any:
    """Sort a list where it is, as `list.sort`, or a tensor into a new one."""
    if isinstance(values, list):
        return values.sort(reverse=any(args))
    return torch.sort(values, *args, **kwargs)


def _raise(message: Any, kind: str = "RuntimeError") -> None:
    allowed = {"AssertionError", "IndexError", "KeyError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError"}
    name = kind.rpartition(".")[2]
    raise (getattr(builtins, name) if name in allowed else RuntimeError)(message)


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any,
    groups: Any, *flags: Any,
) -> Any:  # fmt: skip
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _to(value: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """All ways to write `to`: device and dtype, dtype alone, or as another tensor, each with three flags."""
    kwargs = _named(kwargs)
    plain = [argument for argument in args if not isinstance(argument, bool) and argument is not None]
    for given in plain:
        if isinstance(given, torch.Tensor):
            kwargs.update(dtype=given.dtype, device=given.device)
        elif isinstance(given, int):
            kwargs["dtype"] = dtype_numbered(given)
        else:
            kwargs["device"] = given
    kwargs.pop("memory_format", None)
    return value.to(**kwargs)


def _slice(value: Any, *args: Any) -> Any:
    """Part of a tensor (by dimension, start, end, step) or of a list or string (by start, end, step)."""
    if not isinstance(value, torch.Tensor):
        return value[slice(*(*args, None)[: max(len(args), 2)])]
    defaults: tuple[Any, ...] = (0, None, None, 1)
    dim, start, end, step = (*args, *defaults[len(args) :])
    index: list[Any] = [slice(None)] * value.dim()
    index[dim] = slice(start, end, step)
    return value[tuple(index)]


def _index(value: Any, indices: Any) -> Any:
    """Part of a tensor, or the place of an element in a list."""
    if not isinstance(value, torch.Tensor):
        return value.index(indices)
    return value[tuple(slice(None) if index is None else index for index in indices)]


def _index_put_(value: torch.Tensor, indices: list[Any], values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    if any(index is None for index in indices):
        value[tuple(slice(None) if index is None else index for index in indices)] = values
        return value
    return value.index_put_(tuple(indices), values, accumulate)


def _softmax(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)
    return lambda value, dim, dtype=None: function(value, dim, dtype=dtype_numbered(dtype))


def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)

    def reduce(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return getattr(builtins, name)(value, *args)
        kwargs = _named(kwargs)
        return function(value, *([None] if args and args[0] == [] else args[:1]), *args[1:], **kwargs)

    return reduce


def _creation(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)
    return lambda *args, **kwargs: function(*(argument for argument in args if argument is not None), **_named(kwargs))


def _like(name: str) -> Callable[..., Any]:
    function = getattr(torch, name)
    return lambda value, *args, **kwargs: function(value, **_named(kwargs))


def _device(name: Any, index: int | None = None) -> Any:
    return torch.device(name) if index is None else torch.device(name, index)


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _set_grad_enabled(mode: bool) -> None:
    torch.set_grad_enabled(mode)


def _upsample(mode: str, antialias: bool = False) -> Callable[..., Any]:
    def resize(value: Any, size: Any, *rest: Any) -> Any:
        align = rest[0] if not mode.startswith("nearest") else None
        factors = rest[-1] if isinstance(rest[-1] if rest else None, (list, tuple)) and size is None else None
        return F.interpolate(value, size=size, scale_factor=factors, mode=mode, align_corners=align, antialias=antialias)

    return resize


_PLAIN: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(operator.add, "add"),
    "sub": _arithmetic(operator.sub, "sub"),
    "mul": _arithmetic(operator.mul, "mul"),
    "div": _arithmetic(operator.truediv, "div"),
    "floordiv": _arithmetic(operator.floordiv, "floor_divide"),
    "floor_divide": _arithmetic(operator.floordiv, "floor_divide"),
    "remainder": _arithmetic(operator.mod, "remainder"),
    "pow": _arithmetic(lambda base, exponent: operator.pow(float(base), exponent), "pow"),  # a float, also of two ints
    "eq": _arithmetic(operator.eq, "eq"),
    "ne": _arithmetic(operator.ne, "ne"),
    "lt": _arithmetic(operator.lt, "lt"),
    "le": _arithmetic(operator.le, "le"),
    "gt": _arithmetic(operator.gt, "gt"),
    "ge": _arithmetic(operator.ge, "ge"),
    "neg": _unary(operator.neg, "neg"),
    "abs": _unary(abs, "abs"),
    "sqrt": _unary(math.sqrt, "sqrt"),
    "exp": _unary(math.exp, "exp"),
    "log": _unary(math.log, "log"),
    "floor": _unary(math.floor, "floor"),
    "ceil": _unary(math.ceil, "ceil"),
    "round": _unary(lambda value: float(round(value)), "round"),
    **{name: _unary(getattr(math, name), name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "expm1", "isfinite", "isinf", "isnan",
        "lgamma", "log10", "log1p", "sin", "sinh", "tan", "tanh")},
    **{name: getattr(math, name) for name in ("degrees", "factorial", "fabs", "gamma", "frexp", "modf", "radians")},
    **{name: _binary(getattr(math, name), name) for name in ("atan2", "copysign", "fmod", "gcd")},
    "mathremainder": math.remainder,
    "ldexp": _binary(math.ldexp, "ldexp"),
    "__lshift__": _arithmetic(operator.lshift, "bitwise_left_shift"),
    "__rshift__": _arithmetic(operator.rshift, "bitwise_right_shift"),
    "divmod": divmod,
    "hex": hex, "oct": oct, "bin": bin, "ord": ord, "chr": chr,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__not__": operator.not_,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__contains__": lambda values, value: value in values,
    "__getitem__": operator.getitem,
    "__range_length": lambda low, high, step: len(range(low, high, step)),
    "__derive_index": lambda index, start, step: start + index * step,
    "_set_item": _set_item,
    "append": _append,
    "clear": lambda values: values.clear(),
    "copy": lambda values: values.copy(),
    "extend": lambda values, more: values.extend(more),
    "format": lambda text, *values: text.format(*values),
    "percentFormat": lambda text, *values: text % (values[0] if isinstance(values[0], tuple) else values),
    "wait": lambda future: future.wait(),
    "delete": operator.delitem,
    "get": lambda values, key, default=None: values.get(key, default),
    "insert": lambda values, index, value: values.insert(index, value),
    "popitem": lambda values: values.popitem(),
    "remove": lambda values, value: values.remove(value),
    "setdefault": lambda values, key, default: values.setdefault(key, default),
    "sort": _sort,
    "sorted": sorted,
    "update": lambda values, more: values.update(more),
    "items": lambda values: list(values.items()),
    "keys": list,
    "len": len,
    "list": list,
    "pop": lambda values, *args: values.pop(*args),
    "reverse": lambda values: values.reverse(),
    "str": str,
    "values": lambda values: list(values.values()),
    "Bool": bool,
    "Float": float,
    "Int": int,
    "FloatImplicit": float,
    "IntImplicit": int,
    "ScalarImplicit": lambda value: value.item(),
    "item": lambda value: value.item(),
    "index": _index,
    "count": lambda values, value: values.count(value),
    "warn": lambda message, stacklevel=2: warnings.warn(str(message), stacklevel=2),
    "device": _device,
    "dim": lambda value: value.dim(),
    "size": lambda value, *dim: value.size(*dim) if dim else list(value.size()),
    "stride": lambda value, *dim: value.stride(*dim) if dim else list(value.stride()),
    "is_floating_point": torch.is_floating_point,
    "is_grad_enabled": torch.is_grad_enabled,
    "set_grad_enabled": _set_grad_enabled,
    "is_autocast_enabled": is_autocast_enabled,
    "is_autocast_cpu_enabled": lambda: is_autocast_enabled("cpu"),
    "_convolution": _convolution,
    "to": _to,
    "type_as": lambda value, other: value.type_as(other),
    "slice": _slice,
    "index_put_": _index_put_,
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "cpu": lambda value: value.cpu(),
    "contiguous": lambda value, **kwargs: value.contiguous(**_named(kwargs)),
    "clone": lambda value, **kwargs: value.clone(**_named(kwargs)),
    "linear": F.linear,
    "pad": lambda input, pad, mode="constant", value=None: F.pad(input, pad, mode, value),
    "scaled_dot_product_attention": lambda query, key, value, mask=None, p=0.0, is_causal=False, **kwargs: (
        F.scaled_dot_product_attention(query, key, value, mask, p, is_causal, **_named(kwargs))
    ),
    "sum": _reduction("sum"),
    "min": _reduction("min"),
    "max": _reduction("max"),
    "all": _reduction("all"),
    "any": _reduction("any"),
    "mean": lambda value, *args, **kwargs: torch.mean(value, *args, **_named(kwargs)),
    **{f"_upsample_nearest_exact{dims}d": _upsample("nearest-exact") for dims in (1, 2, 3)},
    **{f"_upsample_{mode}2d_aa": _upsample(mode, antialias=True) for mode in ("bilinear", "bicubic")},
    "upsample_nearest1d": _upsample("nearest"),
    "upsample_nearest2d": _upsample("nearest"),
    "upsample_nearest3d": _upsample("nearest"),
    **{f"{kind}{dims}d{'_with_indices' * (kind == 'max_pool')}": _with_indices(f"{kind}{dims}d")
       for dims in (1, 2, 3) for kind in ("adaptive_max_pool", "max_pool")},
    "upsample_linear1d": _upsample("linear"),
    "upsample_bilinear2d": _upsample("bilinear"),
    "upsample_bicubic2d": _upsample("bicubic"),
    "upsample_trilinear3d": _upsample("trilinear"),
    **{name: _creation(name) for name in ("arange", "as_tensor", "empty", "eye", "full", "linspace", "ones", "rand", "randint",
                                          "randn", "randperm", "zeros", "scalar_tensor", "tensor")},
    **{name: _like(name) for name in ("empty_like", "ones_like", "rand_like", "randn_like", "zeros_like")},
    "full_like": lambda value, fill, **kwargs: torch.full_like(value, fill, **_named(kwargs)),
}  # fmt: skip

_PRIMITIVE: dict[str, Callable[..., Any]] = {
    "NumToTensor": torch.tensor,
    "RaiseException": _raise,
    "data": lambda value: value.detach(),
    "device": lambda value: value.device,
    "dtype": lambda value: DTYPES.index(value.dtype),
    "is_cuda": lambda value: value.is_cuda,
    "is_nested": lambda value: False,
    "is_mkldnn": lambda value: False,
    "layout": lambda value: 0,
    "max": max,
    "min": min,
    "abs": abs,
    "requires_grad": lambda value: value.requires_grad,
    "type": lambda value: value.type if isinstance(value, torch.device) else type(value).__name__,
    "unchecked_unwrap_optional": lambda value: value,
    "AutogradAnyNonZero": lambda *values: any(value is not None for value in values),
}

# Layers and activations that are functions of `torch.nn.functional` here, with the arguments that the operators have.
_LAYERS = frozenset({
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "huber_loss", "l1_loss", "leaky_relu", "logsigmoid", "mish", "mse_loss", "one_hot", "pixel_shuffle",
    "pixel_unshuffle", "prelu", "relu6", "rrelu", "selu", "silu", "smooth_l1_loss", "softplus", "softshrink",
})  # fmt: skip


def operator_named(path: str) -> Callable[..., Any]:
    """The operator that code in an archive calls `torch.NAME`, `ops.aten.NAME` or `ops.prim.NAME`.

    What is none, or none that an archive may use, is refused when it is called: much code is never reached.
    """
    name = path.rpartition(".")[2]
    return _of_strings(name, path) if path == f"torch.{name}" and name in _STRINGS else _operator(path)


def _operator(path: str) -> Callable[..., Any]:
    space, _, name = path.partition(".")
    if space == "ops":
        space, _, name = name.partition(".")
    if space == "prim" and name in _PRIMITIVE:
        return _PRIMITIVE[name]
    if space in ("torch", "aten"):
        if name in _PLAIN:
            return _PLAIN[name]
        if any(argument.name == "reduction" for schema in schemas(name) for argument in schema.arguments):
            return _with_numbers(getattr(_aten, name))
        if name in _LAYERS or name.removesuffix("_") in _LAYERS:
            return _layer(name)
        function = getattr(torch, name, None) if name in torch.__all__ and not name.startswith("_") else None
        if isinstance(function, MethodType):  # as the compiled functions of the namespace are; others do more than compute
            return function
        method: Callable[..., Any] | None = vars(torch.Tensor).get(name) if not name.startswith("_") else None
        if callable(method) and name not in _NOT_OPERATORS:
            return method
        family, _, rest = name.partition("_")
        if name in ATEN or name in _OF_SEVERAL or (family in _FAMILIES and rest in getattr(torch, family).__all__):
            return _with_numbers(getattr(_aten, name))

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"the archive uses the operator {path!r}, which is not supported")

    return refused


_STRINGS = frozenset({
    "capitalize", "center", "count", "endswith", "expandtabs", "find", "isalnum", "isalpha", "isdecimal", "isdigit",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip",
    "partition", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
    "strip", "swapcase", "title", "upper", "zfill",
})  # fmt: skip


def _of_strings(name: str, path: str) -> Callable[..., Any]:
    """A method of strings, and the operator of its name where the first argument is none."""
    other = _operator(path)

    def compute(value: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(str, name)(value, *args, **kwargs) if isinstance(value, str) else other(value, *args, **kwargs)

    return compute


# Functions of Python that only compute with the tensors in their arguments, and families of modules of their own.
_OF_SEVERAL = frozenset({
    "affine_grid_generator", "batch_norm", "bilinear", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "cosine_embedding_loss", "cosine_similarity", "ctc_loss", "einsum", "embedding", "group_norm", "gru",
    "hinge_embedding_loss", "instance_norm", "istft", "layer_norm", "log_sigmoid", "lstm", "margin_ranking_loss", "meshgrid",
    "norm", "pairwise_distance", "poisson_nll_loss", "rms_norm", "rnn_relu", "rnn_tanh", "stft", "tensordot",
    "triplet_margin_loss",
})  # fmt: skip
_aten: Any = torch.ops.aten  # type: ignore[attr-defined]
_FAMILIES = ("fft", "linalg", "special")


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: function(*args, **_named(kwargs))


def _layer(name: str) -> Callable[..., Any]:
    if not name.endswith("_"):
        return getattr(F, name)  # type: ignore[no-any-return]
    function = getattr(F, name.removesuffix("_"))
    return lambda value, *args: value.copy_(function(value, *args))


_NOT_OPERATORS = frozenset({
    "apply_", "backward", "cuda", "data_ptr", "map2_", "map_", "numpy", "pin_memory", "register_hook", "set_", "share_memory_",
    "storage", "to_dense", "tolist", "untyped_storage",
})  # fmt: skip

"""Which of its forms an operator of PyTorch has for given arguments: `add.Tensor`, `sum.dim_IntList`.

A form is looked up by the operator's name, without the underscore of in-place operators; what is not listed is `default`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor

__all__ = ["overload_of"]

Chooser = Callable[[list[Any], dict[str, Any]], str]


def _second(args: list[Any], tensor: str, other: str) -> str:
    return tensor if len(args) > 1 and isinstance(args[1], Tensor) else other


def _tensor_or_scalar(args: list[Any], kwargs: dict[str, Any]) -> str:
    return _second(args, "Tensor", "Scalar")


def _always_tensor(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "Tensor"


def _first_and_second(args: list[Any], kwargs: dict[str, Any]) -> str:
    if not isinstance(args[0], Tensor):
        return "Scalar"
    return _second(args, "Tensor_Tensor", "Tensor_Scalar")


def _fixed(name: str) -> Chooser:
    return lambda args, kwargs: name


def _given(place: int, name: str, keyword: str = "dim") -> Chooser:
    """A form for calls that have this argument."""
    return lambda args, kwargs: name if (len(args) > place and args[place] is not None) or keyword in kwargs else "default"


def _extreme(args: list[Any], kwargs: dict[str, Any]) -> str:
    if len(args) < 2 or args[1] is None:
        return "default"
    return _second(args, "other", "dim")


def _where(args: list[Any], kwargs: dict[str, Any]) -> str:
    if len(args) == 1:
        return "default"
    left, right = (isinstance(value, Tensor) for value in args[1:3])
    return {(True, True): "self", (False, True): "ScalarSelf", (True, False): "ScalarOther", (False, False): "Scalar"}[
        left, right
    ]


def _arange(args: list[Any], kwargs: dict[str, Any]) -> str:
    return ("default", "start", "start_step")[len(args) - 1]


def _clamp(args: list[Any], kwargs: dict[str, Any]) -> str:
    limits = [*args[1:], kwargs.get("min"), kwargs.get("max")]
    return "Tensor" if any(isinstance(limit, Tensor) for limit in limits) else "default"


def _scatter(args: list[Any], kwargs: dict[str, Any]) -> str:
    reduced = "reduce" in kwargs
    if len(args) > 3 and isinstance(args[3], Tensor):
        return "reduce" if reduced else "src"
    return "value_reduce" if reduced else "value"


def _deviation(args: list[Any], kwargs: dict[str, Any]) -> str:
    if "correction" in kwargs:
        return "correction"
    if len(args) > 1 and not isinstance(args[1], bool):
        return "dim"
    return "default"


def _comparison_of_sizes(args: list[Any], kwargs: dict[str, Any]) -> str:
    return _second(args, "Tensor", "Scalar")


def _divide(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "Tensor_mode" if kwargs.get("rounding_mode") is not None else "Tensor"


def _repeat_interleave(args: list[Any], kwargs: dict[str, Any]) -> str:
    if len(args) == 1:
        return "Tensor"
    return "self_Tensor" if isinstance(args[1], Tensor) else "self_int"


def _norm(args: list[Any], kwargs: dict[str, Any]) -> str:
    if "dtype" in kwargs:
        return "ScalarOpt_dim_dtype"
    return "ScalarOpt_dim" if len(args) > 2 else "Scalar"


def _index_fill(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "int_Tensor" if isinstance(args[3], Tensor) else "int_Scalar"


def _masked_fill(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "Tensor" if isinstance(args[2], Tensor) else "Scalar"


def _lerp(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "Tensor" if isinstance(args[2], Tensor) else "Scalar"


def _tensor_split(args: list[Any], kwargs: dict[str, Any]) -> str:
    if isinstance(args[1], Tensor):
        return "tensor_indices_or_sections"
    return "indices" if isinstance(args[1], (list, tuple)) else "sections"


def _remainder(args: list[Any], kwargs: dict[str, Any]) -> str:
    if not isinstance(args[0], Tensor):
        return "Scalar_Tensor"
    return _second(args, "Tensor", "Scalar")


def _isin(args: list[Any], kwargs: dict[str, Any]) -> str:
    if not isinstance(args[0], Tensor):
        return "Scalar_Tensor"
    return _second(args, "Tensor_Tensor", "Tensor_Scalar")


def _convolution(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "padding" if len(args) > 4 and isinstance(args[4], str) else "default"


_CHOICES: dict[str, Chooser] = {
    **dict.fromkeys(["add", "sub", "mul", "multiply", "subtract", "true_divide"], _always_tensor),
    **dict.fromkeys(
        ["eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal", "rsub", "fmod",
        "bitwise_and", "bitwise_or", "bitwise_xor", "logical_shift", "bucketize"], _tensor_or_scalar),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], lambda a, k: _second(a, "Tensor", "Tensor_Scalar")),
    **dict.fromkeys(["pow", "float_power"], _first_and_second),
    **dict.fromkeys(["sum", "nansum", "prod", "mean"], _given(1, "dim_IntList")),
    **dict.fromkeys(["any", "all", "argsort", "cummax", "cummin", "median", "nanmedian", "mode", "sort", "unique_dim"],
    _given(1, "dim")),
    **dict.fromkeys(["div", "divide"], _divide),
    **dict.fromkeys(["max", "min"], _extreme),
    **dict.fromkeys(["var", "std", "var_mean", "std_mean"], _deviation),
    **dict.fromkeys(["softmax", "log_softmax", "transpose", "unbind", "select", "unflatten", "movedim", "moveaxis"],
    _fixed("int")),
    **dict.fromkeys(["conv_transpose2d", "conv_transpose3d", "gru", "lstm", "rnn_relu", "rnn_tanh"], _fixed("input")),
    **dict.fromkeys(["conv1d", "conv2d", "conv3d"], _convolution),
    **dict.fromkeys(["slice", "split", "index", "fill_tensor", "unsafe_split", "index_put_tensor"], _always_tensor),
    **dict.fromkeys(["clamp", "clip", "clamp_min", "clamp_max"], _clamp),
    **dict.fromkeys(["hsplit", "vsplit", "dsplit"], lambda a, k: "int" if isinstance(a[1], int) else "array"),
    **dict.fromkeys(["trapz", "trapezoid", "cumulative_trapezoid"], _fixed("x")),
    "logsumexp": _fixed("default"),
    "prod": _given(1, "dim_int"),
    "mean": _given(1, "dim"),
    "sort": _fixed("default"),
    "argsort": _fixed("default"),
    "cummax": _fixed("default"),
    "cummin": _fixed("default"),
    "mode": _fixed("default"),
    "flatten": _fixed("using_ints"),
    "fill": lambda a, k: _second(a, "Tensor", "Scalar"),
    "where": _where,
    "arange": _arange,
    "scatter": _scatter,
    "scatter_reduce": _fixed("two"),
    "remainder": _remainder,
    "isin": _isin,
    "repeat_interleave": _repeat_interleave,
    "norm": _norm,
    "masked_fill": _masked_fill,
    "index_fill": _index_fill,
    "lerp": _lerp,
    "tensor_split": _tensor_split,
    "empty": _fixed("memory_format"),
    "searchsorted": lambda a, k: _second(a, "Tensor", "Scalar"),
    "xlogy": _always_tensor,
}  # fmt: skip


def overload_of(name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """The name of the form of an operator that takes these arguments, in the order that PyTorch declares.

    >>> overload_of("add", [], {}), overload_of("relu", [], {})
    ('Tensor', 'default')
    """
    choose = _CHOICES.get(name.removesuffix("_"))
    return "default" if choose is None else choose(args, kwargs)

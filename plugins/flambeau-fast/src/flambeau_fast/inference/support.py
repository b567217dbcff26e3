"""Which kernel calls an inference plan can contain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall

from ..choice import FLOAT
from .strides import DIMS

__all__ = ["ACTIVATIONS", "ACTIVATION_KINDS", "WITH_WEIGHTS", "is_key", "supported"]

WITH_WEIGHTS = frozenset(
    {"convolution", "linear", "mm", "lstm_layer", "gru_layer", "elman_layer", "attention"}
)  # a plan must have one of these, to be faster than separate calls
# the order of the enumeration in `c/plan.h`
ACTIVATION_KINDS = ("", "relu", "clamp", "hardswish", "hardsigmoid", "silu", "sigmoid", "tanh", "gelu", "gelu_tanh")
ACTIVATIONS = frozenset({*ACTIVATION_KINDS[1:], "hardtanh"})


def supported(call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> bool:
    """Whether a plan can contain the call: known name, float32 arrays, and constant weights."""
    rule = _RULES.get(call.name)
    if rule is None or not call.kwargs.keys() <= {"dim"}:
        return False
    results = call.result if type(call.result) is tuple and not is_key(call.result, kinds) else (call.result,)
    arrays = [argument for argument in (*call.args, *results) if is_key(argument, kinds)]
    if any(not _is_usable(kinds[array]) and not (call.name == "attention" and array in constants) for array in arrays):
        return False
    return rule(_Case(call, kinds, constants))


def _is_usable(kind: ArrayKind) -> bool:
    return kind.dtype == FLOAT and 0 not in kind.shape and len(kind.shape) <= DIMS


def is_key(argument: Any, kinds: Mapping[Any, ArrayKind]) -> bool:
    """Whether an argument is the key of an array."""
    try:
        return argument in kinds
    except TypeError:  # not hashable
        return False


class _Case:
    """A call with shapes of its arguments."""

    def __init__(self, call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> None:
        self.args, self.kwargs, self.kinds, self.constants = call.args, call.kwargs, kinds, constants
        self.shapes = [kinds[argument].shape if is_key(argument, kinds) else None for argument in call.args]
        self.result = kinds[call.result].shape if is_key(call.result, kinds) else None

    def is_constant(self, *places: int) -> bool:
        return all(self.args[place] is None or self.args[place] in self.constants for place in places)

    def varies(self, place: int) -> bool:
        return self.shapes[place] is not None and self.args[place] not in self.constants


def _convolution(case: _Case) -> bool:
    images, weight = case.shapes[:2]
    return images is not None and weight is not None and len(images) == 4 and case.is_constant(1, 2) and case.varies(0)


def _linear(case: _Case) -> bool:
    bias, weight = case.shapes[0], case.shapes[2]
    return case.is_constant(0, 2) and case.varies(1) and weight is not None and bias == (weight[0],)


def _mm(case: _Case) -> bool:
    return case.is_constant(1) and case.varies(0) and len(case.shapes[0] or ()) == 2


def _activation(case: _Case) -> bool:
    return (
        case.varies(0)
        and case.shapes[0] == case.result
        and all(isinstance(bound, (int, float, type(None))) for bound in case.args[1:])
    )


def _layer_norm(case: _Case) -> bool:
    weight, bias = case.shapes[1:3]
    only_last = case.varies(0) and case.args[3:5] == (None, None) and tuple(case.args[5]) == (-1,) and case.args[7] is None
    return only_last and case.is_constant(1, 2) and all(shape is None or shape == case.shapes[0][-1:] for shape in (weight, bias))  # type: ignore[index]


def _fixed_norm(case: _Case) -> bool:
    shape = case.shapes[0]
    if not case.varies(0) or shape is None or len(shape) != 4 or not case.is_constant(1, 2, 3, 4) or case.args[7] is not None:
        return False
    return all(other is None or other == (1, shape[1], 1, 1) for other in case.shapes[1:5]) and None not in case.args[3:5]


def _both(case: _Case) -> bool:
    if len(case.args) != 2 or None in case.shapes or not (case.varies(0) or case.varies(1)):
        return False
    return case.result == np.broadcast_shapes(*case.shapes)  # type: ignore[arg-type]


def _bmm(case: _Case) -> bool:
    one, other = case.shapes
    return (case.varies(0) or case.varies(1)) and len(one or ()) in (3, 4) and (one or ())[:-2] == (other or ())[:-2]


def _softmax(case: _Case) -> bool:
    return case.varies(0) and len(case.args) == 2 and case.args[1] in (-1, len(case.shapes[0] or ()) - 1)


def _attention(case: _Case) -> bool:
    query, key, value, mask = case.shapes[:4]
    if not case.varies(0) or query is None or key is None or value is None or case.args[6:] not in ((), (None,)):
        return False
    has_shapes = len(query) == len(key) == len(value) == 4 and query[:2] == key[:2] == value[:2]
    return has_shapes and (case.args[3] is None or mask is not None)


def _lstm(case: _Case) -> bool:
    return case.varies(0) and case.is_constant(3) and case.args[5] is None


def _gru(case: _Case) -> bool:
    return case.varies(0) and case.is_constant(2, 3) and case.args[5] is None


def _elman(case: _Case) -> bool:
    return case.varies(0) and case.is_constant(2)


def _parts(case: _Case) -> bool:
    return "dim" in case.kwargs and None not in case.shapes


def _mean(case: _Case) -> bool:
    dims = case.args[1] if len(case.args) > 1 else None
    if case.varies(0) and len(case.shapes[0] or ()) == 3:
        return dims in (1, -2, (1,), (-2,), [1], [-2])
    return case.varies(0) and len(case.shapes[0] or ()) == 4 and dims in ((-2, -1), (2, 3), [-2, -1], [2, 3], (-1, -2), (3, 2))


def _max_pool(case: _Case) -> bool:
    return case.varies(0) and len(case.shapes[0] or ()) == 4 and len(case.args) == 6


def _average_pool(case: _Case) -> bool:
    return case.varies(0) and len(case.shapes[0] or ()) == 4 and len(case.args) == 7


def _view(case: _Case) -> bool:
    return case.varies(0)


def _getitem(case: _Case) -> bool:
    index = case.args[1] if type(case.args[1]) is tuple else (case.args[1],)
    plain = [part for part in index if part is None or part is Ellipsis or type(part) is int or _is_slice(part)]
    return case.varies(0) and len(plain) == len(index)


def _is_slice(part: Any) -> bool:
    parts = (part.start, part.stop, part.step) if type(part) is slice else (part,)
    return type(part) is slice and all(one is None or type(one) is int for one in parts) and (part.step or 1) > 0


def _write(case: _Case) -> bool:
    return case.varies(1) and case.shapes[0] == case.shapes[1]


_VIEWS = ("view", "reshape", "unsqueeze", "squeeze", "permute", "transpose", "expand", "unbind", "split", "contiguous")
_RULES: dict[str, Callable[[_Case], bool]] = {
    "convolution": _convolution, "linear": _linear, "mm": _mm, "layer_norm": _layer_norm, "fixed_norm": _fixed_norm,
    "mean": _mean, "max_pool2d": _max_pool, "avg_pool2d_windows": _average_pool, "write": _write, "softmax": _softmax,
    "bmm": _bmm, "attention": _attention, "lstm_layer": _lstm, "gru_layer": _gru, "elman_layer": _elman, "cat": _parts,
    "stack": _parts, "getitem_select": _getitem, **dict.fromkeys(("add", "mul", "sub", "div"), _both),
    **dict.fromkeys(ACTIVATIONS, _activation),
    **dict.fromkeys(_VIEWS, _view),
}  # fmt: skip

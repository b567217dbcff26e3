"""Which kernel calls an inference plan can contain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

from flambeau.backend import ArrayKind, PlanCall

from ..choice import FLOAT

__all__ = ["ACTIVATIONS", "ACTIVATION_KINDS", "WITH_WEIGHTS", "supported"]

WITH_WEIGHTS = frozenset({"convolution", "linear", "mm"})  # a plan must have one of these, to be faster than separate calls
# the order of the enumeration in `c/plan.h`
ACTIVATION_KINDS = ("", "relu", "clamp", "hardswish", "hardsigmoid", "silu", "sigmoid", "tanh", "gelu", "gelu_tanh")
ACTIVATIONS = frozenset({*ACTIVATION_KINDS[1:], "hardtanh"})


def supported(call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> bool:
    """Whether a plan can contain the call: known name, float32 arrays, and constant weights."""
    rule = _RULES.get(call.name)
    if rule is None or call.kwargs:
        return False
    arrays = [argument for argument in (*call.args, call.result) if _is_array(argument, kinds)]
    if any(kinds[array].dtype != FLOAT or 0 in kinds[array].shape for array in arrays):
        return False
    return rule(_Case(call, kinds, constants))


def _is_array(argument: Any, kinds: Mapping[Any, ArrayKind]) -> bool:
    return isinstance(argument, Hashable) and argument in kinds


class _Case:
    """A call with shapes of its arguments."""

    def __init__(self, call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> None:
        self.args, self.kinds, self.constants = call.args, kinds, constants
        self.shapes = [kinds[argument].shape if _is_array(argument, kinds) else None for argument in call.args]
        self.result = kinds[call.result].shape if _is_array(call.result, kinds) else None

    def is_constant(self, *places: int) -> bool:
        return all(self.args[place] is None or self.args[place] in self.constants for place in places)

    def varies(self, place: int) -> bool:
        return self.shapes[place] is not None and self.args[place] not in self.constants


def _convolution(case: _Case) -> bool:
    images, weight = case.shapes[:2]
    groups = case.args[6]
    if images is None or weight is None or len(images) != 4 or not case.is_constant(1, 2) or not case.varies(0):
        return False
    return groups == 1 or (groups == images[1] == weight[0] and weight[1] == 1)


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


def _add(case: _Case) -> bool:
    return case.varies(0) and case.varies(1) and case.shapes[0] == case.shapes[1] and len(case.args) == 2


def _mul(case: _Case) -> bool:
    if not (case.varies(0) and case.varies(1)) or len(case.args) != 2:
        return False
    one, other = case.shapes
    small, large = sorted((one, other), key=lambda shape: sum(shape or ()))
    return one == other or (
        len(one or ()) == 4 == len(other or ()) and small == (*(large or ())[:2], 1, 1)
    )  # squeeze-and-excitation


def _mean(case: _Case) -> bool:
    dims = case.args[1] if len(case.args) > 1 else None
    return case.varies(0) and len(case.shapes[0] or ()) == 4 and dims in ((-2, -1), (2, 3), [-2, -1], [2, 3], (-1, -2), (3, 2))


def _max_pool(case: _Case) -> bool:
    return case.varies(0) and len(case.shapes[0] or ()) == 4 and len(case.args) == 6


def _is_reshape(shape: tuple[int, ...], dims: Any) -> bool:
    """Whether a permutation only moves dimensions of length 1."""
    kept = [dim % len(shape) for dim in dims if shape[dim] != 1]
    return kept == sorted(kept)


def _view(case: _Case) -> bool:
    return case.varies(0)


def _permute(case: _Case) -> bool:
    return case.varies(0) and _is_reshape(case.shapes[0] or (), case.args[1])


def _transpose(case: _Case) -> bool:
    shape = case.shapes[0] or ()
    dims = list(range(len(shape)))
    first, second = case.args[1], case.args[2]
    dims[first], dims[second] = dims[second], dims[first]
    return case.varies(0) and _is_reshape(shape, dims)


def _write(case: _Case) -> bool:
    return case.varies(1) and case.shapes[0] == case.shapes[1]


_RULES: dict[str, Callable[[_Case], bool]] = {
    "convolution": _convolution, "linear": _linear, "mm": _mm, "layer_norm": _layer_norm, "fixed_norm": _fixed_norm, "add": _add,
    "mul": _mul, "mean": _mean, "max_pool2d": _max_pool, "view": _view, "reshape": _view, "permute": _permute,
    "transpose": _transpose, "write": _write, **dict.fromkeys(ACTIVATIONS, _activation),
}  # fmt: skip

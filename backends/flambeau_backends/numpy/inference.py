"""Inference plans: consecutive calls of an inference step that contains convolutions, with prepared weights.

Batch normalization is folded into the convolution before it. Weights are transformed once instead of in each call. Sums and
rectifiers overwrite an operand that is not used again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall, StaleWeights

from .error_state import without_warnings
from .kernels import KERNELS, clip
from .kernels_conv import prepared

__all__ = ["Planner"]

_FLOAT = np.dtype(np.float32)
_IN_PLACE: dict[str, Callable[..., Any]] = {
    "relu": lambda x: clip(x, x, _FLOAT.type(0)),
    "add": lambda x, other: np.add(x, other, x),
}
# other calls with one result, which is a new array
_SEPARATE = frozenset({"fixed_norm", "hardswish", "hardsigmoid", "sigmoid", "silu", "mul", "mean", "max_pool2d"})
_SAMPLES = 4  # number of elements of a weight that each call compares, to notice writes that bypass version counters


class Planner:
    """The compiler of inference steps that `flambeau_inference` returns."""

    def supports(self, call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> bool:
        arrays = [argument for argument in (*call.args, call.result) if _is_key(argument, kinds)]
        if not arrays or call.result not in arrays or any(kinds[array].dtype != _FLOAT for array in arrays):
            return False
        shape = kinds[call.result].shape
        if call.name == "convolution":
            return (
                len(shape) == 4 and 0 not in shape and call.args[0] not in constants and _are_constant(call.args[1:3], constants)
            )
        if call.name == "fixed_norm":
            return call.args[0] not in constants and _are_constant(call.args[1:5], constants) and call.args[7] is None
        if call.name == "write":
            return call.args[1] not in constants and kinds[call.args[1]].shape == shape
        return call.name in _SEPARATE or call.name in _IN_PLACE

    def plan(
        self,
        calls: Sequence[PlanCall],
        kinds: Mapping[Any, ArrayKind],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        strides: Sequence[tuple[int, ...] | None],
    ) -> Plan | None:
        if not any(call.name == "convolution" for call in calls):
            return None
        if not all(_is_contiguous(kinds[output].shape, steps) for output, steps in zip(outputs, strides, strict=True)):
            return None
        return Plan(calls, kinds, inputs, outputs)


def _are_constant(arguments: Sequence[Any], constants: Collection[Any]) -> bool:
    return all(argument is None or argument in constants for argument in arguments)


def _is_key(argument: Any, kinds: Mapping[Any, Any]) -> bool:
    try:
        return argument in kinds
    except TypeError:  # not hashable
        return False


def _is_contiguous(shape: Sequence[int], strides: Sequence[int] | None) -> bool:
    steps = [step for size, step in zip(shape, strides or (), strict=False) if size > 1]
    return steps == sorted(steps, reverse=True)


class Plan:
    """Consecutive calls of an inference step, as one call.

    Args:
        calls: the calls.
        kinds: shape and dtype of each array.
        inputs, outputs: the keys of the arrays that the plan takes and returns.
    """

    def __init__(
        self, calls: Sequence[PlanCall], kinds: Mapping[Any, ArrayKind], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        self.calls, self.kinds, self.inputs, self.outputs = list(calls), dict(kinds), list(inputs), list(outputs)

    def prepare(self, constants: Mapping[Any, Any]) -> bool:
        lowering = _Lowering(self.kinds, constants)
        steps, names = lowering.lower(self.calls, self.outputs)
        self._prepared = steps, names, _Samples(lowering.weights)
        return True

    @without_warnings
    def __call__(self, *inputs: Any) -> Any:
        steps, outputs, samples = self._prepared  # another thread may prepare the plan again during this call
        if samples.have_changed():
            raise StaleWeights
        arrays = [array if array.flags.c_contiguous else array.copy("C") for array in inputs]
        values = dict(zip(self.inputs, arrays, strict=True))
        for step in steps:
            step.run(values)
        results: list[Any] = []
        for key in outputs:
            array = values[key]
            results.append(array.copy() if any(array is other for other in (*results, *inputs)) else array)
        return results[0] if len(results) == 1 else tuple(results)


@dataclass(slots=True)
class _Step:
    """A call of a plan: `result = function(*args)`, where arguments that are keys of `values` are replaced by arrays."""

    function: Callable[..., Any]
    args: Sequence[Any]
    keys: Sequence[bool]  # which arguments are keys
    kwargs: Mapping[str, Any]
    result: Any
    unused: list[Any] = field(default_factory=list)  # keys that no later step reads

    def run(self, values: dict[Any, Any]) -> None:
        args = [values[argument] if is_key else argument for argument, is_key in zip(self.args, self.keys, strict=True)]
        result = self.function(*args, **self.kwargs)
        for key in self.unused:
            del values[key]
        values[self.result] = result


@dataclass(slots=True)
class _Convolution:
    """The weight and bias of a convolution, and its step, which is completed by `prepare`."""

    step: _Step
    shape: Sequence[int]  # of the images
    weight: Any
    bias: Any
    options: Sequence[Any]  # stride, padding, dilation, groups

    def scale(self, factor: Any, offset: Any) -> None:
        """Multiply the results by a factor for each channel, and add an offset."""
        self.bias = (offset if self.bias is None else self.bias * factor + offset).astype(_FLOAT)
        self.weight = (self.weight * factor.reshape(-1, 1, 1, 1)).astype(_FLOAT)

    def prepare(self) -> None:
        self.step.function = prepared(self.shape, self.weight, self.bias, *self.options)


class _Lowering:
    """Translates calls to steps.

    Args:
        kinds: shape and dtype of each array.
        constants: the weights as arrays.

    Attributes:
        weights: the arrays that steps do not read again after their preparation.
    """

    def __init__(self, kinds: Mapping[Any, ArrayKind], constants: Mapping[Any, Any]) -> None:
        self._kinds, self._constants = kinds, constants
        self.weights: list[Any] = []
        self._steps: list[_Step] = []
        self._convolutions: list[_Convolution] = []
        self._names: dict[Any, Any] = {}  # the key of the array that holds a result, if it is not the key of the result
        self._owned: set[Any] = set()  # keys of arrays that may be overwritten after their last use
        self._plain: dict[Any, _Convolution] = {}  # convolutions whose results nothing has overwritten, by key

    def lower(self, calls: Sequence[PlanCall], outputs: Sequence[Any]) -> tuple[list[_Step], list[Any]]:
        """Return the steps, with prepared weights, and the keys of the outputs."""
        reads = [argument for call in calls for argument in _read_by(call) if _is_key(argument, self._kinds)]
        self._uses = Counter([*reads, *outputs])
        for call in calls:
            if call.name == "write":
                self._share(call.args[1], call.result)
            elif call.name == "convolution":
                self._convolution(call)
            elif not (call.name == "fixed_norm" and self._fold(call)) and not self._overwrite(call):
                self._add(call, KERNELS[call.name], call.args)
        for convolution in self._convolutions:
            convolution.prepare()
        names = [self._name(key) for key in outputs]
        read = set(names)
        for step in reversed(self._steps):
            step.unused = list({argument for argument, is_key in zip(step.args, step.keys, strict=True) if is_key} - read)
            read.update(step.unused)
        return self._steps, names

    def _name(self, key: Any) -> Any:
        return self._names.get(key, key)

    def _add(self, call: PlanCall, function: Callable[..., Any], args: Sequence[Any], result: Any = None) -> _Step:
        """Add a step whose result is a new array, or overwrites the array `result`."""
        keys = [_is_key(argument, self._kinds) and argument not in self._constants for argument in args]
        named = [self._name(key) if is_key else self._value(key) for key, is_key in zip(args, keys, strict=True)]
        step = _Step(function, named, keys, call.kwargs, call.result if result is None else result)
        self._steps.append(step)
        self._owned.add(step.result)
        return step

    def _value(self, argument: Any) -> Any:
        """Return the array of a constant; other arguments unchanged."""
        return self._constants[argument] if _is_key(argument, self._constants) else argument

    def _share(self, key: Any, result: Any) -> None:
        """Let `result` be the array of `key`."""
        self._names[result] = self._name(key)
        if self._uses[key] > 1:
            self._owned.discard(self._name(key))

    def _may_overwrite(self, key: Any) -> bool:
        """Whether the result of a call can replace the value of an argument."""
        return _is_key(key, self._kinds) and self._uses[key] == 1 and self._name(key) in self._owned

    def _convolution(self, call: PlanCall) -> None:
        images, weight, bias, *options = call.args
        step = self._add(call, prepared, [images])
        arrays = [self._value(key) for key in (weight, bias)]
        self.weights += [array for array in arrays if array is not None]
        self._plain[call.result] = _Convolution(step, self._kinds[images].shape, *arrays, options[:4])
        self._convolutions.append(self._plain[call.result])

    def _fold(self, call: PlanCall) -> bool:
        """Fold normalization by running statistics into the convolution before it. Return whether the input is a convolution."""
        convolution = self._plain.get(self._name(call.args[0]))
        if convolution is None or not self._may_overwrite(call.args[0]):
            return False
        arrays = [self._value(key) for key in call.args[1:5]]
        self.weights += [array for array in arrays if array is not None]
        weight, bias, mean, variance = (None if array is None else array.astype(np.float64).reshape(-1) for array in arrays)
        factor = 1 / np.sqrt(variance + call.args[6])
        factor = factor if weight is None else factor * weight
        convolution.scale(factor, -mean * factor + (0 if bias is None else bias))
        self._share(call.args[0], call.result)
        return True

    def _overwrite(self, call: PlanCall) -> bool:
        """Add a step that overwrites an argument with the result; return False if that is not possible."""
        function = _IN_PLACE.get(call.name)
        if function is None:
            return False
        for key, *others in (call.args, call.args[::-1]):
            if self._may_overwrite(key) and self._kinds[key].shape == self._kinds[call.result].shape:
                self._add(call, function, [key, *others], self._name(key))
                self._plain.pop(self._name(key), None)
                self._share(key, call.result)
                return True
        return False


def _read_by(call: PlanCall) -> Sequence[Any]:
    return call.args[1:] if call.name == "write" else call.args


class _Samples:
    """Some elements of each weight, as they were when the plan was prepared."""

    def __init__(self, weights: Sequence[Any]) -> None:
        self._views = [_sampled(weight) for weight in weights]
        self._before = self._current()

    def _current(self) -> bytes:
        return np.concatenate(self._views).tobytes() if self._views else b""

    def have_changed(self) -> bool:
        return self._current() != self._before


def _sampled(weight: Any) -> Any:
    """View the first, last and some other elements of an array, or the start of its first row if its memory has gaps."""
    flat = weight.reshape(-1) if weight.flags.c_contiguous else weight[(0,) * (weight.ndim - 1)]
    return flat[:: max(1, (len(flat) - 1) // (_SAMPLES - 1))]

"""Calls on plain tensors in `inference_mode`: the kernel runs as on the fast path, and its results are marked.

`inference_mode` empties `FAST`, so that all calls reach `dispatch`. Most of them need none of its handlers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..devices.devices import DispatchKey
from ..devices.state import state
from ..tape.fast_path import PLAIN_IN_INFERENCE
from ..tensors.storage import InferenceStorage
from ..tensors.tensor import wrap
from ..values.promotion import ONE_KEY
from .operands import constant
from .record import Operation
from .results import mark_inference, several, view_of

__all__ = ["compute_in_inference_mode"]


class _Conditions(NamedTuple):
    """Conditions under which `compute_in_inference_mode` computes an operation; they are those of the fast path.

    The first three have an item for each tensor argument.
    """

    one_key: tuple[bool, ...]  # it has the dispatch key of the primary argument; otherwise only its device
    optional: tuple[bool, ...]  # it may be None
    numbers: tuple[bool, ...]  # it may be a Python number
    primary: int
    flags: tuple[int, ...]  # positions of parameters that must have the type bool
    absent: tuple[int, ...]  # positions of parameters that must be None
    passed: tuple[int, ...] | None  # positions of the parameters that the kernel takes, None for all


@functools.cache
def _conditions(op: Operation) -> _Conditions:
    tensors, params = op.tensor_names, op.param_names
    passed = tuple(i for i, name in enumerate(params) if name in op.kernel_params)
    return _Conditions(
        one_key=tuple(op.promote in ONE_KEY and name not in op.keeps_dtype for name in tensors),
        optional=tuple(op.defaults.get(name, 0) is None for name in tensors),
        numbers=tuple(name in op.number_names for name in tensors),
        primary=0 if op.variadic else tensors.index(op.primary),
        flags=tuple(i for i, name in enumerate(params) if name in op.flags),
        absent=tuple(i for i, name in enumerate(params) if name == "dtype"),
        passed=None if len(passed) == len(params) else passed,
    )


def _share_device(other: Any, key: DispatchKey) -> bool:
    return type(other) is DispatchKey and other.device is key.device


def compute_in_inference_mode(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Compute a call on plain tensors of one dispatch key, as the fast path does, and mark the results.

    Return None for other calls, and if the kernel fails: `HANDLERS` compute them, or raise PyTorch's error.
    """
    conditions = _conditions(op)
    primary = tensors[conditions.primary] if tensors else None
    if primary is None or type(primary) not in PLAIN_IN_INFERENCE or state.mutation_guards:
        return None
    if type(primary._key) is not DispatchKey:
        return None
    key = primary._key
    arrays = []
    for i, tensor in enumerate(tensors):
        if type(tensor) in PLAIN_IN_INFERENCE:
            other = tensor._key
            if other is not key and (op.variadic or conditions.one_key[i] or not _share_device(other, key)):
                return None
            arrays.append(tensor._array)
        elif op.variadic:
            return None
        elif tensor is None and conditions.optional[i]:
            arrays.append(None)
        elif conditions.numbers[i] and type(tensor) in key.constant_types and type(tensor) is not bool:
            try:
                arrays.append(constant(tensor, key)._array)
            except OverflowError:
                return None
        else:
            return None
    for position in conditions.flags:
        if type(params[position]) is not bool:
            return None
    for position in conditions.absent:
        if params[position] is not None:
            return None
    passed = params if conditions.passed is None else [params[position] for position in conditions.passed]
    try:
        kernel, result_key = key.table[op.name]
        if op.variadic:
            computed = kernel(*arrays, **dict(zip(op.kernel_params, passed, strict=True)))
        else:
            computed = kernel(*arrays, *passed)
    except Exception:  # the type of the error depends on the library
        return None
    if op.results or op.returns_list:
        result = several(op, computed, result_key, tensors, params)
        mark_inference(result)
        return result
    array = computed if type(computed) is result_key.array_type else result_key.backend.wrap(computed)
    if op.view:
        view = view_of(array, result_key, op, tensors[0], params)
        mark_inference(view)
        return view
    result = wrap(array, result_key)
    InferenceStorage.of(result)
    return result

"""Wrap the arrays that kernels return as tensors, views, and named tuples of several results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..devices.devices import DispatchKey
from ..devices.state import state
from ..tape.fast_path import IN_INFERENCE
from ..tape.grad_mode import grad_flag, is_inference_mode_enabled
from ..tape.transforming import note_depth
from ..tensors.storage import IN_INFERENCE_MODE, InferenceStorage
from ..tensors.tensor import Tensor, new, wrap
from .named_results import make
from .record import Operation

__all__ = ["mark_inference", "result_type", "several", "view_of"]


def view_of(array: Any, key: DispatchKey, record: Operation, base: Tensor, params: tuple[Any, ...]) -> Tensor:
    """Wrap an array that shares memory with `base` as a view of it."""
    result = new(Tensor)  # as `wrap` does: views are so frequent that the call counts
    result._array = array
    result._key = key
    result._requires_grad = False
    result._node = result._grad = None
    result._storage = storage = base._storage or base._own_storage()
    result._view = (base, record, params, grad_flag.get())
    if state.mutation_guards:
        note_depth(result)
    storage.add_view(result)
    return result


def several(record: Operation, arrays: Sequence[Any], keys: Any, tensors: Sequence[Tensor], params: tuple[Any, ...]) -> Any:
    """Wrap the arrays that an operation with several results returned, and record the call if a tensor requires a gradient."""
    keys = keys if type(keys) is tuple else (keys,) * len(arrays)
    tracked = False
    for tensor in tensors:
        if tensor is not None and tensor._requires_grad and not (record.view and tensor._inference):
            tracked = record.differentiable
    if tracked:
        results = record.record(list(map(_in_array, arrays, keys)), keys, *tensors, *params)
    else:
        results = []
        for array, key in zip(arrays, keys, strict=True):
            results.append(wrap(array if type(array) is key.array_type else key.backend.wrap(array), key))
    if record.view:
        storage = tensors[0]._storage or tensors[0]._own_storage()
        for number, result in enumerate(results):
            result._storage = storage
            result._view = (tensors[0], None, (record.name, number, params), grad_flag.get())
            if tracked or storage.__class__ is InferenceStorage or not result._key.backend.mutable:
                storage.add_view(result)
    if IN_INFERENCE:
        mark_inference(results)
    return tuple.__new__(result_type(record), results)


def mark_inference(result: Any) -> None:
    """In inference mode, mark the new results of a call, so that no later call records them."""
    if not is_inference_mode_enabled():
        return
    for tensor in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(tensor, Tensor):
            if tensor._view is None:
                tensor._inference = True
            elif not tensor._inference:  # a view of a normal tensor: a leaf that requires grad if its base does
                tensor._view = (*tensor._view[:3], IN_INFERENCE_MODE)
                tensor._requires_grad = tensor._view[0]._requires_grad


def _in_array(array: Any, key: DispatchKey) -> Any:
    """Convert a kernel's result to an array: some libraries return scalars instead of 0-d arrays."""
    return array if type(array) is key.array_type else key.backend.wrap(array)


_result_types: dict[str, Any] = {}


def result_type(record: Operation) -> Any:
    """Return the type for several results: `tuple`, or a named tuple that prints as PyTorch's."""
    cls = _result_types.get(record.name)
    if cls is None:
        cls = make(record.name.removesuffix("_dim"), record.results) if record.results else tuple
        _result_types[record.name] = cls
    return cls

"""`out=`: PyTorch's checks of it, and writing results into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...backend import is_mutable
from ..devices.state import state
from ..devices.warning import warn
from ..tape.grad_mode import grad_flag
from ..tape.saved import check_inference
from ..tensors.tensor import Tensor
from ..values import dtypes
from .named_results import filled
from .out_rules import Out
from .transform_hooks import hooks

__all__ = ["check", "check_memory", "check_untracked", "is_expanded", "overlap_error", "resize", "write"]


def check(name: str, rules: Out, out: Any, inputs: Iterable[Any]) -> None:
    """Raise an error if `out` is not a tensor, requires a gradient, or shares memory with an input although `rules` forbid it."""
    if not isinstance(out, Tensor) and Out.SETS_DTYPE in rules:
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    for target in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(target, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        if target._requires_grad and grad_flag.get() and Out.UNKNOWN_TO_AUTOGRAD not in rules:
            raise _not_differentiable(name)
        check_memory(rules, target, inputs)
    if Out.UNTRACKED in rules:
        check_untracked(name, rules, any(tensor._requires_grad for tensor in _tensors_in(inputs)))
    if state.forward_levels and hooks.forward.has_tangent([*_tensors_in(inputs), *_tensors_in([out])]):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


def check_untracked(name: str, rules: Out, tracked: bool) -> None:
    """Raise RuntimeError if autograd would have to record the call: `out=` is not differentiable."""
    if tracked and grad_flag.get() and not rules & (Out.RECORDED | Out.UNKNOWN_TO_AUTOGRAD):
        raise _not_differentiable(name)


def _not_differentiable(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
        "arguments requires grad."
    )


def write(name: str, rules: Out, out: Any, result: Any) -> Any:
    """Write the result (or results) of an operation into `out`, and return `out`."""
    if isinstance(result, Tensor):
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        return _write(name, rules, out, result)
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    if Out.OWN_DTYPES in rules:
        rules |= Out.OWN_DTYPE
    for target, value in zip(out, result, strict=True):
        _write(name, rules, target, value)
    return filled(type(result), out)


def _write(name: str, rules: Out, out: Tensor, result: Tensor) -> Tensor:
    """Write a result into `out`: check dtype, device and memory, and resize `out` if its shape differs."""
    check_inference(out)
    _check_dtype(name, rules, out, result)
    if result.device != out.device:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {result.device} and {out.device}!"
        )
    if is_expanded(out):
        raise overlap_error()
    if out._array.shape != result._array.shape:
        resize(out, result, Out.ROW_MAJOR in rules)
    with_history = out._view is None and not out._requires_grad and Out.UNKNOWN_TO_AUTOGRAD not in rules
    result = result if with_history else result.detach()
    return out._assign(result.to(out.dtype) if Out.CONVERTED in rules else result)


def is_expanded(tensor: Tensor) -> bool:
    """Whether a dimension of a tensor has stride 0, so that its elements share memory."""
    return any(length > 1 and not step for length, step in zip(tensor._array.shape, tensor.stride(), strict=True))


def overlap_error() -> RuntimeError:
    """Return the error for a write to elements that share memory."""
    return RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def _check_dtype(name: str, rules: Out, out: Tensor, result: Tensor) -> None:
    if out.dtype is result.dtype or Out.CONVERTED in rules:
        return
    if rules & (Out.OWN_DTYPE | Out.SETS_DTYPE) or (Out.REAL in rules and out.is_complex()):
        raise RuntimeError(f"{name}(): Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")
    if not dtypes.can_cast(result.dtype, out.dtype):
        if Out.JOINED in rules:
            raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.legacy_name}")
        raise RuntimeError(
            f"result type {result.dtype.legacy_name} can't be cast to the desired output type {out.dtype.legacy_name}"
        )


def resize(out: Tensor, result: Tensor, row_major: bool) -> None:
    """Resize `out` to the shape of the result; unless `row_major`, also use the result's strides."""
    if out.numel():
        warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
        )
    out.resize_(result.shape)
    if not row_major and not result.is_contiguous() and _is_dense(result):
        out.as_strided_(result.shape, result.stride())


# --- memory -------------------------------------------------------------------------------------------------------


def check_memory(rules: Out, out: Tensor, inputs: Iterable[Any]) -> None:
    """Raise RuntimeError if a written tensor shares memory with the inputs; by default, it may be an input itself."""
    if Out.UNCHECKED in rules:
        return
    for position, tensor in enumerate(_tensors_in(inputs)):
        disjoint = rules & (Out.DISJOINT | Out.JOINED) or (position and Out.DISJOINT_BUT_FIRST in rules)
        if _shared(out, tensor) not in ("none", "none" if disjoint else "all"):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )


def _tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_in(value)


def _shared(one: Tensor, other: Tensor) -> str:
    """Return how much memory two tensors share: "none", "some" or "all"; "none" if one of them is not dense.

    "none" also if one of them is a conjugate or negative view: operations compute with a copy of it, where the bit is resolved.
    """
    if one is not other and (one._storage is None or one._storage is not other._storage):
        return "none"
    if one._key.lazy_op is not None or other._key.lazy_op is not None:
        return "none"
    backend = one._key.backend
    if is_mutable(backend) and not backend.shares_memory(one._array, other._array):  # faster than comparing strides
        return "none"
    if not one.numel() or not other.numel() or not _is_dense(one) or not _is_dense(other):
        return "none"
    (start, end), (first, last) = _bytes_of(one), _bytes_of(other)
    if (start, end) == (first, last):
        return "all" if one.stride() == other.stride() else "some"
    return "some" if start < last and first < end else "none"


def _bytes_of(tensor: Tensor) -> tuple[int, int]:
    """Return the byte range `(begin, end)` of a dense tensor in its memory."""
    start, size = tensor.storage_offset(), tensor.element_size()
    return start * size, (start + tensor.numel()) * size


def _is_dense(tensor: Tensor) -> bool:
    """Whether the elements are contiguous in memory, in any order of dimensions."""
    expected = 1
    for step, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length != 1 and step != expected:
            return False
        expected *= length
    return True

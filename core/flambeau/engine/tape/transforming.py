"""The state of function transforms (`torch.func`), which the tape, tensors and calls check.

A function that is being differentiated may write to tensors that it has created, but not to captured ones: a captured tensor
would keep a history (or a tangent) beyond the end of the transform.  To tell them apart, each tensor created inside such a
transform stores the transform's depth in its `__dict__`, and therefore all calls inside take the general path.  Outside of these
transforms, tensors store nothing and calls take the fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..devices.state import state
from .fast_path import leave_fast_path, return_to_fast_path

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = [
    "VMAP_WRITES_TO_ALL", "as_argument", "differentiating", "in_transform", "inherit_depth", "note_depth", "open_batches",
    "refuse_backward", "refuse_captured", "refuse_retain_grad", "transforming",
]  # fmt: skip

VMAP_WRITES_TO_ALL = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
    "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
    "Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside the "
    "PyTorch framework, please file a bug report instead."
)
batches: ContextVar[tuple[Any, ...]] = ContextVar("open_batches", default=())  # the levels of `vmap`, outermost first
open_batches: Callable[[], tuple[Any, ...]] = batches.get

_in_transform: ContextVar[bool] = ContextVar("in_transform", default=False)
in_transform: Callable[[], bool] = _in_transform.get  # whether a `torch.func` transform, including `vmap`, is running
_depth: ContextVar[int] = ContextVar("depth_of_transforms", default=0)


@contextmanager
def transforming() -> Iterator[None]:
    """Context in which each `torch.func` transform, including `vmap`, calls the user's function."""
    token = _in_transform.set(True)
    try:
        yield
    finally:
        _in_transform.reset(token)


@contextmanager
def differentiating() -> Iterator[None]:
    """Context in which a transform that differentiates, such as `grad` or `jvp`, calls the user's function."""
    token = _depth.set(_depth.get() + 1)
    state.count("mutation_guards", 1)
    leave_fast_path()
    try:
        yield
    finally:
        return_to_fast_path()
        state.count("mutation_guards", -1)
        _depth.reset(token)


def note_depth(tensor: Tensor) -> None:
    """Store the current transform depth on a newly created tensor."""
    tensor.__dict__["_depth"] = _depth.get()


def inherit_depth(alias: Tensor, source: Tensor) -> None:
    """Copy the transform depth of a tensor to its alias."""
    alias.__dict__["_depth"] = _depth_of(source)


def as_argument(tensor: Tensor) -> Tensor:
    """Mark a tensor as an argument of the function to be differentiated: the function may write to it even if it is a view."""
    tensor.__dict__["_argument"], tensor.__dict__["_depth"] = True, _depth.get() + 1
    return tensor


def _depth_of(tensor: Tensor) -> int:
    while tensor._view is not None and "_argument" not in tensor.__dict__:
        tensor = tensor._view[0]
    return tensor.__dict__.get("_depth", 0)  # type: ignore[no-any-return]  # a dict of Any


def refuse_captured(tensor: Tensor) -> None:
    """Raise RuntimeError before a write to a tensor that was created outside of the innermost transform."""
    if _depth_of(tensor) < _depth.get():
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call an in-place operation that "
            "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to "
            "explicitly accept the mutated Tensor(s) as inputs."
        )


def refuse_retain_grad() -> None:
    """Raise RuntimeError for `retain_grad()` inside of a transform that differentiates."""
    if _depth.get():
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
            "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
            "call retain_grad() outside of a function being transformed instead."
        )


def refuse_backward() -> None:
    """Raise RuntimeError for `backward()` inside of a transform."""
    if _depth.get():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

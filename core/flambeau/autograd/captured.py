"""What a function may write to while ``torch.func`` differentiates it: tensors made in it, not those that it has captured.

A captured tensor would keep a history (or a tangent) that ends with the transform.  To tell them apart, tensors that are made
while such a transform goes on are born with its depth in their ``__dict__``; at other times nothing is noted, at no cost.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._tensor import Tensor

__all__ = ["as_argument", "differentiating", "going_on", "inherit", "refuse_backward", "refuse_captured"]

_depth: ContextVar[int] = ContextVar("depth_of_transforms", default=0)
_lock = threading.Lock()
going_on = {"count": 0}  # such transforms, in all threads


def _born(cls: type) -> Any:
    """``object.__new__`` while a transform goes on."""
    from .._tensor import Tensor

    made: Any = object.__new__(cls)
    if issubclass(cls, Tensor):
        made.__dict__["_depth"] = _depth.get()
    return made


def _note_births(wanted: bool) -> None:
    from .. import _tensor, op

    _tensor.new = op.NAMESPACE["new"] = _born if wanted else object.__new__


@contextmanager
def differentiating() -> Iterator[None]:
    """Context in which a function is called to be differentiated."""
    token = _depth.set(_depth.get() + 1)
    with _lock:
        going_on["count"] += 1
        _note_births(True)
    try:
        yield
    finally:
        _depth.reset(token)
        with _lock:
            going_on["count"] -= 1
            if not going_on["count"]:
                _note_births(False)


def as_argument(tensor: Tensor) -> Tensor:
    """Let a tensor belong to the function that is about to be differentiated, whatever it is a view of."""
    tensor.__dict__["_argument"], tensor.__dict__["_depth"] = True, _depth.get() + 1
    return tensor


def _depth_of(tensor: Tensor) -> int:
    while tensor._view is not None and "_argument" not in tensor.__dict__:
        tensor = tensor._view[0]
    return tensor.__dict__.get("_depth", 0)  # type: ignore[no-any-return]  # a dict of anything


def inherit(alias: Tensor, source: Tensor) -> None:
    """An alias is as old as the tensor whose memory it has."""
    alias.__dict__["_depth"] = _depth_of(source)


def refuse_captured(tensor: Tensor) -> None:
    """Refuse to write to a tensor that was there before the innermost transform."""
    if _depth_of(tensor) < _depth.get():
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call an in-place operation that "
            "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to "
            "explicitly accept the mutated Tensor(s) as inputs."
        )


def refuse_backward() -> None:
    """Refuse to accumulate gradients inside of a transform."""
    if _depth.get():
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                           "functorch.vjp instead or call backward() outside of functorch transforms.")  # fmt: skip

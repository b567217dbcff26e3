"""Hooks by which calls reach the transforms, which are in a layer above: each transform sets its own when it is loaded.

The defaults serve a process in which the transform has not been loaded, and in which none of its tensors can exist.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..tape.transforming import open_batches

if TYPE_CHECKING:
    from ..devices.devices import device
    from ..tensors.tensor import Tensor
    from .record import Operation

__all__ = ["LOOPED", "hooks", "one_by_one"]

C = TypeVar("C", bound=Callable[..., Any])


class BatchHooks:
    """The hooks of `vmap`."""

    def lift(self, tensor: Tensor, levels: Any) -> Tensor:
        """The tensor batched at all of these levels. At levels that are new to it, all members share its value."""
        return tensor

    def align(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a call, all batched at every level at which one of them is."""
        return tuple(tensors)

    def loop(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function for each member of a batch in turn."""
        return function(*args, **kwargs)

    def generator(self, raw: Any, place: device) -> Any:
        """A backend's generator as one that draws for all members of the batch."""
        return raw

    def sampled(self, array: Any, key: Any) -> Tensor:
        """The samples drawn by such a generator as a tensor."""
        raise NotImplementedError


class ForwardHooks:
    """The hooks of forward-mode differentiation; called only while `state.forward_levels` is positive."""

    def propagate(self, op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The result of a call with its tangent; NotImplemented if no argument has a tangent."""
        return NotImplemented

    def has_tangent(self, tensors: Sequence[Any]) -> bool:
        """Whether any of the tensors carries a tangent."""
        return False

    def along(self, function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
        """`function(tensor)` for a linear function, which is applied to the tangent as well."""
        return function(tensor)

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Copy the tangents of `source` to `target`, which has the same value."""

    def overwrite(self, target: Tensor, source: Tensor) -> None:
        """The target was overwritten with the value of the source: give it the tangents of the source."""

    def follow(self, tensor: Tensor, seen: Tensor) -> None:
        """The tensor has become another view of its memory: give it the tangents of that view."""


class Hooks:
    """The transforms that are loaded."""

    def __init__(self) -> None:
        self.batches: BatchHooks = BatchHooks()
        self.forward: ForwardHooks = ForwardHooks()
        self.materialize: Callable[[Operation, tuple[Any, ...]], tuple[Any, ...]] = lambda op, tensors: tensors
        """The arguments of a call, with conjugate and negative views copied to new memory if the call needs it."""
        self.below_autograd: Callable[[Operation, tuple[Any, ...], tuple[Any, ...], Any], Any]
        """The result of an operation on tensors of classes with a `__torch_dispatch__`; set by the layer of subclasses."""
        self.prepare_dispatching: Callable[[type], None]
        """Prepares such a class when it is defined; set likewise."""
        self.compute_on_wrappers: Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
        self.ask_class: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
        """What such a class returns for an operator of a name; set likewise."""
        self.operator: Callable[[str, Any, tuple[Any, ...], dict[str, Any]], Any]
        """The operator of `torch.ops.aten` by which such a class is asked, given a name, the function that computes it, and the
        arguments; set by the namespace."""
        self.sparse: Callable[[str], Any]
        """What `flambeau.sparse` has under a name, loading it; set by the namespace."""
        self.nested: Callable[[str], Any]
        """What `flambeau.nested` has under a name, likewise."""


hooks: Final = Hooks()
LOOPED: list[str] = []  # names of the operations that run separately for each member of a batch


def one_by_one(function: C) -> C:
    """Let `vmap` call a function for each member of a batch in turn, because its steps depend on the values.

    The results of all members have to be of one shape.
    """
    LOOPED.append(function.__name__)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return hooks.batches.loop(function, args, kwargs) if open_batches() else function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]  # it has the function's signature

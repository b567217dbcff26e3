"""Hooks through which calls reach the transforms, such as `vmap`.

Transforms belong to a higher layer, which this module must not import.  They set their hooks when they are imported.  Until then
the defaults apply: no tensor of the transform can exist yet.
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
        """Return the tensor, batched at all of `levels`. At levels that are new to it, all members of a batch share its value."""
        return tensor

    def align(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call, each batched at all levels at which any of them is batched."""
        return tuple(tensors)

    def loop(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function separately for each member of a batch."""
        return function(*args, **kwargs)

    def generator(self, raw: Any, place: device) -> Any:
        """Wrap a backend's random generator so that one call draws numbers for all members of the batch."""
        return raw

    def lift_parameter(self, parameter: Tensor) -> Tensor:
        """Return the parameter of a distribution, batched at all active levels; refuse it if `vmap` does not support that."""
        return parameter

    def filled(self, tensor: Tensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """Return the random numbers with which the method `name` fills a batched tensor."""
        raise NotImplementedError

    def sampled(self, array: Any, key: Any) -> Tensor:
        """Wrap an array that a generator returned by `generator()` has drawn as a batched tensor."""
        raise NotImplementedError


class ForwardHooks:
    """The hooks of forward-mode differentiation; called only while `state.forward_levels` is positive."""

    def propagate(self, op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Compute a call and the tangent of its result; return NotImplemented if no argument has a tangent."""
        return NotImplemented

    def has_tangent(self, tensors: Sequence[Any]) -> bool:
        """Whether any of the tensors carries a tangent."""
        return False

    def along(self, function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
        """Apply a linear function to a tensor and to its tangent."""
        return function(tensor)

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Copy the tangents of `source` to `target`, which has the same value."""

    def snapshot(self, source: Tensor, target: Tensor) -> None:
        """Set the tangents of `target`, an alias of `source` before a write, to copies of those of `source`."""

    def overwrite(self, target: Tensor, source: Tensor) -> None:
        """Copy the tangents of `source` to `target`, which has been overwritten with the value of `source`."""

    def follow(self, tensor: Tensor, seen: Tensor) -> None:
        """Copy the tangents of the view `seen` to `tensor`, which an operation such as `t_` has turned into that view."""


class Hooks:
    """The functions that higher layers set, for the engine to call."""

    def __init__(self) -> None:
        self.batches: BatchHooks = BatchHooks()
        self.forward: ForwardHooks = ForwardHooks()
        self.materialize: Callable[[Operation, tuple[Any, ...]], tuple[Any, ...]] = lambda op, tensors: tensors
        """Returns the arguments of a call, with lazy conjugate and negative views copied if the operation needs it."""
        self.below_autograd: Callable[[Operation, tuple[Any, ...], tuple[Any, ...], Any], Any]
        """Computes an operation on tensors whose class has a `__torch_dispatch__`; set by `flambeau.layouts.subclasses`."""
        self.prepare_dispatching: Callable[[type], None]
        """Prepares a class with a `__torch_dispatch__` when it is defined; set by `flambeau.layouts.subclasses`."""
        self.compute_on_wrappers: Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
        self.record_index: Callable[[Tensor, list[Any], Any], Any]
        """Returns the result of `aten.index` with a history; set by the package `flambeau`."""
        self.record_composite: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], Any]
        """Returns the result of a composite with a history; set by the package `flambeau`."""
        self.call_aten_operator: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
        """Calls `__torch_dispatch__` for the operator of a name; set by `flambeau.layouts.subclasses`."""
        self.write_wrapper: Callable[[str, Tensor, tuple[Any, ...], dict[str, Any]], Tensor]
        """Computes an in-place method, such as `add_`, of a wrapper subclass; set by `flambeau.layouts.subclasses`."""
        self.operator: Callable[[str, Any, tuple[Any, ...], dict[str, Any]], Any]
        """Returns the operator of `torch.ops.aten` that `__torch_dispatch__` receives, given a name, the function that computes
        it (or None), and the arguments; set by the package `flambeau`."""
        self.dispatched_call: Callable[[str, Any, tuple[Any, ...], dict[str, Any]], tuple[Any, tuple[Any, ...], dict[str, Any]]]
        """Returns that operator with its arguments, converted to the form of its schema; set by the package `flambeau`."""
        self.sparse: Callable[[str], Any]
        """Imports `flambeau.sparse` and returns its attribute of a name; set by the package `flambeau`."""
        self.nested: Callable[[str], Any]
        """Imports `flambeau.nested` and returns its attribute of a name; set by the package `flambeau`."""


hooks: Final = Hooks()
LOOPED: list[str] = []  # names of functions that `vmap` calls separately for each member of a batch


def one_by_one(function: C) -> C:
    """Decorate a function whose control flow depends on values: `vmap` then calls it separately for each member of a batch.

    The results of all members must have one shape.
    """
    LOOPED.append(function.__name__)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return hooks.batches.loop(function, args, kwargs) if open_batches() else function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]  # it has the function's signature

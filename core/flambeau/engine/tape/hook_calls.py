"""Call the hooks that users have registered, and check their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .tensor_class import tensor_class

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["after_accumulation", "call_node_hooks", "call_tensor_hooks"]

Hook = Callable[..., Any]


def call_tensor_hooks(hooks: Iterable[Hook], gradient: Tensor | None) -> Any:
    """Call each hook with the gradient (or None); a result other than None replaces the gradient."""
    for hook in list(hooks):
        replaced = hook(gradient)
        if replaced is not None:
            gradient = _checked(hook, replaced, gradient)
    return gradient


def call_node_hooks(hooks: Mapping[int, Hook], gradients: Sequence[Any], *more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call each hook with the tuple of gradients and `more`; a result other than None replaces the gradients."""
    gradients = tuple(gradients)
    for hook in list(hooks.values()):
        replaced = hook(gradients, *more)
        if replaced is None:
            continue
        if not isinstance(replaced, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type(replaced).__name__}'")
        if len(replaced) != len(gradients):
            raise RuntimeError(
                f"hook '{_name_of(hook)}' has returned an incorrect number of values (got {len(replaced)}, but "
                f"expected {len(gradients)})"
            )
        gradients = tuple(None if new is None else _checked(hook, new, old) for new, old in zip(replaced, gradients, strict=True))
    return gradients


def after_accumulation(leaf: Tensor) -> None:
    """Call the hooks that run after accumulation of `grad`: those of the leaf, and the post-hooks of its AccumulateGrad."""
    for hook in list((leaf.__dict__.get("_post_accumulate_hooks") or {}).values()):
        returned = hook(leaf)
        if isinstance(returned, tensor_class.Tensor) and returned is not leaf:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if not (returned is None or returned is leaf):
            raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    accumulator = leaf.__dict__.get("_accumulator")
    if accumulator is not None and accumulator.hooks is not None:
        call_node_hooks(accumulator.hooks.post, (), (leaf._grad,))


def _checked(hook: Hook, replaced: Any, gradient: Tensor | None) -> Tensor:
    """Check that a hook's result is a Tensor with the shape and dtype of the gradient that it replaces."""
    if not isinstance(replaced, tensor_class.Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
    if gradient is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if replaced._array.shape != gradient._array.shape:
        raise RuntimeError(f"hook '{_name_of(hook)}' has changed the size of value")
    if replaced._key.dtype is not gradient._key.dtype:
        raise RuntimeError(f"hook '{_name_of(hook)}' has changed the type of value (was {gradient.type()} got {replaced.type()})")
    return replaced


def _name_of(hook: Hook) -> str:
    return getattr(hook, "__name__", "<unknown>")

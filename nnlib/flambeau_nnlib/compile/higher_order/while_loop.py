"""`torch.while_loop`, which is preserved in exported graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau.overrides import handle_torch_function, has_torch_function
from flambeau.utils import pytree

from .control_flow import check_inputs

__all__ = ["while_loop"]


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: tuple[Any, ...] | list[Any],
    additional_inputs: tuple[Any, ...] = (),
) -> Any:
    """Call a function on its own results while a condition holds.

    Args:
        cond_fn: returns whether to continue, as a bool or a tensor with one element, given the current values.
        body_fn: returns a tuple or list of the next values, with the same shapes and dtypes, given the current values.
        carried_inputs: the initial values.
        additional_inputs: additional constant arguments of both functions.

    Returns:
        The final values, as a tuple.

    Raises:
        RuntimeError: an argument has a wrong type, or `body_fn` returns a different number of values.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    check_inputs("carried_inputs", carried_inputs)
    check_inputs("additional_inputs", additional_inputs)
    if has_torch_function(pytree.tree_leaves((carried_inputs, additional_inputs))):
        return handle_torch_function(while_loop, (), cond_fn, body_fn, tuple(carried_inputs), tuple(additional_inputs))
    values = tuple(carried_inputs)
    while _holds(cond_fn(*values, *additional_inputs)):
        following = body_fn(*values, *additional_inputs)
        if not isinstance(following, (tuple, list)) or len(following) != len(values):
            raise RuntimeError(f"body_fn should return {len(values)} values, as many as it is given, but it returned {following}")
        values = tuple(following)
    return values


def _holds(condition: Any) -> bool:
    if isinstance(condition, (tuple, list)) and len(condition) == 1:  # a `cond_fn` that is a graph returns a tuple
        condition = condition[0]
    if (isinstance(condition, Tensor) and condition.numel() != 1) or not isinstance(condition, (Tensor, bool)):
        raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {condition}")
    return bool(condition)

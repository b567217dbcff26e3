"""Control flow that is preserved in exported graphs: `torch.cond` and `torch.while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.overrides import handle_torch_function, has_torch_function
from flambeau.utils import pytree

__all__ = ["cond", "while_loop"]


def cond(
    pred: bool | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] | list[Any] = ()
) -> Any:
    """Call one of two functions, depending on a condition.

    The result and gradients are those of `true_fn(*operands) if pred else false_fn(*operands)`. Exported graphs contain both
    functions as submodules, and evaluate the condition in each call.

    Args:
        pred: a bool, or a tensor with one element.
        true_fn, false_fn: functions or modules with results of the same structure. They must not modify the operands.
        operands: the arguments of the functions: tensors and numbers, also in containers.

    Raises:
        RuntimeError: an argument has a wrong type.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.cond(x.sum() > 2, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor([2., 3.])
    """
    if not isinstance(pred, (bool, Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    _check_inputs("operands", operands)
    if has_torch_function(pytree.tree_leaves((pred, operands))):
        return handle_torch_function(cond, (), pred, true_fn, false_fn, tuple(operands))
    return true_fn(*operands) if pred else false_fn(*operands)


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
    _check_inputs("carried_inputs", carried_inputs)
    _check_inputs("additional_inputs", additional_inputs)
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


def _check_inputs(what: str, values: Any) -> None:
    leaves = pytree.tree_leaves(values) if isinstance(values, (tuple, list)) else [values]
    if not isinstance(values, (tuple, list)) or not all(isinstance(leaf, (Tensor, int, float, torch.SymInt)) for leaf in leaves):
        raise RuntimeError(
            f"Expect {what} to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
            f"{values}."
        )

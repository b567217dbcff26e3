"""`torch.cond`, which is preserved in exported graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.overrides import handle_torch_function, has_torch_function
from flambeau.utils import pytree

__all__ = ["check_inputs", "cond"]


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
    check_inputs("operands", operands)
    if has_torch_function(pytree.tree_leaves((pred, operands))):
        return handle_torch_function(cond, (), pred, true_fn, false_fn, tuple(operands))
    return true_fn(*operands) if pred else false_fn(*operands)


def check_inputs(what: str, values: Any) -> None:
    """Raise RuntimeError if the arguments are not a tuple or list of tensors and numbers, also in containers."""
    leaves = pytree.tree_leaves(values) if isinstance(values, (tuple, list)) else [values]
    if not isinstance(values, (tuple, list)) or not all(isinstance(leaf, (Tensor, int, float, torch.SymInt)) for leaf in leaves):
        raise RuntimeError(
            f"Expect {what} to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
            f"{values}."
        )

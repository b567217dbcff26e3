"""Optimizer steps with temporarily replaced parameters and state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from flambeau import Tensor

from .optimizer import Group, Optimizer, State

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Return a context in which an optimizer has other parameters, another state and other options.

    Args:
        optimizer: an optimizer that has made at least one step.
        swapin_parameters: a tensor for each parameter of the optimizer, in its order.
        swapin_optim_state: a state in the form of `Optimizer.state_dict`. Its tensors are updated in place; entries
            that the optimizer adds or replaces are discarded.

    Raises:
        RuntimeError: the optimizer has no state yet, or the parameters or the state do not match it.

    Example:
        >>> w, other = torch.nn.Parameter(torch.ones(1)), torch.zeros(1)
        >>> optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
        >>> w.sum().backward(); optimizer.step()
        >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, optimizer.state_dict()):
        ...     other.grad = torch.ones(1); optimizer.step()
        >>> round(other.item(), 2), w.item()
        (-0.95, 0.5)
    """
    groups, state = _fit(optimizer, swapin_parameters, swapin_optim_state)
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        _replace(optimizer.param_groups, groups)
        optimizer.state = state
        yield
    finally:
        _replace(optimizer.param_groups, own_groups)
        optimizer.state = own_state


def _replace(groups: list[Group], contents: list[Group]) -> None:
    """Replace the contents of dictionaries in place, because other objects may refer to the dictionaries."""
    for group, content in zip(groups, contents, strict=True):
        group.clear()
        group.update(content)


def _fit(
    optimizer: Optimizer, parameters: dict[str, Tensor], state_dict: dict[str, Any]
) -> tuple[list[Group], defaultdict[Any, State]]:
    """Return the parameter groups and the state to swap in, with tensors instead of parameter ids."""
    if not optimizer.state:
        _refuse("requires initialized optimizer state.")
    if not isinstance(state_dict, dict):
        _refuse("requires a DCP-style optimizer state_dict.")
    saved_state = _checked_state(state_dict.get("state"))
    saved_groups = _checked_groups(optimizer, state_dict.get("param_groups"))
    unused = iter(parameters.values())
    groups: list[Group] = []
    state: defaultdict[Any, State] = defaultdict(dict)
    ids = set()
    for saved in saved_groups:
        params = [param for _, param in zip(saved["params"], unused, strict=False)]
        if len(params) < len(saved["params"]):
            _refuse("requires the explicit parameter state to match optimizer.param_groups ordering.")
        groups.append({**saved, "params": params})
        state.update((p, dict(saved_state.get(i, {}))) for p, i in zip(params, saved["params"], strict=True))
        ids.update(saved["params"])
    extra = [key for key in saved_state if key not in ids]
    if extra:
        _refuse(
            "requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return groups, state


def _checked_state(state: Any) -> dict[Any, State]:
    if not isinstance(state, dict):
        _refuse(
            "requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        _refuse("requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        _refuse("requires per-parameter optimizer state entries to be dictionaries.")
    return state


def _checked_groups(optimizer: Optimizer, groups: Any) -> list[Group]:
    if not isinstance(groups, list):
        _refuse(f"requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got {type(groups).__name__}.")
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for i, (saved, own) in enumerate(zip(groups, optimizer.param_groups, strict=True)):
        _check_group(i, saved, own)
    return groups


def _check_group(index: int, saved: Any, own: Group) -> None:
    if not isinstance(saved, dict):
        _refuse("requires each optimizer param group to be a dictionary.")
    ids = saved.get("params")
    if not (isinstance(ids, list) and all(isinstance(i, int) for i in ids)):
        _refuse("requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids.")
    if len(ids) != len(own["params"]):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the live optimizer param group."
        )
    only_saved = [key for key in saved if key not in own]
    only_own = [key for key in own if key not in saved]
    if only_saved or only_own:
        _refuse(
            "requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
            f"group keys for group {index}. Keys only in swap-in: {only_saved}. "
            f"Keys only in live: {only_own}."
        )


def _refuse(reason: str) -> NoReturn:
    raise RuntimeError(f"swap_in_optimizer_params_and_state {reason}")

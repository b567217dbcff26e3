"""Functions that average parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...collectives import all_reduce
from ...world import get_rank, get_world_size

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


@torch.no_grad()
def average_parameters(params: Iterator[Any], process_group: Any) -> None:
    """Replace parameters by their averages over a group, in one collective. Do nothing in processes outside the group."""
    parameters = list(params)
    if not parameters or get_rank(process_group) < 0:
        return
    row = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
    row /= get_world_size(process_group)
    all_reduce(row, group=process_group)
    for parameter, part in zip(parameters, row.split([p.numel() for p in parameters]), strict=True):
        parameter.copy_(part.view_as(parameter))


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Return the parameters that have gradients, given parameters or an optimizer's parameter groups.
    Raise
    NotImplementedError for other types.
    """
    found: list[Tensor] = []
    for given in params:
        if not isinstance(given, (Tensor, dict)):
            raise NotImplementedError(f"Parameter input of type {type(given)} is not supported")
        found += [p for p in (given["params"] if isinstance(given, dict) else [given]) if p.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Average the parameters that have gradients, given parameters or an optimizer's parameter groups."""
    average_parameters(iter(get_params_to_average(params)), process_group)

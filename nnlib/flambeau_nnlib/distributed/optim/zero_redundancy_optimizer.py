"""An optimizer with sharded state: each process updates some of the parameters and broadcasts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ...optim import Optimizer
from ..algorithms.join import Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose states are distributed over processes, each of which updates some of the parameters (ZeRO
    stage 1).

    Args:
        params: all parameters or parameter groups, in the same order in every process.
        optimizer_class: optimizer class to use in each process, for example `torch.optim.Adam`.
        process_group: the processes; None for all.
        parameters_as_bucket_view: accepted for compatibility; parameters are not copied to buckets.
        defaults: arguments of `optimizer_class`.

    Raises:
        RuntimeError: `overlap_with_ddp` is True, which is not supported.
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise RuntimeError("ZeroRedundancyOptimizer does not support overlap_with_ddp=True: use the default False")
        self.process_group = torch.distributed.group.WORLD if process_group is None else process_group
        self.rank = torch.distributed.get_rank(process_group)
        self.world_size = torch.distributed.get_world_size(process_group)
        self._optimizer_class, self._given_defaults = optimizer_class, defaults
        self._consolidated: dict[str, Any] | None = None
        Joinable.__init__(self)
        groups = list(params)
        full = optimizer_class(groups, **defaults)  # checks the groups and adds default options
        Optimizer.__init__(self, groups, full.defaults)
        self._create_optimizer()

    def _create_optimizer(self) -> None:
        """Assign the parameters to processes, and create the optimizer of this process's parameters."""
        self._owners = self._assign_ranks()
        mine = [
            {**{key: value for key, value in group.items() if key != "params"}, "params": self._parameters_of(group, self.rank)}
            for group in self.param_groups
        ]
        self.optim = self._optimizer_class([group for group in mine if group["params"]], **self._given_defaults)
        self._group_indices = [place for place, group in enumerate(mine) if group["params"]]

    def _assign_ranks(self) -> dict[Tensor, int]:
        """Return the rank that updates each parameter. Within each group, parameters are assigned from the largest to the
        smallest, each to the rank with the fewest elements so far.
        """
        loads, owners = [0] * self.world_size, {}
        for group in self.param_groups:
            for parameter in sorted(group["params"], key=lambda p: -p.numel()):
                owner = loads.index(min(loads))
                owners[parameter] = owner
                loads[owner] += parameter.numel()
        return owners

    def _parameters_of(self, group: dict[str, Any], rank: int) -> list[Tensor]:
        return [parameter for parameter in group["params"] if self._owners[parameter] == rank]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group and assign all parameters again. Parameters assigned to another process lose their state."""
        Optimizer.add_param_group(self, param_group)
        if hasattr(self, "optim"):
            before = self.optim.state
            self._create_optimizer()
            for parameter, state in before.items():
                if self._owners[parameter] == self.rank:
                    self.optim.state[parameter] = state

    # --- a step ---

    def _options(self, source: Sequence[dict[str, Any]], target: Sequence[dict[str, Any]]) -> None:
        """Copy options such as learning rates from one list of groups to another."""
        for one, other in zip(source, target, strict=True):
            other.update({key: value for key, value in one.items() if key != "params"})

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this process's share of the parameters, and receive the others by broadcast; return the closure's result."""
        from ..algorithms.join import Join

        Join.notify_join_context(self)
        mine = [self.param_groups[place] for place in self._group_indices]
        self._options(mine, self.optim.param_groups)
        loss = None
        if self.optim.param_groups:
            loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        elif closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._options(self.optim.param_groups, mine)
        self._broadcast_parameters()
        return loss

    @torch.no_grad()
    def _broadcast_parameters(self) -> None:
        """Broadcast the parameters that each rank updated: one broadcast per rank, dtype and device."""
        rows: dict[Any, list[Tensor]] = {}
        for parameter, owner in self._owners.items():
            rows.setdefault((owner, str(parameter.dtype), str(parameter.device)), []).append(parameter)
        for (owner, _, _), parameters in rows.items():
            row = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
            torch.distributed.broadcast(row, group=self.process_group, group_src=owner)
            if owner != self.rank:
                for parameter, part in zip(parameters, row.split([p.numel() for p in parameters]), strict=True):
                    parameter.data.copy_(part.view(parameter.shape))

    # --- state dicts ---

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the states of all processes in rank `to`, where `state_dict` then returns them. All ranks must call this."""
        owned = [self._index(parameter) for parameter in self._owners if self._owners[parameter] == self.rank]
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        mine = {number: self.optim.state.get(parameters[number], {}) for number in owned}
        here = self.rank == to
        collected: list[Any] | None = [None] * self.world_size if here else None
        torch.distributed.gather_object(mine, collected, group=self.process_group, group_dst=to)
        if here and collected is not None:
            state = {number: kept for part in collected for number, kept in part.items() if kept}
            self._consolidated = {"state": dict(sorted(state.items()))}

    def _index(self, parameter: Tensor) -> int:
        return next(n for n, p in enumerate(p for group in self.param_groups for p in group["params"]) if p is parameter)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parameters, in the format of `optimizer_class`.

        Raises:
            RuntimeError: `consolidate_state_dict` has not been called with this rank.
        """
        if self._consolidated is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` "
                "on all ranks beforehand if you meant to save the global state."
            )
        groups, start = [], 0
        for group in self.param_groups:
            numbers = list(range(start, start + len(group["params"])))
            groups.append({**{key: value for key, value in group.items() if key != "params"}, "params": numbers})
            start += len(numbers)
        return {"state": self._consolidated["state"], "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load this process's states from a result of `state_dict`; the number of processes may differ."""
        self._consolidated = None
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        self._options(state_dict["param_groups"], self.param_groups)
        for number, state in state_dict["state"].items():
            parameter = parameters[number]
            if self._owners[parameter] == self.rank:
                own = {}
                for key, value in deepcopy(state).items():
                    moves = isinstance(value, Tensor) and key != "step"
                    own[key] = value.to(parameter.device, parameter.dtype) if moves and value.is_floating_point() else value
                self.optim.state[parameter] = own

    # --- uneven inputs ---

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return a hook that runs a step when this process's inputs are exhausted."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> torch.device:
        """Return the device of the first parameter."""
        device: torch.device = self.param_groups[0]["params"][0].device
        return device

    @property
    def join_process_group(self) -> Any:
        """Return the process group."""
        return self.process_group


class _ZeroJoinHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer
        optimizer.optim.zero_grad()

    def main_hook(self) -> None:
        """Run a step together with the processes that still have inputs."""
        self._optimizer.step()

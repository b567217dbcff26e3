"""The order of actions of each process in a pipeline: a simulation in which each process follows a policy."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

__all__ = ["Action", "ComputationType", "Policy", "order_of_actions", "rank_of_stage", "stages_of_rank"]


class ComputationType(Enum):
    """What an action computes."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"


class Action(NamedTuple):
    """A computation of one stage for one microbatch, written as in `0F3`."""

    stage_index: int
    computation_type: ComputationType
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type.value}{self.microbatch_index}"

    @property
    def is_backward(self) -> bool:
        """Whether the action computes gradients of inputs."""
        return self.computation_type in (ComputationType.BACKWARD_INPUT, ComputationType.FULL_BACKWARD)


@dataclass(frozen=True)
class Policy:
    """How a process chooses its next action among those whose inputs have arrived.

    Args:
        forwards: stages and microbatches in the order of their forward passes.
        backwards: the same for backward passes.
        in_flight: maximum number of forward passes that wait for their backward pass, which limits the memory.
        forwards_first: run all forward passes before the first backward pass; otherwise, they alternate where both are possible.
        splits: which backward passes compute only the gradients of inputs; those of weights follow when the process would wait.
            "never", "always", or "last" for those after the last forward pass.
    """

    forwards: Sequence[tuple[int, int]]
    backwards: Sequence[tuple[int, int]]
    in_flight: int
    forwards_first: bool = False
    splits: str = "never"


@dataclass
class _Process:
    """What a process has still to do in the simulation."""

    policy: Policy
    forwards: deque[tuple[int, int]] = field(init=False)
    backwards: deque[tuple[int, int]] = field(init=False)
    weights: deque[tuple[int, int]] = field(init=False, default_factory=deque)
    in_flight: int = 0
    ran_backward: bool = False

    def __post_init__(self) -> None:
        self.forwards, self.backwards = deque(self.policy.forwards), deque(self.policy.backwards)

    @property
    def is_finished(self) -> bool:
        return not (self.forwards or self.backwards or self.weights)

    def next_action(self, done: set[Action], last_stage: int) -> Action | None:
        """Remove and return the next action, or None if the process must wait."""
        forward = bool(self.forwards) and self.in_flight < self.policy.in_flight and _has_inputs(*self.forwards[0], done)
        waits = self.policy.forwards_first and self.forwards
        backward = bool(self.backwards) and not waits and _has_gradients(*self.backwards[0], done, last_stage)
        if backward and not (forward and self.ran_backward):
            self.ran_backward = True
            self.in_flight -= 1
            splits = self.policy.splits == "always" or (self.policy.splits == "last" and not self.forwards)
            if splits:
                self.weights.append(self.backwards[0])
            return _action(self.backwards, ComputationType.BACKWARD_INPUT if splits else ComputationType.FULL_BACKWARD)
        if forward:
            self.ran_backward = False
            self.in_flight += 1
            return _action(self.forwards, ComputationType.FORWARD)
        return _action(self.weights, ComputationType.BACKWARD_WEIGHT) if self.weights else None


def _action(queue: deque[tuple[int, int]], kind: ComputationType) -> Action:
    stage, microbatch = queue.popleft()
    return Action(stage, kind, microbatch)


def _has_inputs(stage: int, microbatch: int, done: set[Action]) -> bool:
    return stage == 0 or Action(stage - 1, ComputationType.FORWARD, microbatch) in done


def _has_gradients(stage: int, microbatch: int, done: set[Action], last_stage: int) -> bool:
    if stage == last_stage:
        return Action(stage, ComputationType.FORWARD, microbatch) in done
    kinds = (ComputationType.FULL_BACKWARD, ComputationType.BACKWARD_INPUT)
    return any(Action(stage + 1, kind, microbatch) in done for kind in kinds)


def order_of_actions(policies: Sequence[Policy]) -> dict[int, list[Action | None]]:
    """Return the actions of each process, where each takes one unit of time and None means that the process waits.

    No action needs a result of a later one, so processes that run their actions in this order never wait for each other.
    """
    last_stage = max(stage for policy in policies for stage, _ in policy.forwards)
    processes, done = [_Process(policy) for policy in policies], set[Action]()
    order: dict[int, list[Action | None]] = {rank: [] for rank in range(len(policies))}
    while not all(process.is_finished for process in processes):
        actions = {
            rank: process.next_action(done, last_stage) for rank, process in enumerate(processes) if not process.is_finished
        }
        started = list(filter(None, actions.values()))
        if not started:
            raise RuntimeError(f"the policies of a pipeline wait for each other after {order}")
        done.update(started)
        for rank, action in actions.items():
            order[rank].append(action)
    return order


def rank_of_stage(stage: int, ranks: int, style: str = "loop") -> int:
    """Return the process that runs a stage.

    Args:
        stage: index of the stage.
        ranks: number of processes.
        style: "loop" for stages 0, `ranks`, 2 `ranks`, ... on rank 0; "v" for stages that go back from the last rank to rank 0.
    """
    turn, place = divmod(stage, ranks)
    return ranks - 1 - place if style == "v" and turn % 2 else place


def stages_of_rank(rank: int, ranks: int, stages: int, style: str = "loop") -> list[int]:
    """Return the stages that a process runs."""
    return [stage for stage in range(stages) if rank_of_stage(stage, ranks, style) == rank]

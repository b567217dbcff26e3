"""Schedules: the order in which the processes of a pipeline run forward and backward passes of microbatches.

A schedule gives a policy for each process. `orders` simulates the policies, and every process runs its part of the result:
it receives what an action needs, computes, and sends the result to the process of the next stage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor

from ..objects import recv_object_list, send_object_list
from ..point_to_point import recv, send
from .chunks import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks, split_tensor
from .orders import Action, ComputationType, Policy, order_of_actions, rank_of_stage, stages_of_rank
from .stages import StageBase

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "get_schedule_class",
]

Passes = list[tuple[int, int]]
Message = tuple[int, int, int]  # the sending stage, the receiving stage, the microbatch


class _PipelineSchedule(ABC):
    """The runtime of all schedules.

    Args:
        stages: the stages of this process.
        n_microbatches: number of microbatches.
        loss_fn: function of an output and a target; without one, only forward passes run.
        args_chunk_spec: how positional arguments are split; by default, tensors are split in dimension 0.
        kwargs_chunk_spec: the same for keyword arguments.
        output_merge_spec: how outputs are merged; by default, they are concatenated in dimension 0.
        scale_grads: divide gradients by the number of microbatches, for losses that are means.
    """

    _style = "loop"

    def __init__(
        self,
        stages: list[StageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages, self._n_microbatches, self._loss_fn = stages, n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        first = stages[0]
        self.rank, self.pp_group_size, self._num_stages, self._group = (
            first.group_rank,
            first.group_size,
            first.num_stages,
            first.group,
        )
        self._check_stages()
        self._rank_of = [rank_of_stage(stage, self.pp_group_size, self._style) for stage in range(self._num_stages)]
        for stage in stages:
            stage.stage_index_to_group_rank = dict(enumerate(self._rank_of))
        self.pipeline_order = order_of_actions([self._policy(rank) for rank in range(self.pp_group_size)])

    def _check_stages(self) -> None:
        """Raise ValueError if this process has not the stages that the schedule gives it, or too few microbatches."""
        expected = stages_of_rank(self.rank, self.pp_group_size, self._num_stages, self._style)
        given = sorted(stage.stage_index for stage in self._stages)
        if given != expected:
            raise ValueError(
                f"{type(self).__name__}: rank {self.rank} of {self.pp_group_size} runs stages {expected}, got {given}"
            )

    @abstractmethod
    def _policy(self, rank: int) -> Policy:
        """Return how a process chooses its next action."""

    def _passes(self, stages: Sequence[int]) -> Passes:
        return [(stage, microbatch) for stage in stages for microbatch in range(self._n_microbatches)]

    # --- a step ---

    def step(
        self,
        *args: Any,
        target: Tensor | None = None,
        losses: list[Tensor] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch through the pipeline, forwards and, if there is a loss function, backwards.

        Args:
            args: positional arguments of the model, on the process of the first stage.
            target: target of the loss function, on the process of the last stage; it is split in dimension 0.
            losses: a list that receives the losses of the microbatches, on the process of the last stage.
            return_outputs: keep and return the outputs.
            loss_kwargs: further keyword arguments of the loss function.
            kwargs: keyword arguments, given to every stage of this process.

        Returns:
            the merged outputs on the process of the last stage, None on others.

        Raises:
            RuntimeError: gradients are disabled; use `eval`. Or the process of the last stage has a loss function, but no target.
            ValueError: the batch has fewer samples than there are microbatches.
        """
        if self._has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under torch.no_grad() "
                "context. Please call eval() instead."
            )
        count, stages = self._n_microbatches, {stage.stage_index: stage for stage in self._stages}
        ended = next((stage for stage in self._stages if stage.is_last), None)
        if self._has_backward and ended is not None and target is None:
            raise RuntimeError("step() needs a target for the loss, on the process of the last stage")
        for stage in self._stages:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        args_split, kwargs_split = self._split_inputs(args, kwargs)
        targets = None if target is None else split_tensor(target, TensorChunkSpec(0), count)
        step_losses: dict[int, Tensor] = {}
        mail, last_of = _Mail(self), self._last_backwards()
        for action in self._actions(self.rank):
            index, kind, microbatch = action
            stage = stages[index]
            if kind is ComputationType.FORWARD:
                inputs = args_split[microbatch] if stage.is_first else mail.receive((index - 1, index, microbatch))
                output = stage.forward_one_chunk(microbatch, inputs, kwargs_split[microbatch], return_outputs)
                if not stage.is_last:
                    mail.send((index, index + 1, microbatch), stage.outputs_of(microbatch))
                elif self._loss_fn is not None and targets is not None:
                    step_losses[microbatch] = self._loss_fn(output, targets[microbatch], **(loss_kwargs or {}))
            elif action.is_backward:
                loss = step_losses.get(microbatch) if stage.is_last else None
                grads = () if stage.is_last else mail.receive((index + 1, index, microbatch))
                full = kind is ComputationType.FULL_BACKWARD
                found = stage.backward_one_chunk(microbatch, loss, full, action == last_of[index], grads)
                if not stage.is_first:
                    mail.send((index, index - 1, microbatch), found)
            else:
                stage.backward_weight_one_chunk(microbatch)
        if self._has_backward and self.scale_grads:
            for stage in self._stages:
                stage.scale_grads(count)
        if losses is not None and ended is not None:
            losses[:] = [step_losses[microbatch] for microbatch in sorted(step_losses)]
        return merge_chunks(ended.output_chunks, self._output_merge_spec) if ended is not None and return_outputs else None

    def eval(self, *args: Any, target: Tensor | None = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Run a batch through the pipeline without backward passes. See `step`."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _split_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        count = self._n_microbatches
        if not args and not kwargs:
            return [()] * count, [{}] * count
        found = split_args_kwargs_into_chunks(args, kwargs, count, self._args_chunk_spec, self._kwargs_chunk_spec)
        if len(found[0]) != count:
            raise ValueError(f"Expecting {count} arg_mbs but got {len(found[0])}")
        return found

    def _actions(self, rank: int) -> Iterator[Action]:
        """Iterate over the actions of a process."""
        for action in self.pipeline_order[rank]:
            if action is not None and (self._has_backward or action.computation_type is ComputationType.FORWARD):
                yield action

    def _last_backwards(self) -> dict[int, Action]:
        """Return the last backward pass of each stage of this process."""
        return {action.stage_index: action for action in self._actions(self.rank) if action.is_backward}

    def messages_to(self, rank: int, sender: int) -> Iterator[Message]:
        """Iterate over the messages between two processes in the order in which they are sent."""
        for stage, kind, microbatch in self._actions(sender):
            receiver = {"F": stage + 1, "W": -1}.get(kind.value, stage - 1)
            if 0 <= receiver < self._num_stages and self._rank_of[receiver] == rank:
                yield stage, receiver, microbatch


class _Sent(NamedTuple):
    """What the receiver of a tensor has to know. Other values are sent as they are."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool


class _Mail:
    """The tensors that a process sends and receives in a step. Sending does not wait for the receiver."""

    def __init__(self, schedule: _PipelineSchedule) -> None:
        self._schedule, self._group, self._rank_of = schedule, schedule._group, schedule._rank_of
        self._arrived: dict[Message, list[Any]] = {}
        ranks = set(range(schedule.pp_group_size)) - {schedule.rank}
        self._coming = {sender: schedule.messages_to(schedule.rank, sender) for sender in ranks}

    def send(self, message: Message, values: Sequence[Any]) -> None:
        """Send the outputs of a stage, or the gradients of its inputs."""
        receiver = self._rank_of[message[1]]
        if receiver == self._schedule.rank:
            self._arrived[message] = list(values)
            return
        described = [_Sent(tuple(v.shape), v.dtype, v.requires_grad) if isinstance(v, Tensor) else v for v in values]
        send_object_list([described], group=self._group, group_dst=receiver)
        for value in values:
            if isinstance(value, Tensor):
                send(value.detach(), group=self._group, group_dst=receiver)

    def receive(self, message: Message) -> list[Any]:
        """Return the values of a message; wait for it if it has not arrived."""
        sender = self._rank_of[message[0]]
        while message not in self._arrived:
            self._arrived[next(self._coming[sender])] = self._receive_next(sender)
        return self._arrived.pop(message)

    def _receive_next(self, sender: int) -> list[Any]:
        described: list[Any] = [None]
        recv_object_list(described, group=self._group, group_src=sender)
        return [self._receive_value(value, sender) for value in described[0]]

    def _receive_value(self, value: Any, sender: int) -> Any:
        if not isinstance(value, _Sent):
            return value
        tensor = torch.empty(value.shape, dtype=value.dtype, device=self._schedule._stages[0].device)
        recv(tensor, group=self._group, group_src=sender)
        return tensor.requires_grad_(value.requires_grad)


class PipelineScheduleSingle(_PipelineSchedule):
    """Base class of schedules with one stage in each process.

    Args:
        stage: the stage of this process.
        n_microbatches: number of microbatches, into which `step` splits a batch.
        loss_fn: function of an output and a target, which returns a loss; without one, only forward passes run.
        args_chunk_spec: how positional arguments are split; by default, tensors are split in dimension 0.
        kwargs_chunk_spec: the same for keyword arguments.
        output_merge_spec: how outputs are merged; by default, they are concatenated in dimension 0.
        scale_grads: divide gradients by the number of microbatches, for losses that are means.

    Raises:
        ValueError: there are not as many processes as stages.
    """

    def __init__(self, stage: StageBase, n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__([stage], n_microbatches, *args, **kwargs)
        self._stage = stage

    def _check_stages(self) -> None:
        if self.pp_group_size != self._num_stages:
            raise ValueError(
                f"{type(self).__name__} runs one stage in each process, but there are {self._num_stages} stages and "
                f"{self.pp_group_size} processes"
            )


class ScheduleGPipe(PipelineScheduleSingle):
    """All forward passes, then all backward passes, as in `GPipe <https://arxiv.org/abs/1811.06965>`_.

    Example: see `PipelineStage`.
    """

    def _policy(self, rank: int) -> Policy:
        passes = self._passes([rank])
        return Policy(passes, passes, in_flight=self._n_microbatches, forwards_first=True)


class _ScheduleForwardOnly(ScheduleGPipe):
    """Forward passes only."""

    def step(self, *args: Any, target: Tensor | None = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Run a batch through the pipeline. RuntimeError if there is a target or a list of losses."""
        if target is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        return self.eval(*args, **kwargs) if self._has_backward else super().step(*args, **kwargs)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward pass in turn, after forward passes that fill the pipeline.

    At most as many microbatches as stages are in memory. See `PipeDream <https://arxiv.org/abs/1806.03377>`_.

    Raises:
        ValueError: there are fewer microbatches than stages.
    """

    def _check_stages(self) -> None:
        super()._check_stages()
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({self._n_microbatches}) must be greater than or equal to the number of stages "
                f"({self._num_stages})."
            )

    def _policy(self, rank: int) -> Policy:
        passes = self._passes([rank])
        return Policy(passes, passes, in_flight=self._num_stages - rank)


class PipelineScheduleMulti(_PipelineSchedule):
    """Base class of schedules with several stages in each process.

    Args:
        stages: the stages of this process.
        n_microbatches: number of microbatches, into which `step` splits a batch.
        loss_fn: function of an output and a target, which returns a loss; without one, only forward passes run.
        args_chunk_spec: how positional arguments are split; by default, tensors are split in dimension 0.
        kwargs_chunk_spec: the same for keyword arguments.
        output_merge_spec: how outputs are merged; by default, they are concatenated in dimension 0.
        use_full_backward: accepted for compatibility, as `backward_requires_autograd` and `defer_pp_recv`.
        scale_grads: divide gradients by the number of microbatches, for losses that are means.

    Raises:
        ValueError: the stages are not those of this process, or the number of microbatches does not fit.
    """

    def __init__(
        self,
        stages: list[StageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All forward passes of a stage before those of the next, then the backward passes in reverse order.

    See `Breadth-First Pipeline Parallelism <https://arxiv.org/abs/2211.05953>`_.
    """

    def _policy(self, rank: int) -> Policy:
        forwards = self._passes(stages_of_rank(rank, self.pp_group_size, self._num_stages))
        return Policy(forwards, forwards[::-1], in_flight=len(forwards), forwards_first=True)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """1F1B with several stages in each process, which run as many microbatches in turn as there are processes.

    See `Efficient Large-Scale Language Model Training on GPU Clusters <https://arxiv.org/abs/2104.04473>`_.

    Raises:
        ValueError: the number of microbatches is not a multiple of the number of rounds.
    """

    _warmup_per_rank = 2  # further forward passes before the first backward pass for each rank after this one
    _splits = "never"

    @property
    def number_of_rounds(self) -> int:
        """The number of groups of microbatches that pass through all stages together."""
        return max(1, self._n_microbatches // self.pp_group_size)

    @property
    def microbatches_per_round(self) -> int:
        """The number of microbatches in a group."""
        return self._n_microbatches // self.number_of_rounds

    def _check_stages(self) -> None:
        super()._check_stages()
        if self._n_microbatches % self.number_of_rounds:
            raise ValueError(
                f"{type(self).__name__} requires the number of microbatches to be a multiple of the number of rounds "
                f"({self.number_of_rounds}), but got {self._n_microbatches}."
            )

    def _policy(self, rank: int) -> Policy:
        stages, turn = stages_of_rank(rank, self.pp_group_size, self._num_stages), self.microbatches_per_round
        forwards = sorted(self._passes(stages), key=lambda action: action[1] // turn)
        backwards = sorted(self._passes(stages[::-1]), key=lambda action: action[1] // turn)
        warmup = (len(stages) - 1) * turn + self._warmup_per_rank * (self.pp_group_size - 1 - rank)
        return Policy(forwards, backwards, in_flight=warmup + 1, splits=self._splits)


class ScheduleInterleavedZeroBubble(ScheduleInterleaved1F1B):
    """Interleaved 1F1B in which gradients of weights are computed when a process would wait.

    See `Zero Bubble Pipeline Parallelism <https://arxiv.org/abs/2401.10241>`_.
    """

    _warmup_per_rank = 1
    _splits = "always"


class _ScheduleV(PipelineScheduleMulti):
    """Two stages in each process: rank 0 runs the first and the last stage, rank 1 the second and the last but one."""

    _style = "v"

    def _check_stages(self) -> None:
        if len(self._stages) != 2:
            raise ValueError(f"{type(self).__name__} requires exactly 2 stages per rank, but got {len(self._stages)}.")
        super()._check_stages()

    def _of_both(self, rank: int, halves: Sequence[int]) -> Passes:
        """Return the passes of the first (0) and second (1) stage of a process, in this order."""
        stages, counts, passes = stages_of_rank(rank, self.pp_group_size, self._num_stages, "v"), [0, 0], []
        for half in halves:
            passes.append((stages[half], counts[half]))
            counts[half] += 1
        return [action for action in passes if action[1] < self._n_microbatches]


class ScheduleZBVZeroBubble(_ScheduleV):
    """A V of stages, in which all backward passes are split.

    See `Zero Bubble Pipeline Parallelism <https://arxiv.org/abs/2401.10241>`_, section 6.

    Raises:
        ValueError: this process has not two stages.
    """

    def _policy(self, rank: int) -> Policy:
        ranks, hops = self.pp_group_size, self.pp_group_size - rank
        count = max(2 * ranks - 1, self._n_microbatches)
        forwards = [0] * (2 * hops - 1) + [1, 0] * rank + [1] * hops + [0, 1] * (count - ranks - hops + 1) + [1] * hops
        backwards = [1] * hops + [0, 1] * (count - hops) + [0] * hops
        return Policy(self._of_both(rank, forwards), self._of_both(rank, backwards), in_flight=2 * ranks, splits="always")


class ScheduleDualPipeV(_ScheduleV):
    """A V of stages, in which backward passes are split after the last forward pass.

    See `DeepSeek-V3 Technical Report <https://arxiv.org/abs/2412.19437>`_.

    Raises:
        ValueError: this process has not two stages, or there are fewer microbatches than stages.
    """

    def _check_stages(self) -> None:
        super()._check_stages()
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"DualPipeV requires at least as many microbatches as stages, but got {self._n_microbatches} microbatches and "
                f"{self._num_stages} stages."
            )

    def _policy(self, rank: int) -> Policy:
        count, ranks, hops = self._n_microbatches, self.pp_group_size, self.pp_group_size - 1 - rank
        forwards = [0] * (2 * hops) + [0, 1] * (rank + 1) + [1] * hops + [0, 1] * (count - ranks - hops) + [1] * hops
        backwards = [1] * hops + [1, 0] * (count - hops) + [0] * hops
        return Policy(self._of_both(rank, forwards), self._of_both(rank, backwards), in_flight=2 * ranks + 1, splits="last")


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """Return the class of a schedule by its name, in any case.

    Raises:
        ValueError: no schedule has this name.

    Example:
        >>> from flambeau.distributed.pipelining.schedules import get_schedule_class
        >>> get_schedule_class("1f1b").__name__
        'Schedule1F1B'
    """
    names = {name.removeprefix("Schedule"): name for name in __all__ if name != "get_schedule_class"}
    by_lower_case = {short.lower(): name for short, name in names.items()}
    if schedule_name.lower() not in by_lower_case:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(names)}")
    found: type[_PipelineSchedule] = globals()[by_lower_case[schedule_name.lower()]]
    return found

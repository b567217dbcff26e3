"""A stage of a pipeline: a part of a model with its state for each microbatch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.fx import Graph
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.utils import pytree

from ...nn.parallel.composable import DDP
from ..fsdp import FSDPModule
from ..world import get_rank, get_world_size
from .orders import rank_of_stage
from .split_backward import input_gradients

__all__ = ["PipeInfo", "PipelineStage", "PipeliningMetadataError", "StageBase"]


class PipeliningMetadataError(RuntimeError):
    """The shapes or dtypes of a stage's tensors are not those that were declared."""


@dataclass
class PipeInfo:
    """The graph of a split model, in which each stage is a call of a submodule.

    Args:
        graph: the graph.
        num_stages: number of stages.
        has_loss_and_backward: False; schedules add the loss and the backward pass.
    """

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool


_REPLICATED = (FSDPModule, DistributedDataParallel, DDP)


def _nothing() -> None:
    pass


class StageBase:
    """What stages given as modules and stages of a traced model share."""

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: torch.device,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group, self.dw_builder = torch.device(device), group, dw_builder
        self.group_rank, self.group_size = get_rank(group), get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}")
        self.has_backward = False
        self.stage_index_to_group_rank = {stage: rank_of_stage(stage, self.group_size) for stage in range(num_stages)}
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether the stage receives the model's inputs."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether the stage returns the model's outputs."""
        return self.stage_index == self.num_stages - 1

    @property
    def output_chunks(self) -> list[Any]:
        """The outputs of the last stage, one for each microbatch."""
        return [output for _, output in sorted(self._results.items())]

    def clear_runtime_states(self) -> None:
        """Forget all microbatches."""
        self._inputs: dict[int, list[Any]] = {}
        self._outputs: dict[int, tuple[Any, ...]] = {}
        self._results: dict[int, Any] = {}
        self._weights: dict[int, Callable[..., None]] = {}

    # --- a microbatch ---

    def forward_one_chunk(
        self, fwd_chunk_id: int, args: Sequence[Any], kwargs: dict[str, Any] | None = None, save_forward_output: bool = True
    ) -> Any:
        """Run the module on a microbatch; return its result."""
        inputs = list(args) if self.is_first else [self._received(value) for value in args]
        if isinstance(self.submod, DDP):
            self.submod.set_requires_gradient_sync(False)
        with self.submod.no_sync() if isinstance(self.submod, DistributedDataParallel) else nullcontext():
            result = self._call(inputs, kwargs or {})
        outputs = tuple(result) if type(result) in (tuple, list) else (result,)
        self._check_outputs(outputs)
        self._inputs[fwd_chunk_id], self._outputs[fwd_chunk_id] = inputs, outputs
        if self.is_last and save_forward_output:
            self._results[fwd_chunk_id] = result
        return result

    def _call(self, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
        return self.submod(*inputs, **kwargs)

    def _received(self, value: Any) -> Any:
        """Return an input as a leaf of this stage's graph."""
        if not isinstance(value, Tensor):
            return value
        return value.detach().requires_grad_(value.requires_grad and self.has_backward)

    def _check_outputs(self, outputs: tuple[Any, ...]) -> None:
        """Check the outputs of a forward pass."""

    def outputs_of(self, microbatch: int) -> tuple[Any, ...]:
        """Return the outputs of a microbatch whose backward pass has not run."""
        return self._outputs[microbatch] if self.has_backward else self._outputs.pop(microbatch)

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: Tensor | None = None,
        full_backward: bool = True,
        last_backward: bool = False,
        output_grads: Sequence[Tensor | None] = (),
    ) -> tuple[Tensor | None, ...]:
        """Run the backward pass of a microbatch.

        Args:
            bwd_chunk_id: the microbatch.
            loss: its loss, for the last stage.
            full_backward: add the gradients of weights now; otherwise, `backward_weight_one_chunk` does, except for modules
                whose gradients are reduced over replicas by hooks.
            last_backward: this is the last backward pass of a step, so that gradients are reduced over replicas.
            output_grads: gradients of the outputs, for other stages.

        Returns:
            the gradients of the inputs; None for inputs without gradients.
        """
        inputs, outputs = self._inputs.pop(bwd_chunk_id), self._outputs.pop(bwd_chunk_id)
        pairs = list(zip(outputs, output_grads, strict=True)) if loss is None else [(loss, None)]
        roots = [output for output, grad in pairs if loss is not None or grad is not None]
        grads = [grad for _, grad in pairs if loss is not None or grad is not None]
        self._prepare_reduction(last_backward, roots)
        leaves = [] if self.is_first else [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
        if not full_backward and self.dw_builder is None and not isinstance(self.submod, _REPLICATED):
            found, self._weights[bwd_chunk_id] = input_gradients(roots, grads, leaves)
        else:
            if roots:
                torch.autograd.backward(roots, grads)
            found = [leaf.grad for leaf in leaves]
            if not full_backward:
                self._weights[bwd_chunk_id] = _nothing if self.dw_builder is None else self.dw_builder()
        if bwd_chunk_id in self._results:
            self._results[bwd_chunk_id] = pytree.tree_map_only(Tensor, Tensor.detach, self._results[bwd_chunk_id])
        gradient_of = {id(leaf): gradient for leaf, gradient in zip(leaves, found, strict=True)}
        return tuple(gradient_of.get(id(value)) for value in inputs)

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """Add the gradients of weights of a microbatch whose inputs have their gradients."""
        self._weights.pop(bwd_chunk_id)()

    def _prepare_reduction(self, last_backward: bool, roots: Sequence[Tensor]) -> None:
        """Let replicas reduce the gradients of the whole step in its last backward pass."""
        if isinstance(self.submod, FSDPModule):
            self.submod.set_requires_gradient_sync(last_backward)
        elif isinstance(self.submod, (DistributedDataParallel, DDP)) and last_backward:
            self.submod.prepare_for_backward(roots)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of weights, so that they are those of the mean over microbatches."""
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)


class PipelineStage(StageBase):
    """A module that is one stage of a pipeline.

    Stage i receives the outputs of stage i - 1 as positional arguments: a tensor, or the elements of a tuple. Sizes need not
    be declared, and may differ between steps.

    Args:
        submodule: the module, on `device`.
        stage_index: position of the stage in the pipeline, from 0.
        num_stages: number of stages of the pipeline.
        device: the device of the module and its inputs.
        input_args: example inputs of a microbatch, whose shapes and dtypes are checked.
        output_args: example outputs, whose shapes and dtypes are checked.
        output_grads: accepted for compatibility, as `input_grads` and `get_mesh`.
        group: the process group of the pipeline; by default, all processes.
        dw_builder: called in each backward pass that schedules split; returns a function that adds the gradients of weights.

    Raises:
        ValueError: `stage_index` is not less than `num_stages`.
        RuntimeError: there are more processes than stages.

    Example, with all stages in one process:
        >>> from flambeau.distributed.pipelining import PipelineStage, ScheduleLoopedBFS
        >>> import flambeau.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> layers = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)]
        >>> stages = [PipelineStage(layer, index, 2, torch.device("cpu")) for index, layer in enumerate(layers)]
        >>> schedule = ScheduleLoopedBFS(stages, n_microbatches=2, loss_fn=torch.nn.functional.mse_loss)
        >>> losses = []
        >>> schedule.step(torch.ones(6, 4), target=torch.zeros(6, 2), losses=losses).shape
        torch.Size([6, 2])
        >>> len(losses), layers[0].weight.grad.shape
        (2, torch.Size([4, 4]))
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: torch.device,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: Any = None,
    ) -> None:
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        self._declared = {"input": _as_tuple(input_args), "output": _as_tuple(output_args)}

    def _call(self, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
        self._check("input", inputs)
        return super()._call(inputs, kwargs)

    def _check_outputs(self, outputs: tuple[Any, ...]) -> None:
        self._check("output", outputs)

    def _check(self, what: str, values: Sequence[Any]) -> None:
        """Raise PipeliningMetadataError if shapes or dtypes differ from those declared."""
        declared = self._declared[what]
        if declared is None:
            return
        if len(values) != len(declared):
            raise PipeliningMetadataError(f"Stage {self.stage_index}: {len(values)} {what}s given, {len(declared)} declared")
        for index, (value, example) in enumerate(zip(values, declared, strict=True)):
            if value.shape != example.shape or value.dtype != example.dtype:
                raise PipeliningMetadataError(
                    f"Stage {self.stage_index}: {what} {index} has shape {list(value.shape)} and dtype {value.dtype}, but "
                    f"{list(example.shape)} and {example.dtype} are declared"
                )


def _as_tuple(values: Any) -> tuple[Any, ...] | None:
    return None if values is None else (values,) if isinstance(values, Tensor) else tuple(values)

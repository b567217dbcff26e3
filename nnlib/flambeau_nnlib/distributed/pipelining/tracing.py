"""Split a model into stages: it is exported, and its graph is cut where the program marks it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.fx import Graph, GraphModule, Node

from .stages import PipeInfo, StageBase

__all__ = ["Pipe", "SplitPoint", "annotate_split_points", "build_stage", "pipe_split", "pipeline"]

_LIBRARY = torch.library.Library("pippy", "DEF")
_LIBRARY.define("_pipe_split() -> ()")
_LIBRARY.impl("_pipe_split", lambda: None, "CompositeExplicitAutograd")
_SPLIT = torch.fx.has_side_effect(torch.ops.pippy._pipe_split.default)


class SplitPoint(Enum):
    """Where a model is split, relative to a submodule."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Mark the end of a stage in a model's `forward`. It has no effect except in `pipeline`."""
    torch.ops.pippy._pipe_split()


def annotate_split_points(mod: nn.Module, spec: dict[str, SplitPoint]) -> Any:
    """Split a model before or after submodules.

    Args:
        mod: the model.
        spec: for names of submodules, whether the model is split before or after them.

    Returns:
        the handles of the hooks that mark the splits.

    Raises:
        AttributeError: no submodule has this name.
    """
    handles = []
    for name, point in spec.items():
        module = mod.get_submodule(name)
        before = point is SplitPoint.BEGINNING
        handles.append((module.register_forward_pre_hook if before else module.register_forward_hook)(_mark))
    return handles


def _mark(*_: Any) -> None:
    pipe_split()


class Pipe(nn.Module):
    """A model that is split into stages. `pipeline` creates it.

    Args:
        split_gm: the module whose submodules `submod_pp_0`, `submod_pp_1`, ... are the stages.
        num_stages: number of stages.
    """

    def __init__(self, split_gm: GraphModule, num_stages: int) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run all stages in this process; return a tuple of the model's results."""
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> nn.Module:
        """Return the module of a stage. ValueError if there are fewer stages."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return self.split_gm.get_submodule(f"submod_pp_{stage_idx}")

    def info(self) -> PipeInfo:
        """Return the graph and the number of stages."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: torch.device, group: Any = None) -> _PipelineStage:
        """Return a stage for a schedule.

        Args:
            stage_index: the stage.
            device: the device that its module is moved to.
            group: the process group of the pipeline; by default, all processes.
        """
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Print the code of the split model."""
        self.split_gm.print_readable()

    def __repr__(self) -> str:
        return repr(self.split_gm)

    def __str__(self) -> str:
        return str(self.split_gm)


class _PipelineStage(StageBase):
    """A stage of a model that `pipeline` split. Only the first stage receives arguments of the model."""

    def __init__(
        self, stage_module: nn.Module, stage_index: int, pipe_info: PipeInfo, device: torch.device, group: Any = None
    ) -> None:
        super().__init__(stage_module, stage_index, pipe_info.num_stages, device, group)
        self.pipe_info = pipe_info
        if not any(tensor.is_meta for tensor in stage_module.parameters()):
            stage_module.to(self.device)

    def _call(self, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
        return self.submod(*inputs, **(kwargs if self.is_first else {}))


def build_stage(
    stage_module: nn.Module, stage_index: int, pipe_info: PipeInfo, device: torch.device, group: Any = None
) -> _PipelineStage:
    """Return a stage for a schedule.

    Args:
        stage_module: the module of the stage, from `Pipe.get_stage_module`.
        stage_index: the stage.
        pipe_info: the result of `Pipe.info`.
        device: the device that the module is moved to.
        group: the process group of the pipeline; by default, all processes.
    """
    return _PipelineStage(stage_module, stage_index, pipe_info, device, group)


def pipeline(
    module: nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Split a model into stages.

    The model is exported with the arguments of a microbatch, so it must meet the conditions of `torch.export.export`. Values
    that a later stage needs pass through the stages between. A parameter that several stages use is in each of them, and its
    gradients are not added over processes.

    Args:
        module: the model. It may call `pipe_split()` between stages.
        mb_args: positional arguments of a microbatch.
        mb_kwargs: keyword arguments of a microbatch.
        split_spec: for names of submodules, whether the model is split before or after them.
        split_policy: function that inserts calls of `pipe_split` into the exported graph.

    Returns:
        the split model.

    Raises:
        ValueError: both `split_spec` and `split_policy` are given.

    Example:
        >>> from flambeau.distributed.pipelining import SplitPoint, pipeline
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        >>> pipe = pipeline(net, (torch.ones(5, 4),), split_spec={"2": SplitPoint.BEGINNING})
        >>> pipe.num_stages, [name for name, _ in pipe.get_stage_module(1).named_parameters()]
        (2, ['2.weight', '2.bias'])
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    handles = annotate_split_points(module, split_spec or {})
    try:
        traced = torch.export.export(module, mb_args, mb_kwargs).module(check_guards=False)
    finally:
        for handle in handles:
            handle.remove()
    return _split(traced if split_policy is None else split_policy(traced))


def _split(traced: GraphModule) -> Pipe:
    """Cut a graph at its marks."""
    stage_of: dict[Node, int] = {}
    marks = 0
    for node in traced.graph.nodes:
        stage_of[node] = marks
        marks += node.target is _SPLIT
    last_use = {node: max((stage_of[user] for user in node.users), default=0) for node in stage_of}
    given = [node for node in stage_of if node.op == "placeholder"]
    computed = [node for node in stage_of if node.op.startswith("call") and node.target is not _SPLIT]
    (results,) = next(node.args for node in stage_of if node.op == "output")
    whole, root = Graph(), nn.Module()
    values = {node: whole.placeholder(str(node.target)) for node in given}
    for stage in range(marks + 1):
        inputs, inside = list(values), [node for node in computed if stage_of[node] == stage]
        kept = [node for node in [*inputs, *inside] if last_use[node] > stage]
        outputs = list(results) if stage == marks else kept
        name = f"submod_pp_{stage}"
        root.add_module(name, _stage_module(traced, inputs, inside, outputs))
        call = whole.call_module(name, tuple(values.values()))
        alone = len(outputs) == 1
        parts = [call] if alone else [whole.call_function(operator.getitem, (call, place)) for place in range(len(outputs))]
        if stage == marks:
            whole.output(tuple(parts))
        values = dict(zip(outputs, parts, strict=True))
    return Pipe(GraphModule(root, whole), marks + 1)


def _stage_module(traced: GraphModule, inputs: Sequence[Node], inside: Sequence[Node], outputs: Sequence[Any]) -> GraphModule:
    """Return a module that computes the outputs from the inputs by the nodes inside. A single output is not in a tuple."""
    graph = Graph()
    copies = {node: graph.placeholder(node.name) for node in inputs}

    def copied(node: Node) -> Node:
        if node not in copies:  # a parameter or buffer
            copies[node] = graph.node_copy(node)
        return copies[node]

    for node in inside:
        copies[node] = graph.node_copy(node, copied)
    returned = tuple(torch.fx.node.map_arg(output, copied) for output in outputs)
    graph.output(returned[0] if len(returned) == 1 else returned)
    return GraphModule(traced, graph)

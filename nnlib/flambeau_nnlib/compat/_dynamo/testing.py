"""`torch._dynamo.testing`: backends of `torch.compile` that count graphs, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor, fx

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]


class CompileCounter:
    """A backend that runs graphs as they are, and counts them (`frame_count`) and their operations (`op_count`).

    >>> counter = CompileCounter()
    >>> torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.zeros(2))
    tensor([1., 1.])
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: fx.GraphModule, example_inputs: list[Tensor]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Set the counts to 0."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """A `CompileCounter` that also keeps the graphs, as `graphs`.

    Args:
        backend: the name of a backend; graphs run as they are with each of them.
    """

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: fx.GraphModule, example_inputs: list[Tensor]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return super().__call__(gm, example_inputs)

    def clear(self) -> None:
        """Set the counts to 0, and forget the graphs."""
        super().clear()
        self.graphs: list[fx.GraphModule] = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them as `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[fx.GraphModule] = []

    def __call__(self, gm: fx.GraphModule, example_inputs: list[Tensor]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return gm.forward

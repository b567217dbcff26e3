"""`ShapeProp`: record the shapes of all values in a graph by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau as torch
from flambeau import nn

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The metadata of a tensor.

    Attributes:
        shape, dtype, requires_grad, stride: as in `torch.Tensor`.
        memory_format: the memory format in which the tensor is contiguous, or None.
        is_quantized, qparams: always False and empty.
    """

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: torch.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d) if include_contiguity else ()
    dims = {torch.channels_last: 4, torch.channels_last_3d: 5}
    memory_format = next(
        (
            candidate
            for candidate in formats
            if result.ndim == dims.get(candidate, result.ndim) and result.is_contiguous(memory_format=candidate)
        ),
        None,
    )
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {})


class ShapeProp(Interpreter):
    """Run a graph on sample inputs and store the metadata of each value in its node.

    `meta["tensor_meta"]` is set to a `TensorMetadata`, or a collection of them, and `meta["type"]` to the type of the value.

    Args:
        gm: the module with the graph.
        fake_mode: not supported.

    >>> from flambeau.fx.passes.shape_prop import ShapeProp
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    >>> _ = ShapeProp(traced).propagate(torch.ones(5, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(5, 3), (5, 2), (5, 2)]
    """

    def __init__(self, gm: nn.Module, fake_mode: Any | None = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise ValueError("ShapeProp: fake_mode is not supported; shapes are found by running the graph")

    def run_node(self, n: Node) -> Any:
        """Run a node and store the metadata of its value."""
        result = super().run_node(n)
        found = False

        def metadata(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, torch.Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        kinds = map_aggregate(result, metadata)
        if found:
            n.meta["tensor_meta"] = kinds
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph and store metadata.

        Args:
            *args: sample inputs.

        Returns:
            The output of the graph.
        """
        return self.run(*args)

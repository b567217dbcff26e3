"""The base class of passes, and the result of a pass."""

from __future__ import annotations

import abc
from typing import NamedTuple

from flambeau import nn

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The graph module after a pass, and whether the pass has modified it."""

    graph_module: nn.Module
    modified: bool


class PassBase(abc.ABC):
    """A transformation of a graph module, with checks before and after it.

    >>> from flambeau.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class RemoveDropout(PassBase):
    ...     def call(self, graph_module):
    ...         for node in graph_module.graph.find_nodes(op="call_module", target="drop"):
    ...             node.replace_all_uses_with(node.args[0])
    ...             graph_module.graph.erase_node(node)
    ...         graph_module.recompile()
    ...         return PassResult(graph_module, True)
    >>> net = torch.nn.Sequential()
    >>> net.add_module("drop", torch.nn.Dropout()); _ = net.append(torch.nn.ReLU())
    >>> result = RemoveDropout()(torch.fx.symbolic_trace(net))
    >>> [node.op for node in result.graph_module.graph.nodes]
    ['placeholder', 'call_module', 'output']
    """

    def __call__(self, graph_module: nn.Module) -> PassResult | None:
        """Check the graph, run `call`, and check the graph again; return the result of `call`."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: nn.Module) -> PassResult | None:
        """Transform a graph module. Subclasses define this method."""

    def requires(self, graph_module: nn.Module) -> None:  # noqa: B027  # optional
        """Raise an error if the pass cannot be applied to this graph module."""

    def ensures(self, graph_module: nn.Module) -> None:  # noqa: B027  # optional
        """Raise an error if the transformed graph module is invalid."""

"""`FxGraphDrawer`: draw the graph of a module."""

from __future__ import annotations

from typing import Any

from flambeau.utils.pictures import Picture, picture

from ..graph_module import GraphModule

__all__ = ["FxGraphDrawer"]


class FxGraphDrawer:
    """Draw the graph of a module.

    Args:
        graph_module: the module with the graph.
        name: accepted and ignored.

    >>> from flambeau.fx.passes.graph_drawer import FxGraphDrawer
    >>> traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    >>> FxGraphDrawer(traced, "relu").get_dot_graph().source.splitlines()[0]
    'digraph {'
    """

    def __init__(self, graph_module: GraphModule, name: str, *args: Any, **kwargs: Any) -> None:
        self.graph_module, self.name = graph_module, name

    def get_dot_graph(self, submod_name: str | None = None) -> Picture:
        """Return a drawing of the module's graph, or of a submodule's graph.

        Args:
            submod_name: the name of the submodule.
        """
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Picture:
        """Return a drawing of the module's graph."""
        return picture(self.graph_module)

    def get_submod_dot_graph(self, submod_name: str) -> Picture:
        """Return a drawing of a submodule's graph.

        Args:
            submod_name: the name of the submodule.
        """
        return picture(getattr(self.graph_module, submod_name))

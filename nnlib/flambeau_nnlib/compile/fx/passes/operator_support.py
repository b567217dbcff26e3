"""`torch.fx.passes.operator_support`: descriptions of the operations that a compiler supports."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from ..node import Node
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

IsNodeSupported = Callable[[Mapping[str, nn.Module], Node], bool]
_Dtypes = Sequence[torch.dtype] | None
SupportDict = Mapping[str, tuple[Sequence[_Dtypes], dict[str, _Dtypes]] | None]


class OperatorSupportBase(abc.ABC):
    """Base class of objects that decide whether a compiler supports a node."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool:
        """Whether a node is supported.

        Args:
            submodules: the modules of the graph by path.
            node: the node.
        """


class OperatorSupport(OperatorSupportBase):
    """Support for a set of operations with given dtypes. Nodes that are not calls are always supported.

    Args:
        support_dict: maps the name of a target, as returned by `get_node_target`, to None for all dtypes, or to a list of
            dtypes for each positional argument and a dictionary of dtypes for keyword arguments. None accepts all dtypes.

    >>> from flambeau.fx.passes.operator_support import OperatorSupport
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> support = OperatorSupport({"torch.relu": None})
    >>> [support.is_node_supported({}, node) for node in traced.graph.nodes]
    [True, True, True]
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool:
        """Whether a node is supported; see `OperatorSupportBase`."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        positional, keywords = self._support_dict[target] or ((), {})
        pairs = [*zip(node.args, positional, strict=False), *((node.kwargs.get(key), keywords[key]) for key in keywords)]
        return all(dtypes is None or not isinstance(value, Node) or _dtype(value) in dtypes for value, dtypes in pairs)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Return an `OperatorSupportBase` that calls a function of the modules and the node."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, nn.Module], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an `OperatorSupportBase` for the nodes that all of the given ones support."""
    return create_op_support(lambda modules, node: all(each.is_node_supported(modules, node) for each in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an `OperatorSupportBase` for the nodes that any of the given ones supports."""
    return create_op_support(lambda modules, node: any(each.is_node_supported(modules, node) for each in op_support))


class OpSupports:
    """Conditions to combine with `chain`."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """Return an `OperatorSupportBase` for nodes without arguments of a dtype."""
        return create_op_support(lambda modules, node: all(_dtype(source) != dtype for source in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Return an `OperatorSupportBase` for nodes whose names are not in a set."""
        return create_op_support(lambda modules, node: node.name not in disallow_set)


def _dtype(node: Node) -> Any:
    """Return the dtype of a tensor, or the type of another value, that `ShapeProp` has recorded."""
    return getattr(node.meta.get("tensor_meta"), "dtype", None) or node.meta["type"]

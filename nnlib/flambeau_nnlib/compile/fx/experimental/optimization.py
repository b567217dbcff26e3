"""`torch.fx.experimental.optimization`: optimize modules for inference."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from flambeau import nn

from ....nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..graph_module import GraphModule, symbolic_trace
from ..node import Node

__all__ = ["fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_FUSED: dict[tuple[type, type], Callable[[Any, Any], nn.Module]] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn_eval,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn_eval,
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval,
}


def matches_module_pattern(pattern: Any, node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node calls a module of the second class on the output of a module of the first class.

    >>> from flambeau.fx.experimental.optimization import matches_module_pattern
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU()))
    >>> last = list(traced.graph.nodes)[2]
    >>> matches_module_pattern((torch.nn.Linear, torch.nn.ReLU), last, dict(traced.named_modules()))
    True
    """
    if not node.args:
        return False
    for expected, current in zip(pattern, (node.args[0], node), strict=True):
        if not isinstance(current, Node) or current.op != "call_module" or current.target not in modules:
            return False
        if type(modules[str(current.target)]) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Replace the module that a node calls.

    >>> from flambeau.fx.experimental.optimization import replace_node_module
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> replace_node_module(list(traced.graph.nodes)[1], dict(traced.named_modules()), torch.nn.Tanh())
    >>> traced(torch.tensor([-100.0])).item()
    -1.0
    """
    parent, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Fuse batch normalization into preceding convolutions and linear layers, for inference.

    Args:
        model: a module in evaluation mode.
        inplace: modify the module's layers, rather than a copy.
        no_trace: the module is already a `GraphModule`.

    Example:
        >>> from flambeau.fx.experimental.optimization import fuse
        >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).eval()
        >>> [str(node.target) for node in fuse(net).graph.nodes if node.op == "call_module"]
        ['0']
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for pattern, fused in _FUSED.items():
        for node in list(graph.nodes):
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if norm.track_running_stats:
                replace_node_module(node.args[0], modules, fused(layer, norm))
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """Trace a module and remove its dropout layers.

    >>> from flambeau.fx.experimental.optimization import remove_dropout
    >>> remove_dropout(torch.nn.Sequential(torch.nn.Dropout(0.9)))(torch.ones(2))
    tensor([1., 1.])
    """
    traced: GraphModule = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op == "call_module" and isinstance(modules[str(node.target)], nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.recompile()
    return traced

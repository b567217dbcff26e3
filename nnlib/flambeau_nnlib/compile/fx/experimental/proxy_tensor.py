"""`torch.fx.experimental.proxy_tensor`: `make_fx`, which traces functions to graphs of operators, and `get_proxy_mode`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.utils import pytree

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """Return None: flambeau records graphs (`torch.export`, `torch.compile`) without proxy tensors.

    >>> from flambeau.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """


def make_fx(f: Callable[..., Any], tracing_mode: str = "real") -> Callable[..., GraphModule]:
    """Return a function that traces `f` on example arguments to a graph of the operators that `f` calls.

    Numbers and Python control flow are specialized to the examples. If `f` was wrapped by `torch.func.functionalize`, the
    graph has no in-place operators, and copies the new values of mutated arguments to them at its end. With
    `remove="mutations_and_views"`, views become copies.

    Args:
        f: a function of tensors, or of nested containers of tensors.
        tracing_mode: `"real"`, `"fake"` or `"symbolic"`. All of them trace with the sizes of the examples.

    Raises:
        ValueError: `tracing_mode` is invalid.

    Example:
        >>> from flambeau.func import functionalize
        >>> from flambeau.fx.experimental.proxy_tensor import make_fx
        >>> traced = make_fx(functionalize(lambda x: x.sin().mul_(2)))(torch.ones(2))
        >>> [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
        ['aten.sin.default', 'aten.mul.Tensor']
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise ValueError(f"Unexpected tracing type: {tracing_mode}")

    def trace(*args: Any) -> GraphModule:
        from ...export._decomposing import remove_unused  # imported here, because export imports this package
        from ...export._functionalizing import functionalize
        from ...export._sizes import SizeGuards
        from ...export._tracing import Recording

        leaves, spec = pytree.tree_flatten(args)
        root, graph = nn.Module(), Graph()
        recording = Recording(graph, root, SizeGuards({}), None)
        copies = [
            leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, Tensor) else leaf for leaf in leaves
        ]
        for name, copied in zip(_names(f, args, len(leaves)), copies, strict=True):
            node = graph.placeholder(name)
            node.meta["is_user_input"] = True
            if isinstance(copied, Tensor):
                recording.set_node(copied, node)
        with recording:
            result = f(*pytree.tree_unflatten(copies, spec))
        graph.output(pytree.tree_map(recording.node_of, result))
        _register_constants(root, graph, recording.constants, recording.constant_nodes)
        removes = getattr(f, "__functionalize__", None)
        if removes is not None:
            graph, written = functionalize(graph)
            with graph.inserting_before(graph.output_node()):
                for argument, value in written:
                    if argument.op == "placeholder":
                        graph.call_function(torch.ops.aten.copy_.default, (argument, value))
            if removes == "mutations_and_views":
                _copy_views(graph)
        remove_unused(graph)
        graph.output_node().type = getattr(f, "__annotations__", {}).get("return")
        return GraphModule(root, graph)

    return trace


def _names(f: Callable[..., Any], args: Any, count: int) -> list[str]:
    """Return names for the placeholders: the names of the parameters of `f`, unless an argument contains several tensors."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    if len(args) != count or len(names) < count:
        names = [f"arg{position}" for position in range(count)]
    return [f"{name}_1" for name in names[:count]]


def _register_constants(root: nn.Module, graph: Graph, constants: dict[str, Tensor], nodes: dict[str, Node]) -> None:
    """Turn tensors that are not arguments of the function into attributes of the module."""
    for number, (name, tensor) in enumerate(constants.items()):
        setattr(root, f"_tensor_constant{number}", tensor)
        with graph.inserting_before(nodes[name]):
            attribute = graph.get_attr(f"_tensor_constant{number}")
        attribute.meta.update(nodes[name].meta)
        nodes[name].replace_all_uses_with(attribute)
        graph.erase_node(nodes[name])
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for node in [node for node in graph.nodes if node.op == "placeholder"]:  # in the order of the arguments
        first.prepend(node)


def _copy_views(graph: Graph) -> None:
    """Replace each view by the operator that copies it, such as `transpose_copy`; without one, insert a `clone`."""
    from ...export._functionalizing import is_view

    for node in list(graph.nodes):
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        if not is_view(node, name):
            continue
        copying = getattr(getattr(torch.ops.aten, f"{name}_copy", None), getattr(node.target, "_overloadname", ""), None)
        with graph.inserting_after(node):
            if copying is None:
                copied = graph.call_function(torch.ops.aten.clone.default, (node,))
            else:
                copied = graph.create_node("call_function", copying, node.args, node.kwargs, f"{name}_copy")
        node.replace_all_uses_with(copied, delete_user_cb=lambda user, copied=copied: user is not copied)  # type: ignore[misc]  # as a default
        copied.meta["val"] = node.meta.get("val")
        if copying is not None:
            graph.erase_node(node)


def disable_proxy_modes_tracing() -> AbstractContextManager[None]:
    """Return a context that has no effect, because there are no proxy modes."""
    return nullcontext()

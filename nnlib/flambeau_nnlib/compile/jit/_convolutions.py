"""Change traced graphs as PyTorch does: convolutions become `aten::_convolution`, and unused results are removed."""

from __future__ import annotations

import re
from typing import Any

from flambeau.extension.schemas import namespace_of, schemas

from ._graph import Graph, Node, Type, Value

__all__ = ["merge_convolutions", "without_unused"]

_OWN = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_TRANSPOSED = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
_OF_ALL = ("input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups")
_DEFAULTS: dict[str, Any] = {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "output_padding": 0, "groups": 1}
_LISTS = ("stride", "padding", "dilation", "output_padding")
_SETTINGS = (False, False, True, True)  # the last arguments: benchmark, deterministic, cudnn_enabled, allow_tf32


def merge_convolutions(graph: Graph) -> Graph:
    """Replace `aten::conv2d` etc. by `aten::_convolution` in place, except with string padding such as `"same"`."""
    nodes, graph._nodes = graph._nodes, []
    for node in nodes:
        found = re.fullmatch(r"aten::conv(_transpose)?([123])d", node.kind())
        if found:
            _replace(graph, node, transposed=bool(found[1]), dims=int(found[2]))
        graph.add(node)
    return graph


_PURE = frozenset({"prim::Constant", "prim::GetAttr", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct"})


def without_unused(graph: Graph) -> Graph:
    """Remove operators that change no tensor and whose results are not used, in place."""
    returned = {id(value) for value in graph.outputs()}
    kept: list[Node] = []
    for node in reversed(graph._nodes):
        if _is_pure(node) and not node.hasUses() and returned.isdisjoint(map(id, node.outputs())):
            for value in node.inputs():
                value._uses = [use for use in value._uses if use.user is not node]
        else:
            kept.append(node)
    graph._nodes = kept[::-1]
    return graph


def _is_pure(node: Node) -> bool:
    """Whether a node changes nothing, according to the schemas of its operator."""
    namespace, _, operator = node.kind().partition("::")
    if namespace != "aten" or namespace_of(operator) != "aten":
        return node.kind() in _PURE
    known = schemas(operator)
    return bool(known) and not any(argument.writes for schema in known for argument in schema.arguments)


def _replace(graph: Graph, node: Node, transposed: bool, dims: int) -> None:
    given = dict(zip(_TRANSPOSED if transposed else _OWN, node.inputs(), strict=False))
    if "padding" in given and isinstance(given["padding"].toIValue(), str):
        return

    def constant(value: Any, text: str) -> Value:
        return graph.add(Node("prim::Constant", [], {"value": value})).add_output(graph.named(), Type(text))

    def argument(name: str) -> Value:
        if name in given:
            return given[name]
        if name == "transposed":
            return constant(transposed, "bool")
        value = _DEFAULTS[name]
        if name in _LISTS:
            return constant([value] * dims, "int[]")
        return constant(value, "NoneType" if value is None else "int")

    arguments = [argument(name) for name in _OF_ALL] + [constant(setting, "bool") for setting in _SETTINGS]
    for value in node.inputs():
        value._uses = [use for use in value._uses if use.user is not node]
    node._kind, node._inputs = "aten::_convolution", []
    for value in arguments:
        node.add_input(value)

"""Draw graphs of programs (`torch.fx`, `torch.export`) and autograd graphs.

Graphs are written in Graphviz's language and drawn by its program `dot`; if that is not installed, by `drawing.draw`.

>>> from flambeau.utils.pictures import picture
>>> x = torch.ones(2, requires_grad=True)
>>> print(picture((x * 2).sum(), {"x": x}).source)
digraph {
    node [shape=box, style="filled,rounded", fillcolor=white, fontname="monospace", fontsize=10]
    n0 [label="SumBackward0", fillcolor=lightgrey]
    n1 [label="MulBackward0", fillcolor=lightgrey]
    n2 [label="x\\nfloat32[2]", fillcolor=lightblue]
    n1 -> n0
    n2 -> n1
}
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..engine.tensors.tensor import Tensor
from .drawing import draw

__all__ = ["Picture", "picture"]

_COLOURS = {
    "placeholder": "lightblue", "get_attr": "lightgoldenrod", "call_module": "palegreen", "call_function": "white",
    "call_method": "white", "output": "salmon", "node": "lightgrey", "leaf": "lightblue",
}  # fmt: skip


class Picture:
    """A graph in Graphviz's language, which notebooks display as an image.

    Args:
        nodes: {key: (label, kind)}.
        edges: pairs (start key, end key).
    """

    def __init__(self, nodes: Mapping[Any, tuple[str, str]], edges: Iterable[tuple[Any, Any]]) -> None:
        self._nodes, self._edges = dict(nodes), list(edges)
        numbers = {key: f"n{number}" for number, key in enumerate(nodes)}
        lines = ['    node [shape=box, style="filled,rounded", fillcolor=white, fontname="monospace", fontsize=10]']
        for key, (label, kind) in nodes.items():
            colour = _COLOURS.get(kind, "white")
            lines.append(f"    {numbers[key]} [label={_quote(label)}{'' if colour == 'white' else f', fillcolor={colour}'}]")
        lines += [f"    {numbers[start]} -> {numbers[end]}" for start, end in self._edges]
        self.source: str = "\n".join(["digraph {", *lines, "}"])

    def svg(self) -> str:
        """Return the graph as SVG text.

        Raises:
            RuntimeError: Graphviz's program `dot` is installed and fails.
        """
        program = shutil.which("dot")
        if program is None:
            return draw(self._nodes, self._edges, _COLOURS)
        done = subprocess.run([program, "-Tsvg"], input=self.source, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"dot: {done.stderr.strip()}")
        return done.stdout

    def save(self, path: str | Path) -> None:
        """Write the graph to a file: as SVG if its name ends in ".svg", else in Graphviz's language.

        Args:
            path: the path of the file.
        """
        Path(path).write_text(self.svg() if str(path).endswith(".svg") else self.source + "\n", encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.source


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def picture(thing: Any, names: Mapping[str, Tensor] | None = None) -> Picture:
    """Draw the graph of a program, or the autograd graph of a tensor.

    Args:
        thing: a graph of `torch.fx`, a module or exported program with such a graph, or one or several tensors.
        names: {name: leaf tensor}, such as `dict(model.named_parameters())`.

    Raises:
        TypeError: `thing` is of another type.

    >>> from flambeau.utils.pictures import picture
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> [line.strip() for line in picture(program).source.splitlines() if "->" in line]
    ['n0 -> n1', 'n1 -> n2']
    """
    graph = getattr(thing, "graph", thing)
    if hasattr(graph, "nodes"):
        return _program_picture(graph)
    tensors = [thing] if isinstance(thing, Tensor) else list(thing) if isinstance(thing, (list, tuple)) else []
    if not tensors or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise TypeError(f"picture: expected a graph, an object with a `graph`, or tensors, but got {type(thing).__name__}")
    return _autograd_picture(tensors, names or {})


def _program_picture(graph: Any) -> Picture:
    nodes, edges = {}, []
    for node in graph.nodes:
        target = str(node.target) if node.op != "call_function" else _function_name(node.target)
        label = node.name if target in (node.name, "output") else f"{node.name}\n{target}"
        known = node.meta.get("val", node.meta.get("tensor_meta"))
        if hasattr(known, "dtype") and hasattr(known, "shape"):
            label += f"\n{_type_text(known.dtype, known.shape)}"
        nodes[node.name] = (label, node.op)
        edges += [(used.name, node.name) for used in node.all_input_nodes]
    return Picture(nodes, edges)


def _function_name(target: Any) -> str:
    text = str(target)
    return getattr(target, "__name__", text) if text.startswith("<") else text


def _type_text(dtype: Any, shape: Any) -> str:
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


def _autograd_picture(tensors: list[Tensor], names: Mapping[str, Tensor]) -> Picture:
    by_identity = {id(tensor): name for name, tensor in names.items()}
    nodes: dict[Any, tuple[str, str]] = {}
    edges: list[tuple[Any, Any]] = []

    def add_leaf(tensor: Tensor) -> Any:
        label = _type_text(tensor.dtype, tensor.shape)
        name = by_identity.get(id(tensor))
        nodes[id(tensor)] = (label if name is None else f"{name}\n{label}", "leaf")
        return id(tensor)

    waiting: list[Any] = []
    for tensor in tensors:
        if tensor.grad_fn is None:
            add_leaf(tensor)
        else:
            waiting.append(tensor.grad_fn)
    while waiting:
        node = waiting.pop(0)
        if node in nodes:
            continue
        nodes[node] = (node.name(), "node")
        for following, _ in node.next_functions:
            if following is None:
                continue
            variable = getattr(following, "variable", None)
            if variable is None:
                waiting.append(following)
                edges.append((following, node))
            else:
                edges.append((add_leaf(variable), node))
    return Picture(nodes, edges)

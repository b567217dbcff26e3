"""Draw directed acyclic graphs as SVG, for machines without Graphviz.

Nodes are in layers from top to bottom: each node is below its predecessors, and horizontally as close to them as possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from html import escape
from itertools import pairwise

__all__ = ["draw"]

_CHARACTER, _LINE, _PADDING = 6.4, 13.0, 8.0  # in pixels, at font size 10.5: character width, line height, box margin
_NODE_GAP, _LAYER_GAP = 16.0, 30.0  # pixels between nodes of a layer, and between layers

_ARROW_HEAD = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#808080"/></marker></defs>'
)


def draw(
    nodes: Mapping[Hashable, tuple[str, str]], edges: Sequence[tuple[Hashable, Hashable]], colours: Mapping[str, str]
) -> str:
    """Return the SVG text of a directed acyclic graph.

    Args:
        nodes: {key: (label, kind)}.
        edges: pairs (start key, end key).
        colours: {kind: colour}; other kinds are white.

    >>> from flambeau.utils.drawing import draw
    >>> draw({1: ("a", ""), 2: ("b", "")}, [(1, 2)], {}).count("<rect")
    2
    """
    edges = list(dict.fromkeys(edges))
    layers = _layers(list(nodes), edges)
    sizes = {key: _size(label) for key, (label, _) in nodes.items()}
    paths = _edge_paths(layers, edges, sizes)
    centres = _node_centres(layers, [pair for path in paths for pair in pairwise(path)], sizes)
    width = max(x + sizes[key][0] / 2 for key, (x, _) in centres.items()) + _PADDING
    height = max(y + sizes[key][1] / 2 for key, (_, y) in centres.items()) + _PADDING
    parts = [_edge([centres[key] for key in path], sizes[path[0]][1], sizes[path[-1]][1]) for path in paths]
    parts += [_node(centres[key], sizes[key], label, colours.get(kind, "white")) for key, (label, kind) in nodes.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:100%;height:auto" font-family="monospace" font-size="10.5">\n'
        + "\n".join([_ARROW_HEAD, *parts, "</svg>\n"])
    )


def _layers(keys: list[Hashable], edges: Sequence[tuple[Hashable, Hashable]]) -> list[list[Hashable]]:
    """Group the nodes by the length of the longest path to them; a node without inputs is placed just above its first user."""
    following: dict[Hashable, list[Hashable]] = {key: [] for key in keys}
    waiting = dict.fromkeys(keys, 0)
    for start, end in edges:
        following[start].append(end)
        waiting[end] += 1
    depth = dict.fromkeys(keys, 0)
    ready, order = [key for key in keys if not waiting[key]], []
    for key in ready:
        order.append(key)
        for end in following[key]:
            depth[end] = max(depth[end], depth[key] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    entered = {end for _, end in edges}
    for key in reversed(order):
        if key not in entered and following[key]:
            depth[key] = min(depth[end] for end in following[key]) - 1
    layers: list[list[Hashable]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for key in order:
        layers[depth[key]].append(key)
    return layers


def _edge_paths(
    layers: list[list[Hashable]], edges: Sequence[tuple[Hashable, Hashable]], sizes: dict[Hashable, tuple[float, float]]
) -> list[list[Hashable]]:
    """Return the path of each edge: start, one invisible node in each layer in between, and end.

    The invisible nodes are added to `layers` and `sizes`.
    """
    depth = {key: number for number, layer in enumerate(layers) for key in layer}
    paths = []
    for start, end in edges:
        between = [("through", start, end, number) for number in range(depth[start] + 1, depth[end])]
        for place in between:
            layers[place[-1]].append(place)
            sizes[place] = (0.0, 0.0)
        paths.append([start, *between, end])
    return paths


def _size(label: str) -> tuple[float, float]:
    lines = label.split("\n")
    return max(len(line) for line in lines) * _CHARACTER + 2 * _PADDING, len(lines) * _LINE + _PADDING


def _node_centres(
    layers: list[list[Hashable]], edges: Sequence[tuple[Hashable, Hashable]], sizes: Mapping[Hashable, tuple[float, float]]
) -> dict[Hashable, tuple[float, float]]:
    """Return the centre (x, y) of each node.

    Each layer is sorted by the mean x of its nodes' neighbours, in alternating passes downwards and upwards.
    """
    above: dict[Hashable, list[Hashable]] = {}
    below: dict[Hashable, list[Hashable]] = {}
    for start, end in edges:
        above.setdefault(end, []).append(start)
        below.setdefault(start, []).append(end)
    across: dict[Hashable, float] = {}
    for layer in layers:
        _place_layer(layer, dict.fromkeys(layer, 0.0), sizes, across)
    for turn in range(8):
        neighbours = above if turn % 2 == 0 else below
        for layer in layers if turn % 2 == 0 else reversed(layers):
            wanted = {
                key: sum(across[other] for other in neighbours[key]) / len(neighbours[key]) if key in neighbours else across[key]
                for key in layer
            }
            layer.sort(key=wanted.__getitem__)
            _place_layer(layer, wanted, sizes, across)
    left = min(across[key] - sizes[key][0] / 2 for key in across) - _PADDING
    centres, top = {}, _PADDING
    for layer in layers:
        height = max(sizes[key][1] for key in layer)
        centres.update({key: (across[key] - left, top + height / 2) for key in layer})
        top += height + _LAYER_GAP
    return centres


def _place_layer(
    layer: list[Hashable],
    wanted: Mapping[Hashable, float],
    sizes: Mapping[Hashable, tuple[float, float]],
    across: dict[Hashable, float],
) -> None:
    """Set `across[node]` to the x of each node in a layer.  Nodes are shifted from their wanted x so that they do not overlap."""
    right = float("-inf")
    for key in layer:
        half = sizes[key][0] / 2
        across[key] = max(wanted[key], right + _NODE_GAP + half)
        right = across[key] + half
    excess = sum(across[key] - wanted[key] for key in layer) / max(1, len(layer))
    for key in layer:  # shift the layer so that the mean difference from the wanted x is 0
        across[key] -= excess


def _edge(centres: Sequence[tuple[float, float]], start_height: float, end_height: float) -> str:
    points = list(centres)
    points[0] = points[0][0], points[0][1] + start_height / 2
    points[-1] = points[-1][0], points[-1][1] - end_height / 2 - 1
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        path += f"C{x1:.0f} {(y1 + y2) / 2:.0f} {x2:.0f} {(y1 + y2) / 2:.0f} {x2:.0f} {y2:.0f}"
    return f'<path d="{path}" fill="none" stroke="#808080" marker-end="url(#tip)"/>'


def _node(centre: tuple[float, float], size: tuple[float, float], label: str, colour: str) -> str:
    (x, y), (width, height) = centre, size
    lines = label.split("\n")
    first = y - (len(lines) - 1) * _LINE / 2 + 3.5
    text = "".join(
        f'<tspan x="{x:.0f}" y="{first + number * _LINE:.1f}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return (
        f'<rect x="{x - width / 2:.0f}" y="{y - height / 2:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" '
        f'fill="{colour}" stroke="#808080"/><text text-anchor="middle" fill="black">{text}</text>'
    )

"""SVG pictures of autograd graphs."""

from __future__ import annotations

import re
import shutil
from xml.etree import ElementTree

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.utils.pictures import picture


def lines(drawn, what):
    return [line.strip() for line in drawn.source.splitlines() if what in line]


def test_a_program():
    program = torch.export.export(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (torch.ones(4, 3),))
    drawn = picture(program)
    assert lines(drawn, "aten.linear.default") == ['n3 [label="linear\\naten.linear.default\\nfloat32[4, 2]"]']
    assert set(lines(drawn, "->")) == {"n0 -> n3", "n1 -> n3", "n2 -> n3", "n3 -> n4", "n4 -> n5"}
    assert picture(program.graph).source == picture(program.graph_module).source == drawn.source


def test_a_traced_module():
    from flambeau.fx.passes.graph_drawer import FxGraphDrawer

    traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    drawn = FxGraphDrawer(traced, "net").get_dot_graph()
    assert len(lines(drawn, "palegreen")) == 2 and len(lines(drawn, "->")) == 3


def test_a_history():
    layer = nn.Linear(3, 2)
    x = torch.ones(4, 3)
    loss = (layer(x) ** 2).mean()
    drawn = picture(loss, dict(layer.named_parameters()))
    assert lines(drawn, "weight") and lines(drawn, "bias") and lines(drawn, "MeanBackward0")
    shared = torch.ones(2, requires_grad=True)
    assert len(lines(picture([shared * 2, shared * 3]), "->")) == 2
    assert len(lines(picture(shared), "label")) == 1


def test_names_are_quoted():
    x = torch.ones(1, requires_grad=True)
    assert lines(picture(x, {'a"b\\': x}), 'a\\"b\\\\')


def test_what_has_no_graph():
    for thing in (3, [], [1], "text"):
        with pytest.raises(TypeError, match="expected a graph"):
            picture(thing)


def test_files(tmp_path):
    drawn = picture(torch.ones(1, requires_grad=True) * 2)
    drawn.save(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph {")
    drawn.save(tmp_path / "graph.svg")
    assert "<svg" in (tmp_path / "graph.svg").read_text() and "<svg" in drawn._repr_svg_()


def test_drawn_without_graphviz(monkeypatch):
    """Boxes do not overlap, are large enough for their labels, and are placed below the boxes of their inputs."""
    monkeypatch.setattr(shutil, "which", lambda program: None)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    drawn = picture(net(torch.ones(1, 3)).sum() + net[0].weight.sum(), dict(net.named_parameters()))
    root = ElementTree.fromstring(drawn.svg())
    space = "{http://www.w3.org/2000/svg}"
    boxes = [[float(box.get(name)) for name in ("x", "y", "width", "height")] for box in root.iter(f"{space}rect")]
    words = ["\n".join(line.text for line in text) for text in root.iter(f"{space}text")]
    width, height = float(root.get("width")), float(root.get("height"))
    assert "AddBackward0" in words and "0.weight\nfloat32[4, 3]" in words and len(words) == len(boxes)
    for number, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
        for x2, y2, w2, h2 in boxes[:number]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    tops = {f"n{number}": box[1] for number, box in enumerate(boxes)}
    edges = re.findall(r"(n\d+) -> (n\d+)", drawn.source)
    assert edges and all(tops[start] < tops[end] for start, end in edges)

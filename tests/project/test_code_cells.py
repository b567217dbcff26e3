"""Code cells of the site, as the browser runs them: `docs/site/cells.py`, and the examples of the playground."""

from __future__ import annotations

import asyncio
import base64
import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLAYGROUND = sorted((ROOT / "docs/site/playground").glob("*.py"))


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    return importlib.import_module("cells")


def run(cells: Any, source: str, namespace: dict[str, Any] | None = None) -> tuple[bool, list[tuple[str, str]]]:
    """Run a cell.  Return whether it passed, and its outputs; consecutive texts are joined."""
    sent: list[tuple[str, str]] = []

    def send(kind: str, content: str) -> None:
        if sent and kind == sent[-1][0] == "text":
            content = sent.pop()[1] + content
        sent.append((kind, content))

    return asyncio.run(cells.run(source, "block 1", {} if namespace is None else namespace, send)), sent


@pytest.mark.parametrize(
    "source, printed",
    [
        ("x = 1\nprint(x)\nx + 1", "1\n2\n"),
        ("1 + 1;", ""),
        ("None", ""),
        ("import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'\n"),
        ("import sys\nprint('a', file=sys.stderr)", "a\n"),
    ],
)
def test_printed_text_and_last_value(cells: Any, source: str, printed: str) -> None:
    assert run(cells, source) == (True, [("text", printed)] if printed else [])


def test_cells_share_variables(cells: Any) -> None:
    namespace: dict[str, Any] = {}
    run(cells, "x = 3", namespace)
    assert run(cells, "x", namespace) == (True, [("text", "3\n")])


def test_values_with_html_and_pictures(cells: Any) -> None:
    html = "class Table:\n    def _repr_html_(self): return '<table>'\nprint('a')\nTable()"
    assert run(cells, html) == (True, [("text", "a\n"), ("html", "<table>")])
    graph = (
        "import flambeau as torch\nfrom flambeau.utils.pictures import picture\npicture(torch.ones(1, requires_grad=True) + 1)"
    )
    passed, ((kind, content),) = run(cells, graph)
    assert passed and kind == "svg" and b"<svg" in base64.b64decode(content)


def test_exceptions(cells: Any) -> None:
    """Tracebacks begin in the cell and show its source.  Earlier output is sent first."""
    passed, sent = run(cells, "print('a')\ndef f():\n    raise ValueError('b')\nf()")
    assert not passed and sent[0] == ("text", "a\n") and sent[1][0] == "error"
    traceback = sent[1][1]
    assert traceback.startswith('Traceback (most recent call last):\n  File "block 1", line 4, in <module>\n    f()\n')
    assert traceback.endswith("    raise ValueError('b')\nValueError: b\n") and "cells.py" not in traceback
    assert not run(cells, "raise SystemExit")[0]
    assert "SyntaxError" in run(cells, "x =")[1][0][1]


def test_figures_are_sent(cells: Any) -> None:
    pytest.importorskip("matplotlib")
    passed, sent = run(cells, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert passed and [kind for kind, _ in sent] == ["svg"]


@pytest.mark.parametrize("path", PLAYGROUND, ids=[path.stem for path in PLAYGROUND])
def test_examples_of_the_playground(cells: Any, path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.startswith('"""') and source.partition("\n")[0].endswith('."""'), "the first line is the example's name"
    if "matplotlib" in source:
        pytest.importorskip("matplotlib")
    passed, sent = run(cells, source, {"__name__": "__main__"})
    assert passed and sent, sent

"""The recipes of docs/start/cookbook.md run, and pages of examples and formulas cover what they name."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import flambeau as torch

ROOT = Path(__file__).parents[2]


def test_recipes() -> None:
    text = (ROOT / "docs/start/cookbook.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {"__name__": "cookbook"}
    cells = re.findall(r"^```python(.*?)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(cells) >= 15
    for options, code in cells:
        with warnings.catch_warnings(action="ignore"):  # of anomaly detection
            if "raises-exception" in options:
                with pytest.raises(RuntimeError, match="returned nan values"):
                    exec(code, scope)
            else:
                exec(code, scope)


def test_formulas_are_of_public_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """MathML is checked where latex2mathml is installed; the site is built with it."""
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import formulas

    for name in formulas.FORMULAS:
        found: object = torch
        short = name.removeprefix("nn.functional.")
        for part in name.split("."):
            found = getattr(found, part, None)
        assert found is not None or hasattr(torch.nn.functional, short), name
        assert not find_spec("latex2mathml") or "<math" in formulas.formula(name)


def test_gallery_has_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    import gallery

    written = gallery.write(run=False)
    assert len(written.pages) == len(gallery.GALLERY) + 1
    assert "```python" in written.pages["examples/digits.md"] and "(digits.md)" in written.pages["examples/index.md"]

"""Each example on the page of common errors raises the error whose message it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

PAGE = (Path(__file__).parents[2] / "docs/start/errors.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| `(.+?)` \| ", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("message", "code"), ROWS, ids=[message[:40] for message, _ in ROWS])
def test_example_raises(message: str, code: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError), match=re.escape(message)):
        eval(code, {"torch": torch, "nn": nn, "F": F})


def test_the_page_has_the_rows_that_it_promises() -> None:
    assert len(ROWS) >= 30

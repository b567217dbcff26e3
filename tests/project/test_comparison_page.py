"""Each pair of expressions in the table for users of NumPy gives equal values, and all code of the page names what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch

PAGE = (Path(__file__).parents[2] / "docs/start/from-others.md").read_text(encoding="utf-8")
NUMPY = PAGE.split("## NumPy")[1].split("## JAX")[0]
PAIRS = [
    (numpy_code, torch_code)
    for left, right in re.findall(r"^\| (`.+`) \| (.+) \|$", NUMPY, re.MULTILINE)
    for numpy_code, torch_code in [(re.findall("`(.+?)`", left)[0], re.findall("`(.+?)`", right)[0])]
    if "random" not in left
]


@pytest.mark.parametrize(("numpy_code", "torch_code"), PAIRS)
def test_pairs_are_equal(numpy_code: str, torch_code: str) -> None:
    a = np.arange(6.0).reshape(2, 3)
    i = np.array([[0, 2], [1, 1]])
    expected = eval(numpy_code, {"np": np, "a": a, "x": torch.tensor(a), "i": i})
    found = eval(torch_code, {"torch": torch, "a": a, "x": torch.tensor(a), "i": torch.tensor(i)})
    np.testing.assert_allclose(np.asarray(found), expected)
    assert tuple(np.shape(found)) == np.shape(expected)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:torch|nn)\.[\w.]+)", PAGE))))
def test_names_exist(name: str) -> None:
    found = torch if name.startswith("torch.") else torch.nn
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    assert found is not None


def test_code_of_the_page_runs() -> None:
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(ast.parse(code), "from-others.md", "exec"), {})

"""The notebook for JupyterLite has the cells of its page, and the page on sandboxes shows code that runs."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from run_program import run_program

import flambeau as torch

ROOT = Path(__file__).parents[2]


def test_jupyterlite_notebook_has_the_cells_of_its_page() -> None:
    page = (ROOT / "docs/learn/autograd.md").read_text(encoding="utf-8")
    notebook = json.loads((ROOT / "examples/jupyterlite/files/autograd.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells[0] == "%pip install -q flambeau"
    blocks = re.findall(r"^```python[^\n]*\n(.*?)\n```$", page, re.DOTALL | re.MULTILINE)
    assert [ast.dump(ast.parse(cell)) for cell in cells[1:]] == [ast.dump(ast.parse(block)) for block in blocks]


def test_program_of_the_sandbox_page_keeps_only_tensors(tmp_path: Path) -> None:
    page = (ROOT / "docs/sandbox.md").read_text(encoding="utf-8")
    program = re.search(r'^```py title="input/convert.py"\n(.*?)^```$', page, re.DOTALL | re.MULTILINE)
    assert program is not None
    (tmp_path / "convert.py").write_text(program[1], encoding="utf-8")
    net = torch.nn.Linear(2, 3)
    torch.save(net, tmp_path / "net.pt")
    torch.save({"weight": net.weight.detach(), "other": re.compile("a")}, tmp_path / "dict.pt")
    for source, names in (("net.pt", {"weight", "bias"}), ("dict.pt", {"weight"})):
        run_program(tmp_path / "convert.py", source, "weights.pt", folder=tmp_path)
        loaded = torch.load(tmp_path / "weights.pt")
        assert loaded.keys() == names
        torch.testing.assert_close(loaded["weight"], net.weight.detach())
    with pytest.raises(Exception, match="weights_only"):
        torch.load(tmp_path / "net.pt")

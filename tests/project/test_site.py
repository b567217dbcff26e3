"""Code on the pages in docs/inside runs, and files named on the pages exist."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in ("start", "learn", "inside", "project") for path in (ROOT / "docs" / folder).glob("*.md"))


@pytest.mark.parametrize("name", ["autograd", "views", "random"])
def test_code_of_inside_pages(name: str) -> None:
    """Run the code of a page. The code asserts what the text claims."""
    text = (ROOT / "docs/inside" / f"{name}.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    cells = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert any("assert" in cell for cell in cells)
    for cell in cells:
        exec(compile(cell, f"{name}.md", "exec"), scope)


def test_files_that_pages_name_exist() -> None:
    folders = "core", "backends", "nnlib", "vision", "plugins", "docs", "tests", "examples", "benchmarks"
    files = [path.as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py*")]
    own = {"train.py", "net.py", "FILE.py", "prog.py", "conftest.py"}
    missing = [
        f"{page.name}: {named}"
        for page in PAGES
        for named in re.findall(r"`((?:[\w-]+/)*[\w-]+\.pyi?)`", page.read_text(encoding="utf-8"))
        if named not in own and not any(path.endswith(f"/{named}") for path in files)
    ]
    assert not missing


ROOTS = [ROOT, ROOT / "core" / "flambeau", ROOT / "nnlib" / "flambeau_nnlib"]
OF_PLUGINS = {"tests/exceptions.txt", "tests/test_conformance.py"}  # these exist only in a plugin's repository


def test_paths_in_documents_exist() -> None:
    folder = "core|backends|nnlib|vision|plugins|tests|benchmarks|examples|engine|operations|transforms|layouts|compat|compile"
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    missing = [
        f"{document.relative_to(ROOT)}: {named}"
        for document in documents
        for named in re.findall(rf"(?<![\w/.-])((?:{folder})/[\w./-]*[\w/])(?![\w*])", document.read_text(encoding="utf-8"))
        if named not in OF_PLUGINS and not any((root / named).exists() for root in ROOTS)
    ]
    assert len(documents) > 40 and not missing


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in [*PAGES, *(ROOT / "docs").glob("*.md")]]
    assert [page for page in pages if f" {page}\n" not in listed] == []


def test_every_environment_variable_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    text = importlib.import_module("programs").environment()
    assert "`FLAMBEAU_BACKEND`\n:   " in text


def test_versions_of_a_release_agree() -> None:
    subprocess.run([sys.executable, ROOT / "plugins/release.py", "--check"], check=True)

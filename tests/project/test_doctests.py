"""Run the examples of docstrings and documentation pages and compare their output.

Examples in docstrings assume ``import flambeau as torch`` and ``import flambeau.nn.functional as F``, as PyTorch's do.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import flambeau

pytestmark = pytest.mark.slow

PACKAGES = ("flambeau", "flambeau_backends.numpy", "flambeau_nnlib", "flambeau_vision")
DOCSTRING_NAMES = {"torch": flambeau, "F": flambeau.nn.functional}
NOT_IMPORTED = {"flambeau.__main__"}  # importing `__main__` would run the command line
if find_spec("onnx") is None:
    NOT_IMPORTED |= {f"flambeau_nnlib.compile.onnx.{name}" for name in ("_builder", "_translation", "operators")}


def module_names() -> list[str]:
    names: list[str] = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        names.append(name)
        names += [module.name for module in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return sorted(set(names) - NOT_IMPORTED)


def assert_examples_pass(test: doctest.DocTest) -> None:
    flambeau.manual_seed(0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def examples(module: ModuleType) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=DOCSTRING_NAMES)
    return [example for example in found if example.examples]


@pytest.mark.parametrize("name", module_names())
def test_module(name: str) -> None:
    for example in examples(importlib.import_module(name)):
        assert_examples_pass(example)


NAMES = [
    *flambeau.engine.calls.op.PUBLIC,
    *(f"{space}.{name}" for space in ("fft", "linalg", "special") for name in getattr(flambeau, space).__all__),
]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_operation(name: str) -> None:
    """Test operations separately: they are generated functions, which doctest does not find in modules."""
    doc = attrgetter(name)(flambeau).__doc__ or ""
    assert doc.strip(), f"torch.{name} has no docstring"
    assert_examples_pass(doctest.DocTestParser().get_doctest(doc, dict(DOCSTRING_NAMES), name, None, None))


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "docs").glob("*.md")), ids=lambda path: path.name)
def test_documentation(path: Path) -> None:
    """Run the examples of a page, except code blocks under a line "In `path`:", which are contents of a file."""
    text = re.sub(r"^In `[^`]+`:\n\n```python\n.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert_examples_pass(doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0))

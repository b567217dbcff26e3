"""The examples in docstrings and in the documentation run and print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import flambeau

PACKAGES = ("flambeau", "flambeau_backends.numpy", "flambeau_nnlib", "flambeau_vision")
NOT_IMPORTED = {"flambeau.__main__"}  # running it is what importing it does


def module_names() -> list[str]:
    names: list[str] = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        names.append(name)
        names += [module.name for module in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return sorted(set(names) - NOT_IMPORTED)


def run(test: doctest.DocTest) -> None:
    flambeau.manual_seed(0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [example for example in doctest.DocTestFinder(exclude_empty=True).find(module) if example.examples]


@pytest.mark.parametrize("name", module_names())
def test_module(name: str) -> None:
    for example in examples(importlib.import_module(name)):
        run(example)


@pytest.mark.parametrize("name", sorted(flambeau.calls.op.PUBLIC))
def test_operation(name: str) -> None:
    """Operations are generated functions, which the module search does not see."""
    doc = flambeau.calls.op.PUBLIC[name].__doc__ or ""
    assert doc.strip(), f"torch.{name} has no docstring"
    run(doctest.DocTestParser().get_doctest(doc, {}, name, None, None))


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "docs").glob("*.md")), ids=lambda path: path.name)
def test_documentation(path: Path) -> None:
    run(doctest.DocTestParser().get_doctest(path.read_text(encoding="utf-8"), {}, path.name, str(path), 0))

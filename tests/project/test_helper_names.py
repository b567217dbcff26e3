"""Test helpers that only assert and return nothing are named `assert_...`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "tests", *sorted(ROOT.glob("plugins/*/tests"))]
# programs for other libraries, and modules that replace CuPy and matplotlib
NOT_TESTS = ("tests/ecosystem", "tests/helpers/standins", "tests/site/matplotlib_stand_in")


def nodes_of(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the AST nodes of a function's body, except those of nested functions and classes."""
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)


def asserts(node: ast.AST, helpers: set[str]) -> bool:
    """Whether a node is an assert statement, or calls `pytest.raises`, an `assert_...` function or one of `helpers`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Assert)
    called = ast.unparse(node.func)
    return called == "pytest.raises" or called in helpers or called.rpartition(".")[2].startswith("assert_")


def misnamed(source: str) -> list[str]:
    """Return the helpers in a module that assert and return nothing, but are not named `assert_...`."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    asserting: set[str] = set()
    while new := {
        function.name
        for function in functions
        if function.name not in asserting and any(asserts(node, asserting) for node in nodes_of(function))
    }:
        asserting |= new
    return [
        function.name
        for function in functions
        if function.name in asserting
        and not function.name.startswith(("assert_", "test_", "pytest_"))
        and not any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)
        and not any(isinstance(node, (ast.Return, ast.Yield)) and node.value is not None for node in nodes_of(function))
    ]


def test_asserting_helpers_are_called_assert() -> None:
    paths = [path for folder in FOLDERS for path in folder.rglob("*.py")]
    names = {path.relative_to(ROOT).as_posix(): misnamed(path.read_text(encoding="utf-8")) for path in paths}
    assert not [f"{path}: {found}" for path, found in names.items() if found and not path.startswith(NOT_TESTS)]


@pytest.mark.parametrize(("source", "expected"), [
    ("def check(x):\n    assert x", ["check"]),
    ("def check(x):\n    with pytest.raises(ValueError):\n        x()", ["check"]),
    ("def close(x):\n    np.testing.assert_allclose(x, 1)", ["close"]),
    ("def assert_small(x):\n    assert x < 1\n\ndef all_small(xs):\n    for x in xs: assert_small(x)", ["all_small"]),
    ("def run(x):\n    assert x\n    return x", []),
    ("@pytest.fixture\ndef ready():\n    assert True", []),
])  # fmt: skip
def test_every_way_to_assert_is_found(source: str, expected: list[str]) -> None:
    assert misnamed(source) == expected

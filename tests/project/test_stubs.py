"""Stub files match the defined names, and every exported name exists."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys

import pytest

import flambeau
from flambeau.cli import stubs
from flambeau.engine.calls.tables import PUBLIC

pytestmark = pytest.mark.slow


def test_stub_files_are_up_to_date() -> None:
    """The command runs in a subprocess, because tests in this process may have added or patched names."""
    command = [sys.executable, "-m", "flambeau.cli.stubs", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + "(python -m flambeau.cli.stubs writes them)"


def test_stub_files_show_what_generated_functions_take() -> None:
    members, functions = stubs.members(), stubs.functions()
    assert "    def __add__(self, other: Tensor | _int | _float | _complex) -> Tensor: ..." in members
    assert '    def exp_(self) -> Tensor:\n        """In-place form of `exp`."""\n' in members
    assert 'def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:\n    """Return `e ** x`."""\n' in functions
    assert "def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:" in functions
    assert "def topk(input: Tensor, k: _int" in functions and "-> return_types.topk:" in functions
    assert (
        "    def max(self, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.max: ..."
        in members
    )
    assert "    def add_(self, other: Tensor | _int | _float | _complex" in members  # from the schema, not `*args: Any`
    assert "def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:" in stubs.namespaces()["linalg.pyi"]


def test_result_classes_are_those_of_return_types() -> None:
    for name, fields in re.findall(r"^class (\w+)\(NamedTuple\):\n((?:    .*\n)+)", stubs.result_classes(), re.MULTILINE):
        assert getattr(flambeau.return_types, name)._fields == tuple(re.findall(r"(\w+): Tensor", fields))


def test_modules_for_editors_name_what_is_imported() -> None:
    for path, text in stubs.modules().items():
        name = "flambeau." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert f"from {importlib.import_module(name).__name__} import *" in text


def test_declarations_compile() -> None:
    members, functions = stubs.members(), stubs.functions()
    for text in (members, functions):
        imports = "\n".join(re.findall(r"^from .*", text, re.MULTILINE))
        exec(re.sub(r"^from \.", "from flambeau.", imports, flags=re.MULTILINE).replace("flambeau. ", "flambeau "), {})
        compile(text, "stub", "exec")


def test_editors_are_led_to_where_functions_are_written() -> None:
    written = importlib.import_module("flambeau._functions")
    names = [name for name in vars(written) if not name.startswith("__")]
    assert {"exp", "frac", "cumsum", "multiply", "matmul", "exp_"} <= {*names}
    assert len(names) > 0.8 * len(PUBLIC)
    for name in names:
        if name in PUBLIC and not name.endswith("_"):
            assert inspect.unwrap(getattr(written, name)) is inspect.unwrap(PUBLIC[name])


def test_exported_names_exist_once() -> None:
    assert sorted(set(flambeau.__all__)) == sorted(flambeau.__all__)
    assert [name for name in flambeau.__all__ if not hasattr(flambeau, name)] == []


def test_star_import_gives_the_exported_names() -> None:
    scope: dict[str, object] = {}
    exec("from flambeau import *", scope)
    assert set(flambeau.__all__) <= scope.keys()
    assert scope["Tensor"] is flambeau.Tensor and scope["add"] is flambeau.add

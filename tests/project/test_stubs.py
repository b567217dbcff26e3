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
    assert "    def __add__(self, other: Any) -> Tensor: ..." in members
    assert "    def exp_(self) -> Tensor: ..." in members
    assert "def exp(input: Any, *, out: Any = ...) -> Tensor: ..." in functions
    assert "def msort(input: Tensor, *, out: Any = ...) -> Tensor: ..." in functions
    for text in (members, functions):
        exec(
            re.sub(r"^from \.", "from flambeau.", "\n".join(re.findall(r"^from .*", text, re.MULTILINE)), flags=re.MULTILINE), {}
        )
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

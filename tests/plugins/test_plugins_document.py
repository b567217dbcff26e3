"""docs/plugins.md contains the template's code and describes every hook."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from flambeau.engine.devices import hookspecs

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
TEMPLATE = {
    path: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "plugins" / "template").rglob("*.*"))
    if path.suffix in (".py", ".toml")
}
HOOKS = {name: value for name, value in vars(hookspecs).items() if name.startswith("flambeau_")}


def test_the_document_is_short():
    assert len(DOCUMENT.splitlines()) < 360


# The blocks of steps 1 to 4; that of wrapped functions is for some libraries only.
BLOCKS = re.findall(r"```(?:python|toml)\n(.*?)```", DOCUMENT.split("## 5. Make it fast")[0], re.DOTALL)


@pytest.mark.parametrize("block", [block for block in BLOCKS if "import *" not in block])
def test_code_is_the_templates(block):
    assert any(block in text for text in TEMPLATE.values()), block


def test_the_templates_backend_is_small():
    module = next(text for path, text in TEMPLATE.items() if path.name == "__init__.py")
    assert len(module.splitlines()) < 60


BACKENDS = [
    path
    for path in sorted((ROOT / "plugins").glob("flambeau-*/src/*/__init__.py"))
    if "flambeau.backends" in (path.parents[2] / "pyproject.toml").read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", BACKENDS, ids=[path.parent.name for path in BACKENDS])
def test_backends_are_small(path):
    """Backend plugins have at most 100 lines, not counting kernels and functions that adapt a library to the array standard."""
    assert sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_are_documented_and_typed(name):
    hook = HOOKS[name]
    parameters = ", ".join(inspect.signature(hook).parameters)
    assert f"`{name}({parameters})`" in DOCUMENT
    assert hook.__doc__
    assert set(hook.__annotations__) == {*inspect.signature(hook).parameters, "return"}


def test_collectives_are_those_of_the_specification():
    from flambeau_backends.parallel import collectives

    made = collectives("cpu")
    for name, method in vars(hookspecs.Collectives).items():
        if not name.startswith("_"):
            assert list(inspect.signature(getattr(type(made), name)).parameters) == list(inspect.signature(method).parameters)


def test_names_of_plugins_stay_in_plugins():
    """No file outside of `plugins` mentions a plugin by name."""
    names = [path.name.removeprefix("flambeau-") for path in (ROOT / "plugins").glob("flambeau-*")]
    libraries = "|".join(name for name in names if name != "torch")  # allowed: programs import torch, and tests compare with it
    pattern = re.compile(
        rf"\b(flambeau_|flambeau-|BACKEND=)({'|'.join(names)})\b|^\s*(import|from) ({libraries})\b", re.MULTILINE
    )
    for folder in ("core", "backends", "nnlib", "vision", "tests", "examples", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not pattern.search(path.read_text(encoding="utf-8")), path

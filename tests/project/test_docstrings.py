"""Public classes and functions document each parameter and show an example."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from enum import Enum
from typing import Any

import pytest

import flambeau as torch

NAMESPACES = [
    "flambeau.nn",
    "flambeau.nn.functional",
    "flambeau.nn.init",
    "flambeau.nn.utils",
    "flambeau.nn.utils.parametrizations",
    "flambeau.nn.utils.parametrize",
    "flambeau.nn.utils.prune",
    "flambeau.nn.utils.rnn",
    "flambeau.optim",
    "flambeau.optim.lr_scheduler",
    "flambeau.optim.swa_utils",
    "flambeau.utils.benchmark",
    "flambeau.utils.data",
    "flambeau.utils.tensorboard",
    "flambeau.distributions",
    "flambeau.distributions.transforms",
    "flambeau_vision.datasets",
    "flambeau_vision.models",
    "flambeau_vision.ops",
    "flambeau_vision.transforms",
    "flambeau_vision.transforms.functional",
    "flambeau_vision.transforms.v2",
    "flambeau_vision.utils",
]


def public_members(namespace: str) -> list[tuple[str, Any]]:
    """Return the public classes and functions of a namespace. Those of the core are left out, except in nn.functional."""
    module = importlib.import_module(namespace)
    members = [(name, getattr(module, name)) for name in module.__all__]
    return [
        (name, member)
        for name, member in members
        if (inspect.isclass(member) or inspect.isfunction(member))
        and (member.__module__.startswith(("flambeau_nnlib", "flambeau_vision")) or namespace == "flambeau.nn.functional")
    ]


CORE_NAMESPACES = [
    "flambeau", "flambeau.Tensor", "flambeau.autograd", "flambeau.distributions", "flambeau.fft", "flambeau.func", "flambeau.linalg",
    "flambeau.nn", "flambeau.nn.functional", "flambeau.nn.init", "flambeau.nn.utils", "flambeau.optim", "flambeau.special",
    "flambeau.utils.data",
]  # fmt: skip


# Classes that programs do not call
NOT_CALLED = {"FloatType", "SymBool", "SymFloat", "SymInt", "Value", "dtype", "layout", "memory_format", "qscheme"}


def parameters_of(member: Any) -> set[str]:
    """Return the names of the parameters of a callable, except `*args`, `**kwargs` and the unused parameter `_`.

    Enums have no parameters, because they are not called.
    """
    if inspect.isclass(member) and issubclass(member, Enum):
        return set()
    try:
        parameters = inspect.signature(member).parameters.values()
    except ValueError:  # a builtin class without a signature, such as an exception
        return set()
    return {each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.name != "_"}


def documented_parameters(docstring: str) -> set[str]:
    """Return the parameter names in the `Args:` section. An entry `a, b: ...` documents two parameters."""
    section = re.search(r"^Args:\n((?: +.*\n?|\n)*)", inspect.cleandoc(docstring) + "\n", re.MULTILINE)
    if section is None:
        return set()
    entries = re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?:", section[1], re.MULTILINE)
    return {name.strip(" *") for entry in entries for name in entry.split(",")}


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_parameter_is_documented(namespace: str) -> None:
    missing = {}
    for name, member in public_members(namespace):
        absent = parameters_of(member) - documented_parameters(member.__dict__.get("__doc__") or member.__doc__ or "")
        if absent:
            missing[name] = sorted(absent)
    assert not missing


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_every_docstring_shows_an_example(namespace: str) -> None:
    without = [name for name, member in public_members(namespace) if ">>>" not in (member.__doc__ or "")]
    assert not without


@pytest.mark.parametrize("namespace", ["flambeau.nn"])
def test_layers_say_the_shapes_of_input_and_output(namespace: str) -> None:
    layers = [
        (name, member) for name, member in public_members(namespace) if inspect.isclass(member) and "forward" in member.__dict__
    ]
    assert not [name for name, member in layers if "Shape:" not in (member.__doc__ or "")]


@pytest.mark.parametrize("namespace", CORE_NAMESPACES)
def test_functions_describe_their_arguments(namespace: str) -> None:
    """Every public function and method describes each argument, except `self`, `input` and `out`, in an `Args:` section."""
    owner = functools.reduce(getattr, namespace.split(".")[1:], torch)
    names = getattr(owner, "__all__", None) or [name for name in dir(owner) if not name.startswith("_")]
    missing = {}
    for name in names:
        member = getattr(owner, name)
        if name in NOT_CALLED or not (inspect.isclass(member) or inspect.isroutine(member)):
            continue
        parameters = {each for each in parameters_of(member) - {"self", "input", "out"} if not each.startswith("_")}
        if absent := parameters - documented_parameters(inspect.getdoc(member) or ""):
            missing[name] = sorted(absent)
    assert not missing

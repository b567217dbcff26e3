"""Functions and methods take PyTorch's arguments, by position and by name.

``signatures.txt`` lists them, a signature and the names that have it on a line, a line for each way to call a name; what is
before a slash is given by position alone, as programs of old do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flambeau as torch


class Argument(NamedTuple):
    name: str
    optional: bool
    kind: str  # "position", "either" or "name"


def _arguments(signature: str) -> list[Argument]:
    found: list[Argument] = []
    after_star = False
    for part in signature.split(", ") if signature else []:
        name, _, default = part.partition("=")
        if name == "/":
            found = [each._replace(kind="position") for each in found]
        elif name == "*":
            after_star = True
        elif name.startswith("*"):
            found.append(Argument(name, False, "position"))
            after_star = True
        else:
            found.append(Argument(name, bool(default), "name" if after_star else "either"))
    return found


def _listed() -> Iterator[tuple[str, str, str]]:
    """``(owner, name, signature)`` for each way to call each name."""
    owner = signature = ""
    for line in (Path(__file__).parent / "signatures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            owner = line.strip("[]")
        else:
            signature, names = line.rsplit(": ", 1) if line.startswith("(") else (signature, line)
            yield from ((owner, name, signature[1:-1]) for name in names.split())


CALLS = list(_listed())


def _bind(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise TypeError where the function cannot be called so."""
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and name in named:  # factories understand ``size=`` for ``*size``
            args = (*args, named.pop(name))
    inspect.signature(function).bind(*args, **named)


@pytest.mark.parametrize("owner", ["torch", "Tensor"])
def test_arguments_by_position_and_by_name(owner: str) -> None:
    holder, first = (torch, ()) if owner == "torch" else (torch.Tensor, (0,))
    wrong = []
    for _, name, signature in (each for each in CALLS if each[0] == owner):
        given = _arguments(signature)
        needed = [each for each in given if not each.optional]
        for chosen in (given, needed):
            for by_name in (False, True):
                args = [0 for each in chosen if each.kind == "position" or (each.kind == "either" and not by_name)]
                named = {each.name: 0 for each in chosen if each.kind == "name" or (each.kind == "either" and by_name)}
                try:
                    _bind(getattr(holder, name), (*first, *args), named)
                except TypeError as error:
                    wrong.append(f"{name}({signature}), {len(args)} by position, {list(named)} by name: {error}")
    assert not wrong, "\n".join(wrong)


# What takes any name: ``from`` and ``async`` are no names of parameters, and what was removed raises however it is called.
ANY_NAME = {f"Tensor.{name}" for name in ("cuda", "new", "random_", "type", "uniform_", "eig", "lstsq", "solve")} | {"torch.load"}


def test_unknown_names_are_refused() -> None:
    lenient = set()
    for owner, name, _ in CALLS:
        function = getattr(torch if owner == "torch" else torch.Tensor, name)
        if any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values()):
            lenient.add(f"{owner}.{name}")
    assert lenient <= ANY_NAME
    for method in ("uniform_", "random_", "type"):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'up'"):
            getattr(torch.ones(2), method)(up=1)

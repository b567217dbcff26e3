"""Schemas of scripted functions, such as `scaled(Tensor x, float by=2.) -> Tensor`."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import flambeau as torch
from flambeau.extension.schemas import Argument, FunctionSchema

from ._graph_building import graph_type
from ._kinds import named_type
from .annotations import BroadcastingList

__all__ = ["function_schema"]


def function_schema(name: str, signature: inspect.Signature, hints: dict[str, Any], returned: str) -> FunctionSchema:
    """Return the schema of a function.

    Args:
        name: the name of the function.
        signature: its signature.
        hints: its annotations. Parameters without annotation are tensors.
        returned: the type of the result in graph notation, for a function without an annotated result.
    """
    arguments: list[Argument] = []
    texts: list[str] = []
    for parameter in signature.parameters.values():
        kind, only = hints.get(parameter.name, torch.Tensor), parameter.kind is parameter.KEYWORD_ONLY
        if only and not any(argument.kwarg_only for argument in arguments):
            texts.append("*")
        arguments.append(Argument(parameter.name, named_type(kind), parameter.default, only))
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        texts.append(f"{_notation(kind)} {parameter.name}{default}")
    kind = named_type(hints["return"]) if "return" in hints else returned
    result = _notation(hints["return"]) if "return" in hints else returned
    result = f"({result})" if result.startswith("(") else result
    return FunctionSchema(f"{name}({', '.join(texts)}) -> {result}", name, "", arguments, [Argument("", kind)])


def _notation(kind: Any) -> str:
    if isinstance(kind, BroadcastingList):
        return f"{_notation(kind.element)}[{kind.length}]"
    return graph_type(ast.parse(named_type(kind) or "Any", mode="eval").body).text


def _default(value: Any) -> str:
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if any(character in text for character in ".ein") else f"{text}."
    if isinstance(value, (list, tuple)):
        opening, closing = "[]" if isinstance(value, list) else "()"
        return f"{opening}{', '.join(map(_default, value))}{closing}"
    return f'"{value}"' if isinstance(value, str) else str(value)

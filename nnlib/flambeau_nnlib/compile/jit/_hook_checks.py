"""Checks of the forward hooks and pre-hooks of scripted modules, which PyTorch compiles as methods of the module."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from typing import Any, NoReturn

import flambeau as torch

from ... import nn
from ._arguments import annotations_of_function
from ._checking import check_function
from ._kinds import arguments_of, conflict, named_type
from ._sources import source_of

__all__ = ["check_hooks"]


def check_hooks(module: nn.Module) -> None:
    """Check the names, the code and the types of the hooks of a module.

    A pre-hook takes the module and a tuple of the arguments of `forward`, and returns None, the argument or a tuple of them. A
    hook takes the module, the tuple and the result of `forward` or of the previous hook. Hooks that are not functions written
    in Python are not checked.

    Raises:
        RuntimeError: PyTorch's compiler refuses a hook.
    """
    before = list(filter(inspect.isfunction, module._forward_pre_hooks.values()))
    after = list(filter(inspect.isfunction, module._forward_hooks.values()))
    if not before and not after:
        return
    _check_names(module, before, "Pre-hook")
    _check_names(module, after, "Hook")
    forward: Any = inspect.unwrap(type(module).forward)
    hints = annotations_of_function(forward, source_of(forward))
    inputs = [named_type(hints.get(name, torch.Tensor)) for name in list(inspect.signature(forward).parameters)[1:]]
    for hook in before:
        _check_signature(module, hook, "forward pre-hook", 2, inputs)
        _check_result_of_pre_hook(module, hook, inputs)
    output = check_function(forward, module)
    for hook in after:
        _check_signature(module, hook, "forward hook", 3, inputs)
        given = list(_types_of_parameters(hook).values())[2]
        if conflict(output, given) or conflict(given, output):
            _refuse(module, hook, "forward hook", f"has the wrong type for the output argument. Received type: '{given}'. "
                    f"Expected type: '{output}'")  # fmt: skip
        found = check_function(hook, module)
        output = output if found == "NoneType" else found


def _check_names(module: nn.Module, hooks: Iterable[types.FunctionType], kind: str) -> None:
    known: dict[str, types.FunctionType] = {}
    for hook in hooks:
        name, owner = hook.__name__, type(module).__name__
        if known.setdefault(name, hook) is not hook:
            raise RuntimeError(
                f"{kind} '{name}' on {owner} has at least two different python definitions. Please use unique names for all "
                "hooks."
            )
        if hasattr(type(module), name):
            raise RuntimeError(
                f"Can't define hook: {name} on class: {owner} because a method or hook with that name already exists."
            )


def _types_of_parameters(hook: types.FunctionType) -> dict[str, str]:
    hints = annotations_of_function(hook, source_of(hook))
    return {name: named_type(hints.get(name, torch.Tensor)) for name in inspect.signature(hook).parameters}


def _check_signature(module: nn.Module, hook: types.FunctionType, what: str, count: int, inputs: list[str]) -> None:
    kinds = list(_types_of_parameters(hook).values())
    if len(kinds) != count:
        _refuse(module, hook, what, f"was expected to only have exactly {count} inputs but it had {len(kinds)} inputs")
    received = kinds[1]
    if received and not received.startswith("Tuple"):
        _refuse(module, hook, what, f"expected the input argument to be typed as a Tuple but found type: '{received}' instead.")
    if received and len(arguments_of(received)) != len(inputs):
        _refuse(module, hook, what, "has the wrong number of contained types for the input argument's Tuple. Received type: "
                f"'{received}'")  # fmt: skip
    if any(map(conflict, inputs, arguments_of(received))):
        _refuse(module, hook, what, f"has the wrong inner types for the input tuple argument. Received type: '{received}'")


def _check_result_of_pre_hook(module: nn.Module, hook: types.FunctionType, inputs: list[str]) -> None:
    what = "forward pre-hook"
    found = check_function(hook, module)
    if "return" not in annotations_of_function(hook, source_of(hook)) and found != "NoneType":
        _refuse(module, hook, what, "is missing a return annotation. Return annotations are required, please add one.")
    whole = f"Tuple[{', '.join(part or '?' for part in inputs) or '()'}]"
    if len(inputs) == 1 and inputs[0].startswith("Tuple") and conflict(found, "NoneType") and conflict(found, whole):
        _refuse(module, hook, what, "returned the wrong type. When forward has a single tuple input argument, the return needs "
                f"to be 'None' or a nested tuple containing forward's input tuple argument as in: '{whole}'")  # fmt: skip
    accepted = ["NoneType", whole, *(inputs if len(inputs) == 1 else [])]
    if all(conflict(found, kind) for kind in accepted):
        _refuse(module, hook, what, f"returned the wrong type of: '{found}'")


def _refuse(module: nn.Module, hook: types.FunctionType, what: str, problem: str) -> NoReturn:
    name = f"{what} '{hook.__name__}' on module '{type(module).__name__}'"
    raise RuntimeError(f"{name.capitalize()} {problem}\nThis error occured while scripting the {name}.")

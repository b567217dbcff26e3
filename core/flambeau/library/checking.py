"""`torch.library.opcheck`: test that an operator's schema, gradient and fake function are correct."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import flambeau as torch

from ..engine.values.trees import flatten, tree_map, unflatten
from . import operators
from .ops import OpOverload, OpOverloadPacket

__all__ = ["OpCheckError", "opcheck"]

_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """A test of `opcheck` failed."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Run tests of an operator on example arguments; return `{test: "SUCCESS" or the exception}`.

    Args:
        op: a custom operator, or an operator of `torch.ops`.
        args, kwargs: the example arguments.
        test_utils: the tests to run:

            - `test_schema`: only arguments that the schema marks as mutable are changed, and results share no memory with others.
            - `test_autograd_registration`: results require a gradient if an argument does.
            - `test_faketensor`: the fake function returns the shapes, dtypes and devices of the real one.
            - `test_aot_dispatch_static`, `test_aot_dispatch_dynamic`: a traced graph returns the same results and gradients.
        raise_exception: raise at the first failure, instead of returning it.
        atol, rtol: the tolerances of comparisons.

    Raises:
        OpCheckError: a test failed.
        ValueError: a test is unknown.

    >>> torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(2),))["test_schema"]
    'SUCCESS'
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := set(names) - _TESTS.keys():
        raise ValueError(f"opcheck(op, ...): unknown tests {sorted(unknown)} in test_utils; known are {sorted(_TESTS)}")
    overload = _overload(op)
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](op, overload, args, kwargs or {}, {"atol": atol, "rtol": rtol})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            results[name] = error
    return results


def _overload(op: Any) -> OpOverload:
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        return op.default  # type: ignore[no-any-return]  # an attribute of a packet is an overload
    return op._opoverload  # type: ignore[no-any-return]  # of a custom operator


def _copied(tree: Any, requires_grad: bool = True) -> Any:
    def copied(value: Any) -> Any:
        return value.detach().clone().requires_grad_(requires_grad and value.requires_grad) if _is_tensor(value) else value

    return tree_map(copied, tree)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _tensors(tree: Any) -> list[Any]:
    return list(filter(_is_tensor, flatten(tree)[0]))


def _test_schema(op: Any, overload: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    given = overload._schema.bind(*_copied((args, kwargs), requires_grad=False))
    before = {name: _copied(value) for name, value in given.items()}
    result = _call(overload, given)
    outputs = [output.data_ptr() for output in _tensors(result) if output.numel()]
    for argument in overload._schema.arguments:
        for old, new in zip(_tensors(before.get(argument.name)), _tensors(given.get(argument.name)), strict=True):
            if not argument.writes and not torch.equal(old.nan_to_num(), new.nan_to_num()):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
            if not _may_alias(overload, argument.name) and new.numel() and new.data_ptr() in outputs:
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def _may_alias(overload: OpOverload, name: str) -> bool:
    """Whether the schema marks an argument as an alias of the output: `Tensor(a) self`.  ATen schemas here lack most marks."""
    return overload.name().startswith("aten::") or bool(re.search(rf"Tensor\(\w+!?\)\S* {name}\b", str(overload._schema)))


def _call(overload: OpOverload, bound: dict[str, Any]) -> Any:
    keywords = {argument.name for argument in overload._schema.arguments if argument.kwarg_only}
    positional = [value for name, value in bound.items() if name not in keywords]
    return overload(*positional, **{name: value for name, value in bound.items() if name in keywords})


def _test_autograd_registration(op: Any, overload: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    copies = _copied((args, kwargs))
    if overload._schema.is_mutable or not any(tensor.requires_grad for tensor in _tensors(copies)):
        return
    with torch.enable_grad():
        outputs = [output for output in _tensors(overload(*copies[0], **copies[1])) if output.is_floating_point()]
    if outputs and not any(output.requires_grad for output in outputs):
        raise RuntimeError(
            f"{overload.name()} returns tensors that do not require a gradient although an argument does. Register a derivative "
            "with register_autograd, or compute the operator from differentiable operators."
        )


def _test_faketensor(op: Any, overload: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    operator = _operator(overload)
    if operator is not None and operator.fake is None and "CompositeImplicitAutograd" not in operator.kernels:
        raise RuntimeError(
            f"There was no fake impl registered for {op}. This is necessary for torch.compile/export/fx tracing to work. Please "
            f"use `{overload._schema.name.partition('::')[2]}.register_fake` to add an fake impl."
        )
    copies = _copied((args, kwargs), requires_grad=False)
    real = _tensors(overload(*copies[0], **copies[1]))
    mode = torch._subclasses.FakeTensorMode()
    fakes = tree_map(lambda value: mode.from_tensor(value) if _is_tensor(value) else value, _copied((args, kwargs), False))
    with mode:
        fake = _tensors(overload(*fakes[0], **fakes[1]))
    for position, (expected, found) in enumerate(zip(real, fake, strict=True)):
        for what in ("shape", "dtype", "device"):
            if getattr(expected, what) != getattr(found, what):
                raise RuntimeError(
                    f"result {position} of the fake function has {what} {getattr(found, what)}, but the operator returned "
                    f"{getattr(expected, what)}"
                )


def _operator(overload: OpOverload) -> Any:
    """Return the registered operator; None for an operator of ATen."""
    try:
        return operators.find(overload.name())
    except RuntimeError:
        return None


def _test_traced(op: Any, overload: OpOverload, args: Any, kwargs: Any, tolerances: Any) -> None:
    if overload._schema.is_mutable:
        return
    _test_faketensor(op, overload, args, kwargs, tolerances)
    leaves, spec = flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if _is_tensor(leaf)]

    def function(*tensors: Any) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        positional, keywords = unflatten(filled, spec)
        return overload(*positional, **keywords)

    examples = [leaves[place] for place in places]
    make_fx = import_module("flambeau.fx.experimental.proxy_tensor").make_fx
    traced = make_fx(function)(*_copied(examples, False))
    expected, found = (_results_and_gradients(call, _copied(examples)) for call in (function, traced))
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, **tolerances)


def _results_and_gradients(function: Callable[..., Any], tensors: list[Any]) -> list[Any]:
    outputs = _tensors(function(*tensors))
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    tracked = [output for output in outputs if output.requires_grad]
    gradients: Any = ()
    if tracked:
        ones = list(map(torch.ones_like, tracked))
        gradients = torch.autograd.grad(tracked, inputs, ones, allow_unused=True)
    return [output.detach() for output in outputs] + [gradient for gradient in gradients if gradient is not None]


_TESTS: dict[str, Callable[..., None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_static": _test_traced,
    "test_aot_dispatch_dynamic": _test_traced,
}

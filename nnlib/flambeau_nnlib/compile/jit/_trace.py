"""`torch.jit.trace`: traced functions and modules, which run as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.extension import tracing

from ._convolutions import merge_convolutions
from ._recording import TracerWarning, Tracing
from ._script import ScriptFunction, ScriptModule, scripted

__all__ = ["TopLevelTracedModule", "TracerWarning", "TracingCheckError", "is_tracing", "trace", "trace_module"]


class TracingCheckError(Exception):
    """The outputs of a trace differ from those of the traced function."""


class TopLevelTracedModule(ScriptModule):
    """A module returned by `torch.jit.trace`."""

    example_inputs: Any = None
    _traced = True

    def __repr__(self) -> str:
        return super().__repr__()

    def _is_traced_as_call(self) -> bool:
        return "_examples" in vars(self)


def is_tracing() -> bool:
    """Whether `torch.jit.trace` is running a function on its examples.

    >>> is_tracing()
    False
    """
    return Tracing.depth > 0


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with Tracing():
        return function(*args, **kwargs)


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Trace a function or module: run it once on examples, and return a version that still runs it as Python.

    PyTorch records the operations, so that control flow is fixed to that of the examples. Here, operations are recorded when
    the module is saved (`torch.jit.save`), with a `TracerWarning` where control flow depends on values. Until then, control
    flow follows the values of each call.

    Args:
        func: the function, module or method of a module.
        example_inputs: a tuple of arguments, or a tensor as the only argument.
        optimize, check_trace, check_inputs, check_tolerance, strict, _force_outplace, _module_class, _compilation_unit: ignored.
        example_kwarg_inputs: keyword arguments, instead of `example_inputs`.
        _store_inputs: whether to store the examples in the module.

    Returns:
        A `ScriptFunction`, or a `ScriptModule` that shares the parameters of the module.

    Raises:
        RuntimeError: no example inputs are given.

    >>> traced = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(1, 2))
    >>> traced(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError(
            "torch.jit.trace requires example inputs: pass a tuple as example_inputs, or a dict as example_kwarg_inputs"
        )
    args = () if example_inputs is None else example_inputs
    args = (args,) if isinstance(args, (torch.Tensor, dict)) else tuple(args)
    kwargs = example_kwarg_inputs or {}
    owner = getattr(func, "__self__", None)
    if isinstance(owner, nn.Module) and func.__name__ == "forward":
        func = owner
    _run(func, args, kwargs)
    if not isinstance(func, nn.Module):
        function = ScriptFunction(func)
        function.examples = (args, kwargs)
        return function
    traced = scripted(func, kind=TopLevelTracedModule)
    traced.__dict__["_examples"] = {"forward": (args, kwargs)}
    if _store_inputs:
        traced.__dict__["example_inputs"] = args or kwargs
    return traced


def trace_module(mod: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """Trace several methods of a module, see `trace`.

    Args:
        mod: the module.
        inputs: maps method names to tuples of arguments, or to a tensor as the only argument.
        *args, **kwargs: ignored.

    Raises:
        AttributeError: `inputs` is not a dictionary, or the module lacks one of the methods.
    """
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    examples: dict[str, Any] = {
        name: ((given,) if isinstance(given, torch.Tensor) else tuple(given), {}) for name, given in inputs.items()
    }
    for name, (given, _) in examples.items():
        _run(getattr(mod, name), given, {})
    traced = scripted(mod, kind=TopLevelTracedModule)
    traced.__dict__["_examples"] = examples
    return traced


def _get_trace_graph(f: Any, args: Any = (), kwargs: dict[str, Any] | None = None, *rest: Any, **options: Any) -> tuple[Any, Any]:
    """Return the inlined graph of a traced function or module, and its result.

    Hooks can set the scopes of the graph's nodes: they push a scope on `torch._C._get_tracing_state()`.
    """
    traced = trace(f, args, example_kwarg_inputs=kwargs)
    args = (args,) if isinstance(args, torch.Tensor) else args
    token = tracing.current.set(tracing.TracingState())
    try:
        return merge_convolutions(traced.inlined_graph), f(*args, **(kwargs or {}))
    finally:
        tracing.current.reset(token)

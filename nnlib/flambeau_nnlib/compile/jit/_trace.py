"""`torch.jit.trace`: traced functions and modules, which run their recorded operators."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.extension import facts_of, tracing
from flambeau.utils import pytree

from ..export._export import restoring_state
from ..fx.node import Node
from ._convolutions import merge_convolutions, without_unused
from ._methods import with_graph
from ._recording import Recorded, TracerWarning, Tracing
from ._script import ScriptFunction, ScriptModule, runs_as_script, scripted
from ._state import switch

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


def _record(
    function: Any, args: Any, kwargs: dict[str, Any], owner: nn.Module | None, strict: bool, checks: list[Any], tolerance: float
) -> Recorded:
    """Trace a function, and check the trace against more traces, one for each entry of `checks`."""
    recorded = Recorded(function, args, kwargs, strict, owner)
    draws = False
    for given in checks:
        given, words = ((), given) if isinstance(given, dict) else (_as_arguments(given), {})
        differs = recorded.differs_from(Recorded(function, given, words, strict, owner))
        results = []
        for run in (lambda *inputs, **named: recorded(owner, inputs, named), function):
            copies = pytree.tree_map_only(torch.Tensor, torch.clone, (given, words))
            with torch.no_grad(), restoring_state(owner or nn.Module(), False), torch.random.fork_rng():
                state = torch.get_rng_state()
                results.append([torch.as_tensor(leaf) for leaf in pytree.tree_leaves(run(*copies[0], **copies[1]))])
                draws = draws or not torch.equal(state, torch.get_rng_state())
        for number, (mine, other) in enumerate(zip(*results, strict=True), 1):
            if mine.is_floating_point() and not torch.allclose(mine.double(), other.double(), tolerance, 1e-5, equal_nan=True):
                warnings.warn(
                    f"Output nr {number}. of the traced function does not match the corresponding output of the Python function.",
                    TracerWarning, stacklevel=3,
                )  # fmt: skip
        if differs:
            raise TracingCheckError("Tracing failed sanity checks!\nERROR: Graphs differed across invocations!")
    if draws:
        random = [str(node.target) for node in recorded.recording.graph.nodes if _may_draw(node)]
        warnings.warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n\t" + "\n\t".join(random),
            TracerWarning, stacklevel=3,
        )  # fmt: skip
    return recorded


def _may_draw(node: Node) -> bool:
    """Whether a node's operation can draw random numbers; dropout and attention do not in evaluation."""
    facts = facts_of(getattr(getattr(node.target, "overloadpacket", None), "__name__", ""))
    return facts is not None and facts.random


def _as_arguments(inputs: Any) -> tuple[Any, ...]:
    return (inputs,) if isinstance(inputs, (torch.Tensor, dict)) else tuple(inputs)


def _recorded_method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that runs the recorded operators of a method."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["_examples"][name](self, args, kwargs)

    return runs_as_script(functools.update_wrapper(run, function))


def _traced(module: nn.Module, recorded: dict[str, Recorded]) -> Any:
    """Return a traced module with these methods. It has no forward hooks: their operators are part of the trace."""
    for child in module.modules():
        if child._backward_hooks:
            raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {child}")
    traced = scripted(module, kind=TopLevelTracedModule)
    for child in traced.modules():
        for name in [name for name, member in child._modules.items() if member is None]:
            delattr(child, name)  # as in PyTorch
    traced.__dict__["_examples"] = recorded
    traced.__dict__.update({name: OrderedDict() for name in vars(nn.Module()) if name.startswith("_forward_")})
    for name in recorded:
        setattr(type(traced), name, with_graph(_recorded_method(name, getattr(type(module), name))))
    return traced


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
    """Trace a function or module: run it on examples, and return a version that runs the recorded operators.

    Control flow is fixed to that of the examples, with a `TracerWarning` where it depends on values. Sizes are computed again
    in each call. The mode (training or evaluation) is that of the trace, also for dropout.

    Args:
        func: the function, module or method of a module.
        example_inputs: a tuple of arguments, or a tensor as the only argument.
        optimize, _force_outplace, _module_class, _compilation_unit: ignored.
        check_trace: trace the function again, and compare the graphs and results.
        check_inputs: a list of arguments for these checks. Default: the examples.
        check_tolerance: the relative tolerance for results.
        strict: refuse results that are dictionaries.
        example_kwarg_inputs: keyword arguments, instead of `example_inputs`.
        _store_inputs: whether to store the examples in the module.

    Returns:
        A `ScriptFunction`, or a `ScriptModule` that shares the parameters of the module.

    Raises:
        RuntimeError: no example inputs are given, or inputs or results have types that cannot be traced.
        TracingCheckError: a check recorded other operators.

    >>> traced = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(1, 2))
    >>> traced(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if not switch or isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError(
            "torch.jit.trace requires example inputs: pass a tuple as example_inputs, or a dict as example_kwarg_inputs"
        )
    args = () if example_inputs is None else _as_arguments(example_inputs)
    kwargs = example_kwarg_inputs or {}
    owner = getattr(func, "__self__", None)
    if isinstance(owner, nn.Module) and func.__name__ == "forward":
        func = owner
    checks = [] if not check_trace else [kwargs if args == () else args] if check_inputs is None else list(check_inputs)
    module = func if isinstance(func, nn.Module) else None
    recorded = _record(func, args, kwargs, module, strict, checks, check_tolerance)
    if module is None:
        function = ScriptFunction(func)
        function.recorded = recorded
        return function
    traced = _traced(module, {"forward": recorded})
    if _store_inputs:
        traced.__dict__["example_inputs"] = args or kwargs
    return traced


def trace_module(mod: nn.Module, inputs: dict[str, Any], *args: Any, strict: bool = True, **kwargs: Any) -> Any:
    """Trace several methods of a module, see `trace`.

    Args:
        mod: the module.
        inputs: maps method names to tuples of arguments, or to a tensor as the only argument.
        strict: refuse results that contain dictionaries, and warn about those that contain lists.
        *args, **kwargs: ignored.

    Raises:
        AttributeError: `inputs` is not a dictionary, or the module lacks one of the methods.
    """
    if not switch:
        return mod
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    return _traced(mod, {
        name: Recorded(mod if name == "forward" else getattr(mod, name), _as_arguments(given), {}, strict, mod)
        for name, given in inputs.items()
    })  # fmt: skip


def _get_trace_graph(
    f: Any,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """Return the inlined graph of a traced function or module, and its result. Numbers among the arguments become tensors.

    With `return_inputs`, also return the tensors in the arguments, followed by the parameters and buffers of the module. Hooks
    can set the scopes of the graph's nodes: they push a scope on `torch._C._get_tracing_state()`.
    """
    args, kwargs = pytree.tree_map_only(int, torch.tensor, (args, kwargs))
    args, kwargs = pytree.tree_map_only(float, functools.partial(torch.tensor, dtype=torch.float64), (args, kwargs))
    token = tracing.current.set(tracing.TracingState())
    try:
        traced = trace(f, args, check_trace=False, strict=False, example_kwarg_inputs=kwargs)
        args, kwargs = _as_arguments(args), kwargs or {}
        found = without_unused(merge_convolutions(traced.inlined_graph)), f(*args, **kwargs)
        if not return_inputs:
            return found
        state = f.state_dict(keep_vars=True).values() if isinstance(f, nn.Module) else ()
        return *found, (*(leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)), *state)
    finally:
        tracing.current.reset(token)

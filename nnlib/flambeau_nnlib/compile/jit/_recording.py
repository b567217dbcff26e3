"""Record the operators that a traced function calls on its examples, for `torch.jit.trace`.

This is the tracer of `torch.export` with two differences: all sizes are computed again in each call; and if Python control
flow depends on a size or tensor value, the trace follows the examples and warns.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.library.dispatch_modes import disable_modes
from flambeau.utils import pytree

from ..export._export import restoring_state, run_program, tracking_modules
from ..export._sizes import Known, SizeExpression, SizeGuards, is_symbolic
from ..export._tracing import Recording, TensorSpec, with_concrete_numbers
from ..fx.graph import Graph
from ..fx.node import Node

__all__ = ["TraceRecording", "TracerWarning", "Tracing", "current_recording", "record"]

_CORE = (str(Path(torch.__file__ or "").parent), "<flambeau.")
_LIBRARY = str(Path(sys.modules[__package__.partition(".")[0]].__file__ or "").parent)
_MACHINERY = ("_tracing.py", "_recording.py", "_sizes.py")

_open: list[TraceRecording] = []


class TracerWarning(Warning):
    """Warning about values that a trace records as constants."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: libraries call this to ignore these warnings, but their code does not cause any here."""


def current_recording() -> TraceRecording | None:
    """Return the active recording, or None."""
    return _open[-1] if _open else None


class TraceRecording(Recording):
    """Record a run in a graph, for `torch.jit`."""

    def __init__(self, graph: Graph, module: nn.Module) -> None:
        super().__init__(graph, module, SizeGuards({}), None)

    def __enter__(self) -> Any:
        _open.append(self)
        return super().__enter__()

    def __exit__(self, *exc: Any) -> Any:
        _open.pop()
        return super().__exit__(*exc)

    def tensor_spec(self, tensor: Tensor, known: list[Known]) -> TensorSpec:
        """Return the metadata of a tensor; all sizes are unknown."""
        return super().tensor_spec(tensor, [(dim, SizeExpression(f"size({dim})")) for dim in range(tensor.dim())])

    def decided(self, number: Any) -> Any:
        """Return the value that a symbolic number has for the examples. Warn, unless a layer is validating its input."""
        kind = {torch.SymBool: "boolean", torch.SymFloat: "float"}.get(type(number), "index")
        self._warn(f"Converting a tensor to a Python {kind}")
        return number.value

    def _warn(self, what: str) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
            frame = frame.f_back
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            message = (
                f"{what} might cause the trace to be incorrect. We can't record the data flow of Python values, so this value "
                "will be treated as a constant in the future. This means that the trace might not generalize to other inputs!"
            )
            warnings.warn_explicit(message, TracerWarning, frame.f_code.co_filename, frame.f_lineno)

    def _read_values(self, func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        if any(id(arg) not in self.literals for arg in args if isinstance(arg, Tensor)):
            kind = {"__bool__": "boolean", "__float__": "float", "__contains__": "boolean"}.get(name, "integer")
            self._warn(f"Converting a tensor to a Python {kind}")
        return func(*args, **kwargs)

    def called(self, script: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run scripted code, and add it to the graph as a single call."""
        former = [*_open]
        _open.clear()
        try:
            with disable_modes():
                result = script(*with_concrete_numbers(args), **with_concrete_numbers(kwargs))
        finally:
            _open[:] = former
        given = tuple(map(self.node_of, args)), self.node_of(kwargs)
        node = self.graph.create_node("call_function", script, *given, name="called")
        self._place(result, node)
        return result

    def _place(self, result: Any, node: Node) -> None:
        """Record the node for each tensor in the result of a call."""
        if isinstance(result, Tensor):
            self.set_node(result, node, self.tensor_spec(result, []))
        elif isinstance(result, dict):
            for key, value in result.items():
                self._place(value, self._create(operator.getitem, (node, key), {}))
        elif isinstance(result, (list, tuple)):
            for place, value in enumerate(result):
                self._place(value, self._create(operator.getitem, (node, place), {}))


def record(module: nn.Module, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function once and record its operators as a graph.

    Args:
        module: the module whose parameters and buffers are accessed by name.
        function: the module, one of its methods, or a function.
        args, kwargs: the example arguments.

    Returns:
        The recording. The `output` of its graph is the result, with nodes in place of tensors.
    """
    recording = TraceRecording(Graph(), module)
    for path, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]:
        if id(tensor) not in recording.nodes:
            node = recording.graph.placeholder("state_" + path.replace(".", "_"))
            node.meta["state"] = path
            recording.set_node(tensor, node, recording.tensor_spec(tensor, []))
    leaves, spec = pytree.tree_flatten((args, kwargs))
    copies = []
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            leaf = leaf.detach().clone().requires_grad_(leaf.requires_grad)
            node = recording.graph.placeholder(f"input_{place}")
            node.meta["input"] = place
            recording.set_node(leaf, node, recording.tensor_spec(leaf, []))
        copies.append(leaf)
    args, kwargs = pytree.tree_unflatten(copies, spec)
    with restoring_state(module), tracking_modules(recording), torch.random.fork_rng(), Tracing():
        result = run_program(recording, function, args, kwargs)  # type: ignore[arg-type]  # which calls it
    recording.graph.output(recording.node_of(result) if _is_of_tensors(result) else _refuse_result(result))
    return recording


def _is_machinery(file: str) -> bool:
    """Whether a file belongs to the implementation of tensors or of value checks, so that its lines are not user code."""
    return file.startswith(_CORE) or (file.startswith(_LIBRARY) and Path(file).name in _MACHINERY)


class Tracing:
    """Context manager in which `torch.jit.is_tracing()` is True."""

    depth = 0

    def __enter__(self) -> None:
        Tracing.depth += 1

    def __exit__(self, *exc: object) -> None:
        Tracing.depth -= 1


def _is_of_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_of_tensors, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_of_tensors, value))
    return isinstance(value, Tensor) and not is_symbolic(value)


def _refuse_result(value: Any) -> Any:
    raise RuntimeError(
        f"Tracer cannot infer type of {value!r}: Only tensors and (possibly nested) tuples of tensors, lists, or dicts are "
        f"supported as inputs or outputs of traced functions, but instead got value of type {type(value).__name__}."
    )

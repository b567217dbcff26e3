"""Record the operations of a training step: calls of functions, derivative rules of a backward pass, kernels of optimizers.

An operation is opened when its call begins and closed when it ends; operations in between are its children.  Three observers
report to one `StepRecorder`: a mode receives the calls of functions, each new autograd node gets an `apply` that is measured, and
a `KernelObserver` receives the calls of kernels.  Nothing here is active outside of the recorded step.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import flambeau as torch

from ...autograd.profiler import RecordingMode
from ...engine.calls.codegen import NAMESPACE
from ...engine.calls.facts import facts_of
from ...engine.calls.nodes import observe_nodes
from ...engine.calls.overriding import open_modes
from ...engine.calls.record import Operation as Record
from ...engine.calls.tables import OPS
from ...engine.tape.node import Node
from ...engine.tape.saved import is_saved_tensor
from ...engine.values.trees import flatten
from .kernels import KernelCall, KernelObserver
from .sources import Place, place_in_stack

__all__ = ["Array", "Operation", "Rule", "StepRecorder"]

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"


@dataclass(slots=True)
class Array:
    """The description of a tensor or array; `text` is that of a value that is not an array.

    Attributes:
        bytes: the size of its elements.
        source: the index of the operation that computed it, or None if it existed before the step.
        leaf: whether it is a leaf that requires a gradient, such as a parameter.
    """

    name: str = ""
    text: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    bytes: int = 0
    source: int | None = None
    leaf: bool = False


@dataclass(slots=True)
class Rule:
    """The derivative rules of an operation, with the values that its call has saved for them."""

    node: str
    functions: list[Callable[..., Any]]
    saved: list[Array]


@dataclass(slots=True)
class Operation:
    """One operation of a step.

    Attributes:
        parent: the index of the operation that called it; None for a call by the program.
        record: the record of the operation, if it has one; composites have none.
        function: the called function, derivative rule or kernel.
        forward: for a derivative rule, the index of the operation whose call recorded it.
        view_of: the index of the argument whose memory the result shares.
        written: the positions of the arguments that were modified in place.
        bytes: the memory of its new results.
        live: the memory of all results of the step that existed when the operation ended.
        rule: the derivative rules that the call has recorded.
    """

    index: int
    name: str
    phase: str
    parent: int | None
    places: tuple[Place, ...]
    function: Any = None
    record: Record | None = None
    inputs: list[Array] = field(default_factory=list)
    outputs: list[Array] = field(default_factory=list)
    kernels: list[KernelCall] = field(default_factory=list)
    start: int = 0
    time: int = 0
    forward: int | None = None
    view_of: int | None = None
    written: list[int] = field(default_factory=list)
    bytes: int = 0
    live: int = 0
    rule: Rule | None = None


@dataclass(slots=True)
class _OpenCall:
    """A call of a function that has not returned: its operation, and the position, the tensor and its version of each tensor."""

    operation: Operation
    tensors: list[tuple[int, Any, int]]


class StepRecorder:
    """Records the operations of the thread that starts it.

    Attributes:
        operations: the operations, in the order in which they began.
        active: whether it records.
        began: the time at which the step began, in nanoseconds of `time.perf_counter_ns`.
        time: the duration of the step, in nanoseconds.
    """

    began: int
    active: bool
    time: int

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.began = self.time = 0
        self.active = False
        self._open: list[Operation] = []
        self._live = 0
        self._sources: dict[int, int] = {}  # {id of an array: index of the operation that computed it}
        self._ran_backward = False
        self._optimizer: Operation | None = None  # the running step of an optimizer

    # --- start and stop ---

    def start(self) -> None:
        """Begin to record."""
        self._thread = get_ident()
        backends = {torch.backend.for_device_type("cpu"), torch.backend.for_device_type(torch.get_default_device().type)}
        self._kernels = KernelObserver(list(backends), self._observe_kernel)
        self._kernels.__enter__()
        self._mode = RecordingMode(self)
        self._mode.__enter__()
        self._forget_nodes = observe_nodes(self._observe_node)
        self.active, self.began = True, perf_counter_ns()

    def restart(self) -> None:
        """Forget the operations that were recorded so far: calls of a second step look up no kernels, so that it is faster."""
        self.operations.clear()
        self._sources.clear()
        self._live, self._ran_backward, self.began = 0, False, perf_counter_ns()

    def stop(self) -> None:
        """End the recording."""
        self.active = False
        self._forget_nodes()
        self._mode.__exit__()
        self._kernels.__exit__()
        self.time = perf_counter_ns() - self.began
        self._sources.clear()

    def _begin(self, name: str, function: Any, places: tuple[Place, ...] | None = None) -> Operation:
        parent = self._open[-1].index if self._open else None
        if places is None:
            places = self._open[-1].places if self._open else place_in_stack()
        operation = Operation(len(self.operations), name, self._current_phase(), parent, places, function)
        self.operations.append(operation)
        self._open.append(operation)
        return operation

    def _end(self, operation: Operation, results: Any) -> None:
        operation.time = perf_counter_ns() - operation.start
        while self._open and self._open.pop() is not operation:
            pass
        inputs = operation.view_of is not None or operation.written
        for result in _arrays_in(results):
            operation.outputs.append(self.describe(result))
            if not inputs:
                self._own(result, operation)
        operation.bytes = 0 if inputs else operation.bytes
        operation.live = self._live

    def _current_phase(self) -> str:
        if self._optimizer is not None and not torch.is_grad_enabled():  # else the closure of the optimizer
            return OPTIMIZER
        if any(operation.phase == BACKWARD for operation in self._open):
            return BACKWARD
        return OPTIMIZER if self._ran_backward and not torch.is_grad_enabled() else FORWARD

    # --- functions ---

    def begin_call(self, name: str, function: Any, args: Any, kwargs: Any) -> _OpenCall:
        """Open the operation of a function that is called; `RecordingMode` calls this."""
        operation = self._begin(name, function, place_in_stack())
        found = facts_of(name)
        operation.record = OPS.get(name) or (None if found is None else OPS.get(found.name))
        tensors: list[tuple[int, Any, int]] = []
        names = _parameter_names(function)
        labels = [*names[: len(args)], *[""] * (len(args) - len(names)), *(kwargs or {})]
        for label, value in zip(labels, (*args, *(kwargs or {}).values()), strict=True):
            for leaf in flatten(value)[0]:
                if isinstance(leaf, torch.Tensor):
                    tensors.append((len(operation.inputs), leaf, _version(leaf)))
                operation.inputs.append(self.describe(leaf, label))
        call = _OpenCall(operation, tensors)
        operation.start = perf_counter_ns()
        return call

    def end_call(self, call: _OpenCall, result: Any) -> None:
        """Close the operation of a function that has returned `result`, or None after an exception."""
        operation = call.operation
        stop = perf_counter_ns()
        operation.written = [position for position, tensor, version in call.tensors if _version(tensor) != version]
        if not operation.written:
            storages = [storage for array in _arrays_in(result) if (storage := getattr(array, "_storage", None)) is not None]
            shared = (p for p, tensor, _ in call.tensors if any(tensor._storage is storage for storage in storages))
            operation.view_of = next(shared, None)
        operation.start += perf_counter_ns() - stop  # the time of these comparisons is not the operation's
        self._end(operation, result)

    # --- the backward pass ---

    def _observe_node(self, node: Node) -> None:
        if get_ident() != self._thread:
            return
        record = _record_of(node)
        recorded_by = self._open[-1].index if self._open else None
        rule = Rule(type(node).__name__, _rules_of(node, record), [self._saved(name, value) for name, value in _saved_by(node)])
        if self._open and (self._open[-1].rule is None or record is self._open[-1].record):
            self._open[-1].rule = rule
        places = self._open[-1].places if self._open else place_in_stack()
        reference = weakref.ref(node)

        def apply(F: Any, gradient: Any, unpack: Any, edges: Any = None) -> Any:
            node = reference()
            assert node is not None  # the caller has it
            compute = type(node).apply
            if not self.active or get_ident() != self._thread:
                return compute(node, F, gradient, unpack, edges)
            self._ran_backward = True
            operation = self._begin(type(node).__name__, None, places)
            operation.phase, operation.record, operation.forward, operation.rule = BACKWARD, record, recorded_by, rule
            operation.inputs = [self.describe(array, "gradient") for array in _arrays_in(gradient)]
            operation.start = perf_counter_ns()
            gradients = None
            try:
                gradients = compute(node, F, gradient, unpack, edges)
                return gradients
            finally:
                self._end(operation, gradients)

        node.__dict__["apply"] = apply

    def _saved(self, name: str, value: Any) -> Array:
        if is_saved_tensor(value):
            return self.describe(value[0], name)
        if isinstance(value, (tuple, list)) and value and all(map(is_saved_tensor, value)):
            described = [self.describe(item[0]) for item in value]
            text = ", ".join(str(list(item.shape or ())) for item in described)
            return Array(name, text, bytes=sum(item.bytes for item in described))
        return Array(name, _short(value))

    # --- kernels ---

    def _observe_kernel(self, call: KernelCall) -> None:
        if get_ident() != self._thread:
            return
        if self._open and self._open[-1] is not self._optimizer:
            self._open[-1].kernels.append(call)
            call.release()
            return
        operation = self._begin(call.name, call.function)
        if self._optimizer is None and self._ran_backward and torch.is_grad_enabled():
            operation.phase = BACKWARD  # the engine converts a gradient to the shape of its tensor
        operation.start = perf_counter_ns() - call.time
        operation.record = record = OPS.get(call.name.removesuffix("_"))
        labels = (*(() if record is None or record.variadic else record.tensor_names), *[""] * len(call.args))
        operation.inputs = [self.describe(value, label) for label, value in zip(labels, call.args, strict=False)]
        operation.kernels.append(call)
        operation.written = _written_by(call)
        operation.view_of = 0 if record is not None and record.view and not operation.written else None
        self._end(operation, call.result)
        call.release()

    # --- optimizers ---

    def begin_optimizer(self, optimizer: Any, has_closure: bool) -> None:
        """Open the operation of an optimizer's `step`.

        Inside it, only kernels are observed, unless it has a closure: with a mode, optimizers would not use their fused kernels.
        """
        if not self.active or get_ident() != self._thread:
            return
        self._pauses_mode = not has_closure and open_modes.get()[-1:] == (self._mode,)
        if self._pauses_mode:
            self._mode.__exit__()
        self._optimizer = self._begin(f"{type(optimizer).__name__}.step", type(optimizer).step, place_in_stack())
        self._optimizer.phase = OPTIMIZER
        self._optimizer.start = perf_counter_ns()

    def end_optimizer(self) -> None:
        """Close the operation of an optimizer's `step`."""
        if self._optimizer is not None:
            self._end(self._optimizer, None)
            if self._pauses_mode:
                self._mode.__enter__()
        self._optimizer = None

    # --- tensors and arrays ---

    def describe(self, value: Any, name: str = "") -> Array:
        """Return the description of a value."""
        array = getattr(value, "_array", value) if isinstance(value, torch.Tensor) else value
        if not (hasattr(array, "shape") and hasattr(array, "dtype")):
            return Array(name, _short(value))
        shape = tuple(value.shape)
        dtype = value.dtype if isinstance(value, torch.Tensor) else array.dtype
        leaf = isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf
        size = getattr(dtype, "itemsize", 0)
        text = str(dtype).removeprefix("torch.")
        return Array(name, "", shape, text, prod(shape) * size, self._sources.get(id(array)), leaf)

    def _own(self, result: Any, operation: Operation) -> None:
        """Note that the operation computed an array, which counts as live memory until it is freed."""
        array = getattr(result, "_array", result)
        size, key = operation.outputs[-1].bytes, id(array)
        operation.bytes += size
        if self._sources.setdefault(key, operation.index) != operation.index:  # an inner operation computed it
            self._sources[key] = operation.index
            return
        try:
            weakref.finalize(array, self._free, key, size).atexit = False
        except TypeError:  # the library's arrays have no weak references
            self._sources.pop(key)
            return
        self._live += size

    def _free(self, key: int, size: int) -> None:
        if self._sources.pop(key, None) is not None:  # else the array is from before `restart`
            self._live -= size


def _arrays_in(value: Any) -> Iterator[Any]:
    """Yield the tensors and arrays in the result of a call."""
    for leaf in flatten(value)[0]:
        if isinstance(leaf, torch.Tensor) or (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            yield leaf


@functools.cache
def _parameter_names(function: Any) -> tuple[str, ...]:
    """Return the names of the positional parameters of a function."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a compiled function
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # tensors of inference mode have none
        return 0


def _written_by(call: KernelCall) -> list[int]:
    """Return the positions of the arguments that a kernel writes to."""
    if call.name.endswith("_step"):  # an optimizer's kernel writes to all arguments except the gradient
        return [position for position in range(len(call.args)) if position != 1]
    return [0] if call.in_place else []


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


# --- nodes --------------------------------------------------------------------------------------------------------

_records: dict[type, Record] = {}  # {node class: record}


def _record_of(node: Node) -> Record | None:
    """Return the operation that a node belongs to; None for the node of a user-defined Function."""
    for cls in type(node).__mro__:
        if cls is Node:
            return None
        if cls not in _records:
            _records.update({NAMESPACE[f"node_{name}"]: record for name, record in OPS.items() if f"node_{name}" in NAMESPACE})
        if cls in _records:
            return _records[cls]
    return None


def _rules_of(node: Node, record: Record | None) -> list[Callable[..., Any]]:
    if record is not None:
        return [record.vjp] if record.vjp is not None else list(record.rules.values())
    custom = getattr(type(node), "_forward_cls", None)
    return [type(node).apply] if custom is None else [custom.backward]


def _saved_by(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the names and the values that a node has saved."""
    context = getattr(node, "ctx", None)
    if context is not None:
        for position, saved in enumerate(getattr(context, "_saved", None) or ()):
            yield f"saved_tensors[{position}]", saved
        return
    for cls in type(node).__mro__:
        if cls is Node:
            return
        for name in vars(cls).get("__slots__", ()):
            value = getattr(node, name, None)
            if value is not None:
                yield name, value

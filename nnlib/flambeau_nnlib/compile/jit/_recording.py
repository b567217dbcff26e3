"""Record the operators that a traced function calls on its examples, for `torch.jit.trace`.

This is the tracer of `torch.export` with two differences: all sizes are computed again in each call; and if Python control
flow depends on a size or tensor value, the trace follows the examples and warns.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.library.dispatch_modes import disable_modes
from flambeau.utils import pytree

from ..export._export import restoring_state, run_program, tracking_modules
from ..export._operators import to_operator_call
from ..export._sizes import Known, SizeExpression, SizeGuards, is_symbolic
from ..export._tracing import Recording, TensorSpec, with_concrete_numbers
from ..fx.graph import Graph
from ..fx.interpreter import Interpreter
from ..fx.node import Node
from ._printing import KeyedByTensors, input_type

__all__ = ["Recorded", "TraceRecording", "TracerWarning", "Tracing", "current_recording", "record"]

_CORE = (str(Path(torch.__file__ or "").parent) + os.sep, "<flambeau.")
_LIBRARY = str(Path(sys.modules[__package__.partition(".")[0]].__file__ or "").parent) + os.sep
_MACHINERY = ("_tracing.py", "_recording.py", "_sizes.py")

_CONSTANT = (
    "We can't record the data flow of Python values, so this value will be treated as a constant in the future. This means that "
    "the trace might not generalize to other inputs!"
)
_FIXED_LENGTH = (
    "Passing a tensor of different shape won't change the number of iterations executed (and might lead to errors or silently "
    "give incorrect results)."
)
_USE_SHAPE = "Recommended usage would be tensor.shape[0]. " + _FIXED_LENGTH

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

    def node_of(self, value: Any) -> Any:
        """Replace tensors and symbolic numbers in an argument by their nodes, also in the keys of dictionaries."""
        if isinstance(value, dict) and any(isinstance(key, Tensor) for key in value):
            return KeyedByTensors(self.node_of([*value]), self.node_of([*value.values()]))
        return super().node_of(value)

    def tensor_spec(self, tensor: Tensor, known: list[Known]) -> TensorSpec:
        """Return the metadata of a tensor; all sizes are unknown."""
        return super().tensor_spec(tensor, [(dim, SizeExpression(f"size({dim})")) for dim in range(tensor.dim())])

    def decided(self, number: Any) -> Any:
        """Return the value that a symbolic number has for the examples. Warn, unless a layer is validating its input."""
        kind = {torch.SymBool: "boolean", torch.SymFloat: "float"}.get(type(number), "index")
        self._warn(f"Converting a tensor to a Python {kind}")
        return number.value

    def _warn(self, what: str, reason: str = _CONSTANT) -> None:
        """Warn that a call makes the trace depend on the example inputs, unless code of the library made the call."""
        frame = sys._getframe(1)
        while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
            frame = frame.f_back
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            message = f"{what} might cause the trace to be incorrect. {reason}"
            warnings.warn_explicit(message, TracerWarning, frame.f_code.co_filename, frame.f_lineno)

    def _read_values(self, func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        if name != "__index__" and any(id(arg) not in self.literals for arg in args if isinstance(arg, Tensor)):
            kind = {"__bool__": "boolean", "__float__": "float", "__contains__": "boolean"}.get(name, "integer")
            self._warn(f"Converting a tensor to a Python {kind}")
        return func(*args, **kwargs)

    def _item(self, tensor: Tensor) -> Any:
        if id(tensor) not in self.literals:
            self._warn("Converting a tensor to a Python number")
        return Tensor.item(tensor)

    def _trace_tolist(self, tensor: Tensor) -> Any:
        if id(tensor) not in self.literals:
            self._warn("Converting a tensor to a Python list")
        return Tensor.tolist(tensor)

    def _trace_len(self, tensor: Tensor) -> Any:
        if tensor.dim():
            self._warn("Using len to get tensor shape", _USE_SHAPE)
        return Tensor.__len__(tensor)

    def _convert_to_array(self, func: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        self._warn("Converting a tensor to a NumPy array")
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

    def _create_tensor(self, name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if any(hasattr(leaf, "__array_interface__") for leaf in pytree.tree_leaves((args, kwargs))):
            return func(*args, **kwargs)  # recorded as a constant
        return super()._create_tensor(name, func, args, kwargs)

    def _emit_function(self, name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if name.endswith("unbind") and _is_iterating():
            self._warn("Iterating over a tensor", _FIXED_LENGTH)
        if name.endswith(".detach_"):
            node = self._create(torch.ops.aten.detach.default, (self.node_of(args[0]),), {})
            result = func(*args, **kwargs)
            self.set_node(result, node, self.tensor_spec(result, []))
            return result
        try:
            call = to_operator_call(name, func, args, kwargs)
        except RuntimeError:  # no operator: the trace calls the function, and cannot be saved
            return self.called(func, args, kwargs)
        return self.emit(call)

    def release_tensors(self) -> None:
        """Release the tensors of the run, except constants. The graph keeps the sizes for the examples."""
        for node in self.graph.nodes:
            value = node.meta.get("val")
            for spec in value if isinstance(value, tuple) else (value,):
                if isinstance(spec, TensorSpec):
                    spec.shape = torch.Size([getattr(size, "value", size) for size in spec.shape])
                elif is_symbolic(spec):
                    spec.origin.make = None
        for known in (self.nodes, self.specs, self.kept_alive, self.literals, self.without_grad, self.size_nodes):
            known.clear()

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


@contextmanager
def _recording_functions(recording: TraceRecording) -> Iterator[None]:
    """Record each call of a user-defined `autograd.Function` as a single call, so that the trace keeps its backward."""
    if torch._C._get_tracing_state() is not None:  # graphs that programs inspect contain operators only
        yield
        return

    def record_call(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return recording.called(cls.apply, args, kwargs) if current_recording() is recording else NotImplemented

    function: Any = torch.autograd.Function
    former, function._recorder = function._recorder, record_call
    try:
        yield
    finally:
        function._recorder = former


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
    contexts = restoring_state(module, False), tracking_modules(recording), _recording_functions(recording), Tracing()
    with torch.random.fork_rng(), ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        result = run_program(recording, function, args, kwargs)  # type: ignore[arg-type]  # which calls it
    result = pytree.tree_map(lambda leaf: recording._tensor_of_numbers(leaf, {}) if is_symbolic(leaf) else leaf, result)
    recording.graph.output(recording.node_of(result) if _is_of_tensors(result) else _refuse_result(result))
    recording.release_tensors()
    return recording


def _is_machinery(file: str) -> bool:
    """Whether a file belongs to the implementation of tensors or of value checks, so that its lines are not user code."""
    return file.startswith(_CORE) or (file.startswith(_LIBRARY) and Path(file).name in _MACHINERY)


def _is_iterating() -> bool:
    """Whether the operator that is being recorded was called by `Tensor.__iter__`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
        if frame.f_code is Tensor.__iter__.__code__:
            return True
        frame = frame.f_back
    return False


class _Run(Interpreter):
    """Run the graph of a trace, with the scripted submodules of a module."""

    def __init__(self, recorded: Recorded, owner: nn.Module | None) -> None:
        super().__init__(nn.Module(), graph=recorded.recording.graph)
        self.paths, self.owner = recorded.recording.paths, owner

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function. A scripted submodule is found by its path, because the owner may be a copy of the traced module."""
        if isinstance(target, nn.Module) and self.owner is not None and id(target) in self.paths:
            target = self.owner.get_submodule(self.paths[id(target)])
        return target(*args, **kwargs)


class Recorded:
    """The recorded operators of a function.

    Args:
        function: the function, or a module.
        args, kwargs: the example inputs: tensors, and containers of tensors.
        strict: refuse results that contain dictionaries, and warn about those that contain lists.
        owner: the module whose parameters and buffers remain inputs of the graph.

    Raises:
        RuntimeError: an input or result has an unsupported type, or the function uses a tensor that requires grad and is
            neither an input nor a parameter of the module.
    """

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], strict: bool, owner: nn.Module | None = None
    ) -> None:
        self.signature = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
        bound = self.signature.bind(*args, **kwargs)
        for value in bound.arguments.values():
            if not isinstance(value, (tuple, dict)) or value:  # `*args` and `**kwargs` may be empty
                input_type(value)  # raises an error for unsupported types
        self.args, self.kwargs = bound.args, bound.kwargs
        self.recording = record(nn.Module() if owner is None else owner, function, self.args, self.kwargs)
        nodes: list[Node] = list(self.recording.graph.nodes)
        if strict:
            _check_containers(nodes[-1].args[0])
        names = {node: name for name, node in self.recording.constant_nodes.items()}
        self._inputs: list[tuple[str, Any]] = []
        for node in nodes:
            if node.op == "placeholder":
                kind = next((kind for kind in ("state", "input") if kind in node.meta), "constant")
                self._inputs.append((kind, names[node] if kind == "constant" else node.meta[kind]))
                if kind == "constant" and self.recording.constants[names[node]].requires_grad:
                    raise RuntimeError(
                        "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                        f"detaching the gradient\nTensor: {names[node]}"
                    )

    def __call__(self, owner: nn.Module | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the operators with the parameters and buffers of `owner`."""
        bound = self.signature.bind(*args, **kwargs)
        leaves = [*_leaves_like((self.args, self.kwargs), (bound.args, bound.kwargs))]
        values = []
        for kind, key in self._inputs:
            if kind == "state":
                path, _, name = key.rpartition(".")
                assert owner is not None
                values.append(getattr(owner.get_submodule(path), name))
            else:
                values.append(leaves[key] if kind == "input" else self.recording.constants[key])
        return _mutable(_Run(self, owner).run(*values))

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorded:
        return self

    def differs_from(self, other: Recorded) -> bool:
        """Whether another trace of the function has other operators or constants."""
        mine, others = self.recording.constants, other.recording.constants
        calls = [
            [
                (getattr(node.target, "qualified_name", node.target), str(node.args), str(node.kwargs))
                for node in each.recording.graph.nodes
            ]
            for each in (self, other)
        ]
        return (
            calls[0] != calls[1]
            or mine.keys() != others.keys()
            or not all(torch.allclose(mine[name], others[name], equal_nan=True) for name in mine)
        )


def _check_containers(result: Any) -> None:
    """Refuse dictionaries in the result of a trace, and warn about lists."""
    parts = _containers(result)
    kinds: dict[type, tuple[type, ...]] = {dict: (dict, KeyedByTensors), list: (list,)}
    kind = next((kind for kind, types in kinds.items() if any(isinstance(part, types) for part in parts)), None)
    if kind is None:
        return
    message = (
        f"Encountering a {kind.__name__} at the output of the tracer might cause the trace to be incorrect, this is only valid "
        "if the container structure does not change based on the module's inputs. Consider using a constant container instead "
        "(e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know "
        "the side effects, pass strict=False to trace() to allow this behavior."
    )
    if kind is dict:
        raise RuntimeError(message)
    warnings.warn(message, TracerWarning, stacklevel=5)


def _leaves_like(example: Any, value: Any) -> Iterator[Tensor]:
    """Yield the tensors in the containers of an example. Dictionaries may have another order and more keys."""
    if isinstance(example, Tensor) and isinstance(value, Tensor):
        yield value
    elif isinstance(example, dict) and isinstance(value, dict) and example.keys() <= value.keys():
        for key, item in example.items():
            yield from _leaves_like(item, value[key])
    elif isinstance(example, (list, tuple)) and isinstance(value, (list, tuple)) and len(example) == len(value):
        for mine, other in zip(example, value, strict=True):
            yield from _leaves_like(mine, other)
    else:
        raise RuntimeError(
            f"a traced function takes tensors in the same containers as its example inputs: expected a "
            f"{type(example).__name__}, but got a {type(value).__name__}"
        )


def _mutable(value: Any) -> Any:
    """Replace the immutable lists and dictionaries of graphs by ordinary ones."""
    if isinstance(value, dict):
        return {key: _mutable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_mutable(item) for item in value]
    if isinstance(value, KeyedByTensors):
        return dict(zip(*map(_mutable, value), strict=True))
    if isinstance(value, tuple):
        items = [_mutable(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _containers(value: Any) -> list[Any]:
    """Return all containers in a nested value, with the value itself."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [value, *(part for item in items for part in _containers(item))]


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
    if isinstance(value, list):
        return all(isinstance(item, Tensor) and not is_symbolic(item) for item in value)
    if isinstance(value, tuple):
        return all(map(_is_of_tensors, value))
    return isinstance(value, Tensor) and not is_symbolic(value)


def _refuse_result(value: Any) -> Any:
    raise RuntimeError(
        f"Tracer cannot infer type of {value!r}: Only tensors and (possibly nested) tuples of tensors, lists, or dicts are "
        f"supported as inputs or outputs of traced functions, but instead got value of type {type(value).__name__}. Lists may "
        "contain only tensors."
    )

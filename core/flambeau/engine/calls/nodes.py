"""Node classes of operations, and saving of the values that derivative rules take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..devices.state import state
from ..tape.node import RELEASED, Node, Output, remember_trace
from ..tape.saved import SAVE_HOOKS, check_saved, refuse_inference, saved_members
from ..tape.transforming import note_depth
from ..tensors.tensor import Tensor, alias
from ..values import dtypes
from .codegen import compiled
from .record import Operation

__all__ = [
    "attach_outputs",
    "make_node_class",
    "observe_nodes",
    "observe_record",
    "save",
    "save_output",
    "unpack_all",
    "wanted_by_rules",
]


def wanted_by_rules(record: Operation) -> dict[str, list[str]]:
    """Return, for each value that derivative rules take, the names of the arguments whose rules take it."""
    wanted_by: dict[str, list[str]] = {}
    rules = record.rules if not record.vjp else {record.tensor_names[0]: record.vjp}
    for argument, rule in rules.items():
        for name in _parameters_of(rule):
            wanted_by.setdefault(name, []).append(argument)
    return wanted_by


def _parameters_of(rule: Callable[..., Any]) -> tuple[str, ...]:
    return rule.__code__.co_varnames[2 : rule.__code__.co_argcount]


def make_node_class(record: Operation) -> type[Node]:
    """Generate the node class of an operation: it has slots for saved values, and an `apply` without loops."""
    fields = [name for name in wanted_by_rules(record) if name != "needs"]
    tensors = [name for name in fields if name in record.tensor_names or name in (record.results) or name == "out"]
    freed = tuple(name for name in fields if name in record.freed)
    many = {"out"} if record.results or record.returns_list else set()
    many |= {"tensors"} if record.variadic else set()

    def load(name: str) -> str:
        if name == "needs":
            return "tuple(edge is not None for edge in edges)"
        if name in many:
            return f"unpack_all(self.{name}, self, unpack)"
        if name in freed:
            return f"(self.{name} if self.{name} is not RELEASED else check_saved(RELEASED, self))"
        return f"unpack(self.{name}, self)" if name in tensors else f"self.{name}"

    def call(rule: str, function: Callable[..., Any]) -> str:
        return f"{rule}({', '.join(['F', 'g', *map(load, _parameters_of(function))])})"

    scope: dict[str, Any] = {f"rule_{key}": rule for key, rule in record.rules.items()}
    if record.vjp or record.variadic:
        function = record.vjp or record.rules["tensors"]
        scope["rule"] = function
        body = f"return {call('rule', function)}"
    else:
        parts = [
            f"None if edges[{i}] is None else {call(f'rule_{name}', record.rules[name])}"
            for i, name in enumerate(record.edge_names)
        ]
        body = f"return ({', '.join(parts)},)"
    text = f"def apply(self, F, g, unpack, edges=None):\n    edges = edges or self.edges\n    {body}\n"
    released = (*tensors, *freed)
    if released:
        text += f"def release(self):\n    {' = '.join(f'self.{name}' for name in released)} = RELEASED\n"
    exec(compiled(text, record.node_name), {**scope, **_CALLED}, scope)
    members = {"__slots__": tuple(fields), "saves": released, "freed": freed, "apply": scope["apply"], "__module__": "flambeau"}
    if released:
        members["release"] = scope["release"]
    if record.decompose is not None:
        members["decompose"] = record.decompose
    members["along"] = record.overload_node_name
    for name in fields:
        members |= saved_members(name, name in tensors)
    return type(record.node_name, (Node,), members)


# --- what generated code calls ------------------------------------------------------------------------------------


def save(tensor: Tensor) -> Any:
    """Return a saved tensor: `(tensor, current array, current version)`."""
    storage = tensor._storage
    if tensor._inference:
        refuse_inference()
    if SAVE_HOOKS:
        return SAVE_HOOKS[-1].pack(tensor)
    return tensor, tensor._array, (0 if storage is None else storage.version)


def save_output(result: Tensor, index: int) -> Any:
    """Save a result for its own node, as an alias without history: this avoids a reference cycle."""
    holder = alias(result)
    holder._storage = result._storage or result._own_storage()
    holder.__dict__["_output_of"] = index
    return save(holder)


def unpack_all(saved: Any, node: Node, unpack: Callable[[Any, Node], Any]) -> Any:
    if saved and saved[0] == "released":
        return unpack(saved, node)
    return [unpack(item, node) for item in saved]


_CALLED = {"unpack_all": unpack_all, "check_saved": check_saved, "RELEASED": RELEASED}  # what a generated `apply` calls


def observe_record(node: Node, result: Any) -> None:
    """Notify anomaly mode, profilers and running `torch.func` transforms of a recorded call."""
    for observer in state.node_observers:
        observer(node)
    if state.anomaly_mode:
        remember_trace(node)
    if state.mutation_guards:
        for tensor in result if isinstance(result, list) else (result,):
            note_depth(tensor)


def observe_nodes(observer: Callable[[Node], None]) -> Callable[[], None]:
    """Call `observer` with each new node, until the returned function is called."""
    state.node_observers += (observer,)
    state.update_observing()

    def forget() -> None:
        state.node_observers = tuple(other for other in state.node_observers if other is not observer)
        state.update_observing()

    return forget


def attach_outputs(node: Node, results: Sequence[Tensor]) -> None:
    for index, result in enumerate(results):
        if result._key.dtype.category >= dtypes.FLOATING:
            result._node = Output(node, index)
            result._requires_grad = True

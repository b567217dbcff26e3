"""Convert recorded graphs to TorchScript functions with one line per operator."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import flambeau as torch
from flambeau.extension import Kind, facts_of

from ..fx.node import Node
from ._graph import Note, Type
from ._types import literal, quote

if TYPE_CHECKING:
    from ._program import Program
    from ._recording import TraceRecording

__all__ = ["KeyedByTensors", "attribute_path", "function_body", "input_type", "trace_metadata"]

# TorchScript code for Python operators on sizes.
_NUMBERS = {
    operator.add: "torch.add({}, {})", operator.sub: "torch.sub({}, {})", operator.mul: "torch.mul({}, {})",
    operator.floordiv: "torch.floordiv({}, {})", operator.mod: "torch.remainder({}, {})", operator.truediv: "torch.div({}, {})",
    operator.pow: "torch.pow({}, {})", operator.neg: "torch.neg({})", operator.pos: "{}", operator.abs: "ops.prim.abs({})",
    operator.lt: "torch.lt({}, {})", operator.le: "torch.le({}, {})", operator.gt: "torch.gt({}, {})",
    operator.ge: "torch.ge({}, {})", operator.eq: "torch.eq({}, {})", operator.ne: "torch.ne({}, {})",
    operator.not_: "torch.__not__({})", operator.and_: "torch.__and__({}, {})", operator.or_: "torch.__or__({}, {})",
    operator.getitem: "{}[{}]",
}  # fmt: skip
_NAMED = {"trunc": "int({})", "floor": "torch.floor({})", "ceil": "torch.ceil({})"}
_RENAMED = {"lift_fresh_copy": "clone", "sym_size": "size"}


class KeyedByTensors(NamedTuple):
    """A dictionary with tensors as keys, in a graph. Graphs replace tensors by nodes in lists, but not in keys."""

    keys: list[Any]
    values: list[Any]


def attribute_path(path: str, owner: str = "self") -> str:
    """Return the code of an attribute, such as `self.layer.weight`, using `getattr` for names that are not identifiers."""
    for name in path.split(".") if path else []:
        owner = f"{owner}.{name}" if name.isidentifier() else f"getattr({owner}, {quote(name)})"
    return owner


def input_type(value: Any) -> str:
    """Return the TorchScript type of an example input: a tensor, or a container of tensors.

    Raises:
        RuntimeError: the value is neither.
    """
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, (list, tuple)) and value:
        kinds = [input_type(item) for item in value]
        if isinstance(value, tuple):
            return f"Tuple[{', '.join(kinds)}]"
        if len(set(kinds)) == 1:
            return f"List[{kinds[0]}]"
    if isinstance(value, dict) and value:
        keys, of_values = {type(key) for key in value}, {input_type(item) for item in value.values()}
        if len(of_values) == 1 and keys in ({str}, {int}):
            return f"Dict[{keys.pop().__name__}, {of_values.pop()}]"
    raise RuntimeError(
        f"Type '{type(value).__name__}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors "
        "can be traced"
    )


def output_type(value: Any) -> str:
    """Return the TorchScript type of a function's result, given the result with graph nodes in place of tensors."""
    if isinstance(value, KeyedByTensors):
        return output_type(value.values).replace("List[", "Dict[Tensor, ", 1)
    if isinstance(value, (tuple, list, dict)):
        kinds = [output_type(item) for item in (value.values() if isinstance(value, dict) else value)]
        if isinstance(value, tuple):
            return f"Tuple[{', '.join(kinds)}]"
        if len(set(kinds)) > 1:
            raise RuntimeError(
                f"a traced function returns a {type(value).__name__} of several types, which TorchScript does not support"
            )
        return f"List[{kinds[0]}]" if isinstance(value, list) else f"Dict[{type(next(iter(value))).__name__}, {kinds[0]}]"
    return "Tensor"


class _Printer:
    def __init__(self, recording: TraceRecording, program: Program, inputs: dict[int, str]) -> None:
        self.recording, self.program, self.inputs = recording, program, inputs
        self.lines: list[str] = []
        self.constants = {node: name for name, node in recording.constant_nodes.items()}

    def lines_of(self) -> tuple[list[str], str]:
        """Return the lines of the function body, and the type of the result."""
        kind = "Tensor"
        for node in self.recording.graph.nodes:
            if node.op == "output":
                result = node.args[0]
                kind = output_type(result)
                self.lines.append(f"return {self.text(result)}")
            elif node.op == "placeholder":
                self.names_input(node)
            elif node.op == "call_function":
                self.call(node)
            else:
                raise RuntimeError(f"torch.jit.trace: {node.target} cannot be saved in a trace: use torch.jit.script instead")
        return self.lines, kind

    def names_input(self, node: Node) -> None:
        if "state" in node.meta:
            if node.users:
                self.lines.append(f"{node.name} = {attribute_path(node.meta['state'])}")
        elif "input" in node.meta:
            place = self.inputs[node.meta["input"]]
            if place != node.name:
                self.lines.append(f"{node.name} = {place}")
        elif node.users:
            tensor = self.recording.constants[self.constants[node]]
            if tensor.requires_grad:
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                    f"detaching the gradient\nTensor: {self.constants[node]}"
                )
            self.lines.append(f"{node.name} = {self.program.constant(tensor)}")

    def text(self, value: Any) -> str:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, (list, torch.Size)):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, KeyedByTensors):
            pairs = zip(map(self.text, value.keys), map(self.text, value.values), strict=True)
            return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.text, value))}{',' * (len(value) == 1)})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{literal(key)}: {self.text(item)}" for key, item in value.items()) + "}"
        return literal(value)

    def call(self, node: Node) -> None:
        target: Any = node.target
        ops: Any = torch._ops
        if isinstance(target, ops.OpOverload):
            expression = self.operator(node, target)
        elif target in _NUMBERS:
            expression = _NUMBERS[target].format(*map(self.text, node.args))
        elif getattr(target, "__name__", "") in _NAMED:
            expression = _NAMED[target.__name__].format(*map(self.text, node.args))
        elif isinstance(target, (torch.nn.Module, torch.jit.ScriptFunction)):
            expression = f"{self.program.callee(target, self.recording)}({self.arguments(node.args, node.kwargs)})"
        else:
            raise RuntimeError(f"torch.jit.trace: {target} cannot be saved in a trace: use torch.jit.script instead")
        self.lines.append(f"{node.name} = {expression}")

    def arguments(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.text, args), *(f"{name}={self.text(value)}" for name, value in kwargs.items())])

    def operator(self, node: Node, target: Any) -> str:
        packet = target.overloadpacket
        name = _RENAMED.get(packet.__name__, packet.__name__)
        space = "torch" if packet.namespace == "aten" else f"ops.{packet.namespace}"
        args, kwargs = list(node.args), dict(node.kwargs)
        if name == "item":
            kind = {torch.SymBool: "bool", torch.SymFloat: "float"}.get(type(node.meta["val"]), "int")
            return f"{kind}({self.text(args[0])})"
        schema = target._schema
        if _creates(name) and "dtype" not in kwargs:
            kwargs["dtype"] = node.meta["val"].dtype
        positional = [argument for argument in schema.arguments if not argument.kwarg_only]
        by_name = [argument.name for argument in schema.arguments if argument.kwarg_only]
        kwargs.update(zip(by_name, args[len(positional) :], strict=False))
        written = [self.argument(value, argument.type) for value, argument in zip(args, positional, strict=False)]
        written += [f"{key}={self.text(value)}" for key, value in kwargs.items()]
        return f"{space}.{name}({', '.join(written)})"

    def argument(self, value: Any, kind: str) -> str:
        """Return the code of an operator's argument, given its type in the schema."""
        text = self.text(value)
        if kind == "Tensor?[]":
            return f"annotate(List[Optional[Tensor]], {text})"
        if text == "[]" or (value is None and re.fullmatch(r"(Sym)?[Ii]nt\[\d*\]", kind)):
            return "annotate(List[int], [])"
        return text


def _creates(name: str) -> bool:
    """Whether an operator creates a tensor from numbers, whose dtype may depend on the default dtype."""
    facts = facts_of(name)
    return facts is not None and facts.kind in (Kind.FACTORY, Kind.RANDOM)


def function_body(recording: TraceRecording, program: Program, inputs: dict[int, str]) -> tuple[list[str], str]:
    """Return the lines of a function body, and the type of its result.

    Args:
        recording: the graph and its constants.
        program: the program that collects constants and called functions.
        inputs: the code of each leaf of the example inputs, by index, such as `x` or `x[1]`.
    """
    return _Printer(recording, program, inputs).lines_of()


def trace_metadata(recording: TraceRecording, inputs: dict[int, str]) -> dict[str, Note]:
    """Return the metadata of the values in a trace: types for the examples, submodules, and source lines.

    Args:
        recording: the graph.
        inputs: the code of each leaf of the example inputs, by index.
    """
    notes: dict[str, Note] = {}
    for node in recording.graph.nodes:
        spec: Any = node.meta.get("val")
        if not hasattr(spec, "shape"):
            continue
        sizes = [getattr(size, "value", size) for size in spec.shape]
        stack = [path for path, _ in node.meta.get("nn_module_stack", {}).values() if path]
        scope = "/".join(node.meta.get("scopes") or (f"__module.{path}" for path in stack))
        lines = [line.strip() for line in node.meta.get("stack_trace", "").splitlines() if line.startswith("  File ")]
        source = lines[-1].replace('File "', "").replace('", line ', ":").partition(",")[0] if lines else ""
        name = inputs[node.meta["input"]] if "input" in node.meta else node.name
        notes[name] = Note(Type("Tensor", sizes, spec.dtype, spec.device, spec.requires_grad), scope, source)
    return notes

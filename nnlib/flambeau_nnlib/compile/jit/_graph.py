"""Graphs of scripted and traced functions, as PyTorch prints them: nodes with values, and blocks for branches and loops.

Graphs are for inspection only; the Python code is what runs. `_graph_building` creates them from the code written by
`torch.jit.save`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import flambeau as torch
from flambeau.extension import facts_of

__all__ = ["Block", "DeviceObjType", "FloatType", "Graph", "Node", "Note", "TensorType", "Type", "Value"]

_KINDS = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "NoneType": "NoneType",
          "Device": "DeviceObjType", "Function": "FunctionType", "Any": "AnyType", "Scalar": "NumberType",
          "complex": "ComplexType", "number": "NumberType"}  # fmt: skip
_SCALAR_NAMES = {torch.float32: "Float", torch.float64: "Double", torch.int64: "Long", torch.int32: "Int", torch.bool: "Bool",
                 torch.float16: "Half", torch.bfloat16: "BFloat16", torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short",
                 torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble"}  # fmt: skip


class Type:
    """The type of a value.

    Args:
        text: the type in graph notation: `Tensor`, `int[]`, `Dict(str, int)`, `Tensor?`.
        sizes, dtype, device, requires_grad: the metadata of a tensor in a trace, for the example inputs; None if unknown.
    """

    def __init__(
        self, text: str, sizes: list[int] | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> None:
        self.text, self._sizes, self._dtype, self._device, self._requires_grad = text, sizes, dtype, device, requires_grad

    def kind(self) -> str:
        """Return the kind of type, such as `TensorType`, `ListType` or `IntType`."""
        if self.text == "Tensor":
            return "TensorType"
        if self.text.endswith("?"):
            return "OptionalType"
        if self.text.endswith("[]"):
            return "ListType"
        if self.text.startswith("("):
            return "TupleType"
        if self.text.startswith("Dict("):
            return "DictType"
        return _KINDS.get(self.text, "ClassType" if self.text.startswith("__torch__") else "InterfaceType")

    def sizes(self) -> list[int] | None:
        """Return the sizes of a tensor in a trace, or None."""
        return self._sizes

    def dim(self) -> int | None:
        """Return the number of dimensions of a tensor in a trace, or None."""
        return None if self._sizes is None else len(self._sizes)

    def dtype(self) -> Any:
        """Return the dtype of a tensor in a trace, or None."""
        return self._dtype

    def device(self) -> Any:
        """Return the device of a tensor in a trace, or None."""
        return self._device

    def requires_grad(self) -> bool:
        """Whether a tensor in a trace requires a gradient."""
        return self._requires_grad

    def scalarType(self) -> str | None:
        """Return the dtype name of a tensor in a trace, such as `Float`, or None."""
        return _SCALAR_NAMES.get(self._dtype)

    def getElementType(self) -> Type:
        """Return the element type of a list or optional type.

        Raises:
            RuntimeError: the type is neither a list nor optional.
        """
        for end in ("[]", "?"):
            if self.text.endswith(end):
                return Type(self.text.removesuffix(end))
        raise RuntimeError(f"{self.text} has no element type")

    def elements(self) -> list[Type]:
        """Return the element types of a tuple type.

        Raises:
            RuntimeError: the type is not a tuple.
        """
        if not self.text.startswith("("):
            raise RuntimeError(f"{self.text} is not a tuple type")
        parts, depth = [""], 0
        for sign in self.text[1:-1]:
            depth += (sign in "([") - (sign in ")]")
            if sign == "," and not depth:
                parts.append("")
            else:
                parts[-1] += sign
        return [Type(part.strip()) for part in parts if part.strip()]

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether this type equals `other`, or `other` is the optional form of this type."""
        return self.text == other.text or self.text + "?" == other.text

    def described(self) -> str:
        """Return the type as printed in graphs, including the metadata of tensors in a trace."""
        if self._sizes is None:
            return self.text
        sizes = "".join(f"{size}, " for size in self._sizes)
        return f"{self.scalarType()}({sizes}requires_grad={int(self._requires_grad)}, device={self._device})"

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class TensorType(Type):
    """The type `Tensor` without a known shape or dtype. Libraries use this class in annotations.

    >>> torch.TensorType.get()
    Tensor
    """

    def __init__(self) -> None:
        super().__init__("Tensor")

    @staticmethod
    def get() -> TensorType:
        """Return the tensor type."""
        return TensorType()


class FloatType(Type):
    """The type of floating-point numbers.

    >>> torch.FloatType.get().kind()
    'FloatType'
    """

    def __init__(self) -> None:
        super().__init__("float")

    @staticmethod
    def get() -> FloatType:
        """Return the type."""
        return FloatType()


class DeviceObjType(Type):
    """The TorchScript type of `torch.device` values. Libraries use this class in annotations.

    >>> torch.DeviceObjType.get().kind()
    'DeviceObjType'
    """

    def __init__(self) -> None:
        super().__init__("Device")

    @staticmethod
    def get() -> DeviceObjType:
        """Return the device type."""
        return DeviceObjType()


class Note(NamedTuple):
    """The metadata of a value in a trace: its type for the examples, the submodule that computed it, and the source line."""

    type: Type
    scope: str
    source: str


class Value:
    """A value in a graph: an input of a block, or an output of a node."""

    def __init__(self, name: str, type: Type, node: Node, place: int) -> None:
        self._name, self._type, self._node, self._place = name, type, node, place
        self._uses: list[Use] = []

    def debugName(self) -> str:
        """Return the name of the value."""
        return self._name

    def rename(self, name: str) -> None:
        """Change the name of the value."""
        self._name = name

    setDebugName = rename

    def type(self) -> Type:
        """Return the TorchScript type of the value, such as `TensorType`."""
        return self._type

    def node(self) -> Node:
        """Return the node that produces the value; for inputs, a node of kind `prim::Param`."""
        return self._node

    def uses(self) -> list[Use]:
        """Return the nodes that use the value."""
        return list(self._uses)

    def offset(self) -> int:
        """Return the index of the value among the outputs of its node."""
        return self._place

    def unique(self) -> int:
        """Return a number that identifies the value."""
        return id(self)

    def requires_grad(self) -> bool:
        """Whether a tensor in a trace requires a gradient."""
        return self._type.requires_grad()

    requiresGrad = requires_grad

    def isCompleteTensor(self) -> bool:
        """Whether the value is a tensor with known sizes."""
        return self._type.sizes() is not None

    def toIValue(self) -> Any:
        """Return the value of a constant; None for other values."""
        return self._node.attributes.get("value") if self._node.kind() == "prim::Constant" else None

    def __str__(self) -> str:
        return f"{self._name} defined in ({self._node.line()})"

    __repr__ = __str__


class Use:
    """A use of a value as the input of a node.

    Attributes:
        user: the node.
        offset: the index among the node's inputs.
    """

    def __init__(self, user: Node, offset: int) -> None:
        self.user, self.offset = user, offset


class Node:
    """An operation in a graph: a call of an operator, a constant, a branch or a loop."""

    def __init__(self, kind: str, inputs: list[Value], attributes: dict[str, Any] | None = None) -> None:
        self._kind, self.attributes = kind, attributes or {}
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._blocks: list[Block] = []
        self.scope, self.source = "", ""
        for value in inputs:
            self.add_input(value)

    def add_input(self, value: Value) -> None:
        value._uses.append(Use(self, len(self._inputs)))
        self._inputs.append(value)

    def add_output(self, name: str, type: Type) -> Value:
        self._outputs.append(Value(name, type, self, len(self._outputs)))
        return self._outputs[-1]

    def add_block(self, block: Block) -> None:
        self._blocks.append(block)

    def kind(self) -> str:
        """Return the kind of node, such as `aten::linear` or `prim::If`."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """Iterate over the inputs."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """Iterate over the outputs."""
        return iter(list(self._outputs))

    def inputsSize(self) -> int:
        """Return the number of inputs."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """Return the number of outputs."""
        return len(self._outputs)

    def inputsAt(self, i: int) -> Value:
        """Return the input at an index."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:
        """Return the output at an index."""
        return self._outputs[i]

    def input(self) -> Value:
        """Return the only input.

        Raises:
            RuntimeError: the node does not have exactly one input.
        """
        return _only(self._inputs, "input")

    def output(self) -> Value:
        """Return the only output.

        Raises:
            RuntimeError: the node does not have exactly one output.
        """
        return _only(self._outputs, "output")

    def hasMultipleOutputs(self) -> bool:
        """Whether the node has more than one output."""
        return len(self._outputs) > 1

    def hasUses(self) -> bool:
        """Whether any output is used."""
        return any(value.uses() for value in self._outputs)

    def blocks(self) -> Iterator[Block]:
        """Iterate over the branches of an `if`, or the body of a loop."""
        return iter(list(self._blocks))

    def attributeNames(self) -> list[str]:
        """Return the names of the attributes, such as `value` of a constant or `name` of `prim::GetAttr`."""
        return [name for name, value in self.attributes.items() if value is not None]

    def hasAttribute(self, name: str) -> bool:
        """Whether the node has an attribute of this name."""
        return name in self.attributeNames()

    def hasAttributes(self) -> bool:
        """Whether the node has attributes."""
        return bool(self.attributeNames())

    def kindOf(self, name: str) -> str:
        """Return the kind of an attribute: `i`, `f`, `s`, `t` for a tensor, or `ival` for others."""
        value = self.attributes[name]
        kinds = {bool: "i", int: "i", float: "f", str: "s"}
        return kinds.get(type(value), "t" if isinstance(value, torch.Tensor) else "ival")

    def s(self, name: str) -> Any:
        """Return an attribute."""
        return self.attributes[name]

    i = f = t = ival = s

    def pyname(self) -> str:
        """Return the name of the Python function that a node of the kind `prim::PythonOp` calls."""
        return str(self.attributes["pyname"])

    def isNondeterministic(self) -> bool:
        """Whether the operator draws random numbers. Dropout does in training only."""
        namespace, _, name = self._kind.partition("::")
        facts = facts_of(name) if namespace == "aten" else None
        if facts is None or not facts.random:
            return False
        return "dropout" not in name or self._inputs[-1].toIValue() is not False

    def scopeName(self) -> str:
        """Return the path of the submodule in a trace, such as `__module.layer1/__module.layer1.0`."""
        return self.scope

    def sourceRange(self) -> str:
        """Return the source line of the call in a trace."""
        return self.source

    def mustBeNone(self) -> bool:
        """Whether the node is the constant None."""
        return self._kind == "prim::Constant" and self.attributes.get("value") is None

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """Return the first node of a given kind in the blocks of this node, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Return all nodes of a given kind in the blocks of this node."""
        return [node for block in self._blocks for node in block.findAllNodes(kind, recurse)]

    def line(self) -> str:
        """Return the printed node without its blocks."""
        outputs = ", ".join(f"%{value.debugName()} : {value.type().described()}" for value in self._outputs)
        names = [f"{name}={_printed(value, name)}" for name, value in self.attributes.items() if value is not None]
        attributes = f"[{', '.join(names)}]" if names else ""
        inputs = ", ".join(f"%{value.debugName()}" for value in self._inputs)
        scope = f", scope: {self.scope}" if self.scope else ""
        source = f" # {self.source}" if self.source else ""
        kind = f"^{self.pyname()}()" if self._kind == "prim::PythonOp" else f"{self._kind}{attributes}"
        return f"{outputs} = {kind}({inputs}){scope}{source}"

    def lines(self, indent: str = "") -> list[str]:
        found = [indent + self.line()]
        for place, block in enumerate(self._blocks):
            inputs = ", ".join(f"%{value.debugName()} : {value.type().described()}" for value in block.inputs())
            found.append(f"{indent}  block{place}({inputs}):")
            found += [line for node in block.nodes() for line in node.lines(indent + "    ")]
            found.append(f"{indent}    -> ({', '.join('%' + value.debugName() for value in block.outputs())})")
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines()) + "\n"

    __repr__ = __str__


class Block:
    """A list of nodes with inputs and outputs."""

    def __init__(self) -> None:
        self._param, self._return = Node("prim::Param", []), Node("prim::Return", [])
        self._nodes: list[Node] = []

    def inputs(self) -> Iterator[Value]:
        """Iterate over the inputs of the block."""
        return self._param.outputs()

    def outputs(self) -> Iterator[Value]:
        """Iterate over the outputs of the block."""
        return self._return.inputs()

    def nodes(self) -> Iterator[Node]:
        """Iterate over the nodes."""
        return iter(list(self._nodes))

    def paramNode(self) -> Node:
        """Return the node whose outputs are the inputs of the block."""
        return self._param

    def returnNode(self) -> Node:
        """Return the node whose inputs are the outputs of the block."""
        return self._return

    def add(self, node: Node) -> Node:
        self._nodes.append(node)
        return node

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """Return the first node of a given kind, also in nested blocks, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """Return all nodes of a given kind, also in nested blocks."""
        found: list[Node] = []
        for node in self._nodes:
            found += [node] if node.kind() == kind else []
            found += node.findAllNodes(kind) if recurse else []
        return found


class Graph(Block):
    """The graph of a function.

    >>> graph = torch.jit.trace(torch.relu, torch.ones(2)).graph
    >>> [node.kind() for node in graph.nodes()]
    ['aten::relu']
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: set[str] = set()
        self._number = 0

    def named(self, name: str | None = None) -> str:
        """Return an unused name for a value."""
        if name is None:
            self._number += 1
            name = str(self._number)
        number, free = 0, name
        while free in self._names:
            number += 1
            free = f"{name}.{number}"
        self._names.add(free)
        return free

    def block(self) -> Block:
        """Return the outermost block, the graph itself."""
        return self

    param_node, return_node = Block.paramNode, Block.returnNode

    def lint(self) -> None:
        """Do nothing: graphs are always well formed."""

    def __str__(self) -> str:
        inputs = ",\n      ".join(f"%{value.debugName()} : {value.type().described()}" for value in self.inputs())
        lines = [line for node in self.nodes() for line in node.lines("  ")]
        result = ", ".join(f"%{value.debugName()}" for value in self.outputs())
        return "\n".join([f"graph({inputs}):", *lines, f"  return ({result})", ""])

    __repr__ = __str__


def _only(values: list[Value], what: str) -> Value:
    if len(values) != 1:
        raise RuntimeError(f"the node has {len(values)} {what}s, but exactly one was expected")
    return values[0]


def _printed(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, torch.Tensor):
        return "<Tensor>"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
    return repr(value)

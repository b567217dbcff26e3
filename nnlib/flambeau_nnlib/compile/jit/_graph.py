"""The graph of a scripted or traced function, as PyTorch shows it: nodes with values, and blocks of nodes for branches and loops.

It is for reading: what runs is the Python code. `_graph_building` makes it of the code that `torch.jit.save` writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import flambeau as torch

__all__ = ["Block", "DeviceObjType", "Graph", "Node", "Note", "TensorType", "Type", "Value"]

_KINDS = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "NoneType": "NoneType",
          "Device": "DeviceObjType", "Function": "FunctionType", "Any": "AnyType", "Scalar": "NumberType",
          "complex": "ComplexType", "number": "NumberType"}  # fmt: skip
_SCALAR_NAMES = {torch.float32: "Float", torch.float64: "Double", torch.int64: "Long", torch.int32: "Int", torch.bool: "Bool",
                 torch.float16: "Half", torch.bfloat16: "BFloat16", torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short",
                 torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble"}  # fmt: skip


class Type:
    """The type of a value.

    Args:
        text: as graphs write it: `Tensor`, `int[]`, `Dict(str, int)`, `Tensor?`.
        sizes, dtype, device, requires_grad: of a tensor in a trace, for the examples; None where they are not known.
    """

    def __init__(
        self, text: str, sizes: list[int] | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> None:
        self.text, self._sizes, self._dtype, self._device, self._requires_grad = text, sizes, dtype, device, requires_grad

    def kind(self) -> str:
        """`TensorType`, `ListType`, `IntType` ..."""
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
        """The sizes of a tensor in a trace."""
        return self._sizes

    def dim(self) -> int | None:
        """How many dimensions a tensor in a trace has."""
        return None if self._sizes is None else len(self._sizes)

    def dtype(self) -> Any:
        """The dtype of a tensor in a trace."""
        return self._dtype

    def device(self) -> Any:
        """The device of a tensor in a trace."""
        return self._device

    def requires_grad(self) -> bool:
        """Whether a tensor in a trace requires a gradient."""
        return self._requires_grad

    def scalarType(self) -> str | None:
        """The name of the dtype of a tensor in a trace: `Float`."""
        return _SCALAR_NAMES.get(self._dtype)

    def getElementType(self) -> Type:
        """The type of the elements of a list, or inside of an optional type.

        Raises:
            RuntimeError: it is of another type.
        """
        for end in ("[]", "?"):
            if self.text.endswith(end):
                return Type(self.text.removesuffix(end))
        raise RuntimeError(f"{self.text} has no element type")

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether it is the other type, or that without None."""
        return self.text == other.text or self.text + "?" == other.text

    def described(self) -> str:
        """The type as graphs print it: of a tensor in a trace with what is known of it."""
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
    """The type of tensors of which nothing more is known; libraries annotate with the class.

    >>> torch.TensorType.get()
    Tensor
    """

    def __init__(self) -> None:
        super().__init__("Tensor")

    @staticmethod
    def get() -> TensorType:
        """The type."""
        return TensorType()


class DeviceObjType(Type):
    """The type of devices; libraries annotate with the class.

    >>> torch.DeviceObjType.get().kind()
    'DeviceObjType'
    """

    def __init__(self) -> None:
        super().__init__("Device")

    @staticmethod
    def get() -> DeviceObjType:
        """The type."""
        return DeviceObjType()


class Note(NamedTuple):
    """What a trace knows of a value: its type for the examples, the submodule that computed it, and the program's line."""

    type: Type
    scope: str
    source: str


class Value:
    """A value: an input of a block, or an output of a node."""

    def __init__(self, name: str, type: Type, node: Node, place: int) -> None:
        self._name, self._type, self._node, self._place = name, type, node, place
        self._uses: list[Use] = []

    def debugName(self) -> str:
        """Its name."""
        return self._name

    def type(self) -> Type:
        """Its type."""
        return self._type

    def node(self) -> Node:
        """The node that it is an output of; for inputs, one of the kind `prim::Param`."""
        return self._node

    def uses(self) -> list[Use]:
        """The nodes that it is an input of."""
        return list(self._uses)

    def offset(self) -> int:
        """Which of the node's outputs it is."""
        return self._place

    def unique(self) -> int:
        """A number that no other value has."""
        return id(self)

    def requires_grad(self) -> bool:
        """Whether it requires a gradient, of a tensor in a trace."""
        return self._type.requires_grad()

    requiresGrad = requires_grad

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor whose sizes are known."""
        return self._type.sizes() is not None

    def toIValue(self) -> Any:
        """What it is, of a constant; None for others."""
        return self._node.attributes.get("value") if self._node.kind() == "prim::Constant" else None

    def __str__(self) -> str:
        return f"{self._name} defined in ({self._node.line()})"

    __repr__ = __str__


class Use:
    """A node that a value is an input of.

    Attributes:
        user: the node.
        offset: which of its inputs.
    """

    def __init__(self, user: Node, offset: int) -> None:
        self.user, self.offset = user, offset


class Node:
    """A call of an operator, a constant, a branch or a loop."""

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
        """`aten::linear`, `prim::If` ..."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """Its inputs."""
        return iter(list(self._inputs))

    def outputs(self) -> Iterator[Value]:
        """Its outputs."""
        return iter(list(self._outputs))

    def inputsSize(self) -> int:
        """How many inputs it has."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many outputs it has."""
        return len(self._outputs)

    def inputsAt(self, i: int) -> Value:
        """One of its inputs."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:
        """One of its outputs."""
        return self._outputs[i]

    def input(self) -> Value:
        """Its only input.

        Raises:
            RuntimeError: it has not one.
        """
        return _only(self._inputs, "input")

    def output(self) -> Value:
        """Its only output.

        Raises:
            RuntimeError: it has not one.
        """
        return _only(self._outputs, "output")

    def hasMultipleOutputs(self) -> bool:
        """Whether it has several outputs."""
        return len(self._outputs) > 1

    def hasUses(self) -> bool:
        """Whether any of its outputs is used."""
        return any(value.uses() for value in self._outputs)

    def blocks(self) -> Iterator[Block]:
        """The branches of an `if`, or the body of a loop."""
        return iter(list(self._blocks))

    def attributeNames(self) -> list[str]:
        """The names of its attributes: `value` of a constant, `name` of what a module is asked for."""
        return [name for name, value in self.attributes.items() if value is not None]

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute."""
        return name in self.attributeNames()

    def hasAttributes(self) -> bool:
        """Whether it has any attribute."""
        return bool(self.attributeNames())

    def kindOf(self, name: str) -> str:
        """The kind of an attribute: `i`, `f`, `s`, `t` for a tensor, `ival` for others."""
        value = self.attributes[name]
        kinds = {bool: "i", int: "i", float: "f", str: "s"}
        return kinds.get(type(value), "t" if isinstance(value, torch.Tensor) else "ival")

    def s(self, name: str) -> Any:
        """An attribute."""
        return self.attributes[name]

    i = f = t = ival = s

    def scopeName(self) -> str:
        """In a trace, the path of the submodule in which it is: `__module.layer1/__module.layer1.0`."""
        return self.scope

    def sourceRange(self) -> str:
        """In a trace, the line of the program that called it."""
        return self.source

    def mustBeNone(self) -> bool:
        """Whether it is the constant None."""
        return self._kind == "prim::Constant" and self.attributes.get("value") is None

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind in its blocks."""
        return [node for block in self._blocks for node in block.findAllNodes(kind, recurse)]

    def line(self) -> str:
        """The node without its blocks."""
        outputs = ", ".join(f"%{value.debugName()} : {value.type().described()}" for value in self._outputs)
        names = [f"{name}={_printed(value, name)}" for name, value in self.attributes.items() if value is not None]
        attributes = f"[{', '.join(names)}]" if names else ""
        inputs = ", ".join(f"%{value.debugName()}" for value in self._inputs)
        scope = f", scope: {self.scope}" if self.scope else ""
        source = f" # {self.source}" if self.source else ""
        return f"{outputs} = {self._kind}{attributes}({inputs}){scope}{source}"

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
    """Nodes in order, with inputs and outputs."""

    def __init__(self) -> None:
        self._param, self._return = Node("prim::Param", []), Node("prim::Return", [])
        self._nodes: list[Node] = []

    def inputs(self) -> Iterator[Value]:
        """Its inputs."""
        return self._param.outputs()

    def outputs(self) -> Iterator[Value]:
        """What it gives."""
        return self._return.inputs()

    def nodes(self) -> Iterator[Node]:
        """Its nodes."""
        return iter(list(self._nodes))

    def paramNode(self) -> Node:
        """A node whose outputs are the inputs of the block."""
        return self._param

    def returnNode(self) -> Node:
        """A node whose inputs are the outputs of the block."""
        return self._return

    def add(self, node: Node) -> Node:
        self._nodes.append(node)
        return node

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, also in the blocks of nodes."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind, also in the blocks of nodes."""
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
        """A name that no other value has."""
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
        """Itself, as the outermost block."""
        return self

    param_node, return_node = Block.paramNode, Block.returnNode

    def lint(self) -> None:
        """Nothing: each value is defined before it is used."""

    def __str__(self) -> str:
        inputs = ",\n      ".join(f"%{value.debugName()} : {value.type().described()}" for value in self.inputs())
        lines = [line for node in self.nodes() for line in node.lines("  ")]
        result = ", ".join(f"%{value.debugName()}" for value in self.outputs())
        return "\n".join([f"graph({inputs}):", *lines, f"  return ({result})", ""])

    __repr__ = __str__


def _only(values: list[Value], what: str) -> Value:
    if len(values) != 1:
        raise RuntimeError(f"the node has {len(values)} {what}s, not one")
    return values[0]


def _printed(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, torch.Tensor):
        return "<Tensor>"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return repr(value)

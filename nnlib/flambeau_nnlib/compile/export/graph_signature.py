"""The signature of an exported graph: which inputs and outputs are parameters, buffers, constants or user values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec",
    "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor argument. `name` is its node."""

    name: str


@dataclass
class TokenArgument:
    """A token that orders side effects. `name` is its node."""

    name: str


@dataclass
class SymIntArgument:
    """A symbolic integer, such as a size. `name` is its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A symbolic float. `name` is its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A symbolic boolean. `name` is its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of another class. `name` is its node, and `class_fqn` its class."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A constant argument. `value` is its value."""

    name: str
    value: Any


class InputKind(Enum):
    """The role of a graph input."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """The role of a graph output."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass
class InputSpec:
    """The specification of a graph input: its role, its node, and the name of the parameter, buffer or constant it holds."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """The specification of a graph output: its role, its node, and the name of the parameter, buffer or input that it updates."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """The outputs that are gradients, for graphs that contain their backward pass."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The signature of an exported graph.

    The inputs are all parameters, buffers and constants, followed by the user inputs.

    Args:
        input_specs: the specification of each placeholder.
        output_specs: the specification of each output.
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(spec.target) for spec in self.input_specs if spec.kind is kind)

    def _by_node(self, kind: InputKind) -> dict[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self.input_specs if spec.kind is kind}

    def _written(self, kind: OutputKind) -> dict[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self.output_specs if spec.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are not part of the state dict."""
        return tuple(str(spec.target) for spec in self.input_specs if spec.kind is InputKind.BUFFER and spec.persistent is False)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constant tensors, which are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """The names of lifted custom objects; always empty."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the user inputs' nodes; for constant inputs, their values."""
        return tuple(_value(spec.arg) for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the user outputs' nodes; for constant outputs, their values."""
        return tuple(_value(spec.arg) for spec in self.output_specs if spec.kind is OutputKind.USER_OUTPUT)

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Map placeholders to the names of their parameters."""
        return self._by_node(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Map placeholders to the names of their buffers."""
        return self._by_node(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Map placeholders to the names of their constants."""
        return self._by_node(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        """Map placeholders to the names of custom objects; always empty."""
        return self._by_node(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Map outputs to the names of the buffers that they update."""
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """Map outputs to the names of the parameters that they update."""
        return self._written(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """Map outputs to the names of the user inputs that they update."""
        return self._written(OutputKind.USER_INPUT_MUTATION)

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """Tokens that order side effects, among the inputs; always empty."""
        return tuple(spec.arg.name for spec in self.input_specs if spec.kind is InputKind.TOKEN)

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """Tokens that order side effects, among the outputs; always empty."""
        return tuple(spec.arg.name for spec in self.output_specs if spec.kind is OutputKind.TOKEN)

    @property
    def backward_signature(self) -> None:
        """Always None: exported graphs contain no backward pass."""

    @property
    def assertion_dep_token(self) -> None:
        """Always None: assertions are ordered by their position in the graph."""

    def replace_all_uses(self, old: str, new: str) -> None:
        """Replace one node name by another in all specifications.

        Args:
            old, new: the names of the nodes.
        """
        specs: list[InputSpec | OutputSpec] = [*self.input_specs, *self.output_specs]
        for spec in specs:
            if spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        inputs = "\n".join(map(str, self.input_specs))
        outputs = "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _value(arg: Any) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name

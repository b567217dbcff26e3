"""`ExportedProgram`: a graph of operators, its parameters and constants, and the signature of its inputs and outputs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.utils import pytree

from ..fx._codegen import CodeGen, PyTreeCodeGen, PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ._decomposing import decompose
from ._sizes import is_symbolic
from .decompositions import default_decompositions
from .dynamic_shapes import Constraint
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


@dataclass
class ModuleCallSignature:
    """The call signature of a module.

    Attributes:
        inputs, outputs: the entries of its inputs and outputs in the graph signature; empty for the whole program.
        in_spec, out_spec: the pytree structure of inputs and outputs.
        forward_arg_names: the names of the inputs.
    """

    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A module of the exported program.

    Attributes:
        fqn: the path of the module; empty for the whole program.
        signature: its call signature, if it was preserved.
    """

    fqn: str
    signature: ModuleCallSignature | None = None


class ExportedProgram:
    """A program captured by `torch.export.export`.

    Args:
        root: a module that owns the graph, or the submodules that the graph uses.
        graph: the graph. Its placeholders are parameters, buffers and constants, followed by the user inputs.
        graph_signature: the meaning of the graph's inputs and outputs.
        state_dict: parameters and persistent buffers, by name.
        range_constraints: the range of each dynamic size, by name.
        module_call_graph: the call signatures of modules; the first entry belongs to the entire program.
        example_inputs: the inputs that the program was exported with.
        constants: non-persistent buffers and constant tensors, by name.
        verifiers: accepted and ignored.

    >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    >>> print(program.graph_signature)
    <BLANKLINE>
    # inputs
    p_weight: PARAMETER target='weight'
    p_bias: PARAMETER target='bias'
    input_1: USER_INPUT
    <BLANKLINE>
    # outputs
    linear: USER_OUTPUT
    <BLANKLINE>
    """

    def __init__(
        self,
        root: nn.Module | dict[str, Any],
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[str, Constraint],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: dict[str, Any] | None = None,
        *,
        verifiers: Any = None,
    ) -> None:
        graph._codegen = CodeGen()
        self._graph_module = root if isinstance(root, GraphModule) and root.graph is graph else GraphModule(root, graph)
        self._graph_module.recompile()
        self._graph_signature, self._state_dict, self._range_constraints = graph_signature, state_dict, range_constraints
        self._module_call_graph, self._example_inputs, self._constants = module_call_graph, example_inputs, constants or {}
        self._size_labels: dict[str, str] = {}  # maps each symbol to the user's name of the dynamic size

    # --- parts ---

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module that takes parameters, buffers and constants as inputs."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """The meaning of the graph's inputs and outputs."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers, by name."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Non-persistent buffers and constant tensors, by name."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[str, Constraint]:
        """The range of each dynamic size, by name."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The call signatures of the program and its preserved submodules."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The example inputs, as a pair of positional and keyword arguments."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: tuple[tuple[Any, ...], dict[str, Any]] | None) -> None:
        self._example_inputs = value

    @property
    def call_spec(self) -> Any:
        """The pytree structure of inputs and outputs."""
        return _CallSpec(self._signature.in_spec, self._signature.out_spec)

    @property
    def dialect(self) -> str:
        """The kind of graph: `TRAINING` if it contains in-place operators, else `ATEN`, as after `run_decompositions`."""
        return "TRAINING" if any(_is_in_place(node) for node in self.graph.nodes) else "ATEN"

    @property
    def verifier(self) -> Any:
        """Always None. `validate` checks programs."""

    @property
    def verifiers(self) -> list[Any]:
        """Always empty. `validate` checks programs."""
        return []

    @property
    def _signature(self) -> ModuleCallSignature:
        signature = self._module_call_graph[0].signature
        assert signature is not None
        return signature

    def parameters(self) -> Iterator[nn.Parameter]:
        """Iterate over the parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Iterate over pairs of name and parameter."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self) -> Iterator[Tensor]:
        """Iterate over the buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Iterate over pairs of name and buffer."""
        for name in self.graph_signature.buffers:
            yield name, self.tensor_named(name)

    def tensor_named(self, name: str) -> Tensor:
        """Return the parameter, buffer or constant with the given name.

        Args:
            name: the name.

        Raises:
            KeyError: the program has no tensor of that name.
        """
        tensor: Tensor = self._state_dict[name] if name in self._state_dict else self._constants[name]
        return tensor

    # --- running ---

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def module(self, check_guards: bool = True) -> GraphModule:
        """Return the program as a module with its parameters and buffers. It is called like the original module.

        Args:
            check_guards: raise an AssertionError for inputs whose sizes the program does not support.
        """
        return _unlift(self, check_guards)

    def run_decompositions(self, decomp_table: dict[Any, Any] | None = None, decompose_custom_triton_ops: bool = False) -> Any:
        """Return the program without in-place operators, with its operators decomposed.

        New values of mutated buffers and inputs become outputs of the graph, listed in its signature. `module()` writes them
        back.

        Args:
            decomp_table: maps operators to functions that decompose them; by default `default_decompositions()`.
            decompose_custom_triton_ops: accepted and ignored.

        Raises:
            RuntimeError: the program has no example inputs, which it needs to run on.

        >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),)).run_decompositions()
        >>> [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
        ['aten.permute.default', 'aten.addmm.default']
        """
        return decompose(self, default_decompositions() if decomp_table is None else decomp_table)

    def validate(self) -> None:
        """Check that the graph is well formed, and that its inputs and outputs match the signature.

        Raises:
            RuntimeError: one of these checks failed.
        """
        self.graph.lint()
        placeholders = [node.name for node in self.graph.nodes if node.op == "placeholder"]
        if placeholders != [spec.arg.name for spec in self.graph_signature.input_specs]:
            raise RuntimeError("the placeholders of the graph do not match the inputs of its signature")
        for spec in self.graph_signature.input_specs:
            if spec.target is not None and spec.target not in self._state_dict and spec.target not in self._constants:
                raise RuntimeError(f"the graph needs {spec.target}, which is not a parameter, buffer or constant of the program")

    # --- representation and copies ---

    def __str__(self) -> str:
        text = self.graph_module.print_readable(print_output=False, colored=False).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {text}\nGraph signature: {self.graph_signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        return self._with(copy.deepcopy(self.graph_module, memo), copy.deepcopy(self.graph_signature, memo))

    def _with(self, graph_module: GraphModule, signature: ExportGraphSignature) -> ExportedProgram:
        """Return the program with another graph and signature."""
        copied = ExportedProgram(
            graph_module, graph_module.graph, signature, self._state_dict, self._range_constraints, self._module_call_graph,
            self._example_inputs, self._constants,
        )  # fmt: skip
        copied._size_labels = self._size_labels
        return copied


@dataclass
class _CallSpec:
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec


def _is_in_place(node: Node) -> bool:
    name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    return name.endswith("_") and not name.endswith("__")


# --- programs as modules ------------------------------------------------------------------------------------------


class ModuleCodeGen(PyTreeCodeGen):
    """Generates a `forward` whose arguments have the names and nested containers of the original module."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        args, kwargs = (spec.num_children for spec in self.pytree_info.in_spec.children_specs)
        names = self.pytree_info.orig_args
        positional, named = names[:args], names[args:]
        assert kwargs == len(named)
        definition = CodeGen.gen_fn_def(self, ["self", *names], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return definition
        by_name = ", ".join(f"{name!r}: {name}" for name in named)
        leaves = ", ".join(name.partition(":")[0].partition("#")[0].strip() for name in free_vars)
        given = f"([{', '.join(positional)}], {{{by_name}}})"
        return f"{definition}\n    {leaves}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"


class _Guards(nn.Module):
    """Raise an AssertionError for inputs whose sizes the program does not support."""

    def __init__(self, specs: list[tuple[str, Any]], ranges: dict[str, Constraint]) -> None:
        super().__init__()
        self.specs, self.ranges = specs, ranges

    def forward(self, *inputs: Any) -> None:
        sizes: dict[str, int] = {}
        for (name, spec), value in zip(self.specs, inputs, strict=True):
            if hasattr(spec, "shape"):
                self.check(name, spec, value, sizes)
            elif type(spec) in (int, float, str, bool) and spec != value:
                raise AssertionError(f"Guard failed: {name} == {spec!r}")

    def check(self, name: str, spec: Any, value: Tensor, sizes: dict[str, int]) -> None:
        """Check one input. `sizes` maps symbols to the sizes in the inputs checked before; symbols of this input are added."""
        if value.dim() != spec.ndim:
            raise AssertionError(f"Guard failed: len({name}.size()) == {spec.ndim}")
        if value.dtype != spec.dtype:
            raise AssertionError(f"Guard failed: {name}.dtype == {spec.dtype}")
        for dim, expected in enumerate(spec.shape):
            size = value.shape[dim]
            if not is_symbolic(expected):
                if size != expected:
                    raise AssertionError(f"Guard failed: {name}.size()[{dim}] == {expected}")
                continue
            linear = expected.origin.linear
            symbol = next(key for key, factor in linear.items() if key and factor)
            number, rest = divmod(size - linear.get("", 0), linear[symbol])
            if rest or sizes.setdefault(symbol, number) != number:
                raise AssertionError(f"Guard failed: {name}.size()[{dim}] == {expected}, where {symbol} is {sizes.get(symbol)}")
            limits = self.ranges.get(symbol, Constraint())
            if number not in limits:
                raise AssertionError(
                    f"Guard failed: {name}.size()[{dim}] = {size}, where {symbol} is {number} and not in {limits}"
                )


def _unlift(program: ExportedProgram, check_guards: bool) -> GraphModule:
    """Return the program as a module. Parameters, buffers and constants become attributes, and mutations are written back."""
    signature, call = program.graph_signature, program._signature
    graph = Graph()
    copies: dict[Node, Node] = {}
    root: dict[str, Any] = dict(program.graph_module.named_children())
    inputs: list[tuple[Node, Any]] = []
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for node in placeholders:
        if specs[node.name].kind is InputKind.USER_INPUT:
            copies[node] = graph.node_copy(node)
            inputs.append((copies[node], node.meta.get("val")))
    used = {arg for node in program.graph.nodes for arg in node.all_input_nodes}
    for node in placeholders:
        spec = specs[node.name]
        if spec.target is not None:
            root[spec.target] = program.tensor_named(spec.target)
            if node in used or spec.kind is not InputKind.CONSTANT_TENSOR:
                copies[node] = graph.create_node("get_attr", spec.target, name=spec.target.replace(".", "_"))
                copies[node].meta.update(node.meta)
    if check_guards:
        root["_guards_fn"] = _Guards([(node.name, value) for node, value in inputs], program.range_constraints)
        graph.call_module("_guards_fn", tuple(node for node, _ in inputs))
    for node in program.graph.nodes:
        if node.op not in ("placeholder", "output"):
            copies[node] = graph.node_copy(node, lambda used: copies[used])
    outputs: list[Any] = []
    results = program.graph.output_node().args[0]
    by_target = {spec.target: copies[node] for node in placeholders if (spec := specs[node.name]).target is not None}
    by_target |= {node.name: copies[node] for node in placeholders if node in copies}
    for output, value in zip(signature.output_specs, results, strict=True):
        if output.kind is OutputKind.USER_OUTPUT:
            outputs.append(copies[value] if isinstance(value, Node) else value)
        else:
            assert output.target is not None  # the output is the new value of the tensor named `target`
            graph.call_function(torch.ops.aten.copy_.default, (by_target[output.target], copies[value]))
    graph.output(tuple(outputs))
    graph._codegen = ModuleCodeGen(PyTreeInfo(parameters_of_call(call), call.in_spec, call.out_spec))
    module = GraphModule(_targets(graph, root), graph)
    for name, value in root.items():
        if isinstance(value, Tensor):
            set_at_path(module, name, value, name in signature.buffers)
    return module


def _targets(graph: Graph, root: dict[str, Any]) -> dict[str, Any]:
    return {node.target: root[node.target] for node in graph.nodes if node.op in ("get_attr", "call_module")}


def set_at_path(module: nn.Module, path: str, tensor: Tensor, is_buffer: bool) -> None:
    """Register a parameter, buffer or constant at a dotted path."""
    *owners, name = path.split(".")
    for owner in owners:
        if not hasattr(module, owner):
            module.add_module(owner, nn.Module())
        module = getattr(module, owner)
    if isinstance(tensor, nn.Parameter):
        module.register_parameter(name, tensor)
    elif name in module._buffers or is_buffer:
        module.__dict__.pop(name, None)
        module.register_buffer(name, tensor)
    else:
        setattr(module, name, tensor)


def parameters_of_call(call: ModuleCallSignature) -> list[str]:
    """Return one name per argument of a call; a container with several tensors gets a single name."""
    args, kwargs = call.in_spec.children_specs
    names = list(call.forward_arg_names or [])
    found: list[str] = []
    for number, child in enumerate(args.children_specs):
        own, names = names[: child.num_leaves], names[child.num_leaves :]
        found.append(own[0] if child.type is None else _container_name(own) or f"arg_{number}")
    return [*found, *kwargs.context] if kwargs.num_children else found


def _container_name(names: list[str]) -> str:
    """Return the name of a container: the common prefix of the names of its leaves, without the index."""
    return names[0].rpartition("_")[0] if names else ""


def default_argument(value: Any) -> Any:
    """Return the value of a constant argument; return other arguments unchanged."""
    return value.value if isinstance(value, ConstantArgument) else value

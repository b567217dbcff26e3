"""Implementation of `ExportedProgram.run_decompositions`: functionalize a program and decompose its operators."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.utils import pytree

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from ._functionalizing import functionalize
from ._sizes import SizeGuards, concrete, is_symbolic
from ._tracing import Recording, TensorSpec, copy_expression
from .graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

if TYPE_CHECKING:
    from .exported_program import ExportedProgram

__all__ = ["decompose", "functionalize_program", "remove_unused"]

_WRITTEN = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.CONSTANT_TENSOR: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def functionalize_program(program: ExportedProgram) -> ExportedProgram:
    """Return the program without in-place operators. The new values of mutated buffers and inputs become
    the first outputs of the graph.
    """
    graph, written = functionalize(program.graph)
    signature = copy.deepcopy(program.graph_signature)
    results = list(graph.output_node().args[0])
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    mutations = []
    for origin, node in written:
        spec = specs[origin.name]
        mutations.append((OutputSpec(_WRITTEN[spec.kind], TensorArgument(node.name), spec.target or origin.name), node))
    graph.output_node().args = (tuple([node for _, node in mutations] + results),)
    outputs = list(signature.output_specs)
    for output, value in zip(outputs, results, strict=True):
        if isinstance(value, Node):
            output.arg.name = value.name
    signature.output_specs = [spec for spec, _ in mutations] + outputs
    remove_unused(graph)
    return program._with(GraphModule(_submodules(program), graph), signature)


def decompose(program: ExportedProgram, table: dict[Any, Any]) -> ExportedProgram:
    """Return the program without in-place operators, with its operators decomposed by the functions of a table.

    Args:
        program: the program.
        table: maps operators, such as `torch.ops.aten.relu.default`, to functions with the same arguments.
    """
    program = functionalize_program(program)
    signature = copy.deepcopy(program.graph_signature)
    graph = Graph()
    copies: dict[Node, Any] = {}
    for node in program.graph.nodes:
        if node.op == "call_function" and node.target in table:
            copies[node] = _trace_decomposition(graph, node, copies, table[node.target])
        elif node.op == "output":
            graph.output(map_arg(node.args[0], copies.__getitem__))
        elif node.op == "call_function" and node.args and isinstance(copies.get(node.args[0]), (tuple, list)):
            copies[node] = copies[node.args[0]][node.args[1]]
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    for spec, value in zip(signature.output_specs, graph.output_node().args[0], strict=True):
        if isinstance(value, Node):
            spec.arg.name = value.name
    remove_unused(graph)
    return program._with(GraphModule(_submodules(program), graph), signature)


def _submodules(program: ExportedProgram) -> dict[str, Any]:
    return dict(program.graph_module.named_children())


def remove_unused(graph: Graph) -> None:
    """Remove calls and attributes without users, except assertions and operators that write to their arguments."""
    for node in reversed(list(graph.nodes)):
        stays = node.op not in ("call_function", "get_attr") or "_assert" in str(node.target)
        if not node.users and not stays and not node.is_impure(impure_random=False):
            graph.erase_node(node)


def _trace_decomposition(graph: Graph, node: Node, copies: dict[Node, Any], function: Any) -> Any:
    """Trace a decomposition on tensors of zeros, and add the operators that it calls to the graph."""
    recording = Recording(graph, nn.Module(), SizeGuards({}), None)

    def stand_in(used: Node) -> Any:
        value: Any = used.meta.get("val")
        if isinstance(value, TensorSpec):
            tensor = torch.zeros([concrete(size) for size in value.shape], dtype=value.dtype, device=value.device)
            known = [(dim, copy_expression(size.origin)) for dim, size in enumerate(value.shape) if is_symbolic(size)]
            recording.set_node(tensor, copies[used], recording.tensor_spec(tensor, known))
            return tensor
        if is_symbolic(value):
            form = copy_expression(value.origin)
            form.recording, form.node = recording, copies[used]
            return type(value)(recording, value.value, form)
        return value

    specs = {copies[used]: copies[used].meta.get("val") for used in node.all_input_nodes if isinstance(copies[used], Node)}
    args, kwargs = map_arg(node.args, stand_in), map_arg(node.kwargs, stand_in)
    with recording:
        result = function(*args, **kwargs)
    for used, spec in specs.items():
        used.meta["val"] = spec
    found = pytree.tree_map_only(Tensor, recording.node_of, result)
    originals = node.meta.get("val")
    for new, spec in zip(pytree.tree_leaves(found), originals if isinstance(originals, tuple) else (originals,), strict=False):
        if isinstance(new, Node):
            new.meta["val"] = spec
    for new in graph.nodes:
        if not new.meta.get("stack_trace"):
            new.meta["stack_trace"] = node.meta.get("stack_trace", "")
    return found

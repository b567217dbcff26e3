"""`torch.export.unflatten`: restore the submodules of an exported program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import getitem
from typing import Any

from flambeau import Tensor, nn
from flambeau.utils import pytree

from ..fx._codegen import PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from .exported_program import ExportedProgram, ModuleCodeGen, parameters_of_call, set_at_path
from .graph_signature import InputKind, OutputKind

__all__ = ["FlatArgsAdapter", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(ABC):
    """Adapt arguments whose pytree structure differs from that of the example inputs."""

    @abstractmethod
    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: Any = None,
        obj: Any = None,
    ) -> list[Any]:
        """Return the leaves of the arguments in the structure that the program expects.

        Args:
            target_spec: the structure that the program expects.
            input_spec: the structure of the given arguments.
            input_args: the leaves of the given arguments.
            metadata, obj: unused, always None.
        """


class UnflattenedModule(GraphModule):
    """A module with the submodules of the exported module. Its graph calls them, as the original `forward` did."""

    _adapter: FlatArgsAdapter | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._adapter is not None:
            leaves, spec = pytree.tree_flatten((args, kwargs))
            if spec != self._in_spec:
                leaves = self._adapter.adapt(self._in_spec, spec, leaves)
                args, kwargs = pytree.tree_unflatten(leaves, self._in_spec)
        return super().__call__(*args, **kwargs)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """Convert a program to a module with the submodules of the original module. The graph of each submodule contains the
    operators of its call.

    Parameters and buffers are copied, so that the module does not share memory with the program.

    If a submodule was called more than once, each further call becomes `name@1`, `name@2`, ... with the same parameters.

    Args:
        module: the program.
        flat_args_adapter: converts arguments whose structure differs from that of the examples.

    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    >>> unflattened = torch.export.unflatten(torch.export.export(model, (torch.ones(4, 3),)))
    >>> [name for name, _ in unflattened.named_children()]
    ['0', '1']
    """
    builder = _Builder(module)
    result = builder.build()
    vars(result)["_adapter"] = flat_args_adapter
    return result


class _Builder:
    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        self.state: dict[Node, str] = {}  # placeholder -> name of the parameter, buffer or constant
        self.inputs: list[Node] = []
        self.copies: dict[int, Tensor] = {}
        for node in program.graph.nodes:
            if node.op == "placeholder" and specs[node.name].kind is InputKind.USER_INPUT:
                self.inputs.append(node)
            elif node.op == "placeholder":
                self.state[node] = str(specs[node.name].target)

    def build(self) -> UnflattenedModule:
        program, call = self.program, self.program._signature
        nodes = [node for node in program.graph.nodes if node.op not in ("placeholder", "output")]
        results: Any = program.graph.output_node().args[0]
        outputs = [
            value
            for spec, value in zip(program.graph_signature.output_specs, results, strict=True)
            if spec.kind is OutputKind.USER_OUTPUT
        ]
        graph, children = self._graph(nodes, self.inputs, outputs, "", 1)
        graph._codegen = ModuleCodeGen(PyTreeInfo(parameters_of_call(call), call.in_spec, call.out_spec))
        module = UnflattenedModule(self._root(graph, "", children), graph)
        self._place_state(module)
        return module

    def _place_state(self, module: nn.Module) -> None:
        buffers = self.program.graph_signature.buffers
        used = {
            f"{path}.{node.target}" if path else str(node.target)
            for path, child in module.named_modules()
            if isinstance(child, GraphModule)
            for node in child.graph.nodes
            if node.op == "get_attr" and not isinstance(getattr(child, str(node.target), None), nn.Module)
        }
        for target in self.state.values():
            set_at_path(module, target, self._copy_of(target), target in buffers)
        for path in used:
            parts = [part.partition("@")[0] for part in path.split(".")]
            if ".".join(parts) != path:
                set_at_path(module, path, self._copy_of(".".join(parts)), ".".join(parts) in buffers)

    def _copy_of(self, target: str) -> Tensor:
        """Return a copy of a parameter, buffer or constant of the program; the same one for names that share a tensor."""
        tensor = self.program.tensor_named(target)
        if id(tensor) not in self.copies:
            copied = tensor.detach().clone()
            self.copies[id(tensor)] = nn.Parameter(copied, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else copied
        return self.copies[id(tensor)]

    def _root(self, graph: Graph, prefix: str, children: dict[str, nn.Module]) -> dict[str, Any]:
        root: dict[str, Any] = dict(children)
        for node in graph.nodes:
            if node.op == "get_attr" and str(node.target) not in root:
                path = f"{prefix}.{node.target}" if prefix else str(node.target)
                known = path in self.state.values()
                root[str(node.target)] = self.program.tensor_named(path) if known else getattr(self.program.graph_module, path)
        return root

    def _graph(
        self, nodes: list[Node], inputs: list[Node], outputs: list[Any], prefix: str, depth: int
    ) -> tuple[Graph, dict[str, nn.Module]]:
        """Return the graph of one call of a module, and its submodules."""
        graph, copies = Graph(), dict[Node, Node]()
        children: dict[str, nn.Module] = {}
        for node in inputs:
            copies[node] = graph.placeholder(str(node.target) if node.op == "placeholder" else node.name)
            copies[node].meta.update(node.meta)

        def look_up(node: Node) -> Node:
            if node not in copies:
                path = self.state[node]
                copies[node] = graph.get_attr(path.removeprefix(f"{prefix}.") if prefix else path)
            return copies[node]

        for child, group in _groups(nodes, depth):
            if child is None:
                for node in group:
                    copies[node] = graph.node_copy(node, look_up)
                continue
            inside = set(group)
            used = dict.fromkeys(arg for node in group for arg in node.all_input_nodes if arg not in inside)
            given = [arg for arg in used if not (arg in self.state and self.state[arg].startswith(f"{child}."))]
            results = [node for node in group if any(user not in inside for user in node.users)]
            relative = child.removeprefix(f"{prefix}.") if prefix else child
            count = sum(name.partition("@")[0] == relative for name in children)
            name = f"{relative}@{count}" if count else relative
            inner, inner_children = self._graph(group, given, results, child, depth + 1)
            children[name] = GraphModule(self._root(inner, child, inner_children), inner, _class_name(group[0], depth))
            called = graph.create_node("call_module", name, tuple(look_up(arg) for arg in given))
            if len(results) == 1:
                copies[results[0]] = called
            else:
                copies |= {node: graph.call_function(getitem, (called, place)) for place, node in enumerate(results)}
        found = map_arg(tuple(outputs), look_up)
        graph.output(found[0] if prefix and len(found) == 1 else found)
        return graph, children


def _path(node: Node, depth: int) -> str | None:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[depth][0] if len(stack) > depth else None


def _class_name(node: Node, depth: int) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[depth][1].rpartition(".")[2])


def _groups(nodes: list[Node], depth: int) -> list[tuple[str | None, list[Node]]]:
    """Group consecutive nodes of the same submodule call. Return pairs of module path and nodes."""
    groups: list[tuple[str | None, list[Node]]] = []
    for node in nodes:
        path = _path(node, depth)
        if groups and groups[-1][0] == path:
            groups[-1][1].append(node)
        else:
            groups.append((path, [node]))
    return groups

"""Translate exported programs to ONNX graphs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import onnx
from onnx import helper

import flambeau as torch
from flambeau.extension import unaliased

from ..export._decomposing import functionalize_program
from ..export._functionalizing import operator_name
from ..export._sizes import is_symbolic
from ..export._tracing import TensorSpec
from ..export.exported_program import ExportedProgram
from ..export.graph_signature import InputKind, OutputKind
from ..fx.graph import Graph
from ..fx.node import Node, map_arg
from ._builder import Builder, Value, onnx_dtype
from ._errors import OnnxExporterError
from ._older_opsets import OLDEST_TRANSLATED
from ._symbolic import symbolic_of
from .operators import TABLE

__all__ = ["OLDEST_TRANSLATED", "translate"]

_NUMBERS: dict[Any, str] = {
    operator.add: "Add", operator.sub: "Sub", operator.mul: "Mul", operator.neg: "Neg", operator.lt: "Less",
    operator.gt: "Greater",
    operator.le: "LessOrEqual", operator.ge: "GreaterOrEqual", operator.eq: "Equal", operator.mod: "Mod", operator.not_: "Not",
    operator.truediv: "Div", operator.and_: "And", operator.or_: "Or", operator.pow: "Pow", operator.abs: "Abs",
}  # fmt: skip


def translate(
    program: ExportedProgram,
    opset: int,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    custom: dict[Any, Callable[..., Any]] | None = None,
    symbolic: bool = False,
) -> onnx.ModelProto:
    """Translate a program to an ONNX model.

    Args:
        program: the program.
        opset: the ONNX opset version.
        input_names, output_names: names for the inputs and outputs, in order.
        custom: additional translations of operators.
        symbolic: whether to use registered symbolic functions.

    Raises:
        OnnxExporterError: an operator has no translation. The message gives its source line.
    """
    return _Translator(
        functionalize_program(program), opset, list(input_names), list(output_names), custom or {}, symbolic
    ).model()


class _Translator:
    def __init__(
        self,
        program: ExportedProgram,
        opset: int,
        input_names: list[str],
        output_names: list[str],
        custom: dict[Any, Any],
        symbolic: bool,
    ) -> None:
        self.program, self.opset, self.custom, self.symbolic = program, opset, custom, symbolic
        self.builder = Builder(opset)
        self.input_names, self.output_names = input_names, output_names
        self.values: dict[Node, Any] = {}
        self.labels: dict[str, str] = {}  # maps symbols to the names of dynamic sizes

    def model(self) -> onnx.ModelProto:
        """Return the complete model."""
        graph = self.program.graph
        inputs = self._add_inputs(graph)
        for node in graph.nodes:
            if node.op not in ("placeholder", "output"):
                self.values[node] = self._translate_node(node)
        outputs = self._outputs(graph)
        used = self.builder.used([info.name for info in outputs])
        proto = helper.make_graph(self.builder.nodes, "main_graph", inputs, outputs, self.builder.tensors(used))
        opsets = [helper.make_opsetid("", self.opset)]
        domains = {node.domain for node in proto.node if node.domain}
        opsets += [helper.make_opsetid(domain, 1) for domain in sorted(domains)]
        model = helper.make_model(
            proto, opset_imports=opsets, producer_name="flambeau", producer_version=torch.version.flambeau_version
        )
        model.ir_version = min(model.ir_version, 10)
        return model

    # --- inputs and outputs ---

    def _add_inputs(self, graph: Graph) -> list[Any]:
        names = iter(self.input_names)
        specs = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        infos = []
        for node in graph.nodes:
            if node.op != "placeholder":
                continue
            spec, known = specs[node.name], node.meta.get("val")
            if spec.kind is not InputKind.USER_INPUT:
                tensor = self.program.tensor_named(str(spec.target))
                own = TensorSpec(tuple(tensor.shape), tensor.dtype, tensor.device)
                from ._builder import as_numpy

                self.values[node] = self.builder.weight(self.builder.name(str(spec.target)), as_numpy(tensor), own)
            elif isinstance(known, TensorSpec):
                name = self.builder.name(next(names, node.name))
                self._label(node.name, known)
                self.values[node] = Value(name, known)
                infos.append(self._info(name, known))
            else:
                self.values[node] = known
        return infos

    def _label(self, name: str, spec: TensorSpec) -> None:
        for dim, size in enumerate(spec.shape):
            if is_symbolic(size):
                self.labels.setdefault(str(size), self.program._size_labels.get(str(size), f"{name}_dim_{dim}"))

    def _info(self, name: str, spec: TensorSpec) -> Any:
        shape = [self.labels.get(str(size), str(size)) if is_symbolic(size) else size for size in spec.shape]
        return helper.make_tensor_value_info(name, onnx_dtype(spec.dtype), shape)

    def _outputs(self, graph: Graph) -> list[Any]:
        found: Any = graph.output_node().args[0]
        results = zip(self.program.graph_signature.output_specs, found, strict=True)
        names = iter(self.output_names)
        infos, taken = [], set()
        for spec, node in results:
            if spec.kind is not OutputKind.USER_OUTPUT or not isinstance(node, Node):
                continue
            value = self.values[node]
            wanted = next(names, None)
            if wanted is not None or value.array is not None or value.name in taken or node.op == "placeholder":
                name = self.builder.name(wanted or f"{node.name}_out")
                self.builder.nodes.append(
                    helper.make_node("Identity", [value.name], [name], name=self.builder.name("node_Identity"))
                )
            else:
                name = value.name
            taken.add(name)
            known = node.meta.get("val")
            infos.append(
                self._info(name, known if isinstance(known, TensorSpec) else TensorSpec((), torch.int64, torch.device("cpu")))
            )
        return infos

    # --- nodes ---

    def _translate_node(self, node: Node) -> Any:
        self.builder.node = node
        args, kwargs = map_arg(node.args, self.values.__getitem__), map_arg(node.kwargs, self.values.__getitem__)
        if node.op == "get_attr":
            return getattr(self.program.graph_module, str(node.target), None) or self._submodule(str(node.target))
        name = operator_name(node)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if name in ("cond", "while_loop"):
            return getattr(self, f"_{name}")(node, *args)
        if name.startswith("_assert"):
            return None
        if node.target in _NUMBERS or node.target is operator.floordiv:
            return self._translate_number(node, args)
        registered = symbolic_of(node.target, self.opset) if self.symbolic else None
        translation = self.custom.get(node.target) or registered or TABLE.get(name) or TABLE.get(unaliased(name))
        if translation is None:
            raise OnnxExporterError(f"No ONNX function found for {node.target}, which the model calls here:\n{node.stack_trace}")
        try:
            result = translation(self.builder, *args, **kwargs)
        except OnnxExporterError as error:
            raise OnnxExporterError(f"{error}\n\nThe model calls the operator here:\n{node.stack_trace}") from error
        known = node.meta.get("val")
        if isinstance(known, TensorSpec) and isinstance(result, Value):
            return Value(result.name, known, result.array)
        if isinstance(known, tuple) and isinstance(result, (tuple, list)):
            return [Value(value.name, spec, value.array) for value, spec in zip(result, known, strict=False)]
        return result

    def _translate_number(self, node: Node, args: Any) -> Value:
        """Translate arithmetic on sizes."""
        dtype = torch.float32 if node.target is operator.truediv or any(isinstance(arg, float) for arg in args) else torch.int64
        logical = node.target in (operator.and_, operator.or_, operator.not_)
        values = [self.builder.cast(arg, torch.bool if logical else dtype) for arg in args]
        compares = node.target in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq)
        spec = TensorSpec((), torch.bool if compares or logical else dtype, torch.device("cpu"))
        if node.target is operator.floordiv:
            rest = self.builder.op("Mod", *values, like=spec)
            whole = self.builder.op("Sub", values[0], rest, like=spec)
            return self.builder.op("Div", whole, values[1], like=spec)
        return self.builder.op(_NUMBERS[node.target], *values, like=spec)

    # --- control flow ---

    def _submodule(self, name: str) -> Any:
        found = self._modules[-1]
        return getattr(found, name)

    _modules: Sequence[Any] = ()

    def _translate_subgraph(self, module: Any, inputs: Sequence[Any]) -> list[Value]:
        """Translate a subgraph. It can use names of the enclosing graph."""
        outer, self._modules = self._modules, [*self._modules, module]
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.values.update(zip(placeholders, inputs, strict=True))
        for node in module.graph.nodes:
            if node.op not in ("placeholder", "output"):
                self.values[node] = self._translate_node(node)
        self._modules = outer
        results = map_arg(module.graph.output_node().args[0], self.values.__getitem__)
        return [
            self.builder.op("Identity", value if isinstance(value, Value) else self.builder.constant(value), like=value)
            for value in results
        ]

    def _info_of(self, value: Value) -> Any:
        shape: list[int] | None = [] if value.spec is not None and value.spec.is_number else None
        return helper.make_tensor_value_info(value.name, onnx_dtype(value.dtype), shape)

    def _graph(self, name: str, nodes: Sequence[Any], inputs: Sequence[Value], outputs: Sequence[Value]) -> Any:
        return helper.make_graph(
            list(nodes), name, [self._info_of(each) for each in inputs], [self._info_of(each) for each in outputs]
        )

    def _cond(self, node: Node, pred: Any, true_module: Any, false_module: Any, operands: Sequence[Any]) -> list[Value]:
        branches = []
        for module in (true_module, false_module):
            with self.builder.subgraph() as nodes:
                results = self._translate_subgraph(module, operands)
            branches.append(self._graph(module._get_name(), nodes, [], results))
            count = len(results)
        self.builder.node = node
        pred = self.builder.op(
            "Reshape", self.builder.cast(pred, torch.bool), self.builder.constant(torch.zeros(0, dtype=torch.int64)),
            like=TensorSpec((), torch.bool, torch.device("cpu")),
        )  # fmt: skip
        found = self.builder.op_with_outputs("If", pred, outputs=count, then_branch=branches[0], else_branch=branches[1])
        return self._with_specs(node, found)

    def _while_loop(self, node: Node, cond: Any, body: Any, carried: Sequence[Value], additional: Sequence[Any]) -> list[Value]:
        build = self.builder
        flag, count = TensorSpec((), torch.bool, torch.device("cpu")), TensorSpec((), torch.int64, torch.device("cpu"))
        flag.is_number = count.is_number = True
        carried = [value if isinstance(value, Value) else build.constant(value) for value in carried]
        first = self._translate_subgraph(cond, [*carried, *additional])[0]
        build.node = node
        first = build.op("Reshape", first, build.constant(torch.zeros(0, dtype=torch.int64)), like=flag)
        with build.subgraph() as nodes:
            step = Value(build.name("iteration"), count)
            before = Value(build.name("condition"), flag)
            inside = [Value(build.name("carried"), value.spec) for value in carried]
            following = self._translate_subgraph(body, [*inside, *additional])
            again = self._translate_subgraph(cond, [*following, *additional])[0]
            again = build.op("Reshape", again, build.constant(torch.zeros(0, dtype=torch.int64)), like=flag)
        inner = self._graph("body", nodes, [step, before, *inside], [again, *following])
        build.node = node
        found = build.op_with_outputs("Loop", None, first, *carried, outputs=len(carried), body=inner)
        return self._with_specs(node, found)

    @staticmethod
    def _with_specs(node: Node, values: Sequence[Value]) -> list[Value]:
        """Return the outputs of a node with the metadata of the `getitem` nodes that use them."""
        picked = {user.args[1]: user.meta.get("val") for user in node.users if user.target is operator.getitem}
        return [Value(value.name, picked.get(place, value.spec)) for place, value in enumerate(values)]

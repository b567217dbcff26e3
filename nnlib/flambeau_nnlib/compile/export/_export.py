"""`torch.export.export`: run a module once on example inputs and record an `ExportedProgram`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.utils import pytree

from ...nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ._errors import UserError
from ._sizes import SizeGuards, Specialized, Symbol, is_symbolic
from ._tracing import Recording, TensorSpec
from .dynamic_shapes import Dim, arguments_by_name, sizes_by_tensor
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["draft_export", "export"]


def export(
    mod: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Run a module once on example inputs and record it as a graph of PyTorch operators.

    The graph contains no Python code: loops are unrolled, and an `if` contributes only the branch taken for the examples.
    `torch.cond` and `torch.while_loop` remain operators. Sizes are fixed to those of the examples, unless `dynamic_shapes`
    names them. The run changes neither the module's buffers nor the state of random generators.

    Args:
        mod: the module.
        args, kwargs: the example inputs: tensors, numbers, strings, None, and lists, tuples, dicts and dataclasses of them.
        dynamic_shapes: the sizes that may differ from call to call. For each argument, by name or in order: None, or a
            dictionary that maps dimensions to `Dim`s, `Dim.AUTO` or `Dim.DYNAMIC`. It is nested like the argument.
        strict: accepted for compatibility; programs are always traced by running them.
        preserve_module_call_signature: paths of submodules whose call signature `unflatten` preserves.
        prefer_deferred_runtime_asserts_over_guards: accepted and ignored.

    Raises:
        ValueError: `mod` is not a module.
        UserError: `args` is not a tuple, `dynamic_shapes` does not match the arguments, or the program requires a dynamic
            size to be a constant. It is a subclass of RuntimeError.
        GuardOnDataDependentSymNode: the program reads the value of a tensor. The message gives the source line. It is a
            subclass of RuntimeError.

    >>> batch = torch.export.Dim("batch")
    >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: batch},))
    >>> [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    ['aten.linear.default']
    >>> program.module()(torch.ones(7, 3)).shape
    torch.Size([7, 2])
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    kwargs = kwargs or {}
    dynamic = sizes_by_tensor(mod, args, kwargs, dynamic_shapes)
    while True:
        try:
            return _Exporter(mod, args, kwargs, dynamic, preserve_module_call_signature).export()
        except Specialized as specialized:  # a `Dim.AUTO` size must be constant: fix it and trace again
            dynamic = _without(dynamic, specialized.symbol)


def draft_export(
    mod: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Export a module; if dynamic sizes make that fail, fix all sizes to those of the examples and warn.

    Args:
        mod, args, kwargs, dynamic_shapes, preserve_module_call_signature, strict, prefer_deferred_runtime_asserts_over_guards: as
            in `export`.

    Raises:
        GuardOnDataDependentSymNode: the program reads the value of a tensor.

    >>> torch.export.draft_export(torch.nn.ReLU(), (torch.ones(2),)).graph_signature.user_outputs
    ('relu',)
    """
    import warnings

    try:
        return export(
            mod, args, kwargs, dynamic_shapes=dynamic_shapes, preserve_module_call_signature=preserve_module_call_signature
        )
    except UserError as error:
        warnings.warn(
            f"draft_export: export with dynamic sizes failed, so all sizes are fixed to those of the examples:\n{error}",
            stacklevel=2,
        )
        return export(mod, args, kwargs, preserve_module_call_signature=preserve_module_call_signature)


def _without(dynamic: dict[int, dict[int, Any]], symbol: Symbol) -> dict[int, dict[int, Any]]:
    """Return `dynamic` without the sizes that `symbol` represents."""
    return {key: {dim: size for dim, size in sizes.items() if (key, dim) not in symbol.keys} for key, sizes in dynamic.items()}


class _Exporter:
    """A single attempt to export a module, with a given set of dynamic sizes."""

    def __init__(
        self, mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: dict[int, dict[int, Any]], preserved: Any
    ) -> None:
        self.mod, self.args, self.kwargs, self.dynamic, self.preserved = mod, args, kwargs, dynamic, preserved
        self.leaves, self.in_spec = pytree.tree_flatten((args, kwargs))
        self.names = _names_of_inputs(mod, args, kwargs)
        self.symbols: dict[str, Symbol] = {}
        self.forms: dict[tuple[int, int], tuple[Symbol, int, int]] = {}  # (input, dimension) -> (symbol, factor, offset)
        self._find_symbols()

    def export(self) -> ExportedProgram:
        guards = SizeGuards(self.symbols)
        probe = None
        if self.symbols:
            probe, _ = self._record(SizeGuards({}), None, [self._resized(place) for place in range(len(self.leaves))])
        inputs = [_fresh(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        recording, result = self._record(guards, probe, inputs)
        return self._program(recording, result, guards)

    # --- sizes ---

    def _find_symbols(self) -> None:
        by_root: dict[Any, Symbol] = {}
        for place, leaf in enumerate(self.leaves):
            for dim, size in self.dynamic.get(id(leaf), {}).items() if isinstance(leaf, Tensor) else ():
                root, factor, offset = (size.root, size.factor, size.offset) if isinstance(size, Dim) else (size, 1, 0)
                hint, rest = divmod(leaf.shape[dim] - offset, factor)
                label = root.__name__ if isinstance(root, Dim) else (place, dim)
                symbol = by_root.get(label)
                if symbol is None:
                    symbol = Symbol(f"s{len(by_root)}", root, hint, self._other_size(root, hint, len(by_root)))
                    by_root[label] = self.symbols[symbol.name] = symbol
                self._check_size(symbol, size, hint, rest, leaf, place, dim)
                symbol.places.append((self.names[place], dim))
                symbol.keys.add((id(leaf), dim))
                self.forms[place, dim] = (symbol, factor, offset)

    @staticmethod
    def _other_size(root: Any, hint: int, number: int) -> int:
        """Return a probe size in the range of `root`. Symbols with the same `hint` get different sizes, if possible."""
        limits = (root.min, root.max) if isinstance(root, Dim) else (0, None)
        for other in (
            *(hint * factor for factor in range(2 + number, 6 + number)),
            hint + 1 + number,
            hint - 1,
            hint + 1,
            limits[0],
        ):
            if other != hint and other >= max(limits[0], 1) and (limits[1] is None or other <= limits[1]):
                return other
        return hint

    def _check_size(self, symbol: Symbol, size: Any, hint: int, rest: int, leaf: Tensor, place: int, dim: int) -> None:
        where = f"{self.names[place]}.size()[{dim}]"
        name = getattr(size, "__name__", repr(size))
        if rest or hint != symbol.hint:
            other = symbol.places[0] if symbol.places else (self.names[place], dim)
            raise UserError(
                f"Constraints violated ({name})!\n  - The values of {name} = {where} and {symbol.label} = "
                f"{other[0]}.size()[{other[1]}] "
                f"must always be equal, but for the examples {where} is {leaf.shape[dim]} where "
                f"{symbol.label} is {symbol.hint}."
            )
        if hint not in symbol.range:
            raise UserError(
                f"Constraints violated ({name})!\n  - {where} = {leaf.shape[dim]} is not in the range {symbol.range} of {name}"
            )

    def _resized(self, place: int) -> Any:
        """Return an input resized for the probe run. Its elements are repeated, so that it contains no new values."""
        leaf = self.leaves[place]
        if not isinstance(leaf, Tensor):
            return leaf
        resized = _fresh(leaf)
        for dim in range(leaf.dim()):
            if (place, dim) in self.forms:
                symbol, factor, offset = self.forms[place, dim]
                index = torch.arange(factor * symbol.probe + offset) % max(leaf.shape[dim], 1)
                resized = resized.detach().index_select(dim, index.to(leaf.device))
        return resized.requires_grad_(leaf.requires_grad) if resized is not leaf else leaf

    # --- recording ---

    def _record(self, guards: SizeGuards, probe: Recording | None, inputs: list[Any]) -> tuple[Recording, Any]:
        graph = Graph()
        recording = Recording(graph, self.mod, guards, probe)
        self._add_state(recording)
        for place, (name, leaf) in enumerate(zip(self.names, inputs, strict=True)):
            node = graph.placeholder(name)
            node.meta["is_user_input"] = True
            node.meta["val"] = leaf
            if isinstance(leaf, Tensor):
                known = [
                    (dim, guards.form(symbol, factor, offset))
                    for (where, dim), (symbol, factor, offset) in self.forms.items()
                    if where == place and probe is not None
                ]
                recording.nodes[id(leaf)] = node
                recording.set_node(leaf, node, recording.tensor_spec(leaf, known))
        args, kwargs = pytree.tree_unflatten(inputs, self.in_spec)
        with restoring_state(self.mod), tracking_modules(recording), torch.random.fork_rng():
            result = run_program(recording, self.mod, args, kwargs)
        return recording, result

    def _add_state(self, recording: Recording) -> None:
        for kind, tensors in (
            ("p_", self.mod.named_parameters(remove_duplicate=False)),
            ("b_", self.mod.named_buffers(remove_duplicate=False)),
        ):
            for path, tensor in tensors:
                node = recording.graph.placeholder(kind + path.replace(".", "_"))
                node.meta["state"] = path
                if id(tensor) not in recording.nodes:
                    recording.set_node(tensor, node)
                else:
                    node.meta["val"] = recording.specs[id(tensor)]

    # --- the program ---

    def _program(self, recording: Recording, result: Any, guards: SizeGuards) -> ExportedProgram:
        leaves, out_spec = pytree.tree_flatten(result)
        for leaf in leaves:
            if not (isinstance(leaf, (Tensor, int, float, bool, str, type(None))) or is_symbolic(leaf)):
                raise UserError(
                    f"It looks like one of the outputs is of type {type(leaf)}, which an exported program cannot return"
                )
        recording.graph.output(tuple(recording.node_of(leaf) for leaf in leaves))
        graph = recording.graph
        signature = ExportGraphSignature(
            [self._input_spec(node, recording) for node in graph.nodes if node.op == "placeholder"],
            [OutputSpec(OutputKind.USER_OUTPUT, argument_of(leaf, recording.node_of(leaf)), None) for leaf in leaves],
        )
        for node in graph.nodes:
            node.meta.pop("is_user_input", None), node.meta.pop("state", None)
        entry = ModuleCallEntry("", ModuleCallSignature([], [], self.in_spec, out_spec, list(self.names)))
        constants = {name: tensor.detach() for name, tensor in recording.constants.items()}
        constants |= {path: self._tensor(path) for path in signature.non_persistent_buffers}
        program = ExportedProgram(
            root=GraphModule(dict(recording.submodules), graph),
            graph=graph,
            graph_signature=signature,
            state_dict=self._state(),
            range_constraints={symbol.name: symbol.range for symbol in guards.symbols.values()},
            module_call_graph=[entry, *(ModuleCallEntry(path, None) for path in self.preserved)],
            example_inputs=(self.args, self.kwargs),
            constants=constants,
        )
        program._size_labels = {symbol.name: symbol.label for symbol in guards.symbols.values() if isinstance(symbol.dim, Dim)}
        return program

    def _input_spec(self, node: Node, recording: Recording) -> InputSpec:
        if node.meta.get("is_user_input"):
            return InputSpec(InputKind.USER_INPUT, argument_of(node.meta["val"], node), None)
        if "state" not in node.meta:
            name = next(name for name, known in recording.constant_nodes.items() if known is node)
            return InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
        path = node.meta["state"]
        owner, _, name = path.rpartition(".")
        module = self.mod.get_submodule(owner)
        if name in module._buffers:
            persistent = name not in module._non_persistent_buffers_set
            return InputSpec(InputKind.BUFFER, TensorArgument(node.name), path, persistent)
        return InputSpec(InputKind.PARAMETER, TensorArgument(node.name), path)

    def _tensor(self, path: str) -> Any:
        owner, _, name = path.rpartition(".")
        return getattr(self.mod.get_submodule(owner), name)

    def _state(self) -> dict[str, Any]:
        """Return parameters and persistent buffers by name, including duplicates. They are shared with the module."""
        named = [*self.mod.named_parameters(remove_duplicate=False), *self.mod.named_buffers(remove_duplicate=False)]
        dropped = {
            f"{path}.{name}" if path else name
            for path, module in self.mod.named_modules(remove_duplicate=False)
            for name in module._non_persistent_buffers_set
        }
        return {name: tensor for name, tensor in named if name not in dropped}


def argument_of(value: Any, node: Any) -> Any:
    """Convert an input or output to its entry in a graph signature."""
    if isinstance(value, (Tensor, TensorSpec)):
        return TensorArgument(node.name)
    kinds = {torch.SymInt: SymIntArgument, torch.SymFloat: SymFloatArgument, torch.SymBool: SymBoolArgument}
    if type(value) in kinds:
        return kinds[type(value)](node.name)
    return ConstantArgument(node.name if isinstance(node, Node) else "", value)


def run_program(recording: Recording, mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the module. `user_frames` returns only stack frames called from this function."""
    with recording:
        return mod(*args, **kwargs)


def _fresh(tensor: Tensor) -> Tensor:
    """Copy an example input, so that a program that modifies its inputs does not modify the example."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


@contextmanager
def tracking_modules(recording: Recording) -> Iterator[None]:
    """Record the stack of running modules during a trace."""

    def enter(module: nn.Module, args: Any) -> None:
        recording.module_stack.append((recording.paths.get(id(module), ""), type(module)))

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        recording.module_stack.pop()

    with ExitStack() as stack:
        stack.callback(register_module_forward_pre_hook(enter).remove)
        stack.callback(register_module_forward_hook(leave, always_call=True).remove)
        yield


@contextmanager
def restoring_state(mod: nn.Module, refuse_assignments: bool = True) -> Iterator[None]:
    """Restore buffers, and tensor attributes, when the context exits.

    Args:
        mod: the module.
        refuse_assignments: raise a ValueError if tensor attributes were assigned.
    """
    buffers = {name: (buffer, buffer.detach().clone(), buffer._version) for name, buffer in mod.named_buffers()}
    attributes = [(module, copy.copy(module._buffers), _tensors_of(module)) for module in mod.modules()]
    try:
        yield
    finally:
        for module, owned, _ in attributes:
            module._buffers.update(owned)
        for buffer, value, version in buffers.values():
            if buffer._version != version:
                with torch.no_grad():
                    buffer.detach().copy_(value)
    for module, _, former in attributes:
        changed = [name for name, value in _tensors_of(module).items() if former.get(name) is not value]
        for name in changed:
            if name in former:
                vars(module)[name] = former[name]
            else:
                del vars(module)[name]
        if changed and refuse_assignments:
            raise ValueError(
                f"The tensor attributes {', '.join(f'self.{name}' for name in changed)} were assigned during export. Such "
                "attributes "
                "must be registered as buffers using the `register_buffer` API and must be initialized at model.__init__."
            )


def _tensors_of(module: nn.Module) -> dict[str, Tensor]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Tensor)}


def _names_of_inputs(mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Return a name for each input leaf: its parameter, followed by its keys or indices in containers, such as `x_0_key`."""
    names: list[str] = []
    for name, value in arguments_by_name(mod, args, kwargs).items():
        for path, _ in pytree.tree_leaves_with_path(value):
            steps = [str(getattr(step, "key", getattr(step, "idx", getattr(step, "name", "")))) for step in path]
            names.append("_".join([name, *steps]))
    return [_identifier(name) for name in names]


def _identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)


Recorder = Callable[..., Any]

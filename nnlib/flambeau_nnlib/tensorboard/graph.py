"""Recording the operations of a model as a TensorBoard graph while it runs, so that the model may contain any Python code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import flambeau as torch
from flambeau.overrides import TorchFunctionMode
from flambeau.utils.pytree import tree_leaves

__all__ = ["graph"]

_PRODUCER = 22  # version number of the graph format


def graph(model: Any, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> tuple[Any, Any]:
    """Run a model and return its graph and the metadata of the run, for TensorBoard.

    The graph has a node for each function called with tensors, nested in the modules whose `forward` calls it, and for each
    parameter, input and output.

    Args:
        model: a module or a function.
        args: the argument, or a tuple of arguments.
        verbose: whether to print the nodes.
        use_strict_trace: unused, since tensors in lists and dicts are always followed.
    """
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    args = args if isinstance(args, tuple) else (args,)
    recorder = _Recorder(model)
    with _evaluation_mode(model), torch.no_grad():
        recorder.record(args)
    if verbose:
        print("\n".join(f"{node.name} = {node.op}({', '.join(node.input)})" for node in recorder.nodes))
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=recorder.nodes, versions=VersionDef(producer=_PRODUCER)), stats


@contextmanager
def _evaluation_mode(model: Any) -> Iterator[None]:
    """Context manager that sets a module to evaluation mode and then restores the modes of all submodules."""
    if not isinstance(model, torch.nn.Module):
        yield
        return
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


class _Recorder(TorchFunctionMode):
    """Record a node for each function called with tensors."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.nodes: list[Any] = []
        self._names: set[str] = set()
        self._node_names: dict[int, str] = {}  # by id of a tensor: the name of the node that produced it
        self._tensors: list[Any] = []  # keeps the tensors alive, so that their ids are not reused
        self._scopes = [type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", "function")]
        self._parameters: dict[int, tuple[str, str]] = {}  # by id of a parameter or buffer: scope of its module, its name

    def record(self, args: tuple[Any, ...]) -> None:
        """Call the model with `args` and record its inputs, operations and outputs."""
        function = self.model.forward if isinstance(self.model, torch.nn.Module) else self.model
        try:
            names = list(inspect.signature(function).bind(*args).arguments)
        except (TypeError, ValueError):
            names = []
        for i, argument in enumerate(args):
            for tensor in filter(torch.is_tensor, tree_leaves(argument)):
                self._add(f"input/{names[i] if i < len(names) else i}", "IO Node", [], tensor)
        with ExitStack() as stack:
            if isinstance(self.model, torch.nn.Module):
                self._add_hooks(self.model, stack)
            with self:
                result = self.model(*args)
        for i, tensor in enumerate(filter(torch.is_tensor, tree_leaves(result)), 1):
            self._add(f"output/output.{i}", "IO Node", [self._get_node(tensor)], tensor)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = [leaf for leaf in tree_leaves(result) if torch.is_tensor(leaf)]
        name = getattr(func, "__name__", "")
        if outputs and name not in ("", "__get__"):
            inputs = [self._get_node(leaf) for leaf in tree_leaves((args, kwargs or {})) if torch.is_tensor(leaf)]
            constants = [repr(leaf) for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, bool | int | float | str)]
            self._add("/".join([*self._scopes, name]), f"aten::{name}", inputs, *outputs, about=", ".join(constants))
        return result

    def _add_hooks(self, model: torch.nn.Module, stack: ExitStack) -> None:
        """Map parameters and buffers to their names, and register hooks that track the module being called."""
        scopes = {"": self._scopes[0]}
        for path, part in model.named_modules(remove_duplicate=False):
            if path:
                parent, _, last = path.rpartition(".")
                scopes[path] = f"{scopes[parent]}/{type(part).__name__}[{last}]"
                handles = (
                    part.register_forward_pre_hook(partial(self._enter, f"{type(part).__name__}[{last}]")),
                    part.register_forward_hook(self._leave, always_call=True),
                )
                for handle in handles:
                    stack.callback(handle.remove)
            tensors = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
            for name, tensor in tensors:
                self._parameters.setdefault(id(tensor), (scopes[path], name))

    def _enter(self, name: str, part: torch.nn.Module, args: Any) -> None:
        self._scopes.append(name)

    def _leave(self, part: torch.nn.Module, args: Any, output: Any) -> None:
        self._scopes.pop()

    def _get_node(self, tensor: torch.Tensor) -> str:
        """Return the name of the node that produced a tensor. Create a node for parameters and for other external tensors."""
        if id(tensor) not in self._node_names:
            scope, name = self._parameters.get(id(tensor), ("/".join(self._scopes), "constant"))
            self._add(f"{scope}/{name}", "prim::GetAttr" if id(tensor) in self._parameters else "prim::Constant", [], tensor)
        return self._node_names[id(tensor)]

    def _add(self, name: str, op: str, inputs: list[str], *outputs: torch.Tensor, about: str = "") -> None:
        from tensorboard.compat.proto.attr_value_pb2 import AttrValue
        from tensorboard.compat.proto.node_def_pb2 import NodeDef
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        unique, number = name, 1
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        shapes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in tensor.shape]) for tensor in outputs]
        attributes = {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=shapes)), "attr": AttrValue(s=about.encode())}
        self.nodes.append(NodeDef(name=unique, op=op, input=inputs, attr=attributes))
        self._node_names.update((id(tensor), unique) for tensor in outputs)
        self._tensors.extend(outputs)

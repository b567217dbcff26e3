"""`Interpreter` and `Transformer`: run a graph node by node, or build a new graph from it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from flambeau import nn

from ._codegen import last_uses
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy
from .traceback import preserve_node_meta, set_current_meta

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Run a graph node by node. Subclasses override how nodes are executed.

    Args:
        module: the module with the attributes that the graph refers to.
        garbage_collect_values: delete values after their last use.
        graph: the graph; by default that of `module`.

    >>> class Shout(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         print(target.__name__)
    ...         return super().call_function(target, args, kwargs)
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> Shout(traced).run(torch.ones(1))
    relu
    add
    tensor([2.])
    """

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        if garbage_collect_values:
            self.user_to_last_uses = last_uses(list(self.graph.nodes))

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph.

        Args:
            *args: the inputs of the graph.
            initial_env: values of nodes that are not computed again.
            enable_io_processing: convert inputs and outputs like the generated function.

        Returns:
            The output of the graph.
        """
        self.env = initial_env if initial_env is not None else {}
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_explained(node)
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, []):
                    del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def _run_explained(self, node: Node) -> Any:
        """Run a node; if it raises, add its source location to the error."""
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                message = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                error.args = (f"{error.args[0]}\n\n{message}" if error.args else message, *error.args[1:])
                if isinstance(error, KeyError):
                    raise RuntimeError(*error.args) from error
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on a list of inputs. The list is cleared, so that inputs can be freed early.

        Args:
            args_list: the inputs.

        Raises:
            RuntimeError: the number of inputs is wrong.
        """
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            detail = "extra" if len(args_list) > len(placeholders) else "missing"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders "
                f"but received {len(args_list)} ({detail} arguments)"
            )
        env = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def _set_current_node(self, node: Node) -> AbstractContextManager[None]:
        return set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def run_node(self, n: Node) -> Any:
        """Run a node by calling the method named by its `op`.

        Args:
            n: the node.

        Returns:
            The value of the node.
        """
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next input.

        Raises:
            RuntimeError: no input is left, and the parameter has no default.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        if isinstance(target, str):
            raise AssertionError("target should not be a string for call_function")
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a submodule."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the output of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the attribute of the module at a path.

        Raises:
            RuntimeError: the attribute does not exist.
        """
        found: Any = self.module
        names = target.split(".")
        for number, name in enumerate(names):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(names[: number + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a node, with nodes replaced by their values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Replace nodes in arguments by their values.

        Args:
            args: the arguments of the node.
            n: the node.

        Raises:
            RuntimeError: a node has no value yet.
        """

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Build a new module: each method adds nodes to a new graph by calling operations on proxies.

    Args:
        module: the module with the graph.

    >>> class Swap(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)
    >>> Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.ones(1))
    tensor([-1.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Insert an input into the new graph."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Insert a `get_attr` node into the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a module into the new graph."""
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a function into the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Run the transformation and return the new module."""
        with preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            output = self.new_graph.output(map_aggregate(result, lambda value: value.node if isinstance(value, Proxy) else value))
            output.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    """The tracer of `Transformer`: inserts nodes into a given graph, and never traces into modules."""

    def __init__(self, graph: Graph, root: nn.Module) -> None:
        super().__init__()
        self.graph, self.root = graph, root
        self.tensor_attrs = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return True

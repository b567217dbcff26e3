"""The methods of scripted modules, which have a graph and code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau.extension.schemas import Argument, FunctionSchema

__all__ = ["ScriptMethod", "with_graph"]


class ScriptMethod:
    """A method of a scripted module, bound to the module.

    Args:
        function: the function, with the module as its first parameter.
        module: the module.
        name: the name of the method.
    """

    def __init__(self, function: Callable[..., Any], module: Any, name: str) -> None:
        self.__func__, self.__self__, self.name, self.__doc__ = function, module, name, function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "__func__"), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScriptMethod) and self.__self__ is other.__self__ and self.__func__ is other.__func__

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.__func__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    @property
    def owner(self) -> Any:
        """The module."""
        return self.__self__

    @property
    def graph(self) -> Any:
        """The graph, with calls of functions and submodules.

        Raises:
            RuntimeError: the code cannot be written as TorchScript.
        """
        return torch.jit._graph_of(self.__self__, False, self.name)

    @property
    def inlined_graph(self) -> Any:
        """The graph, with called functions and submodules inlined.

        Raises:
            RuntimeError: the code cannot be written as TorchScript.
        """
        return torch.jit._graph_of(self.__self__, True, self.name)

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """Return the `inlined_graph`; it does not depend on the arguments."""
        return self.inlined_graph

    @property
    def code(self) -> str:
        """The TorchScript code of the method.

        Raises:
            RuntimeError: the code cannot be written as TorchScript.
        """
        return self.__self__.code if self.name == "forward" else torch.jit._text_of(self.__self__, self.name)

    @property
    def schema(self) -> FunctionSchema:
        """The types of the parameters and of the result, without default values."""
        graph = self.graph
        inputs = [(value.debugName().rpartition(".")[0] or value.debugName(), value.type().text) for value in graph.inputs()]
        returned = next(graph.outputs()).type().text
        returned = f"({returned})" if returned.startswith("(") else returned
        text = f"{self.name}({', '.join(f'{kind} {name}' for name, kind in inputs)}) -> {returned}"
        return FunctionSchema(text, self.name, "", [Argument(*argument) for argument in inputs], [Argument("", returned)])


class with_graph:
    """Descriptor of a method of a scripted module. On a module, it returns a `ScriptMethod`; on the class, the function.

    Args:
        function: the function, with the module as its first parameter.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        vars(self).update(vars(function))  # marks, such as that of `torch.jit.export`
        self.function = function

    def __get__(self, module: Any, cls: Any = None) -> Any:
        return self.function if module is None else ScriptMethod(self.function, module, self.function.__name__)

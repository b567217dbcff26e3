"""`GraphModule`: a module whose `forward` is generated from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any, Self

import flambeau as torch
from flambeau import nn

from ._codegen import PyTreeCodeGen
from ._names import CUSTOM_BUILTINS, torch_path
from ._symbolic_trace import Tracer
from .graph import Graph, PythonCode

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()
_sources: dict[str, str] = {}


# --- code -------------------------------------------------------------------------------------------------------------


class _Sources:
    """Provides `linecache` with the source of generated code, for tracebacks and debuggers."""

    @staticmethod
    def get_source(name: str) -> str | None:
        return _sources.get(name)


def _forward_from_src(src: str, names: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Any:
    """Execute source code and return the function `forward` that it defines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        file += " from {co_filename}:{co_firstlineno} in {co_name}".format(**co_fields)
    _sources[file] = src
    namespace = names.copy()
    linecache.lazycache(file, {**namespace, "__file__": file, "__name__": file, "__loader__": _Sources()})
    exec(compile(src, file, "exec", dont_inherit=True), namespace)  # `src` is generated code, or comes from a pickle
    return namespace.pop("forward")


def _format_import_block(names: dict[str, Any]) -> str:
    """Return import statements for the globals of generated code."""
    return "\n".join(sorted({_import_statement(name, value) for name, value in names.items()}))


def _import_statement(name: str, value: Any) -> str:
    if name in CUSTOM_BUILTINS:
        statement = CUSTOM_BUILTINS[name][0]
        return (
            statement.replace("import torch.", "import flambeau.").replace("from torch ", "from flambeau ")
            if (name != "torch")
            else "import flambeau as torch"
        )
    path = torch_path(value)
    module, _, attribute = (
        path.rpartition(".") if path else (value.__module__, "", getattr(value, "__qualname__", value.__name__))
    )
    module = "flambeau" + module.removeprefix("torch") if path else module
    found = sys.modules.get(module)
    if found is None or getattr(found, attribute, None) is not value:
        from pickle import PicklingError

        raise PicklingError(f"Can't pickle {value!r}: it is not found as {module}.{attribute}")
    return f"from {module} import {attribute} as {name}"


# --- nested attributes ---


def _copy_attr(from_module: nn.Module, to_module: nn.Module, target: str) -> None:
    """Copy a nested attribute from one module to another, creating empty modules on the path."""
    *prefix, name = target.split(".")
    for item in prefix:
        source, destination = getattr(from_module, item), getattr(to_module, item, None)
        if source is destination:  # both modules share this submodule, so nothing needs to be copied
            return
        if destination is None:
            destination = nn.Module()
            setattr(to_module, item, destination)
        from_module, to_module = source, destination
    _set_attr(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj: Any, to_module: nn.Module, target: str) -> None:
    """Set a nested attribute, creating empty modules on the path."""
    *prefix, name = target.split(".")
    for item in prefix:
        if getattr(to_module, item, None) is None:
            setattr(to_module, item, nn.Module())
        to_module = getattr(to_module, item)
    _set_attr(to_module, name, from_obj)


def _set_attr(module: nn.Module, name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _get_attr(model: nn.Module, attr_name: str) -> Any:
    """Return a nested attribute."""
    found: Any = model
    for name in attr_name.split("."):
        found = getattr(found, name)
    return found


def _has_attr(model: nn.Module, attr_name: str) -> bool:
    """Whether a nested attribute exists."""
    try:
        _get_attr(model, attr_name)
    except AttributeError:
        return False
    return True


def _del_attr(model: nn.Module, attr_name: str) -> None:
    """Delete a nested attribute."""
    path, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, path) if path else model, name)


# --- pickling -----------------------------------------------------------------------------------------------------------


class _CodeOnlyModule(nn.Module):
    """An unpickled module with the state and code of a `GraphModule`, but no graph; tracing it restores the graph."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__setstate__(body)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> nn.Module:
    """Unpickle a `GraphModule`: trace its code to restore the graph.

    Args:
        body: the state of the module.
        import_block: the import statements that its code requires.
    """
    forward = _forward_from_src(f"{import_block}\n{body['_code']}", {})
    return _deserialize_graph_module(forward, body)


def _deserialize_graph_module(forward: Any, body: dict[str, Any], graph_module_cls: type | None = None) -> nn.Module:
    tracer_cls: Any = body.get("_tracer_cls") or Tracer

    class CodeModule(_CodeOnlyModule):
        pass

    class KeepModules(tracer_cls):  # type: ignore[misc]
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    CodeModule.forward = forward  # type: ignore[method-assign]
    root = CodeModule(body)
    graph = KeepModules().trace(root, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    module: nn.Module = (graph_module_cls or GraphModule)(root, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module


# --- the module ---------------------------------------------------------------------------------------------------------


class GraphModule(nn.Module):
    """A module whose `forward` is generated from a graph.

    Assigning to `graph` regenerates `forward`. After modifying the graph in place, call `recompile`.

    Args:
        root: the module with the attributes that the graph refers to, or a dictionary that maps paths to these. They are
            shared.
        graph: the graph.
        class_name: the name of the module's class.

    Raises:
        RuntimeError: a dictionary lacks an attribute that the graph refers to.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 1)))
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        return _0
    """

    __jit_unused_properties__ = ["graph"]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # Each instance has its own class, which holds its `forward`.
        cls = next(base for base in cls.__mro__ if base.__qualname__.split(".")[-1] != "GraphModuleImpl")

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            self.training = getattr(root, "training", self.training)
            if isinstance(root, _CodeOnlyModule):  # when unpickling, also copy members that the graph does not use
                members = (root.named_children(), root.named_buffers(), root.named_parameters())
                targets = [name for name, _ in itertools.chain(*members)] + targets
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            for target in sorted(targets, key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer is not None and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[..., Any]] = []
        self._erase_node_hooks: list[Callable[..., Any]] = []
        self._deepcopy_hooks: list[Callable[..., Any]] = []

    @property
    def graph(self) -> Graph:
        """The graph. Assigning to it regenerates `forward`."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated: call recompile()")
        return self._code

    def recompile(self) -> PythonCode:
        """Regenerate `forward`; call it after modifying the graph in place."""
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        generated = self._graph.python_code(root_module="self")
        self._code = generated.src
        self._lineno_map, self._prologue_start = generated._lineno_map, generated._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, generated.globals, self._graph._co_fields)
        if "__call__" not in vars(cls) or getattr(vars(cls)["__call__"], "_of_graph_module", None) is None:
            cls.__call__ = _call_with_source(cls, vars(cls).get("__call__"))
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return generated

    # --- submodules -------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a submodule at a path, creating empty modules on the way.

        Args:
            target: the path, such as `"layers.0.conv"`.
            m: the module.

        Returns:
            Whether the submodule was added: False if part of the path is not a module.
        """
        *prefix, name = target.split(".")
        place: nn.Module = self
        for item in prefix:
            inner = getattr(place, item, None)
            if inner is None:
                inner = nn.Module()
                setattr(place, item, inner)
            if not isinstance(inner, nn.Module):
                return False
            place = inner
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the submodule at a path.

        Args:
            target: the path.

        Returns:
            Whether the submodule existed.
        """
        *prefix, name = target.split(".")
        place: Any = self
        for item in prefix:
            place = getattr(place, item, None)
            if not isinstance(place, nn.Module):
                return False
        if not isinstance(getattr(place, name, None), nn.Module):
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete all submodules that the graph neither calls nor accesses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            used.update(itertools.accumulate(node.target.split("."), lambda path, name: f"{path}.{name}"))
            if node.op == "call_module" and _has_attr(self, node.target):
                used.update(f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- representation and saving ---

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Return and print the code as a class, including submodules with graphs, annotated with source lines and shapes.

        Args:
            print_output: whether to print the code.
            include_stride, include_device: add strides and devices to the shapes.
            colored: use ANSI colors.
            expanded_def: write each parameter on a separate line.
            additional_meta: names of entries of `Node.meta` to include.

        Returns:
            The code as a string.
        """
        options = {"include_stride": include_stride, "include_device": include_device, "colored": colored}
        text = self._readable(self._get_name(), {**options, "additional_meta": additional_meta}, expanded_def)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, options: dict[str, Any], expanded_def: bool = False) -> str:
        code = self._graph.python_code(root_module="self", verbose=True, expanded_def=expanded_def, **options).src
        inner = [child._readable(name, options) for name, child in self.named_children() if isinstance(child, GraphModule)]
        text = f"class {name}(torch.nn.Module):\n" + code.lstrip("\n")
        return _indent(text) + _indent("\n".join(["", *inner]))

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a Python package with its code and parameters.

        Args:
            folder: the folder, created if missing.
            module_name: the name of the class in the code.

        Warns:
            UserWarning: some submodules cannot be written as code, and are pickled instead.
        """
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        lines, pickled = self._constructor_lines(folder)
        if pickled:
            warnings.warn(
                f"Was not able to save the following children modules as reprs -saved as pickled files instead: {pickled}"
            )
        imports = "\n".join(statement for statement, _ in CUSTOM_BUILTINS.values())
        methods = indent("\n".join(["def __init__(self):", "    super().__init__()", *(f"    {line}" for line in lines)]), "    ")
        source = (
            f"import torch\n{imports}\n\nfrom torch.nn import *\n\n\nclass {module_name}(torch.nn.Module):\n"
            f"{methods}\n{indent(self.code, '    ')}\n"
        )
        (folder / "module.py").write_text(source, encoding="utf-8")
        (folder / "__init__.py").write_text("from .module import *", encoding="utf-8")

    def _constructor_lines(self, folder: Path) -> tuple[list[str], list[str]]:
        """Return the statements that create the submodules, and the names of submodules that were pickled."""
        lines, pickled = [], []
        for name, child in self.named_children():
            if type(child) in _SHOWN_AS_CODE:
                lines.append(f"setattr(self, '{name}', {child!r})")
                continue
            file = folder / f"{name}.pt"
            torch.save(child, file)
            pickled.append(name)
            lines.append(f"setattr(self, '{name}', torch.load(r'{file}', weights_only=False)) # {' '.join(repr(child).split())}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                empty = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
                lines.append(f"setattr(self, '{name}', torch.nn.Parameter({empty}))")
        lines.append(f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        return lines, pickled

    # --- copying ----------------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        names = self.recompile().globals
        state = self.__getstate__()
        del state["_graph"]
        return reduce_graph_module, (state, _format_import_block(names))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        state = copy.deepcopy(self.__getstate__(), memo)
        GraphModule.__init__(copied, _CodeOnlyModule(state), state["_graph"])
        for name in (*_COPIED_HOOKS, "meta"):
            if name in state:
                setattr(copied, name, state[name])
        for name, value in copied.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(copied, name, value)
        for hook in self._deepcopy_hooks:
            hook(copied)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self.graph, type(self).__name__)
        copied.meta = getattr(self, "meta", {})
        return copied

    def _replicate_for_data_parallel(self) -> Any:
        replica = copy.copy(self)
        replica._parameters, replica._buffers, replica._modules = {}, dict(self._buffers), dict(self._modules)
        replica._is_replica = True
        return replica


_COPIED_HOOKS = (
    "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_replace_hooks", "_create_node_hooks",
    "_erase_node_hooks", "_deepcopy_hooks",
)  # fmt: skip
_FILES_OF_OPERATIONS = (str(Path(torch.__file__).parent) + os.sep, "<flambeau.")
_SHOWN_AS_CODE = {nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d}


def _indent(text: str) -> str:
    """Indent all lines of a text except the first."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in rest)])


def _call_with_source(cls: Any, own_call: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return a `__call__` that prints the line of generated code in which an error occurred."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return own_call(self, *args, **kwargs) if own_call else super(cls, self).__call__(*args, **kwargs)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            innermost = next(frame for frame in reversed(frames) if not frame.filename.startswith(_FILES_OF_OPERATIONS))
            if "eval_with_key" not in innermost.filename:
                raise
            print(_explanation(innermost), file=sys.stderr)
            raise error.with_traceback(None)  # noqa: B904

    call._of_graph_module = True  # type: ignore[attr-defined]
    return call


def _explanation(frame: traceback.FrameSummary) -> str:
    lines, number = linecache.getlines(frame.filename), frame.lineno or 1
    return "\n".join([
        traceback.format_exc(),
        f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
        "".join(lines[max(number - 2, 0) : number]),
        "~" * len(frame.line or "") + "~~~ <--- HERE",
        "\n".join(lines[number : number + 2]),
    ])  # fmt: skip


def symbolic_trace(root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Run a module or function on proxies and return a `GraphModule` of the recorded operations.

    Control flow that depends on tensor values raises a `TraceError`. Control flow that depends on `concrete_args` is
    evaluated for their values.

    Args:
        root: the module or function.
        concrete_args: values of parameters that become constants. The leaves of nested values become separate parameters;
            leaves that are `torch.fx.PH` remain inputs.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> traced(torch.tensor([-1.0, 1.0]))
    tensor([1., 2.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)

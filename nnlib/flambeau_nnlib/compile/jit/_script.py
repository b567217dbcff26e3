"""`torch.jit.script`: scripted functions and modules.

PyTorch compiles them when they are called. Here they run as Python code, and are translated when they are saved with
`torch.jit.save`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import linecache
import os
import pickle
import sys
import textwrap
import traceback
import typing
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any, BinaryIO, NoReturn

import flambeau as torch
from flambeau import nn
from flambeau.extension.schemas import FunctionSchema

from ...nn.modules.module import MEMBER_KINDS
from ...nn.utils.parametrize import is_parametrized
from ..source_text import unindented
from ._arguments import Conversion, annotations_of_function, argument_conversion, unchanged
from ._async import Future
from ._checking import check_class, check_constants, check_function
from ._decorators import Attribute, enters_script, interface, runs_script
from ._hook_checks import check_hooks
from ._methods import with_graph
from ._recording import Recorded, current_recording
from ._script_containers import ScriptDict, ScriptList, unshared
from ._sources import constants_of, source_of, warn_about_annotations
from ._state import switch
from ._types import is_script_class

__all__ = [
    "CompilationUnit",
    "Error",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "interface",
    "script",
    "script_method",
]


class ScriptWarning(Warning):
    """Warning about scripting."""


class Error(RuntimeError):
    """An exception raised by scripted code. Its cause is the original exception.

    >>> @torch.jit.script
    ... def root(x):
    ...     assert bool((x >= 0).all()), "negative"
    ...     return x.sqrt()
    >>> try:
    ...     root(torch.tensor([-1.0]))
    ... except torch.jit.Error as error:
    ...     print(str(error).splitlines()[-1])
    RuntimeError: AssertionError: negative
    """

    __module__ = __package__  # the module shown to users


_PACKAGE = __name__.partition(".")[0]
_PREFIX = "The following operation failed in the TorchScript interpreter."
_HEADER = f"{_PREFIX}\nTraceback of TorchScript (most recent call last):\n"


@contextmanager
def _raising_errors(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Context manager that converts Python exceptions of scripted code to `Error`, as in compiled code.

    RuntimeErrors keep their type. Messages name the lines of the program. Arguments that do not match the function's signature
    raise a RuntimeError. Exceptions of libraries are unchanged, because tracers use them for control flow.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error).startswith(_PREFIX):  # raised by a scripted function that this one calls
            raise type(error)(_HEADER + _places_of(error) + str(error).removeprefix(_HEADER)) from error.__cause__
        if type(error) not in (RuntimeError, NotImplementedError):
            raise
        if _is_raised_by_program(error):
            raise Error(_described(error)) from error
        if type(error) is NotImplementedError:
            raise
        raise RuntimeError(_described(error)) from error
    except TypeError as error:
        _check_arguments(function, args, kwargs, error)
        raise Error(_described(error)) from error
    except Exception as error:
        if type(error).__module__ != "builtins" and not _is_raised_in(function, error):
            raise
        raise Error(_described(error)) from error


def _unshared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy the lists and dictionaries among the arguments of the caller, unless it is scripted code itself."""
    has_containers = any(isinstance(value, (list, dict, tuple)) for value in (*args, *kwargs.values()))
    if not has_containers or runs_script(sys._getframe(2)):
        return args, kwargs
    return unshared(args), unshared(kwargs)


def _described(error: Exception) -> str:
    """Return the message of an exception with the lines of the program that raised it, marked as in compiled code."""
    kind = type(error)
    name = (
        "RuntimeError: AssertionError"
        if kind is AssertionError
        else kind.__name__
        if kind is RuntimeError
        else f"{kind.__module__}.{kind.__name__}"
    )
    return f"{_HEADER}{_places_of(error)}{name}: {error}"


def _places_of(error: Exception) -> str:
    """Return the lines of the program in the traceback of an exception."""
    hidden = contextlib.__file__  # its frames appear where context managers raise errors again
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_of_flambeau(frame.filename)]
    frames = [frame for frame in frames if frame.filename != hidden]
    return "".join(map(_marked, frames))


# The folders of the package `flambeau` and of the package of this file.
_FOLDERS = tuple(os.path.dirname(os.path.abspath(sys.modules[name].__file__ or "")) + os.sep for name in ("flambeau", _PACKAGE))


def _is_of_flambeau(file: str) -> bool:
    return file.startswith((*_FOLDERS, "<flambeau."))


def _is_raised_by_program(error: Exception) -> bool:
    """Whether a statement outside of flambeau, or in the code of an archive, raised an exception."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return not _is_of_flambeau(frame.filename) or frame.name == "raise_exception"


def _is_raised_in(function: Callable[..., Any], error: Exception) -> bool:
    """Whether a statement of a function itself raised an exception."""
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    code = getattr(inspect.unwrap(function), "__code__", None)
    return innermost is not None and innermost.tb_frame.f_code is code


def _marked(frame: traceback.FrameSummary) -> str:
    """Return a line of a traceback with its source, in which the failing expression is underlined."""
    place = f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
    text = linecache.getline(frame.filename, frame.lineno or 0).rstrip()
    start, end = frame.colno or 0, frame.end_colno or len(text)
    if frame.end_lineno != frame.lineno:
        end = len(text)
    return f"{place}    {text}\n    {' ' * start}{'~' * max(end - start, 1)} <--- HERE\n" if text else place


def _check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], cause: TypeError) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name, reason = function.__name__, str(error)
        reason = reason.replace("missing a required argument: ", "is missing value for argument ")
        raise RuntimeError(f"{name}() {reason}. Declaration: {name}{signature}") from cause


def _code_of(code: Any, function: Any) -> str:
    """Return the TorchScript code of a function or module, or its Python source if it cannot be translated."""
    try:
        return torch.jit._text_of(code)
    except RuntimeError:
        return _source_of(function)


def _source_of(function: Any) -> str:
    try:
        return unindented(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        return ""


class _WithGraph:
    """Mixin for scripted functions and modules that provides their graphs."""

    @property
    def graph(self) -> Any:
        """The graph, with calls of functions and submodules.

        Raises:
            RuntimeError: the code cannot be written as TorchScript.
        """
        return torch.jit._graph_of(self, False)

    @property
    def inlined_graph(self) -> Any:
        """The graph, with called functions and submodules inlined.

        Raises:
            RuntimeError: the code cannot be written as TorchScript.
        """
        return torch.jit._graph_of(self, True)

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """Return the `inlined_graph`; it does not depend on the arguments."""
        return self.inlined_graph


class ScriptFunction(_WithGraph):
    """A scripted function.

    Args:
        function: the Python function that it runs.

    >>> @torch.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._convert = argument_conversion(function, source_of(function))
        self.recorded: Recorded | None = None  # the recorded operators, if the function was traced
        self.name = getattr(function, "__name__", "forward")
        self.qualified_name = f"__torch__.{getattr(function, '__module__', '')}.{self.name}"

    @enters_script
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recording = current_recording()
        if recording is not None:
            return recording.called(self, args, kwargs)
        if self.recorded is None:
            args, kwargs = self._convert(*_unshared(args, kwargs))
        with _raising_errors(self.function, args, kwargs):
            return self.function(*args, **kwargs) if self.recorded is None else self.recorded(None, args, kwargs)

    @property
    def _traced(self) -> bool:
        return self.recorded is not None

    @property
    def schema(self) -> FunctionSchema:
        """The types of the parameters and of the result.

        >>> @torch.jit.script
        ... def scaled(x, by: float = 2.0):
        ...     return x * by
        >>> print(scaled.schema)
        scaled(Tensor x, float by=2.) -> Tensor
        """
        hints = annotations_of_function(inspect.unwrap(self.function), source_of(self.function))
        returned = "" if "return" in hints else next(self.graph.outputs()).type().text
        from ._schemas import function_schema  # building graphs imports modules that import this one

        return function_schema(self.name, inspect.signature(self.function), hints, returned)

    @property
    def code(self) -> str:
        """The TorchScript code of the function, or its Python source if it cannot be translated."""
        return _code_of(self, self.function)

    def save(self, f: str | os.PathLike[str] | BinaryIO, _extra_files: dict[str, Any] | None = None) -> None:
        """Save the function, see `torch.jit.save`."""
        torch.jit.save(self, f, _extra_files)

    def __reduce__(self) -> NoReturn:
        raise pickle.PickleError("ScriptFunction cannot be pickled")

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptFunction:
        return self

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction {self.name}>"


_complete: weakref.WeakSet[ScriptModule] = weakref.WeakSet()  # the modules whose `__init__` has finished


class ScriptModule(_WithGraph, nn.Module):
    """A scripted module.

    >>> scripted = torch.jit.script(torch.nn.Linear(2, 1))
    >>> isinstance(scripted, torch.jit.ScriptModule), scripted.original_name
    (True, 'Linear')
    """

    original_name: str = "Module"
    _traced = False
    _checks_methods = True  # whether creating an object checks the methods marked with `script_method`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls._checks_methods or "_defined_for" in vars(cls):
            return
        for name, member in list(vars(cls).items()):
            if hasattr(member, "_is_script_method"):
                setattr(cls, name, with_graph(member))
        initialize = cls.__init__

        @functools.wraps(initialize)
        def initialize_and_check(self: Any, *args: Any, **kwargs: Any) -> None:
            initialize(self, *args, **kwargs)
            if vars(type(self)).get("_defined_for", type(self)) is cls:
                if "_modules" not in vars(self):
                    raise RuntimeError(f"{cls.__name__}.__init__ must call super().__init__()")
                _check_methods(self)
                for name, child in self._modules.items():
                    if child is not None:
                        self._modules[name] = scripted(child)
                _complete.add(self)

        cls.__init__ = initialize_and_check  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Attribute):
            vars(self).setdefault("_attribute_types", {})[name] = value.type
            value = value.value
        if self in _complete:
            self._check_assignment(name, value)
        is_in_script = type(value) is torch.Tensor and name in self._parameters and runs_script(sys._getframe(1))
        if is_in_script:
            self._parameters[name] = value
        else:
            super().__setattr__(name, value)

    def _check_assignment(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Module) and name in self._modules and not isinstance(value, ScriptModule):
            raise RuntimeError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module "
                f"'{name}': {value}"
            )
        if name in vars(self) and name in constants_of(type(self)):
            raise RuntimeError(f"Cannot mutate TorchScript constant value: '{name}'. Value: '{vars(self)[name]}'")

    @enters_script
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recording = current_recording()
        if recording is not None and recording.module is not self and self._is_traced_as_call():
            return recording.called(self, args, kwargs)
        args, kwargs = _unshared(args, kwargs)
        with _raising_errors(self.forward, args, kwargs):
            return super().__call__(*args, **kwargs)

    def _is_traced_as_call(self) -> bool:
        """Whether a trace of an enclosing module records a call of this module, instead of its operations."""
        return True

    def __getattr__(self, name: str) -> Any:
        """Return a member; programs use `__getattr__("forward").graph` to get the graph of a trace."""
        if name == "forward":
            return object.__getattribute__(self, name)
        return super().__getattr__(name)

    @property
    def code(self) -> str:
        """The TorchScript code of `forward`, or its Python source if it cannot be translated."""
        return _code_of(self, type(self).forward)

    @property
    def code_with_constants(self) -> tuple[str, dict[str, Any]]:
        """The code of `forward`, and an empty dictionary of constants."""
        return self.code, {}

    def get_debug_state(self, *args: Any, **kwargs: Any) -> Any:
        """Raise a RuntimeError: scripted code runs as Python, without an executor."""
        raise RuntimeError("get_debug_state is not supported: scripted code runs as Python; use .code and .graph instead")

    def forward_magic_method(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a special method of the module, such as `__len__`.

        Args:
            method_name: the name of the method.
            *args, **kwargs: the arguments of the call.

        Raises:
            NotImplementedError: the module does not define the method.
        """
        method = getattr(type(self), method_name, None)
        if method is None or method is getattr(nn.Module, method_name, None):
            raise NotImplementedError
        return method(self, *args, **kwargs)

    def define(self, src: str) -> None:
        """Add a method.

        Args:
            src: the source of the method, with `self` as its first parameter.
        """
        cls = type(self)
        if "_defined_for" not in vars(cls):  # a class for this object, because other objects lack the method
            body = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_defined_for": cls}
            self.__class__ = type(cls.__name__, (cls,), body)
        for name, function in _functions_in(src, sys._getframe(1)).items():
            setattr(type(self), name, with_graph(script_method(function)))
            check_function(function, self)

    def save(self, f: str | os.PathLike[str] | BinaryIO, _extra_files: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Save the module, see `torch.jit.save`."""
        torch.jit.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None, **kwargs: Any) -> bytes:
        """Return the module as the bytes of an archive, see `torch.jit.save`."""
        import io

        buffer = io.BytesIO()
        self.save(buffer, _extra_files)
        return buffer.getvalue()


_REFUSED = (
    "bfloat16", "compile", "get_buffer", "get_parameter", "get_submodule", "ipu", "mtia", "register_backward_hook",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_state_dict_post_hook",
    "register_state_dict_pre_hook", "requires_grad_", "set_submodule", "to_empty", "xpu",
)  # fmt: skip


def _unsupported_method(name: str) -> Callable[..., Any]:
    """Return a method that raises an error. It replaces a method of `nn.Module` that PyTorch's scripted modules lack."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name} is not supported on ScriptModules")

    return method


class RecursiveScriptModule(ScriptModule):
    """A module returned by `torch.jit.script` or `torch.jit.load`."""

    _checks_methods = False

    def __repr__(self) -> str:
        children = "".join(f"\n  ({name}): {textwrap.indent(repr(child), '  ').strip()}" for name, child in self._modules.items())
        return f"RecursiveScriptModule(original_name={self.original_name}{children}{chr(10) if children else ''})"

    def _get_name(self) -> str:
        return "RecursiveScriptModule"


for _name in _REFUSED:
    setattr(RecursiveScriptModule, _name, _unsupported_method(_name))


def _unused_property(name: str) -> Callable[..., Any]:
    """Return the getter of a property that scripted modules lack because of `__jit_unused_properties__`."""

    def getter(self: Any) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    return getter


def _scripted_class(cls: type[nn.Module], kind: type[ScriptModule] = RecursiveScriptModule) -> type[nn.Module]:
    """Return the class of scripted modules for a module class, with the methods of that class."""
    own = {name: inspect.getattr_static(kind, name) for name in _OFFERED}
    unused = {name: property(_unused_property(name)) for name in getattr(cls, "__jit_unused_properties__", ())}
    body = {**own, **unused, "original_name": cls.__name__, "__module__": cls.__module__, "__repr__": kind.__repr__}
    body = {name: member for name, member in body.items() if name not in _OFFERED or not hasattr(cls, name)}
    for name, member in inspect.getmembers_static(cls, inspect.isfunction):
        exported = getattr(member, "_torchscript_modifier", "") == "export"
        if exported or (name == "forward" and member is not nn.Module.forward):
            body[name] = with_graph(script_method(member) if kind is RecursiveScriptModule else runs_as_script(member))
    return type(kind.__name__, (kind,) if issubclass(kind, cls) else (cls, kind), body)


_OFFERED = {name for name in vars(ScriptModule) if not name.startswith("_")} - {"original_name"}


def scripted(
    module: nn.Module, memo: dict[int, nn.Module] | None = None, kind: type[ScriptModule] = RecursiveScriptModule
) -> Any:
    """Return a scripted module that shares the parameters, buffers and attributes of a module."""
    memo = {} if memo is None else memo
    if isinstance(module, ScriptModule):
        return module
    if id(module) not in memo:
        if kind is RecursiveScriptModule:
            if hasattr(module, "__prepare_scriptable__"):
                memo[id(module)] = scripted(module.__prepare_scriptable__(), memo, kind)
                return memo[id(module)]
            warn_about_annotations(module)
            _check_methods(module)
        cls = _scripted_class(type(module), kind)
        new: Any = cls.__new__(cls)
        memo[id(module)] = new
        # `__getstate__` of modules with parametrizations refuses, because their class is made at run time. An exported one
        # returns the state of archives.
        if is_parametrized(module) or getattr(type(module).__getstate__, "_torchscript_modifier", "") == "export":
            nn.Module.__setstate__(new, dict(vars(module)))
        else:
            new.__setstate__(module.__getstate__())
        for members in MEMBER_KINDS:  # `new` shares these with `module` if `__getstate__` returns `__dict__`
            nn.Module.__setattr__(new, members, dict(getattr(module, members)))
        for name, child in module._modules.items():
            if child is not None:
                setattr(new, name, scripted(child, memo, kind))
    return memo[id(module)]


def _check_methods(module: nn.Module) -> None:
    """Check `forward` and the exported methods of a module, as PyTorch compiles them."""
    check_constants(module)
    for name, found in inspect.getmembers_static(type(module), lambda member: isinstance(member, (with_graph, FunctionType))):
        member = found.function if isinstance(found, with_graph) else found
        exported = getattr(member, "_torchscript_modifier", "") == "export"
        is_scripted = isinstance(module, ScriptModule) and hasattr(member, "_is_script_method")
        if name not in vars(module) and (exported or is_scripted or (name == "forward" and not isinstance(module, ScriptModule))):
            check_function(member, module)
    check_hooks(module)


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Script a function, module or class. It still runs as Python.

    A module with a method `__prepare_scriptable__` is replaced by the module that the method returns.

    Args:
        obj: the function, module or class, or an object of a user-defined class, a list or a dictionary.
        optimize, _frames_up, _rcb: ignored.
        example_inputs: ignored; types are not inferred.

    Returns:
        A `ScriptFunction`, a `ScriptModule` that shares the parameters of the module, or the class or object itself. For a list
        or dictionary, a copy that scripted functions modify in place.

    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
    >>> torch.jit.script(network)
    RecursiveScriptModule(original_name=Sequential
      (0): RecursiveScriptModule(original_name=Linear)
      (1): RecursiveScriptModule(original_name=ReLU)
    )
    """
    if not switch or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if inspect.isclass(obj):
        check_class(obj)
        return obj
    if isinstance(obj, nn.Module):
        _require_initialized(obj)
        return scripted(obj)
    if isinstance(obj, list):
        return ScriptList(obj)
    if isinstance(obj, dict):
        return ScriptDict(obj)
    if isinstance(obj, tuple):
        return obj
    if is_script_class(type(obj)) and not callable(obj):
        check_class(type(obj))
        return obj
    if not callable(obj):
        raise RuntimeError(f"torch.jit.script: expected a function, a module or a class, got {type(obj).__name__}")
    check_function(obj)
    return ScriptFunction(obj)


def _require_initialized(root: nn.Module) -> None:
    """Raise RuntimeError if a parameter or buffer of a lazy module is uninitialized."""
    for module in root.modules():
        named = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        names = [name for name, tensor in named if nn.parameter.is_lazy(tensor)]
        if names:
            raise RuntimeError(
                f"'{torch.typename(module)}' has uninitialized parameters {', '.join(names)}. "
                "Did you forget to run a forward pass?"
            )


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of a `ScriptModule` as scripted code. It still runs as Python.

    Arguments are converted to the annotated types, and exceptions become `torch.jit.Error`, as in compiled code.
    """
    if not switch:
        return fn
    is_special = fn.__name__.startswith("__")
    method = runs_as_script(fn, unchanged if is_special else argument_conversion(fn, source_of(fn), is_method=True))
    method._is_script_method = True  # type: ignore[attr-defined]
    return method


def runs_as_script(fn: Callable[..., Any], convert: Conversion = unchanged) -> Callable[..., Any]:
    """Return a method that converts its arguments and calls `fn` as scripted code."""

    @enters_script
    @functools.wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = convert(*_unshared((self, *args), kwargs))
        with _raising_errors(fn, args, kwargs):
            return fn(*args, **kwargs)

    return method


_numbers = itertools.count()


def _functions_in(source: str, frame: FrameType | None) -> dict[str, Any]:
    """Return the functions that user-provided source code defines.  It may use the names of `frame`."""
    import flambeau as torch

    names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor, "Future": Future, "NoneType": type(None)}
    names |= {name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union", "NamedTuple")}
    outer: dict[str, Any] = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    names |= outer
    source = textwrap.dedent(source)
    file = f"<torch.jit source {next(_numbers)}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # `inspect` finds the source here
    try:
        exec(compile(source, file, "exec", dont_inherit=True), names)
    except (SyntaxError, NameError, TypeError) as error:  # also in annotations, which PyTorch parses itself
        raise RuntimeError(f"{error}:\n{source}") from error
    return {name: value for name, value in names.items() if inspect.isfunction(value) and value.__code__.co_filename == file}


class CompilationUnit:
    """Functions defined by source code.

    Args:
        lang: the source code. It may use the names that are visible in the calling frame.
        _frames_up: the number of frames between the caller and the frame whose names the code uses.

    >>> unit = torch.jit.CompilationUnit('''
    ... def double(x):
    ...     return 2 * x
    ... ''')
    >>> unit.double(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Add functions.

        Args:
            lang: the source code of the functions. It may use the names that are visible in the calling frame.
            rcb: ignored.
            _frames_up: the number of frames between the caller and the frame whose names the code uses.
        """
        for name, function in _functions_in(lang, sys._getframe(_frames_up + 1)).items():
            check_function(function)
            setattr(self, name, ScriptFunction(function))

    def find_function(self, name: str) -> ScriptFunction | None:
        """Return a function by name, or None.

        Args:
            name: the name of the function.
        """
        return vars(self).get(name)

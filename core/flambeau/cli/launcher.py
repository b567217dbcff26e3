"""Run PyTorch programs on flambeau: `python -m flambeau prog.py`, or `install_as_torch()` in Python."""

from __future__ import annotations

import builtins
import io
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from .. import version
from ..compat.distributions import provide_distributions
from ..compat.naming import name_as_torch
from ..engine.devices.aliases import alias
from .commands import COMMANDS, list_commands, run_command, suggest

__all__ = ["install_as_torch", "main", "run_file"]

_USAGE = """\
usage: python -m flambeau prog.py [arg] ...     run a program, with flambeau as its torch and torchvision
       python -m flambeau -m module [arg] ...   run a module or package
       python -m flambeau -c code [arg] ...     run code given here
       python -m flambeau - [arg] ...           run a program read from standard input
       python -m flambeau COMMAND [arg] ...     run one of the commands below
       python -m flambeau --version | --help

"""
_VARIABLES = """

FLAMBEAU_BACKEND=name[:index] selects the backend and the default device.
FLAMBEAU_PLUGINS=name,... enables only these installed plugins; empty enables none.
"""


def install_as_torch() -> None:
    """Make `import torch` and `import torchvision` import flambeau, even if PyTorch is installed.

    For notebooks and `conftest.py`.  Call it before anything imports `torch`.  It also applies to child processes of
    `multiprocessing`, for all start methods.

    Raises:
        ImportError: PyTorch has already been imported.

    Example::

        import flambeau
        flambeau.install_as_torch()
        import torch, torchvision
    """
    alias("torch", "flambeau")
    alias("torchvision", "flambeau_vision")
    alias("functorch", "flambeau_nnlib.compat.functorch")
    name_as_torch()
    provide_distributions()
    _install_in_children()


# The code that child processes of multiprocessing run with `python -c`.  The original code of `-c` follows as an argument.
# The resource tracker is also a child process, but runs no code of the program.
_CHILD = """\
import sys
if "resource_tracker" in sys.argv[2]:
    exec(sys.argv[2])
else:
    sys.path.append({root!r})
    from flambeau.cli.launcher import main
    main()
"""


def _install_in_children() -> None:
    """Make `multiprocessing` start child processes with the launcher: insert it after the interpreter's flags."""
    import multiprocessing.util

    util: Any = multiprocessing.util
    interpreter_flags = util._args_from_interpreter_flags
    if interpreter_flags.__module__ == __name__:
        return
    child = _CHILD.format(root=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

    def flags_and_launcher() -> list[str]:
        return [*interpreter_flags(), "-c", child]

    util._args_from_interpreter_flags = flags_and_launcher


# --- the command line ---


def main() -> None:
    """Run the command line.  A program runs and exits as it does with `python`."""
    first, *rest = sys.argv[1:] or ["--help"]
    option = first[:2]
    if first in COMMANDS:
        sys.exit(run_command(first, rest))
    elif first in ("--help", "-h"):
        print(_usage(), end="")
    elif first == "--version":
        print(f"flambeau {version.flambeau_version} (PyTorch API {version.api_version})")
    elif option in _PROGRAMS:
        arguments = ([first[2:]] if first[2:] else []) + rest
        if not arguments:
            _fail(f"argument expected for the {option} option")
        _run(_PROGRAMS[option], arguments)
    elif first == "-":
        _run(_run_stdin, [first, *rest])
    elif option.startswith("-"):
        _fail(f"unknown option {first}")
    else:
        _run(_run_path, [first, *rest])


def _usage() -> str:
    return f"{_USAGE}{list_commands()}{_VARIABLES}"


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n{_usage()}")
    sys.exit(2)


# --- programs ---


def run_file(path: str, arguments: list[str]) -> None:
    """Run a program as `python -m flambeau PATH ARGUMENT ...` does."""
    _run(_run_path, [path, *arguments])


def _run(program: Callable[[dict[str, Any], list[str]], None], args: list[str]) -> None:
    install_as_torch()
    module = sys.modules["__main__"] = ModuleType("__main__")
    namespace = vars(module)
    namespace.update(_NAMESPACE, __builtins__=builtins, __loader__=BuiltinImporter)
    try:
        program(namespace, args)
    except BaseException:
        _hide_launcher_in_tracebacks()
        raise


def _run_code(namespace: dict[str, Any], args: list[str]) -> None:
    code, *rest = args
    _set_argv(["-c", *rest], path0="")
    exec(compile(code, "<string>", "exec", dont_inherit=True), namespace)


def _run_module(namespace: dict[str, Any], args: list[str]) -> None:
    name, *rest = args
    _set_argv(["-m", *rest], path0=os.getcwd())
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # `python -m` calls it


def _run_stdin(namespace: dict[str, Any], args: list[str]) -> None:
    _set_argv(args, path0="")
    if sys.stdin.isatty():
        import code

        code.interact(local=namespace, exitmsg="")
        return
    namespace.update(_FILE_NAMESPACE, __file__="<stdin>")
    exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), namespace)


def _run_path(namespace: dict[str, Any], args: list[str]) -> None:
    path = os.path.join(os.getcwd(), args[0])
    if pkgutil.get_importer(path):  # a folder or zip archive with `__main__.py`
        _set_argv(args, path0=path)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # `python -m` calls it
        return
    _set_argv(args, path0=os.path.dirname(os.path.realpath(path)))
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        hint = f"; {suggest(args[0])}" if suggest(args[0]) else ""
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: {reason}{hint}\n")
        sys.exit(2)
    namespace.update(_FILE_NAMESPACE, __file__=path, __loader__=SourceFileLoader("__main__", path))
    exec(compile(source, path, "exec", dont_inherit=True), namespace)


# Names that Python defines in a program's namespace, depending on its version
_NAMESPACE: dict[str, Any] = {"__annotations__": {}} if sys.version_info < (3, 14) else {}
_FILE_NAMESPACE = {"__cached__": None} if sys.version_info < (3, 15) else {}
_PROGRAMS = {"-c": _run_code, "-m": _run_module}


def _set_argv(argv: list[str], path0: str) -> None:
    sys.argv[:] = argv
    if not sys.flags.safe_path:
        sys.path[0] = path0  # replaces the entry that `-m flambeau` has set


def _hide_launcher_in_tracebacks() -> None:
    """Remove the launcher's frames from the traceback that is printed when the program ends by an exception."""
    show = sys.excepthook

    def show_program_frames(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        trace = _below_launcher(trace)
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = show_program_frames


def _below_launcher(trace: TracebackType | None) -> TracebackType | None:
    while trace and trace.tb_frame.f_globals is not globals():
        trace = trace.tb_next
    while trace and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    return trace

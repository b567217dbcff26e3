"""The commands of `python -m flambeau`: their modules, and one line about each."""

from __future__ import annotations

import difflib
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["COMMANDS", "list_commands", "run_command", "suggest"]


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        usage: the arguments, as in "FILE ...".
        about: what the command does, in one line.
        module: the module whose function `main(arguments)` runs the command and returns the exit status.
    """

    usage: str
    about: str
    module: str


COMMANDS = {
    "env": Command("[--json]", "print versions, backends, devices and threads", ".env"),
    "backends": Command("", "print the installed backends with their features and gaps", ".listing"),
    "conformance": Command("NAME [FAMILY ...]", "test flambeau on a backend", "..conformance"),
    "inspect": Command("FILE ... | --diff A B", "list the tensors of files, or how two files differ", ".inspecting"),
    "convert": Command("IN OUT", "write a file of tensors in another format", ".converting"),
    "export": Command("FILE.py:MODEL --input SIZES OUT", "write a model as .onnx, .pt2 or NumPy program", ".exporting"),
    "summary": Command("FILE.py:MODEL --input SIZES", "print the layers of a model: shapes, parameters, memory", ".summary"),
    "watch": Command("FILE.py [--step N] [-o OUT.html]", "write a training step of a program as a page to look at", ".watching"),
    "help": Command("[COMMAND]", "list the commands, or print the options of one", ".commands"),
}


def run_command(name: str, arguments: Sequence[str]) -> int:
    """Run a command; return its exit status.  A reader of the output, such as `head`, may end early."""
    try:
        status: int = importlib.import_module(COMMANDS[name].module, __package__).main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes standard output at its end
        return 0
    return status


def list_commands() -> str:
    """Return one line for each command, in columns that fit the width of the terminal.

    >>> list_commands().split()[:2]
    ['env', '[--json]']
    """
    width = shutil.get_terminal_size((130, 24)).columns
    lines = []
    for name, command in COMMANDS.items():
        usage = f"{name} {command.usage}".rstrip()
        lines.append(f"{usage:<40}{command.about}" if width >= 100 else f"{usage}\n{textwrap.indent(command.about, ' ' * 4)}")
    return "\n".join(lines)


def suggest(name: str) -> str:
    """Return a hint such as "did you mean the command inspect?", or an empty string if no command has a similar name."""
    similar = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"did you mean the command {similar[0]}?" if similar else ""


def main(arguments: Sequence[str]) -> int:
    """Run `help` with its arguments.  Return the exit status: 2 for an unknown command, else 0."""
    if len(arguments) == 1 and arguments[0] in COMMANDS and arguments[0] != "help":
        return run_command(arguments[0], ["--help"])
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print("usage: python -m flambeau COMMAND [ARGUMENT ...]\n")
        print(list_commands())
        print("\npython -m flambeau help COMMAND prints the options of a command.")
        return 0
    hint = suggest(arguments[0])
    message = f"help: expected the name of a command, but got {' '.join(arguments)}"
    print(f"{message}; {hint}" if hint else message, file=sys.stderr)
    return 2

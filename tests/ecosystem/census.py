"""Count the names of `torch` that installed or downloaded libraries use, and list those that PyTorch has and flambeau lacks.

    python tests/ecosystem/census.py --torch OTHER/bin/python FOLDER ...      installed packages or folders of wheels
    python tests/ecosystem/census.py --torch ... FOLDER --users 2             names that at least two libraries use

The sources are read, not imported. A name is an attribute chain that starts at an imported module of `torch`, such as
`F.relu` after `import torch.nn.functional as F`, or a name in `from torch.nn import Linear`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

OWN = ("torch", "torchvision", "functorch", "torchgen", "flambeau", "flambeau_backends", "flambeau_nnlib", "flambeau_vision")
# Reads dotted names, one a line, and prints a JSON list of those that do not exist.
CHECK = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
def exists(name):
    parts = name.split(".")
    value, prefix = importlib.import_module(parts[0]), parts[0]
    for part in parts[1:]:
        prefix += "." + part
        try:
            value = getattr(value, part)
        except Exception:
            try:
                value = importlib.import_module(prefix)
            except Exception:
                return False
    return True
names = sys.stdin.read().split()
print("missing:" + json.dumps([name for name in names if not exists(name)]))
"""


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the library and the text of each Python file in a folder of installed packages or wheels."""
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    yield wheel.name.partition("-")[0], archive.read(name).decode("utf-8", "replace")
    for path in sorted(folder.rglob("*.py")):
        library = path.relative_to(folder).parts[0].removesuffix(".py")
        if library not in OWN:
            yield library, path.read_text(encoding="utf-8", errors="replace")


class Names(ast.NodeVisitor):
    """Collect the names of `torch` in a file, given its syntax tree."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.modules: dict[str, str] = {}  # {local name: dotted name in `torch`}

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.partition(".")[0] == "torch":
                self.found.add(name.name)
                self.modules[name.asname or "torch"] = name.name if name.asname else "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module is not None and node.module.partition(".")[0] == "torch":
            for name in node.names:
                if name.name != "*":
                    self.modules[name.asname or name.name] = f"{node.module}.{name.name}"
                    self.found.add(f"{node.module}.{name.name}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name):
            if value.id in self.modules and isinstance(node.ctx, ast.Load):
                self.found.add(".".join([self.modules[value.id], *reversed(parts)]))
        else:
            self.visit(value)


def names_in(text: str) -> set[str]:
    """Return the names of `torch` that the source of a file uses."""
    if "torch" not in text:
        return set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings of the file
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    visitor = Names()
    for node in ast.walk(tree):  # imports first: a function may use a module that is imported below it
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            visitor.visit(node)
    visitor.visit(tree)
    return visitor.found


def missing(names: list[str], command: list[str], *, as_torch: bool) -> set[str]:
    """Return the names that do not exist for a Python command."""
    variables = {**os.environ, "FLAMBEAU_AS_TORCH": str(int(as_torch))}
    done = subprocess.run(
        [*command, "-c", CHECK], input="\n".join(names), env=variables, capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        if line.startswith("missing:"):
            return set(json.loads(line.removeprefix("missing:")))
    raise RuntimeError(f"{command} failed: {done.stderr[-2000:]}")


def main() -> int:
    """Run the command line; return 1 if flambeau lacks a name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument("--users", type=int, default=1)
    args = parser.parse_args()
    users: dict[str, set[str]] = defaultdict(set)
    for folder in args.folders:
        for library, text in sources(folder):
            for name in names_in(text):
                users[name].add(library)
    names = sorted(users)
    in_torch = sorted(set(names) - missing(names, [args.torch], as_torch=False))
    lacking = missing(in_torch, [sys.executable, "-m", "flambeau"], as_torch=True)
    shown = sorted((name for name in lacking if len(users[name]) >= args.users), key=lambda name: (-len(users[name]), name))
    for name in shown:
        print(f"{len(users[name]):4} {name}  ({', '.join(sorted(users[name])[:6])})")
    libraries = set().union(*users.values())
    print(
        f"{len(libraries)} libraries use {len(in_torch)} names; {len(lacking)} missing, {len(shown)} with {args.users} users or more"
    )
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())

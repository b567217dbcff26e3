"""Count the names of `torch` that libraries use, and list those that PyTorch has and flambeau lacks.

    python tests/ecosystem/census.py --torch OTHER/bin/python                 the packages of census_packages.txt
    python tests/ecosystem/census.py --torch ... --users 2                    names that at least two libraries use
    python tests/ecosystem/census.py --torch ... FOLDER ...                   installed packages or folders of wheels instead

A package is downloaded without its requirements, read, and deleted; `--cache` keeps the names that it uses. The sources are
parsed, not imported. A name is an attribute chain that starts at an imported module of `torch`, such as
`F.relu` after `import torch.nn.functional as F`, or a name in `from torch.nn import Linear`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGES = Path(__file__).parent / "census_packages.txt"
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
        for text in archived(wheel):
            yield wheel.name.partition("-")[0], text
    for path in sorted(folder.rglob("*.py")):
        library = path.relative_to(folder).parts[0].removesuffix(".py")
        if library not in OWN:
            yield library, path.read_text(encoding="utf-8", errors="replace")


def archived(path: Path) -> Iterator[str]:
    """Yield the text of each Python file in a wheel or an sdist."""
    if path.name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    yield archive.read(name).decode("utf-8", "replace")
    else:
        with tarfile.open(path) as packed:
            for member in packed:
                file = packed.extractfile(member) if member.name.endswith(".py") else None
                if file is not None:
                    yield file.read().decode("utf-8", "replace")


def names_of_package(package: str, cache: Path) -> tuple[str, set[str]]:
    """Return the version of a package and the names that it uses.  The version is "" if the package cannot be downloaded."""
    kept = cache / f"{package}.json"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        version, names = "", set[str]()
        with tempfile.TemporaryDirectory() as scratch:
            for kind in ("--only-binary=:all:", f"--no-binary={package}"):
                pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", kind, f"--dest={scratch}", package]
                if subprocess.run(pip, capture_output=True, check=False, timeout=600).returncode == 0:
                    path = next(Path(scratch).iterdir())
                    version = re.sub(r"\.(tar\.\w+|zip|tgz)$", "", path.name.split("-")[-1 if kind.startswith("--no") else 1])
                    names = set().union(*map(names_in, archived(path)))
                    break
        kept.write_text(json.dumps({"version": version, "names": sorted(names)}), encoding="utf-8")
    read = json.loads(kept.read_text(encoding="utf-8"))
    return read["version"], set(read["names"])


def nodes(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom | ast.Attribute]:
    """Yield the imports and the outermost attribute of each chain.  Three times as fast as `ast.walk`."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.Attribute):
            yield node
            while isinstance(node, ast.Attribute):
                node = node.value
            stack.append(node)
        elif not isinstance(node, (ast.Name, ast.Constant)):
            for field in node._fields:
                value = getattr(node, field)
                if isinstance(value, list):
                    stack += [item for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST):
                    stack.append(value)


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
    found: set[str] = set()
    modules: dict[str, str] = {}  # {local name: dotted name in `torch`}
    chains: set[tuple[str, str]] = set()  # (local name, attributes), such as ("F", ".relu")
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] == "torch":
                    found.add(name.name)
                    modules[name.asname or "torch"] = name.name if name.asname else "torch"
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module is not None and node.module.partition(".")[0] == "torch":
                for name in node.names:
                    if name.name != "*":
                        modules[name.asname or name.name] = f"{node.module}.{name.name}"
                        found.add(f"{node.module}.{name.name}")
        elif isinstance(node.ctx, ast.Load):
            attributes = ""
            value: ast.expr = node
            while isinstance(value, ast.Attribute):
                attributes = f".{value.attr}{attributes}"
                value = value.value
            if isinstance(value, ast.Name):
                chains.add((value.id, attributes))
    return found | {modules[name] + attributes for name, attributes in chains if name in modules}


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
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", default=Path(tempfile.gettempdir()) / "flambeau-census")
    args = parser.parse_args()
    users: dict[str, set[str]] = defaultdict(set)
    for package in PACKAGES.read_text(encoding="utf-8").split() if not args.folders else ():
        version, found = names_of_package(package, args.cache)
        if not version:
            print(f"{package} cannot be downloaded", file=sys.stderr)
        for name in found:
            users[name].add(package)
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

"""Only `flambeau.registrations`, and a few listed modules, register functions of upper layers with lower layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CORE = Path(__file__).parents[2] / "core/flambeau"

# Files and folders that may register functions when they are imported, and the reason.
ELSEWHERE = {
    "registrations.py": "the list itself",
    "operations": "families of operations give Tensor their methods, next to the functions, as `op` does",
    "engine/calls/inplace.py": "a method of Tensor that only the engine calls",
    "engine/calls/overriding.py": "Tensor's protocols of overriding, which subclasses need when they are defined",
    "engine/calls/resolve.py": "dispatch keys find kernels from the first operation on",
    "engine/devices/host.py": "the defaults of backends, in the layer that declares them",
    "engine/tape/engine.py": "a node that is called runs the engine: the same layer",
    "engine/tensors/memory_format.py": "the layout that the class of all tensors has: the same layer",
    "layouts/sparse": "loaded when a program first makes a sparse tensor",
    "transforms/batching": "arrays of `vmap`, in the package that defines them",
    "cuda/streams.py": "loaded when a program first uses CUDA",
}


def registrations(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the module-level statements that set an attribute of an imported object or add a method to Tensor."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets = [part for target in node.targets for part in getattr(target, "elts", [target])]
            if any(isinstance(part, ast.Attribute) and ast.unparse(part).partition(".")[0] in imported for part in targets):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "attach":
            yield node.lineno, ast.unparse(node)


def place_of(path: Path) -> str | None:
    """Return the entry of `ELSEWHERE` that contains a file, or None."""
    names = [path.relative_to(CORE).as_posix(), *(parent.as_posix() for parent in path.relative_to(CORE).parents)]
    return next((name for name in names if name in ELSEWHERE), None)


def test_only_listed_modules_register() -> None:
    found = [(path, line, text) for path in sorted(CORE.rglob("*.py")) for line, text in registrations(path)]
    wrong = [f"{path.relative_to(CORE)}:{line}: {text}" for path, line, text in found if place_of(path) is None]
    assert not wrong, "\n".join(wrong)
    assert {place_of(path) for path, _, _ in found} == ELSEWHERE.keys()


@pytest.mark.parametrize("code", ["attach(a=b)", "hooks.a = b", "A.x, A.y = b, c"])
def test_registrations_are_noticed(code: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"from .lower import A, attach, hooks\n{code}\n", encoding="utf-8")
    assert [text for _, text in registrations(path)] == [ast.unparse(ast.parse(code))]

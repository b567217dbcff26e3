"""Core modules are ordered in layers. They import only from the same or lower layers, even inside functions, without cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = {"core": "flambeau", "backends": "flambeau_backends", "nnlib": "flambeau_nnlib", "vision": "flambeau_vision"}

# Layers from bottom to top: the name, and the modules of the core that belong to it, including those named after PyTorch's.
LAYERS: list[tuple[str, set[str]]] = [
    ("engine: values", {"engine", "engine.values", "version", "torch_version"}),
    ("engine: devices", {"engine.devices", "backend"}),
    ("engine: tape", {"engine.tape"}),
    ("engine: tensors", {"engine.tensors"}),
    ("engine: calls", {"engine.calls", "return_types"}),
    ("operations", {"operations", "random", "storage"}),
    ("subclasses of Tensor", {"layouts", "layouts.subclasses"}),
    ("transforms", {"transforms"}),
    ("capture", {"transforms.capture"}),
    ("modules below the namespace", {
        "autograd", "protocols", "cuda", "cpu", "mps", "mtia", "xpu", "accelerator", "backends", "compiler", "utils", "compat.table",
        "compat.volatile",
    }),
    ("registrations", {"registrations"}),
    ("the namespace itself", {""}),
    ("layouts", {"layouts.sparse", "layouts.nested"}),
    ("modules of functions", {
        "__future__", "_functions", "array_api", "autograd.functional", "functional", "futures", "masked", "overrides", "quasirandom",
        "types", "utils.module_tracker",
    }),
    ("transforms of functions", {"func"}),
    ("profiles", {"autograd.profiler", "autograd.profiler_util", "profiler"}),
    ("files", {"serialization", "compat.tar"}),
    ("for authors of layers and operators", {"extension", "library", "utils.serialization"}),
    ("checks", {"conformance", "testing", "utils.flop_counter"}),
    ("PyTorch's private names, and old programs", {"compat"}),
    ("command line", {"__config__", "__main__", "cli", "utils.collect_env"}),
]  # fmt: skip


def modules_of(folder: str) -> dict[str, Path]:
    base = ROOT / folder
    found = {}
    for path in (base / SOURCES[folder]).rglob("*.py"):
        if "` for editors.  `import" in path.read_text(encoding="utf-8"):  # no program imports it
            continue
        parts = path.relative_to(base).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, modules: dict[str, Path]) -> Iterator[tuple[str, int]]:
    """Yield `(module, line)` for each import of one of `modules`, except under `TYPE_CHECKING`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ignored = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            anchor = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*anchor, *([node.module] if node.module else [])])
            targets = [full if (full := f"{module}.{alias.name}") in modules else module for alias in node.names]
        else:
            continue
        for target in targets:
            while target and target not in modules:
                target = target.rpartition(".")[0]
            if target and target != name:
                yield target, node.lineno


def layer_of(name: str) -> int:
    part = name.partition(".")[2]
    while True:
        for number, (_, members) in enumerate(LAYERS):
            if part in members:
                return number
        assert part, f"{name} is in no layer"
        part = part.rpartition(".")[0] if "." in part else "?"
        assert part != "?", f"{name} is in no layer"


def test_imports_go_down() -> None:
    modules = modules_of("core")
    upward = [
        f"{name}:{line} ({LAYERS[layer_of(name)][0]}) imports {target} ({LAYERS[layer_of(target)][0]})"
        for name, path in modules.items()
        for target, line in imports_of(name, path, modules)
        if layer_of(target) > layer_of(name)
    ]
    assert not upward, "\n".join(upward)


@pytest.mark.parametrize("folder", SOURCES)
def test_no_circles(folder: str) -> None:
    modules = modules_of(folder)
    # A module that imports its own package makes no cycle, because Python has already started to import the package.
    edges = {
        name: {target for target, _ in imports_of(name, path, modules) if not name.startswith(f"{target}.")}
        for name, path in modules.items()
    }
    while edges:
        leaves = {name for name, targets in edges.items() if not targets & edges.keys()}
        assert leaves, f"these import each other: {sorted(edges)}"
        edges = {name: targets for name, targets in edges.items() if name not in leaves}


def test_what_stands_at_the_top_has_a_name_of_pytorch() -> None:
    """Top-level modules of the core are named as in PyTorch, except the layers and the modules for authors of backends."""
    ours = {
        "array_api", "backend", "cli", "compat", "conformance", "engine", "extension", "layouts", "operations", "protocols",
        "registrations", "transforms",
    }  # fmt: skip
    pytorch = {
        "__config__", "__future__", "__init__", "__main__", "_functions", "accelerator", "autograd", "backends", "compiler", "cpu",
        "cuda", "func", "functional", "futures", "library", "masked", "mps", "mtia", "overrides", "profiler", "quasirandom", "random",
        "return_types", "serialization", "storage", "testing", "torch_version", "types", "utils", "version", "xpu",
        # modules of other packages, for editors
        "amp", "distributed", "distributions", "export", "fft", "fx", "hub", "jit", "linalg", "multiprocessing", "nn", "onnx",
        "optim", "sparse", "special",
    }  # fmt: skip
    here = {path.stem for path in (ROOT / "core/flambeau").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert here <= pytorch | ours


def test_every_layer_says_what_it_is() -> None:
    for name in (
        "engine", "engine/values", "engine/devices", "engine/tape", "engine/tensors", "engine/calls", "operations", "transforms",
        "transforms/capture", "layouts", "layouts/subclasses", "compat",
    ):  # fmt: skip
        assert ast.get_docstring(ast.parse((ROOT / "core/flambeau" / name / "__init__.py").read_text(encoding="utf-8")))


# Internal packages of the core, which nnlib, vision and plugins may not import.
INNER = {"engine", "operations", "transforms", "layouts", "protocols", "cli", "compat"}


@pytest.mark.parametrize("folder", ["nnlib", "vision", "plugins"])
def test_nobody_above_imports_what_is_inside_of_the_core(folder: str) -> None:
    inside = []
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            inside += [
                f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
                for name in names
                if name.startswith("flambeau.") and name.split(".")[1] in INNER
            ]
            inside += [
                f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
                for name in names
                if name.startswith("flambeau_backends.numpy.") and name != "flambeau_backends.numpy.packs"
            ]
    assert not inside, "\n".join(inside)

"""Import rules: allowed imports between packages, the cost of `import flambeau`, and private names."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import flambeau

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LONGEST = 800
PACKAGES = {
    "core": ("flambeau", {"flambeau", "pluggy", "array_api_compat"}),
    "backends": ("flambeau_backends", {"flambeau", "flambeau_backends", "numpy", "cupy", "cupyx", "ml_dtypes", "array_api_compat",
                                       "cudnn"}),
    "nnlib": ("flambeau_nnlib", {"flambeau", "flambeau_nnlib", "tqdm", "cffi"}),
    "vision": ("flambeau_vision", {"flambeau", "flambeau_nnlib", "flambeau_vision", "numpy", "PIL", "tqdm", "scipy", "lmdb",
                                   "pycocotools", "av", "pillow_heif"}),
}  # fmt: skip
# optional dependencies, imported only inside functions
OPTIONAL = {"safetensors", "opt_einsum", "scipy", "tqdm", "zmq", "mpi4py"}
FOR_TOOLS = {
    "numpy",
    "tensorboard",
    "google",
    "matplotlib",
    "moviepy",
    "PIL",
}  # imported only inside functions of benchmark and tensorboard modules in nnlib

FORMATS = {  # exporters and the libraries they import; an exporter is imported only when its format is used
    "nnlib/flambeau_nnlib/compile/onnx": {"onnx", "onnxruntime", "numpy", "ml_dtypes"},
    "nnlib/flambeau_nnlib/compile/export/numpy_files": {"numpy"},
    "nnlib/flambeau_nnlib/distributed/nccl.py": {"cupy"},  # CuPy contains the NCCL bindings
}


def imported(path: Path) -> list[tuple[str, bool, int]]:
    """Return for each import in a file: the top-level package, whether it is at module level, and the line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(outer)
    }
    guarded |= {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.dump(outer.test)
        for node in ast.walk(outer)
    }
    found = []
    for node in ast.walk(tree):
        found += [(name.partition(".")[0], id(node) not in guarded, node.lineno) for name in names_imported(node)]
    return found


def names_imported(node: ast.AST) -> list[str]:
    """Return the modules imported by an import statement, or by a call of `import_module` or `__import__`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""] if not node.level else []
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__"):
        return [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and not arg.value.startswith(".")]
    return []


@pytest.mark.parametrize("code", [
    "import numpy", "def f():\n    import numpy.linalg as l", "from numpy import array", "if TYPE_CHECKING:\n    import numpy",
    "import importlib\nimportlib.import_module('numpy')", "__import__('numpy')",
])  # fmt: skip
def test_every_way_to_name_a_library_is_noticed(code: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(code, encoding="utf-8")
    assert "numpy" in {name for name, _, _ in imported(path)}


@pytest.mark.parametrize("folder", PACKAGES)
def test_layers(folder: str) -> None:
    package, allowed = PACKAGES[folder]
    wrong = []
    for path in sorted((ROOT / folder / package).rglob("*.py")):
        formats = {name for place, names in FORMATS.items() if path.is_relative_to(ROOT / place) for name in names}
        for name, at_top, line in imported(path):
            if name in sys.stdlib_module_names or name in allowed | formats:
                continue
            optional = OPTIONAL | {"flambeau_nnlib", "flambeau_backends"} if folder == "core" else OPTIONAL
            if folder == "nnlib" and path.parent.name in ("benchmark", "tensorboard"):
                optional = OPTIONAL | FOR_TOOLS
            if not at_top and name in optional:
                continue
            wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_a_plain_installation_has_what_the_cpu_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.match(r"[\w-]+", requirement)[0].replace("-", "_") for requirement in project["dependencies"]}
    paths = [path for folder in ("core", "backends") for path in (ROOT / folder).rglob("*.py")]
    needed = {name for path in paths for name, _, _ in imported(path)} - sys.stdlib_module_names - OPTIONAL
    assert {package for package in needed if not package.startswith("flambeau")} - {"cupy", "cupyx", "cudnn"} == required


def in_subprocess(code: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_only_the_selected_backend_is_imported() -> None:
    code = (
        "import flambeau as torch, sys, json; torch.ones(2).sum()\n"
        "plugins = [source.split()[0] for source in torch.backend.installed().values()]\n"
        "print(json.dumps([m for m in sys.modules if m.partition('.')[0] in (*plugins, 'cupy', 'flambeau_nnlib', "
        "'flambeau_vision') or m.startswith('flambeau_backends.')]))"
    )
    loaded = set(json.loads(in_subprocess(code, FLAMBEAU_BACKEND="numpy")))
    assert {name.split(".")[1] for name in loaded if name.startswith("flambeau_backends.")} == {"numpy"}
    assert not {name for name in loaded if not name.startswith("flambeau_backends.")}


def test_inference_loads_no_code_that_it_does_not_run() -> None:
    code = (
        "import flambeau as torch, sys\n"
        "from flambeau_vision import models\n"
        "with torch.no_grad():\n"
        "    network = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).eval())\n"
        "    for _ in range(4): network(torch.ones(2, 3))\n"
        "print(*sys.modules)"
    )
    loaded = set(in_subprocess(code).split())
    assert not loaded & {
        "flambeau.func", "flambeau.layouts.sparse", "flambeau.library", "flambeau_nnlib.nn.uninitialized",
        "flambeau_nnlib.nn.utils.parametrize", "flambeau_nnlib.nn.utils.prune", "flambeau_nnlib.optim",
        "flambeau_vision.models.detection", "flambeau_vision.models.video",
    }  # fmt: skip


def test_import_loads_little() -> None:
    """`import flambeau` loads few modules besides NumPy. Modules are counted, because import times vary."""
    code = (
        "import numpy, ml_dtypes, pluggy, sys, traceback\n"  # traceback loads more in newer Pythons
        "before = set(sys.modules); import flambeau; print(*sorted(set(sys.modules) - before))"
    )
    loaded = in_subprocess(code, FLAMBEAU_BACKEND="numpy").split()
    own = [name for name in loaded if name.startswith("flambeau")]
    assert len(own) <= 173, f"{len(own)} files"
    assert {*loaded} - {*own} <= {
        "__future__", "_colorize", "_heapq", "array", "cmath", "copy", "dataclasses", "gc", "heapq", "importlib._abc", "importlib.util",
        "mmap", "threading", "traceback",
    }  # fmt: skip


def test_unknown_backend_lists_the_installed_ones() -> None:
    code = "import flambeau as torch\ntry: torch.ones(1)\nexcept RuntimeError as error: print(error)"
    message = in_subprocess(code, FLAMBEAU_BACKEND="nosuch")
    assert "nosuch" in message and "numpy" in message and "cupy" in message and "did you mean" not in message
    misspelt = in_subprocess(code, FLAMBEAU_BACKEND="numpyy")
    assert misspelt.startswith("unknown flambeau backend 'numpyy'; did you mean 'numpy'? Installed: ")
    assert "pip install" not in message + misspelt


def test_exported_names_exist_and_are_documented() -> None:
    for name in flambeau.engine.calls.op.PUBLIC:
        written = flambeau.engine.calls.op.PUBLIC[name]
        assert inspect.unwrap(getattr(flambeau, name)) is inspect.unwrap(written)


def test_files_that_documents_name_exist() -> None:
    files = [
        path.as_posix()
        for folder in (*PACKAGES, "plugins", "tests", "examples", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    missing = [
        f"{document.name}: {named}"
        for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for named in re.findall(r"`((?:[\w-]+/)*[\w-]+\.py)`", document.read_text(encoding="utf-8"))
        if not any(path.endswith("/" + named) for path in files) and "mylibrary" not in named  # a reader creates those
    ]
    assert not missing


def lines_of_code(text: str) -> int:
    """Return the number of lines of a file, where a docstring, or the text of an argument `doc`, counts as one line."""
    count = len(text.splitlines())
    if count <= LONGEST:
        return count
    texts = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            texts.append(node.body[0])
        elif isinstance(node, ast.keyword) and node.arg == "doc":
            texts.append(node.value)
    return count - sum((each.end_lineno or 0) - each.lineno for each in texts)


@pytest.mark.parametrize("folder", [*PACKAGES, "tests", "examples", "benchmarks", "plugins"])
def test_no_file_is_too_long(folder: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for path in (ROOT / folder).rglob("*.py")
        if (count := lines_of_code(path.read_text(encoding="utf-8"))) > LONGEST
    ]
    assert not long


def test_docstrings_do_not_count_as_code() -> None:
    filler = "x = 1\n" * LONGEST
    assert lines_of_code(filler) == LONGEST
    assert lines_of_code(f'"""One.\n\nTwo.\n"""\n{filler}') == LONGEST + 1
    assert lines_of_code(f'{filler}def f():\n    """One.\n\n    Two.\n    """\ng(doc="""One.\n\nTwo.""")\n') == LONGEST + 3


# Names that other modules may import: those of PyTorch; `_rebuilt`, named in pickles of DTensor; `_kernels`, a compiled module.
UNDERSCORED = {
    "_EmptyStateDictLoadPlanner", "_Graph", "_IncompatibleKeys", "_InverseTransform", "_LRScheduler", "_LazyNormBase",
    "_LinAlgError", "_Loss", "_NormBase", "_NormPartial", "_Number", "_StorageInfo", "_StridedShard",
    "_SymmetricMemory", "_WeightedLoss", "_WrappedHook", "_accelerator_setAllocatorSettings", "_add_batch_dim",
    "_batch_mahalanobis", "_batch_mv", "_clipped_sigmoid", "_copy_attr", "_disabled_torch_function_impl",
    "_format_target", "_get_attr", "_group_tensors_by_device_and_dtype", "_grouped_mm", "_has_attr", "_kernels",
    "_legal_ops", "_load_state_dict", "_nested_view_from_buffer", "_ntuple", "_pg_map", "_rebuild_njt", "_rebuilt",
    "_remove_batch_dim", "_reverse_repeat_tuple", "_sample_dirichlet", "_scaled_mm", "_single", "_standard_gamma",
    "_standard_normal", "_sum_rightmost",
}  # fmt: skip


def underscored_imports(folder: Path) -> list[tuple[str, str]]:
    """Return `("file:line", name)` for each import of a name with an underscore, other than a module, from a flambeau module."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.level or (node.module or "").startswith("flambeau")):
                continue
            package = path.parents[node.level - 1] if node.level else None
            for alias in node.names:
                is_module = package is not None and any(
                    ((place := package.joinpath(*(node.module or "").split("."), alias.name)) / "__init__.py").exists()
                    or place.with_suffix(suffix).exists()
                    for suffix in (".py", ".pyi")
                )
                if alias.name.startswith("_") and not alias.name.startswith("__") and not is_module:
                    found.append((f"{path.relative_to(ROOT)}:{node.lineno}", alias.name))
    return found


def test_underscored_names_stay_in_their_module() -> None:
    """Modules import only public names from each other, and the names in UNDERSCORED. Each of these is imported somewhere."""
    imports = [each for folder in (*PACKAGES, "plugins") for each in underscored_imports(ROOT / folder)]
    assert [(place, name) for place, name in imports if name not in UNDERSCORED] == []
    assert {name for _, name in imports} == UNDERSCORED

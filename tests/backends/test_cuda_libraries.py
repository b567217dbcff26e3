"""The installed CuPy and cuDNN frontend provide the names that the CuPy backend uses. No GPU is needed."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

BACKEND = Path(__file__).parents[2] / "backends/flambeau_backends/cupy"
WITH_CUPY = pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="NOT CHECKED: CuPy is not installed")
WITH_CUDNN = pytest.mark.skipif(
    importlib.util.find_spec("cudnn") is None, reason="NOT CHECKED: nvidia-cudnn-frontend is not installed"
)


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@WITH_CUPY
def test_without_a_device_everything_can_be_imported_and_asked() -> None:
    run(
        """
        import flambeau as torch
        from flambeau import backend
        cuda = torch.cuda
        assert not cuda.is_available() and cuda.device_count() == 0 and cuda.memory_allocated() == 0 and cuda.get_arch_list() == []
        assert not torch.backends.cudnn.is_available() and torch.backends.cuda.is_built() and not torch.ones(1).is_pinned()
        assert "no CUDA device" in backend.find("cupy").report()
        cuda.manual_seed_all(1), cuda.empty_cache(), cuda.FloatTensor
        for call in (cuda.init, torch.ones(1).cuda, lambda: torch.ones(1, device="cuda"), cuda.current_device, cuda.synchronize):
            try:
                call()
            except RuntimeError as error:
                assert "No CUDA GPUs are available" in str(error)
            else:
                raise AssertionError(call)
        assert torch.ones(2).sum() == 2
    """,
        CUDA_VISIBLE_DEVICES="",
    )


def names_of(path: Path) -> set[str]:
    """Return the dotted names from `cupy`, `cupyx` and `cupy.cuda.runtime` that a module uses."""
    aliases = {"cupy": "cupy", "cupyx": "cupyx", "runtime": "cupy.cuda.runtime", "memory": "cupy.cuda.memory"}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id in aliases and not (node.id == "memory" and path.name != "memory.py"):
            found.add(".".join([aliases[node.id], *reversed(parts)]))
    return found


@WITH_CUPY
def test_cupy_has_every_name_that_is_used() -> None:
    names = sorted(set().union(*map(names_of, BACKEND.glob("*.py"))))
    assert len(names) > 60 and "cupy.cuda.runtime.ipcOpenMemHandle" in names
    missing = run(f"""
        import cupy, cupyx, cupy.cuda.runtime
        for name in {names!r}:
            if name.startswith("cupy.cuda.cublas"):
                continue  # loads cuBLAS, which is installed where there is a GPU
            owner, *parts = name.split(".")
            owner = {{"cupy": cupy, "cupyx": cupyx}}[owner]
            for part in parts:
                if not hasattr(owner, part):
                    print(name)
                    break
                owner = getattr(owner, part)
                if isinstance(owner, type) or not hasattr(owner, "__dict__"):
                    break  # attributes of objects are not looked into
    """)
    assert missing == ""


@WITH_CUDNN
@WITH_CUPY
def test_cudnn_takes_the_graphs() -> None:
    """The cuDNN frontend validates names, shapes and dtypes of the graphs without a device."""
    run("""
        import cudnn
        import numpy as np
        from flambeau_backends.cupy import dnn
        F, H = cudnn.data_type.FLOAT, cudnn.data_type.HALF

        def check(describe, shapes, results, *options, kind=F):
            graph = cudnn.pygraph(io_data_type=kind, intermediate_data_type=F, compute_data_type=F)
            graph._backend_lowerable = lambda: False  # the rest of the checks asks the device
            given = [graph.tensor(dim=list(each), stride=list(np.empty(each, np.int8).strides), data_type=kind) for each in shapes]
            made = describe(cudnn, graph, *given, *options)
            for tensor, shape in zip(made, results, strict=True):
                inferred = tensor.dim
                assert not inferred or describe in (dnn._input_gradient,) or list(inferred) == list(shape), (describe, inferred, shape)
                tensor.set_output(True).set_dim(list(shape)).set_stride(list(np.empty(shape, np.int8).strides)).set_data_type(kind)
            graph.validate()

        steps = (2, 1), (1, 0), (1, 2)
        x, w, y = (2, 4, 7, 9), (6, 2, 3, 3), (2, 6, 4, 5)
        check(dnn._forward, [x, w], [y], *steps)
        check(dnn._input_gradient, [y, w], [x], *steps)
        check(dnn._weight_gradient, [x, y], [w], *steps)
        rows, one, weight = (6, 5, 1, 1), (6, 1, 1, 1), (1, 5, 1, 1)
        check(dnn._normalized, [rows, weight, weight], [rows, one, one], 1e-5)
        check(dnn._normalized_gradients, [rows, rows, weight, one, one], [rows, weight, weight])
        q, stats = (2, 3, 4, 8), (2, 3, 4, 1)
        check(dnn._attended, [q, q, q], [q, stats], True, 0.5, kind=H)
        check(dnn._attended_gradients, [q, q, q, q, q, stats], [q, q, q], True, 0.5, kind=H)
        assert {"TENSOR_CORE", "NONDETERMINISTIC"} <= set(cudnn.numerical_note.__members__)
        assert {"A", "FALLBACK"} <= set(cudnn.heur_mode.__members__) and dnn.library() is None or cudnn.backend_version()
    """)


@WITH_CUPY
def test_the_namespace_has_what_operations_use() -> None:
    core = BACKEND.parents[2] / "core/flambeau"
    files = [*core.glob("operations/*.py"), *core.glob("linalg/*.py")]
    text = "".join(each.read_text() for each in files)
    optional = set(re.findall(r'requires="([\w.]+)"', text))  # operations that fall back to the CPU if the function is missing
    of_batches = {"inner", "made"}  # attributes of vmap's batching namespace, not of CuPy's
    names = sorted({*re.findall(r"\bxp\.((?:linalg\.|fft\.)?\w+)", text)} - optional - of_batches)
    missing = run(f"""
        from operator import attrgetter
        from flambeau_backends.cupy.namespace import xp
        for name in {names!r}:
            try:
                attrgetter(name)(xp)
            except AttributeError:
                print(name)
    """)
    assert len(names) > 80 and missing == ""

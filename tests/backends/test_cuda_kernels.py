"""The CUDA kernels compile with nvcc or NVRTC. No GPU is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nvrtc
import pytest

pytestmark = pytest.mark.slow

BACKEND = Path(__file__).parents[2] / "backends/flambeau_backends/cupy"
KERNELS = BACKEND / "kernels.cu"
ARCHITECTURES = pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])


def instances() -> tuple[str, ...]:
    """Return `INSTANCES` from `source.py`, with an empty module in place of CuPy, which it imports."""
    present = sys.modules.setdefault("cupy", types.ModuleType("cupy"))
    try:
        spec = spec_from_file_location("kernel_source", BACKEND / "source.py")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.INSTANCES
    finally:
        if not hasattr(present, "__version__"):
            del sys.modules["cupy"]


@ARCHITECTURES
def test_nvcc_compiles_the_kernels(architecture: str, tmp_path: Path) -> None:
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("NOT CHECKED: nvcc is not on the path")
    table = ", ".join(f"(const void*)&{name}" for name in instances())
    source = tmp_path / "kernels.cu"
    source.write_text(
        f"{KERNELS.read_text()}\nextern const void* const instances[];\nconst void* const instances[] = {{{table}}};\n"
    )
    binary = tmp_path / "kernels.cubin"
    done = subprocess.run(
        [compiler, "-std=c++17", "-Werror", "all-warnings", "-cubin", f"-arch={architecture}", "-o", binary, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    contents = binary.read_bytes()
    for name in {each.partition("<")[0] for each in instances()}:
        assert name.encode() in contents


WITH_NVRTC = pytest.mark.skipif(not nvrtc.available(), reason="NOT CHECKED: NVRTC is not installed (nvidia-cuda-nvrtc-cu12)")


@WITH_NVRTC
@ARCHITECTURES
def test_nvrtc_compiles_the_kernels(architecture: str) -> None:
    code = nvrtc.compile_kernels(KERNELS.read_text(), architecture, instances())
    for name in {each.partition("<")[0] for each in instances()}:
        assert name.encode() in code
    with pytest.raises(AssertionError, match='identifier "nothing" is undefined'):
        nvrtc.compile_kernels(KERNELS.read_text() + "__global__ void wrong() { nothing(); }", architecture)


def elementwise() -> dict[str, str]:
    """Return CUDA source for each ElementwiseKernel of the backend, similar to what CuPy generates."""
    found = {}
    for path in sorted(BACKEND.glob("*.py")):
        pattern = r'ElementwiseKernel\(\s*"([^"]+)",\s*"T out",\s*"([^"]+)",\s*"(\w+)",?\s*\)'
        for parameters, operation, name in re.findall(pattern, path.read_text()):
            found[name] = (
                f"template <typename T> __global__ void {name}({parameters}, T* result) {{ T out; {operation}; *result = out; }}"
            )
    return found


@WITH_NVRTC
@ARCHITECTURES
def test_nvrtc_compiles_the_elementwise_kernels(architecture: str) -> None:
    made = elementwise()
    assert {"flambeau_add", "flambeau_lerp", "flambeau_normalize", "flambeau_norm_backward"} <= made.keys()
    names = [f"{name}<{real}>" for name in made for real in ("float", "double")]
    assert nvrtc.compile_kernels("\n".join(made.values()), architecture, names)

"""Describe the machine and its software for bug reports: run `python -m flambeau.utils.collect_env`.

>>> from flambeau.utils import collect_env
>>> collect_env.get_pretty_env_info().splitlines()[0].startswith("PyTorch version:")
True
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import flambeau as torch

from ..cli.env import report
from ..engine.values.systems import WEBASSEMBLY

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "run"]

Runner = Callable[[str], tuple[int, str, str]]
PATTERNS = ("flambeau", "torch", "numpy", "scipy", "numba", "cupy", "ml_dtypes", "array-api", "mypy", "onnx", "nvidia")


class SystemEnv(NamedTuple):
    """Facts about a machine, for bug reports.  A fact that could not be determined is None."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    is_xpu_available: str
    pip_version: str
    pip_packages: str | None
    conda_packages: str | None
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str | None


def run(command: str) -> tuple[int, str, str]:
    """Run a shell command.  Return (exit status, stdout, stderr), with surrounding whitespace removed."""
    if WEBASSEMBLY:
        return 127, "", f"{sys.platform} has no processes"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, errors="replace")
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_and_read_all(run_lambda: Runner, command: str) -> str | None:
    """Return the output of a command, or None if it fails."""
    status, output, _ = run_lambda(command)
    return output if status == 0 else None


def run_and_parse_first_match(run_lambda: Runner, command: str, regex: str) -> str | None:
    """Return the first group of `regex` in the output of a command; None if the command fails or the output does not match."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return None if found is None else found.group(1)


def get_pip_packages(run_lambda: Runner | None = None, patterns: Iterable[str] | None = None) -> tuple[str, str]:
    """Return "pip3", and a line `name==version` for each installed distribution that contains one of the patterns."""
    wanted = PATTERNS if patterns is None else tuple(patterns)
    found = {f"{each.name}=={each.version}" for each in importlib.metadata.distributions() if each.name}
    lines = sorted((line for line in found if any(pattern in line.lower() for pattern in wanted)), key=str.lower)
    return "pip3", "\n".join(lines)


def get_conda_packages(run_lambda: Runner, patterns: Iterable[str] | None = None) -> str | None:
    """Return the lines of `conda list` that contain one of the patterns; None if `conda` fails."""
    listed = run_and_read_all(run_lambda, f"{os.environ.get('CONDA_EXE', 'conda')} list")
    if listed is None:
        return None
    wanted = PATTERNS if patterns is None else tuple(patterns)
    return "\n".join(line for line in listed.splitlines() if not line.startswith("#") and any(word in line for word in wanted))


def get_os(run_lambda: Runner) -> str:
    """Return the name and version of the operating system."""
    machine = platform.machine()
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]} ({machine})"
    if sys.platform == "linux":
        try:
            return f"{platform.freedesktop_os_release()['PRETTY_NAME']} ({machine})"
        except (OSError, KeyError):
            pass
    return f"{platform.platform(terse=True)} ({machine})"


def get_cpu_info(run_lambda: Runner) -> str | None:
    """Return the operating system's description of the CPUs."""
    commands = {"linux": "lscpu", "darwin": "sysctl -n machdep.cpu.brand_string"}
    listed = run_and_read_all(run_lambda, commands.get(sys.platform, "wmic cpu get Name /Value"))
    return listed or platform.processor() or None


def get_env_info() -> SystemEnv:
    """Collect all facts.  A fact is None if its command is missing.

    >>> from flambeau.utils.collect_env import get_env_info
    >>> get_env_info().is_debug_build
    'False'
    """
    available = torch.cuda.is_available()
    pip_version, pip_packages = get_pip_packages(run)
    cudnn = torch.backends.cudnn.version() if available else None
    return SystemEnv(
        torch_version=str(torch.__version__),
        is_debug_build=str(torch.version.debug),
        cuda_compiled_version=torch.version.cuda,
        gcc_version=run_and_parse_first_match(run, "gcc --version", r"gcc (.*)"),
        clang_version=run_and_parse_first_match(run, "clang --version", r"clang version (.*)"),
        cmake_version=run_and_parse_first_match(run, "cmake --version", r"cmake (.*)"),
        os=get_os(run),
        libc_version="-".join(platform.libc_ver()) if sys.platform == "linux" else "N/A",
        python_version=f"{sys.version.splitlines()[0]} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(available),
        cuda_runtime_version=run_and_parse_first_match(run, "nvcc --version", r"release .+ V(.*)"),
        cuda_module_loading=os.environ.get("CUDA_MODULE_LOADING", "LAZY") if available else "N/A",
        nvidia_driver_version=run_and_parse_first_match(run, "nvidia-smi", r"Driver Version: (.*?) "),
        nvidia_gpu_models=re.sub(r" \(UUID: .+?\)", "", run_and_read_all(run, "nvidia-smi -L") or "") or None,
        cudnn_version=None if cudnn is None else str(cudnn),
        is_xpu_available=str(torch.xpu.is_available()),
        pip_version=pip_version,
        pip_packages=pip_packages,
        conda_packages=get_conda_packages(run),
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config=os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "N/A"),
        is_xnnpack_available="False",
        cpu_info=get_cpu_info(run),
    )


_TEXT = """\
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}"""


def pretty_str(envinfo: SystemEnv) -> str:
    """Return the facts as text in the format of PyTorch's report."""
    facts: dict[str, Any] = {
        name: "Could not collect" if value in (None, "") else value for name, value in envinfo._asdict().items()
    }
    for name, manager in (("pip_packages", envinfo.pip_version), ("conda_packages", "conda")):
        facts[name] = "\n".join(f"[{manager}] {line}" for line in facts[name].splitlines())
    return _TEXT.format(**facts)


def get_pretty_env_info() -> str:
    """Return all facts as text, followed by the output of `python -m flambeau env`."""
    return f"{pretty_str(get_env_info())}\n\nflambeau:\n{report()}"


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

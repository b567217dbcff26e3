"""Compile the C kernels to one library with a variant per instruction set; requires gcc (12 or newer) or clang.

    python c/build.py          # writes to src/flambeau_fast, if a source is newer than the library

The library uses only Python's stable ABI, so that one build works for all Python versions since 3.11.  Free-threaded Python has
no stable ABI, so that each of its versions requires a library.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
HAS_STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")
NAME = "_kernels.abi3.so" if HAS_STABLE_ABI else f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
LIBRARY = SOURCES.parent / "src" / "flambeau_fast" / NAME
NO_COMPILER = "flambeau-fast requires a C compiler: install gcc (12 or newer) or clang, or set CC to one"

# Products and sums may be fused.  Sums are reordered only where the source allows it.  NaN and infinities follow IEEE 754.
OPTIONS = ["-O3", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"]
OPTIONS += ["-ffp-contract=fast", "-Wall", "-Wextra", "-Wno-unused-parameter"]
EXACT = ["-ffp-contract=off"]  # for rejection.c: each operation is rounded, as in Python
AVX512_BF16 = ["-march=x86-64-v4", "-mprefer-vector-width=512", "-mavx512bf16", "-mavx512vnni"]
AMX = ["-mamx-tile", "-mamx-bf16", "-mamx-int8", "-DHAS_TILES=1"]
X86 = {
    "amx": [*AVX512_BF16, *AMX],  # only on Linux: `module.c` requests its permission
    "avx512_bf16": AVX512_BF16,
    "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "avx2": ["-march=x86-64-v3"],
    "plain": ["-march=x86-64-v2"],  # the minimum that NumPy requires of x86 processors
}


def is_stale() -> bool:
    """Whether the library is missing or older than one of its source files."""
    if not LIBRARY.exists():
        return True
    built = LIBRARY.stat().st_mtime
    return any(path.stat().st_mtime > built for path in SOURCES.glob("*.[ch]"))


def _target(compiler: str) -> str:
    """Return the architecture that the compiler targets, which may differ from this machine's."""
    asked = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=False).stdout
    return (asked.partition("-")[0] or platform.machine()).lower()


def _variants(compiler: str) -> dict[str, list[str]]:
    """Return the options of the variants that the compiler can build for its target."""
    if _target(compiler) not in ("x86_64", "amd64"):
        return {"plain": []}
    check = [compiler, *AMX, "-E", "-x", "c", os.devnull]
    has_amx = sys.platform == "linux" and subprocess.run(check, capture_output=True, check=False).returncode == 0
    return {name: options for name, options in X86.items() if name != "amx" or has_amx}


def build(library: Path = LIBRARY, variants: Collection[str] = X86) -> Path:
    """Compile the variants, which include "plain", and replace the library.  Processors other than x86 have only that one.

    Raises:
        SystemExit: the C compiler was not found, or it reported an error.
    """
    compiler = [*shlex.split(os.environ.get("CC", "cc")), *OPTIONS, *shlex.split(os.environ.get("CFLAGS", ""))]
    if shutil.which(compiler[0]) is None:
        raise SystemExit(f"{NO_COMPILER} ({compiler[0]} was not found)")
    strip = [] if any(option.startswith("-g") for option in compiler) else ["-Wl,-s"]
    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", *strip, "-lpthread", "-lm"]
    options = _variants(compiler[0])
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            f"{name}.o": [*flags, f"-DTABLE=kernels_{name}", "-c", str(SOURCES / "kernels.c")]
            for name, flags in options.items()
            if name in variants
        }
        compiled = [f"-DHAS_{name.removesuffix('.o')}" for name in commands]
        commands["pool.o"] = ["-c", str(SOURCES / "pool.c")]
        commands["rejection.o"] = [*options["plain"], *EXACT, "-c", str(SOURCES / "rejection.c")]
        abi = ["-DPy_LIMITED_API=0x030B0000"] if HAS_STABLE_ABI else []
        commands["module.o"] = [f"-I{sysconfig.get_path('include')}", *abi, *compiled, "-c", str(SOURCES / "module.c")]
        running = [subprocess.Popen([*compiler, *command, "-o", name], cwd=folder) for name, command in commands.items()]
        statuses = [process.wait() for process in running]
        if any(statuses):
            raise SystemExit("flambeau-fast: the kernels could not be compiled; set CC to gcc (12 or newer) or clang")
        result = Path(folder) / library.name
        subprocess.run([*compiler, *commands, *link, "-o", str(result)], cwd=folder, check=True)
        with tempfile.NamedTemporaryFile(dir=library.parent, delete=False) as file:
            file.write(result.read_bytes())
        os.chmod(file.name, 0o755)
        os.replace(file.name, library)
    return library


if __name__ == "__main__":
    print(build() if is_stale() else f"{LIBRARY} is up to date")

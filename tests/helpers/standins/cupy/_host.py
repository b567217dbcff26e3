"""CUDA kernels compiled for the host, and a reference implementation of cuBLAS's batched matrix product."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

SHIM = """
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <algorithm>
#define __global__
#define __device__
#define __shared__ static
using std::exp; using std::log; using std::sqrt; using std::pow; using std::min; using std::max;
struct Index { unsigned x; };
static Index blockIdx, threadIdx, blockDim, gridDim;
inline void __syncthreads() {}
inline void __trap() { std::abort(); }
template <typename T> void atomicAdd(T* place, T value) { *place += value; }
"""
LAUNCHER = """
template <typename... A, size_t... I> void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<A>*>(args[I])...);
}
template <typename... A> void run(void (*kernel)(A...), void** args, unsigned grid, unsigned block) {
    gridDim.x = grid; blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) call(kernel, args, std::index_sequence_for<A...>());
}
"""


class Library:
    """Kernels compiled for the host. `run` calls a kernel by its name, and runs the CUDA threads one after the other."""

    def __init__(self, library, names):
        self._library, self._names = library, list(names)

    def run(self, name, grid, block, arguments):
        kept = []
        for each in arguments:
            value = np.array(each.ctypes.data, np.uint64) if isinstance(each, np.ndarray) else np.asarray(each)
            kept.append(value)
        pointers = (ctypes.c_void_p * len(kept))(*(each.ctypes.data for each in kept))
        together = name.startswith("softmax")  # it has barriers, which work only in blocks of one thread
        getattr(self._library, f"launch_{self._names.index(name)}")(pointers, grid, 1 if together else block)


def compiled(code, names):
    launchers = "".join(
        f'extern "C" void launch_{i}(void** args, unsigned grid, unsigned block) {{ run(&{name}, args, grid, block); }}\n'
        for i, name in enumerate(names)
    )
    source = SHIM + code + LAUNCHER + launchers
    return Library(_library(source), names)


def _library(source, *options):
    """Compile a program to a shared library, cached for later processes."""
    folder = Path(tempfile.gettempdir()) / f"flambeau-kernels-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    library = folder / "kernels.so"
    if not library.exists():
        (folder / "kernels.cpp").write_text(source)
        made = folder / f"made-{np.random.default_rng().integers(1 << 60)}.so"
        command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *options, "-o", made, folder / "kernels.cpp"]
        subprocess.run(command, check=True)
        made.rename(library)
    return ctypes.CDLL(str(library))


_ARITHMETIC = """
#include <math.h>
#include <algorithm>
#define __device__
using std::max;
using std::min;
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
"""
_CPP = {"float32": "float", "float64": "double", "bool": "bool"}


def elementwise(preamble, inputs, outputs, operation):
    """Compile an ElementwiseKernel to a function of contiguous arrays of equal size: first the inputs, then the outputs."""
    declared = [*inputs, *outputs]
    parameters = ", ".join(f"{_CPP[kind]}* _{name}" for kind, name in declared)
    reads = " ".join(f"const {_CPP[kind]} {name} = _{name}[_i];" for kind, name in inputs)
    writes = " ".join(f"{_CPP[kind]} &{name} = _{name}[_i];" for kind, name in outputs)
    source = (
        f"{_ARITHMETIC}{preamble}\n"
        f'extern "C" void kernel(long size, {parameters}) {{ for (long _i = 0; _i < size; ++_i) {{ {reads} {writes}\n{operation} }} }}\n'
    )
    run = _library(source, "-ffp-contract=off").kernel

    def call(*arrays):
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        run(ctypes.c_long(arrays[0].size), *pointers)

    return call


_TYPES = {0: np.float32, 2: np.float16, 14: ml_dtypes.bfloat16}


def _matrices(pointer, kind, rows, columns, lead, step, batch):
    """Return a view of a batch of column-major matrices at an address."""
    dtype = np.dtype(_TYPES[kind])
    size = ((batch - 1) * step + (columns - 1) * lead + rows) * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype)
    item = dtype.itemsize
    return np.lib.stride_tricks.as_strided(flat, (batch, rows, columns), (step * item, item, lead * item))


def gemm(
    handle,
    turned_a,
    turned_b,
    m,
    n,
    k,
    alpha,
    a,
    type_a,
    lead_a,
    step_a,
    b,
    type_b,
    lead_b,
    step_b,
    beta,
    c,
    type_c,
    lead_c,
    step_c,
    batch,
    compute,
    algorithm,
):
    left = (
        _matrices(a, type_a, k, m, lead_a, step_a, batch).swapaxes(1, 2)
        if turned_a
        else _matrices(a, type_a, m, k, lead_a, step_a, batch)
    )
    right = (
        _matrices(b, type_b, n, k, lead_b, step_b, batch).swapaxes(1, 2)
        if turned_b
        else _matrices(b, type_b, k, n, lead_b, step_b, batch)
    )
    out = _matrices(c, type_c, m, n, lead_c, step_c, batch)
    out[...] = left.astype(np.float32) @ right.astype(np.float32)

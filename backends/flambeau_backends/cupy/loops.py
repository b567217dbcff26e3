"""Fused kernels for chains of elementwise operations in programs that `torch.compile` records.

CuPy compiles a kernel of one operation with `-ftz=true`, and the compiler may contract products and sums to fused multiply-adds.
In a fused kernel, the rounding functions in `FUNCTIONS` prevent contraction across operations, so that its results are bitwise
equal to those of separate kernels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import cupy
import numpy as np

from flambeau.backend import FusionChain, Operand
from flambeau_backends.numpy.kernels import UFUNCS

__all__ = ["FUNCTIONS", "Loops", "body"]

FUNCTIONS = """
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
__device__ inline float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ inline double plus(double a, double b) { return __dadd_rn(a, b); }
__device__ inline float minus(float a, float b) { return __fsub_rn(a, b); }
__device__ inline double minus(double a, double b) { return __dsub_rn(a, b); }
__device__ inline float times(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double times(double a, double b) { return __dmul_rn(a, b); }
__device__ inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ inline float power(float a, float b) { return powf(a, b); }
__device__ inline double power(double a, double b) { return pow(a, b); }
__device__ inline bool negated(bool a) { return !a; }
template <typename T> __device__ inline T choose(bool which, T a, T b) { return which ? a : b; }
template <typename T> __device__ inline T larger(T a, T b) { return (isnan(a) | isnan(b)) ? T(NAN) : T(max(a, b)); }
template <typename T> __device__ inline T smaller(T a, T b) { return (isnan(a) | isnan(b)) ? T(NAN) : T(min(a, b)); }
template <typename T> __device__ inline T sign(T a) { return a < 0 || a > 0 ? copysign(T(1), a) : a - a; }
"""

# The C++ expression of each CuPy ufunc, by signature: "f" is a float, "b" a bool, and `{f}` the name of the float type.
_UFUNCS: dict[str, dict[str, str]] = {
    "add": {"ff>f": "plus({0}, {1})"},
    "subtract": {"ff>f": "minus({0}, {1})"},
    "multiply": {"ff>f": "times({0}, {1})"},
    "divide": {"ff>f": "{0} / {1}"},
    "reciprocal": {"f>f": "{f}(1) / {0}"},
    "power": {"ff>f": "power({0}, {1})"},
    "square": {"f>f": "times({0}, {0})"},
    "negative": {"f>f": "-{0}"},
    "absolute": {"f>f": "fabs({0})"},
    "sign": {"f>f": "sign({0})"},
    "exp2": {"f>f": "power({f}(2), {0})"},
    "maximum": {"ff>f": "larger({0}, {1})"},
    "minimum": {"ff>f": "smaller({0}, {1})"},
    "copysign": {"ff>f": "copysign({0}, {1})"},
    "where": {"bff>f": "choose({0}, {1}, {2})"},
    "less": {"ff>b": "{0} < {1}"},
    "less_equal": {"ff>b": "{0} <= {1}"},
    "greater": {"ff>b": "{0} > {1}"},
    "greater_equal": {"ff>b": "{0} >= {1}"},
    "equal": {"ff>b": "{0} == {1}", "bb>b": "{0} == {1}"},
    "not_equal": {"ff>b": "{0} != {1}", "bb>b": "{0} != {1}"},
    "invert": {"b>b": "negated({0})"},
    "logical_not": {"b>b": "negated({0})", "f>b": "{0} == {f}(0)"},
    "logical_and": {"bb>b": "{0} & {1}"},
    "logical_or": {"bb>b": "{0} | {1}"},
    "logical_xor": {"bb>b": "{0} != {1}"},
    "bitwise_and": {"bb>b": "{0} & {1}"},
    "bitwise_or": {"bb>b": "{0} | {1}"},
    "bitwise_xor": {"bb>b": "{0} != {1}"},
    "isnan": {"f>b": "isnan({0})"},
    "isinf": {"f>b": "isinf({0})"},
    "isfinite": {"f>b": "isfinite({0})"},
    "signbit": {"f>b": "signbit({0})"},
}
_UNARY_FUNCTIONS = (  # ufuncs that call the C function of the same name
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log10", "log1p",
    "log2", "rint", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
_UFUNCS.update({name: {"f>f": f"{name}({{0}})"} for name in _UNARY_FUNCTIONS})

# Aliases of ufuncs: names in the array API, of Python's operators, and of flambeau's operations.
_NAMES = {
    "abs": "absolute", "truediv": "divide", "pow": "power", "neg": "negative", "bitwise_invert": "invert", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "sub": "subtract", "mul": "multiply", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "round": "rint",
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh",
}  # fmt: skip
for _name, _ufunc in UFUNCS.items():
    _NAMES.setdefault(_name, _NAMES.get(_ufunc.__name__, _ufunc.__name__))

# In-place operations.  Separate kernels round `target + alpha * other` once; in fused kernels, `multiply_add` does.
_IN_PLACE: dict[str, dict[str, str]] = {
    "write_": {"ff>f": "{1}", "bb>b": "{1}"},
    "copy_": {"ff>f": "{1}", "bb>b": "{1}"},
    "zero_": {"f>f": "{f}(0)"},
    "add_to_": {"ff>f": "plus({0}, {1})"},
    "add_": {"ff>f": "plus({0}, {1})", "fff>f": "multiply_add({2}, {1}, {0})"},
    "sub_": {"ff>f": "minus({0}, {1})", "fff>f": "multiply_add(-{2}, {1}, {0})"},
    "addcmul_": {"fff>f": "multiply_add({1}, {2}, {0})", "ffff>f": "multiply_add(times({3}, {1}), {2}, {0})"},
    "addcdiv_": {"fff>f": "plus({0}, {1} / {2})", "ffff>f": "plus({0}, times({3}, {1}) / {2})"},
    "lerp_": {"fff>f": "multiply_add({2}, minus({1}, {0}), {0})"},
}


def _expressions() -> dict[str, dict[str, str]]:
    named = {**_UFUNCS, **{name: _UFUNCS[ufunc] for name, ufunc in _NAMES.items() if ufunc in _UFUNCS}}
    written = {
        f"{name}_": forms
        for name in UFUNCS
        if (forms := {sign: form for sign, form in named.get(name, {}).items() if sign[0] == sign[-1]})
    }
    return {**named, **written, **_IN_PLACE}


EXPRESSIONS: Mapping[str, Mapping[str, str]] = _expressions()
_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}


class Loops:
    """The CuPy implementation of `flambeau.backend.RecordableBackend.fusion`."""

    least = 0  # minimum number of elements of a fused chain: 0, as fusing saves kernel launches even for few elements
    operations = {name: tuple(forms) for name, forms in EXPRESSIONS.items()}
    floats = frozenset({"float32", "float64"})
    general = True

    def loop(self, chain: FusionChain, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
        return _Loop(chain, one_by_one)


class _Loop:
    """A chain compiled to one kernel by CuPy, at its first call; CuPy caches it on disk."""

    __slots__ = ("allocated", "kernel", "one_by_one", "placed", "shape", "source", "written")

    def __init__(self, chain: FusionChain, one_by_one: Callable[..., Any]) -> None:
        self.one_by_one, self.shape, self.source = one_by_one, chain.shape, body(chain)
        self.written = [number for number, _ in chain.written]
        self.allocated = [np.dtype(chain.steps[number - len(chain.inputs)].dtype) for number in chain.outputs]
        self.placed = next((number for number, input in enumerate(chain.inputs) if input.layout != "number"), 0)
        self.kernel: Any = cupy.ElementwiseKernel(*parameters(chain), self.source, "flambeau_chain", preamble=FUNCTIONS)

    def __call__(self, *given: Any) -> Any:
        with given[self.placed].device:
            results = [cupy.empty(self.shape, dtype) for dtype in self.allocated]
            if self.kernel is not None:
                try:
                    self.kernel(*given, *results, *[given[number] for number in self.written])
                except cupy.cuda.compiler.CompileException as error:
                    message = f"torch.compile: CuPy could not compile a fused kernel, and separate kernels are used: {error}"
                    warnings.warn(message, stacklevel=2)
                    self.kernel = None
            if self.kernel is None:
                return self.one_by_one(*given)
        return results[0] if len(results) == 1 else tuple(results) or None


def parameters(chain: FusionChain) -> tuple[str, str]:
    """Return the parameter declarations of a chain's kernel: inputs, and outputs including arrays that are written to."""
    inputs = [f"{input.dtype} x{number}" for number, input in enumerate(chain.inputs)]
    steps = [chain.steps[number - len(chain.inputs)] for number in chain.outputs]
    results = [f"{step.dtype} y{number}" for number, step in enumerate(steps)]
    targets = [f"{chain.inputs[number].dtype} z{number}" for number, _ in chain.written]
    return ", ".join(inputs), ", ".join(results + targets)


def body(chain: FusionChain) -> str:
    """Return the kernel's C++ code for one element: all reads and computations come before the writes."""
    lines = []
    for number, step in enumerate(chain.steps, len(chain.inputs)):
        floats = _TYPES.get(step.floats, "")
        operands = [
            f"x{item.number}" if type(item) is Operand else f"{floats}({_shortest(item, step.floats)})" for item in step.operands
        ]
        expression = EXPRESSIONS[step.name][step.signature].format(*operands, f=floats)
        lines.append(f"const {_TYPES[step.dtype]} x{number} = {expression};")
    lines += [f"y{place} = x{number};" for place, number in enumerate(chain.outputs)]
    lines += [f"z{target} = x{number};" for target, number in chain.written]
    return "\n".join(lines)


def _shortest(number: float, dtype: str) -> str:
    """Return the shortest literal of a number rounded to `dtype`, valid in C++ and Python."""
    return repr(float(np.dtype(dtype).type(number)))

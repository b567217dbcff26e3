"""One sample of an operation, and the inputs that samples are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "COMPLEX", "FLOATS", "INTEGERS", "NUMBERS", "REALS", "Bad", "Input", "Sample", "apart", "elementwise", "given", "index",
    "mask",
    "positive", "real", "replaced", "unit",
]  # fmt: skip

FLOATS = ("float64", "float32", "float16")
INTEGERS = ("int64", "uint8")
COMPLEX = ("complex128", "complex64")
REALS = (*FLOATS, *INTEGERS)
NUMBERS = (*REALS, *COMPLEX)


@dataclass(frozen=True)
class Input:
    """How to make one argument: random values between `low` and `high`, or `values` themselves.

    Without a `dtype` it takes the dtype that the sample is run with.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    values: Any = None
    distinct: bool = False

    def array(self, np: Any, rng: Any, dtype: str) -> Any:
        dtype = self.dtype or dtype
        if self.values is not None:
            return np.asarray(self.values, dtype=dtype)
        if self.distinct:
            steps = rng.permutation(math.prod(self.shape)).reshape(self.shape) + self.low
            return (steps if np.dtype(dtype).kind == "i" else steps + rng.uniform(-0.3, 0.3, self.shape)).astype(dtype)
        if dtype == "bool":
            return rng.integers(0, 2, self.shape).astype(bool)
        if np.dtype(dtype).kind in "iu":
            low = math.ceil(self.low) if np.dtype(dtype).kind == "i" else max(0, math.ceil(self.low))
            return rng.integers(low, max(low, math.floor(self.high)) + 1, self.shape).astype(dtype)
        made = rng.uniform(self.low, self.high, self.shape)
        if np.dtype(dtype).kind == "c":
            made = made + 1j * rng.uniform(self.low, self.high, self.shape)
        return np.asarray(made).astype(dtype)

    def reshaped(self, shape: tuple[int, ...]) -> Input:
        return Input(shape, self.low, self.high, self.dtype, None, self.distinct)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Input:
    """Values of either sign."""
    return Input(shape, low, high)


def positive(*shape: int) -> Input:
    """Values above zero (1 and more where they are integers)."""
    return Input(shape, 0.3, 3.0)


def unit(*shape: int) -> Input:
    """Values well between -1 and 1."""
    return Input(shape, -0.9, 0.9)


def apart(*shape: int) -> Input:
    """Values no two of which are equal, or near it."""
    return Input(shape, -2.0, 2.0, distinct=True)


def index(*shape: int, high: int) -> Input:
    """Integers from 0 to below `high`."""
    return Input(shape, 0, high - 1, "int64")


def mask(*shape: int) -> Input:
    """Booleans."""
    return Input(shape, 0, 1, "bool")


def given(values: Any, dtype: str | None = None) -> Input:
    """These values."""
    return Input((), values=values, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Sample:
    """One call of an operation, with a formula for what it must give.

    Args:
        name: where the operation is found in `torch`: `"exp"`, `"Tensor.view"`, `"linalg.inv"`.
        call: `(torch, *tensors)`; it reaches the operation by that name, so that other forms can take its place.
        inputs: one for each tensor.
        reference: `(np, *arrays)`, the same in NumPy; it is given double precision.
        dtypes: what to run it with.
        result: the dtype of the result (of each result, in a tuple): `"same"` as the first input that has the sample's
            dtype, `"float"` (integers become float32), `"sum"` (integers become int64), `"real"`, `"complex"`,
            or a dtype.
        grad: whether it has derivatives.
        elementwise: whether the inputs may have any shapes that broadcast.
        view: whether the result shares memory with the first input.
        method, inplace: whether these forms, where they exist, take the same arguments.
        layouts: whether any order in memory will do.
        vmap: whether batches can be made of it: not where the shape of the result depends on values.
        promotes: whether the inputs of an elementwise function may be of different dtypes.
        atol: an absolute error to allow, beyond the usual.
    """

    name: str
    call: Callable[..., Any]
    inputs: Sequence[Input]
    reference: Callable[..., Any]
    dtypes: Sequence[str] = FLOATS
    result: str | tuple[str, ...] = "same"
    grad: bool = True
    elementwise: bool = False
    view: bool = False
    method: bool = True
    inplace: bool = True
    layouts: bool = True
    vmap: bool = True
    promotes: bool = True
    atol: float = 0.0

    def arrays(
        self: Sample | Bad, np: Any, dtype: str, seed: int = 0, shapes: Sequence[tuple[int, ...]] | None = None
    ) -> list[Any]:
        """The inputs as NumPy arrays."""
        rng = np.random.default_rng(seed)
        inputs = [each.reshaped(s) for each, s in zip(self.inputs, shapes, strict=True)] if shapes else self.inputs
        return [each.array(np, rng, dtype) for each in inputs]


@dataclass(frozen=True, eq=False)
class Bad:
    """A call that must raise `error` (the name of a built-in exception).

    With `strides`, where memory has them; with `values`, which are what is wrong, where work is not queued.
    """

    name: str
    call: Callable[..., Any]
    inputs: Sequence[Input]
    error: str
    dtype: str = "float32"
    strides: bool = False
    values: bool = False

    arrays = Sample.arrays


def elementwise(name: str, reference: Callable[..., Any], *domains: Callable[..., Input], **options: Any) -> Sample:
    """A sample of a function of one number, or of several, with an input from each domain."""
    inputs = [domain(2, 3) for domain in domains or (real,)]

    def call(torch: Any, *tensors: Any) -> Any:
        return find(torch, name)(*tensors)

    return Sample(name, call, inputs, reference, elementwise=True, **options)


def find(module: Any, path: str) -> Any:
    """The attribute at a dotted path."""
    for part in path.split("."):
        module = getattr(module, part)
    return module


def find_or_none(module: Any, path: str) -> Any:
    """The attribute at a dotted path, or None where there is none."""
    try:
        return find(module, path)
    except AttributeError:
        return None


class replaced:
    """A module seen with something else at one dotted path."""

    def __init__(self, module: Any, path: str, value: Any) -> None:
        self._module, self._value = module, value
        self._head, _, self._rest = path.partition(".")

    def __getattr__(self, name: str) -> Any:
        if name != self._head:
            return getattr(self._module, name)
        return replaced(getattr(self._module, name), self._rest, self._value) if self._rest else self._value

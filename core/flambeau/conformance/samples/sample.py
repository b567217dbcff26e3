"""Samples of operations, and descriptions of their inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "COMPLEX", "FLOATS", "INTEGERS", "NUMBERS", "REALS", "WIDE", "Bad", "Input", "Sample", "bad_functional", "distinct",
    "elementwise", "fixed", "functional", "index", "mask", "positive", "real", "replaced", "torch_function", "unit",
]  # fmt: skip

WIDE = ("float64", "float32")
FLOATS = (*WIDE, "float16")
INTEGERS = ("int64", "uint8")
COMPLEX = ("complex128", "complex64")
REALS = (*FLOATS, *INTEGERS)
NUMBERS = (*REALS, *COMPLEX)


@dataclass(frozen=True)
class Input:
    """A description of one tensor argument: random values between `low` and `high`, or fixed `values`.

    If `dtype` is None, the argument has the dtype with which the sample is run.
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
        values = rng.uniform(self.low, self.high, self.shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        return np.asarray(values).astype(dtype)

    def reshaped(self, shape: tuple[int, ...]) -> Input:
        return Input(shape, self.low, self.high, self.dtype, None, self.distinct)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Input:
    """Describe an input of random values between `low` and `high`."""
    return Input(shape, low, high)


def positive(*shape: int) -> Input:
    """Describe an input of random positive values (at least 1 for integers)."""
    return Input(shape, 0.3, 3.0)


def unit(*shape: int) -> Input:
    """Describe an input of random values between -0.9 and 0.9."""
    return Input(shape, -0.9, 0.9)


def distinct(*shape: int) -> Input:
    """Describe an input of random values that differ by a minimal distance."""
    return Input(shape, -2.0, 2.0, distinct=True)


def index(*shape: int, high: int) -> Input:
    """Describe an input of random integers from 0 to `high - 1`."""
    return Input(shape, 0, high - 1, "int64")


def mask(*shape: int) -> Input:
    """Return the description of an input tensor of random booleans."""
    return Input(shape, 0, 1, "bool")


def fixed(values: Any, dtype: str | None = None) -> Input:
    """Return the description of an input tensor with these values."""
    return Input((), values=values, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Sample:
    """One call of an operation, with a NumPy reference for its result.

    Args:
        name: the dotted path of the operation in `torch`: `"exp"`, `"Tensor.view"`, `"linalg.inv"`.
        call: the call as a function of `(torch, *tensors)`; it accesses the operation by that path in `torch`, so that
            the checks can substitute other forms.
        inputs: one description for each tensor.
        reference: the expected result as a function of `(np, *arrays)`; the arrays have double precision.
        dtypes: the dtypes with which to run the sample.
        result: the dtype of the result (in a tuple, of each result): `"same"` as the first input that has the sample's
            dtype, `"float"` (integers become float32), `"sum"` (integers become int64), `"real"`, `"complex"`,
            or a dtype.
        grad: whether the operation is differentiable.
        elementwise: whether the inputs may have any shapes that broadcast.
        view: whether the result shares memory with the first input.
        method, inplace: whether these forms, if they exist, take the same arguments.
        layouts: whether the inputs may have any strides.
        vmap: whether the call can be batched; it cannot if the shape of the result depends on values.
        promotes: whether the inputs of an elementwise function may have different dtypes.
        atol: an absolute tolerance, in addition to the usual one.
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
        """Return the inputs as NumPy arrays."""
        rng = np.random.default_rng(seed)
        inputs = [input.reshaped(s) for input, s in zip(self.inputs, shapes, strict=True)] if shapes else self.inputs
        return [input.array(np, rng, dtype) for input in inputs]


@dataclass(frozen=True, eq=False)
class Bad:
    """A call that must raise an error; `error` is the name of a built-in exception.

    With `strides`, it is only checked on backends whose arrays have strides.  With `values`, the error depends on the inputs'
    values, and it is only checked on backends that are not asynchronous.
    """

    name: str
    call: Callable[..., Any]
    inputs: Sequence[Input]
    error: str
    dtype: str = "float32"
    strides: bool = False
    values: bool = False

    arrays: ClassVar[Any] = Sample.arrays


def elementwise(name: str, reference: Callable[..., Any], *domains: Callable[..., Input], **options: Any) -> Sample:
    """Return a sample of an elementwise function, with one input for each domain, such as `real` or `positive`."""
    inputs = [domain(2, 3) for domain in domains or (real,)]

    def call(torch: Any, *tensors: Any) -> Any:
        return find(torch, name)(*tensors)

    return Sample(name, call, inputs, reference, elementwise=True, **options)


def functional(name: str, call: Callable[..., Any], reference: Callable[..., Any], *inputs: Input, **options: Any) -> Sample:
    """Return a sample of `nn.functional.name`, called by `call(F, *inputs)`; the default input is a matrix."""
    made_from = inputs or [real(3, 4)]
    return Sample(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), made_from, reference, **options)


def bad_functional(name: str, call: Callable[..., Any], *inputs: Input, error: str = "RuntimeError", values: bool = False) -> Bad:
    """Return a call of `nn.functional.name` that must raise an error."""
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs, error, values=values)


def torch_function(
    name: str,
    call: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Input,
    dtypes: Sequence[str] = WIDE,
    **options: Any,
) -> Sample:
    """Return a sample of a function of `torch`, called by `call(function, *inputs)`."""
    return Sample(name, lambda torch, *x: call(find(torch, name), *x), inputs, reference, dtypes, method=False, **options)


def find(module: Any, path: str) -> Any:
    """Return the attribute at a dotted path."""
    for part in path.split("."):
        module = getattr(module, part)
    return module


def find_or_none(module: Any, path: str) -> Any:
    """Return the attribute at a dotted path, or None if it does not exist."""
    try:
        return find(module, path)
    except AttributeError:
        return None


class replaced:
    """A proxy of a module in which the attribute at one dotted path is replaced."""

    def __init__(self, module: Any, path: str, value: Any) -> None:
        self._module, self._value = module, value
        self._head, _, self._rest = path.partition(".")

    def __getattr__(self, name: str) -> Any:
        if name != self._head:
            return getattr(self._module, name)
        return replaced(getattr(self._module, name), self._rest, self._value) if self._rest else self._value

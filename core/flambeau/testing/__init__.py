"""`torch.testing`: compare values, create random tensors, and check printed text."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..serialization.filecheck import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]

Message = str | Callable[[str], str] | None
Tolerances = tuple[float, float]  # (rtol, atol)

_TOLERANCES: dict[Any, Tolerances] = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
    float: (1e-7, 1e-7),
    complex: (1e-7, 1e-7),
}
_COMPARISON_DTYPES = {  # dtypes without type promotion, and the dtype in which to compare them
    **dict.fromkeys((dtypes.uint16, dtypes.uint32, dtypes.uint64), dtypes.int64),
    **dict.fromkeys(dtypes.FLOAT8, dtypes.float32),
}
_LOOSER_TOLERANCES = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}


# --- closeness ---


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    `actual` and `expected` may be tensors, numbers, None, other values that `torch.as_tensor` accepts, or nested sequences
    and mappings of these with the same structure.  Infinities are only close to themselves.  Sparse tensors are close if
    their indices are equal and their values are close.

    Args:
        allow_subclasses: whether the types may differ if one is a subclass of the other.
        rtol, atol: tolerances, both or neither; by default the larger ones of the two dtypes: 1.3e-6 and 1e-5 for
            float32 and complex64, 1e-7 and 1e-7 for float64 and complex128, 1e-3 and 1e-5 for float16,
            1.6e-2 and 1e-5 for bfloat16, zero for all others.
        equal_nan: whether NaN is close to NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must be equal.
        msg: the message of the error, or a function that receives the default message and returns another one.

    Raises:
        AssertionError: the values are not close, or differ in structure, shape, or a checked attribute.
        ValueError: only one of `rtol` and `atol` is given.
        TypeError: the values cannot be compared.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True  # pytest omits functions with this variable from tracebacks
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        # `list` checks the whole structure before the first values are compared.
        for pair in list(_pairs(actual, expected, options)):
            pair.compare()
    except _Failure as failure:
        raise failure.kind(failure.describe(msg)) from failure.__cause__


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Call `assert_close` with larger tolerances, and without comparing dtypes.  Deprecated.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.testing.assert_allclose([1.0], [1.00001])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated; use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _largest_tolerances(_LOOSER_TOLERANCES, actual.dtype, expected.dtype)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


class _Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> Tolerances:
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise _Failure(text, ValueError)
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return _largest_tolerances(_TOLERANCES, *dtypes)


def _largest_tolerances(tolerances: Mapping[Any, Tolerances], *dtypes: Any) -> Tolerances:
    relative, absolute = zip(*(tolerances.get(dtype, (0.0, 0.0)) for dtype in dtypes), strict=True)
    return max(relative), max(absolute)


class _Failure(Exception):
    """Two values are not close or cannot be compared; `path` is their position in a nested structure."""

    def __init__(self, text: str, kind: type[Exception] = AssertionError) -> None:
        self.text = text
        self.kind = kind
        self.path: tuple[Any, ...] = ()

    def describe(self, msg: Message) -> str:
        if isinstance(msg, str):
            return msg
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{step!r}]' for step in self.path)}"
        return msg(text) if msg else text


class _Pair(NamedTuple):
    """Two values to compare, the function that compares them, and their path in a nested structure."""

    function: Callable[..., None]
    args: tuple[Any, ...]
    path: tuple[Any, ...]

    def compare(self) -> None:
        _call_at_path(self.path, self.function, *self.args)


def _call_at_path(path: tuple[Any, ...], function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except _Failure as failure:
        failure.path = path
        raise


def _pairs(actual: Any, expected: Any, options: _Options, path: tuple[Any, ...] = ()) -> Iterator[_Pair]:
    keys = _call_at_path(path, _common_keys, actual, expected)
    if keys is None:
        function, args = _call_at_path(path, _leaf, actual, expected, options)
        yield _Pair(function, args, path)
    else:
        for key in keys:
            yield from _pairs(actual[key], expected[key], options, (*path, key))


def _common_keys(actual: Any, expected: Any) -> Sequence[Any] | None:
    """Return the indices or keys of two containers; None if the values are not containers.

    Raises _Failure if the lengths or keys differ.
    """
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Failure(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        return range(len(actual))
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or additional:
            raise _Failure(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}"
            )
        try:
            return sorted(actual)
        except TypeError:  # the keys have no order, such as a mixture of strings and numbers
            return list(actual)
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _leaf(actual: Any, expected: Any, options: _Options) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return (function, arguments) that compares two values that are not containers."""
    if actual is None or expected is None:
        return _compare_identity, ("None", actual, expected)
    first, second = _python_scalar(actual), _python_scalar(expected)
    if isinstance(first, bool) and isinstance(second, bool):
        return _compare_identity, ("Booleans", first, second)
    if isinstance(first, int | float | complex) and isinstance(second, int | float | complex):
        tolerances = options.tolerances(type(first), type(second))
        return _compare_numbers, (first, second, tolerances, options)
    first_tensor, second_tensor = _tensor_pair(actual, expected, options.allow_subclasses)
    return _compare_tensors, (first_tensor, second_tensor, options.tolerances(first_tensor.dtype, second_tensor.dtype), options)


def _python_scalar(value: Any) -> Any:
    is_numpy_scalar = type(value).__module__ == "numpy" and not hasattr(value, "__len__")
    return value.item() if is_numpy_scalar else value


def _tensor_pair(actual: Any, expected: Any, allow_subclasses: bool) -> tuple[Tensor, Tensor]:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    types = f"{type(actual)} and {type(expected)}"
    failure = _Failure(f"No comparison pair was able to handle inputs of type {types}.", TypeError)
    if related and (allow_subclasses or type(actual) is type(expected)):
        try:
            return torch.as_tensor(actual), torch.as_tensor(expected)
        except Exception as error:  # any error means that the inputs cannot be converted to tensors
            raise failure from error
    raise failure


def _compare_identity(what: str, actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise _Failure(f"{what} mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, tolerances: Tolerances, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Failure(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    rtol, atol = tolerances
    difference = abs(actual - expected)
    if not (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise _Failure(_scalar_report(actual, expected, tolerances))


def _compare_tensors(actual: Tensor, expected: Tensor, tolerances: Tolerances, options: _Options) -> None:
    for name, actual_value, expected_value in _attributes(actual, expected, options):
        if actual_value != expected_value:
            raise _Failure(f"The values for attribute '{name}' do not match: {actual_value} != {expected_value}.")
    if "meta" in (actual.device.type, expected.device.type):
        return
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        common = dtypes.promote_types(*(_COMPARISON_DTYPES.get(tensor.dtype, tensor.dtype) for tensor in (actual, expected)))
        actual, expected = actual.to(common), expected.to(common)
    if actual.layout != expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    for what, first, second, allowed in _parts(actual.detach(), expected.detach(), tolerances):
        _compare_values(what, first, second, allowed, options)


_SPARSE_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    **dict.fromkeys((torch.sparse_csr, torch.sparse_bsr), ("crow_indices", "col_indices", "values")),
    **dict.fromkeys((torch.sparse_csc, torch.sparse_bsc), ("ccol_indices", "row_indices", "values")),
}


def _parts(actual: Tensor, expected: Tensor, tolerances: Tolerances) -> Iterator[tuple[str, Tensor, Tensor, Tolerances]]:
    """Yield the tensors whose values are compared, with their name in messages: for sparse tensors, their indices and values."""
    if actual.layout not in _SPARSE_PARTS:
        yield "Tensor-likes", actual, expected, tolerances
        return
    layout = str(actual.layout).removeprefix("torch.sparse_").upper()
    counts = [("specified values", actual._nnz(), expected._nnz())]
    if layout == "COO":
        counts.insert(0, ("sparse dimensions", actual.sparse_dim(), expected.sparse_dim()))
    for counted, first, second in counts:
        if first != second:
            raise _Failure(f"The number of {counted} in sparse {layout} tensors does not match: {first} != {second}")
    for part in _SPARSE_PARTS[actual.layout]:
        allowed = tolerances if part.endswith("values") else (0.0, 0.0)
        yield f"Sparse {layout} {part.removeprefix('_')}", getattr(actual, part)(), getattr(expected, part)(), allowed


def _compare_values(what: str, actual: Tensor, expected: Tensor, tolerances: Tolerances, options: _Options) -> None:
    if actual.dtype in dtypes.FLOAT8:
        actual, expected = actual.float(), expected.float()
    rtol, atol = tolerances
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(matches.all()):
        if actual.dim() == 0:
            raise _Failure(_scalar_report(actual.item(), expected.item(), tolerances))
        raise _Failure(_tensor_report(what, actual, expected, matches, tolerances))


def _attributes(actual: Tensor, expected: Tensor, options: _Options) -> Iterator[tuple[str, Any, Any]]:
    yield "shape", actual.shape, expected.shape
    if options.check_layout:
        yield "layout", actual.layout, expected.layout
    if options.check_stride:
        yield "stride()", actual.stride(), expected.stride()
    if options.check_device:
        yield "device", actual.device, expected.device
    if options.check_dtype:
        yield "dtype", actual.dtype, expected.dtype


def _scalar_report(actual: Any, expected: Any, tolerances: Tolerances) -> str:
    difference = abs(actual - expected)
    relative = math.inf if expected == 0 else difference / abs(expected)
    return "\n".join(
        [
            *_headline("Scalars", tolerances),
            f"Expected {expected} but got {actual}.",
            f"Absolute difference: {difference}{_allowed(tolerances, tolerances[1])}",
            f"Relative difference: {relative}{_allowed(tolerances, tolerances[0])}",
        ]
    )


def _tensor_report(what: str, actual: Tensor, expected: Tensor, matches: Tensor, tolerances: Tolerances) -> str:
    total = matches.numel()
    mismatches = total - int(matches.sum())
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    absolute = (actual - expected).abs().masked_fill(matches, 0)
    relative = (absolute / expected.abs()).masked_fill(matches, 0)
    rtol, atol = tolerances
    return "\n".join(
        [
            *_headline(what, tolerances),
            f"Mismatched elements: {mismatches} / {total} ({mismatches / total:.1%})",
            f"Greatest absolute difference: {_greatest(absolute)}{_allowed(tolerances, atol)}",
            f"Greatest relative difference: {_greatest(relative)}{_allowed(tolerances, rtol)}",
        ]
    )


def _headline(what: str, tolerances: Tolerances) -> tuple[str, str]:
    return f"{what} are not {'close' if any(tolerances) else 'equal'}!", ""


def _allowed(tolerances: Tolerances, tolerance: float) -> str:
    return f" (up to {tolerance} allowed)" if any(tolerances) else ""


def _greatest(differences: Tensor) -> str:
    value, flat = differences.flatten().max(0)
    remainder, index = int(flat), []
    for size in reversed(differences.shape):
        remainder, position = divmod(remainder, size)
        index.append(position)
    return f"{value.item()} at index {tuple(reversed(index))}"


# --- random tensors ---


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of a shape and dtype with values drawn uniformly from `[low, high)`.

    Args:
        shape: integers, or one sequence of integers.
        low, high: the range, clamped to the range of the dtype.  By default -9 to 9 for floating-point and
            complex dtypes, -9 to 10 for signed integers, 0 to 10 for unsigned ones, 0 to 2 for bool.
        noncontiguous: return every other element of a tensor twice the size.
        exclude_zero: replace zeros by the smallest positive number (1 for integers).
        memory_format: the memory format of the result; not together with `noncontiguous`.

    Raises:
        ValueError: the range is empty, is NaN, or is outside of the range of the dtype; `requires_grad` with an
            integer dtype; `noncontiguous` with `memory_format`.

    >>> torch.testing.make_tensor((2, 3), dtype=torch.int8, device="cpu", low=0).shape
    torch.Size([2, 3])
    """
    sizes = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    inexact = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not inexact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    bounds = _bounds(dtype, low, high)
    result = (
        _uniform(sizes, dtype, device, *bounds)
        if inexact
        else torch.randint(math.ceil(bounds[0]), math.ceil(bounds[1]), sizes, device=device, dtype=dtype)
    )
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = dtypes.finfo(dtype).tiny if inexact else 1
    return result.requires_grad_(requires_grad)


def _bounds(dtype: dtypes.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """Return (low, high) or their defaults, clamped to the range of the dtype."""
    if dtype.is_floating_point or dtype.is_complex:
        lowest, highest, default_high = dtypes.finfo(dtype).min, dtypes.finfo(dtype).max, 9
    elif dtype == dtypes.bool_:
        lowest, highest, default_high = 0, 2, 2
    else:
        info = dtypes.iinfo(dtype)  # `randint` takes bounds up to 2**63 - 1, although its upper bound is exclusive
        lowest, highest, default_high = info.min, min(info.max + 1, 2**63 - 1), 10
    low = (0 if dtype == dtypes.bool_ else -9) if low is None else low
    high = default_high if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated. "
            "Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{lowest}, {highest})"
        )
    return min(max(low, lowest), highest), min(max(high, lowest), highest)


def _uniform(shape: Sequence[int], dtype: dtypes.dtype, device: Any, low: float, high: float) -> Tensor:
    if dtype.is_complex:
        result: Tensor = torch.view_as_complex(_uniform((*shape, 2), dtype.to_real(), device, low, high)).clone()
    elif high - low >= dtypes.finfo(dtype).max:  # `high - low` would overflow
        result = torch.empty(shape, dtype=dtype, device=device).uniform_(low / 2, high / 2).mul_(2)
    else:
        result = torch.empty(shape, dtype=dtype, device=device).uniform_(low, high)
    return result

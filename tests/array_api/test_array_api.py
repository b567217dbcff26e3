"""Compare every function of the array API namespace with array-api-strict."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import flambeau as torch

xp = torch.ones(1).__array_namespace__()
NOT_THE_STANDARDS = {
    "ArrayAPIStrictFlags",
    "Device",
    "ALL_DEVICES",
    "CPU_DEVICE",
    "__version__",
    "get_array_api_strict_flags",
    "set_array_api_strict_flags",
    "reset_array_api_strict_flags",
}
SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTEGERS, FLOATS, COMPLEX = SIGNED + UNSIGNED, ("float32", "float64"), ("complex64", "complex128")
REALS, NUMBERS = INTEGERS + FLOATS, INTEGERS + FLOATS + COMPLEX
ALL = ("bool", *NUMBERS)
EXTENSIONS = ("", "linalg", "fft")
UNLISTED = {"linalg": ["eig", "eigvals"]}  # in the standard, but missing from __all__ of array-api-strict


def names(extension: str) -> list[str]:
    module = getattr(strict, extension) if extension else strict
    return [name for name in module.__all__ if name not in NOT_THE_STANDARDS] + UNLISTED.get(extension, [])


def at(namespace: Any, path: str) -> Any:
    for part in path.split("."):
        namespace = getattr(namespace, part)
    return namespace


def array(shape: tuple[int, ...], dtype: str, seed: int = 0, low: float = -3.0, high: float = 3.0) -> Any:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(max(0, int(low)) if kind == "u" else int(low), int(high) + 1, shape).astype(dtype)
    values = rng.uniform(low, high, shape)
    return np.asarray(values + 1j * rng.uniform(low, high, shape) if kind == "c" else values).astype(dtype)


def assert_same_in_both(call: Any, *arrays: Any) -> None:
    """Assert that `call` returns the same values and dtypes in both namespaces."""
    with np.errstate(all="ignore"):
        expected = _plain(call(strict, *map(strict.asarray, arrays)))
    actual = _plain(call(xp, *(torch.asarray(array.copy()) for array in arrays)))
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        precise = a.dtype in (np.dtype("float64"), np.dtype("complex128"))
        np.testing.assert_allclose(a, b, rtol=1e-10 if precise else 1e-5, atol=1e-10 if precise else 1e-5)


def _plain(value: Any) -> list[Any]:
    return [np.asarray(result) for result in (value if isinstance(value, (tuple, list)) else (value,))]


# --- what there is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_name_of_the_standard_is_there(extension: str) -> None:
    module = at(xp, extension) if extension else xp
    missing = [name for name in names(extension) if not hasattr(module, name) or name not in {*module.__all__, *dir(module)}]
    assert not missing
    undocumented = [name for name in module.__all__ if callable(getattr(module, name)) and not getattr(module, name).__doc__]
    assert not undocumented


FUNCTIONS = [f"{extension}.{name}".lstrip(".") for extension in EXTENSIONS for name in names(extension)]
FUNCTIONS = [path for path in FUNCTIONS if inspect.isfunction(at(strict, path)) and "__" not in path]


@pytest.mark.parametrize("path", FUNCTIONS)
def test_signatures(path: str) -> None:
    theirs, ours = (inspect.signature(at(module, path)).parameters.values() for module in (strict, xp))
    assert [(parameter.name, parameter.kind) for parameter in ours] == [(parameter.name, parameter.kind) for parameter in theirs]
    for mine, wanted in zip(ours, theirs, strict=True):
        sentinel = type(wanted.default).__name__ == "Undef"  # array-api-strict marks "not given" by a sentinel, flambeau by None
        assert mine.default == (None if sentinel else wanted.default)


def test_versions() -> None:
    x = torch.ones(1)
    assert xp.__array_api_version__ == "2025.12"
    assert x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match=r"1999\.12"):
        x.__array_namespace__(api_version="1999.12")


def test_inspection() -> None:
    info, theirs = xp.__array_namespace_info__(), strict.__array_namespace_info__()
    assert info.capabilities().keys() == theirs.capabilities().keys()
    assert info.default_device() == torch.ones(1).device and info.default_device() in info.devices()
    assert info.default_dtypes()["integral"] is torch.int64
    kinds = (
        None,
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
        ("bool", "integral"),
    )
    for kind in kinds:
        assert info.dtypes(kind=kind).keys() == theirs.dtypes(kind=kind).keys()
    with pytest.raises(ValueError, match="decimal"):
        info.dtypes(kind="decimal")


# --- dtypes ---------------------------------------------------------------------------------------------------------


def test_promotion_of_every_pair() -> None:
    for a, b in itertools.product(ALL, ALL):
        try:
            expected = str(strict.result_type(getattr(strict, a), getattr(strict, b))).rpartition(".")[2]
        except TypeError:
            continue  # promotion of this pair is undefined in the standard
        mine = xp.result_type(getattr(xp, a), getattr(xp, b))
        assert mine.name == expected.strip("'>")
        assert xp.can_cast(getattr(xp, a), mine)
    assert xp.result_type(torch.ones(1, dtype=torch.float64), 1.0, torch.float32) is torch.float64
    assert not xp.can_cast(torch.float64, torch.float32) and not xp.can_cast(torch.uint64, torch.int64)


@pytest.mark.parametrize("dtype", ALL)
def test_isdtype(dtype: str) -> None:
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        assert xp.isdtype(getattr(xp, dtype), kind) == strict.isdtype(getattr(strict, dtype), kind)
    assert xp.isdtype(getattr(xp, dtype), (torch.bool, "numeric"))


def test_limits() -> None:
    for dtype in INTEGERS:
        mine, theirs = xp.iinfo(getattr(xp, dtype)), np.iinfo(dtype)
        assert (mine.bits, mine.min, mine.max, mine.dtype.name) == (theirs.bits, theirs.min, theirs.max, dtype)
    for dtype in FLOATS + COMPLEX:
        mine, theirs = xp.finfo(torch.ones(1, dtype=getattr(torch, dtype))), np.finfo(dtype)
        assert (mine.bits, mine.eps, mine.max, mine.smallest_normal) == (theirs.bits, theirs.eps, theirs.max, theirs.tiny)
        assert mine.dtype.name == theirs.dtype.name


# --- elementwise ----------------------------------------------------------------------------------------------------

UNARY = {
    **dict.fromkeys(("abs", "positive", "square", "sign"), NUMBERS), "negative": (*SIGNED, *FLOATS, *COMPLEX),
    **dict.fromkeys(("ceil", "floor", "trunc"), REALS), "round": NUMBERS, "signbit": FLOATS, "reciprocal": FLOATS + COMPLEX,
    **dict.fromkeys(("isfinite", "isinf", "isnan"), NUMBERS), **dict.fromkeys(("real", "imag", "conj"), COMPLEX),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p",
                     "log2", "sin", "sinh", "sqrt", "tan", "tanh"), FLOATS + COMPLEX),
    "logical_not": ("bool",), "bitwise_invert": ("bool", *INTEGERS),
}  # fmt: skip
BINARY = {
    **dict.fromkeys(("add", "multiply", "subtract", "pow"), NUMBERS), **dict.fromkeys(("equal", "not_equal"), ALL),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "remainder"), REALS),
    "floor_divide": REALS, "divide": FLOATS + COMPLEX,
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), FLOATS),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTEGERS)),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTEGERS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",)),
}  # fmt: skip
SHAPES = [((), ()), ((3,), ()), ((2, 1), (1, 3)), ((0, 2), (2,)), ((2, 3), (2, 3))]
EXTREMES = [0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for dtype, shape in itertools.product(UNARY[name], [(), (0,), (2, 3)]):
        assert_same_in_both(lambda n, x: getattr(n, name)(x), array(shape, dtype, low=1.1 if name == "acosh" else -3.0))


@pytest.mark.parametrize("name", [name for name in UNARY if "float64" in UNARY[name]])
def test_special_cases_of_one(name: str) -> None:
    assert_same_in_both(lambda n, x: getattr(n, name)(x), np.array(EXTREMES))
    # for the functions excluded here, the standard does not specify complex results
    if "complex128" in UNARY[name] and name not in ("sign", "reciprocal", "square", "log1p", "log2"):
        assert_same_in_both(
            lambda n, x: getattr(n, name)(x), np.array([complex(a, b) for a in (0.0, 1.0, -2.0) for b in (0.0, -1.0, 3.0)]) + 0.5
        )


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    low = 1 if name in ("pow", "remainder", "floor_divide", "bitwise_left_shift", "bitwise_right_shift") else -3.0
    for a, b in itertools.product(BINARY[name], BINARY[name]):
        try:
            strict.result_type(getattr(strict, a), getattr(strict, b))
        except TypeError:
            continue
        for first, second in SHAPES if a == b else SHAPES[1:3]:
            assert_same_in_both(
                lambda n, x, y: getattr(n, name)(x, y), array(first, a, low=low), array(second, b, seed=1, low=low)
            )


@pytest.mark.parametrize("name", [name for name in BINARY if "float64" in BINARY[name]])
def test_special_cases_of_two(name: str) -> None:
    pairs = np.array(list(itertools.product(EXTREMES, EXTREMES)))
    if name in ("floor_divide", "remainder"):  # array-api-strict follows NumPy here, not the standard
        pairs = pairs[np.isfinite(pairs).all(1) & (pairs[:, 1] != 0)]
    assert_same_in_both(lambda n, x, y: getattr(n, name)(x, y), pairs[:, 0].copy(), pairs[:, 1].copy())


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("name, x, expected", [
    ("expm1", (-INF, INF), (-1, 0)), ("expm1", (-INF, NAN), (-1, 0)), ("expm1", (INF, 0.0), (INF, 0.0)), ("expm1", (INF, INF), (INF, NAN)),
    ("expm1", (INF, NAN), (INF, NAN)), ("expm1", (NAN, 0.0), (NAN, 0.0)), ("expm1", (NAN, 1.0), (NAN, NAN)), ("expm1", (1.0, INF), (NAN, NAN)),
    ("expm1", (-0.0, 0.0), (0.0, 0.0)), ("expm1", (-0.0, -0.0), (0.0, -0.0)), ("expm1", (1e-20, 1e-20), (1e-20, 1e-20)),
    ("sign", (NAN, 1.0), (NAN, NAN)), ("sign", (0.0, NAN), (NAN, NAN)), ("sign", (NAN, INF), (NAN, NAN)), ("sign", (-0.0, 0.0), (0.0, 0.0)),
    ("tanh", (INF, 2.0), (1, 0.0)), ("tanh", (INF, -2.0), (1, -0.0)), ("tanh", (-INF, 2.0), (-1, 0.0)), ("tanh", (INF, INF), (1, 0)),
    ("tanh", (INF, NAN), (1, 0)), ("tanh", (NAN, 0.0), (NAN, 0.0)), ("tanh", (1.0, INF), (NAN, NAN)),
])  # fmt: skip
def test_complex_special_cases(name: str, x: tuple[float, float], expected: tuple[float, float]) -> None:
    """Expected zeros written as `0.0` are also compared by sign; an integer `0` has any sign."""
    for dtype in ("complex64", "complex128"):
        result = getattr(xp, name)(torch.asarray(np.asarray(complex(*x), dtype)))
        assert result.dtype is getattr(torch, dtype)
        for part, wanted in zip((result.real.item(), result.imag.item()), expected, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-6)
            assert wanted != 0 or isinstance(wanted, int) or np.signbit(part) == np.signbit(wanted)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)])
def test_powers_of_one_half(shape: tuple[int, ...]) -> None:
    """With an exponent of 0.5, `pow` returns inf for -inf and 0.0 for -0.0, unlike `sqrt`, which returns NaN and -0.0."""
    for dtype, exponent in itertools.product((torch.float32, torch.float64), (torch.tensor(0.5), torch.full(shape, 0.5))):
        for base, expected in ((-INF, INF), (-0.0, 0.0), (4.0, 2.0)):
            actual = xp.pow(xp.full(shape, base, dtype=dtype), xp.astype(exponent, dtype)).numpy()
            np.testing.assert_array_equal(actual, np.full(shape, expected))
            assert not np.signbit(actual).any()


@pytest.mark.parametrize("name, x1, x2, expected", [
    ("floor_divide", -1.0, INF, -0.0), ("floor_divide", -1.0, -INF, 0.0), ("floor_divide", 1.0, INF, 0.0),
    ("floor_divide", 1.0, -INF, -0.0), ("floor_divide", INF, 2.0, INF), ("floor_divide", INF, -2.0, -INF),
    ("floor_divide", -INF, 2.0, -INF), ("floor_divide", -INF, -2.0, INF), ("floor_divide", 1.0, 0.0, INF),
    ("floor_divide", 1.0, -0.0, -INF), ("floor_divide", -1.0, 0.0, -INF), ("floor_divide", 0.0, -2.0, -0.0),
    ("floor_divide", INF, INF, NAN), ("floor_divide", 0.0, 0.0, NAN),
    ("remainder", -1.0, INF, INF), ("remainder", -1.0, -INF, -1.0), ("remainder", 1.0, INF, 1.0), ("remainder", 1.0, -INF, -INF),
    ("remainder", 0.0, -2.0, -0.0), ("remainder", -0.0, 2.0, 0.0), ("remainder", INF, 2.0, NAN),
    ("remainder", 1.0, 0.0, NAN),
])  # fmt: skip
def test_division_by_and_of_infinities(name: str, x1: float, x2: float, expected: float) -> None:
    for dtype in (torch.float32, torch.float64):
        actual = getattr(xp, name)(torch.tensor(x1, dtype=dtype), torch.tensor(x2, dtype=dtype)).numpy()
        np.testing.assert_equal(actual, np.asarray(expected, actual.dtype))
        assert np.isnan(expected) or np.signbit(actual) == np.signbit(expected)


def test_operators_are_the_functions() -> None:
    for dtype in NUMBERS:
        x, y = torch.asarray(array((2, 3), dtype, low=1)), torch.asarray(array((3,), dtype, seed=1, low=1))
        pairs = [
            (x + y, xp.add(x, y)),
            (x - y, xp.subtract(x, y)),
            (x * y, xp.multiply(x, y)),
            (x == y, xp.equal(x, y)),
            (x != y, xp.not_equal(x, y)),
            (x**y, xp.pow(x, y)),
            (abs(x), xp.abs(x)),
            (+x, xp.positive(x)),
            (2 - x, xp.subtract(2, x)),
            (x @ y, xp.matmul(x, y)),
        ]
        if dtype not in COMPLEX:
            pairs += [
                (x < y, xp.less(x, y)),
                (x >= y, xp.greater_equal(x, y)),
                (x // y, xp.floor_divide(x, y)),
                (x % y, xp.remainder(x, y)),
            ]
        if dtype in INTEGERS:
            pairs += [
                (x & y, xp.bitwise_and(x, y)),
                (x ^ y, xp.bitwise_xor(x, y)),
                (x << y, xp.bitwise_left_shift(x, y)),
                (~x, xp.bitwise_invert(x)),
            ]
        for a, b in pairs:
            assert a.dtype is b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("name", BINARY)
def test_python_scalars(name: str) -> None:
    for dtype in BINARY[name]:
        kind = np.dtype(dtype).kind
        scalar = {"b": True, "i": 2, "u": 2, "f": 1.5, "c": 1.5 + 1j}[kind]
        assert_same_in_both(lambda n, x, scalar=scalar: getattr(n, name)(x, scalar), array((3,), dtype, low=1))
        assert_same_in_both(lambda n, x, scalar=scalar: getattr(n, name)(scalar, x), array((3,), dtype, low=1))


# --- everything else ------------------------------------------------------------------------------------------------

X, AXES = (2, 3, 4), (None, 0, -1, (0, 2), (1, -1, 0), ())
SPD = np.array([[[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], [[5.0, 2.0, 1.0], [2.0, 6.0, 0.3], [1.0, 0.3, 4.0]]])


@pytest.mark.parametrize("name, dtypes", [
    ("sum", NUMBERS), ("prod", NUMBERS), ("mean", FLOATS), ("std", FLOATS), ("var", FLOATS), ("max", REALS), ("min", REALS),
    ("all", ALL), ("any", ALL), ("count_nonzero", ALL),
])  # fmt: skip
def test_reductions(name: str, dtypes: tuple[str, ...]) -> None:
    for dtype, axis, keepdims in itertools.product(dtypes, AXES, (False, True)):
        assert_same_in_both(lambda n, x, a=axis, k=keepdims: getattr(n, name)(x, axis=a, keepdims=k), array(X, dtype))
    assert_same_in_both(lambda n, x: getattr(n, name)(x, axis=0), array((2, 0), dtypes[-1]))


CALLS: dict[str, tuple[Any, list[Any]]] = {
    "sum dtype": (lambda n, x: n.sum(x, dtype=n.float64), [array(X, "float32")]),
    "prod dtype": (lambda n, x: n.prod(x, axis=1, dtype=n.int16), [array(X, "int8")]),
    "var correction": (lambda n, x: n.var(x, axis=1, correction=0.5), [array(X, "float64")]),
    "std correction": (lambda n, x: n.std(x, axis=(0, 2), correction=1), [array(X, "float64")]),
    "cumulative_sum": (lambda n, x: n.cumulative_sum(x, axis=1), [array(X, "uint8")]),
    "cumulative_sum initial": (lambda n, x: n.cumulative_sum(x, axis=-1, include_initial=True), [array(X, "float32")]),
    "cumulative_sum vector": (lambda n, x: n.cumulative_sum(x, dtype=n.float64), [array((4,), "float32")]),
    "cumulative_prod": (lambda n, x: n.cumulative_prod(x, axis=0, include_initial=True), [array(X, "int16")]),
    "diff": (lambda n, x: n.diff(x, axis=1, n=2, prepend=x, append=x), [array(X, "int64")]),
    "argmax": (lambda n, x: (n.argmax(x), n.argmax(x, axis=1), n.argmax(x, axis=-1, keepdims=True), n.argmax(x, keepdims=True)),
               [array(X, "float64")]),
    "argmin": (lambda n, x: (n.argmin(x), n.argmin(x, axis=1, keepdims=True)), [array(X, "uint16")]),
    "sort": (lambda n, x: (n.sort(x), n.sort(x, axis=0, descending=True)), [array(X, "int8")]),
    "argsort": (lambda n, x: (n.argsort(x, axis=1), n.argsort(x, descending=True)), [array(X, "int32")]),
    "nonzero": (lambda n, x: n.nonzero(x), [array(X, "int8", low=0, high=1)]),
    "searchsorted": (lambda n, x, y: (n.searchsorted(x, y), n.searchsorted(x, y, side="right"), n.searchsorted(x, 0.5)),
                     [np.sort(array((6,), "float64")), array((2, 3), "float64", 1)]),
    "searchsorted sorter": (lambda n, x, y: n.searchsorted(x, y, sorter=n.argsort(x)),
                            [array((6,), "float64"), array((2, 3), "float64", 1)]),
    "isin": (lambda n, x, y: (n.isin(x, y), n.isin(x, 2)),
             [array(X, "int64"), array((2,), "int64", 1)]),
    "take": (lambda n, x, i: (n.take(x, i, axis=1), n.take(x, i, axis=-1)), [array(X, "float32"), np.array([2, 0, 1, 1])]),
    "take vector": (lambda n, x, i: n.take(x, i), [array((4,), "float32"), np.array([3, 0])]),
    "take_along_axis": (lambda n, x, i: n.take_along_axis(x, i, axis=1), [array((2, 3), "int8"), np.array([[0, 2], [-1, 1]])]),
    "unique_all": (lambda n, x: n.unique_all(x), [array((3, 4), "int16")]),
    "unique_all empty": (lambda n, x: n.unique_all(x), [array((0,), "float32")]),
    "unique_counts": (lambda n, x: n.unique_counts(x), [np.array([1.0, float("nan"), 1.0, float("nan"), -1.0])]),
    "unique_inverse": (lambda n, x: n.unique_inverse(x), [array((3, 2), "bool")]),
    "unique_values": (lambda n, x: n.unique_values(x), [np.array([1 + 2j, 1 + 1j, 1 + 2j, 0])]),
    "where": (lambda n, c, x, y: (n.where(c, x, y), n.where(c, x, 2.5), n.where(c, 1.5, y)),
              [array((2, 3), "bool"), array((), "float32"), array((3,), "float64")]),
    "clip": (lambda n, x, a, b: (n.clip(x, a, b), n.clip(x, -1), n.clip(x, max=1), n.clip(x, a, 1), n.clip(x)),
             [array((2, 3), "float32"), array((3,), "float32", low=-2, high=0), array((2, 1), "float32", low=0.5)]),
    "clip integers": (lambda n, x: n.clip(x, 0, 1), [array((2, 3), "int8")]),
    "astype": (lambda n, x: (n.astype(x, n.float64), n.astype(x, n.bool), n.astype(x, n.uint8, copy=False)), [array(X, "int8", low=0)]),
    "arange": (lambda n: (n.arange(4), n.arange(1, 3), n.arange(3.0, 1, -0.5, dtype=n.float64), n.arange(3, 1), n.arange(0)), []),
    "linspace": (lambda n: (n.linspace(0, 1, 5, dtype=n.float64), n.linspace(2, -1, 3, dtype=n.float64, endpoint=False),
                            n.linspace(1, 1, 1, dtype=n.float64)), []),
    "eye": (lambda n: (n.eye(3, dtype=n.float64), n.eye(2, 4, k=1, dtype=n.int8), n.eye(4, 2, k=-2, dtype=n.bool)), []),
    "eye beyond": (lambda n: (n.eye(2, 3, k=3, dtype=n.int8), n.eye(3, 2, k=-3, dtype=n.int8), n.eye(0, dtype=n.int8)), []),
    "full": (lambda n: (n.full(3, 2), n.full((2, 2), True), n.full((), 1.5, dtype=n.float32), n.full((1,), 1j, dtype=n.complex64)), []),
    "zeros": (lambda n: (n.zeros(3, dtype=n.uint8), n.ones((2, 0), dtype=n.bool), n.zeros((), dtype=n.complex128)), []),
    "likes": (lambda n, x: (n.zeros_like(x), n.ones_like(x, dtype=n.float64), n.full_like(x, 3), n.full_like(x, 1.5, dtype=n.float32)),
              [array(X, "int8")]),
    "tril": (lambda n, x: (n.tril(x), n.triu(x, k=1), n.tril(x, k=-1)), [array(X, "float64")]),
    "meshgrid": (lambda n, x, y: (*n.meshgrid(x, y), *n.meshgrid(x, y, indexing="ij"), *n.meshgrid(x)),
                 [array((2,), "float64"), array((3,), "float64")]),
    "asarray": (lambda n: (n.asarray([[1, 2], [3, 4]]), n.asarray(True), n.asarray([1.0], dtype=n.float32), n.asarray(2, dtype=n.uint8)), []),
    "broadcast": (lambda n, x, y: (*n.broadcast_arrays(x, y), n.broadcast_to(x, (2, 2, 1))), [array((2, 1), "int8"), array((3,), "float32")]),
    "concat": (lambda n, x, y: (n.concat([x, y]), n.concat((x, y), axis=-1), n.concat([x, y], axis=None)),
               [array((2, 2), "int8"), array((2, 2), "uint8")]),
    "stack": (lambda n, x, y: (n.stack([x, y], axis=-1), n.stack([x, y])), [array((2, 2), "float32"), array((2, 2), "float64")]),
    "unstack": (lambda n, x: n.unstack(x, axis=1), [array(X, "bool")]),
    "expand_dims": (lambda n, x: (n.expand_dims(x, 0), n.expand_dims(x, axis=-1), n.expand_dims(x, axis=-2)), [array(X, "int8")]),
    "squeeze": (lambda n, x: (n.squeeze(x, 1), n.squeeze(x, axis=(-1, 1))), [array((2, 1, 3, 1), "int8")]),
    "flip": (lambda n, x: (n.flip(x), n.flip(x, axis=1), n.flip(x, axis=(0, -1))), [array(X, "int8")]),
    "moveaxis": (lambda n, x: (n.moveaxis(x, 0, -1), n.moveaxis(x, (0, 1), (1, 2))), [array(X, "int8")]),
    "permute_dims": (lambda n, x: n.permute_dims(x, (2, 0, 1)), [array(X, "int8")]),
    "repeat": (lambda n, x: (n.repeat(x, 2), n.repeat(x, 3, axis=1), n.repeat(x, n.asarray([1, 0, 2]), axis=1)), [array(X, "int8")]),
    "reshape": (lambda n, x: (n.reshape(x, (4, -1)), n.reshape(x, (2, 12), copy=True)), [array(X, "int8")]),
    "roll": (lambda n, x: (n.roll(x, 2), n.roll(x, 1, axis=1), n.roll(x, (1, -1), axis=(0, 2))), [array(X, "int8")]),
    "tile": (lambda n, x: (n.tile(x, (2, 1)), n.tile(x, (2, 1, 3, 1))), [array(X, "int8")]),
    "matmul": (lambda n, x, y: n.matmul(x, y), [array((5, 2, 3), "float64"), array((3, 4), "float32")]),
    "matmul integers": (lambda n, x, y: (n.matmul(x, y), n.matmul(x, y[:, 0]), n.matmul(y[:, 0], y)), [array((2, 3), "int16"), array((3, 4), "int8")]),
    "tensordot": (lambda n, x, y: (n.tensordot(x, y), n.tensordot(x, y, axes=((0, 2), (2, 1))), n.tensordot(x, y, axes=0)),
                  [array((2, 3, 4), "float64"), array((3, 4, 2), "float64")]),
    "vecdot": (lambda n, x, y: (n.vecdot(x, y), n.vecdot(x, y, axis=-2)), [array((2, 3, 3), "complex128"), array((3, 3), "complex128", 1)]),
    "matrix_transpose": (lambda n, x: (n.matrix_transpose(x), x.mT), [array(X, "int8")]),
    "linalg.cross": (lambda n, x, y: n.linalg.cross(x, y, axis=-1), [array((2, 3), "int64"), array((2, 3), "int64", 1)]),
    "linalg.cross broadcast": (lambda n, x, y: (n.linalg.cross(x, y[:, 0]), n.linalg.cross(y[:, 0], x), n.linalg.cross(x[..., None], y, axis=-2)),
                               [array((2, 3), "int64"), array((3, 4), "int64", 1)]),
    "linalg.outer": (lambda n, x, y: n.linalg.outer(x, y), [array((2,), "int8"), array((3,), "int64", 1)]),
    "linalg.diagonal": (lambda n, x: n.linalg.diagonal(x, offset=1), [array(X, "bool")]),
    "linalg.trace": (lambda n, x: (n.linalg.trace(x), n.linalg.trace(x, offset=-1, dtype=n.float64)), [array(X, "uint8")]),
    "linalg.det": (lambda n, x: (n.linalg.det(x), *n.linalg.slogdet(x), n.linalg.inv(x), n.linalg.matrix_power(x, -2)), [SPD]),
    "linalg.matrix_power": (lambda n, x: (n.linalg.matrix_power(x, 0), n.linalg.matrix_power(x, 3)), [SPD]),
    "linalg.matrix_norm": (lambda n, x: tuple(n.linalg.matrix_norm(x, ord=order, keepdims=k) for order in ("fro", "nuc", 1, -1, 2, -2,
                           float("inf"), -float("inf")) for k in (False, True)), [SPD]),
    "linalg.vector_norm": (lambda n, x: tuple(n.linalg.vector_norm(x, axis=a, keepdims=k, ord=o) for a in (None, 0, (0, -1))
                           for k in (False, True) for o in (0, 1, 2, 3.5, float("inf"), -float("inf"), -1)), [array(X, "float64")]),
    "linalg.matrix_rank": (lambda n, x: (n.linalg.matrix_rank(x), n.linalg.matrix_rank(x, rtol=0.6)), [SPD]),
    "linalg.cholesky": (lambda n, x: (n.linalg.cholesky(x), n.linalg.cholesky(x, upper=True)), [SPD]),
    "linalg.eigvalsh": (lambda n, x: (n.linalg.eigvalsh(x), n.linalg.eigh(x).eigenvalues, n.linalg.svdvals(x)), [SPD]),
    "linalg.eigvals": (lambda n, x: (n.linalg.eigvals(x), n.linalg.eigvals(n.astype(x, n.complex64)), n.linalg.eig(x).eigenvalues),
                       [array((2, 3, 3), "float64")]),
    "linalg.eig": (lambda n, x: n.matmul(n.astype(x, n.complex128), n.linalg.eig(x)[1]) - n.linalg.eig(x)[1] * n.linalg.eig(x)[0][..., None, :],
                   [array((2, 3, 3), "float64")]),
    "linalg.eigh": (lambda n, x: n.linalg.eigh(x).eigenvectors**2, [SPD]),
    "linalg.qr": (lambda n, x: [factor for mode in ("reduced", "complete") for factor in n.linalg.qr(x, mode=mode)], [array((2, 4, 3), "float64")]),
    "linalg.svd": (lambda n, x: (n.linalg.svd(x).S, n.linalg.svd(x, full_matrices=False).U ** 2, n.linalg.svd(x, full_matrices=False).Vh ** 2),
                   [array((2, 4, 3), "float64")]),
    "linalg.pinv": (lambda n, x: (n.linalg.pinv(x), n.linalg.pinv(x, rtol=0.3)), [array((2, 4, 3), "float64")]),
    "linalg.solve": (lambda n, x, y: (n.linalg.solve(x, y), n.linalg.solve(x[0, ...], y), n.linalg.solve(x, y[0, :, 0])), [SPD, array((2, 3, 2), "float64")]),
    "linalg.solve stack": (lambda n, x, y: n.linalg.solve(x, y), [SPD[[0, 1, 0]], array((3, 3), "float64")]),
    "fft.fft": (lambda n, x: tuple(getattr(n.fft, f)(x, n=k, axis=a, norm=m) for f in ("fft", "ifft", "hfft", "irfft") for k in (None, 3)
                for a, m in ((0, "ortho"), (-1, "forward"), (-1, "backward"))), [array((4, 5), "complex128")]),
    "fft.rfft": (lambda n, x: (n.fft.rfft(x, axis=0), n.fft.ihfft(x, n=4), n.fft.rfftn(x), n.fft.rfftn(x, s=(2, 3), axes=(0, 1))), [array((4, 5), "float64")]),
    "fft.fftn": (lambda n, x: (n.fft.fftn(x), n.fft.ifftn(x, axes=(1,)), n.fft.irfftn(x, norm="ortho"), n.fft.fftn(x, s=(3, 3), axes=(1, 0))),
                 [array((4, 5), "complex128")]),
    "fft.fftfreq": (lambda n: (n.fft.fftfreq(5, d=0.5, dtype=n.float64), n.fft.rfftfreq(4, dtype=n.float32)), []),
    "fft.fftshift": (lambda n, x: (n.fft.fftshift(x), n.fft.ifftshift(x, axes=1), n.fft.fftshift(x, axes=(0,))), [array((4, 5), "float64")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, arrays = CALLS[name]
    assert_same_in_both(call, *arrays)


def test_every_function_is_called() -> None:
    from_tables = {
        *UNARY,
        *BINARY,
        "result_type",
        "can_cast",
        "isdtype",
        "finfo",
        "iinfo",
        "broadcast_shapes",
        "from_dlpack",
        "empty",
        "empty_like",
        "max",
        "min",
        "mean",
        "all",
        "any",
        "count_nonzero",
    }
    source = inspect.getsource(inspect.getmodule(test_every_function_is_called))  # type: ignore[arg-type]
    missing = [path for path in FUNCTIONS if path not in from_tables and f"n.{path}(" not in source]
    by_name = {"fft.ifft", "fft.hfft", "fft.irfft", "fft.fft"}
    # aliases of functions in the main namespace
    again = {"linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot"}
    assert set(missing) == by_name | again
    assert all(at(xp, path) is at(xp, path.partition(".")[2]) for path in again)


# --- errors and memory ----------------------------------------------------------------------------------------------


def test_errors() -> None:
    x = torch.ones(2, 1, 3)
    for error, call in (
        (ValueError, lambda: xp.squeeze(x, 0)),
        (IndexError, lambda: xp.sum(x, axis=5)),
        (ValueError, lambda: xp.sum(x, axis=(0, -3))),
        (ValueError, lambda: xp.take(x, torch.tensor([0]))),
        (ValueError, lambda: xp.nonzero(torch.tensor(1))),
        (ValueError, lambda: xp.cumulative_sum(x)),
        (ValueError, lambda: xp.reshape(xp.permute_dims(torch.ones(2, 3), (1, 0)), (6,), copy=False)),
        (ValueError, lambda: xp.broadcast_shapes((2,), (3,))),
        (TypeError, lambda: xp.result_type(torch.uint64, torch.int8)),
        (ValueError, lambda: xp.result_type(1, 2)),
        (ValueError, lambda: x.to_device("cpu", stream=1)),
        (ValueError, lambda: xp.vecdot(x, x[..., :1])),
        (ValueError, lambda: xp.linalg.vecdot(x[..., :1], x)),
        (RuntimeError, lambda: xp.linalg.cross(x, x[..., :1])),
    ):
        with pytest.raises(error):
            call()


def test_memory() -> None:
    x = torch.arange(6.0)
    assert xp.reshape(x, (2, 3), copy=False).data_ptr() == x.data_ptr() != xp.reshape(x, (2, 3), copy=True).data_ptr()
    assert xp.astype(x, torch.float32, copy=False) is x and xp.astype(x, torch.float32).data_ptr() != x.data_ptr()
    assert (
        xp.from_dlpack(np.arange(3.0)).dtype is torch.float64 and xp.empty((2, 0)).shape == xp.empty_like(torch.ones(2, 0)).shape
    )
    assert x.to_device(x.device) is x
    source = np.arange(3.0)
    xp.from_dlpack(source, copy=False)[0] = 5
    assert source[0] == 5
    xp.from_dlpack(source, copy=True)[0] = 7
    assert source[0] == 5


def test_diagonals_of_any_number() -> None:
    assert not xp.any(xp.eye(3, k=10**30)) and not xp.any(xp.eye(3, 2, k=-(10**30)))


def test_isin_inverted() -> None:
    assert xp.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]), invert=True).tolist() == [True, False, True]


def test_derivatives_go_through() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: xp.sum(xp.multiply(xp.exp(x), 2.0), axis=(0, 1)) + xp.linalg.trace(x @ x), [x])

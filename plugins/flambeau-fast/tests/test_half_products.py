"""Products of float16 and bfloat16 matrices, compared with float64: sizes, layouts, special values and threads."""

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import half_matrix
from flambeau_fast.kernels import kernels as compiled

from flambeau.backend import find
from flambeau_backends.numpy.packs import halves as halves_module

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
PRODUCTS = find("numpy").half_kernels
SIZES = [
    (1, 1, 1), (1, 5, 7), (1, 2048, 64), (2, 33, 100), (3, 64, 65), (5, 31, 129), (7, 100, 33), (16, 320, 70), (33, 641, 130),
    (40, 32, 17), (100, 7, 3), (100, 700, 600), (4, 777, 2), (333, 129, 1), (14, 96, 513), (64, 1, 64),
    (48, 2048, 130), (64, 702, 131), (47, 701, 300),
]  # fmt: skip
EMPTY = [(3, 0, 5), (0, 3, 5), (3, 5, 0), (40, 0, 40)]
LAYOUTS = ("row-major", "column-major", "strided", "offset", "offset columns")


def array_of(random, rows, columns, layout, dtype):
    """Return random numbers in a memory layout; "offset" starts at odd elements, so that rows are not aligned to pairs."""
    shapes = {"column-major": (columns, rows), "strided": (2 * rows, 3 * columns), "offset": (rows, columns + 3)}
    shape = shapes.get(layout, (columns, rows + 3) if layout == "offset columns" else (rows, columns))
    array = random.standard_normal(shape).astype(dtype)
    views = {
        "row-major": array, "column-major": array.T, "strided": array[::2, ::3], "offset": array[:, 1 : columns + 1],
        "offset columns": array[:, 1 : rows + 1].T,
    }  # fmt: skip
    return views[layout]


def assert_rounded_once(result, a, b, bias=0.0):
    """Check that the error is at most half a unit of the last place, plus the error of a sum in float32."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact, size = a @ b + bias, np.abs(a) @ np.abs(b) + np.abs(bias)
    unit = 2.0**-11 if result.dtype == np.float16 else 2.0**-8
    error = np.abs(result.astype(np.float64) - exact)
    assert (error <= 1.0001 * unit * np.abs(exact) + 1e-6 * max(1, a.shape[-1] ** 0.5 / 4) * size + 6e-8).all()


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("size", SIZES + EMPTY, ids=str)
def test_products_in_all_layouts(size, half, monkeypatch):
    rows, depth, columns = size
    random = np.random.default_rng(rows + depth + columns)
    monkeypatch.setattr(half_matrix, "LEAST_PRODUCTS", 0)
    for a_layout in LAYOUTS:
        for b_layout in LAYOUTS:
            a, b = array_of(random, rows, depth, a_layout, half), array_of(random, depth, columns, b_layout, half)
            bias = random.standard_normal(columns).astype(half)
            ours = half_matrix.mm(a, b), half_matrix.addmm(bias, a, b), half_matrix.linear(bias, a[None], b.T)[0]
            for result, added in zip(ours, (0.0, bias.astype(np.float64), bias.astype(np.float64)), strict=True):
                assert result.dtype == half and result.shape == (rows, columns)
                assert_rounded_once(result, a, b, added)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("batch", [(3,), (2, 5), (2, 1, 3)], ids=str)
def test_batches(batch, half):
    random = np.random.default_rng(0)
    for rows, depth, columns in ((1, 64, 50), (20, 33, 70), (70, 100, 1)):
        a, b = (random.standard_normal(shape).astype(half) for shape in ((*batch, rows, depth), (*batch, columns, depth)))
        for left, right in ((a, b.swapaxes(-1, -2)), (a, np.ascontiguousarray(b.swapaxes(-1, -2)))):
            assert_rounded_once(half_matrix.bmm(left, right), left, right)
        expanded = np.broadcast_to(b[..., :1, :, :], b.shape) if len(batch) > 1 else b
        assert_rounded_once(half_matrix.bmm(a, expanded.swapaxes(-1, -2)), a, expanded.swapaxes(-1, -2))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_all_products_of_one_number(half):
    """A product of depth 1 rounds once.  Instructions for bfloat16 may replace subnormal numbers by 0, as in PyTorch."""
    x = np.arange(1 << 16, dtype=np.uint16).view(half).reshape(-1, 1)
    factors = np.array([[1, -1, 0.5, 3, 1.0625, 0.001]]).astype(half)
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) * factors.astype(np.float32)).astype(half).astype(np.float32)
        ours = half_matrix.mm(x, factors).astype(np.float32)
        columns = half_matrix.mm(factors.T, x.T).astype(np.float32).T
    tiny = np.finfo(np.float32).tiny if half != np.float16 and compiled.processor in ("amx", "avx512_bf16") else 0
    exact = ~(np.abs(x.astype(np.float32)) < tiny) & ~(np.abs(expected) < 2 * tiny)
    for result in (ours, columns):
        np.testing.assert_array_equal(result[exact], expected[exact])
        near_zero = ~exact & (result != 0) & ~np.isnan(expected)
        np.testing.assert_array_equal(result[near_zero], expected[near_zero])


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_special_values_stay_in_their_rows_and_columns(rows, value, half):
    a, b = np.ones((rows, 75), half), np.ones((75, 70), half)
    a[rows // 2, 74] = value
    b[74, 3] = value
    for right in (b, np.asfortranarray(b)):
        with np.errstate(all="ignore"):
            expected = a.astype(np.float32) @ b.astype(np.float32)
            np.testing.assert_array_equal(half_matrix.mm(a, right).astype(np.float32), expected)
            np.testing.assert_array_equal(half_matrix.mm(right.T, a.T).astype(np.float32), expected.T)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_products_do_not_depend_on_the_number_of_threads(half):
    random = np.random.default_rng(0)
    results, before = [], compiled.thread_count()
    try:
        for count in (1, 2, 5):
            compiled.set_thread_count(count)
            random = np.random.default_rng(0)
            arrays = []
            for rows, depth, columns in ((1, 900, 2100), (6, 500, 700), (90, 400, 1100), (700, 300, 1)):
                a, b = (random.standard_normal(shape).astype(half) for shape in ((rows, depth), (columns, depth)))
                arrays += [half_matrix.mm(a, b.T), half_matrix.mm(a, np.ascontiguousarray(b.T))]
            results.append(arrays)
    finally:
        compiled.set_thread_count(before)
    for one, *others in zip(*results, strict=True):
        for other in others:
            np.testing.assert_array_equal(one.view(np.uint16), other.view(np.uint16))


def test_declined_products_go_to_the_backend():
    a = np.ones((2, 3, 4, 5), np.float16)
    assert half_matrix.bmm(a, np.ones((3, 5, 2), np.float16)) is None  # the batches differ
    assert half_matrix.addmm(np.ones((), np.float16), a[0, 0], a[0, 0].T) is None
    for name, arrays in (("bmm", (a, np.ones((1, 3, 5, 2), np.float16))), ("linear", (np.ones((), np.float16), a, a[0, 0]))):
        assert halves_module.LOOPS[name](*arrays) is None
        np.testing.assert_array_equal(PRODUCTS[name](*arrays).astype(float), 5.0 + (name == "linear"))

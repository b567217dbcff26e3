"""Products with quantized weights, compared with float64 and exact integers: sizes, dtypes and threads."""

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import quantized
from flambeau_fast.kernels import kernels as compiled

import flambeau as torch
from flambeau_backends.numpy.packs import halves
from flambeau_backends.numpy.packs import kernels as numpy_kernels

DTYPES = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
UNITS = {np.dtype(np.float32): 1e-6, np.dtype(np.float16): 2.0**-11, np.dtype(ml_dtypes.bfloat16): 2.0**-8}
SIZES = [
    (1, 1, 1),
    (1, 300, 70),
    (2, 64, 65),
    (3, 33, 130),
    (4, 100, 64),
    (5, 127, 9),
    (31, 64, 3),
    (33, 200, 129),
    (70, 640, 200),
]


def kernel_of(name, dtype):
    return quantized.KERNELS[name] if dtype == np.float32 else halves.LOOPS[name]


def pack_int4(numbers):
    return torch._convert_weight_to_int4pack_for_cpu(torch.from_numpy(numbers), 2).numpy()


def assert_rounded_once(result, a, weight):
    exact, size = a.astype(np.float64) @ weight, np.abs(a.astype(np.float64)) @ np.abs(weight)
    error = np.abs(result.astype(np.float64) - exact)
    assert (error <= 1.0001 * UNITS[result.dtype] * np.abs(exact) + 3e-6 * size + 6e-8).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_int8_weights(size, dtype):
    rows, depth, outputs = size
    random = np.random.default_rng(sum(size))
    a, weight = random.standard_normal((rows, depth)).astype(dtype), random.integers(-128, 128, (outputs, depth), np.int8)
    scales = random.random(outputs).astype(dtype)
    result = kernel_of("int8_linear", dtype)(a, weight, scales)
    assert result.dtype == dtype and result.shape == (rows, outputs)
    assert_rounded_once(result, a, (weight.astype(np.float64) * scales.astype(np.float64)[:, None]).T)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(1, 32, 64), (3, 128, 128), (4, 64, 192), (37, 256, 64)], ids=str)
def test_int4_weights(size, dtype):
    rows, depth, outputs = size
    random = np.random.default_rng(sum(size))
    numbers = random.integers(0, 16, (outputs, depth), np.int32)
    a, parameters = (random.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth // 32, outputs, 2)))
    result = kernel_of("int4_linear", dtype)(a, pack_int4(numbers), parameters, 32)
    assert result.dtype == dtype and result.shape == (rows, outputs)
    scales, zeros = (parameters[..., i].astype(np.float64).repeat(32, 0) for i in (0, 1))
    weight = (numbers.T - 8) * scales + zeros
    exact = a.astype(np.float64) @ weight
    size = np.abs(a.astype(np.float64)) @ (np.abs(numbers.T - 8) * np.abs(scales) + np.abs(zeros))
    assert (np.abs(result.astype(np.float64) - exact) <= 1.0001 * UNITS[dtype] * np.abs(exact) + 3e-6 * size + 6e-8).all()


@pytest.mark.parametrize("size", [(2, 64, 65), (1, 4000, 70), (31, 500, 9), (32, 64, 64), (33, 70, 130), (100, 333, 40)], ids=str)
def test_products_of_integers_are_exact(size):
    rows, depth, columns = size
    random = np.random.default_rng(0)
    for a, b in (
        (random.integers(-128, 128, (rows, depth), np.int8), random.integers(-128, 128, (columns, depth), np.int8)),
        (np.full((rows, depth), -128, np.int8), np.full((columns, depth), -128, np.int8)),
        (np.full((rows, depth), 127, np.int8), np.full((columns, depth), -128, np.int8)),
    ):
        expected = a.astype(np.int64) @ b.T.astype(np.int64)
        for other in (b.T, np.ascontiguousarray(b.T)):
            for kernel in (quantized.KERNELS["int8_product"], numpy_kernels.KERNELS["int8_product"]):
                result = kernel(a, other)
                assert result.dtype == np.int32
                np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_do_not_depend_on_the_number_of_threads(dtype):
    random = np.random.default_rng(0)
    weight, scales = random.integers(-128, 128, (700, 512), np.int8), random.random(700).astype(dtype)
    packed = pack_int4(random.integers(0, 16, (640, 512), np.int32))
    parameters = random.standard_normal((8, 640, 2)).astype(dtype)
    arrays = [random.standard_normal((rows, 512)).astype(dtype) for rows in (1, 6, 40)]
    results, before = [], compiled.thread_count()
    try:
        for count in (1, 2, 5):
            compiled.set_thread_count(count)
            products = [kernel_of("int8_linear", dtype)(a, weight, scales) for a in arrays]
            products += [kernel_of("int4_linear", dtype)(a, packed, parameters, 64) for a in arrays]
            results.append([product.tobytes() for product in products])
    finally:
        compiled.set_thread_count(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_all_numbers_times_an_integer_round_once(dtype):
    """Each of the 65,536 numbers times an int8 weight and a power of two is rounded once, as in float32."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype).reshape(-1, 1)
    weight, scales = np.array([[1], [-3], [127], [-128]], np.int8), np.array([1, 0.5, 1, 2]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) * weight.T.astype(np.float32) * scales.astype(np.float32)).astype(dtype)
        results = [kernel_of("int8_linear", dtype)(x, weight, scales)]
        results.append(np.concatenate([kernel_of("int8_linear", dtype)(row[None], weight, scales) for row in x[::97]]))
    # With many rows, bfloat16 instructions multiply, which may replace subnormal numbers by 0.
    tiny = np.finfo(np.float32).tiny if dtype != np.float16 and compiled.processor in ("amx", "avx512_bf16") else 0
    exact = np.broadcast_to(~(np.abs(x.astype(np.float32)) < tiny), expected.shape)
    for result, wanted, is_exact in ((results[0], expected, exact), (results[1], expected[::97], np.True_)):
        same = result.astype(np.float32) == wanted.astype(np.float32)
        same |= np.isnan(result.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
        assert (same | ~is_exact).all()

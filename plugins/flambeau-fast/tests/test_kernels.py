"""Comparison of every kernel with the NumPy kernel that it replaces."""

import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import choice, normal
from flambeau_fast import halves as pack_halves
from flambeau_fast.kernels import kernels as compiled
from flambeau_fast.samples import calls

from flambeau.backend import find
from flambeau_backends.numpy.packs import Generator, box_muller
from flambeau_backends.numpy.packs import halves as halves_module
from flambeau_backends.numpy.packs import kernels as numpy_kernels

KERNELS, IN_PLACE = find("numpy").all_kernels, find("numpy").all_inplace_kernels
TOLERANCE = 2e-5  # error relative to the result's largest value; Winograd convolution has the largest errors


def plain(name):
    return numpy_kernels.KERNELS.get(name, lambda *args: reference_dropout(*args))


def reference_dropout(input, keep, generator):
    noise = generator.bernoulli(input.shape, input.dtype, keep) / input.dtype.type(keep)
    return input * noise, noise


def copied(value):
    if isinstance(value, Generator):
        return value.clone()
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def assert_same(ours, theirs):
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_same(*pair)
        return
    if theirs is None:
        assert ours is None
        return
    assert np.shape(ours) == np.shape(theirs) and ours.dtype == theirs.dtype
    scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-6) if theirs.size else 1
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * scale)


def assert_same_result(name, ours, theirs, dim=-1):
    if name == "log_sum_exp":  # the kernel returns two terms, and only their sum is specified
        assert ours.shape == theirs.shape
        ours, theirs = ours.sum(dim), theirs.sum(dim)
    assert_same(ours, theirs)


def sampled(seeds):
    return [
        pytest.param(call, id=f"{seed}-{number}-{call.name}{'_' * call.in_place}")
        for seed in seeds
        for number, call in enumerate(calls(seed))
        if call.name != "adam_step"
    ]


@pytest.mark.parametrize("call", sampled(range(4)))
def test_kernel(call, monkeypatch):
    ours, theirs = (tuple(map(copied, call.args)) for _ in range(2))
    if call.in_place:
        numpy_kernels.INPLACE[call.name](*theirs)
        IN_PLACE[call.name](*ours)
        assert_same(ours, theirs)
        return
    expected = plain(call.name)(*theirs)
    without_fallback(monkeypatch)
    assert_same_result(call.name, KERNELS[call.name](*ours), expected)
    for argument, original in zip(ours, call.args, strict=True):
        if isinstance(argument, np.ndarray):
            np.testing.assert_array_equal(argument, original, "an input was written to")


def without_fallback(monkeypatch):
    """Make this pack's kernels raise an error where they would call NumPy's kernel, because they must support all samples."""
    for name in choice.KERNELS.keys() & numpy_kernels.KERNELS.keys():
        cells = [cell for cell in choice.KERNELS[name].__closure__ or () if cell.cell_contents is numpy_kernels.KERNELS[name]]
        for cell in cells:
            monkeypatch.setattr(cell, "cell_contents", declined(name))


def declined(name):
    def kernel(*args, **options):
        raise AssertionError(f"{name} was declined")

    return kernel


def test_samples_reach_every_kernel():
    names = {(call.name, call.in_place) for call in calls()}
    assert names == {(name, False) for name in choice.KERNELS} | {(name, True) for name in choice.IN_PLACE}


def test_compiled_kernels_check_their_arguments():
    x = np.ones(4, np.float32)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        compiled.add(x, x)
    with pytest.raises(TypeError, match="argument 2 has elements of type 'd'"):
        compiled.add(x, x, np.ones(4))
    with pytest.raises(TypeError, match=r"buffer|bytes-like"):
        compiled.add(x, x, 3)


def test_results_do_not_depend_on_the_number_of_threads():
    before = compiled.thread_count()
    results = []
    try:
        for count in (1, 3):
            compiled.set_thread_count(count)
            taken = [call for call in calls() if not call.in_place and not call.options]
            results.append([KERNELS[call.name](*map(copied, call.args)) for call in taken])
    finally:
        compiled.set_thread_count(before)
    for alone, shared in zip(*results, strict=True):
        for one, other in zip(*(result if isinstance(result, tuple) else (result,) for result in (alone, shared)), strict=True):
            np.testing.assert_array_equal(one, other)


def normal_arrays(*shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, np.float32) for shape in shapes]


def in_doubles(name, args):
    exact = [arg.astype(np.float64) if isinstance(arg, np.ndarray) else arg for arg in args]
    return numpy_kernels.KERNELS[name](*exact).astype(np.float32)


@pytest.mark.parametrize(("stride", "size"), [(1, 5), (2, 9)])
@pytest.mark.parametrize("batch", [16, 100])
def test_convolutions_in_parts(stride, size, batch):
    """Depending on the number of threads, convolutions split the work by chunks of tiles, by channels, or within a chunk."""
    shapes = (batch, 530, size, size), (batch, 140, 5, 5), (batch, 530, 5, 5), (140, 530, 3, 3), (140,)
    x, g, many, weight, bias = normal_arrays(*shapes)
    geometry = (stride, stride), (1, 1), (1, 1), 1
    calls = [
        ("convolution", x, weight, bias, *geometry, None),
        ("convolution_transposed", many, weight.swapaxes(0, 1).copy(), bias, (size, size), *geometry),
        ("convolution_weight", g, x, weight.shape, *geometry, None),
    ]
    before = compiled.thread_count()
    results = []
    try:
        for count in (1, 2, 3, 7):
            compiled.set_thread_count(count)
            results.append([KERNELS[name](*args) for name, *args in calls])
    finally:
        compiled.set_thread_count(before)
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)
    for ours, (name, *args) in zip(results[0], calls, strict=True):
        assert_same(ours, in_doubles(name, args))


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("inputs", "outputs"), [(350, 60), (60, 350), (20, 30)])
def test_planes_that_are_read_in_place(inputs, outputs, padding):
    size = 8 + 2 * padding
    x, g, weight, bias = normal_arrays((5, inputs, 8, 8), (5, outputs, size, size), (outputs, inputs, 1, 1), (outputs,))
    geometry = (1, 1), (padding, padding), (1, 1), 1
    for name, *args in (
        ("convolution", x, weight, bias, *geometry, None),
        ("convolution_transposed", g, weight, None, (8, 8), *geometry),
    ):
        assert_same(KERNELS[name](*args), in_doubles(name, args))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_of_samples(dtype, monkeypatch):
    random, tolerance = np.random.default_rng(0), 3e-7 if dtype == np.float32 else 1e-9
    a, b = (np.exp(random.uniform(-4, 6, (3, 1111))).astype(dtype) for _ in range(2))
    x = np.maximum(random.gamma(a), 1e-30).astype(dtype)
    x[0] = np.exp(random.uniform(-9, 9, 1111))  # improbable samples
    share = np.clip(random.beta(a, b), 1e-30, 1 - 2.0**-20).astype(dtype)
    share[0] = random.random(1111)
    calls = [("standard_gamma_grad", a, x), ("standard_gamma_grad", a.T, x.T), ("standard_gamma_grad", a[:1], x)]
    calls += [("dirichlet_grad", share, a, a + b), ("dirichlet_grad", share[:, :1], a[:, :1], (a + b)[:, :1])]
    wanted = [numpy_kernels.KERNELS[name](*args) for name, *args in calls]
    without_fallback(monkeypatch)
    for (name, *args), expected in zip(calls, wanted, strict=True):
        result = KERNELS[name](*args)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=tolerance)


# --- calls that NumPy's kernels compute ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_derivatives_of_samples_at_the_edges(dtype):
    x, a = np.array([[0, 0.5, 1, np.inf, np.nan]], dtype), np.array([[0], [1], [np.inf], [np.nan], [-1]], dtype)
    for name, *args in (("standard_gamma_grad", a, x), ("dirichlet_grad", x, a, a + dtype(1)), ("standard_gamma_grad", a[:0], x)):
        with np.errstate(all="ignore"):
            assert_same(KERNELS[name](*args), numpy_kernels.KERNELS[name](*args))


ODD = [
    np.zeros((0, 3), np.float32), np.zeros((), np.float32), np.ones((400, 300), np.float64), np.ones((400, 300), np.float16),
    np.arange(120000.0, dtype=np.float32).reshape(400, 300)[:, ::2], np.arange(120000.0, dtype=np.float32).reshape(400, 300).T,
]  # fmt: skip


@pytest.mark.parametrize("x", ODD, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid", "gelu", "exp", "sqrt"])
def test_odd_arrays_of_one(name, x):
    assert_same(np.asarray(KERNELS[name](x)), np.asarray(numpy_kernels.KERNELS[name](x)))


@pytest.mark.parametrize("x", ODD, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("name", ["add", "mul", "sub", "div"])
def test_odd_arrays_of_two(name, x):
    for other in (x, x[:1] if x.ndim else x, np.asarray(2, x.dtype)):
        with np.errstate(all="ignore"):
            assert_same(np.asarray(KERNELS[name](x, other)), np.asarray(numpy_kernels.KERNELS[name](x, other)))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "log_sum_exp"])
def test_softmax_of_other_dimensions_and_types(name, dim):
    for x in (np.ones((90, 100), np.float32), np.ones((90, 100), np.float64), np.ones((3, 2), np.float32)):
        assert_same_result(name, KERNELS[name](x, dim), numpy_kernels.KERNELS[name](x, dim), dim)


def test_errors_are_numpys():
    large = np.ones((300, 300), np.float32)
    with pytest.raises(ValueError, match="broadcast"):
        KERNELS["add"](large, np.ones((300, 299), np.float32))
    with pytest.raises(ValueError, match=r"aligned|mismatch"):
        KERNELS["mm"](large, np.ones((299, 300), np.float32))
    with pytest.raises(IndexError, match="out of bounds"):
        KERNELS["cross_entropy_backward"](np.ones((), np.float32), large, large[:, :2], np.full(300, 300), None, "mean", -100)


@pytest.mark.parametrize("offset", [0, 40, 1000])
def test_losses_of_large_logits_keep_their_digits(offset):
    random = np.random.default_rng(0)
    small = np.round(random.standard_normal((300, 300)) * 256) / 256
    x, target = (small + offset).astype(np.float32), random.integers(0, 300, 300)
    parts = KERNELS["log_sum_exp"](x, 1)
    grads = KERNELS["cross_entropy_backward"](np.ones(300, np.float32), x, parts, target, None, "none", -100)
    losses = KERNELS["cross_entropy"](x, parts, target, None, "none", -100)
    logs = small - np.log(np.exp(small).sum(1, keepdims=True))
    np.testing.assert_allclose(losses, -logs[np.arange(300), target], rtol=2e-6)
    np.testing.assert_allclose(grads, np.exp(logs) - np.eye(300)[target], rtol=2e-5, atol=1e-9)


@pytest.mark.parametrize(("name", "arrays"), [("add", 1), ("lerp", 1), ("addcmul", 2), ("addcdiv", 2)])
def test_in_place_on_what_overlaps(name, arrays):
    ours = np.random.default_rng(0).standard_normal(200000, np.float32)
    theirs = ours.copy()
    scale = [np.asarray(0.3, np.float32)] if name == "lerp" else []
    for kernels, x in ((IN_PLACE, ours), (numpy_kernels.INPLACE, theirs)):
        kernels[name](x[1:], *[x[:-1]] * arrays, *scale)
    assert_same(ours, theirs)


# --- memory and threads ---


def unaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)
    result = memory[1:].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def field_of_records(array):
    records = np.zeros(array.shape, np.dtype([("value", array.dtype), ("byte", np.uint8)]))
    records["value"] = array
    return records["value"]


@pytest.mark.parametrize("layout", [unaligned, field_of_records])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_elements_that_are_not_aligned(dtype, layout):
    x = np.random.default_rng(0).standard_normal((300, 400), np.float32).astype(dtype)
    names = {"relu": (), "exp": (), "add": (x,), "softmax": (-1,)}
    for name, others in names.items():
        kernels = KERNELS if dtype is np.float32 else halves_module.half_kernels(numpy_kernels.KERNELS, {})
        expected, ours = kernels[name](x, *others), kernels[name](layout(x), *others)
        assert ours.dtype == x.dtype
        rounding = 2e-2 if x.itemsize == 2 else 2e-5  # NumPy's kernels round otherwise than the pack's
        np.testing.assert_allclose(ours.astype(float), expected.astype(float), rounding, rounding)
    np.testing.assert_array_equal(halves_module.cast(layout(x), np.dtype(np.float32)), x.astype(np.float32))
    with pytest.raises(BufferError, match="argument 1 is not aligned"):
        compiled.relu(np.empty(x.shape, np.float32), layout(x.astype(np.float32)))


@pytest.mark.parametrize("batch", [1, 2, 30])
def test_a_convolution_of_single_pixels_is_a_linear_layer(batch):
    x, weight, bias = normal_arrays((batch, 70, 1, 1), (90, 70, 1, 1), (90,))
    expected = x[:, :, 0, 0] @ weight[:, :, 0, 0].T + bias
    output = KERNELS["convolution"](x, weight, bias, (1, 1), (0, 0), (1, 1), 1, None)
    assert output.shape == (batch, 90, 1, 1)
    assert_same(output[:, :, 0, 0], expected)


def test_a_transposed_convolution_reads_a_bias_with_gaps():
    x, weight, bias = normal_arrays((3, 7, 6, 5), (7, 16, 4, 3), (32,))
    arguments = (10, 7), (1, 1), (1, 1), (2, 2), 1
    expected = numpy_kernels.KERNELS["convolution_transposed"](x, weight, bias[::2], *arguments)
    assert_same(KERNELS["convolution_transposed"](x, weight, bias[::2], *arguments), expected)


def test_the_number_of_threads_changes_during_calls():
    """Kernels divide their work by the number of threads more than once, and must not notice that another thread changes it."""
    before, stopped = compiled.thread_count(), threading.Event()
    places = np.random.default_rng(0).integers(0, 50, 400)
    rows = np.ones((400, 256), np.float32)
    expected = np.zeros((50, 256), np.float32)
    np.add.at(expected, places, rows)

    def change():
        while not stopped.is_set():
            for count in (1, 7, 2):
                compiled.set_thread_count(count)

    thread = threading.Thread(target=change)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(500):
            out = np.zeros((50, 256), np.float32)
            compiled.sum_rows(out, rows, places)
            np.testing.assert_array_equal(out, expected)
    finally:
        stopped.set()
        thread.join()
        sys.setswitchinterval(interval)
        compiled.set_thread_count(before)


# --- NaN, infinities and denormal numbers ---


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 88.8, -88.8, -104.0], np.float32)


@pytest.mark.parametrize(
    "name", ["exp", "tanh", "sigmoid", "relu", "silu", "gelu", "gelu_tanh", "sqrt", "hardswish", "hardsigmoid"]
)
def test_special_values(name):
    x = np.tile(SPECIAL, 10000)
    with np.errstate(all="ignore"):
        ours, theirs = KERNELS[name](x)[: SPECIAL.size], numpy_kernels.KERNELS[name](x)[: SPECIAL.size]
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-37)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "log_sum_exp"])
def test_special_values_in_rows(name, value):
    for x in (np.ones((90, 100), np.float32), np.full((90, 100), value, np.float32)):
        x[3, 5] = value
        assert_same_result(name, KERNELS[name](x, 1), numpy_kernels.KERNELS[name](x, 1))


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, 0])
@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [(2, 2, 0), (2, 1, 0), (3, 2, 1), (3, 1, 1), (5, 3, 2), (7, 4, 3), (1, 2, 0), (20, 20, 0), (4, 5, 2)],
)
def test_pooling_of_equal_elements(window, stride, padding, value):
    """The gradient is added to the first of equal elements, and to the last NaN."""
    x = np.random.default_rng(0).standard_normal((8, 8, 20, 20), np.float32)
    x[::2, :, ::3, ::5] = value
    x[1::2, :, 3:9, 2:9] = value
    size = ((20 + 2 * padding - window) // stride + 1,) * 2
    geometry = ((window, window), (stride, stride), (padding, padding), (1, 1), size)
    g = np.arange(64 * size[0] * size[1], dtype=np.float32).reshape(8, 8, *size)
    assert_same(KERNELS["max_pool2d"](x, *geometry), numpy_kernels.KERNELS["max_pool2d"](x, *geometry))
    assert_same(KERNELS["max_pool_backward"](g, x, *geometry), numpy_kernels.KERNELS["max_pool_backward"](g, x, *geometry))


def test_numpys_backward_after_the_forward_of_the_pack():
    for call in calls(7):
        if call.name == "lstm_layer" and call.args[-1] is not None:
            workspace, (gates, h, c, weight, reverse) = {}, call.args[:5]
            outputs = KERNELS["lstm_layer"](*call.args[:5], workspace)
            grads = [np.ones_like(outputs[0]), np.ones_like(outputs[1])]
            arguments = (*grads, gates, h, c, weight, *outputs, reverse, workspace)
            assert_same(numpy_kernels.KERNELS["lstm_backward"](*arguments), KERNELS["lstm_backward"](*arguments))


def test_what_a_compiled_kernel_declines_goes_to_numpy():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with pytest.raises(BufferError, match="argument 1 is not contiguous"):
        compiled.softmax(np.empty((4, 3), np.float32), x.T)
    assert_same(KERNELS["softmax"](x.T, 1), numpy_kernels.KERNELS["softmax"](x.T, 1))
    sums = KERNELS["log_sum_exp"](x, 1)
    for target in ([0, 1, 4], [0, -1, 1]):
        with pytest.raises(IndexError):
            KERNELS["cross_entropy"](x, sums, np.array(target), None, "mean", -100)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 5), (2, 3, 17), (3, 1)])
def test_small_rows(shape):
    x = np.random.default_rng(0).standard_normal(shape, np.float32) * np.float32(3)
    for name in ("softmax", "log_softmax"):
        out = numpy_kernels.KERNELS[name](x, -1)
        assert_same(KERNELS[name](x, -1), out)
        assert_same(KERNELS[f"{name}_backward"](x, out, -1), numpy_kernels.KERNELS[f"{name}_backward"](x, out, -1))


# --- topk and gather ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [True, False])
def test_order_of_special_values(largest):
    x = np.array([[0.0, -0.0, np.nan, np.inf, -np.inf, -np.nan, 1e-45, -0.0, 0.0]], np.float32)
    for k in range(1, 10):
        for ours, theirs in zip(KERNELS["topk"](x, k, 1, largest), numpy_kernels.KERNELS["topk"](x, k, 1, largest), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize("index", [[[0, 5]], [[-1, 0]], [[2**40, 0]]])
def test_an_index_out_of_range_goes_to_numpy(index):
    with pytest.raises(RuntimeError, match="is out of bounds for dimension 1 with size 5"):
        KERNELS["gather_along"](np.ones((1, 5), np.float32), np.array(index), 1)


def test_variance_far_from_zero_and_without_degrees_of_freedom():
    x = (1e4 + np.random.default_rng(0).standard_normal((3, 50))).astype(np.float32)
    np.testing.assert_allclose(KERNELS["var"](x, 1, 1, False), np.var(x.astype(float), 1, ddof=1), rtol=1e-7)
    assert np.isnan(KERNELS["var"](x[:, :1], 1, 1, False)).all()


# --- normal values, bitwise ---------------------------------------------------------------------------------------


def assert_same_bits(first, count):
    units = (np.arange(first, first + count) * 2.0**-24).astype(np.float32)
    pairs = [(normal.radii(units.copy()), normal.plain_radii(units.copy()))]
    pairs += zip(normal.directions(units.copy()), normal.plain_directions(units.copy()), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours.view(np.int32), theirs.view(np.int32))


@pytest.mark.parametrize("first", [0, 2**21 - 1000, 2**23 - 1000, 2**24 - 2000])
def test_radii_and_directions(first):
    assert_same_bits(first, 2000)


@pytest.mark.slow
def test_radii_and_directions_of_all_uniform_values():
    for first in range(0, 2**24, 2**20):
        assert_same_bits(first, 2**20)


@pytest.mark.parametrize("count", [1040, 5000, 40003])
def test_blocks_of_normal_values(count, monkeypatch):
    counts = (20, count, 33, count)

    def drawn():
        generator = Generator(3)
        values = [generator.normal((n,), np.dtype(np.float32), 0.3, 1.7).view(np.int32) for n in counts]
        return np.concatenate([*values, generator.get_state()])

    ours = drawn()
    for name, function in (("radii", normal.plain_radii), ("directions", normal.plain_directions), ("draw", None)):
        monkeypatch.setattr(box_muller, name, function)
    np.testing.assert_array_equal(ours, drawn())


# --- half precision, bitwise --------------------------------------------------------------------------------------


BINARY = {"add", "sub", "mul", "div", "relu_backward", "silu_backward", "gelu_backward", "gelu_tanh_backward"}
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("half", HALVES)
def test_conversions_of_half_precision(half):
    bits = np.arange(1 << 16, dtype=np.uint32)
    halves, upper = bits.astype(np.uint16).view(half), (bits << 16)
    singles = np.concatenate([upper + lower for lower in (0, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001)]).view(
        np.float32
    )
    assert halves_module.CONVERSIONS[half, choice.FLOAT][1].__module__ == "flambeau_fast.halves"
    for array, dtype in ((halves, choice.FLOAT), (singles, half), (singles[3:1000], half)):
        with np.errstate(all="ignore"):
            ours, theirs = halves_module.cast(array, dtype), array.astype(dtype)
        unknown = np.isnan(theirs)
        np.testing.assert_array_equal(np.isnan(ours), unknown)
        words = np.uint16 if dtype == half else np.uint32
        np.testing.assert_array_equal(ours.view(words)[~unknown], theirs.view(words)[~unknown])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", pack_halves.LOOPS)
def test_loops_over_halves(name, half):
    """Half precision loops return float32 results rounded to half precision, also where the last block is incomplete."""
    x, y = (array.astype(half) for array in normal_arrays((3, 5, 1021), (3, 5, 1021)))
    arrays = (abs(x),) if name == "sqrt" else (x, y)[: 2 if name in BINARY else 1]
    ours = halves_module.LOOPS[name](*arrays)
    loop = getattr(compiled, name)
    single = np.empty(x.size, np.float32)
    loop(single, *(array.astype(np.float32).reshape(-1) for array in arrays))
    assert ours.dtype == half and ours.shape == x.shape
    np.testing.assert_array_equal(ours.astype(np.float32), single.astype(half).astype(np.float32).reshape(x.shape))


def test_loops_over_halves_refuse_other_arrays_beside_them():
    x = np.ones(400, np.float16)
    assert halves_module.LOOPS["add"](x, x.astype(np.float32)) is None and halves_module.LOOPS["add"](x, x[:3]) is None
    with pytest.raises(TypeError, match="argument 2 has elements of type 'f'"):
        compiled.add(x, x, x.astype(np.float32))
    with pytest.raises(TypeError, match="argument 0 has elements of type 'e'"):
        compiled.leaky_relu(x, x, 0.1)

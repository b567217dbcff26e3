"""Softmax and layer normalization of float16 and bfloat16 are the float32 kernels' results, rounded once."""

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import choice, half_rows, rows  # noqa: F401  # importing a module registers its kernels

import flambeau as torch
from flambeau_backends.numpy.packs import halves

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
SHAPES = [(1, 1), (3, 7), (2, 5, 1000), (64, 33), (1025,)]


def bits(array):
    return array.view(np.uint16)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, half):
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x = (4 * random.standard_normal(shape)).astype(half)
        ours = halves.LOOPS[name](x, -1)
        expected = choice.KERNELS[name](x.astype(np.float32), -1).astype(half)
        assert ours.dtype == half and ours.shape == shape
        np.testing.assert_array_equal(bits(ours), bits(expected))
    assert halves.LOOPS[name](np.ones((3, 4), half), 0) is None and halves.LOOPS[name](np.ones((3, 4), half).T, 1) is None


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_layer_norm(half):
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x, weight, bias = (random.standard_normal(size).astype(half) for size in (shape, shape[-1:], shape[-1:]))
        for parameters in ((weight, bias), (None, None), (weight, None), (None, bias)):
            ours = halves.LOOPS["layer_norm"](x, *parameters, None, None, (-1,), 1e-5)
            singles = [None if parameter is None else parameter.astype(np.float32) for parameter in parameters]
            expected = choice.KERNELS["layer_norm"](x.astype(np.float32), *singles, None, None, (-1,), 1e-5)
            np.testing.assert_array_equal(bits(ours), bits(expected.astype(half)))
    assert halves.LOOPS["layer_norm"](x, weight, bias, None, None, (-1,), 1e-5, {}) is None


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_rms_norm(half):
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x, weight = (random.standard_normal(size).astype(half) for size in (shape, shape[-1:]))
        for parameter in (weight, None):
            ours = halves.LOOPS["rms_norm_rows"](x, parameter, 1, 1e-5)
            single = None if parameter is None else parameter.astype(np.float32)
            expected = choice.KERNELS["rms_norm_rows"](x.astype(np.float32), single, 1, 1e-5)
            np.testing.assert_array_equal(bits(ours), bits(expected.astype(half)))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_rms_norm_of_all_numbers(half):
    """A row of one number is its sign, or its weight: one rounding."""
    x = np.arange(1 << 16, dtype=np.uint16).view(half).reshape(-1, 1)
    with np.errstate(all="ignore"):
        single = x.astype(np.float32)
        expected = (single * (np.float32(1) / np.sqrt(single * single + np.float32(1)))).astype(half)
        ours = halves.LOOPS["rms_norm_rows"](x, None, 1, 1.0)
    special = ~np.isfinite(single)
    np.testing.assert_array_equal(bits(ours)[~special], bits(expected)[~special])
    assert np.isnan(ours.astype(np.float32)[special]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("half", HALVES, ids=str)
def test_special_values_stay_in_their_rows(half, value):
    x = np.ones((5, 40), half)
    x[2, 3] = value
    for name in ("softmax", "log_softmax"):
        ours = halves.LOOPS[name](x, 1).astype(np.float32)
        np.testing.assert_array_equal(ours, choice.KERNELS[name](x.astype(np.float32), 1).astype(half).astype(np.float32))
        assert np.isfinite(np.delete(ours, 2, 0)).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients(dtype):
    torch.manual_seed(0)
    x, weight = torch.randn(6, 50).to(dtype).requires_grad_(), torch.randn(50).to(dtype).requires_grad_()
    (torch.nn.functional.layer_norm(x, (50,), weight).softmax(-1) * torch.arange(50)).sum().backward()
    single, single_weight = (tensor.detach().float().requires_grad_() for tensor in (x, weight))
    (torch.nn.functional.layer_norm(single, (50,), single_weight).softmax(-1) * torch.arange(50)).sum().backward()
    torch.testing.assert_close(x.grad.float(), single.grad, rtol=0.05, atol=0.05)
    torch.testing.assert_close(weight.grad.float(), single_weight.grad, rtol=0.05, atol=0.1)

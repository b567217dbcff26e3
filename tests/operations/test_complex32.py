"""complex32 on the CPU through `ml_dtypes`: storage, copies and multiplication match PyTorch."""

from __future__ import annotations

import copy
import io

import ml_dtypes
import numpy as np
import pytest

import flambeau as torch

pytestmark = pytest.mark.skipif(not hasattr(ml_dtypes, "complex32"), reason="ml_dtypes has complex32 from its version 0.6 on")
c = torch.complex32
NUMBERS = [1 + 2j, 3 - 4j]


def z():
    return torch.tensor(NUMBERS, dtype=c)


def test_creation_and_conversion():
    assert z().tolist() == NUMBERS and z()[0].item() == 1 + 2j and z().element_size() == 4
    assert torch.full((2,), 1j, dtype=c).tolist() == [1j, 1j]
    assert torch.zeros_like(z()).tolist() == [0, 0] and torch.randn(3, dtype=c).dtype is c
    assert z().cfloat().tolist() == NUMBERS and z().cfloat().to(c).tolist() == NUMBERS
    for real in (torch.ones(2), torch.ones(2).half(), torch.ones(2).bfloat16(), torch.ones(2, dtype=torch.int64)):
        assert real.chalf().dtype is c and real.to(c).tolist() == [1, 1]
    assert z().to(torch.float16).tolist() == [1.0, 3.0] and z().to(torch.int64).tolist() == [1, 3]
    with pytest.raises(TypeError, match="unsupported ScalarType ComplexHalf"):
        z().numpy()


def test_views_share_memory():
    x = z()
    pairs = torch.view_as_real(x)
    assert pairs.dtype is torch.float16 and pairs.tolist() == [[1, 2], [3, -4]]
    assert (x.real.tolist(), x.imag.tolist()) == ([1, 3], [2, -4])
    x.imag.mul_(2)
    x.real[0] = 7
    pairs[1, 0] = 5
    assert x.tolist() == [7 + 4j, 5 - 8j]
    halves = torch.ones(2, 2).half()
    whole = torch.view_as_complex(halves)
    whole[0] = 3j
    assert whole.dtype is c and halves.tolist() == [[0, 3], [1, 1]] and halves.view(c).tolist() == [[3j], [1 + 1j]]


def test_copies_printing_and_saving():
    x = z()
    assert repr(x) == "tensor([1.+2.j, 3.-4.j], dtype=torch.complex32)"
    file = io.BytesIO()
    torch.save({"x": x, "turned": x.reshape(1, 2).t()}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].dtype is c and loaded["x"].tolist() == NUMBERS and loaded["turned"].shape == (2, 1)
    for same in (
        x.clone(),
        copy.deepcopy(x),
        torch.empty_like(x).copy_(x),
        x.conj().conj(),
        x.reshape(1, 2).t().contiguous()[:, 0],
    ):
        assert same.dtype is c and same.tolist() == NUMBERS
    assert x.conj().resolve_conj().tolist() == [1 - 2j, 3 + 4j]
    assert x.untyped_storage().nbytes() == 8


def test_arithmetic():
    x, wide = z(), np.array(NUMBERS)
    for result, expected in (
        (x + x, wide + wide), (x * x, wide * wide), (x * 2, wide * 2), (x + 1, wide + 1), (-x, -wide), (x - x, wide - wide),
        (x + torch.ones(2).half(), wide + 1), (torch.cat([x, x]), np.tile(wide, 2)), (x[torch.tensor([1, 0])], wide[::-1]),
        (torch.where(torch.tensor([True, False]), x, 0 * x), wide * [1, 0]), (torch.outer(x, x), np.outer(wide, wide)),
    ):  # fmt: skip
        assert result.dtype is c and np.array_equal(result.tolist(), expected)
    assert x.abs().dtype is torch.float16 and x.abs().tolist() == [float(np.float16(np.sqrt(5))), 5.0]
    assert (x == x).all() and (x + torch.ones(2, dtype=torch.complex64)).dtype is torch.complex64
    for name in ("exp", "sum", "angle", "sqrt"):
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexHalf'"):
            getattr(x, name)()


def test_gradients():
    half = torch.ones(2).half().requires_grad_()
    torch.view_as_real(half.to(c)).sum().backward()
    assert half.grad.dtype is torch.float16 and half.grad.tolist() == [1.0, 1.0]
    x = z().requires_grad_()
    (x * x).to(torch.complex64).abs().sum().backward()
    assert x.grad.dtype is c
    np.testing.assert_allclose(x.grad.tolist(), 2 * np.array(NUMBERS), rtol=1e-3)


def test_random_numbers_have_imaginary_parts():
    for draw in (torch.randn, torch.rand):
        for size in (4, 40):
            torch.manual_seed(0)
            numbers = draw(size, dtype=c)
            torch.manual_seed(0)
            parts = draw(size, 2, dtype=torch.float16)
            scale = 2**-0.5 if draw is torch.randn else 1
            torch.testing.assert_close(torch.view_as_real(numbers), (parts.float() * scale).half(), rtol=2e-3, atol=2e-3)

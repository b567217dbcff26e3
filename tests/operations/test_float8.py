"""The float8 dtypes: storage, comparison and scaled matrix products."""

from __future__ import annotations

import copy
import io
import math
import pickle

import ml_dtypes
import numpy as np
import pytest

import flambeau as torch

SIGNED = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
DTYPES = (*SIGNED, torch.float8_e8m0fnu)
each = pytest.mark.parametrize("dtype", DTYPES, ids=str)
each_signed = pytest.mark.parametrize("dtype", SIGNED, ids=str)


def values_of(dtype):
    """Return the value of all 256 codes of a float8 dtype, computed from its definition."""
    name = str(dtype).removeprefix("torch.float8_")
    if name == "e8m0fnu":
        return np.array([2.0 ** (code - 127) if code < 255 else math.nan for code in range(256)])
    exponent_bits, mantissa_bits = int(name[1]), int(name[3])
    finite_only, bias = "fn" in name, 2 ** (exponent_bits - 1) - ("uz" not in name)
    numbers = []
    for code in range(256):
        sign, exponent, mantissa = code >> 7, (code >> mantissa_bits) & (2**exponent_bits - 1), code & (2**mantissa_bits - 1)
        number = (mantissa / 2**mantissa_bits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
        if "uz" in name:
            number = math.nan if code == 128 else number
        elif finite_only:
            number = math.nan if code & 127 == 127 else number
        elif exponent == 2**exponent_bits - 1:
            number = math.nan if mantissa else math.inf
        numbers.append(-number if sign else number)
    return np.array(numbers)


@each
def test_every_number(dtype):
    codes = torch.arange(256, dtype=torch.uint8)
    np.testing.assert_array_equal(codes.view(dtype).double().numpy(), values_of(dtype))
    assert dtype.itemsize == 1 and dtype.is_floating_point and dtype.is_signed == (dtype in SIGNED)


@each
@pytest.mark.parametrize("source", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_conversion_is_to_the_nearest_number(dtype, source):
    known = np.sort(values_of(dtype)[np.isfinite(values_of(dtype))])
    low = max(known[0], 2.0**-14) if dtype is torch.float8_e8m0fnu else known[0]
    high = min(known[-1], 60000.0)
    given = torch.tensor(np.random.default_rng(0).uniform(max(low, -high), high, 500)).to(source)
    rounded = given.to(dtype).double().numpy()
    exact = given.double().numpy()
    nearest = np.abs(exact[:, None] - known).min(1)
    np.testing.assert_allclose(np.abs(rounded - exact), nearest, rtol=1e-12)


def test_what_is_too_large():
    given = torch.tensor([1e6, -1e6, math.inf, math.nan])
    assert given.to(torch.float8_e4m3fn).tolist()[:3] == [448.0, -448.0, 448.0]
    assert given.to(torch.float8_e5m2).tolist()[:3] == [math.inf, -math.inf, math.inf]
    for dtype in (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        assert given.to(dtype).isnan().all()
    assert all(given.to(dtype)[3].isnan() for dtype in DTYPES)


def test_powers_of_two_round_half_up_and_have_no_sign():
    given = torch.tensor([1.0, 1.49, 1.5, 3.0, -2.0, 0.0])
    assert given.to(torch.float8_e8m0fnu).tolist() == [1.0, 1.0, 2.0, 4.0, 2.0, 2.0**-127]


@each
def test_limits(dtype):
    finite = values_of(dtype)[np.isfinite(values_of(dtype))]
    info = torch.finfo(dtype)
    assert (info.bits, info.max, info.min, info.resolution) == (8, finite.max(), finite.min(), 1.0)
    assert info.dtype == str(dtype).removeprefix("torch.")


@each
def test_making_and_moving(dtype):
    x = torch.tensor([[1.0, 2.0], [4.0, 0.5]], dtype=dtype)
    assert torch.ones(2, dtype=dtype).tolist() == [1.0, 1.0] and torch.full((2,), 4.0, dtype=dtype).tolist() == [4.0, 4.0]
    assert x.t().contiguous().tolist() == [[1.0, 4.0], [2.0, 0.5]] and x[1].tolist() == [4.0, 0.5]
    assert torch.cat([x, x]).shape == (4, 2) and torch.stack([x, x]).shape == (2, 2, 2) and x.roll(1, 0)[0].tolist() == [4.0, 0.5]
    assert x[torch.tensor([1])].tolist() == [[4.0, 0.5]] and x[x.float() > 1].tolist() == [2.0, 4.0]
    assert torch.where(x.float() > 1, x, torch.ones_like(x)).tolist() == [[1.0, 2.0], [4.0, 1.0]]
    assert x.as_strided((2,), (3,)).tolist() == [1.0, 0.5] and x.expand(2, 2, 2).clone().stride() == (4, 2, 1)
    y = x.clone()
    y[0] = 2.0
    y[1, 1].copy_(torch.tensor(8.0))
    assert y.tolist() == [[2.0, 2.0], [4.0, 8.0]] and x.zero_().view(torch.uint8).sum() == 0
    assert x.to("meta").dtype is dtype and x.untyped_storage().nbytes() == 4


@each
def test_printing_and_looking(dtype):
    x = torch.tensor([1.0, 0.5]).to(dtype)
    assert repr(x) == f"tensor([1.0000, 0.5000], dtype={dtype})"
    assert x[0].item() == 1.0 and bool(x[0]) and x.type() == f"torch.Float{str(dtype)[11:]}Tensor"
    with pytest.raises(TypeError, match="Got unsupported ScalarType Float8"):
        x.numpy()
    torch.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError):
        torch.testing.assert_close(x, torch.tensor([1.0, 2.0]).to(dtype))


@each
def test_comparisons(dtype):
    x = torch.tensor([1.0, 2.0]).to(dtype)
    assert (x == x).tolist() == [True, True] and (x != 1.0).tolist() == [False, True] and x.any() and not x.isnan().any()


@each
@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x + x, lambda x: x + 1, lambda x: 1 - x, lambda x: x * 2.0, lambda x: x / x, lambda x: -x, lambda x: x < x,
        torch.exp, torch.sum, torch.mean, torch.argmax, torch.sort, torch.relu, lambda x: x.clamp(0, 1), lambda x: x.flip(0),
        lambda x: x.add_(1), lambda x: x.mul_(2), lambda x: x.cumsum(0), lambda x: x.normal_(), lambda x: x.masked_fill(x == x, 0.0),
        lambda x: torch.arange(3, dtype=x.dtype), lambda x: torch.linspace(0, 1, 3, dtype=x.dtype),
        lambda x: torch.rand(3, dtype=x.dtype), lambda x: x.gather(0, torch.tensor([0])),
    ],
)  # fmt: skip
def test_there_is_no_arithmetic(dtype, compute):
    with pytest.raises(NotImplementedError, match=f"not implemented for '{str(dtype)[6:].capitalize()}'"):
        compute(torch.tensor([1.0, 2.0]).to(dtype))


@each
def test_and_no_promotion(dtype):
    x = torch.tensor([1.0, 2.0]).to(dtype)
    assert torch.promote_types(dtype, dtype) is dtype and torch.result_type(x, 1.0) is dtype
    for other in (torch.float32, torch.int64, torch.bfloat16):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            torch.promote_types(dtype, other)
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            x * torch.ones(2, dtype=other)
    with pytest.raises(TypeError, match="couldn't find storage object"):
        torch.set_default_dtype(dtype)


@each_signed
def test_products_of_matrices_are_rounded_once(dtype):
    rng = np.random.default_rng(0)
    a, b = (torch.tensor(rng.uniform(-1, 1, (5, 5))).to(dtype) for _ in range(2))
    exact = a.double().numpy() @ b.double().numpy()
    expected = torch.tensor(exact).to(dtype).double()
    assert torch.equal((a @ b).double(), expected)
    assert torch.equal(torch.nn.functional.linear(a, b.t().contiguous()).double(), expected)


@each_signed
def test_scaled_products(dtype):
    rng = np.random.default_rng(0)
    a, b, bias = (torch.tensor(rng.uniform(-1, 1, size), dtype=torch.float32) for size in ((4, 6), (6, 3), (3,)))
    a, b = a.to(dtype), b.to(dtype)
    rows, columns = torch.tensor(rng.uniform(1, 2, (4, 1))).float(), torch.tensor(rng.uniform(1, 2, (1, 3))).float()
    plain = a.double().numpy() @ b.double().numpy()
    scaled = torch._scaled_mm(a, b, torch.tensor(2.0), torch.tensor(3.0), bias, out_dtype=torch.float32)
    np.testing.assert_allclose(scaled.numpy(), 6 * plain + bias.numpy(), rtol=1e-5, atol=1e-6)
    by_rows = torch._scaled_mm(a, b, rows, columns, out_dtype=torch.float32)
    np.testing.assert_allclose(by_rows.numpy(), rows.numpy() * plain * columns.numpy(), rtol=1e-5, atol=1e-6)
    assert torch._scaled_mm(a, b, torch.tensor(1.0), torch.tensor(1.0)).dtype is dtype
    with pytest.raises(RuntimeError, match="mat_a and mat_b shapes cannot be multiplied"):
        torch._scaled_mm(a, a, torch.tensor(1.0), torch.tensor(1.0))
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        torch._scaled_mm(a.float(), b, torch.tensor(1.0), torch.tensor(1.0))


@each_signed
def test_gradients_pass_through_a_conversion(dtype):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(dtype).float() * torch.tensor([3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]


@each
def test_files_and_copies(dtype):
    x = torch.tensor([1.0, 2.0, 0.5]).to(dtype)
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    for other in (torch.load(file)["x"], copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.dtype is dtype and other.tolist() == [1.0, 2.0, 0.5]


@each
def test_safetensors_has_three_of_them(dtype, tmp_path):
    from flambeau.serialization.safetensors import load_safetensors, save_safetensors

    x = torch.tensor([1.0, 2.0, 0.5]).to(dtype)
    if str(dtype).endswith("uz"):
        with pytest.raises(TypeError):
            save_safetensors({"x": x}, tmp_path / "x.safetensors")
        return
    save_safetensors({"x": x}, tmp_path / "x.safetensors")
    assert torch.equal(load_safetensors(tmp_path / "x.safetensors")["x"], x)


@each
def test_arrays_of_ml_dtypes_are_taken(dtype):
    array = np.array([1.0, 2.0], dtype=getattr(ml_dtypes, str(dtype).removeprefix("torch.")))
    assert torch.from_numpy(array.view(np.uint8)).view(dtype).tolist() == [1.0, 2.0]


def test_complex32_is_a_dtype():
    assert torch.complex32 is torch.chalf and torch.complex32.is_complex and torch.complex32.itemsize == 4
    assert torch.complex32.to_real() is torch.float16 and torch.finfo(torch.complex32).max == 65504.0
    promoted = {torch.float16: torch.complex32, torch.int8: torch.complex32, torch.float32: torch.complex64}
    promoted |= {torch.bfloat16: torch.complex64, torch.float64: torch.complex128, torch.complex64: torch.complex64}
    assert {dtype: torch.promote_types(torch.complex32, dtype) for dtype in promoted} == promoted

"""Python numbers outside the range of a tensor's dtype: some calls raise an error, others round to infinity."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F

LARGEST = {torch.float16: 65504.0, torch.bfloat16: 2.0**128 - 2.0**120, torch.float32: 2.0**128 - 2.0**104}

WRITES: dict[str, Callable[..., object]] = {
    "fill_": lambda x, value: x.fill_(value),
    "fill": lambda x, value: torch.fill(x, value),
    "full": lambda x, value: torch.full((2, 3), value, dtype=x.dtype),
    "full_like": lambda x, value: torch.full_like(x, value),
    "new_full": lambda x, value: x.new_full((2, 3), value),
    "masked_fill": lambda x, value: x.masked_fill(x == 0, value),
    "masked_fill_": lambda x, value: x.masked_fill_(x == 0, value),
    "index_fill": lambda x, value: x.index_fill(0, torch.tensor([0, 1]), value),
    "scatter": lambda x, value: x.scatter(1, torch.arange(3).expand(2, 3), value),
    "pad": lambda x, value: F.pad(x[:0], (0, 0, 1, 1), value=value),
    "constant_": lambda x, value: torch.nn.init.constant_(x, value),
}
LIMITS: dict[str, Callable[..., object]] = {
    "clamp": lambda x, value: x.clamp(min=value),
    "clamp_": lambda x, value: x.clamp_(min=value),
    "clamp_min": lambda x, value: x.clamp_min(value),
}
SINGLE: dict[str, Callable[..., object]] = {
    "assignment": lambda x, value: x.__setitem__(..., value) or x,
    "assignment to a row": lambda x, value: x[:1].__setitem__(0, value) or x[:1],
    "assignment by a mask": lambda x, value: x.__setitem__(x == 0, value) or x,
    "where": lambda x, value: torch.where(x == 0, value, x),
    "where, the other": lambda x, value: torch.where(x != 0, x, value),
    "fill_ of one element": lambda x, value: x[:1, :1].fill_(value),
    "scalar_tensor": lambda x, value: torch.scalar_tensor(value, dtype=x.dtype),
}


def zeros(dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(2, 3, dtype=dtype)


@pytest.mark.parametrize("name", [*WRITES, *LIMITS])
@pytest.mark.parametrize("dtype", list(LARGEST), ids=str)
def test_finite_numbers_beyond_the_largest_are_refused(name: str, dtype: torch.dtype) -> None:
    write = {**WRITES, **LIMITS}[name]
    beyond = LARGEST[dtype] * (1 + 2**-40)  # rejected, although it would round to the largest finite value
    signs = (1,) if name in LIMITS else (1, -1)
    for value in (beyond, -beyond, 1e200):
        with pytest.raises(RuntimeError, match=r"value cannot be converted to type .* without overflow"):
            write(zeros(dtype), value)
    for sign in signs:
        for value in (LARGEST[dtype], math.inf):
            assert write(zeros(dtype), sign * value).double().eq(sign * value).all()
    assert write(zeros(dtype), math.nan).isnan().all()
    assert write(zeros(torch.float64), 1e200).eq(1e200).all()


@pytest.mark.parametrize("name", list(SINGLE))
def test_a_single_element_may_become_infinite_in_half_precision_alone(name: str) -> None:
    write = SINGLE[name]
    for value in (1e200, -1e200, 3.5e38):
        with pytest.raises(RuntimeError, match="to type float without overflow"):
            write(zeros(torch.float32), value)
        for dtype in (torch.float16, torch.bfloat16):
            assert write(zeros(dtype), value).eq(math.copysign(math.inf, value)).all()
    for value in (math.inf, -math.inf, LARGEST[torch.float32], 0.5):
        assert write(zeros(torch.float32), value).eq(value).all()


@pytest.mark.parametrize("name", [*WRITES, *SINGLE])
def test_parts_of_complex_numbers(name: str) -> None:
    if name == "pad":
        pytest.skip("it takes real numbers alone")
    write = {**WRITES, **SINGLE}[name]
    for value in (1e200, 1e200j, 1 - 1e39j):
        with pytest.raises(RuntimeError, match=r"to type c10::complex<float> without overflow"):
            write(zeros(torch.complex64), value)
        assert write(zeros(torch.complex128), value).eq(value).all()
    assert write(zeros(torch.complex64), complex(math.inf, 1)).eq(complex(math.inf, 1)).all()


def test_refused_writes_change_nothing() -> None:
    x = torch.zeros(3)
    for write in (lambda: x.fill_(1e39), lambda: x.__setitem__(1, 1e39), lambda: x.masked_fill_(x == 0, 1e39)):
        with pytest.raises(RuntimeError, match="without overflow"):
            write()
    assert x.tolist() == [0, 0, 0]


def test_arithmetic_and_data_round_to_infinity() -> None:
    x = torch.ones(3)
    for value in (x * 1e200, x + 1e200, 1e200 - x, x.clone().mul_(1e200), torch.tensor([1e200] * 3), x.new_tensor([1e200] * 3)):
        assert value.dtype is torch.float32 and value.eq(math.inf).all()
    assert (x < 1e200).all() and (x > -1e200).all() and not (x == 1e200).any()
    with pytest.raises(RuntimeError, match="without overflow"):  # an error, although the operations above have cached this scalar
        x.fill_(1e200)
    assert torch.tensor([math.nan, math.inf, -math.inf]).nan_to_num(1e200, 1e200, -1e200).tolist() == [
        math.inf,
        math.inf,
        -math.inf,
    ]


def test_no_elements_and_no_dimensions() -> None:
    for x in (torch.zeros(0), torch.zeros(()), torch.zeros(3, 0), torch.zeros(4, 6)[::2, ::3]):
        for write in (lambda x: x.fill_(1e39), lambda x: x.__setitem__(..., 1e39), lambda x: x.clamp(max=1e39)):
            with pytest.raises(RuntimeError, match="to type float without overflow"):
                write(x)


def test_integers_that_do_not_fit() -> None:
    x = torch.zeros(2, 3, dtype=torch.int8)
    for write in (*WRITES.values(), SINGLE["where"], SINGLE["assignment"]):
        for value in (128, -129, 2**40):
            with pytest.raises(RuntimeError, match="to type int8_t without overflow"):
                write(x.clone(), value)
        assert write(x.clone(), -128).eq(-128).all()
    for value in (2**64, -(2**63) - 1, 10**40):
        with pytest.raises(OverflowError):
            torch.zeros(2).fill_(value)
        with pytest.raises(OverflowError):
            torch.full((2,), value)
    for dtype in (torch.float32, torch.bfloat16):
        assert torch.zeros(2, dtype=dtype).fill_(2**63).eq(2.0**63).all()
    for value in (2**63, -(2**63) - 1, 10**400):
        for data in (value, [1, value]):
            with pytest.raises(ValueError, match="Overflow when unpacking long long"):
                torch.tensor(data)
    assert torch.tensor(2**63, dtype=torch.uint64).item() == 2**63


def test_values_that_are_tensors_are_numbers_for_masked_fill() -> None:
    rng = np.random.default_rng(0)
    array, mask = rng.integers(0, 9, (3, 4)), rng.random((3, 4)) < 0.5
    result = torch.tensor(array).masked_fill(torch.tensor(mask), torch.tensor(3.7))
    np.testing.assert_array_equal(result.numpy(), np.where(mask, 3, array))
    for value, dtype in ((1e20, torch.int64), (1 + 1j, torch.float32)):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.zeros(2, dtype=dtype).masked_fill(torch.ones(2).bool(), torch.tensor(value))

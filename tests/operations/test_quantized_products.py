"""PyTorch's private products with int8 and 4-bit weights, compared with formulas in float64."""

import numpy as np
import pytest

import flambeau as torch

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def as_double(tensor):
    return tensor.double().numpy()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", [1, 7, 40])
def test_weight_int8pack_mm(rows, dtype):
    torch.manual_seed(rows)
    x, scales = torch.randn(rows, 48).to(dtype), torch.rand(70).to(dtype)
    weight = torch.randint(-128, 128, (70, 48), dtype=torch.int8)
    result = torch._weight_int8pack_mm(x, weight, scales)
    assert result.dtype is dtype
    expected = as_double(x) @ as_double(weight).T * as_double(scales)
    np.testing.assert_allclose(as_double(result), expected, rtol=TOLERANCES[dtype], atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("outputs", [48, 64, 144])
def test_weight_int4pack_mm(outputs, dtype):
    torch.manual_seed(outputs)
    x, numbers = torch.randn(5, 128).to(dtype), torch.randint(0, 16, (outputs, 128), dtype=torch.int32)
    packed = torch._convert_weight_to_int4pack_for_cpu(numbers, 2)
    assert packed.dtype is torch.uint8 and packed.shape == (outputs, 64)
    parameters = torch.randn(4, outputs, 2).to(dtype)
    result = torch._weight_int4pack_mm_for_cpu(x, packed, 32, parameters)
    scales, zeros = (as_double(parameters)[..., i].repeat(32, 0) for i in (0, 1))
    expected = as_double(x) @ ((as_double(numbers).T - 8) * scales + zeros)
    assert result.dtype is dtype
    np.testing.assert_allclose(as_double(result), expected, rtol=TOLERANCES[dtype], atol=20 * TOLERANCES[dtype])


def test_the_packed_layout_is_that_of_processors_with_avx512():
    numbers = torch.zeros(80, 4, dtype=torch.int32)
    numbers[3, 1], numbers[35, 1], numbers[66, 2], numbers[67, 2] = 5, 9, 6, 7
    packed = torch._convert_weight_to_int4pack_for_cpu(numbers, 2).flatten()
    assert packed[32 + 3] == 5 + 16 * 9  # row 3 in the low bits, row 35 in the high bits
    assert packed[64 * 2 + 2 * 8 + 1] == 6 + 16 * 7  # the rest: neighbouring rows
    assert packed.count_nonzero() == 2


def test_wrong_arguments():
    x, weight = torch.ones(2, 32), torch.ones(16, 32, dtype=torch.int8)
    for arguments in (
        (x.long(), weight, torch.ones(16)),
        (x, weight.float(), torch.ones(16)),
        (x, weight[:, :30], torch.ones(16)),
        (x, weight, torch.ones(15)),
        (x, weight, torch.ones(16, dtype=torch.float16)),
    ):
        with pytest.raises(RuntimeError, match="_weight_int8pack_mm"):
            torch._weight_int8pack_mm(*arguments)
    packed = torch._convert_weight_to_int4pack_for_cpu(weight.int(), 2)
    parameters = torch.ones(1, 16, 2)
    for arguments in ((x, packed.char(), 32, parameters), (x, packed, 33, parameters), (x, packed, 32, parameters[:, :8])):
        with pytest.raises(RuntimeError, match="_weight_int4pack_mm_for_cpu"):
            torch._weight_int4pack_mm_for_cpu(*arguments)
    for depth in (48, 33):  # a group is incomplete
        with pytest.raises(RuntimeError, match=f"K:{depth}, qGroupSize:32"):
            torch._weight_int4pack_mm_for_cpu(torch.ones(2, depth), packed, 32, parameters)
    with pytest.raises(RuntimeError, match="divisible by 16"):
        torch._weight_int4pack_mm_for_cpu(x, torch.zeros(17, 16, dtype=torch.uint8), 32, torch.ones(1, 17, 2))
    integers = torch.ones(2, 2, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="kInt but got float"):
        torch._int_mm(integers, integers, out=torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="int32 matrix"):
        torch._convert_weight_to_int4pack_for_cpu(weight, 2)
    for call in (
        lambda: torch._convert_weight_to_int4pack(packed, 2),
        lambda: torch._weight_int4pack_mm(x, packed, 32, parameters),
    ):
        with pytest.raises(NotImplementedError, match="_for_cpu"):
            call()

"""Tensor, Storage, dtype and device: basics and interoperability with NumPy and other libraries."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import weakref
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.operations import METHODS_AS_FUNCTIONS

FLOATS = [torch.float16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
LEGACY = {
    "FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16, "ByteTensor": torch.uint8,
    "CharTensor": torch.int8, "ShortTensor": torch.int16, "IntTensor": torch.int32, "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}  # fmt: skip


# --- construction -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [(1, torch.int64, ()), (1.5, torch.float32, ()), (True, torch.bool, ()), (2j, torch.complex64, ()),
     ([1, 2], torch.int64, (2,)), ([[1, 2.5]], torch.float32, (1, 2)), ([], torch.float32, (0,)),
     ([[], []], torch.float32, (2, 0)),
     ([True, 2], torch.int64, (2,)), (np.ones(3, np.int16), torch.int16, (3,)), ((1, (2,))[1], torch.int64, (1,))],
)  # fmt: skip
def test_tensor_infers(data: object, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    result = torch.tensor(data)
    assert result.dtype is dtype and result.shape == shape
    assert np.array_equal(result.numpy(), np.array(data, result.numpy().dtype))


def test_ragged_data_is_refused() -> None:
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([[1, 2], [3]])
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        torch.tensor("one")


def test_tensor_copies_and_as_tensor_shares() -> None:
    array = np.zeros(3)
    copied, shared = torch.tensor(array), torch.as_tensor(array)
    array[0] = 7
    assert copied[0].item() == 0 and shared.tolist() == [7, 0, 0]
    assert torch.as_tensor(shared) is shared


@pytest.mark.parametrize(("name", "dtype"), LEGACY.items())
def test_types_of_old(name: str, dtype: torch.dtype) -> None:
    cls = getattr(torch, name)
    assert cls(2, 3).shape == (2, 3) and cls(2, 3).dtype is dtype
    assert cls([1, 0]).tolist() == torch.tensor([1, 0]).to(dtype).tolist()
    assert isinstance(torch.zeros(1, dtype=dtype), cls)
    assert not isinstance(torch.zeros(1, dtype=torch.complex64), cls)
    assert torch.ones(2).type(cls).dtype is dtype
    assert torch.ones(2).type(f"torch.{name}").type() == f"torch.{name}"
    assert cls().shape == (0,)


def test_default_dtype() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor(1.0).dtype is torch.float64 and torch.Tensor(1).dtype is torch.float64
        assert (torch.ones(1, dtype=torch.int64) / 2).dtype is torch.float64
        assert torch.tensor(1j).dtype is torch.complex128
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.tensor(1.0).dtype is torch.float32 and torch.Storage is torch.FloatStorage
    with pytest.raises(TypeError, match="only floating-point types"):
        torch.set_default_dtype(torch.int64)
    for wrong in (torch.float32, 3, None):
        with pytest.raises(TypeError, match="invalid type object"):
            torch.set_default_tensor_type(wrong)
    for unknown in ("float", "torch.float", int):
        with pytest.raises(ValueError, match="invalid type: '"):
            torch.ones(1).type(unknown)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_factories(name: str) -> None:
    factory = getattr(torch, name)
    for result in (factory(2, 3), factory((2, 3)), factory([2, 3]), factory(torch.Size([2, 3])), factory(size=(2, 3))):
        assert result.shape == (2, 3) and result.dtype is torch.float32
    assert factory(0).shape == (0,) and factory(()).shape == ()
    assert factory(2, dtype=torch.int8, requires_grad=False).dtype is torch.int8
    out = torch.empty(0)
    assert factory(2, out=out) is out and not out.requires_grad
    assert factory(2, out=out, requires_grad=True) is out and out.requires_grad
    assert getattr(torch.ones(2, 2, dtype=torch.float64), f"new_{name}")(3).dtype is torch.float64
    assert getattr(torch, f"{name}_like")(torch.ones(2, dtype=torch.int16)).dtype is torch.int16
    with pytest.raises(RuntimeError, match="negative dimension"):
        factory(-1)
    with pytest.raises(TypeError):
        factory("2")


def test_ranges() -> None:
    assert torch.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert np.allclose(torch.logspace(0, 2, 3), [1, 10, 100])
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert torch.full((2,), 3).dtype is torch.int64
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        torch.arange(0, 5, -1)


# --- promotion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [(torch.uint8, torch.int8, torch.int16), (torch.int64, torch.float16, torch.float16),
     (torch.float16, torch.float32, torch.float32), (torch.bool, torch.uint8, torch.uint8),
     (torch.float64, torch.complex64, torch.complex128), (torch.int32, torch.bool, torch.int32)],
)  # fmt: skip
def test_promote_types(left: torch.dtype, right: torch.dtype, result: torch.dtype) -> None:
    assert torch.promote_types(left, right) is result is torch.promote_types(right, left)
    assert (torch.ones(2, dtype=left) + torch.ones(2, dtype=right)).dtype is result


def test_promotion_by_category() -> None:
    f, i, b = torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.int8), torch.tensor([True])
    assert (f * 2.0).dtype is torch.float16  # a number of the same category does not change the dtype
    assert (i + 1).dtype is torch.int8 and (i + 1.0).dtype is torch.float32 and (b + 1).dtype is torch.int64
    # a 0-d tensor of the same category does not change the dtype
    assert (f + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float16
    # a 0-d tensor of a higher category changes the dtype
    assert (i + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float64
    assert (i / i).dtype is torch.float32 and (i // 2).dtype is torch.int8
    assert (i == 1).dtype is torch.bool and (f > 0).dtype is torch.bool
    assert torch.tensor([1, 2]).sum().dtype is torch.int64 and torch.ones(2, dtype=torch.uint8).sum().dtype is torch.int64


def test_integers_stay_put_in_place() -> None:
    x = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        x += 0.5
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        x**-1


# --- NumPy and other libraries ------------------------------------------------------------------------------------


def test_memory_is_shared_with_numpy_both_ways() -> None:
    x = torch.ones(5)
    y = x.numpy()
    y[0] = -1000
    assert x[0].item() == -1000
    array = np.ones((4, 4))
    z = torch.from_numpy(array)
    z[0] = -1000
    assert (array[0] == -1000).all() and z.dtype is torch.float64
    z.add_(1)
    assert (array[0] == -999).all()


def test_numpy_refusals() -> None:
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        torch.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        torch.from_numpy([1])
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
        torch.from_numpy(np.array(["a"]))
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.ones(3)[::-1])
    assert torch.ones(1, requires_grad=True).numpy(force=True) == 1


def test_array_protocol() -> None:
    x = torch.arange(3.0)
    assert np.asarray(x).dtype == np.float32
    assert np.allclose(np.sin(x), np.sin(np.arange(3)))
    assert isinstance(np.float64(2) * x, torch.Tensor) or np.allclose(np.float64(2) * x, [0, 2, 4])


def test_dlpack_both_ways() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y = np.from_dlpack(x)
    assert np.shares_memory(y, x.numpy())
    z = torch.from_dlpack(np.arange(4))
    assert z.tolist() == [0, 1, 2, 3] and z.dtype is torch.int64
    assert torch.utils.dlpack.from_dlpack(x).data_ptr() == x.data_ptr()
    with pytest.raises(BufferError):
        torch.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError):
        torch.from_dlpack(torch.ones(1, requires_grad=True))
    assert x.__dlpack_device__() == (torch.utils.dlpack.DLDeviceType.kDLCPU, 0)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_capsules_are_consumed_once(version: tuple[int, int] | None) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    capsule = torch.utils.dlpack.to_dlpack(x) if version is None else x.__dlpack__(max_version=version)
    y = torch.utils.dlpack.from_dlpack(capsule)
    assert y.data_ptr() == x.data_ptr() and torch.equal(x, y)
    for invalid in (capsule, 3):
        with pytest.raises(RuntimeError, match="received an invalid capsule"):
            torch.from_dlpack(invalid)


def test_dlpack_of_bfloat16() -> None:
    """NumPy does not support the type: the capsule declares it."""
    x = torch.arange(4.0).to(torch.bfloat16)
    y = torch.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.dtype is torch.bfloat16 and y.tolist() == [0, 1, 2, 3] and y.data_ptr() == x.data_ptr()
    assert torch.asarray(torch.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()


# --- Storage ------------------------------------------------------------------------------------------------------


def test_views_share_storage() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    view = x.t()[1:, 1]
    assert view.storage().size() == 12 and view.storage().data_ptr() == x.storage().data_ptr()
    assert view.storage_offset() == 5 and view.stride() == (1,)
    view.storage()[5] = 100
    assert x[1, 1].item() == 100
    assert x.untyped_storage().nbytes() == 48 and x.storage().tolist()[5] == 100


def test_as_strided_set_resize() -> None:
    x = torch.arange(6.0)
    y = x.as_strided((2, 2), (2, 1), 1)
    assert y.tolist() == [[1, 2], [3, 4]] and y.data_ptr() == x.data_ptr() + 4
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        x.as_strided((4, 4), (4, 1))
    z = torch.empty(0)
    z.set_(x.storage(), 2, (2, 2), (2, 1))
    assert z.tolist() == [[2, 3], [4, 5]]
    z[0, 0] = -1
    assert x[2].item() == -1
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [-1, 3]]
    x.resize_(10)
    assert x[:4].tolist() == [0, 1, -1, 3] and x.shape == (10,)


def test_strides_are_pytorchs() -> None:
    x = torch.zeros(2, 3, 4)
    assert x.stride() == (12, 4, 1) and x.transpose(0, 2).stride() == (1, 4, 12)
    assert torch.zeros(2, 0, 3).stride() == (3, 3, 1)
    assert x.is_contiguous() and not x.transpose(0, 1).is_contiguous()
    assert x.transpose(0, 1).contiguous().stride() == (8, 4, 1)
    assert torch.ones(3, 1).expand(3, 4).stride() == (1, 0)
    with pytest.raises(RuntimeError, match=r"Use .reshape\(...\) instead"):
        x.transpose(0, 1).view(-1)
    assert x.transpose(0, 1).reshape(-1).shape == (24,)


@pytest.mark.parametrize("dims", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_a_tensor_like_another_has_its_memory_order(dims: tuple[int, ...]) -> None:
    x = torch.rand(2, 3, 4).permute(*dims)
    likes = [
        torch.empty_like,
        torch.zeros_like,
        torch.rand_like,
        torch.clone,
        lambda x: torch.full_like(x, 2.0),
        lambda x: torch.randint_like(x, 5),
    ]
    for like in likes:
        assert like(x).stride() == x.stride() and like(x).shape == x.shape
        assert like(x[:, ::2]).is_contiguous() or dims != (0, 1, 2)
    assert torch.zeros_like(x, memory_format=torch.contiguous_format).is_contiguous()
    image = torch.rand(2, 3, 4, 5)
    for result in (image.clone(memory_format=torch.channels_last), torch.ones_like(image, memory_format=torch.channels_last)):
        assert result.stride() == (60, 1, 15, 3) and result.is_contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x.clone(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", ["div", "max", "sort", "topk", "max_pool"])
def test_results_that_no_derivative_needs_may_be_overwritten(name: str) -> None:
    x = torch.tensor([[1.0, 3.0, 2.0, 5.0]], requires_grad=True)
    results = {
        "div": lambda: 2 / x,
        "max": lambda: x.max(1)[0],
        "sort": lambda: x.sort(1)[0],
        "topk": lambda: x.topk(2)[0],
        "max_pool": lambda: torch.nn.functional.max_pool1d(x, 2),
    }
    expected = torch.autograd.grad(results[name]().sum(), x)[0]
    y = results[name]()
    y += 1
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], expected)


# --- device -------------------------------------------------------------------------------------------------------


def test_device_objects() -> None:
    assert repr(torch.device("cuda:1")) == "device(type='cuda', index=1)" and str(torch.device("cuda", 1)) == "cuda:1"
    assert torch.device("cpu") != torch.device("cpu:0") and torch.device(torch.device("cpu")) == torch.device("cpu")
    assert len({torch.device("cpu"), torch.device("cpu")}) == 1 and not callable(torch.device("cpu"))
    assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1")
    for wrong, error in (
        ("nosuch", "Expected one of cpu, cuda"),
        ("cpu:x", "Invalid device string"),
        ("cuda:-1", "Invalid device string"),
    ):
        with pytest.raises(RuntimeError, match=error):
            torch.device(wrong)
    with torch.device("cpu"):
        assert torch.ones(1).device == torch.device("cpu")


OF_SEVERAL = {
    "addmv_",
    "as_strided_",
    "clamp_",
    "clamp_max_",
    "clamp_min_",
    "clip_",
    "detach",
    "fill_",
    "gcd_",
    "get_device",
    "index_put_",
    "is_distributed",
    "is_same_size",
    "is_signed",
    "lcm_",
    "ldexp_",
    "resize_as_",
    "slice_inverse",
    "xlogy_",
}


def test_what_no_tensor_is() -> None:
    x = torch.ones(2)
    assert not (x.is_sparse or x.is_quantized or x.is_nested or x.is_meta or x.is_mkldnn or x.is_mps or x.is_xla)
    assert x.to_dense() is x and x.to_dense(torch.float64).dtype == torch.float64


@pytest.mark.parametrize("name", sorted(set(METHODS_AS_FUNCTIONS) - OF_SEVERAL))
def test_methods_in_place_as_functions(name: str) -> None:
    """In-place functions such as `torch.abs_(x)` whose only argument is the tensor."""
    x, y = torch.tensor([0.6, 0.7]), torch.tensor([0.6, 0.7])
    assert getattr(torch, name)(x) is x and torch.equal(x.nan_to_num(), getattr(y, name)().nan_to_num())
    with pytest.raises(TypeError, match=f"{name}.*must be Tensor, not float"):
        getattr(torch, name)(0.5)


def test_methods_as_functions() -> None:
    x = torch.tensor([0.5, -2.0], requires_grad=True)
    assert torch.detach(x).equal(x) and not torch.detach(x).requires_grad
    assert torch.get_device(torch.ones(1, device="cpu")) == -1 and torch.is_signed(x) and torch.is_same_size(x, x + 1)
    assert torch.is_distributed(x) is False
    assert torch.fill(x, 3.0).tolist() == [3.0, 3.0] and x.tolist() == [0.5, -2.0]
    value = torch.tensor(2.0, requires_grad=True)
    torch.fill(x, value).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0] and value.grad.item() == 2
    x, y = torch.zeros(3), torch.ones(3)
    assert torch.clamp_(torch.index_put_(x, [torch.tensor([1])], torch.tensor(5.0)), max=2).tolist() == [0, 2, 0]
    assert torch.fill_(torch.xlogy_(y, torch.ones(3)), 4).tolist() == y.tolist() == [4, 4, 4]


def test_narrow_copy() -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    part = x.narrow_copy(1, 1, 2)
    assert part.equal(x.narrow(1, 1, 2)) and part.is_contiguous() and part.data_ptr() != x.narrow(1, 1, 2).data_ptr()
    part.sum().backward()
    assert x.grad.tolist() == [[0, 1, 1, 0]] * 3
    out = torch.empty(0)
    assert torch.narrow_copy(x.detach(), 0, 1, 1, out=out) is out and out.tolist() == [[4, 5, 6, 7]]
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        x.narrow_copy(0, 2, 2)


def test_virtual_devices() -> None:
    code = """
import flambeau as torch
x, y = torch.ones(2, device="cpu:1"), torch.ones(2)
assert x.device == torch.device("cpu:1") and y.device == torch.device("cpu:0"), (x.device, y.device)
try: x + y
except RuntimeError as error: print(error)
print((x + y.to("cpu:1")).device, x + 1, torch.zeros(1, device="cpu:3").get_device())
assert torch.device(1) == torch.device("cpu:1") and y.to(2).device == torch.device(2)
with torch.device("cpu:2"): print(torch.zeros(1).device)
torch.set_default_device("cpu:3"); print(torch.arange(2).device)
try: torch.ones(1, device="cpu:4")
except RuntimeError as error: print(error)
w = torch.ones(2, device="cpu:1", requires_grad=True)
(w.to("cpu:0") * y.to("cpu:0")).sum().backward(); print(w.grad.device)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, "FLAMBEAU_CPU_DEVICES": "4"}
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "at least two devices, cpu:1 and cpu:0" in lines[0]
    assert lines[1] == "cpu:1 tensor([2., 2.], device='cpu:1') 3"
    assert lines[2:4] == ["cpu:2", "cpu:3"] and "FLAMBEAU_CPU_DEVICES" in lines[4] and lines[5] == "cpu:1"


# --- conversions and protocols ------------------------------------------------------------------------------------


def test_to_in_all_forms() -> None:
    x = torch.ones(2)
    assert x.to(torch.float32) is x and x.to("cpu") is x and x.to(torch.float32, copy=True) is not x
    assert x.to(torch.int64).dtype is torch.int64 and x.to("cpu", torch.float64).dtype is torch.float64
    assert x.to(torch.zeros(1, dtype=torch.int8)).dtype is torch.int8
    assert (
        x.double().dtype is torch.float64 and x.half().float().dtype is torch.float32 and x.type_as(x.long()).dtype is torch.int64
    )
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y.float().sum().backward()
    assert y.grad is not None and y.grad.dtype is torch.float64


def test_python_protocols() -> None:
    x = torch.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]] and 3 in x and 5 not in x
    assert int(torch.tensor(3.7)) == 3 and float(torch.tensor(2)) == 2.0 and complex(torch.tensor(1j)) == 1j
    assert [10, 20, 30][torch.tensor(1)] == 20 and bool(torch.tensor([True]))
    assert f"{torch.tensor(1.23456):.2f}" == "1.23"
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(x)
    with pytest.raises(RuntimeError, match="a Tensor with 4 elements cannot be converted to Scalar"):
        x.item()
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(torch.tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.tensor(1))
    assert torch.tensor(5)[0] == 5  # legacy of PyTorch 0.2: loss.data[0]
    assert {x: 1}[x] == 1


def test_size() -> None:
    size = torch.zeros(2, 3).size()
    assert isinstance(size, tuple) and size == (2, 3) and size.numel() == 6 and repr(size) == "torch.Size([2, 3])"
    assert isinstance(size[:1], torch.Size) and isinstance(size + (1,), torch.Size) and pickle.loads(pickle.dumps(size)) == size  # noqa: RUF005
    assert torch.zeros(2, 3).size(-1) == 3
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"):
        torch.zeros(2, 3).size(2)


def test_copies() -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.data_ptr() != x.data_ptr() and torch.equal(x, y)
    assert copy(x).data_ptr() == x.data_ptr()
    base = torch.zeros(4)
    pair = deepcopy([base, base[1:]])
    pair[0][1] = 5
    assert pair[1][0].item() == 5 and base[1].item() == 0
    assert torch.equal(pickle.loads(pickle.dumps(x.detach())), x.detach())
    with pytest.raises(RuntimeError, match="graph leaves"):
        deepcopy(x * 2)


def test_tensors_die_at_once() -> None:
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(3, requires_grad=True)
        y = (x.exp() * 2)[1:].sum()
        y.backward()
        references = [weakref.ref(tensor) for tensor in (x, y)]
        del x, y
        assert all(reference() is None for reference in references)
    finally:
        gc.enable()


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [(lambda: torch.ones(2, 3) + torch.ones(4, 2), RuntimeError, r"size of tensor a \(3\) must match the size of tensor b \(2\)"),
     (lambda: torch.ones(2, 3).mm(torch.ones(2, 3)), RuntimeError, r"shapes cannot be multiplied \(2x3 and 2x3\)"),
     (lambda: torch.ones(2, 3).mm(torch.ones(3, 2).double()), RuntimeError, "same dtype, but got: float != double"),
     (lambda: torch.ones(2).sum(3), IndexError, r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 3\)"),
     (lambda: torch.exp(2), TypeError, r"argument 'input' \(position 1\) must be Tensor, not int"),
     (lambda: torch.ones(2) + "a", TypeError, r"unsupported operand type\(s\) for \+"),
     (lambda: torch.cat([torch.ones(2, 3), torch.ones(3, 2)]), RuntimeError, "Sizes of tensors must match except in dimension 0"),
     (lambda: torch.ones(2, 3).view(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
     (lambda: torch.ones(2)[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
     (lambda: torch.ones(2)[0, 0], IndexError, "too many indices for tensor of dimension 1"),
     (lambda: torch.ones(2)[1.5], IndexError, "only integers, slices"),
    (lambda: torch.ones(2)["x"], TypeError, "only integers, slices"),
     (lambda: torch.ones(2).mean(dtype=torch.int64), RuntimeError, "."),
     (lambda: torch.tensor([1]).mean(), RuntimeError, "either a floating point or complex"),
     (lambda: torch.ones(2, dtype=torch.int64).requires_grad_(), RuntimeError, "only Tensors of floating point dtype"),
     (lambda: torch.ones(3).expand(2), RuntimeError, "."),
     (lambda: torch.ones(3).expand(2, 2), RuntimeError, r"expanded size of the tensor \(2\) must match the existing size \(3\)")],
)  # fmt: skip
def test_bad_input(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("scalar", [np.int64(2), np.int8(2), np.float32(2.5), np.float64(2.5), np.bool_(True)], ids=repr)
def test_numpy_scalars_are_numbers(scalar: np.generic) -> None:
    x, value = torch.tensor([1.0, 4.0]), scalar.item()
    if not isinstance(value, bool):  # PyTorch does not support bool subtraction
        assert torch.equal(scalar - x, value - x) and torch.equal(x - scalar, x - value)
    for result, expected in (
        (x + scalar, x + value),
        (scalar + x, value + x),
        (scalar * x, value * x),
        (x / scalar, x / value),
        (scalar / x, value / x),
        (x**scalar, x**value),
        (scalar**x, value**x),
        (x < scalar, x < value),
        (scalar < x, value < x),
        (torch.add(x, scalar), torch.add(x, value)),
    ):
        assert type(result) is torch.Tensor and result.dtype is expected.dtype and torch.equal(result, expected)


@pytest.mark.parametrize(
    ("given", "dtype"), [(bool, torch.bool), (int, torch.int64), (float, torch.float64), (complex, torch.complex128)]
)
def test_python_types_are_dtypes(given: type, dtype: torch.dtype) -> None:
    x = torch.ones(2)
    result = [
        torch.zeros(2, dtype=given),
        torch.tensor([1], dtype=given),
        torch.asarray([1], dtype=given),
        x.to(given),
        x.to(dtype=given),
        x.sum(dtype=given),
        torch.full((2,), 1, dtype=given),
        torch.zeros_like(x, dtype=given),
    ]
    assert {t.dtype for t in result} == {dtype}


def test_zeros_keep_their_sign() -> None:
    """The scalar cache must distinguish 0, 0.0, -0.0 and False, which compare equal."""
    x = torch.ones(1)
    for _ in range(2):
        assert [torch.signbit(x * zero).item() for zero in (0.0, -0.0, 0, False, -0.0)] == [False, True, False, False, True]


# --- what tensors are made of -------------------------------------------------------------------------------------

NUMPY_DTYPES = {
    np.bool_: torch.bool,
    np.uint8: torch.uint8,
    np.int8: torch.int8,
    np.int16: torch.int16,
    np.int32: torch.int32,
    np.int64: torch.int64,
    np.float16: torch.float16,
    np.float32: torch.float32,
    np.float64: torch.float64,
    np.complex64: torch.complex64,
    np.complex128: torch.complex128,
}


@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor, torch.asarray])
@pytest.mark.parametrize(("scalar", "dtype"), NUMPY_DTYPES.items(), ids=lambda value: getattr(value, "__name__", str(value)))
def test_sequences_keep_numpy_dtypes(make: object, scalar: type, dtype: torch.dtype) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]], scalar)
    for data in ([*array], (array[0], array[1]), [list(row) for row in array], [array[0], list(array[1])]):
        result = make(data)
        assert result.dtype is dtype and np.array_equal(result.numpy(), array)
    assert make([array[:, :0]]).dtype is dtype and make([array[:, :0]]).shape == (1, 2, 0)
    assert torch.equal(torch.tensor([*array], dtype=torch.complex64), torch.tensor(array.astype(np.complex64)))


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [([np.int8(1), True], torch.int8, (2,)), ([np.int8(1), 2], torch.int64, (2,)), ([np.float16(1), 2], torch.float16, (2,)),
     ([np.float16(1), 2.0], torch.float32, (2,)), ([np.float32(1), np.float64(2)], torch.float64, (2,)),
     ([np.float64(1), 2j], torch.complex128, (2,)), ([[1, 2], np.ones(2, np.float16)], torch.float16, (2, 2)),
     ([np.ones((2, 2)), [[1, 2], [3, 4]]], torch.float64, (2, 2, 2)), ([torch.tensor([5]), 6], torch.int64, (2,)),
     ([torch.tensor([5.0]), torch.tensor([[6.0]])], torch.float32, (2,)), ([[1, 2], torch.ones(2)], torch.float32, (2, 2)),
     ([[], [1]], torch.float32, (2, 0)), ([[[], []], [[1]]], torch.float32, (2, 2, 0)), ([[[]], []], torch.float32, (2, 1, 0))],
)  # fmt: skip
def test_sequences_of_many_things(data: list[object], dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    result = torch.tensor(data)
    assert result.dtype is dtype and result.shape == shape


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [((torch.ones(2),), ValueError, "only one element tensors can be converted to Python scalars"),
     ([torch.ones(2), 1], ValueError, "only one element tensors"), ([[1], 2], TypeError, "not a sequence"),
     ([[1], [1, 2]], ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"), ([1, [2]], TypeError, "'list' object"),
     ([np.ones(2), np.ones(3)], ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
     ([1.0, [2]], TypeError, "not list"), (["a"], ValueError, "too many dimensions 'str'"),
     ([1, "a"], TypeError, "invalid data type 'str'"), ("a", TypeError, "invalid data type 'str'"),
     ([None], RuntimeError, "Could not infer dtype of NoneType"), ({1: 2}, RuntimeError, "Could not infer dtype of dict")],
)  # fmt: skip
def test_sequences_of_what_is_no_number(data: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.tensor(data)


@pytest.mark.parametrize("make", [torch.tensor, torch.Tensor, torch.FloatTensor])
def test_sequences_without_a_first_element(make: Any) -> None:
    class Labelled:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, label: object) -> float:
            return {1: 1.0, 2: 2.0}[label]  # type: ignore[index]  # a KeyError is what the test needs

    with pytest.raises(ValueError, match="could not determine the shape of object type 'Labelled'"):
        make(Labelled())


@pytest.mark.parametrize("place", ["cuda", "meta"])
def test_the_legacy_constructor_takes_no_other_device(place: str) -> None:
    for make in (torch.Tensor, torch.DoubleTensor, torch.ones(1).new):
        with pytest.raises(
            RuntimeError, match=f"legacy constructor expects device type: cpu but device type: {place} was passed"
        ):
            make(2, 3, device=place)
        assert make(2, 3, device="cpu").shape == (2, 3)
        with pytest.raises(RuntimeError, match=r"of the form .*\(tensor, device=device\) is not supported"):
            make(torch.ones(1), device="cpu")


@pytest.mark.parametrize("scalar", [np.int8(2), np.uint8(2), np.int64(2), np.float32(2), np.float64(2), np.bool_(True)], ids=repr)
def test_numpy_scalars_fill(scalar: np.generic) -> None:
    value, x = scalar.item(), torch.tensor([5.0, 6.0, 7.0])
    whole, index = torch.tensor([1, 5, 7], dtype=torch.int8), torch.tensor([1])
    floating = torch.int64 if isinstance(scalar, np.integer) else torch.float32
    assert torch.full((2,), scalar).tolist() == [value] * 2 and torch.full((2,), scalar).dtype is floating
    for result, expected in (
        (torch.full_like(x, scalar), torch.full_like(x, value)),
        (x.new_full((2,), scalar), x.new_full((2,), value)),
        (torch.scalar_tensor(scalar), torch.scalar_tensor(value)),
        (torch.zeros(2).fill_(scalar), torch.zeros(2).fill_(value)),
        (whole.clone().fill_(scalar), whole.clone().fill_(value)),
        (x.scatter(0, index, scalar), x.scatter(0, index, value)),
        (x.index_fill(0, index, scalar), x.index_fill(0, index, value)),
    ):
        assert result.dtype is expected.dtype and torch.equal(result, expected)


def test_numpy_integers_are_whole() -> None:
    whole = torch.tensor([1, 5], dtype=torch.int8)
    for result in (torch.arange(np.int64(3)), torch.arange(np.int32(0), np.int32(3)), torch.arange(0, np.uint8(3), np.int8(1))):
        assert result.dtype is torch.int64 and result.tolist() == [0, 1, 2]
    assert torch.arange(np.int8(-100), np.int8(100), np.int8(100)).tolist() == [-100, 0]
    assert torch.arange(np.float64(3)).dtype is torch.float32
    assert np.int64(5) in whole and np.float32(1) in whole and np.int64(2) not in whole
    assert torch.equal(torch.linspace(0, 1, np.int64(4)), torch.linspace(0, 1, 4))
    assert torch.equal(torch.logspace(0, 1, np.int64(4)), torch.logspace(0, 1, 4))
    assert torch.clamp(whole, np.int64(2)).dtype is torch.int8 and torch.clamp(whole, np.int64(2)).tolist() == [2, 5]
    assert torch.result_type(whole, np.int64(7)) is torch.int8 and torch.result_type(np.int64(7), np.int8(7)) is torch.int64
    assert torch.result_type(whole, np.float64(7)) is torch.float32
    assert torch.result_type(whole, np.complex128(7)) is torch.complex64


def test_old_constructors_take_numpy() -> None:
    """Legacy constructors accept a size, an array to share memory with (same dtype), or an array to convert."""
    for make, dtype in ((torch.Tensor, np.float32), (torch.LongTensor, np.int64), (torch.ones(1).new, np.float32)):
        assert make(np.int64(2)).shape == (2,)
        for given, first in ((np.ones(3, dtype), 5), (np.ones(3, np.int16), 1)):
            make(given)[0] = 5
            assert given[0] == first
    for no_data in (np.float32(2), 2.5, True, None):
        with pytest.raises(TypeError, match="data must be a sequence"):
            torch.FloatTensor(no_data)


@pytest.mark.parametrize("copied", [torch.tensor, lambda array: torch.asarray(array, copy=True)])
def test_copies_of_arrays_are_dense(copied: object) -> None:
    array = np.arange(6)
    repeated, turned = np.broadcast_to(array, (2, 6)), array.reshape(2, 3).T
    assert copied(repeated).stride() == (6, 1) and copied(repeated).view(-1).tolist() == [*range(6)] * 2
    assert copied(turned).stride() == (1, 3) and np.array_equal(copied(turned).numpy(), turned)
    result = copied(array)
    array[0] = 9
    assert result[0] == 0


def test_progressions_between_complex_ends() -> None:
    for start, end in ((0, 1j), (torch.tensor(0), 1j), (0, torch.tensor(1j))):
        result = torch.linspace(start, end, 3)
        assert result.dtype is torch.complex64 and result.tolist() == [0, 0.5j, 1j]
        assert torch.logspace(start, end, 3, base=1).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match=r"linspace\(\): inferred dtype c10::complex<float> can't be safely cast to .* Float"):
        torch.linspace(0, 1j, 3, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        torch.linspace(0, 1j, 3, out=torch.zeros(3))


@pytest.mark.parametrize(
    "make",
    [lambda out: torch.arange(4, out=out), lambda out: torch.linspace(0, 3, 4, out=out), lambda out: torch.range(0, 3, out=out)],
)
@pytest.mark.filterwarnings("ignore")
def test_progressions_keep_the_shape_of_out(make: object) -> None:
    for out in (torch.zeros(2, 2), torch.zeros(2, 2).t(), torch.zeros(1, 4, 1)):
        shape, stride = out.shape, out.stride()
        assert make(out) is out and (out.shape, out.stride()) == (shape, stride) and out.flatten().tolist() == [0, 1, 2, 3]
    assert make(torch.zeros(2, 3)).shape == make(torch.zeros(0)).shape == (4,)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
def test_floats_that_no_integer_holds(value: float) -> None:
    x = torch.zeros(2, dtype=torch.int64)
    for write in (
        lambda: x.__setitem__(0, value),
        lambda: x.fill_(value),
        lambda: torch.tensor(value, dtype=torch.int64),
        lambda: torch.tensor([1, value], dtype=torch.int64),
    ):
        with pytest.raises(RuntimeError, match="value cannot be converted to type int64(_t)? without overflow"):
            write()
    assert x.tolist() == [0, 0]


def test_sizes_are_ints() -> None:
    size = torch.Size([True, torch.tensor(2), torch.tensor([3])])
    assert repr(size) == "torch.Size([1, 2, 3])" and {type(n) for n in size} == {int}
    assert repr(torch.Size([1]) + (True,)) == "torch.Size([1, 1])"  # noqa: RUF005
    numpy_bools = [np.bool_(True)] if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else []  # an int before
    for bad in (1.5, torch.tensor(1.0), torch.tensor([1, 2]), "a", *numpy_bools):
        with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 1 is"):
            torch.Size([1, bad])


def test_cdata_tells_whether_two_names_are_of_one_tensor() -> None:
    x = torch.nn.Parameter(torch.ones(2))
    module = torch.nn.Module()
    module.weight = x
    others = [x.detach(), x.data, x.view(2), x.clone()]
    assert isinstance(x._cdata, int) and module.weight._cdata == x._cdata
    assert len({x._cdata, *(other._cdata for other in others)}) == 5


def test_shapes_that_do_not_broadcast() -> None:
    assert torch.broadcast_shapes((3, 1), None, 4, [1, 1, 1]) == (1, 3, 4) and torch.broadcast_shapes() == ()
    with pytest.raises(
        RuntimeError, match=r"length 7 at -2! .* at index 1 had \(1, 1, 7, 1\); .* broadcastable to \[1, 1, 3, 2\]"
    ):
        torch.broadcast_shapes((3, 2), (1, 1, 7, 1), (2, 9))
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton"):
        torch.ones(2) + torch.ones(3)
    with pytest.raises(RuntimeError, match="got a"):
        torch.broadcast_shapes((1,), "a")
    for shapes in [((-1,),), ((-1,), (-1,)), ((1, -2), (3, 1)), (-3, 2), ([-1],)]:
        with pytest.raises(ValueError, match="broadcast a dimension with negative length"):
            torch.broadcast_shapes(*shapes)
    for shapes in [((2,), (-1,)), ((3, 2), -5)]:
        with pytest.raises(RuntimeError, match=r"dimension of length -\d at -1! Mismatching argument at index 1"):
            torch.broadcast_shapes(*shapes)
    assert torch.broadcast_shapes((0,), (0,)) == torch.broadcast_shapes((0,), 1) == (0,)


def test_listed_attributes_exist():
    for x in (torch.randn(2, 2), torch.randn(2, 2, dtype=torch.complex64)):
        names = [name for name in dir(x) if name != "imag" or x.is_complex()]
        assert "shape" in names and all(hasattr(x, name) for name in names)


def test_limits_of_python_types():
    assert torch.finfo(float) == torch.finfo(complex) == torch.finfo(torch.float64)
    assert torch.iinfo(int) == torch.iinfo(torch.int64)
    for limits, refused in ((torch.finfo, int), (torch.iinfo, float), (torch.iinfo, bool), (torch.finfo, "float32")):
        with pytest.raises(TypeError):
            limits(refused)

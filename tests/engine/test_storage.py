"""Storages: bytes and elements, slices, file mappings, resizing, and tensors on storages."""

from __future__ import annotations

import mmap
import subprocess
import sys
import textwrap
from array import array
from copy import deepcopy

import numpy as np
import pytest

import flambeau as torch

# --- one storage for each memory ----------------------------------------------------------------------------------


def test_all_tensors_in_a_memory_have_one_storage() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    storage = x.untyped_storage()
    assert all(view.untyped_storage() is storage for view in (x.t(), x[1], x.detach(), x.data, x.view(torch.int32)))
    assert x.clone().untyped_storage() is not storage and x.storage().untyped() is storage
    assert storage.nbytes() == len(storage) == 24 and x.storage().size() == 6 and storage._cdata == x.storage()._cdata
    address = storage.data_ptr()
    del storage
    assert x.untyped_storage().data_ptr() == address == x.data_ptr()


def test_writes_go_to_tensors_and_slices_share_memory() -> None:
    x = torch.zeros(2)
    storage = x.untyped_storage()
    torch.asarray(storage[2:4], dtype=torch.uint8)[1] = 64
    assert x.tolist() == [2.0, 0.0]
    part = storage[4:8]
    part.copy_(torch.tensor([1.0]).untyped_storage())
    assert x.tolist() == [2.0, 1.0] and part.nbytes() == 4 and part.data_ptr() == x.data_ptr() + 4
    on_part = torch.empty(0).set_(part)
    assert on_part.storage_offset() == 0 and on_part.untyped_storage() is part
    storage[0:8] = 0
    storage[3] = 64 + 256  # bytes are stored modulo 256
    assert x.tolist() == [2.0, 0.0] and on_part.tolist() == [0.0] and storage[-5:4][0] == 64
    assert storage.tolist() == list(storage) == [0, 0, 0, 64, 0, 0, 0, 0] and storage.tobytes() == bytes(storage.tolist())
    before = x._version
    assert storage.fill_(0) is storage and x.storage().fill_(3.0).tolist() == x.tolist() == [3.0, 3.0]
    assert x._version == before


def test_slices_of_large_storages_cost_no_loops() -> None:
    """Byte-by-byte copies of these slices would take minutes."""
    storage = torch.UntypedStorage(1 << 28)
    parts = [torch.asarray(storage[start : start + (1 << 27)], dtype=torch.uint8) for start in (0, 1 << 27)]
    parts[1][-1] = 7
    assert storage[-1] == 7 and torch.asarray(parts[1].untyped_storage(), dtype=torch.float64).numel() == 1 << 24


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda s: s[8], IndexError), (lambda s: s[-9], IndexError), (lambda s: s[::2], RuntimeError), (lambda s: s["a"], TypeError),
        (lambda s: s[True], TypeError), (lambda s: s.__setitem__(0, 1.5), RuntimeError), (lambda s: s.fill_(1.5), RuntimeError),
        (lambda s: s.copy_(s[:4]), RuntimeError), (lambda s: s.copy_(torch.ones(2)), TypeError), (lambda s: s.resize_("a"), RuntimeError),
        (lambda s: s.resize_(-1), RuntimeError), (lambda s: s[:4].resize_(8), RuntimeError),
        (lambda s: torch.UntypedStorage([1, 2.5]), RuntimeError), (lambda s: torch.UntypedStorage(torch.ones(1)), RuntimeError),
        (lambda s: torch.TypedStorage(wrap_storage=s), RuntimeError), (lambda s: torch.FloatStorage(wrap_storage=[1]), TypeError),
        (lambda s: torch.FloatStorage(2, device="cpu"), RuntimeError), (lambda s: torch.FloatStorage(torch.ones(1)), TypeError),
        (lambda s: torch.FloatStorage(2)[0:1], RuntimeError), (lambda s: torch.FloatStorage(2)[2], IndexError),
        (lambda s: torch.asarray(torch.FloatStorage(2), dtype=torch.int32), RuntimeError),
        (lambda s: torch.TypedStorage.from_file("a", False, 1), RuntimeError),
        (lambda s: torch.UntypedStorage.from_buffer(b"1234"), RuntimeError),
        (lambda s: torch.FloatStorage.from_buffer(b"1234"), RuntimeError),
        (lambda s: torch.FloatStorage.from_buffer(b"123", "little"), ValueError),
        (lambda s: torch.FloatStorage.from_buffer(b"1234", "litle"), ValueError),
        (lambda s: torch.FloatStorage.from_buffer(b"1234", "little", 2), ValueError),
        (lambda s: torch.empty(0).set_(3), TypeError), (lambda s: torch.empty(0).set_(s, 1), TypeError),
        (lambda s: torch.empty(0).set_(s, 1, 2), TypeError), (lambda s: torch.empty(0).set_(torch.LongStorage(2)), RuntimeError),
        (lambda s: torch.empty(0).set_(torch.arange(2)), RuntimeError), (lambda s: torch.empty(0).set_(s[:4], 0, (2,)), RuntimeError),
    ],
)  # fmt: skip
def test_refusals(use, error) -> None:
    with pytest.raises(error):
        use(torch.UntypedStorage(8))


def test_typed_storages() -> None:
    storage = torch.FloatStorage([1, 2, 3])
    assert isinstance(storage, torch.FloatStorage) and not isinstance(storage, torch.DoubleStorage)
    assert isinstance(torch.ones(1).storage(), torch.FloatStorage) and issubclass(torch.FloatStorage, torch.TypedStorage)
    assert [storage.half().dtype, storage.long().tolist(), storage.bool().tolist()] == [torch.float16, [1, 2, 3], [True] * 3]
    assert torch.UntypedStorage([1, 2]).float().tolist() == [1.0, 2.0] and storage.type(torch.float64).dtype is torch.float64
    storage[1:] = 5.0
    assert storage[-1] == 5.0 and storage.clone().tolist() == [1.0, 5.0, 5.0] and storage.type() == "torch.FloatStorage"
    assert torch.TypedStorage([1, 2]).dtype is torch.float32  # the default dtype
    # 7 bytes hold one complete float32
    assert torch.TypedStorage(wrap_storage=torch.UntypedStorage(7), dtype=torch.float32).size() == 1
    big = np.array([1.5], ">f4").tobytes()
    assert torch.FloatStorage.from_buffer(big + b"rest", "big", 1).tolist() == [1.5]
    assert torch.UntypedStorage.from_buffer(b"1234", "big", dtype=torch.int16).tobytes() == b"2143"


@pytest.mark.parametrize(("dtype", "size"), [(torch.uint8, 1), (torch.int16, 2), (torch.float64, 8), (torch.complex64, 4)])
def test_byteswap(dtype, size) -> None:
    data = np.arange(16, dtype=np.uint8)
    storage = torch.UntypedStorage(data.tolist())
    storage.byteswap(dtype)
    assert storage.tolist() == data.reshape(-1, size)[:, ::-1].ravel().tolist()


def test_the_size_that_python_sees() -> None:
    difference = sys.getsizeof(torch.UntypedStorage(100)) - sys.getsizeof(torch.UntypedStorage(0))
    assert difference == 100 == sys.getsizeof(torch.FloatStorage(25)) - sys.getsizeof(torch.FloatStorage(0))


def test_copies_of_storages_and_tensors_share_again() -> None:
    x = torch.arange(4.0)
    storage, typed, whole, part = deepcopy((x.untyped_storage(), x.storage(), x, x[2:]))
    assert whole.untyped_storage() is part.untyped_storage() is storage is typed.untyped()
    assert storage is not x.untyped_storage() and part.storage_offset() == 2
    part[0] = 9
    assert typed.tolist() == [0, 1, 9, 3] and x.tolist() == [0, 1, 2, 3]


# --- growing and shrinking ----------------------------------------------------------------------------------------


def test_tensors_stay_on_a_storage_that_is_resized() -> None:
    x = torch.arange(4.0)
    others = [x[1:3], x.detach()[1:3], x.data[1:3], x.view(torch.int32)[1:3].view(torch.float32), x.chunk(2)[0]]
    storage = x.untyped_storage()
    assert storage.resize_(32) is storage and storage.nbytes() == 32
    assert x.tolist() == [0, 1, 2, 3] and x.untyped_storage() is storage
    x.fill_(7)
    assert all(view.tolist() == [7, 7] and view.untyped_storage() is storage for view in others)
    assert torch.empty(0).set_(storage).shape == (8,)


def test_freed_memory_comes_back() -> None:
    """Sharded training frees the storage of a parameter between uses, and fills it again."""
    weight = torch.nn.Parameter(torch.arange(4.0))
    view, storage = weight.data[2:], weight.untyped_storage()
    values = weight.detach().clone()
    storage.resize_(0)
    assert storage.nbytes() == weight.storage()._size() == weight.data_ptr() == 0
    assert weight.shape == (4,) and weight.stride() == (1,) and view.storage_offset() == 2 and weight.detach().numel() == 4
    storage.resize_(16)
    weight.data.copy_(values)
    assert view.tolist() == [2, 3]
    (weight * 2).sum().backward()
    assert weight.grad.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "use",
    [lambda x: x + 1, lambda x: torch.ones(4) + x, lambda x: x.add_(1), lambda x: torch.ones(4).copy_(x), lambda x: x.sum(), repr,
     lambda x: x[0], lambda x: x.view(2, 2), lambda x: x.__setitem__(0, 1), lambda x: x.tolist(), lambda x: torch.cat([x, x])],
)  # fmt: skip
def test_what_reaches_beyond_its_memory_cannot_be_used(use) -> None:
    x = torch.ones(4)
    part = x[:2]
    x.untyped_storage().resize_(8)
    assert part.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="requiring a storage size of 16 are out of bounds for storage of size 8"):
        use(x)
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        x.numpy()
    x.resize_(2)
    assert x.tolist() == [1, 1]


def test_tensors_grow_with_all_that_share_their_memory() -> None:
    x = torch.ones(4)
    others = [x.detach()[1:], x.data[1:], x.unbind()[2].unsqueeze(0)]
    x.resize_(100)
    x.fill_(3)
    assert all(set(view.tolist()) == {3.0} and view.untyped_storage().nbytes() == 400 for view in others)
    empty = torch.empty(0)
    empty.untyped_storage().resize_(16)
    assert empty.untyped_storage().nbytes() == 16 and torch.empty(0).untyped_storage().nbytes() == 0


def test_memory_of_others_does_not_grow() -> None:
    for lent in (
        torch.frombuffer(bytearray(8), dtype=torch.float32),
        torch.ones(4).share_memory_(),
        torch.from_numpy(np.zeros(4)[1:]),
        torch.from_numpy(np.zeros(4)),
        torch.as_tensor(np.zeros(4)).view(2, 2),
    ):
        assert not lent.untyped_storage().resizable()
        with pytest.raises(RuntimeError, match="not resizable"):
            lent.resize_(100)
    assert torch.ones(2).untyped_storage().resizable()


def test_set() -> None:
    x = torch.arange(8.0)
    y = torch.empty(0)
    assert y.set_(source=x.untyped_storage()[:16]) is y and y.tolist() == [0, 1, 2, 3]
    y[0] = -1
    assert x[0].item() == -1
    assert y.set_(x.storage(), 1, (2, 2), (1, 2)).tolist() == [[1, 3], [2, 4]]
    assert y.set_(x, 2, (2,)).tolist() == [2, 3] and y.set_(x[2:]).tolist() == x[2:].tolist() and y.set_().shape == (0,)
    assert y.set_(source=x, storage_offset=1, size=(2,), stride=(3,)).tolist() == [1, 4]
    y.set_(x.untyped_storage(), 6, (4,))  # the storage grows
    assert y[:2].tolist() == [6, 7] and x.untyped_storage().nbytes() == 40 == y.untyped_storage().nbytes()
    conjugated = torch.zeros(1, dtype=torch.complex64).set_(torch.tensor([1 + 2j]).conj())
    assert conjugated.tolist() == [1 - 2j]


def test_shared_memory_takes_all_tensors_along() -> None:
    x = torch.zeros(4)
    view, storage = x.detach()[1:], x.untyped_storage()
    assert not storage.is_shared() and storage.share_memory_() is storage
    assert x.is_shared() and view.is_shared() and x.untyped_storage() is storage
    x.fill_(1)
    assert view.tolist() == [1, 1, 1]
    storage = torch.UntypedStorage._new_shared(8)
    assert storage.is_shared() and storage.tolist() == [0] * 8 and storage.filename is None
    assert torch.FloatStorage._new_shared(2).tolist() == [0.0, 0.0]


# --- files --------------------------------------------------------------------------------------------------------


def test_files_in_memory(tmp_path) -> None:
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(bytes(range(16)))
    private = torch.UntypedStorage.from_file(path, False, 8)
    private[0] = 99
    assert private.tolist() == [99, *range(1, 8)] and private.filename is None and not private.resizable()
    shared = torch.UntypedStorage.from_file(path, shared=True, nbytes=16)
    shared[1] = 98
    assert (tmp_path / "data").read_bytes() == bytes([0, 98, *range(2, 16)])
    assert shared.filename == path and shared.is_shared() and shared[4:].filename is None
    assert torch.UntypedStorage.from_file(path, True, 20).nbytes() == 20 == (tmp_path / "data").stat().st_size
    typed = torch.ShortStorage.from_file(path, True, 2)
    typed[0] = 258
    assert (tmp_path / "data").read_bytes()[:2] == np.array([258], np.int16).tobytes() and typed.filename == path
    mapped = torch.from_file(path, shared=True, size=2, dtype=torch.int16)
    assert mapped[0].item() == 258 and mapped.untyped_storage().filename == path
    assert torch.UntypedStorage.from_file(path).nbytes() == 0
    new = torch.UntypedStorage.from_file(str(tmp_path / "new"), True, 4)
    assert new.tolist() == [0, 0, 0, 0]


def test_files_that_cannot_be_mapped(tmp_path) -> None:
    (tmp_path / "data").write_bytes(b"1234")
    with pytest.raises(RuntimeError, match=r"size <4> is smaller than the required mapping size <8>"):
        torch.UntypedStorage.from_file(str(tmp_path / "data"), False, 8)
    with pytest.raises(RuntimeError, match=r"unable to open file <.*none> in read-only mode: No such file or directory \(2\)"):
        torch.UntypedStorage.from_file(str(tmp_path / "none"), False, 8)
    with pytest.raises(TypeError, match="must be str"):
        torch.UntypedStorage.from_file(tmp_path / "data", False, 4)


SAFETENSORS = """
    import torch
    from safetensors import safe_open
    from safetensors.torch import load, load_file, load_model, save, save_file, save_model

    names = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64".split()
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in names}
    tensors.update(number=torch.tensor(3.5), empty=torch.zeros(0, 3))
    save_file(tensors, "a.safetensors", metadata={"made": "here"})
    for found in (load_file("a.safetensors"), load(save(tensors))):
        assert found.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert found[name].dtype is tensor.dtype and torch.equal(found[name], tensor), name
    found["float32"][0, 0] = 7
    assert load_file("a.safetensors")["float32"][0, 0] == 0
    with safe_open("a.safetensors", framework="pt", device="cpu") as file:
        assert file.metadata() == {"made": "here"} and set(file.keys()) == tensors.keys()
        part = file.get_slice("float32")
        assert part.get_shape() == [2, 3] and part[:, 1:].tolist() == [[1, 2], [4, 5]] and part[1].tolist() == [3, 4, 5]
        assert torch.equal(file.get_tensor("bfloat16"), tensors["bfloat16"])

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
            self.b.weight = self.a.weight

    model, other = Tied(), Tied()
    save_model(model, "model.safetensors")
    assert load_model(other, "model.safetensors") == (set(), [])
    assert torch.equal(model.a.weight, other.b.weight) and torch.equal(model.b.bias, other.b.bias)
    try:
        save_file({"a": model.a.weight, "b": model.b.weight}, "b.safetensors")
    except RuntimeError as error:
        assert "share memory" in str(error)
    print("done")
"""


def test_safetensors_runs_on_flambeau(tmp_path) -> None:
    pytest.importorskip("safetensors", minversion="0.7")  # older versions lack torch.uint16
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(SAFETENSORS))
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", str(program)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "done\n", done.stderr


# --- the memory of buffers, arrays and DLPack ---------------------------------------------------------------------


def test_buffers_are_taken_by_their_bytes() -> None:
    assert torch.asarray(bytearray(8), dtype=torch.float32).tolist() == [0.0, 0.0]
    numbers = array("f", [1, 2])
    shared = torch.asarray(numbers)
    shared[0] = 5
    assert numbers[0] == 5 and torch.asarray(memoryview(numbers), copy=False).data_ptr() == shared.data_ptr()
    copied = torch.asarray(numbers, copy=True)
    copied[0] = 9
    assert numbers[0] == 5
    pages = mmap.mmap(-1, 16)
    torch.asarray(pages, dtype=torch.int32)[0] = 258
    assert pages[:2] == np.array([258], np.int16).tobytes()
    assert torch.frombuffer(memoryview(bytearray(8)).cast("f"), dtype=torch.int16).shape == (4,)
    with pytest.raises(ValueError, match="must be a multiple of element size"):
        torch.asarray(bytearray(7), dtype=torch.float32)
    with pytest.raises(ValueError, match=r"buffer length \(8\) and count \(0\)"):
        torch.frombuffer(bytearray(8), dtype=torch.uint8, count=0)
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        torch.frombuffer([1], dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="could not retrieve buffer"):
        torch.frombuffer(memoryview(bytearray(8))[::2], dtype=torch.uint8)


def test_asarray_copies_when_it_has_to_and_only_then() -> None:
    given = np.zeros(3)
    assert torch.asarray(given).data_ptr() == torch.asarray(given, copy=False).data_ptr() == given.ctypes.data
    assert torch.asarray(given, copy=True).data_ptr() != given.ctypes.data
    x = torch.ones(2, requires_grad=True)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="unspecified requires_grad now defaults to obj.requires_grad"):
            assert torch.asarray(x, copy=False) is x
    finally:
        torch.set_warn_always(False)
    assert torch.asarray(x, copy=True, requires_grad=True).grad_fn.name() == "CloneBackward0"
    assert torch.asarray(x * 2, requires_grad=False).requires_grad is False
    plain = torch.ones(2)
    assert torch.asarray(plain, requires_grad=True) is plain and plain.requires_grad
    for data, match in ((given, "dtype 'Double' into dtype 'Float'"), (plain.double(), "dtype 'Double' into dtype 'Float'")):
        with pytest.raises(ValueError, match=match):
            torch.asarray(data, dtype=torch.float32, copy=False)
    for data in ([1.0], 3, (1, 2)):
        with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor"):
            torch.asarray(data, copy=False)
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(np.float32(3), copy=False)
    number = np.array(1.0)
    torch.asarray(number).fill_(2)
    assert number == 1 and torch.asarray(np.float32(2)).item() == 2


class DLPackOnly:
    """An object that only supports the DLPack protocol."""

    def __init__(self, data) -> None:
        self.data = data

    def __dlpack__(self, **kwargs):
        return self.data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


def test_dlpack() -> None:
    data = np.arange(3.0)
    for make in (torch.asarray, torch.as_tensor, torch.from_dlpack):
        assert make(DLPackOnly(data)).data_ptr() == data.ctypes.data
    assert torch.asarray(DLPackOnly(data), dtype=torch.float32).tolist() == [0, 1, 2]
    for tensor in (torch.tensor(DLPackOnly(data)), torch.asarray(DLPackOnly(data), copy=True)):
        tensor[0] = 7
        assert data[0] == 0


def test_read_only_arrays() -> None:
    given = np.zeros(3)
    given.flags.writeable = False
    for make in (torch.from_numpy, torch.asarray, torch.as_tensor):
        tensor = make(given)
        tensor[0] += 1
        tensor[1:].add_(1)
        assert tensor.data_ptr() == given.ctypes.data
    assert given.tolist() == [3, 3, 3] and torch.tensor(given).tolist() == [3, 3, 3]
    code = "import flambeau as torch, numpy as np; a = np.zeros(1); a.flags.writeable = False; torch.{}"
    for call, words in (
        ("from_numpy(a)", "given NumPy array is not writable"),
        ("asarray(a, copy=True)", ""),
        ("frombuffer(b'1234', dtype=torch.float32)", "given buffer is not writable"),
    ):
        done = subprocess.run([sys.executable, "-c", code.format(call)], capture_output=True, text=True, check=True)
        assert words in done.stderr and bool(words) is bool(done.stderr)


def test_arrays_that_tensors_cannot_show() -> None:
    for create in (torch.from_numpy, torch.asarray, torch.as_tensor, torch.tensor):
        with pytest.raises(ValueError, match="one stride in the given numpy array is negative"):
            create(np.zeros(3)[::-1])
        with pytest.raises(ValueError, match="byte order different from the native"):
            create(np.zeros(3, np.dtype("f4").newbyteorder()))
        with pytest.raises(ValueError, match="not a multiple of the element byte size"):
            create(np.ndarray((2,), np.int32, bytearray(24), strides=(9,)))
        with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy.object_"):
            create(np.array([1, None]))
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got numpy.float32\)"):
        torch.from_numpy(np.float32(1))


def test_an_array_that_is_a_part_brings_no_more_memory() -> None:
    whole = np.arange(12.0).reshape(3, 4)
    part = torch.from_numpy(whole[1:, ::2])
    assert part.storage_offset() == 0 and part.untyped_storage().nbytes() == 7 * 8 and part.stride() == (4, 2)
    part[0, 0] = -1
    assert whole[1, 0] == -1 and part.data_ptr() == whole.ctypes.data + 32
    assert torch.from_numpy(np.broadcast_to(np.ones(1), (3,))).stride() == (0,)


# --- NumPy's view of tensors --------------------------------------------------------------------------------------


def test_parameters_as_arrays() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    for convert in (lambda p: p.numpy(), np.asarray, np.array, np.sqrt):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\)"):
            convert(parameter)
        for off in (torch.no_grad, torch.inference_mode):
            with off():
                assert np.asarray(convert(parameter)).tolist() == [1, 1]
    with torch.no_grad():
        parameter.numpy()[0] = 4
        np.array(parameter)[1] = 4
        assert parameter.__array__(np.float64).dtype == np.float64
    assert parameter.tolist() == [4, 1] and parameter.numpy(force=True).tolist() == [4, 1]


def test_arrays_are_copied_when_they_have_to_be() -> None:
    x = torch.ones(2)
    assert np.asarray(x, copy=False).ctypes.data == x.data_ptr() != np.asarray(x, copy=True).ctypes.data
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype=np.float64, copy=False)


@pytest.mark.parametrize("storage", [torch.TypedStorage([1, 2], device="meta"), torch.UntypedStorage(2, device="meta")])
def test_elements_of_meta_storages(storage):
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        storage[0]

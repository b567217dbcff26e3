"""Storages, `asarray` and `numpy()`: same values, dtypes, shared memory and exceptions as PyTorch."""

from __future__ import annotations

import array
import copy
import mmap
import os
import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False

# For each line, the value of the last expression is compared, or the type of the exception.
STORAGES = """
x = torch.zeros(4); torch.asarray(x.untyped_storage()[2:4], dtype=torch.uint8)[0] = 99; x.untyped_storage().tolist()
x = torch.zeros(4); s = x.untyped_storage(); s[4:8].fill_(7); s.tolist()
x = torch.zeros(4); s = x.untyped_storage(); s[2] = 5; s[2:4] = 7; s[-1], s[2], s.tolist()
x = torch.zeros(4); s = x.untyped_storage(); s[2:99].nbytes(), s[-3:].nbytes(), s[5:2].nbytes()
x = torch.zeros(4); s = x.untyped_storage()[4:8]; s.data_ptr() - x.data_ptr(), s.nbytes(), s.resizable()
x = torch.arange(4, dtype=torch.uint8); t = torch.asarray(x.untyped_storage()[1:3], dtype=torch.uint8); t, t.storage_offset(), t.untyped_storage().nbytes(), t.data_ptr() - x.data_ptr(), t._is_view()
s = torch.UntypedStorage(16); s[99]
s = torch.UntypedStorage(16); s[::2]
s = torch.UntypedStorage(16); s[::2] = 7
s = torch.UntypedStorage(16); s["a"]
s = torch.UntypedStorage(16); s[True]
s = torch.UntypedStorage(16); s[1.5]
s = torch.UntypedStorage(16); s[0] = 1.5
s = torch.UntypedStorage(16); s[4:8].resize_(100)
s = torch.UntypedStorage([1, 2, 300]); s[0] = 257; s.tolist(), s.fill_(-1).tolist()
s = torch.UntypedStorage([1, 2.5])
s = torch.UntypedStorage(torch.ones(2))
s = torch.UntypedStorage(4); s.copy_(torch.UntypedStorage(3))
s = torch.UntypedStorage(3); s.copy_(torch.ones(3))
s = torch.UntypedStorage([1, 2, 3]); s.copy_(torch.UntypedStorage([4, 5, 6])) is s, s.tolist(), s.clone().tolist(), s.clone() == s
s = torch.UntypedStorage([1, 2, 3]); s.fill_(1.5)
s = torch.UntypedStorage([1, 2]); s.float().tolist(), s.type(), s.new().nbytes(), s.element_size(), s.get_device(), s.is_cuda, s.is_sparse
s = torch.UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8]); s.byteswap(torch.int16); s.tolist()
s = torch.UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8]); s.byteswap(torch.complex64); s.tolist()
x = torch.arange(4.); x.untyped_storage() is x[1:].untyped_storage(), x.untyped_storage() == x.untyped_storage(), x.storage() == x.storage()
x = torch.arange(4.); s = x.storage(); s[0:1]
x = torch.arange(4.); s = x.storage(); s[::2] = 9; x
x = torch.arange(4.); s = x.storage(); s.resize_(8); len(s), x.untyped_storage().nbytes(), x
x = torch.arange(4.); s = x.storage(); s.resize_(0); len(s), x.untyped_storage().nbytes(), x.shape, x.data_ptr(), x.stride()
x = torch.arange(4.); s = x.untyped_storage(); s.resize_(0); x[1:]
x = torch.arange(4.); s = x.untyped_storage(); s.resize_(0); x.tolist()
x = torch.arange(4.); s = x.untyped_storage(); s.resize_(0); x.storage_offset(), x.detach().shape, x.data.shape, x.is_contiguous(), x.nbytes
x = torch.arange(4.); y = x[1:].detach(); s = x.untyped_storage(); s.resize_(0); s.resize_(16); x.fill_(3); y
x = torch.arange(4.); y = x.data; s = y.untyped_storage(); s.resize_(0); s.resize_(16); x.copy_(torch.ones(4)); y
x = torch.arange(4.); x.untyped_storage().resize_(0); x.resize_(2); x.shape, x.untyped_storage().nbytes()
x = torch.arange(4.); s = x.untyped_storage(); s.resize_(8); y = torch.empty(0).set_(s); y, x.shape
x = torch.ones(4); y = x[:2]; x.untyped_storage().resize_(8); y
x = torch.ones(4); y = x[1:3]; z, _ = x.chunk(2); w = x.view(torch.int32); v = x.detach(); x.resize_(100); x.fill_(3); y, z, w, v, y.untyped_storage().nbytes()
x = torch.empty(0); s = x.untyped_storage(); s.resize_(16); x.untyped_storage().nbytes(), x.shape
x = torch.arange(4.); x.untyped_storage().resize_("a")
x = torch.zeros(0); x.set_(source=torch.arange(32.).untyped_storage()[:16]); x
x = torch.zeros(0); x.set_(torch.arange(4.), 1, (2,)); x
x = torch.zeros(0); x.set_(source=torch.arange(4.), storage_offset=1, size=(2,), stride=(2,)); x
x = torch.zeros(0); x.set_(torch.arange(4.).storage(), 1, torch.Size([2])); x
x = torch.zeros(0); x.set_(torch.arange(4.).untyped_storage(), 1, 2)
x = torch.zeros(0); x.set_(torch.arange(4.).untyped_storage(), 1)
x = torch.zeros(0); x.set_(torch.arange(4.).untyped_storage(), 3, (2,)); x[0], x.untyped_storage().nbytes()
x = torch.zeros(0); x.set_(torch.arange(4.).untyped_storage()[:8], 1, (2,))
x = torch.zeros(0); x.set_(torch.arange(4).storage(), 1, torch.Size([2]))
x = torch.zeros(0); x.set_(torch.arange(4))
x = torch.zeros(3); x.set_(); x, x.shape
x = torch.zeros(3); x.set_(3)
x = torch.zeros(3); x.set_(None)
p = torch.nn.Parameter(torch.ones(3)); p.data.set_(torch.zeros(3)); p
s = torch.UntypedStorage._new_shared(16); s.is_shared(), s.nbytes(), s.filename, s.tolist()
s = torch.FloatStorage._new_shared(4); s.is_shared(), len(s), torch.tensor([]).set_(s._untyped_storage).shape
x = torch.zeros(4); y = x[1:]; s = x.untyped_storage(); s.share_memory_() is s, x.is_shared(), y.is_shared(), (x.fill_(1), y)[1]
x = torch.zeros(4); s = x.storage(); type(s.untyped()).__name__, s._untyped_storage.nbytes(), x._typed_storage()._size(), x._typed_storage()._data_ptr() == x.data_ptr()
s = torch.FloatStorage([1, 2, 3]); s.half().dtype, s.int().tolist(), s.bool().tolist(), s.type(), s.pickle_storage_type(), s.is_sparse
s = torch.FloatStorage([1, 2, 3]); s["a"]
s = torch.FloatStorage([1, 2, 3]); s[5]
torch.FloatStorage.from_buffer(b"?\\x80\\x00\\x00" * 3, "big", 1, 4).tolist()
torch.FloatStorage.from_buffer(b"?\\x80\\x00\\x00")
torch.FloatStorage.from_buffer(b"?\\x80\\x00", "little")
torch.FloatStorage.from_buffer(b"?\\x80\\x00\\x00", "bg")
torch.UntypedStorage.from_buffer(b"1234", "big", dtype=torch.int16).tolist()
torch.UntypedStorage.from_buffer(b"1234")
torch.TypedStorage([1, 2]).dtype, torch.TypedStorage(wrap_storage=torch.UntypedStorage(7), dtype=torch.float32).size()
torch.TypedStorage(wrap_storage=torch.UntypedStorage(7))
torch.TypedStorage(wrap_storage=torch.FloatStorage(8), dtype=torch.float32)
torch.FloatStorage(dtype=torch.float32)
torch.FloatStorage(2, 3)
torch.FloatStorage(torch.ones(2))
torch.FloatTensor(torch.ones(2, dtype=torch.float64).storage())
isinstance(torch.ones(2).storage(), torch.FloatStorage), isinstance(torch.ones(2).storage(), torch.DoubleStorage), isinstance(torch.FloatStorage(2), torch.TypedStorage)
x = torch.ones(2); s, t, y = copy.deepcopy((x.untyped_storage(), x.storage(), x)); s.data_ptr() == t.data_ptr() == y.data_ptr() != x.data_ptr()
x = torch.ones(4); v = x._version; x.untyped_storage().fill_(0); x.storage()[0] = 3; x._version - v
s = torch.UntypedStorage.from_file(path, nbytes=8); s[0] = 9; s.tolist(), s.is_shared(), s.filename, s.resizable(), open(path, "rb").read()
s = torch.UntypedStorage.from_file(path, True, 20); s[0] = 9; s.tolist(), s.is_shared(), s.filename == path, open(path, "rb").read(), os.path.getsize(path)
torch.UntypedStorage.from_file(path).nbytes()
torch.UntypedStorage.from_file(path, False, 32)
torch.UntypedStorage.from_file(path, False, -1)
torch.UntypedStorage.from_file(path + "none")
torch.UntypedStorage.from_file(path + "none", False, 4)
torch.UntypedStorage.from_file(3)
s = torch.FloatStorage.from_file(path, True, 4); s[0] = 1.; open(path, "rb").read()[:4], type(s).__name__, len(s)
torch.TypedStorage.from_file(path, False, 2)
t = torch.from_file(path, shared=True, size=4); t[0] = 1; open(path, "rb").read()[:4], t.is_shared(), t.untyped_storage().filename == path
torch.from_file(path, size=4).resize_(8)
"""

ARRAYS = """
torch.asarray(bytearray(8), dtype=torch.float32)
torch.asarray(bytearray(8))
torch.asarray(bytearray(7), dtype=torch.float32)
torch.asarray(bytearray(0), dtype=torch.float32)
torch.asarray(b"12345678", dtype=torch.uint8, copy=False)
torch.asarray(b"12345678")
torch.asarray(array.array("f", [1, 2]))
torch.asarray(array.array("i", [1, 2]), dtype=torch.int32)
torch.asarray(array.array("i", [1, 2]))
a = array.array("f", [1, 2]); t = torch.asarray(a, copy=False); t[0] = 5; a, t
a = array.array("f", [1, 2]); t = torch.asarray(a, copy=True); t[0] = 5; a, t
a = array.array("f", [1, 2]); t = torch.asarray(memoryview(a)); t[0] = 5; a, t
a = bytearray(16); t = torch.asarray(memoryview(a).cast("i", (2, 2))); t, t.dtype
torch.asarray(memoryview(bytearray(16))[::2])
a = mmap.mmap(-1, 16); t = torch.asarray(a, dtype=torch.float32); t[0] = 1; a[:4], t.shape
torch.frombuffer(b"12345678", dtype=torch.float32)
torch.frombuffer(bytearray(8), dtype=torch.float32, count=0)
torch.frombuffer(bytearray(8), dtype=torch.float32, count=-5)
torch.frombuffer(bytearray(8), dtype=torch.float32, count=3)
torch.frombuffer(bytearray(8), dtype=torch.float32, offset=8)
torch.frombuffer([1], dtype=torch.float32)
torch.frombuffer(np.ones((2, 2), dtype=np.float32).T, dtype=torch.float32)
x = torch.zeros(4); torch.asarray(x.untyped_storage()), torch.as_tensor(x.untyped_storage(), dtype=torch.float64).shape
x = torch.zeros(4); y = torch.as_tensor(x.storage()); y[0] = 1; x, y
x = torch.zeros(4); torch.asarray(x.storage(), dtype=torch.int32)
a = np.zeros(3); t = torch.asarray(a); t[0] = 1; a
a = np.zeros(3); t = torch.asarray(a, copy=True); t[0] = 1; a
a = np.zeros(3); torch.asarray(a, dtype=torch.float32, copy=False)
torch.asarray(READ_ONLY)
torch.asarray(READ_ONLY, copy=True)
a = READ_ONLY.copy(); a.flags.writeable = False; t = torch.from_numpy(a); t[0] = 1; t[1:].fill_(2); t, a
a = READ_ONLY.copy(); a.flags.writeable = False; t = torch.as_tensor(a); t.add_(1); t, a
t = torch.from_numpy(np.broadcast_to(np.zeros(1), (3,))); t.stride()
torch.asarray(np.zeros(3)[::-1])
torch.tensor(np.zeros(3)[::-1])
torch.asarray(np.zeros(3, dtype=">f4"))
torch.from_numpy(np.zeros(3, dtype="S3"))
torch.tensor(np.ndarray((2,), np.int32, bytearray(24), strides=(9,)))
torch.asarray(np.float32(3)), torch.asarray(np.int64(3), dtype=torch.float32)
torch.asarray(np.float32(3), copy=False)
a = np.array(3.); t = torch.asarray(a); t.fill_(1); a
t = torch.from_numpy(np.zeros(6)[1::2]); t.stride(), t.storage_offset(), t.untyped_storage().nbytes()
torch.from_numpy(np.float32(1))
b = np.arange(3.); t = torch.asarray(DLPackOnly(b)); t[0] = 7; b
b = np.arange(3.); t = torch.as_tensor(DLPackOnly(b)); t[0] = 7; b
b = np.arange(3.); t = torch.asarray(DLPackOnly(b), dtype=torch.float32); t[0] = 7; b, t
b = np.arange(3.); torch.asarray(DLPackOnly(b), dtype=torch.float32, copy=False)
x = torch.ones(2); torch.asarray(x) is x, torch.asarray(x, copy=False) is x, torch.asarray(x, copy=True) is x
x = torch.ones(2); torch.asarray(x, dtype=torch.float64, copy=False)
x = torch.ones(2, requires_grad=True); torch.asarray(x) is x, torch.asarray(x, requires_grad=True) is x
x = torch.ones(2, requires_grad=True); y = torch.asarray(x, requires_grad=False); y is x, x.requires_grad
x = torch.ones(2, requires_grad=True) * 2; y = torch.asarray(x, requires_grad=False); y is x, x.requires_grad, y.requires_grad
x = torch.ones(2, requires_grad=True); y = torch.asarray(x, dtype=torch.float64, requires_grad=False); y.requires_grad, x.requires_grad
x = torch.ones(2); torch.asarray(x, requires_grad=True) is x, x.requires_grad
torch.asarray(torch.ones(2).int(), requires_grad=True)
torch.asarray(bytearray(8), dtype=torch.int32, requires_grad=True)
torch.asarray([1, 2], copy=False)
torch.asarray(3, copy=False)
torch.asarray([1, 2]), torch.asarray((1, 2.5)), torch.asarray(1j), torch.asarray(range(3)), torch.asarray([1., 2], requires_grad=True)
torch.asarray("abc")
torch.asarray(None)
p = torch.nn.Parameter(torch.ones(2)); p.numpy()
p = torch.nn.Parameter(torch.ones(2)); np.asarray(p)
p = torch.nn.Parameter(torch.ones(2)); c = off(torch.no_grad); [p.numpy(), np.asarray(p), np.array(p), p.__array__(np.float64), c.__exit__(None, None, None)]
p = torch.nn.Parameter(torch.ones(2)); c = off(torch.inference_mode); [p.numpy(), np.asarray(p), c.__exit__(None, None, None)]
p = torch.nn.Parameter(torch.ones(2)); c = off(torch.no_grad); p.numpy()[0] = 4; c.__exit__(None, None, None); p
p = torch.ones(2, requires_grad=True); np.sqrt(p)
p = torch.nn.Parameter(torch.ones(2)); a = p.numpy(force=True); a[0] = 4; p
x = torch.ones(2); a = np.asarray(x); a[0] = 2; x, np.array(x, dtype=np.int32), x.__array__("int32"), x.__array__(float)
x = torch.ones(2); np.asarray(x, dtype=np.float64, copy=False)
torch.ones(2, dtype=torch.bfloat16).numpy(force=True)
torch.ones(2, dtype=torch.complex64).conj().numpy()
torch.ones(2, dtype=torch.complex64).conj().numpy(force=True)
"""


class DLPackOnly:
    """An object that only supports the DLPack protocol."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **kwargs):
        return self.data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


def off(mode):
    """Enter a grad mode and return it."""
    entered = mode()
    entered.__enter__()
    return entered


def lines(text):
    return [line for line in text.splitlines() if line]


def outcome(line, torch, path):
    """Run a line; return the `repr` of its last expression or the type of its exception, and the warnings."""
    path.write_bytes(bytes(range(16)))
    names = {
        "torch": torch,
        "np": np,
        "array": array,
        "mmap": mmap,
        "os": os,
        "copy": copy,
        "DLPackOnly": DLPackOnly,
        "off": off,
        "READ_ONLY": READ_ONLY,
        "path": str(path),
    }
    *before, last = line.split("; ")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec("\n".join(before), names)
            made = exec(last, names) if " = " in last.partition("(")[0] else eval(last, names)
        except Exception as error:
            made = type(error)
        finally:
            torch.set_grad_enabled(True)
    told = {word for word in ("not writable", "unspecified requires_grad") for each in caught if word in str(each.message)}
    return repr(made).replace("flambeau.", "torch."), told


@pytest.fixture(autouse=True)
def always_warn():
    for torch in (theirs, ours):
        torch.set_warn_always(True)
    yield
    for torch in (theirs, ours):
        torch.set_warn_always(False)


@pytest.mark.parametrize("line", lines(STORAGES))
def test_storages(line, tmp_path):
    assert outcome(line, ours, tmp_path / "file") == outcome(line, theirs, tmp_path / "file")


@pytest.mark.parametrize("line", lines(ARRAYS))
def test_arrays(line, tmp_path):
    assert outcome(line, ours, tmp_path / "file") == outcome(line, theirs, tmp_path / "file")

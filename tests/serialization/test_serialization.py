"""`save` and `load`: round trips, shared storages, and files that cannot run code."""

from __future__ import annotations

import collections
import contextlib
import copy
import fractions
import gc
import io
import mmap
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import tarfile
import warnings
import zipfile

import pytest

import flambeau as torch

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.bool]


def saved(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def loaded(data, *args, **options):
    return torch.load(io.BytesIO(data), *args, **options)


def altered(data, old, new):
    """Replace bytes in a zip archive, and set the checksums in its directory to zero."""
    data, directory = data.replace(old, new), b"PK\x01\x02"
    for start in (match.start() for match in re.finditer(re.escape(directory), data)):
        data = data[: start + 16] + bytes(4) + data[start + 20 :]
    return data


def round_trip(obj, **options):
    return loaded(saved(obj, **options))


def assert_same_tensor(actual, expected):
    assert type(actual) is type(expected) and actual.dtype == expected.dtype
    assert actual.shape == expected.shape and actual.stride() == expected.stride()
    assert actual.requires_grad == expected.requires_grad
    assert actual.tolist() == expected.tolist()


# --- what goes in comes out ---


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_tensors(dtype, shape):
    tensor = torch.testing.make_tensor(shape, dtype=dtype, device="cpu")
    assert_same_tensor(round_trip(tensor), tensor)


def test_tensors_of_any_stride():
    base = torch.arange(60.0).reshape(3, 4, 5)
    for view in (base.permute(2, 0, 1), base[1:, ::2], base[..., 3], base[0, 0, 0]):
        assert_same_tensor(round_trip(view), view)
    assert_same_tensor(round_trip(torch.ones(1).expand(2, 3)), torch.ones(1).expand(2, 3))


def test_plain_python_data():
    data = {
        "none": None,
        "bools": (True, False),
        "float": -1.5,
        "ints": [0, -1, 255, 256, 70000, -(2**31), 10**40],
        "text": "flambeau \N{FIRE}",
        "bytes": b"\x00\xff",
        "bytearray": bytearray(b"x"),
        "complex": 1 + 2j,
        "set": {1, 2},
        "empty": [(), [], {}, "", set()],
        3: [[1, [2, (3,)]]],
        "ordered": collections.OrderedDict(b=1, a=2),
        "counter": collections.Counter("abca"),
    }
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        result = round_trip(data, pickle_protocol=protocol)
        assert result == data and list(result) == list(data)
        assert [type(result[key]) for key in ("ordered", "counter")] == [
            collections.OrderedDict,
            collections.Counter,
        ]


def test_what_tensors_are_made_of():
    things = [torch.float32, torch.bool, torch.Size([2, 3]), torch.device("cpu"), torch.strided]
    result = round_trip(things)
    assert result == things and [type(each) for each in result] == [type(each) for each in things]
    assert result[0] is torch.float32


def test_gradients_and_parameters():
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    result = round_trip([leaf, leaf * 2, torch.nn.Parameter(leaf.detach()), torch.nn.Parameter(leaf, False)])
    assert [each.requires_grad for each in result] == [True, True, True, False]
    assert all(each.is_leaf for each in result)
    assert [type(each) for each in result[2:]] == [torch.nn.Parameter] * 2


def test_attributes_of_tensors_are_kept():
    tensor, parameter = torch.ones(2), torch.nn.Parameter(torch.ones(1))
    tensor.note, parameter.tag = {"why": 1}, "x"
    result = round_trip([tensor, parameter])
    assert result[0].note == {"why": 1} and result[1].tag == "x" and type(result[1]) is torch.nn.Parameter


def test_modules_and_optimizers():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.ones(5, 3)).sum().backward()
    optimizer.step()
    state = round_trip({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    other.load_state_dict(state["net"])
    assert torch.equal(other(torch.ones(1, 3)), net(torch.ones(1, 3)))
    assert state["net"]._metadata == net.state_dict()._metadata
    fresh = torch.optim.Adam(other.parameters())
    fresh.load_state_dict(state["optimizer"])
    assert fresh.param_groups[0]["lr"] == 0.1
    whole = loaded(saved(net), weights_only=False)
    assert torch.equal(whole(torch.ones(1, 3)), net(torch.ones(1, 3)))


# --- sharing ---


@pytest.mark.parametrize("new_format", [True, False])
def test_storages_are_shared_again(new_format):
    base = torch.zeros(2, 3)
    a, b, c, other = round_trip([base, base[1], base.t(), base.clone()], _use_new_zipfile_serialization=new_format)
    a[1, 0] = 7
    assert b[0] == 7 and c[0, 1] == 7 and other[1, 0] == 0
    assert b.storage_offset() == 3
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_a_tensor_seen_twice_comes_back_once():
    tensor = torch.ones(2)
    first, second = round_trip([tensor, tensor])
    assert first is second


def test_a_view_brings_all_of_its_storage():
    view = torch.arange(100.0)[10:12]
    assert round_trip(view).untyped_storage().nbytes() == 400
    assert round_trip(view.clone()).untyped_storage().nbytes() == 8


def test_one_storage_cannot_have_two_dtypes():
    tensor = torch.zeros(4, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([tensor, tensor.view(torch.int32)])


def test_storages_themselves():
    tensor = torch.arange(3.0)
    typed, untyped = round_trip([tensor.storage(), torch.ones(2).untyped_storage()])
    assert typed.tolist() == [0.0, 1.0, 2.0] and typed.dtype == torch.float32
    assert untyped.nbytes() == 8


def test_deepcopy_keeps_sharing():
    base = torch.zeros(2, 3)
    first, second = copy.deepcopy([base, base[1]])
    first[1, 0] = 5
    assert second[0] == 5 and base[1, 0] == 0
    assert copy.deepcopy(torch.ones(2, requires_grad=True)).requires_grad


def test_plain_pickle():
    for tensor in (
        torch.arange(6).reshape(2, 3).t(),
        torch.ones(2, requires_grad=True),
        torch.tensor(1 + 2j),
    ):
        assert_same_tensor(pickle.loads(pickle.dumps(tensor)), tensor)
    parameter = torch.nn.Parameter(torch.ones(2))
    assert_same_tensor(pickle.loads(pickle.dumps(parameter)), parameter)


# --- files ---


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("plain.pt", tmp_path / "path.pt", str(tmp_path / "no_suffix")):
        torch.save(torch.ones(2), path)
        assert torch.load(path).tolist() == [1, 1]
    assert sorted(os.listdir()) == ["no_suffix", "path.pt", "plain.pt"]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    torch.save([1, 2], path)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torch.save([torch.ones(2), lambda: 0], path)
    assert torch.load(path) == [1, 2] and os.listdir(tmp_path) == ["model.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process")
def test_what_a_killed_save_left_is_removed(tmp_path):
    path = tmp_path / "model.pt"
    code = f"""
import os, signal, flambeau as torch
class Killer:
    def __reduce__(self): os.kill(os.getpid(), signal.SIGKILL)
torch.save([torch.ones(2), Killer()], {str(path)!r})
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert re.fullmatch(r"model\.pt\.\d+\.\d+\.tmp", left)
    # these must not be deleted: a temporary file of a running process, and one of another path
    others = {f"model.pt.{os.getpid()}.1.tmp", "other.pt.999999999.1.tmp"}
    for name in others:
        (tmp_path / name).touch()
    torch.save(1, path)
    assert set(os.listdir(tmp_path)) == {"model.pt", *others}


def test_a_file_reaches_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append(os.fstat(descriptor).st_size))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (steps.append("replace"), replace(old, new)))
    torch.save(torch.ones(1), tmp_path / "model.pt")
    assert steps == [(tmp_path / "model.pt").stat().st_size, "replace"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")
def test_the_collector_rests_while_files_are_written_and_read(tmp_path):
    states = []

    class Watching:
        def __reduce__(self):
            states.append(gc.isenabled())
            return collections.OrderedDict, ()

    path = tmp_path / "model.pt"
    torch.save([Watching(), torch.ones(2)], path)
    assert gc.isenabled() and states == [False]
    with pytest.raises(ZeroDivisionError):
        torch.load(path, map_location=lambda storage, location: 1 / 0)
    assert gc.isenabled()
    gc.disable()
    try:
        torch.load(path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_large_file_is_sent_to_the_disk_while_it_is_written(tmp_path, monkeypatch):
    parts = []
    monkeypatch.setattr(
        "flambeau.serialization.replacing._start_writing", lambda file, start, count: parts.append((start, count))
    )
    torch.save(torch.arange(3 << 20), tmp_path / "model.pt")
    size = (tmp_path / "model.pt").stat().st_size
    starts, counts = zip(*parts, strict=True)
    assert len(parts) >= 4 and starts == tuple(sum(counts[:i]) for i in range(len(counts)))
    assert size - (4 << 20) < sum(counts) <= size and torch.load(tmp_path / "model.pt").equal(torch.arange(3 << 20))


def test_links_and_permissions_are_kept(tmp_path):
    target, link = tmp_path / "target.pt", tmp_path / "link.pt"
    torch.save(1, target)
    target.chmod(0o640)
    link.symlink_to(target)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(target) == 2 and target.stat().st_mode & 0o777 == 0o640
    torch.save(3, os.devnull)
    assert not os.path.isfile(os.devnull)


def test_bad_files(tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, 5)
    with pytest.raises(RuntimeError, match=r"Parent directory .*nowhere does not exist\."):
        torch.save(1, tmp_path / "nowhere" / "x.pt")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    for error in (EOFError, pickle.UnpicklingError):
        with pytest.raises(error, match="Ran out of input: <BytesIO> is empty"):
            loaded(b"")
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        loaded(saved([torch.ones(3)])[:200])
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        loaded(b"not a checkpoint")

    class Pipe:
        def read(self, size=-1):
            return b""

    with pytest.raises(AttributeError, match="from a file that is seekable"):
        torch.load(Pipe())


def test_a_file_that_can_only_be_written():
    class Sink:
        data = b""

        def write(self, data):
            self.data += bytes(data)
            return len(data)

        def flush(self):
            pass

    sink = Sink()
    torch.save({"x": torch.arange(5)}, sink)
    assert loaded(sink.data)["x"].tolist() == [0, 1, 2, 3, 4]


def test_the_archive():
    data = saved([torch.zeros(size) for size in (1, 100, 0, 7)])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = [record.filename for record in archive.infolist()]
        assert {"archive/data.pkl", "archive/byteorder", "archive/version", "archive/data/0"} <= set(names)
        assert archive.read("archive/version") == b"3\n"
        assert archive.read("archive/byteorder").decode() == sys.byteorder
        for record in archive.infolist():
            start = record.header_offset
            assert (start + 30 + sum(struct.unpack("<HH", data[start + 26 : start + 30]))) % 64 == 0
            assert record.compress_type == zipfile.ZIP_STORED
    assert b"torch._utils\n_rebuild_tensor_v2\n" in data and b"torch\nFloatStorage\n" in data
    assert b"flambeau" not in data
    assert data == saved([torch.zeros(size) for size in (1, 100, 0, 7)])


def test_memory_mapping(tmp_path):
    path = tmp_path / "big.pt"
    torch.save({"x": torch.arange(1000.0), "y": torch.ones(3)}, path)
    before = path.read_bytes()
    tensors = torch.load(path, mmap=True)
    assert tensors["x"].sum() == 499500
    tensors["x"][0] = 5
    assert tensors["x"][0] == 5 and path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        loaded(before, mmap=True)
    with pytest.raises(ValueError, match="MAP_SHARED, but got 99"):
        torch.serialization.set_default_mmap_options(99)
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True)["x"][0] = 6
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path)["x"][0] == 6


def test_skipping_data():
    data = saved(torch.ones(3))
    with torch.serialization.skip_data():
        assert loaded(data).shape == (3,)
        empty = saved(torch.ones(3))
    assert len(empty) == len(data) and loaded(empty).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.float64, torch.complex64, torch.uint8])
def test_byte_order(dtype):
    tensor = torch.arange(1, 5).to(dtype)
    width = tensor.element_size() // (2 if dtype.is_complex else 1)
    data = saved(tensor, _disable_byteorder_record=True)
    raw = tensor.untyped_storage().tobytes()
    swapped = b"".join(raw[i : i + width][::-1] for i in range(0, len(raw), width))
    other = "BIG" if sys.byteorder == "little" else "LITTLE"
    try:
        torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness[other])
        assert loaded(altered(data, raw, swapped)).tolist() == tensor.tolist()
        torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.NATIVE)
        assert loaded(data).tolist() == tensor.tolist()
    finally:
        torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type"):
        torch.serialization.set_default_load_endianness("big")


# --- safety ---


class RunsCode:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class Point:
    def __init__(self, x):
        self.x = x


def archive_of(opcodes):
    """Return a checkpoint with a pickle made of these opcodes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + opcodes + b".")
        archive.writestr("archive/version", b"3\n")
    return file.getvalue()


@pytest.mark.parametrize("new_format", [True, False])
def test_loading_runs_no_code_of_the_file(tmp_path, new_format):
    path = tmp_path / "made by the file"
    data = saved({"weights": torch.ones(2), "evil": RunsCode(path)}, _use_new_zipfile_serialization=new_format)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        loaded(data)
    assert not path.exists()
    loaded(data, weights_only=False)
    assert path.exists()


def test_the_refusal_says_what_to_do():
    data = saved(Point(1))
    name = f"{__name__}.Point"
    with pytest.raises(pickle.UnpicklingError) as error:
        loaded(data)
    assert f"Unsupported global: GLOBAL {name} was not an allowed global by default." in str(error.value)
    assert f"Please use `torch.serialization.add_safe_globals([{name}])`" in str(error.value)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [name]
    assert loaded(data, weights_only=False).x == 1


def test_safe_globals():
    data = saved([Point(1), torch.ones(1)])
    before = torch.serialization.get_safe_globals()  # not empty if distributed tensors have been imported
    with torch.serialization.safe_globals([Point]):
        assert torch.serialization.get_safe_globals() == [*before, Point]
        assert loaded(data)[0].x == 1
        assert torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
    assert torch.serialization.get_safe_globals() == before
    torch.serialization.add_safe_globals([(Point, f"{__name__}.Point")])
    try:
        assert loaded(data)[0].x == 1
    finally:
        torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        loaded(data)
    for bad, error in (((Point,), ValueError), ((Point, 3), TypeError)):
        with torch.serialization.safe_globals([bad]), pytest.raises(error, match="Expected"):
            loaded(data)


def test_a_module_that_has_been_declared_safe():
    layer = torch.nn.Linear(2, 1)
    needed = set(torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(saved(layer))))
    assert needed == {"torch.nn.Linear"}
    with torch.serialization.safe_globals([torch.nn.Linear]):
        assert torch.equal(loaded(saved(layer)).weight, layer.weight)


@pytest.mark.parametrize(
    ("opcodes", "text"),
    [
        (b"cos\nsystem\n(U\x04trueoR", "whose module os is blocked"),
        (b"csys\nexit\n)R", "whose module sys is blocked"),
        (b"c__builtin__\neval\n(X\x01\x00\x00\x001tR", "GLOBAL eval was not an allowed global"),
        (b"cbuiltins\ngetattr\n)R", "GLOBAL getattr was not an allowed global"),
        (b"cflambeau.cli.launcher\nmain\n)R", "GLOBAL flambeau.cli.launcher.main was not an allowed"),
        (b"ctorch.__main__\nmain\n)R", "GLOBAL torch.__main__.main was not an allowed"),
        (b"ctorch.serialization\nos.system\n)R", "was not an allowed global"),
        (b"X\x01\x00\x00\x00a)R", "Trying to call reduce for unrecognized function 'a'"),
        (b"]K\x01)\x81", "Can only create new object for nn.Parameter or classes allowlisted"),
        (b"K\x01}b", "Can only build Tensor, Parameter, OrderedDict"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb", "Can only build"),
        (b"ctorch\nTensor\n}X\x03\x00\x00\x00sumK\x01sb", "Can only build"),
        (b"ctorch\nTensor\n)R}X\x04\x00\x00\x00noteK\x01sb", "Can only build"),
        (b"ctorch.storage\nUntypedStorage\nK\x01\x85R}X\x06\x00\x00\x00_bytesK\x01sb", "Can only"),
        (b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R", "Can only call bytearray with its contents"),
        (b"ctorch.serialization\n_get_layout\nX\x04\x00\x00\x00load\x85R", "'load' is not the name of a layout"),
        (b"K\x01K\x02a", "Can only append to lists, but got <class 'int'>"),
        (b"}(K\x01e", "Can only extend lists, but got <class 'dict'>"),
        (b"]K\x00K\x01s", "Can only SETITEM for dict"),
        (b"](K\x00K\x01u", "Can only SETITEMS for dict"),
        (b"X\x01\x00\x00\x00aQ", "persistent_load id must be tuple or int"),
        (b"X\x06\x00\x00\x00module\x85Q", "Only persistent_load of storage is allowed"),
        (b"(ios\nsystem\n", "Unsupported operand"),
        (b"\x82\x01", "Unsupported operand"),
    ],
)
def test_pickles_made_by_hand(opcodes, text):
    with pytest.raises(pickle.UnpicklingError) as error:
        loaded(archive_of(opcodes))
    assert text in str(error.value)


@pytest.mark.parametrize(("size", "stride", "offset"), [(5, 1, 0), (2, 4, 0), (1, 1, 4), (2, -1, 1), (1, 1, -1), (-1, 1, 0)])
def test_tensors_reach_no_memory_but_their_own(size, stride, offset):
    rebuild, (storage, *_) = torch.serialization.reduce_tensor(torch.arange(4.0))
    with pytest.raises(RuntimeError, match=r"setStorage: .* are out of bounds for storage of size 16|invalid"):
        rebuild(storage, offset, (size,), (stride,), False, {})


def test_a_file_cannot_ask_for_memory_outside_of_its_storage():
    data = saved(torch.arange(4.0))
    place = b"K\x00K\x04\x85"  # pickled storage offset and size
    assert data.count(place) == 1
    with pytest.raises(RuntimeError, match=r"setStorage: .* are out of bounds for storage of size 16"):
        loaded(altered(data, place, b"K\x01K\x04\x85"))
    with pytest.raises(RuntimeError, match=r"setStorage: .* are out of bounds for storage of size 16"):
        loaded(altered(data, place, b"K\x00K\xff\x85"))


@pytest.mark.parametrize("new_format", [True, False])
@pytest.mark.parametrize("checked", [True, False])
def test_damaged_files_end_in_one_kind_of_error(new_format, checked):
    obj = {"x": torch.arange(10.0), "y": [torch.ones(2, 2), {"z": 1.5, "s": {1}}], "p": torch.nn.Parameter(torch.ones(1))}
    data = saved(obj, _use_new_zipfile_serialization=new_format, pickle_protocol=4)
    generator = random.Random(0)
    torch.serialization.set_crc32_options(checked)
    try:
        for _ in range(300):
            damaged = bytearray(data)
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(data))] = generator.randrange(256)
            with contextlib.suppress(pickle.UnpicklingError, RuntimeError):
                loaded(bytes(damaged[: generator.choice((None, None, generator.randrange(1, len(data))))]))
    finally:
        torch.serialization.set_crc32_options(True)


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_a_flipped_bit_in_the_data_is_found(tmp_path, size):
    path = tmp_path / "model.pt"
    torch.save({"w": torch.zeros(size)}, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        RuntimeError, match=r"record 'data/0' of .*model.pt' is damaged: the checksum of its \d+ bytes from byte \d+"
    ):
        torch.load(path)
    torch.serialization.set_crc32_options(False)
    try:
        assert torch.load(path)["w"].count_nonzero() == 1
    finally:
        torch.serialization.set_crc32_options(True)


def test_damage_says_where_it_is(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"name": 1}, path)
    path.write_bytes(altered(path.read_bytes(), b"name", b"\xff\xff\xff\xff"))
    with pytest.raises(pickle.UnpicklingError, match=r"UnicodeDecodeError.*record 'data.pkl' of .*model.pt', near byte \d+"):
        torch.load(path)
    torch.save({"name": torch.ones(3)}, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(RuntimeError, match=r"unexpected end of file: 10 of 12 bytes \(storage '0' of .*model.pt', near byte \d+"):
        torch.load(path)


def test_errors_of_the_callers_own_code_are_not_the_files():
    with pytest.raises(ZeroDivisionError):
        loaded(saved(torch.ones(1)), map_location=lambda storage, location: 1 // 0)


@pytest.mark.parametrize("state", [{"sum": 1}, {"_array": 1}, {"_hooks": 1}, ({}, {"_array": 1}), {1: 2}])
def test_a_file_cannot_replace_what_a_tensor_consists_of(state):
    class Pickled:
        def __reduce__(self):
            tensor = torch.ones(1)
            tensor.note = 1
            function, args = tensor.__reduce_ex__(2)
            return function, (*args[:-1], state)

    with pytest.raises(pickle.UnpicklingError, match="Can only set attributes of a tensor that it does not have itself"):
        loaded(saved(Pickled()))


def test_environment_variables(monkeypatch):
    data = saved(fractions.Fraction(1, 3))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert loaded(data) == fractions.Fraction(1, 3)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="should be set, but both were set"):
        loaded(data)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        loaded(data, weights_only=False)


def test_pickle_modules():
    assert loaded(saved(Point(2)), pickle_module=pickle).x == 2
    assert loaded(saved([torch.ones(2)], pickle_module=pickle))[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        loaded(saved(1), pickle_module=pickle, weights_only=True)


# --- where storages go ---


@pytest.mark.parametrize(
    "map_location",
    [
        None,
        "cpu",
        b"cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        {"cpu": "cpu"},
        lambda storage, saved: storage,
        lambda *args: None,
        lambda storage, saved: storage.cpu(),
    ],
)
def test_map_location(map_location):
    result = loaded(saved(torch.arange(3)), map_location)
    assert result.tolist() == [0, 1, 2] and result.device.type == "cpu"


def test_map_location_sees_the_saved_location():
    seen = []
    loaded(
        saved([torch.ones(2), torch.ones(3)]),
        lambda storage, location: seen.append((storage.nbytes(), location)),
    )
    assert seen == [(8, "cpu"), (12, "cpu")]


def test_a_device_that_is_not_there():
    data = altered(saved(torch.ones(2)), b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00qpu")
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location of .* \(tagged with qpu\)"):
        loaded(data)
    assert loaded(data, {"qpu": "cpu"}).tolist() == [1, 1]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"map_location=torch.device\('cpu'\)"):
            loaded(saved(torch.ones(2)), "cuda")


def test_register_package():
    class Elsewhere:
        device = None

    def restore(storage, location):
        return storage if location == "registered" else None

    torch.serialization.register_package(5, lambda s: "registered" if isinstance(s, Elsewhere) else None, restore)
    assert torch.serialization.location_tag(Elsewhere()) == "registered"
    assert loaded(saved(torch.ones(2)), "registered").tolist() == [1, 1]


# --- the older formats ---


def test_the_format_before_zip():
    data = saved({"x": torch.arange(3.0), "n": 1}, _use_new_zipfile_serialization=False)
    assert not data.startswith(b"PK")
    assert loaded(data)["x"].tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
        loaded(pickle.dumps(3, protocol=2))
    with pytest.raises((RuntimeError, EOFError)):
        loaded(data[:-4])


def old_tar(pickled):
    """Return a file in PyTorch 0.1's tar format: a storage of 0 to 5, a 2 x 2 tensor at offset 1, and a view of it."""
    storages, tensors = io.BytesIO(), io.BytesIO()
    storages.write(pickle.dumps(1, 2) + b"\x80\x02K\nX\x03\x00\x00\x00cpuctorch\nFloatStorage\n\x87.")
    storages.write(struct.pack("<q6f", 6, *range(6)) + pickle.dumps([(11, 10, 2, 3)], 2))
    tensors.write(pickle.dumps(2, 2))
    for key, storage, sizes, strides, offset in ((20, 10, (2, 2), (2, 1), 1), (21, 11, (3,), (1,), 0)):
        tensors.write(b"\x80\x02K%cK%cctorch\nFloatTensor\n\x87." % (key, storage))
        tensors.write(struct.pack(f"<q{2 * len(sizes) + 1}q", len(sizes), *sizes, *strides, offset))
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as tar:
        for name, data in (("storages", storages.getvalue()), ("tensors", tensors.getvalue()), ("pickle", pickled)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


TAR_PICKLE = b"\x80\x02}(X\x01\x00\x00\x00wX\x02\x00\x00\x0020QX\x01\x00\x00\x00vX\x02\x00\x00\x0021Qu."


@pytest.mark.parametrize("weights_only", [True, False])
def test_the_tar_format_of_the_first_release(weights_only):
    result = loaded(old_tar(TAR_PICKLE), weights_only=weights_only)
    assert result["w"].tolist() == [[1, 2], [3, 4]] and result["v"].tolist() == [2, 3, 4]
    result["w"][0, 1] = 7
    assert result["v"][0] == 7
    with pytest.raises(pickle.UnpicklingError, match="whose module os is blocked"):
        loaded(old_tar(b"cos\nsystem\n)R."))
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match="of <BytesIO>"):
        loaded(old_tar(TAR_PICKLE)[:2000])


def test_a_stream_of_several_old_files():
    file = io.BytesIO()
    for number in range(3):
        torch.save(torch.full((2,), number), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [torch.load(file)[0].item() for _ in range(3)] == [0, 1, 2]


def test_sources_of_classes_in_old_files():
    saved_id = ("module", Point, "file.py", "class Point: 'as it was'")
    file = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            return saved_id if thing == "the class" else None

    for header in (0x1950A86A20F9469CFC6C, 1001, {}):
        pickle.dump(header, file, protocol=2)
    Pickler(file, protocol=2).dump("the class")
    pickle.dump([], file, protocol=2)
    with pytest.warns(torch.serialization.SourceChangeWarning, match="source code of class 'Point' has changed"):
        assert loaded(file.getvalue(), weights_only=False) is Point


# --- helpers ---


def test_storage_types():
    assert torch.serialization.StorageType("HalfStorage").dtype == torch.float16
    with pytest.raises(KeyError):
        torch.serialization.StorageType("WhatStorage")
    assert torch.serialization.storage_to_tensor_type(torch.FloatStorage(2)) is torch.FloatTensor
    assert torch.serialization.normalize_storage_type(torch.LongStorage) is torch.LongStorage


def test_check_module_version():
    class Module:
        __name__ = "module"
        __version__ = "1.9.x"

    check = torch.serialization.check_module_version_greater_or_equal
    assert check(Module, (1, 9)) and not check(Module, (1, 10))
    with pytest.raises(RuntimeError, match="'module' module version string is malformed"):
        check(Module(), (1, 9, 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert check(Module(), (1, 9, 0), error_if_malformed=False)
    assert "continuing assuming that requirement is met" in str(caught[0].message)


def test_checksum_option_and_temporary_folder():
    assert torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    assert not torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(True)
    with torch.serialization.mkdtemp() as folder:
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)


def test_large_archives(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("flambeau.serialization.archive.ZIP64_LIMIT", 100)  # as if records of more than 100 bytes were beyond 4 GB
        data = saved([torch.arange(100), torch.ones(2)])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
    assert loaded(data)[0].tolist() == list(range(100))


@pytest.mark.parametrize("zipped", [False, True])
def test_storages_are_read_by_readinto(zipped):
    class Counting(io.BytesIO):
        calls, limit = 0, 24  # `readinto` may return fewer bytes than there is space for

        def readinto(self, buffer):
            Counting.calls += 1
            return super().readinto(memoryview(buffer)[: self.limit])

    buffer = io.BytesIO()
    torch.save(torch.arange(20), buffer, _use_new_zipfile_serialization=zipped)
    file = Counting(buffer.getvalue())
    assert torch.load(file).tolist() == list(range(20))
    assert Counting.calls >= 7
    with pytest.raises(RuntimeError):
        torch.load(Counting(buffer.getvalue()[:-9]))

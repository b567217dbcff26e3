"""Malicious files: code, endless keys and messages, and sizes that the file cannot hold are refused, in time and memory."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from mutations import nested_tuple

import flambeau as torch
from flambeau.serialization.contents import read_contents
from flambeau.serialization.names import allowed_globals
from flambeau.serialization.npz import load_npz
from flambeau_nnlib import hub
from flambeau_nnlib.compile.jit._operators import find_operator
from flambeau_nnlib.distributed import checkpoint
from flambeau_nnlib.distributed.checkpoint import pickles
from flambeau_nnlib.distributed.checkpoint.format_utils import torch_save_to_dcp

BOMB = nested_tuple(80)  # hashing or printing it would take 2**80 steps


class Canary:
    touched = False

    @staticmethod
    def touch(*args):
        Canary.touched = True


@pytest.fixture
def canary():
    Canary.touched = False
    yield Canary
    assert not Canary.touched, "code of the file ran"


@pytest.fixture
def little_memory():
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 << 20


def archive_of(opcodes: bytes) -> bytes:
    return zip_of({"archive/data.pkl": b"\x80\x02" + opcodes + b".", "archive/version": b"3\n"})


def zip_of(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    return file.getvalue()


def legacy_of(opcodes: bytes) -> bytes:
    file = io.BytesIO()
    torch.save(0, file, _use_new_zipfile_serialization=False)
    return file.getvalue().replace(b"\x80\x02K\x00.", b"\x80\x02" + opcodes + b".")


def assert_refused(data: bytes, text: str, path: Path) -> None:
    """Assert that `load` refuses a file with a message that contains `text`, and that `inspect` ends."""
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as error:
        torch.load(io.BytesIO(data))
    assert text in str(error.value)
    path.write_bytes(data)
    try:
        read_contents(path)
    except (pickle.UnpicklingError, RuntimeError):
        return


# --- files that would never finish ---

KEYS = {
    "setitem": b"}" + BOMB + b"K\x01s",
    "setitems": b"}(" + BOMB + b"K\x01u",
    "dict": b"(" + BOMB + b"K\x01d",
    "additems": b"\x8f(" + BOMB + b"\x90",
    "frozenset": b"(" + BOMB + b"\x91",
    "set": b"cbuiltins\nset\n](" + BOMB + b"e\x85R",
    "OrderedDict": b"ccollections\nOrderedDict\n](" + BOMB + b"K\x01\x86e\x85R",
    "Counter": b"ccollections\nCounter\n](" + BOMB + b"e\x85R",
    "deep": b"}" + b")" + b"\x85" * 20_000 + b"K\x01s",
    "many": b"}(" + nested_tuple(12) + b"q\x01K\x01" + b"h\x01K\x01" * 5000 + b"u",
}


@pytest.mark.parametrize("pack", [archive_of, legacy_of])
@pytest.mark.parametrize("opcodes", KEYS.values(), ids=KEYS.keys())
def test_tuples_that_take_too_long_to_hash(opcodes, pack, tmp_path):
    assert_refused(pack(opcodes), "tuples used as keys have more than", tmp_path / "file.pt")


def test_tuples_as_keys_remain_possible():
    content = {(1, ("a", (2, 3))): 1, "set": {(4, 5)}} | {(number, number): number for number in range(1000)}
    file = io.BytesIO()
    torch.save(content, file)
    assert torch.load(io.BytesIO(file.getvalue())) == content


PLACES = {
    "called": BOMB + b")R", "instantiated": BOMB + b")\x81", "state": BOMB + b"}b", "id": BOMB + b"Q",
    "id of a storage": b"(X\x07\x00\x00\x00storage" + BOMB + b"h\x00h\x00h\x00tQ", "list": BOMB + b"K\x01a",
}  # fmt: skip


@pytest.mark.parametrize("opcodes", PLACES.values(), ids=PLACES.keys())
def test_messages_do_not_print_endless_tuples(opcodes, tmp_path):
    assert_refused(archive_of(opcodes), "", tmp_path / "file.pt")


@pytest.mark.parametrize("name", sorted(name for name, value in allowed_globals().items() if callable(value)))
def test_functions_that_files_may_call_end_for_endless_arguments(name, tmp_path):
    module, _, function = name.rpartition(".")
    for count in range(1, 9):
        for place in range(count):
            arguments = b"".join(BOMB if index == place else b"J\xff\xff\xff\xff" for index in range(count))
            data = archive_of(f"c{module}\n{function}\n(".encode() + arguments + b"tR")
            try:
                torch.load(io.BytesIO(data))
            except (pickle.UnpicklingError, RuntimeError):
                continue


def test_inspect_does_not_print_endless_values(tmp_path, capsys):
    from flambeau.cli.inspecting import main

    path = tmp_path / "file.pt"
    path.write_bytes(archive_of(b"}X\x01\x00\x00\x00a" + nested_tuple(110) + b"s"))
    assert main([str(path)]) == 2
    assert "more than a million values" in capsys.readouterr().err
    deep = b"}X\x01\x00\x00\x00a" + b"]" * 101 + BOMB + b"a" * 101 + b"s"
    number = b"X\x01\x00\x00\x00b\x8b" + struct.pack("<l", 9000) + b"\x01" * 9000 + b"s"
    path.write_bytes(archive_of(deep + number))
    assert main([str(path)]) == 0
    output = capsys.readouterr().out
    assert output.endswith("...\nb = <a large int>\n")


# --- sizes that the file cannot hold ---


def test_records_of_an_archive_do_not_overlap(little_memory):
    file = io.BytesIO()
    torch.save([torch.zeros(1 << 20)] + [torch.ones(4) for _ in range(40)], file)
    data = bytearray(file.getvalue())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        entries = {info.filename: info for info in archive.infolist()}
        position, large = archive.start_dir, entries["archive/data/0"]
    while data[position : position + 4] == b"PK\x01\x02":
        if b"archive/data/" in data[position + 46 : position + 60]:  # each storage becomes the large one
            data[position + 20 : position + 28] = struct.pack("<LL", large.file_size, large.file_size)
        position += 46 + sum(struct.unpack("<3H", data[position + 28 : position + 34]))
    with pytest.raises(RuntimeError, match="records overlap: their data has"):
        torch.load(io.BytesIO(bytes(data)))


@pytest.mark.parametrize("load", [
    load_npz, torch.jit.load, torch.export.load, lambda path: hub.load_state_dict_from_url(Path(path).as_uri(), progress=False),
], ids=["npz", "TorchScript", "pt2", "hub"])  # fmt: skip
def test_zip_bombs(load, tmp_path, monkeypatch, little_memory):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    data = bytearray(zip_of({"a.npy": bytes(1 << 20)}, zipfile.ZIP_DEFLATED))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<L", (1 << 31))
    path = tmp_path / "bomb.zip"
    path.write_bytes(data)
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match="would expand to 2147483648 bytes"):
        load(str(path))


def test_tensors_in_a_safetensors_file_do_not_overlap(tmp_path, little_memory):
    size = 1 << 20
    header = json.dumps({str(n): {"dtype": "U8", "shape": [size], "data_offsets": [0, size]} for n in range(100)}).encode()
    path = tmp_path / "file.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(RuntimeError, match="the tensors have 104857600 bytes, the file 1048576"):
        torch.load(path)


@pytest.mark.parametrize("shape", [[1 << 63], [2] * 65, [True], [-1], [0.5], ["1"], [10**4000] * 60])
def test_shapes(tmp_path, shape):
    header = json.dumps({"a": {"dtype": "U8", "shape": shape, "data_offsets": [0, 1]}}).encode()
    path = tmp_path / "file.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"x")
    for read in (torch.load, read_contents):
        with pytest.raises(RuntimeError, match="expected a shape of at most 64 non-negative integers"):
            read(path)


def test_storages_of_a_legacy_file_fit_into_it(little_memory):
    storage = b"(X\x07\x00\x00\x00storagectorch\nByteStorage\nX\x02\x00\x00\x00%02dX\x03\x00\x00\x00cpuJ\x00\x00\x10\x00NtQ"
    data = legacy_of(b"](" + b"".join(storage % number for number in range(99)) + b"e") + bytes(1 << 20)
    with pytest.raises(RuntimeError, match="the storages up to '01' should have 2097152 bytes"):
        torch.load(io.BytesIO(data))


@pytest.mark.parametrize(
    "opcodes", [b"\x8e" + b"\xff" * 6 + b"\x00\x00", b"\x96" + b"\xff" * 6 + b"\x00\x00", b"T\xff\xff\xff\x7f"]
)
def test_long_strings_of_a_legacy_file(opcodes, tmp_path, little_memory):
    path = tmp_path / "file.pt"
    path.write_bytes(legacy_of(opcodes))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path)


def test_sparse_members_of_a_tar_archive(tmp_path, little_memory):
    info = tarfile.TarInfo("storages")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % (1 << 32)  # the size with holes
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    path = tmp_path / "file.pt"
    path.write_bytes(bytes(header) + bytes(1024))
    with pytest.raises(RuntimeError, match="member 'storages' is not a regular file"):
        torch.load(path)


def test_data_is_skipped_only_if_the_file_has_it():
    file = io.BytesIO()
    torch.save(torch.ones(3), file)
    with zipfile.ZipFile(file) as archive:
        records = {name: archive.read(name).replace(b"K\x03tQ", b"K\xfftQ") for name in archive.namelist()}
    data = zip_of(records)
    with torch.serialization.skip_data(), pytest.raises(RuntimeError, match="has 12 bytes, but the pickle requires 1020"):
        torch.load(io.BytesIO(data))


# --- code ---


class RunsCode:
    def __reduce__(self):
        return Canary.touch, ()


def test_checkpoints_from_urls_are_data_unless_the_caller_says_otherwise(tmp_path, canary):
    path = tmp_path / "model.pt"
    torch.save({"a": RunsCode()}, path)
    for load in (hub.load_state_dict_from_url, torch.utils.model_zoo.load_url):
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            load(path.as_uri(), str(tmp_path / "hub"), progress=False)
    assert not canary.touched
    with pytest.warns(UserWarning, match="weights_only=False runs any code in the file"):
        hub.load_state_dict_from_url(path.as_uri(), str(tmp_path / "hub"), progress=False, weights_only=False)
    assert canary.touched
    canary.touched = False


def test_weights_of_vision_models_are_data(tmp_path, canary, monkeypatch):
    from flambeau_vision.models import ResNet18_Weights

    path = tmp_path / "model.pt"
    torch.save({"a": RunsCode()}, path)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(ResNet18_Weights, "url", path.as_uri())
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        ResNet18_Weights.DEFAULT.get_state_dict(progress=False)


def test_distributed_checkpoints_are_data(tmp_path, canary):
    checkpoint.save({"a": RunsCode(), "b": torch.ones(2)}, checkpoint_id=str(tmp_path), no_dist=True)
    with pytest.raises(checkpoint.CheckpointException, match="Weights only load failed"):
        checkpoint.load({"a": None, "b": torch.zeros(2)}, checkpoint_id=str(tmp_path), no_dist=True)
    torch.save({"a": RunsCode()}, tmp_path / "file.pt")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "folder")


METADATA = {
    "function": b"ctorch.serialization\n_get_layout\nX\x0a\x00\x00\x00torch.save\x85R",
    "state of a class": b"ctorch.distributed.checkpoint.metadata\nMetadata\nN}X\x01\x00\x00\x00aK\x01s\x86b",
    "state of a function": b"ctorch.serialization\n_get_layout\nN}X\x0c\x00\x00\x00__defaults__)s\x86b",
    "attribute of a class": b"cbuiltins\ngetattr\nctorch.distributed.checkpoint.metadata\nMetadata\nX\x08\x00\x00\x00__init__\x86R",
    "key": b"}" + BOMB + b"K\x01s",
    "another object": b"K\x01",
    "memo": b"K\x01r\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("opcodes", METADATA.values(), ids=METADATA.keys())
def test_metadata_of_checkpoints(opcodes, little_memory):
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match="metadata"):
        pickles.load(io.BytesIO(b"\x80\x02" + opcodes + b"."))
    assert not hasattr(checkpoint.Metadata, "a") and pickles._get_layout.__defaults__ is None


def test_metadata_of_checkpoints_with_members_of_enumerations():
    """Python 3.11.0 to 3.11.3 pickle a member as `getattr(cls, name)`."""
    opcodes = b"cbuiltins\ngetattr\nctorch.distributed.checkpoint.metadata\n_MEM_FORMAT_ENCODING\nX\x17\x00\x00\x00TORCH_CONTIGUOUS_FORMAT\x86R"
    member = pickles._Unpickler(io.BytesIO(b"\x80\x02" + opcodes + b".")).load()
    assert member.name == "TORCH_CONTIGUOUS_FORMAT"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", "..\\b"])
def test_files_of_checkpoints_are_in_its_folder(tmp_path, path):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    checkpoint.save({"a": torch.ones(2)}, checkpoint_id=str(folder), no_dist=True)
    outside.write_bytes(b"keep")
    metadata = pickles.load(io.BytesIO((folder / ".metadata").read_bytes()))
    for place in metadata.storage_data.values():
        place.relative_path = path
    with (folder / ".metadata").open("wb") as file:
        pickles.dump(metadata, file)
    with pytest.raises(checkpoint.CheckpointException, match="outside the folder of the checkpoint"):
        checkpoint.load({"a": torch.zeros(2)}, checkpoint_id=str(folder), no_dist=True)
    with pytest.raises(checkpoint.CheckpointException, match="outside the folder of the checkpoint"):
        checkpoint.save({"a": torch.ones(2)}, checkpoint_id=str(folder), no_dist=True)
    assert outside.read_bytes() == b"keep"


def exported() -> tuple[dict, dict[str, bytes]]:
    file = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),)), file)
    with zipfile.ZipFile(file) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(records["program.json"]), records


CODE = "__import__('test_malicious_files').Canary.touch()"
NAMES = [f"x={CODE}", f"x:{CODE}", f"x\n    {CODE}", "x y", "", "if", "x,", "1x", 3]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["name", "target", "get_attr", "keyword", "argument", "module", "keyword argument"])
def test_names_in_exported_programs_do_not_become_code(name, place, canary):
    program, records = exported()
    first, last = program["graph"]["nodes"][0], program["graph"]["nodes"][-2]
    if place in ("name", "target"):
        first[place] = name
    elif place == "get_attr":
        last.update(op="get_attr", target=name, args={"tuple": []})
    elif place == "keyword":
        last["kwargs"] = {"dict": [[name, 1]]}
    elif place == "argument":
        program["names"] = [name]
    elif place == "module":
        program["modules"] = [name]
    else:
        tree = json.loads(program["in_spec"])
        tree[1]["children_spec"][1].update(
            context=json.dumps([name]), children_spec=[{"type": None, "context": None, "children_spec": []}]
        )
        program["in_spec"] = json.dumps(tree)
    data = zip_of(records | {"program.json": json.dumps(program).encode()})
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match="invalid name|damaged"):
        torch.export.load(io.BytesIO(data))


@pytest.mark.parametrize("change", [
    {"op": "call_method", "target": "numpy"}, {"op": "call_module", "target": "x"}, {"target": "torch.ops.aten.save.default"},
    {"target": "torch.ops.aten.from_file"}, {"target": "torch.ops.__class__.x.default"}, {"target": "os.system"},
])  # fmt: skip
def test_nodes_of_exported_programs(change, canary):
    program, records = exported()
    program["graph"]["nodes"][-2] |= change
    data = zip_of(records | {"program.json": json.dumps(program).encode()})
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        torch.export.load(io.BytesIO(data))


@pytest.mark.parametrize(
    "path", ["torch.from_file", "aten.from_file", "ops.aten.from_file", "torch.save", "torch.load", "aten.save"]
)
def test_archives_use_no_operators_that_touch_files(path, tmp_path):
    with pytest.raises(RuntimeError, match="which is not supported"):
        find_operator(path)(str(tmp_path / "file"), True, 10)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("opcodes", [
    b"ctorch\ndevice\nN}X\x04\x00\x00\x00typeK\x01s\x86b", b"cbuiltins\neval\nX\x01\x00\x00\x001\x85R", BOMB + b")R",
    b"}" + BOMB + b"K\x01s", b"K\x01r\xff\xff\xff\x7f", b"K\x01",
])  # fmt: skip
def test_pickles_of_script_archives(opcodes, canary, little_memory):
    records = {
        "m/data.pkl": b"\x80\x02" + opcodes + b".",
        "m/constants.pkl": b"\x80\x02).",
        "m/version": b"3",
        "m/code/x.py": b"",
    }
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        torch.jit.load(io.BytesIO(zip_of(records)))
    assert torch.device("cpu").type == "cpu"


@pytest.mark.parametrize("code", [b"class", b"def f(:\n", b"\x00", b"\xff", b"  x", b"import os", b"(" * 10_000, b"-" * 10_000])
def test_damaged_code_of_script_archives(code, canary):
    records = {"m/data.pkl": b"\x80\x02}.", "m/constants.pkl": b"\x80\x02).", "m/version": b"3", "m/code/x.py": code}
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as error:
        torch.jit.load(io.BytesIO(zip_of(records)))
    assert type(error.value) in (RuntimeError, torch.serialization.damage.DamageError)

"""`torch.PyTorchFileReader` and `torch.PyTorchFileWriter`, which read and write single records of a file."""

from __future__ import annotations

import io
import zipfile

import pytest

import flambeau as torch


def test_records_of_a_saved_file(tmp_path):
    path = tmp_path / "model.pt"
    weight = torch.arange(5.0)
    torch.save({"weight": weight}, path)
    reader = torch.PyTorchFileReader(str(path))
    with zipfile.ZipFile(path) as archive:
        assert reader.get_all_records() == [name.partition("/")[2] for name in archive.namelist()]
        header = next(info.header_offset for info in archive.infolist() if info.filename.endswith("data/0"))
    assert reader.has_record("data.pkl") and not reader.has_record("data/1")
    offset, size = reader.get_record_offset("data/0"), reader.get_record_size("data/0")
    assert path.read_bytes()[offset : offset + size] == weight.numpy().tobytes() == reader.get_record("data/0")
    assert reader.get_record_header_offset("data/0") == header < offset and offset % 64 == 0
    found = reader.get_storage_from_record("data/0", 5, torch.float32)
    assert found.shape == (0,) and found.dtype is torch.float32 and found.untyped_storage().nbytes() == 20
    assert torch.empty(0).set_(found.untyped_storage()).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("where", ["file", "buffer"])
def test_written_records(tmp_path, where):
    target = str(tmp_path / "a.pt") if where == "file" else io.BytesIO()
    writer = torch._C.PyTorchFileWriter(target)
    writer.write_record("a.bin", b"abcdef", 3)
    writer.write_record("t/0", torch.ones(2).untyped_storage(), 8)
    writer.write_record("text", "h\u00e9", 3)
    writer.set_min_version(5)
    assert writer.get_all_written_records() == {"a.bin", "t/0", "text"} and writer.archive_name() == "archive"
    with pytest.raises(RuntimeError, match=r"a\.bin has already been written"):
        writer.write_record("a.bin", b"", 0)
    with pytest.raises(RuntimeError, match="size is 9, but"):
        writer.write_record("b", b"abc", 9)
    writer.write_end_of_file()
    writer.write_end_of_file()
    with pytest.raises(RuntimeError, match="after write_end_of_file"):
        writer.write_record("c", b"", 0)
    reader = torch.PyTorchFileReader(target)
    assert reader.get_record("a.bin") == b"abc" and reader.get_record("text").decode() == "h\u00e9"
    assert reader.get_record("t/0") == torch.ones(2).numpy().tobytes()
    assert reader.get_record("version") == b"5\n" and reader.get_record("byteorder") in (b"little", b"big")
    assert len(reader.serialization_id()) == 40


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(RuntimeError, match="errno 2"):
        torch.PyTorchFileReader(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        torch.PyTorchFileReader(io.BytesIO(b"abc"))
    file = io.BytesIO()
    torch.save([1], file)
    with pytest.raises(RuntimeError, match="locating file nope"):
        torch.PyTorchFileReader(file).get_record("nope")
    with pytest.raises(RuntimeError, match="storage_alignment: expected 1 to 32768 bytes, but got 65536"):
        torch.PyTorchFileWriter(io.BytesIO(), storage_alignment=65536)

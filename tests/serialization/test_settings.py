"""`torch.utils.serialization.config`: the settings of `torch.save` and `torch.load`."""

from __future__ import annotations

import mmap
import zipfile
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.utils.serialization import config


def data_offsets(path: Path) -> list[int]:
    """Return the positions of tensor data in a file."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        found = []
        for record in archive.infolist():
            if "/data/" in record.filename:
                file.seek(record.header_offset + 26)
                name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
                found.append(record.header_offset + 30 + name + extra)
    return found


@pytest.mark.parametrize("alignment", [1, 64, 4096, 32768])
@pytest.mark.parametrize("mapped", [False, True])
def test_alignment_of_tensor_data(tmp_path: Path, alignment: int, mapped: bool) -> None:
    path, tensors = tmp_path / "tensors.pt", [torch.arange(5.0, dtype=torch.float64), torch.arange(3), torch.ones(0)]
    with config.patch("save.storage_alignment", alignment):
        torch.save(tensors, path)
    assert all(offset % alignment == 0 for offset in data_offsets(path))
    for loaded, tensor in zip(torch.load(path, mmap=mapped), tensors, strict=True):
        assert torch.equal(loaded, tensor) and torch.equal(loaded + loaded, tensor + tensor)


def test_unsupported_alignment(tmp_path: Path) -> None:
    (path := tmp_path / "tensors.pt").write_bytes(b"before")
    with config.patch({"save.storage_alignment": 0}), pytest.raises(RuntimeError, match="expected 1 to 32768 bytes, but got 0"):
        torch.save(torch.ones(1), path)
    assert path.read_bytes() == b"before"


def test_mapping_by_default(tmp_path: Path) -> None:
    torch.save(torch.ones(1000), path := tmp_path / "tensors.pt")
    with config.patch({"load.mmap": True, "load.mmap_flags": mmap.MAP_SHARED}):
        torch.load(path)[0] = 2
        with path.open("rb") as file, pytest.raises(ValueError, match="must be a file path"):
            torch.load(file)
        with path.open("rb") as file:
            torch.load(file, mmap=False)
    assert torch.load(path, mmap=True).sum() == 1001


def test_settings_are_those_of_the_functions() -> None:
    serialization = torch.serialization
    with config.patch("save.compute_crc32", False), config.patch("load.endianness", serialization.LoadEndianness.BIG):
        assert not serialization.get_crc32_options()
        assert serialization.get_default_load_endianness() is serialization.LoadEndianness.BIG
    assert serialization.get_crc32_options() and serialization.get_default_load_endianness() is None
    assert config.load.mmap_flags == serialization.get_default_mmap_options()
    with pytest.raises(AttributeError):
        config.save.unknown = 1

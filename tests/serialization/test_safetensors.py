"""`torch.load` of `.safetensors` files: contents, errors, and memory mapping."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest

import flambeau as torch


def test_safetensors(tmp_path):
    weights = struct.pack("<4f", 1, 2, 3, 4) + struct.pack("<2q", 5, -6) + struct.pack("<H", 0x3F80)
    header = {
        "__metadata__": {"format": "pt"},
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "n": {"dtype": "I64", "shape": [2], "data_offsets": [16, 32]},
        "b": {"dtype": "BF16", "shape": [], "data_offsets": [32, 34]},
    }
    encoded = json.dumps(header).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + weights)
    tensors = torch.load(path)
    assert tensors["w"].tolist() == [[1, 2], [3, 4]] and tensors["w"].dtype == torch.float32
    assert tensors["n"].tolist() == [5, -6] and tensors["b"].item() == 1.0 and list(tensors) == ["w", "n", "b"]
    assert torch.load(path, map_location=torch.device("cpu"))["n"].tolist() == [5, -6]
    with pytest.raises(RuntimeError, match="with dict map_location is not supported"):
        torch.load(path, map_location={})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="unexpected end of safetensors file"):
        torch.load(path)


@pytest.mark.parametrize("prefix", [0, 1], ids=["aligned", "unaligned"])
def test_mapped_safetensors(tmp_path, prefix):
    numbers = torch.arange(50_000, dtype=torch.float32)
    entries = {
        "large": {"dtype": "F32", "shape": [100, 500], "data_offsets": [0, 200_000]},
        "small": {"dtype": "F32", "shape": [2], "data_offsets": [200_000, 200_008]},
    }
    encoded = json.dumps(entries).encode()
    encoded += b" " * (-len(encoded) % 8 + prefix)
    data = struct.pack("<50002f", *range(50_000), 5, -6)
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    before = path.read_bytes()
    tensors = torch.load(path, mmap=True)
    assert tensors["large"].shape == (100, 500) and torch.equal(tensors["large"].flatten(), numbers)
    assert tensors["small"].tolist() == [5, -6]
    tensors["large"].add_(1)
    assert tensors["large"][-1, -1] == 50_000 and path.read_bytes() == before
    path.write_bytes(before[:-9])
    with pytest.raises(RuntimeError, match="unexpected end of safetensors file|the tensors have 200008 bytes"):
        torch.load(path, mmap=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="mappings are listed in /proc on Linux")
def test_tensors_of_safetensors_are_unmapped_one_by_one(tmp_path):
    def mapped() -> int:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        return sum(line.endswith("model.safetensors") for line in lines)

    entries = {
        name: {"dtype": "U8", "shape": [1 << 17], "data_offsets": [start, start + (1 << 17)]}
        for name, start in (("first", 0), ("second", 1 << 17))
    }
    encoded = json.dumps(entries).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(1 << 18))
    tensors = torch.load(path, mmap=True)
    assert mapped() == 2
    del tensors["first"]
    assert mapped() == 1

"""The commands `python -m flambeau inspect` and `convert`, and the safetensors library with flambeau."""

from __future__ import annotations

import contextlib
import fractions
import io
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

import flambeau as torch
from flambeau.cli.commands import run_command
from flambeau.serialization.contents import flatten_names, read_contents


class RunsCode:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def state():
    base = torch.arange(12.0)
    return {
        "layer": {"weight": base.reshape(3, 4), "row": base[4:8], "bias": torch.ones(3, dtype=torch.float16)},
        "moments": [torch.zeros(2, dtype=torch.int64), torch.tensor(True)],
        "epoch": 3,
    }


NAMES = ["layer.weight", "layer.row", "layer.bias", "moments.0", "moments.1"]


def run(*arguments):
    """Return the exit status and the output of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        status = run_command(arguments[0], [str(argument) for argument in arguments[1:]])
    return status, printed.getvalue()


@pytest.mark.parametrize("new_format", [True, False])
def test_what_is_in_a_file(tmp_path, state, new_format):
    path = tmp_path / "model.pt"
    torch.save(state, path, _use_new_zipfile_serialization=new_format)
    contents = read_contents(path)
    assert list(contents.tensors) == NAMES and contents.values == {"epoch": 3} and contents.refused == []
    weight, row = contents.tensors["layer.weight"], contents.tensors["layer.row"]
    assert (weight.dtype, weight.shape, weight.nbytes) == (torch.float32, (3, 4), 48)
    assert row.storage == weight.storage and row.nbytes == 16
    assert contents.storage_nbytes == 48 + 6 + 16 + 1
    status, printed = run("inspect", path)
    assert status == 0 and "5 tensors, 22 elements, 71 bytes in 4 storages" in printed and "epoch = 3" in printed


def test_no_data_is_read(tmp_path):
    path = tmp_path / "model.pt"
    torch.save(torch.ones(1000), path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert read_contents(path).tensors["value"].shape == (1000,)
    with pytest.raises(RuntimeError, match="checksum"):
        torch.load(path)


@pytest.mark.parametrize("new_format", [True, False])
def test_nothing_in_a_file_is_run(tmp_path, new_format):
    path, victim = tmp_path / "model.pt", tmp_path / "made by the file"
    torch.save({"w": torch.ones(2), "evil": RunsCode(victim)}, path, _use_new_zipfile_serialization=new_format)
    contents = read_contents(path)
    assert list(contents.tensors) == ["w"] and contents.refused == [f"{os.mkdir.__module__}.mkdir"] and not victim.exists()
    assert "load() would refuse" in run("inspect", path)[1]


def test_a_whole_module_is_listed_as_its_state_dict(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    torch.save(net, tmp_path / "net.pt")
    contents = read_contents(tmp_path / "net.pt")
    assert {name: entry.shape for name, entry in contents.tensors.items()} == {k: v.shape for k, v in net.state_dict().items()}
    assert "torch.nn.Linear" in contents.refused


def test_names_do_not_reach_the_terminal_as_control_codes(tmp_path):
    torch.save({"\x1b[2J": torch.ones(1)}, tmp_path / "model.pt")
    status, printed = run("inspect", tmp_path / "model.pt")
    assert status == 0 and "\x1b" not in printed and r"\x1b[2J" in printed


def test_containers_that_hold_each_other_many_times_end():
    tree = []
    for _ in range(60):
        tree = [tree, tree]
    with pytest.raises(RuntimeError, match="more than a million"):
        list(flatten_names(tree))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "text.pt").write_text("not a checkpoint")
    (tmp_path / "cut.safetensors").write_bytes(b"\xff" * 20)
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04")
    for name in ("text.pt", "cut.safetensors", "cut.npz", "missing.pt"):
        status, printed = run("inspect", tmp_path / name)
        assert status == 2 and name in printed, printed


@pytest.mark.parametrize("suffix", ["pt", "legacy.pt", "safetensors", "npz"])
def test_damaged_files_end_in_one_kind_of_error(tmp_path, state, suffix):
    path = tmp_path / f"model.{suffix}"
    torch.save(state, tmp_path / "source.pt")
    assert run("convert", tmp_path / "source.pt", path, *["--legacy"][: suffix.startswith("legacy")])[0] == 0
    data, generator = path.read_bytes(), random.Random(0)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(3):
            damaged[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(damaged)
        with contextlib.suppress(pickle.UnpicklingError, RuntimeError):
            read_contents(path)
        assert run("convert", path, tmp_path / "out.pt")[0] in (0, 2)


@pytest.mark.parametrize("suffix", ["pt", "safetensors", "npz"])
def test_conversion_keeps_the_tensors(tmp_path, state, suffix):
    source, target, back = tmp_path / "a.pt", tmp_path / f"b.{suffix}", tmp_path / "c.pt"
    torch.save(state, source)
    status, printed = run("convert", source, target)
    assert status == 0 and ("omitted, as they are not tensors: epoch" in printed) == (suffix != "pt")
    assert sorted(read_contents(target).tensors) == sorted(NAMES)
    assert run("convert", target, back)[0] == 0
    assert run("inspect", "--diff", source, back) == (0, "0 tensors differ, 5 are equal\n")


def test_numpy_reads_what_is_written_and_the_other_way_round(tmp_path, state):
    torch.save(state, tmp_path / "a.pt")
    run("convert", tmp_path / "a.pt", tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["layer.weight"].tolist() == state["layer"]["weight"].tolist() and arrays["moments.1"].shape == ()
    np.savez_compressed(tmp_path / "b.npz", f=np.asfortranarray(np.arange(6.0).reshape(2, 3)), b=np.arange(3, dtype=">i4"))
    assert run("convert", tmp_path / "b.npz", tmp_path / "b.pt")[0] == 0
    loaded = torch.load(tmp_path / "b.pt")
    assert loaded["f"].tolist() == [[0, 1, 2], [3, 4, 5]] and loaded["b"].tolist() == [0, 1, 2]
    torch.save(torch.ones(1, dtype=torch.bfloat16), tmp_path / "c.pt")
    status, printed = run("convert", tmp_path / "c.pt", tmp_path / "c.npz")
    assert status == 2 and "NumPy has no torch.bfloat16" in printed and not (tmp_path / "c.npz").exists()
    np.savez(tmp_path / "d.npz", np.array([object()]))
    assert run("convert", tmp_path / "d.npz", tmp_path / "d.pt")[0] == 2


def test_differences(tmp_path):
    nan = float("nan")
    torch.save(
        {"same": torch.tensor([1.0, nan]), "w": torch.zeros(4), "gone": torch.ones(1), "i": torch.ones(2)}, tmp_path / "a.pt"
    )
    changed = {"same": torch.tensor([1.0, nan]), "w": torch.tensor([0, 0, 0.5, -1.5]), "i": torch.ones(2, dtype=torch.int64)}
    torch.save(changed | {"new": torch.ones(1)}, tmp_path / "b.pt")
    status, printed = run("inspect", "--diff", tmp_path / "a.pt", tmp_path / "b.pt")
    assert status == 1 and printed.splitlines() == [
        "w: 2 of 4 elements, by at most 1.5, 1 on average",
        f"gone: only in {tmp_path / 'a.pt'}",
        "i: dtype float32 and int64",
        f"new: only in {tmp_path / 'b.pt'}",
        "4 tensors differ, 1 is equal",
    ]


def test_the_command_line(tmp_path):
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pt")
    result = subprocess.run(
        [sys.executable, "-m", "flambeau", "inspect", str(tmp_path / "a.pt")], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0 and "1 tensor, 2 elements, 8 bytes in 1 storage" in result.stdout and not result.stderr


SAFETENSORS = """
import torch, safetensors.torch as st
from safetensors import safe_open
path = {path!r}
tensors = {{"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(3, dtype=torch.bfloat16), "e": torch.empty(0, 2)}}
st.save_file(tensors, path, metadata={{"format": "pt"}})
assert all(torch.equal(tensors[name], loaded) for name, loaded in st.load_file(path).items())
assert torch.equal(st.load(st.save(tensors))["w"], tensors["w"])
with safe_open(path, framework="pt", device="cpu") as file:
    assert sorted(file.keys()) == ["b", "e", "w"] and torch.equal(file.get_tensor("w"), tensors["w"])
    assert file.get_slice("w")[:, 1:].tolist() == [[1, 2], [4, 5]]

def tied():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    net[1].weight = net[0].weight
    return net

first, second = tied(), tied()
st.save_model(first, path)
assert st.load_model(second, path) == (set(), [])
assert torch.equal(second[0].weight, first[0].weight) and second[0].weight is second[1].weight
try:
    st.save_file({{"x": first[0].weight, "y": first[1].weight}}, path)
    raise SystemExit("shared memory was not noticed")
except RuntimeError as error:
    assert "share memory" in str(error)
assert list(torch.load(path)) == ["0.bias", "0.weight", "1.bias"]
"""


def test_the_safetensors_library(tmp_path):
    pytest.importorskip("safetensors")
    code = SAFETENSORS.format(path=str(tmp_path / "model.safetensors"))
    result = subprocess.run([sys.executable, "-m", "flambeau", "-c", code], capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("new_format", [True, False])
def test_what_is_refused_says_in_which_file(tmp_path, new_format):
    path = tmp_path / "model.pt"
    torch.save(fractions.Fraction(1, 3), path, _use_new_zipfile_serialization=new_format)
    with pytest.raises(pickle.UnpicklingError, match=r"fractions.Fraction was not an allowed global.*\(in .*model.pt'\)"):
        torch.load(path)
    torch.save(torch.ones(3), path, _use_new_zipfile_serialization=new_format)
    path.write_bytes(path.read_bytes().replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00spu"))
    torch.serialization.set_crc32_options(False)
    try:
        with pytest.raises(RuntimeError, match=r"tagged with spu\) \(.* of .*model.pt', near byte \d+"):
            torch.load(path)
    finally:
        torch.serialization.set_crc32_options(True)

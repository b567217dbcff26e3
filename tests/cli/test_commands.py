"""The commands of `python -m flambeau`: help, suggestions, exit statuses and readers that end early."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.cli.commands import COMMANDS, list_commands, run_command, suggest
from flambeau.cli.text import counted, size_text

MODEL = """
from flambeau import nn
good = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
bad = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    if name == "help":
        assert run_command(name, ["--help"]) == 0
    else:
        with pytest.raises(SystemExit) as ended:
            run_command("help", [name])
        assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "usage: python -m flambeau" in printed and name in printed and "\x1b" not in printed


def test_help_lists_each_command_on_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert run_command("help", []) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, command in COMMANDS.items():
        assert next(line for line in lines if line.split()[:1] == [name]).endswith(command.about)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, list_commands().splitlines())) <= 62
    assert run_command("help", ["inspeck"]) == 2
    assert "did you mean the command inspect?" in capsys.readouterr().err


def test_suggestions():
    assert suggest("sumary") == "did you mean the command summary?" and suggest("train") == ""
    for argument, hint in [("conformence", "did you mean the command conformance?"), ("train.py", "train.py")]:
        done = subprocess.run([sys.executable, "-m", "flambeau", argument], capture_output=True, text=True, timeout=600)
        assert done.returncode == 2 and hint in done.stderr and "can't open file" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs head")
@pytest.mark.parametrize("command", ["env", "backends", "help", "inspect net.pt"])
def test_a_reader_may_end_early(command, tmp_path):
    torch.save({str(index): torch.ones(1) for index in range(3000)}, tmp_path / "net.pt")
    pipe = f"set -o pipefail; {sys.executable} -m flambeau {command} | head -1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.stdout.count("\n") == 1 and done.stderr == "" and done.returncode == 0


def test_env_as_json(capsys):
    assert run_command("env", ["--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["Python"].startswith(sys.version.split()[0]) and isinstance(facts["plugin"], list) and facts["backend"]


def test_convert_refuses_formats_that_it_cannot_write(tmp_path, capsys):
    torch.save({"w": torch.ones(2)}, tmp_path / "net.pt")
    with pytest.raises(SystemExit) as ended:
        run_command("convert", [str(tmp_path / "net.pt"), str(tmp_path / "net.onnx")])
    assert ended.value.code == 2 and not (tmp_path / "net.onnx").exists()
    message = capsys.readouterr().err
    assert "expected .safetensors, .npz, .pt" in message and "python -m flambeau export" in message


def test_inspect_exported_programs(tmp_path, capsys):
    program = torch.export.export(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (torch.ones(2, 4),))
    torch.export.save(program, str(tmp_path / "net.pt2"))
    assert run_command("inspect", [str(tmp_path / "net.pt2")]) == 0
    printed = capsys.readouterr().out
    assert "exported program" in printed and "2 tensors, 15 elements, 60 bytes in 2 storages" in printed
    assert "0.weight  float32  3 x 4" in printed and "aten.linear.default" in printed


def test_inspect_onnx(tmp_path, capsys):
    pytest.importorskip("onnx")
    torch.onnx.export(nn.Linear(4, 3), (torch.ones(2, 4),), str(tmp_path / "net.onnx"))
    assert run_command("inspect", [str(tmp_path / "net.onnx")]) == 0
    printed = capsys.readouterr().out
    assert "ONNX model" in printed and "2 tensors, 15 elements, 60 bytes" in printed and "operators = 'Gemm'" in printed
    (tmp_path / "cut.onnx").write_bytes(b"\x00\xff" * 9)
    assert run_command("inspect", [str(tmp_path / "cut.onnx")]) == 2
    assert "is not an ONNX model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("start", "description"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x7fELF\x02", "a program"),
        (b"import torch\n\nprint(1)\n", "a text file"),
        (b"\x00\x01\x02\x03", "in an unknown format"),
    ],
)
def test_files_that_hold_no_tensors_are_described(tmp_path, capsys, start, description):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(start)
    assert run_command("inspect", [str(path)]) == 2
    message = capsys.readouterr().err
    assert f"{path} is" in message and description in message and "expected a .pt, .safetensors, .npz" in message


def test_npy_files_are_described(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.ones(3))
    assert run_command("inspect", [str(tmp_path / "a.npy")]) == 2
    assert "read it with numpy.load" in capsys.readouterr().err


def test_summary_names_the_layer_that_fails(tmp_path, capsys, monkeypatch):
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.setattr(torch, "install_as_torch", lambda: None)
    assert run_command("summary", [f"{tmp_path}/model.py:good", "--input", "2,4"]) == 0
    capsys.readouterr()
    assert run_command("summary", [f"{tmp_path}/model.py:bad", "--input", "2,4"]) == 2
    message = capsys.readouterr().err.splitlines()
    assert message[0] == "summary: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)"
    assert message[1] == "in 1.1: Linear(in_features=4, out_features=2, bias=True), called with [2, 3]"


def test_counts():
    assert counted(1, "storage") == "1 storage" and counted(0, "storage") == "0 storages" and counted(2, "entry") == "2 entries"
    assert [size_text(size) for size in (999, 1500, 123_456, 10**10)] == ["999 B", "1.5 KB", "123 KB", "10.0 GB"]

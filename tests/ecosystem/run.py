"""Run libraries written for PyTorch on flambeau: their quick starts (`try_*.py`) and their own tests (`suites.py`).

    python tests/ecosystem/run.py                                  all libraries, on flambeau
    python tests/ecosystem/run.py timm einops                      some libraries
    python tests/ecosystem/run.py --torch OTHER/bin/python         compare with the PyTorch of another environment
    python tests/ecosystem/run.py --torch ... --write              also update the table in docs/ecosystem.md
    python tests/ecosystem/run.py --only tests --report FOLDER     only their own tests; write the failures to files

The exit status is 1 if a program fails or its output differs from PyTorch's (numbers by more than 0.1 %), or if less
than 98 % of the tests that pass on PyTorch pass on flambeau.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from suites import SUITES, Results, run_suite, variables  # noqa: E402

DOCUMENT = HERE.parents[1] / "docs/ecosystem.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"
HEADER = ["| library | version | lines as on PyTorch | own tests as on PyTorch | what does not work |", "|---|---|---|---|---|"]
TOLERANCE, SHARE = 1e-3, 0.98
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


class QuickStartResult(NamedTuple):
    """The result of a library's quick start."""

    lines: int
    same: int | None  # number of lines that match PyTorch's, or None without a comparison
    trouble: str = ""

    def __str__(self) -> str:
        return f"{self.lines} printed" if self.same is None else f"{self.same} of {self.lines}"


class SuiteResult(NamedTuple):
    """The result of a library's own tests."""

    passed: int  # number of passed tests, among those that PyTorch passes, or among all if PyTorch was not run
    wanted: int
    trouble: str = ""

    def __str__(self) -> str:
        return f"{self.passed} of {self.wanted}" if self.wanted else ""


def run(command: list[str], *, on_flambeau: bool) -> tuple[int, str, str]:
    """Run a program; return its exit status, standard output and standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=variables(on_flambeau))
    except subprocess.TimeoutExpired:
        return 1, "", "it takes longer than 15 minutes"
    return done.returncode, done.stdout, done.stderr


def agree(line: str, other: str) -> bool:
    """Whether two lines are equal, with a tolerance for numbers with a decimal point."""
    mine, theirs = NUMBER.findall(line), NUMBER.findall(other)
    if NUMBER.sub("#", line) != NUMBER.sub("#", other) or len(mine) != len(theirs):
        return False
    return all(abs(float(a) - float(b)) <= TOLERANCE * max(abs(float(b)), 1e-2) for a, b in zip(mine, theirs, strict=True))


def quick_start(script: Path, pytorch: str | None) -> QuickStartResult:
    """Run a library's quick start on flambeau, and on PyTorch if available."""
    status, output, errors = run([sys.executable, "-m", "flambeau", str(script)], on_flambeau=True)
    lines = output.splitlines()
    trouble = "" if status == 0 else (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    if pytorch is None:
        return QuickStartResult(len(lines), None, trouble)
    status, expected, errors = run([pytorch, str(script)], on_flambeau=False)
    if status:
        return QuickStartResult(len(lines), None, trouble or f"fails on PyTorch: {errors.strip()[-200:]}")
    wanted = expected.splitlines()
    same = sum(agree(line, other) for line, other in zip(lines, wanted, strict=False))
    if not trouble and (same < len(wanted) or len(lines) != len(wanted)):
        trouble = next((f"{a!r} != {b!r}" for a, b in zip(lines, wanted, strict=False) if not agree(a, b)), "fewer lines")
    return QuickStartResult(len(wanted), same, trouble)


def own_tests(library: str, version: str, pytorch: str | None, report: Path) -> SuiteResult:
    """Run a library's own tests on flambeau, and on PyTorch if available; write failures to a file in `report`."""
    suite = SUITES[library]
    found = run_suite(suite, library, version, sys.executable, on_flambeau=True)
    expected = found if pytorch is None else run_suite(suite, library, version, pytorch, on_flambeau=False)
    wanted = {test for test, outcome in expected.items() if outcome.passed or (pytorch is None and not outcome.skipped)}
    failed = sorted(wanted - {test for test, outcome in found.items() if outcome.passed})
    write_report(report / f"{library}.txt", failed, found)
    trouble = ""
    if not wanted:
        trouble = "no test of its own ran"
    elif len(failed) > (1 - SHARE) * len(wanted):
        trouble = f"{len(failed)} of its own tests fail"
    return SuiteResult(len(wanted) - len(failed), len(wanted), trouble)


def write_report(path: Path, failed: list[str], found: Results) -> None:
    """Write the reason of each failed test to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons = (f"{test}\n    {found[test].reason if test in found else 'did not run'}" for test in failed)
    path.write_text("\n".join(reasons) + "\n", encoding="utf-8")


def download_ranks() -> dict[str, int]:
    """Return the rank of each library among the packages on PyPI, from `download_ranks.txt`."""
    lines = (HERE / "download_ranks.txt").read_text(encoding="utf-8").splitlines()
    return {name: int(rank) for name, rank in (line.split() for line in lines if not line.startswith("#"))}


def rewritten(document: str, rows: dict[str, str]) -> str:
    """Return the document with the given rows inserted into its table, replacing rows of the same libraries.

    The most downloaded libraries come first; those without a rank follow in alphabetical order.
    """
    ranks = download_ranks()
    before, _, rest = document.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {line.split("|")[1].strip(): line for line in old.splitlines()[2:]}
    merged = {**kept, **rows}
    return (
        before
        + BEGIN
        + "\n".join([*HEADER, *(merged[name] for name in sorted(merged, key=lambda name: (ranks.get(name, sys.maxsize), name)))])
        + "\n"
        + END
        + after
    )


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=["quick", "tests"])
    parser.add_argument("--report", type=Path, metavar="FOLDER", default=Path(tempfile.gettempdir()) / "flambeau-ecosystem")
    args = parser.parse_args()
    if args.write and (args.only or not args.torch):
        parser.error("--write is for both the quick starts and the tests, beside PyTorch: it needs --torch, and no --only")
    scripts = sorted(HERE.glob("try_*.py"))
    rows, troubles = {}, []
    for script in scripts:
        library = script.stem.removeprefix("try_")
        if args.libraries and library not in args.libraries:
            continue
        try:
            version = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            troubles.append(f"{library} is not installed")
            print(library, "is not installed", flush=True)
            continue
        shown = quick_start(script, args.torch) if args.only != "tests" else QuickStartResult(0, None)
        tested = (
            own_tests(library, version, args.torch, args.report)
            if library in SUITES and args.only != "quick"
            else SuiteResult(0, 0)
        )
        known = SUITES[library].known if library in SUITES else ""
        said = "; ".join(filter(None, (shown.trouble, tested.trouble, known))).replace("|", "/")
        rows[library] = f"| {library} | {version} | {shown} | {tested} | {said} |"
        troubles += filter(None, (shown.trouble, tested.trouble))
        print(rows[library], flush=True)
    if args.write:
        DOCUMENT.write_text(rewritten(DOCUMENT.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return int(bool(troubles))


if __name__ == "__main__":
    sys.exit(main())

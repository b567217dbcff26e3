"""Runs libraries that are written for PyTorch on flambeau: the `try_*.py` files, each a library's quick start.

    python tests/ecosystem/run.py                                  all of them, on flambeau
    python tests/ecosystem/run.py timm einops                      some
    python tests/ecosystem/run.py --torch OTHER/bin/python         compared with PyTorch, in an environment that has it
    python tests/ecosystem/run.py --torch ... --write              and the table of docs/ecosystem.md written

Exits with 1 where a program fails, or prints anything else than on PyTorch: numbers may differ by 0.1 %.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs/ecosystem.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"
TOLERANCE = 1e-3
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


class Outcome(NamedTuple):
    """What came of a library's program."""

    library: str
    version: str
    lines: int
    same: int | None
    seconds: float
    trouble: str


def run(command: list[str]) -> tuple[int, str, str, float]:
    """The exit status, output and errors of a program, and how long it took."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - began


def agree(line: str, other: str) -> bool:
    """Whether two lines say the same, numbers with a fraction about the same."""
    mine, theirs = NUMBER.findall(line), NUMBER.findall(other)
    if NUMBER.sub("#", line) != NUMBER.sub("#", other) or len(mine) != len(theirs):
        return False
    return all(abs(float(a) - float(b)) <= TOLERANCE * max(abs(float(b)), 1e-2) for a, b in zip(mine, theirs, strict=True))


def outcome(script: Path, pytorch: str | None) -> Outcome:
    """Run a library's program, on flambeau and, where it is at hand, on PyTorch."""
    library = script.stem.removeprefix("try_")
    try:
        version = importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return Outcome(library, "", 0, None, 0.0, "not installed")
    status, output, errors, seconds = run([sys.executable, "-m", "flambeau", str(script)])
    lines, same = output.splitlines(), None
    trouble = "" if status == 0 else (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    if pytorch is not None:
        expected_status, expected, expected_errors, _ = run([pytorch, str(script)])
        if expected_status:
            return Outcome(library, version, len(lines), None, seconds, f"fails on PyTorch: {expected_errors.strip()[-200:]}")
        wanted = expected.splitlines()
        same = sum(agree(line, other) for line, other in zip(lines, wanted, strict=False))
        if not trouble and (same < len(wanted) or len(lines) != len(wanted)):
            trouble = next((f"{a!r} != {b!r}" for a, b in zip(lines, wanted, strict=False) if not agree(a, b)), "fewer lines")
        return Outcome(library, version, len(wanted), same, seconds, trouble)
    return Outcome(library, version, len(lines), same, seconds, trouble)


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table in Markdown."""
    rows = ["| library | version | lines as on PyTorch | what stops it |", "|---|---|---|---|"]
    for each in outcomes:
        lines = f"{each.lines} printed" if each.same is None else f"{each.same} of {each.lines}"
        rows.append(f"| {each.library} | {each.version} | {lines} | {each.trouble.replace('|', '/')} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Do what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    scripts = sorted(HERE.glob("try_*.py"))
    chosen = [script for script in scripts if not args.libraries or script.stem.removeprefix("try_") in args.libraries]
    outcomes = []
    for script in chosen:
        outcomes.append(outcome(script, args.torch))
        print(*outcomes[-1], sep="  ", flush=True)
    if args.write:
        before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + table(outcomes) + END + rest.partition(END)[2], encoding="utf-8")
    return int(any(each.trouble for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())

"""Run all robustness tests and write their table into docs/project/robustness.md.

    python tests/robustness/report.py               # run everything: some ten minutes
    python tests/robustness/report.py --minutes 5   # with a longer soak test
    python tests/robustness/report.py --only faults --only fuzz

A row has the number of cases that ran, and the number that had the documented result and no other effect.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "project" / "robustness.md"
BEGIN, END = "<!-- written by tests/robustness/report.py -->\n", "<!-- end -->\n"
Row = tuple[str, int, int]  # name, number of cases, number of cases with the documented result

# Rows of the table, and the expressions of `pytest -k` that select their tests.
FAULTS = {
    "full disk": "full_disk or full_device",
    "home, cache and temporary folder cannot be written": "without_a_home",
    "mapped file is shortened or replaced": "mapped or shorter",
    "too little memory in forward, backward, optimizer, save, load": "memory_errors or address_space",
    "too few descriptors": "descriptors",
    "clock jumps by a year": "clock",
    "SIGTERM and SIGKILL while saving": "signals",
}
FORKS = {"fork while other threads draw random numbers": "test"}


def by_pytest(file: str, rows: dict[str, str]) -> list[Row]:
    """Return a row for each pytest expression.

    Raises:
        LookupError: an expression selects no tests.
    """
    found = []
    for name, expression in rows.items():
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", expression, "--junit-xml", report.name]
            subprocess.run([*command, str(HERE / file)], stdout=sys.stderr, check=False)
            suite = ElementTree.parse(report.name).getroot()[0]
        if not int(suite.get("tests", 0)):
            raise LookupError(f"-k {expression!r} selects no tests of {file}")
        count = int(suite.get("tests", 0)) - int(suite.get("skipped", 0))
        found.append((name, count, count - int(suite.get("failures", 0)) - int(suite.get("errors", 0))))
    return found


def by_program(file: str, *arguments: str) -> dict[str, dict[str, int]]:
    """Run a program, and return the counts that it prints as JSON. A relative path starts at this folder."""
    command = [sys.executable, str(HERE / file), "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1])


def fuzz(minutes: float) -> list[Row]:
    counts = by_program("fuzzing.py")
    return [(f"damaged files: {name}", sum(n.values()), sum(n.values()) - n["failed"]) for name, n in counts.items()]


def sanitize(minutes: float) -> list[Row]:
    (program,) = HERE.parents[1].glob("plugins/*/sanitizing.py")
    counts = by_program(str(program))
    rows = []
    for name, n in counts.items():
        subject, _, kind = name.rpartition("; ")
        rows.append((f"{subject or 'kernel calls'}, sanitizer {kind}", n["calls"], 0 if n["failed"] else n["calls"]))
    return rows


def soak(minutes: float) -> list[Row]:
    counts = by_program("soaking.py", "--minutes", str(minutes))
    return [
        (f"soak, {name}: {what}", n[what], 0 if n["failed"] else n[what])
        for name, n in counts.items()
        for what in n
        if what != "failed"
    ]


KINDS: dict[str, Callable[[float], list[Row]]] = {
    "faults": lambda minutes: by_pytest("test_machine_faults.py", FAULTS),
    "forks": lambda minutes: by_pytest("test_forking.py", FORKS),
    "fuzz": fuzz,
    "sanitize": sanitize,
    "soak": soak,
}


def written(text: str, rows: list[Row]) -> str:
    """Return the document with these rows in its table. They replace rows of the same name; others stay."""
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    old = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \|$", text[start:stop], re.MULTILINE)
    table = {name: (count, passed) for name, count, passed in old}
    table |= {name: (f"{count:,}", f"{passed:,}") for name, count, passed in rows}
    lines = ["| test | cases | as documented |", "|---|---|---|"]
    lines += [f"| {name} | {count} | {passed} |" for name, (count, passed) in table.items()]
    return text[:start] + "\n".join(lines) + "\n" + text[stop:]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the robustness tests and write their table.")
    parser.add_argument("--minutes", type=float, default=1, help="minutes of the soak test (default: 1)")
    parser.add_argument("--only", action="append", choices=KINDS, help="run only these tests, and keep the other rows")
    options = parser.parse_args()
    rows = [row for kind in options.only or KINDS for row in KINDS[kind](options.minutes)]
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return int(any(passed < count for _, count, passed in rows))


if __name__ == "__main__":
    sys.exit(main())

"""Generate the table of backends in docs/backends.md. `tox -e backends` installs the backends first.

For each installed backend, the table contains its library, devices and dtypes, the result of the last conformance run (a quick
run is started if there was no run), and the training time of the digits example compared with NumPy's. For a library
that needs a separate environment, specify its interpreter: `python benchmarks/backends.py NAME=PYTHON ...`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "backends.md"
START, END = "<!-- python benchmarks/backends.py -->", "<!-- end -->"

FACTS = """
import json, sys
from flambeau import backend
from flambeau.conformance.record import last_runs
from flambeau.cli.listing import facts
name = sys.argv[1]
print(json.dumps([backend.installed().get(name, ""), dict(facts(name)), last_runs(name)]))
"""
NAMES = "import flambeau, json; print(json.dumps(sorted(flambeau.backend.installed())))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", metavar="NAME[=PYTHON]", nargs="*", help="default: all installed backends")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of the digits example (default: 10)")
    parser.add_argument(
        "--turns", type=int, default=2, help="runs of the example per backend; the fastest is reported (default: 2)"
    )
    parser.add_argument("--print", action="store_true", help="print the table instead of writing it to docs/backends.md")
    given = parser.parse_args()
    names = given.backends or json.loads(run(sys.executable, "numpy", "-c", NAMES))
    rows = []
    for entry in sorted(names, key=lambda name: not name.startswith("numpy")):
        name, _, python = entry.partition("=")
        rows.append(row(name, python or sys.executable, given.epochs, given.turns))
        print(rows[-1], file=sys.stderr, flush=True)
    table = "\n".join([
        f"On {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}. "
        f"\"Digits\" is the time of {given.epochs} epochs of the digits example, including compilation.\n",
        "| backend | package | library | devices | lacks | computed on the CPU | conformance | digits | NumPy's |",
        "|---|---|---|---|---|---|---|---:|---:|",
        *rows,
    ])  # fmt: skip
    if given.print:
        print(table)
        return
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    PAGE.write_text(f"{before}{START}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def row(name: str, python: str, epochs: int, turns: int) -> str:
    """Return the table row of a backend."""
    source, facts, runs = json.loads(run(python, "numpy", "-c", FACTS, name))
    package = re.search(r"\(([\w-]+) ", source)
    start = f"| `{name}` | {package[1] if package else 'flambeau'} | "
    if "not usable" in facts:
        return f"{start}{facts['not usable'].split(';')[0]} | | | | not run here | | |"
    if not runs:
        declared = ROOT / "plugins" / (package[1] if package else "") / "tests" / "exceptions.txt"
        options = ["--exceptions", str(declared)] if declared.is_file() else []
        run(python, "numpy", "-m", "flambeau", "conformance", name, "--quick", *options, check=False)
        source, facts, runs = json.loads(run(python, "numpy", "-c", FACTS, name))
    on_host = [entry for entry in facts["on the CPU"].split(", ") if entry != "nothing"]
    times, numpy_times = [], []
    for _ in range(turns):  # alternately, because the load of the machine varies
        times.append(digits(python, name, epochs))
        numpy_times.append(digits(python, "numpy", epochs))
    computed = ", ".join(on_host[:2]) + (f" and {len(on_host) - 2} more" if len(on_host) > 2 else "")
    cells = [facts["library"], facts["devices"], facts.get("lacking", ""), computed, conformance(runs)]
    return start + " | ".join(cells) + f" | {min(times):.1f} s | {min(numpy_times):.1f} s |"


def conformance(runs: dict[str, Any]) -> str:
    """Describe the results of the last full and quick conformance runs."""
    descriptions = []
    for kind in ("full", "quick"):
        last = runs.get(kind, {}).get("last")
        if last:
            word = "passed" if not last["failed"] else f"{last['failed']} failed of"
            more = "".join(
                f", {last[key]} {label}" for key, label in (("skipped", "skipped"), ("expected", "declared")) if last[key]
            )
            descriptions.append(f"{kind}: {word} {last['passed'] + last['failed']}{more}, {last['date']}")
    return "; ".join(descriptions)


def digits(python: str, backend: str, epochs: int) -> float:
    """Return the time in seconds that the digits example takes to train on a backend."""
    output = run(python, backend, "-m", "flambeau", str(ROOT / "examples" / "digits.py"), "--epochs", str(epochs))
    return float(re.search(r"trained in ([\d.]+) s", output)[1])


def run(python: str, backend: str, *command: str, check: bool = True) -> str:
    """Run a Python program with a selected backend and return its output."""
    # Run in an empty directory, so that `-c` does not import from the current one.
    with tempfile.TemporaryDirectory() as empty_directory:
        done = subprocess.run(
            [python, *command], capture_output=True, text=True, check=False, cwd=empty_directory,
            env={**os.environ, "FLAMBEAU_BACKEND": backend},
        )  # fmt: skip
    if check and done.returncode:
        sys.exit(f"{backend}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()

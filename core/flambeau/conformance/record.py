"""Records of runs in the user's cache folder: results of unfinished runs, for `--resume`, and outcomes of the last runs."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import version
from ..backend import Backend
from .kit import FAMILIES, Family, Result

__all__ = ["Journal", "folder", "last_runs", "note", "run_summaries"]


def folder() -> Path:
    """Return the folder of all records: `flambeau/conformance` in `XDG_CACHE_HOME`, by default `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "flambeau" / "conformance"


class Journal:
    """The results of a run, written to a file immediately, so that an interrupted run can be resumed.

    Results of another version of flambeau or of the library, or of a run with other options, are ignored.
    """

    def __init__(self, backend: Backend, quick: bool) -> None:
        self._path = folder() / f"{backend.name}.jsonl"
        self._heading = {"flambeau": version.flambeau_version, "library": library(backend), "quick": quick}
        self.done: dict[str, list[Result]] = {}
        self.seconds: dict[str, float] = {}
        self.on_host: set[str] = set()

    def begin(self, resume: bool) -> None:
        """Start a record; with `resume`, first read the results of an interrupted run.  Raises OSError if it cannot be
        written.
        """
        if resume:
            self._read()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(self._heading)]
        lines += [json.dumps([family, vars(result)]) for family, results in self.done.items() for result in results]
        lines += [json.dumps([family, seconds, sorted(self.on_host)]) for family, seconds in self.seconds.items()]
        self._path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self._file = self._path.open("a", encoding="utf-8")

    def _read(self) -> None:
        try:
            heading, *lines = self._path.read_text(encoding="utf-8").split("\n")
            if json.loads(heading) != self._heading:
                return
        except (OSError, ValueError):
            return
        for line in lines:
            try:
                family, event, *on_host = json.loads(line)
            except ValueError:  # an incomplete line
                continue
            if isinstance(event, dict):
                self.done.setdefault(family, []).append(Result(**event))
            else:
                self.seconds[family] = event
                self.on_host.update(*on_host)

    def result(self, family: str, result: Result) -> None:
        """Record a result."""
        self._write([family, vars(result)])

    def family(self, family: str, seconds: float, on_host: Sequence[str]) -> None:
        """Record that a family is finished, and the operations that were computed on the CPU."""
        self.on_host.update(on_host)
        self._write([family, seconds, sorted(self.on_host)])

    def _write(self, entry: Any) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def end(self) -> None:
        """Delete the record, because the run is complete."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def library(backend: Backend) -> str:
    """Return the backend's report on its library, or the error that the report raised."""
    try:
        return backend.report()
    except Exception as error:  # a library may fail if its device is missing
        return f"{type(error).__name__}: {error}"


# --- outcomes of runs ---------------------------------------------------------------------------------------------


def note(backend: Backend, total: Family, quick: bool, on_host: Sequence[str]) -> None:
    """Store the outcome of a run of all families, and the last run that passed.  Raises OSError if it cannot be written."""
    kind = "quick" if quick else "full"
    run = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "flambeau": version.flambeau_version,
        "library": library(backend),
        "passed": total.passed,
        "failed": len(total.failures),
        "skipped": sum(total.skipped.values()),
        "expected": len(total.expected),
        "seconds": round(total.seconds, 1),
    }
    known = last_runs(backend.name)
    known[kind] = {**known.get(kind, {}), "last": run, **({} if total.failures else {"passed": run})}
    known["on_host"] = sorted({*known.get("on_host", ()), *on_host} if quick else on_host)
    folder().mkdir(parents=True, exist_ok=True)
    (folder() / f"{backend.name}.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def last_runs(name: str) -> dict[str, Any]:
    """Return the outcomes that `note` has stored for a backend, or an empty dictionary."""
    try:
        known = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def run_summaries(runs: dict[str, Any]) -> Iterator[str]:
    """Yield sentences on the last runs of a backend: full runs, then quick ones."""
    for kind in ("full", "quick"):
        last, passed = runs.get(kind, {}).get("last"), runs.get(kind, {}).get("passed")
        if passed:
            others = [f"{passed[word]} {word}" for word in ("skipped", "expected") if passed[word]]
            counts = ", ".join(
                [f"{passed['passed']} checks", *(f"{other} to fail" if "exp" in other else other for other in others)]
            )
            yield f"{kind} run passed on {passed['date']}: {counts}, {passed['seconds']:.0f} s; {passed['library']}"
        if last and last["failed"]:
            yield f"{kind} run failed on {last['date']}: {last['failed']} of {last['passed'] + last['failed']} checks"


def is_complete(families: Sequence[str]) -> bool:
    """Whether `families` contains the names of all families."""
    return {*families} == {*FAMILIES}

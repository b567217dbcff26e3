"""The command line of the conformance kit: `python -m flambeau conformance NAME`."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence

from .. import backend as backends
from .exceptions import Exceptions
from .kit import FAMILIES, Result, known_families
from .record import Journal, folder, is_complete, note
from .report import Report
from .workers import Done, Options, results_of

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Check a backend; return the exit code: 0, 1 if checks failed, 2 for invalid arguments, 130 if interrupted."""
    parser = _parser()
    given = parser.parse_intermixed_args(arguments)
    try:
        families = known_families(given.family)
        declared = Exceptions.read(given.exceptions)
        backend = backends.find(given.backend)
    except (OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    report = Report(given.backend, declared, tracebacks=given.traceback)
    journal = Journal(backend, given.quick)
    try:
        journal.begin(given.resume)
    except OSError as error:
        parser.error(f"cannot write results to {folder()}: {error}")
    report.begin()
    positions = _report_earlier(families, journal, report)
    waiting = [family for family in families if family not in journal.seconds]
    try:
        for family, event in results_of(waiting, Options(given.backend, given.jobs, given.limit, given.quick), positions):
            if isinstance(event, Result):
                journal.result(family, event)
                report.add(family, event)
            elif isinstance(event, Done):
                journal.family(family, *event)
                report.done(family, event.seconds)
            else:
                report.checking(event)
    except KeyboardInterrupt:
        report.interrupted()
        return 130
    if given.summary:
        report.write_summary(given.summary)
    journal.end()
    if is_complete(families):
        note(backend, report.total(), given.quick, sorted(journal.on_host))
    return report.end(sorted(journal.on_host))


def _report_earlier(families: Sequence[str], journal: Journal, report: Report) -> dict[str, int]:
    """Report the results of an earlier run; return their number in each family."""
    for family in families:
        for result in journal.done.get(family, ()):
            report.add(family, result)
        if family in journal.seconds:
            report.done(family, journal.seconds[family])
    return {family: len(results) for family, results in journal.done.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m flambeau conformance",
        description="Check that all of flambeau works on a backend: every operation against its formula, derivatives, training.",
        epilog="families:\n" + textwrap.fill(", ".join(FAMILIES), 100, initial_indent="  ", subsequent_indent="  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backend", metavar="NAME", help="the backend's name; `python -m flambeau backends` prints all")
    parser.add_argument("family", metavar="FAMILY", nargs="*", help="families of checks, by default all")
    parser.add_argument("--quick", action="store_true", help="a few checks of the first sample of each operation")
    parser.add_argument("--jobs", metavar="N", type=_positive, default=1, help="processes at a time, by default 1")
    parser.add_argument("--resume", action="store_true", help="continue the last run if it was interrupted")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=120.0, help="time limit of one check, by default 120")
    parser.add_argument("--traceback", action="store_true", help="print the traceback of each failure")
    parser.add_argument("--exceptions", metavar="FILE", help="declared exceptions: failures of these checks are expected")
    parser.add_argument("--summary", metavar="FILE", help="also write the results to this file as Markdown")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number

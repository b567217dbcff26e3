"""Output of a run of the conformance kit: progress, results, and a summary as Markdown."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from .exceptions import Exceptions
from .kit import FAMILIES, Family, Result

__all__ = ["Report", "causes"]

_HEADINGS = ("passed", "failed", "skipped", "expected")


class Report:
    """Print the results of a run as they arrive, and totals at the end."""

    def __init__(self, backend: str, declared: Exceptions, file: TextIO | None = None, tracebacks: bool = False) -> None:
        self._backend, self._declared, self._tracebacks = backend, declared, tracebacks
        self._file = file or sys.stdout
        self._shows_current = self._file.isatty()
        self.families: dict[str, Family] = {}

    def begin(self) -> None:
        """Print the heading."""
        self._print(f"{'family':<20}" + "".join(f"{heading:>9}" for heading in _HEADINGS) + f"{'seconds':>9}")

    def checking(self, name: str) -> None:
        """Show the name of the current check, on a terminal only."""
        if self._shows_current:
            self._file.write(f"\r\033[K{name[:100]}")
            self._file.flush()

    def add(self, family: str, result: Result) -> None:
        """Count a result, and print it if it is a failure."""
        result = self._declared.applied(result)
        self.families.setdefault(family, Family(family)).add(result)
        if result.outcome == "failed":
            self._print(f"FAILED {result.name}: {result.reason[:1000]}")
            if self._tracebacks and result.trace:
                self._print(result.trace)
        elif result.outcome == "passed" and result.reason:
            self._print(f"REPEATED {result.name}: {result.reason}")

    def done(self, family: str, seconds: float) -> None:
        """Print the totals of a finished family."""
        found = self.families.setdefault(family, Family(family))
        found.seconds = seconds
        self._print(_line(found))

    def end(self, on_host: Sequence[str] = ()) -> int:
        """Print totals, reasons for skips and causes of failures; return the exit code: 1 for undeclared failures, else 0.

        Args:
            on_host: the names of operations that the CPU computed for the backend.
        """
        total = self.total()
        self._print(_line(total))
        for reason, count in sorted(total.skipped.items()):
            self._print(f"{count} skipped: {reason}")
        for line in self._declared.unused() if len(self.families) == len(FAMILIES) else ():
            self._print(f"declared exception without a matching failure: {line}")
        if on_host:
            fallbacks = f"computed on the CPU ({len(on_host)}): {', '.join(on_host)}"
            self._print(textwrap.fill(fallbacks, 130, subsequent_indent="  ", break_on_hyphens=False))
        if total.failures:
            self._print(f"\n{len(total.failures)} failure{'s' if len(total.failures) > 1 else ''}, by cause:")
        for cause, names in causes(total.failures):
            self._print(f"{len(names):>5}  {cause}\n       {_by_operation(names)}")
        if total.failures and not self._tracebacks:
            self._print(f"\nTo see where: python -m flambeau conformance {self._backend} FAMILY --traceback")
        return 1 if total.failures else 0

    def interrupted(self) -> None:
        """Print how to resume the run."""
        self._print("interrupted; to continue, repeat the command with --resume")

    def total(self) -> Family:
        """Return the totals of all families so far."""
        return _sum(self.families.values())

    def write_summary(self, path: str) -> None:
        """Write the table of families and the causes of failures as Markdown."""
        total = self.total()
        lines = [
            f"# Conformance of {self._backend}",
            "",
            f"| family | {' | '.join(_HEADINGS)} | seconds |",
            "|---|" + "---:|" * 5,
        ]
        for found in (*self.families.values(), total):
            lines.append(f"| {found.name} | {' | '.join(map(str, _counts(found)))} | {found.seconds:.1f} |")
        for title, entries in (("Failures", total.failures), ("Declared exceptions", total.expected)):
            if entries:
                lines += ["", f"## {title}", ""]
                lines += [f"- {len(names)}: `{cause}` ({_by_operation(names)})" for cause, names in causes(entries)]
        if total.skipped:
            lines += ["", "## Skipped", ""] + [f"- {count}: {reason}" for reason, count in sorted(total.skipped.items())]
        Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _print(self, line: str) -> None:
        print(("\r\033[K" if self._shows_current else "") + line, file=self._file, flush=True)


def causes(failures: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Group failures `name: reason` by reason; the most frequent one is first.

    Reasons are equal if they differ only in numbers, shapes, dtypes, the operation's name and parts in parentheses.
    """
    groups: dict[str, tuple[str, list[str]]] = {}
    for failure in failures:
        name, _, reason = failure.partition(": ")
        operation = name.split(" ")[0]
        key = _VARIABLE_PARTS.sub("#", reason.replace(operation, "_"))[:90]
        groups.setdefault(key, (reason[:500], []))[1].append(name)
    return sorted(groups.values(), key=lambda group: -len(group[1]))


_VARIABLE_PARTS = re.compile(
    r"\([^()]*\)|\[[^\[\]]*\]|\b(?:float|complex|u?int)\d+\b|\b(?:True|False|nan|inf)\b|[-+]?\d[\d.e+-]*|0x[0-9a-f]+"
)


def _by_operation(names: Iterable[str], count: int = 6) -> str:
    """Return the operations of failed checks with the checks' names, as in "exp (values, shapes), neg (values)"."""
    checks: dict[str, list[str]] = {}
    for name in names:
        operation, _, check = re.sub(r" \[[^\]]*\]", "", name).rpartition(" ")
        found = checks.setdefault(operation or check, [])
        if operation and check not in found:
            found.append(check)
    parts = [f"{operation} ({', '.join(found)})" if found else operation for operation, found in checks.items()]
    return ", ".join(parts[:count]) + (f", and {len(parts) - count} more" if len(parts) > count else "")


def _sum(families: Iterable[Family]) -> Family:
    total = Family("all")
    for family in families:
        total.passed += family.passed
        total.failures += family.failures
        total.expected += family.expected
        total.seconds += family.seconds
        for reason, count in family.skipped.items():
            total.skipped[reason] = total.skipped.get(reason, 0) + count
    return total


def _counts(family: Family) -> tuple[int, int, int, int]:
    return family.passed, len(family.failures), sum(family.skipped.values()), len(family.expected)


def _line(family: Family) -> str:
    return f"{family.name:<20}" + "".join(f"{count:>9}" for count in _counts(family)) + f"{family.seconds:>9.1f}"

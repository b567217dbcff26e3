"""`torch.testing.FileCheck`: check that strings occur, or do not occur, in a text in a given order."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Sequence
from typing import Any, NoReturn

__all__ = ["FileCheck"]

_COMMENT = re.compile(r"#\s*CHECK(?:-(NEXT|SAME|NOT|DAG|REGEX|SOURCE-HIGHLIGHTED|COUNT-(EXACTLY-)?(\d+)))?: ?(.*)")


class FileCheck:
    """A list of checks on a text.  Each check starts at the end of the previous match.

    - `check` requires a string anywhere after the previous match, `check_same` on the same line, `check_next` on the next line.
    - `check_not` requires that a string does not occur before the next match.
    - `check_count` requires that a string occurs a given number of times.
    - The strings of consecutive calls of `check_dag` may occur in any order.
    - `check_regex` takes a regular expression.
    - `check_source_highlighted` requires that the line below underlines an occurrence with `~`.

    `run(text)` performs the checks; graphs are printed.  `run(source, text)` first adds the checks in
    comments of `source`: `# CHECK-NEXT: relu`.

    Raises:
        RuntimeError: a check fails, or there are no checks.  The message shows the text and the check.

    >>> torch.testing.FileCheck().check("conv").check_next("relu").check_not("conv").run("conv\\nrelu\\n")
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str]] = []

    def __str__(self) -> str:
        return "\n\t".join(["FileCheck checks:", *(f"{_name(kind)}: {text}" for kind, text in self._checks)])

    def check(self, text: str) -> FileCheck:
        return self._add("", text)

    def check_next(self, text: str) -> FileCheck:
        return self._add("NEXT", text)

    def check_same(self, text: str) -> FileCheck:
        return self._add("SAME", text)

    def check_not(self, text: str) -> FileCheck:
        return self._add("NOT", text)

    def check_dag(self, text: str) -> FileCheck:
        return self._add("DAG", text)

    def check_regex(self, pattern: str) -> FileCheck:
        return self._add("REGEX", pattern)

    def check_source_highlighted(self, text: str) -> FileCheck:
        return self._add("SOURCE-HIGHLIGHTED", text)

    def check_count(self, str: str, count: int, exactly: bool = False) -> FileCheck:
        if not count and not exactly:
            raise RuntimeError("check_count: a count of 0 checks nothing unless exactly=True")
        for _ in range(count):
            self._add(f"COUNT-{count}", str)
        return self._add("NOT", str) if exactly else self

    def run(self, checks_file: Any, test_file: Any = None) -> None:
        text = checks_file
        if test_file is not None:
            text = test_file
            self._read(checks_file)
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck! Check for bad input")
        _Search(f"{text}").perform(self._checks)

    def _add(self, kind: str, text: str) -> FileCheck:
        self._checks.append((kind, text))
        return self

    def _read(self, source: str) -> None:
        for kind, exactly, count, text in _COMMENT.findall(source):
            if count:
                self.check_count(text, int(count), bool(exactly))
            else:
                self._add(kind, text)


class _Search:
    """Performs checks on a text, and stores the current position in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0  # the end of the last match
        self.absent: list[str] = []  # strings that must not occur before the next match

    def perform(self, checks: Sequence[tuple[str, str]]) -> None:
        for kind, group in itertools.groupby(checks, key=operator.itemgetter(0)):
            patterns = [pattern for _, pattern in group]
            if kind == "NOT":
                self.absent += patterns
            elif kind == "DAG":
                self.match_in_any_order(patterns)
            else:
                for pattern in patterns:
                    line_end = self.text.find("\n", self.end)
                    next_line = len(self.text) if line_end < 0 else line_end + 1
                    self.match(kind, pattern, next_line if kind == "NEXT" else self.end)
        self.check_absent(len(self.text))

    def match(self, kind: str, pattern: str, position: int) -> None:
        """Search for `pattern` from `position`.  The match must satisfy the rules of `kind`, such as "SAME"."""
        matches = list(re.compile(pattern if kind == "REGEX" else re.escape(pattern)).finditer(self.text, position))
        if not matches:
            what = f'{"regex " if kind == "REGEX" else ""}"{pattern}"'
            self.fail(f"Expected to find {what} but did not find it\nSearched string:", kind, pattern, position)
        match = matches[0]
        if kind == "SOURCE-HIGHLIGHTED":
            match = next(filter(self.is_highlighted, matches), match)
        start = match.start()
        if kind in ("SAME", "NEXT") and "\n" in self.text[position:start]:
            self.fail(r'Expected to not find "\n" but found it', kind, pattern, start)
        if kind == "SOURCE-HIGHLIGHTED" and not self.is_highlighted(match):
            self.fail(f'Expected to find "{pattern}" highlighted but it is not.', kind, pattern, start)
        self.check_absent(start)
        self.end = match.end()

    def match_in_any_order(self, patterns: list[str]) -> None:
        absent, self.absent = self.absent, []
        position, spans = self.end, []
        for pattern in patterns:
            self.match("DAG", pattern, position)
            spans.append((self.end - len(pattern), self.end))
        self.absent, self.end = absent, position
        self.check_absent(min(start for start, _ in spans))
        self.end = max(end for _, end in spans)

    def check_absent(self, before: int) -> None:
        for unwanted in self.absent:
            position = self.text.find(unwanted, self.end, before)
            if position >= 0:
                self.fail(f'Expected to not find "{unwanted}" but found it', "NOT", unwanted, position)
        self.absent = []

    def is_highlighted(self, match: re.Match[str]) -> bool:
        line_start = self.text.rfind("\n", 0, match.start()) + 1
        below = self.text[line_start:].split("\n")[1:2] or [""]
        marks = below[0][match.start() - line_start : match.end() - line_start]
        return marks == "~" * len(match.group())

    def fail(self, problem: str, kind: str, pattern: str, position: int) -> NoReturn:
        """Raise RuntimeError with `problem` and the checked text, in which `~` marks underline `position`."""
        line_end = self.text.find("\n", position)
        line_end = len(self.text) if line_end < 0 else line_end
        column = position - (self.text.rfind("\n", 0, position) + 1)
        mark = " " * column + "~" * max(1, min(len(pattern), line_end - position)) + " <--- HERE"
        shown = f"{self.text[:line_end]}\n{mark}{self.text[line_end:]}".rstrip("\n")
        raise RuntimeError(f"{problem}\n{shown}\nFrom {_name(kind)}: {pattern}\n")


def _name(kind: str) -> str:
    return f"CHECK-{kind}" if kind else "CHECK"

"""Declared exceptions: checks that a backend is known to fail, listed in a file of the plugin."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kit import Result

__all__ = ["Exceptions"]


class Exceptions:
    """The declared exceptions: checks that a backend may fail. They are lines of a file such as ::

        # MLX has no complex128
        linalg.eig *
        pow vmap
        mm [matrix-3] promotion

    Each line names an operation, optionally one of its samples as `[family-number]`, and the check that may fail. `*` matches
    anything.
    """

    def __init__(self, lines: list[str]) -> None:
        self._patterns = {line: _pattern(line) for line in lines}
        self.used: set[str] = set()

    @classmethod
    def read(cls, path: str | Path | None) -> Exceptions:
        """Read exceptions from a file, or return none for None.  Raises OSError if the file cannot be read."""
        text = "" if path is None else Path(path).read_text(encoding="utf-8")
        return cls([line for line in (raw.partition("#")[0].strip() for raw in text.splitlines()) if line])

    def applied(self, result: Result) -> Result:
        """Return the result, with the outcome `"expected"` if it is a declared failure."""
        if result.outcome == "failed":
            for line, pattern in self._patterns.items():
                if pattern.fullmatch(result.name):
                    self.used.add(line)
                    return replace(result, outcome="expected")
        return result

    def unused(self) -> list[str]:
        """Return the lines that have matched no failure so far."""
        return [line for line in self._patterns if line not in self.used]


def _pattern(line: str) -> re.Pattern[str]:
    parts = line.split(" ")
    if len(parts) < 2:
        raise ValueError(f"declared exception {line!r}: expected an operation and a check, such as 'add promotion' or 'add *'")
    words = [re.escape(part).replace(r"\*", ".*") for part in parts]
    if not any(part.startswith("[") for part in parts):
        words.insert(len(words) - 1, r"(\[[^]]*\])?")
    return re.compile(" ?".join(words))

"""Source code of functions that are defined inside other functions or classes."""

from __future__ import annotations

__all__ = ["unindented"]


def unindented(source: str) -> str:
    """Remove the indentation of the first line from all lines that have it.

    `textwrap.dedent` removes the least indentation, which a line inside a string may have.

    >>> unindented("    def f():\\n        pass\\n")
    'def f():\\n    pass\\n'
    """
    indentation = source[: len(source) - len(source.lstrip(" \t"))]
    return "".join(line.removeprefix(indentation) for line in source.splitlines(keepends=True))

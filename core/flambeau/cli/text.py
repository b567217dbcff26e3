"""Text in the output of commands: counts, sizes and tables."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["counted", "printable", "size_text", "table"]


def counted(count: int, noun: str) -> str:
    """Return a number with a noun, in the plural except for 1.

    >>> counted(1, "tensor"), counted(1200, "tensor"), counted(2, "entry")
    ('1 tensor', '1,200 tensors', '2 entries')
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun}"


def size_text(count: int) -> str:
    """Return a number of bytes with a unit, such as "1.5 MB"."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def printable(name: str) -> str:
    """Return a name from a file; escape it if it has characters that could control the terminal."""
    return name if name.isprintable() else ascii(name)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the lines of a table: the last column, of numbers, is aligned to the right, others to the left."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = []
    for row in (titles, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        lines.append("  ".join([*cells, row[-1].rjust(widths[-1])]))
    return "\n".join(lines)

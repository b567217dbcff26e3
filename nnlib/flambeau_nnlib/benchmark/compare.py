"""Tables of measurements with a row for each task and a column for each description."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence

from .common import Measurement, log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_BOLD, _END = "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """The group of times in which the fastest time is highlighted: none, each column or each row.

    Example:
        >>> Colorize("rowwise")
        <Colorize.ROWWISE: 'rowwise'>
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Show measurements as tables, one table per label.

    The row of a measurement is named by its `sub_label` or else its statement, the column by its `description`. Rows are
    grouped by the number of threads. Measurements of the same task are merged.

    Args:
        results: the measurements.

    Raises:
        ValueError: an element of `results` is not a `Measurement`.

    Example:
        >>> from flambeau.utils.benchmark import Measurement, TaskSpec
        >>> tasks = [TaskSpec(f"x.{name}()", "", label="methods", description=name) for name in ("sin", "cos")]
        >>> Compare([Measurement(1, [2e-6], tasks[0]), Measurement(1, [3e-6], tasks[1])]).print()
        [--------- methods ---------]
                       |  sin  |  cos
        1 threads: ------------------
              x.sin()  |  2.0  |
              x.cos()  |       |  3.0
        <BLANKLINE>
        Times are in microseconds (us).
        <BLANKLINE>
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raise ValueError if one is not a `Measurement`."""
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only significant digits."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times according to their ratio to the fastest time in their column, or in their row if `rowwise`."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show the interquartile range of times that vary strongly."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        tables: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            tables.setdefault(result.label, []).append(result)
        options = (self._colorize, self._trim_significant_figures, self._highlight_warnings)
        return "\n".join(_Table(results, *options).render() for results in tables.values())


Cells = Sequence["Measurement | None"]


class _Table:
    """The table of one label."""

    def __init__(self, results: Sequence[Measurement], colorize: Colorize, trim: bool, highlight: bool) -> None:
        self.results, self.colorize, self.trim, self.highlight = results, colorize, trim, highlight
        self.unit, self.scale = select_unit(min(result.median for result in results))
        # Sort rows by number of threads and environment; otherwise keep the order in which results were added.
        keys = sorted(ordered_unique(map(_row_key, results)), key=lambda key: (key[0], key[1] or ""))
        self.column_names = ordered_unique(result.description for result in results)
        by_cell = {(_row_key(result), result.description): result for result in results}
        self.rows = {key: [by_cell.get((key, name)) for name in self.column_names] for key in keys}
        cells = zip(*self.rows.values(), strict=True)
        columns = [[cell for cell in column if cell is not None] for column in cells]
        self.columns = [_Column(column, self.scale, trim, highlight) for column in columns]

    def render(self) -> str:
        names = self._row_names()
        texts = [
            [name, *(column.text(cell) for column, cell in zip(self.columns, row, strict=True))]
            for name, row in zip(names, self.rows.values(), strict=True)
        ]
        header = ["", *(str(name) if name is not None else "" for name in self.column_names)]
        widths = [max(map(len, column)) for column in zip(header, *texts, strict=True)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(header, widths, strict=True))]
        overall, threads = len(lines[0]), None
        for key, row, row_texts in zip(self.rows, self.rows.values(), texts, strict=True):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
            cells = [text.center(width) for text, width in zip(row_texts[1:], widths[1:], strict=True)]
            best = self._fastest_times(key, row)
            cells = [_coloured(text, cell, best_time) for text, cell, best_time in zip(cells, row, best, strict=True)]
            lines.append("  |  ".join([row_texts[0].ljust(widths[0]), *cells]))
        label = self.results[0].label or ""
        title = f"[{f' {label} '.center(overall - 2, '-')}]"
        note = f"Times are in {unit_to_english(self.unit)}s ({self.unit}).\n"
        if self.highlight and any(result.has_warnings for result in self.results):
            note += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([title, *lines, "", note])

    def _row_names(self) -> list[str]:
        """Return the names of the rows. If there are several environments, each change of environment is shown in the name."""
        environments = {key[1] for key in self.rows}
        width = max(len(str(environment)) for environment in environments) if len(environments) > 1 else 0
        names, before = [], None
        for threads, environment, name in self.rows:
            is_new = len(environments) > 1 and (threads, environment) != before
            before = (threads, environment)
            names.append("  " + (f"({environment})" if is_new else "").ljust(width + 4) + name)
        return names

    def _fastest_times(self, key: tuple[int, str | None, str], row: Cells) -> list[float | None]:
        """Return the fastest time to which each cell of a row is compared, or None."""
        if self.colorize is Colorize.NONE:
            return [None] * len(row)
        if self.colorize is Colorize.ROWWISE:
            return [min(cell.median for cell in row if cell is not None)] * len(row)
        group = [cells for (threads, _, _), cells in self.rows.items() if threads == key[0]]
        columns = zip(*group, strict=True)
        return [min((cell.median for cell in column if cell is not None), default=None) for column in columns]


class _Column:
    """The number format of a column, which aligns the decimal points."""

    def __init__(self, results: Sequence[Measurement], scale: float, trim: bool, highlight: bool) -> None:
        self.scale, self.trim = scale, trim
        self.highlight = highlight and any(result.has_warnings for result in results)
        digits = [math.ceil(log10(result.median / scale)) for result in results]
        figures = [max(result.significant_figures - n, 0) for result, n in zip(results, digits, strict=True)]
        decimals = min(figures) if trim else 1
        length = max(digits) + decimals + (1 if decimals else 0)
        self.template = f"{{:>{length}.{decimals}f}}{{:>{7 if self.highlight else 0}}}"

    def text(self, result: Measurement | None) -> str:
        if result is None:
            return " " * len(self.template.format(trim_sigfig(1, 1) if self.trim else 1, ""))
        value = result.median / self.scale
        if self.trim:
            value = trim_sigfig(value, result.significant_figures)
        warns = self.highlight and result.has_warnings
        return self.template.format(value, f" (! {result.iqr / result.median * 100:.0f}%)" if warns else "")


def _row_key(result: Measurement) -> tuple[int, str | None, str]:
    return result.num_threads, result.env, result.as_row_name


def _coloured(text: str, result: Measurement | None, best: float | None) -> str:
    if result is None or best is None:
        return text
    value = result.median
    if value <= best * 1.01 or value <= best + 100e-9:
        return f"{_BEST}{_BOLD}{text}{_END}{_END}"
    if value <= best * 1.1:
        return f"{_GOOD}{_BOLD}{text}{_END}{_END}"
    if value >= best * 5:
        return f"{_VERY_BAD}{_BOLD}{text}{_END}{_END}"
    return f"{_BAD}{text}{_END}{_END}" if value >= best * 2 else text

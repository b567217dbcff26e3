"""Plots of the ratios: a panel for each curve, and bars for all other workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workloads import CURVES

__all__ = ["curve_points", "draw", "row_labels"]

Row = dict[str, Any]
COLUMNS = 3  # panels per row of the figure


def row_labels(rows: Sequence[Row]) -> list[str]:
    """Return a legend label for each row: backend and kernel pack, and the number of threads if rows differ in it."""
    several = len({row["threads"] for row in rows}) > 1
    return [f"{row['side']}, {row['threads']} threads" if several else str(row["side"]) for row in rows]


def curve_points(rows: Sequence[Row]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return the points `(size, ratio)` by curve and legend label, for curves with at least one row."""
    labels = row_labels(rows)
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for curve, workloads in CURVES.items():
        sizes = {workload.name: size for size, workload in workloads.items()}
        for row, label in zip(rows, labels, strict=True):
            if row["workload"] in sizes:
                curves.setdefault(curve, {}).setdefault(label, []).append((sizes[row["workload"]], row["ratio"]))
    return curves


def draw(rows: Sequence[Row], path: str) -> None:
    """Draw the rows to a file. The suffix of `path` determines the format."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "flambeau"  # reproducible files
    measured = [row for row in rows if "ratio" in row]
    curves = curve_points(measured)
    on_curves = {workload.name for curve in curves for workload in CURVES[curve].values()}
    others = [row for row in measured if row["workload"] not in on_curves]
    lines = -(-len(curves) // COLUMNS)
    bars = 1 + 0.25 * len({row["workload"] for row in others}) * len(set(row_labels(others))) ** 0.5 if others else 0
    heights = [height for height in (3.2 * lines, bars) if height]
    figure = pyplot.figure(figsize=(11, sum(heights)), layout="constrained")
    parts = list(figure.subfigures(len(heights), height_ratios=heights, squeeze=False)[:, 0])
    if curves:
        _draw_curves(parts[0], curves, lines)
    if others:
        _draw_bars(parts[-1].subplots(), others)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.endswith(".svg") else None)
    pyplot.close(figure)


def _draw_curves(figure: Any, curves: dict[str, dict[str, list[tuple[int, float]]]], lines: int) -> None:
    panels = figure.subplots(lines, min(len(curves), COLUMNS), squeeze=False).flat
    for axes, (curve, points) in zip(panels, curves.items(), strict=False):
        for label, line in points.items():
            axes.plot(*zip(*sorted(line), strict=True), marker="o", label=label)
        axes.axhline(1, color="gray", linewidth=1)
        highest = max(ratio for line in points.values() for _, ratio in line)
        axes.set(xscale="log", xlabel=curve, ylim=(0, 1.1 * max(1, highest)))
        sizes = sorted({size for line in points.values() for size, _ in line})
        axes.set_xticks(sizes, map(str, sizes))
        axes.minorticks_off()
    for axes in [*panels][len(curves) :]:
        axes.set_visible(False)
    figure.axes[0].set_ylabel("time, relative to PyTorch's")
    figure.axes[0].legend()


def _draw_bars(axes: Any, rows: Sequence[Row]) -> None:
    """Draw a bar for each row, with a mark at the target ratio."""
    labels, names = row_labels(rows), list(dict.fromkeys(row["workload"] for row in rows))
    kinds = list(dict.fromkeys(labels))
    height = 0.8 / len(kinds)
    for number, kind in enumerate(kinds):
        kind_rows = [row for row, label in zip(rows, labels, strict=True) if label == kind]
        positions = [names.index(row["workload"]) + (number - (len(kinds) - 1) / 2) * height for row in kind_rows]
        axes.barh(positions, [row["ratio"] for row in kind_rows], height, label=f"flambeau on {kind}")
        aims = [(row["aim"], position) for row, position in zip(kind_rows, positions, strict=True) if row["aim"]]
        axes.scatter([aim for aim, _ in aims], [position for _, position in aims], marker="|", color="black", zorder=3)
    axes.axvline(1, color="gray", linewidth=1)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, xlabel="relative to PyTorch (less is better; | the aim)")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.legend()

"""Open figures, and functions that draw nothing. The page replaces `show`."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy


class _Drawn:
    """A part of a figure: its methods accept all arguments."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: _Drawn()


class Figure(_Drawn):
    def savefig(self, file: BinaryIO, format: str) -> None:
        assert format == "svg"
        file.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30"/></svg>')


_figures: list[Figure] = []


def figure(number: int | None = None, **kwargs: object) -> Figure:
    if number is None:
        _figures.append(Figure())
        number = len(_figures)
    return _figures[number - 1]


def subplots(rows: int = 1, columns: int = 1, *, squeeze: bool = True, **kwargs: object) -> tuple[Figure, Any]:
    axes = numpy.array([_Drawn() for _ in range(rows * columns)]).reshape(rows, columns)
    return figure(), axes.squeeze()[()] if squeeze else axes


def get_fignums() -> list[int]:
    return list(range(1, len(_figures) + 1))


def close(which: str) -> None:
    assert which == "all"
    _figures.clear()


def switch_backend(name: str) -> None:
    assert name == "agg"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if not _figures:
        figure()
    return getattr(_figures[-1], name)

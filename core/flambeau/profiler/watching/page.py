"""Write a recorded step as a page of HTML: the template `page.html` with the data of the step as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

import flambeau as torch

from ... import version
from .fusing import Fusions
from .operations import Array, Operation, StepRecorder
from .sources import Place, documentation_of, lines_around, source_of

__all__ = ["page"]


def page(name: str, recorder: StepRecorder, fusions: Fusions | str) -> str:
    """Return the page of a step."""
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    text = json.dumps(_Data().step(name, recorder, fusions), separators=(",", ":"), ensure_ascii=False)
    data = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return template.replace("{{title}}", escape(name)).replace("{{data}}", data)


class _Data:
    """The data of a page.  Texts that many operations share are stored once; operations refer to them by index."""

    def __init__(self) -> None:
        self.texts: dict[Any, int] = {}
        self.values: list[Any] = []

    def shared(self, key: Any, make: Callable[[], Any]) -> int:
        """Return the index of a shared value; the first call for a key computes the value."""
        index = self.texts.get(key)
        if index is None:
            index = self.texts[key] = len(self.values)
            self.values.append(None)
            self.values[index] = make()
        return index

    def step(self, name: str, recorder: StepRecorder, fusions: Fusions | str) -> dict[str, Any]:
        """Return the data of a step."""
        backend = torch.backend.for_device_type(torch.get_default_device().type)
        return {
            "name": name,
            "about": f"flambeau {version.flambeau_version}, {backend.report()}, on {torch.get_default_device()}",
            "asynchronous": backend.asynchronous,
            "time": recorder.time,
            "operations": [self.operation(operation, recorder) for operation in recorder.operations],
            "fusions": {"note": fusions} if isinstance(fusions, str) else _fusions(fusions),
            "values": self.values,
        }

    def operation(self, operation: Operation, recorder: StepRecorder) -> dict[str, Any]:
        """Return the data of an operation, without empty entries."""
        record, rule = operation.record, operation.rule
        documented = operation.function if record is None or not record.doc else record
        data = {
            "name": operation.name,
            "phase": operation.phase,
            "parent": operation.parent,
            "start": operation.start - recorder.began,
            "time": operation.time,
            "bytes": operation.bytes,
            "live": operation.live,
            "places": [self.shared(place, lambda place=place: _place(place)) for place in operation.places],  # type: ignore[misc]  # mypy cannot infer the default's type
            "record": None if record is None else record.name,
            "forward": operation.forward,
            "view": operation.view_of,
            "written": operation.written,
            "inputs": [_array(array) for array in operation.inputs],
            "outputs": [_array(array) for array in operation.outputs],
            "kernels": [[call.name, call.origin, call.time, self.source(call.function)] for call in operation.kernels],
            "source": self.source(operation.function),
            "doc": self.shared(("doc", documented), lambda: _documentation(documented)),
            "rule": None
            if rule is None
            else {
                "node": rule.node,
                "sources": [source for source in dict.fromkeys(map(self.source, rule.functions)) if source is not None],
                "saved": [_array(array) for array in rule.saved],
            },
        }
        return {key: value for key, value in data.items() if value is not None and value != []}

    def source(self, function: Any) -> int | None:
        """Return the index of the source of a function, or None if it has none."""
        found = None if function is None else source_of(function)
        return None if found is None else self.shared(found, lambda: [_shown(found.file), found.line, found.text])


def _documentation(documented: Any) -> str:
    doc = getattr(documented, "doc", None)
    return doc if isinstance(doc, str) else documentation_of(documented)


def _place(place: Place) -> list[Any]:
    return [_shown(place.file), place.line, place.function, *lines_around(place)]


def _shown(file: str) -> str:
    """Return a path relative to the current folder or to the folder of its package, and "cell" for a cell of a notebook."""
    if "ipykernel_" in file:  # the temporary file of a notebook's cell
        return "cell"
    for folder in ("site-packages", "dist-packages"):
        if folder in file:
            return file.rpartition(f"{folder}{os.sep}")[2]
    relative = file.removeprefix(os.getcwd() + os.sep)
    for package in ("flambeau_nnlib", "flambeau_backends", "flambeau_vision", "flambeau"):
        if f"{os.sep}{package}{os.sep}" in file:
            return f"{package}{os.sep}{file.rpartition(f'{os.sep}{package}{os.sep}')[2]}"
    return relative


def _shown_place(place: str) -> str:
    """Return a place such as "/home/me/train.py:12" with the path as the page shows it."""
    file, _, line = place.rpartition(":")
    return f"{_shown(file)}:{line}" if file else place


def _array(array: Array) -> list[Any]:
    """Return `[name, shape or text, dtype, bytes, source, whether it is a leaf]`."""
    if array.shape is None:
        return [array.name, array.text]
    return [array.name, list(array.shape), array.dtype, array.bytes, array.source, int(array.leaf)]


def _fusions(fusions: Fusions) -> dict[str, Any]:
    return {
        "calls": fusions.calls,
        "supported": fusions.supported,
        "reason": fusions.reason.replace(os.getcwd() + os.sep, ""),
        "chains": [
            {"names": chain.names, "shape": list(chain.shape), "places": list(dict.fromkeys(map(_shown_place, chain.places)))}
            for chain in fusions.chains
        ],
    }

"""Examples of operations from the conformance kit's samples, and the backends that passed these samples."""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import flambeau as torch
from flambeau.conformance.samples import families

ROOT = Path(__file__).parents[2]


@functools.cache
def _samples() -> dict[str, list[Any]]:
    by_name: dict[str, list[Any]] = {}
    for samples in families().values():
        for sample in samples:
            by_name.setdefault(sample.name, []).append(sample)
    return by_name


class _Recorder:
    """Replaces `torch` in the call of a sample, and records the source of the call of its operation."""

    def __init__(self, name: str, names: dict[int, str], calls: list[str], path: str = "") -> None:
        self._name, self._names, self._calls, self._path = name, names, calls, path

    def __getattr__(self, attribute: str) -> Any:
        path = f"{self._path}.{attribute}" if self._path else attribute
        if path == self._name or self._name.startswith(f"{path}."):
            return _Recorder(self._name, self._names, self._calls, path)
        found: Any = torch
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        function: Any = torch
        for part in self._name.split("."):
            function = getattr(function, part)
        shown = [self._text(argument) for argument in arguments]
        written = [f"{key}={self._text(value)}" for key, value in options.items()]
        if self._name.startswith("Tensor."):
            method = self._name.partition(".")[2]
            self._calls.append(f"{shown[0]}.{method}({', '.join(shown[1:] + written)})")
        else:
            self._calls.append(f"torch.{self._name}({', '.join(shown + written)})")
        return function(*arguments, **options)

    def _text(self, value: Any) -> str:
        if id(value) in self._names:
            return self._names[id(value)]
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(self._text, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, torch.Tensor):
            raise LookupError("the sample creates an argument tensor itself")
        text = repr(value)
        if text.startswith("<") or len(text) > 60:
            raise LookupError("the repr of an argument is too long, or not an expression")
        return text


def example(name: str) -> str:
    """Return a sample of an operation as an example with its output, or an empty string if no sample is short enough."""
    for sample in sorted(_samples().get(name, ()), key=_awkwardness):
        try:
            return _shown(sample)
        except LookupError:
            continue
    return ""


def _awkwardness(sample: Any) -> int:
    """Return a sort key: samples of about six elements first, empty ones last."""
    sizes = [
        int(np.size(described.values) if described.values is not None else np.prod(described.shape))
        for described in sample.inputs
    ]
    return max((abs(size - 6) if size else 1000 for size in sizes), default=0)


def _shown(sample: Any) -> str:
    generator = np.random.default_rng(3)
    dtype = "float32" if "float32" in sample.dtypes else sample.dtypes[0]
    tensors, lines, names = [], [">>> import flambeau as torch"], {}
    for letter, described in zip("xyzwvu", sample.inputs, strict=False):
        array = described.array(np, generator, dtype)
        if array.dtype.kind in "fc":
            array = np.round(array, 1)
        if array.size > 24:
            raise LookupError("an input has more than 24 elements")
        tensor = torch.tensor(array)
        written = f"{np.array2string(array, separator=', ', floatmode='unique', max_line_width=1000)}"
        written = re.sub(r"\n\s*", " ", re.sub(r" +", " ", written)).replace("[ ", "[")
        odd = "" if str(array.dtype) in ("float32", "int64", "bool") else f", dtype=torch.{array.dtype}"
        lines.append(f">>> {letter} = torch.tensor({written}{odd})".replace("True ", "True"))
        tensors.append(tensor)
        names[id(tensor)] = letter
    if len(tensors) != len(sample.inputs):
        raise LookupError("the sample has more than six tensors")
    calls: list[str] = []
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):  # deprecation warnings
        result = sample.call(_Recorder(sample.name, names, calls), *tensors)
    if len(calls) != 1:
        raise LookupError("the sample does not call its operation exactly once")
    printed = repr(result)
    if len(printed) > 600 or any(len(line) > 140 for line in lines):
        raise LookupError("the example is too long")
    return "```pycon\n" + "\n".join([*lines, f">>> {calls[0]}", printed]) + "\n```"


# --- backends -----------------------------------------------------------------------------------------------------


@functools.cache
def _passed() -> list[str]:
    """Return the backends with a passed run of the conformance kit in docs/backends.md."""
    text = (ROOT / "docs/backends.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)` \|.*\bpassed \d+", text, re.MULTILINE)


@functools.cache
def _declared() -> dict[str, dict[str, str]]:
    """Return the expected failures of each backend: the name of the failing check by operation."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "plugins").glob("flambeau-*/tests/exceptions.txt")):
        checks = (line.split() for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
        found[path.parts[-3].removeprefix("flambeau-")] = {name: check for name, check, *_ in checks}
    return found


def checked_on(name: str) -> str:
    """Return the backends on which an operation's samples passed, or an empty string if it has no samples."""
    if name not in _samples():
        return ""
    backends = []
    for backend in _passed():
        excused = _declared().get(backend, {}).get(name)
        backends.append(backend if excused is None else f"{backend} (except {'some dtypes' if excused == '*' else excused})")
    return ", ".join(backends)

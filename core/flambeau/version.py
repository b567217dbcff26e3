"""The version of flambeau, and the version of the PyTorch API that it provides.

`torch.__version__` is the version of the API, followed by "+flambeau" and flambeau's version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = [
    "TorchVersion", "__version__", "api_version", "cuda", "debug", "flambeau_version", "git_version", "hip",
    "rocm", "xpu",
]  # fmt: skip

flambeau_version = "0.1.0"
api_version = "2.13.0"

_PATTERN = re.compile(r"v?(\d+(?:\.\d+)*)(?:[-_.]?(dev|a|b|rc)(\d*))?(?:\+([a-z0-9.]+))?")
_FINAL = "z"  # the stage of a final release, which sorts after "a", "b" and "rc"


class TorchVersion(str):
    """A version string that compares with strings, tuples and `packaging.version.Version` as versions (PEP 440).

    Strings that are not versions are compared as strings.

    >>> TorchVersion("2.13.0+flambeau0.1.0") >= (2, 9), TorchVersion("2.13.0") > "2.2"
    (True, True)
    """

    __slots__ = ()
    __hash__: Any = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._compare(other, "__lt__")

    def __le__(self, other: object) -> bool:
        return self._compare(other, "__le__")

    def __gt__(self, other: object) -> bool:
        return self._compare(other, "__gt__")

    def __ge__(self, other: object) -> bool:
        return self._compare(other, "__ge__")

    def _compare(self, other: object, method: str) -> bool:
        text = ".".join(map(str, other)) if isinstance(other, tuple | list) else str(other)
        mine, theirs = _sort_key(self), _sort_key(text)
        if mine is None or theirs is None:
            as_strings: Callable[[object], bool] = getattr(super(), method)
            return as_strings(other)
        return bool(getattr(mine, method)(theirs))


def _sort_key(text: str) -> tuple[Any, ...] | None:
    """Return a sort key for the order of versions (PEP 440); None if `text` is not a version."""
    match = _PATTERN.fullmatch(text.lower())
    if match is None:
        return None
    numbers, stage, stage_number, local = match.groups()
    release = tuple(map(int, re.sub(r"(\.0+)+$", "", numbers).split(".")))
    stage = {"dev": "", None: _FINAL}.get(stage, stage)  # the empty string sorts before all other stages
    return release, stage, int(stage_number or 0), local or ""


__version__ = TorchVersion(f"{api_version}+flambeau{flambeau_version}")
debug = False
git_version = f"flambeau-{flambeau_version}"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None

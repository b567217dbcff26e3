"""The output of `python -m flambeau backends`: each backend with its library, devices and missing features."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from .. import backend as backends
from ..backend import Backend
from ..conformance.record import last_runs, run_summaries
from ..engine.calls.resolve import is_on_host
from ..engine.calls.tables import OPS
from ..engine.devices.devices import CPU_DEVICES
from ..engine.devices.host import COMPUTED_ON_HOST
from ..engine.devices.plugins import MORE_BACKENDS, unknown_backend
from ..engine.values import dtypes

__all__ = ["facts", "listing", "main"]

_INDENT = " " * 13


def main(arguments: Sequence[str]) -> int:
    """Run `backends` with its arguments.  Return the exit status: 1 if FLAMBEAU_BACKEND selects a missing backend, else 0."""
    argparse.ArgumentParser(
        "python -m flambeau backends", description="Print the installed backends with their features and gaps."
    ).parse_args(arguments)
    for line in listing():
        print(line, flush=True)  # flushed because importing the next library takes long
    if backends.SELECTED_NAME not in backends.installed():
        print(f"FLAMBEAU_BACKEND: {unknown_backend(backends.SELECTED_NAME)}", file=sys.stderr)
        return 1
    return 0


def listing() -> Iterator[str]:
    """Yield lines of text: name and module of each backend, with `*` for the selected one, and indented facts.

    >>> import flambeau.cli.listing
    >>> next(line.split() for line in flambeau.cli.listing.listing() if " numpy " in line)
    ['*', 'numpy', 'flambeau_backends.numpy']
    """
    width = max(60, shutil.get_terminal_size((130, 24)).columns)
    for name, source in sorted(backends.installed().items()):
        yield f"{'*' if name == backends.SELECTED_NAME else ' '} {name:<10} {source}"
        for title, text in facts(name):
            rest = _INDENT + " " * 13
            yield textwrap.fill(
                f"{title:<12} {text}", width, initial_indent=_INDENT, subsequent_indent=rest, break_on_hyphens=False
            )
    yield MORE_BACKENDS


def facts(name: str) -> Iterator[tuple[str, str]]:
    """Yield (title, text) facts about a backend: its features and missing features, or why it cannot be used."""
    try:
        backend = backends.find(name)
        backend.prepare()
        yield "library", backend.report()
    except (AssertionError, RuntimeError, ImportError) as error:
        yield "not usable", " ".join(str(error).split())
        return
    yield "devices", _or_error(lambda: _devices(backend))
    yield "dtypes", ", ".join(dtype.name for dtype in backend.dtypes)
    lacking = [dtype.name for dtype in dtypes.ALL if dtype not in backend.dtypes]
    if lacking:
        yield "lacking", ", ".join(lacking)
    yield "on the CPU", ", ".join(on_host(backend)) or "nothing"
    runs = list(run_summaries(last_runs(name)))
    yield "conformance", "; ".join(runs) or f"not run yet: python -m flambeau conformance {name}"


def on_host(backend: Backend) -> list[str]:
    """Return the names of operations that run on the CPU although the backend has another device.

    The backend declares some as missing from its library; a conformance run may have found others.
    """
    if backend.device_type == "cpu":
        return []
    for part in ("fft", "linalg", "special"):  # these modules define operations when they are imported
        import_module(f"flambeau.{part}")
    parts = [("random numbers", "generator"), ("bytes as another dtype", "reinterpret")]
    general = [said for said, method in parts if getattr(type(backend), method) is getattr(Backend, method)]
    lacking = {name for name, record in OPS.items() if is_on_host(record, backend)}
    return general + sorted(lacking | COMPUTED_ON_HOST.get(backend.name, set()) | {*last_runs(backend.name).get("on_host", ())})


def _devices(backend: Backend) -> str:
    kind, count = backend.device_type, CPU_DEVICES if backend.device_type == "cpu" else backend.device_count()
    return kind if kind == "cpu" and count == 1 else ", ".join(f"{kind}:{index}" for index in range(count))


def _or_error(value: Callable[[], str]) -> str:
    """Return the value or the text of its error, so that broken libraries are also listed."""
    try:
        return value()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

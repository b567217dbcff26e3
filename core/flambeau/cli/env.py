"""The report of `python -m flambeau env`: facts about the machine for bug reports."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence

import flambeau as torch

from .. import backend as backends
from .. import version
from ..engine.devices import devices
from ..engine.devices.devices import CPU_DEVICES
from .text import counted

__all__ = ["main", "report"]

LIBRARIES = ("numpy", "array-api-compat", "pluggy", "cupy", "ml_dtypes")
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def main(arguments: Sequence[str]) -> int:
    """Run `env` with its arguments.  Return the exit status."""
    parser = argparse.ArgumentParser("python -m flambeau env", description="Print versions, backends, devices and threads.")
    parser.add_argument("--json", action="store_true", help="print a JSON object; `plugin` is a list of lines")
    options = parser.parse_args(arguments)
    if not options.json:
        print(report())
        return 0
    facts = list(_facts())
    plugins = [value for name, value in facts if name == "plugin"]
    print(json.dumps({**dict(facts), "plugin": plugins}, indent=2))
    return 0


def report() -> str:
    """Return the versions, backends, devices and threads in use, one `name: value` per line.

    >>> import flambeau.cli.env
    >>> flambeau.cli.env.report().splitlines()[0].startswith("flambeau:")
    True
    """
    return "\n".join(f"{f'{name}:':<20}{value}" for name, value in _facts())


def _facts() -> Iterator[tuple[str, str]]:
    yield "flambeau", f"{version.flambeau_version} in {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"
    yield "PyTorch API", version.api_version
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    yield "platform", f"{platform.platform()}, {counted(os.cpu_count() or 1, 'CPU')}"
    for library in LIBRARIES:
        yield library, _installed_version(library)
    yield "backends", ", ".join(sorted(backends.installed()))
    yield "backend", _or_error(lambda: backends.selected().report())
    yield "devices", _or_error(_devices)
    yield "default device", _or_error(lambda: str(devices.get_default_device()))
    yield "threads", _or_error(lambda: str(torch.get_num_threads()))
    for name in sorted(os.environ):
        if name.startswith("FLAMBEAU_") or name in VARIABLES:
            yield name, os.environ[name]
    for line in backends.plugins().hook.flambeau_report_header():
        yield "plugin", line


def _installed_version(library: str) -> str:
    """Return the version of an installed distribution, also of one for a CUDA version such as `cupy-cuda12x`."""
    for name in (library, f"{library}-cuda12x", f"{library}-cuda13x"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not installed"


def _devices() -> str:
    kind = backends.selected().device_type
    count = CPU_DEVICES if kind == "cpu" else backends.selected().device_count()
    return kind if kind == "cpu" and count == 1 else ", ".join(f"{kind}:{index}" for index in range(count))


def _or_error(value: Callable[[], str]) -> str:
    """Return the value or the text of its error, so that the report also works on a broken installation."""
    try:
        return value()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

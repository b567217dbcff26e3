"""Runs all checks on one backend, and prints a table of the results."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO

import flambeau as torch
from flambeau import backend as backends

from . import engine, networks
from .checks import CHECKS, IN_DOUBLE, Checker
from .samples import bad_calls, families

__all__ = ["FAMILIES", "Family", "main", "run"]

FAMILIES = (*families(), "autograd", "tensors", "nn layers", "training")
"""The names of all families of checks, in the order in which they run."""

_Check = Callable[[], None]


@dataclass
class Family:
    """The results of the checks of one family."""

    name: str
    passed: int = 0
    failures: list[str] = field(default_factory=list)


def run(name: str, only: Sequence[str] = FAMILIES) -> Iterator[Family]:
    """Run the checks of families (by default all) on the backend called `name`; yields the results family by family.

    Raises:
        RuntimeError: there is no such backend, or it cannot be imported.
        ValueError: there is no such family.
    """
    unknown = sorted({*only}.difference(FAMILIES))
    if unknown:
        raise ValueError(f"no family of checks is called {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    return _run(backends.find(name).device_type, only)


def _run(device: str, only: Sequence[str]) -> Iterator[Family]:
    for name in only:
        family = Family(name)
        for what, check in _checks(name, device):
            _try(family, what, check, device)
        yield family


def _checks(family: str, device: str) -> Iterator[tuple[str, _Check]]:
    """The checks of a family, by name."""
    if family == "autograd":
        yield from engine.AUTOGRAD.items()
    elif family == "tensors":
        yield from engine.TENSORS.items()
    elif family == "nn layers":
        for name in networks.LAYERS:
            yield name, partial(networks.layer, name, device)
    elif family == "training":
        yield "a convolutional network", partial(networks.training, device)
    else:
        yield from _checks_of_operations(family, Checker(device))


def _checks_of_operations(family: str, checker: Checker) -> Iterator[tuple[str, _Check]]:
    for number, sample in enumerate(families()[family]):
        for check, applies in CHECKS.items():
            if applies(sample) and checker.dtypes(sample) and (check not in IN_DOUBLE or checker.has_double):
                yield f"{sample.name} [{family}-{number}] {check}", partial(getattr(checker, check), sample)
    for number, call in enumerate(bad_calls().get(family, ())):
        yield f"{call.name} [{family}-{number}] errors", partial(checker.raises, call)


def _try(family: Family, what: str, check: _Check, device: str) -> None:
    try:
        with warnings.catch_warnings(), torch.device(device):
            warnings.simplefilter("ignore")
            check()
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        family.failures.append(f"{what}: {type(error).__name__}: {reason}"[:200])
    else:
        family.passed += 1


def main(name: str, only: Sequence[str] = FAMILIES, file: TextIO | None = None) -> int:
    """Print a line for each family when it is done, then the failures; returns the exit code, 1 if there are any."""
    file = file or sys.stdout
    results = run(name, only)
    print(f"{'family':<20}{'passed':>8}{'failed':>8}{'seconds':>9}", file=file, flush=True)
    failures: list[str] = []
    passed, begin = 0, time.perf_counter()
    start = begin
    for family in results:
        now = time.perf_counter()
        print(f"{family.name:<20}{family.passed:>8}{len(family.failures):>8}{now - start:>9.1f}", file=file, flush=True)
        start, passed = now, passed + family.passed
        failures += family.failures
    print(f"{'all':<20}{passed:>8}{len(failures):>8}{start - begin:>9.1f}", file=file)
    for failure in failures:
        print(f"FAILED {failure}", file=file)
    return 1 if failures else 0

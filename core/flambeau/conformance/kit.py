"""Running all checks on one backend, and the table of how it did."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO

import flambeau as torch
from flambeau import backend as backends

from . import networks
from .checks import CHECKS, Checker
from .samples import bad_calls, families

__all__ = ["Family", "main", "run"]


@dataclass
class Family:
    """How the checks of one family of operations went."""

    name: str
    device: str
    passed: int = 0
    failures: list[str] = field(default_factory=list)


def run(name: str) -> Iterator[Family]:
    """Run every check on the backend called ``name``, a family at a time."""
    device = backends.find(name).device_type
    checker = Checker(device)
    bad = bad_calls()
    for family, samples in families().items():
        found = Family(family, device)
        for number, sample in enumerate(samples):
            for check, applies in CHECKS.items():
                if applies(sample) and checker.dtypes(sample) and (not check.endswith("gradients") or checker.has_double):
                    _try(found, f"{sample.name} [{family}-{number}] {check}", partial(getattr(checker, check), sample))
        for number, call in enumerate(bad.get(family, ())):
            _try(found, f"{call.name} [{family}-{number}] errors", partial(checker.raises, call))
        yield found
    layers = Family("nn layers", device)
    for each in networks.LAYERS:
        _try(layers, each, partial(networks.layer, each, device))
    yield layers
    trained = Family("training", device)
    _try(trained, "a convolutional network", lambda: networks.training(device))
    yield trained


def _try(family: Family, what: str, check: Callable[[], None]) -> None:
    import warnings

    try:
        with warnings.catch_warnings(), torch.device(family.device):
            warnings.simplefilter("ignore")
            check()
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        family.failures.append(f"{what}: {type(error).__name__}: {reason}"[:200])
    else:
        family.passed += 1


def main(name: str, file: TextIO | None = None) -> int:
    """Print a line for each family as it is done, then what failed; the exit code is 1 if anything did."""
    file = file or sys.stdout
    print(f"{'family':<20}{'passed':>8}{'failed':>8}{'seconds':>9}", file=file)
    failures: list[str] = []
    total, begin = 0, time.perf_counter()
    start = begin
    for family in run(name):
        now = time.perf_counter()
        print(f"{family.name:<20}{family.passed:>8}{len(family.failures):>8}{now - start:>9.1f}", file=file, flush=True)
        start, total = now, total + family.passed
        failures += family.failures
    print(f"{'all':<20}{total:>8}{len(failures):>8}{start - begin:>9.1f}", file=file)
    for each in failures:
        print(f"FAILED {each}", file=file)
    return 1 if failures else 0

"""The checks of a backend, family by family, and their results when run in this process."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau import backend as backends
from flambeau.backend import Backend

from . import engine, networks
from .checks import CHECKS, IN_DOUBLE, Checker
from .exceptions import Exceptions
from .samples import bad_calls, families

__all__ = ["FAMILIES", "Check", "Family", "Result", "attempt", "checks_of", "known_families", "run"]

FAMILIES = (*families(), "autograd", "tensors", "nn layers", "training")
"""The names of all families of checks, in the order in which they run."""

_QUICK = ("values", "layouts", "gradients", "gradients_as_on_the_cpu")


@dataclass(frozen=True)
class Check:
    """One check: its name, made of the operation and the property, and the function that raises an error if it fails.

    `skipped` is the reason for not running the check if the backend cannot support the property.
    """

    name: str
    run: Callable[[], None]
    skipped: str = ""


@dataclass(frozen=True)
class Result:
    """The outcome of a check: `"passed"`, `"failed"`, `"skipped"` or `"expected"` (a declared failure)."""

    name: str
    outcome: str
    reason: str = ""
    trace: str = ""


@dataclass
class Family:
    """The results of the checks of one family."""

    name: str
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    expected: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        """Count one result."""
        if result.outcome == "passed":
            self.passed += 1
        elif result.outcome == "skipped":
            self.skipped[result.reason] = self.skipped.get(result.reason, 0) + 1
        else:
            (self.failures if result.outcome == "failed" else self.expected).append(f"{result.name}: {result.reason}")


def known_families(names: Iterable[str]) -> list[str]:
    """Return the family names as a list, or all families if none are given.  Raises ValueError for an unknown name."""
    names = list(names) or list(FAMILIES)
    unknown = sorted({*names}.difference(FAMILIES))
    if unknown:
        raise ValueError(f"unknown families of checks: {', '.join(unknown)}; expected some of {', '.join(FAMILIES)}")
    return names


def run(
    name: str, only: Sequence[str] = FAMILIES, *, quick: bool = False, exceptions: str | Path | None = None
) -> Iterator[Family]:
    """Run the checks of families (by default all) on the backend `name`; yield the results of each family.

    Args:
        name: the backend.
        only: names of families from `FAMILIES`.
        quick: whether to run only a few checks of the first sample of each operation.
        exceptions: a file of declared exceptions (see `docs/plugins.md`), whose failures are in `Family.expected`.

    Raises:
        RuntimeError: the backend does not exist or cannot be imported.
        ValueError: a family does not exist, or a line of the file is malformed.
    """
    chosen, declared = known_families(only), Exceptions.read(exceptions)
    return _run(backends.find(name), chosen, quick, declared)


def _run(backend: Backend, only: Sequence[str], quick: bool, declared: Exceptions) -> Iterator[Family]:
    for name in only:
        family = Family(name)
        for check in checks_of(name, backend.device_type, quick):
            family.add(declared.applied(attempt(check, backend.device_type)))
        backend.clear_caches()  # the next family uses other shapes, for which compiled programs are not reused
        yield family


def attempt(check: Check, device: str) -> Result:
    """Run one check on a device."""
    if check.skipped:
        return Result(check.name, "skipped", check.skipped)
    try:
        with warnings.catch_warnings(), torch.device(device):
            warnings.simplefilter("ignore")
            check.run()
    except Exception as error:
        if "pip install " in str(error):  # an optional dependency is not installed
            return Result(check.name, "skipped", str(error))
        return Result(check.name, "failed", _describe_error(error), traceback.format_exc())
    return Result(check.name, "passed")


def _describe_error(error: Exception) -> str:
    """Return the type and message of an error on one line; if the message is empty, the failing code replaces it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        last = traceback.extract_tb(error.__traceback__)[-1]
        statement = linecache.getlines(last.filename)[(last.lineno or 1) - 1 : last.end_lineno]
        lines = [f"in {last.name}: {' '.join(line.strip() for line in statement)}"]
    return f"{type(error).__name__}: {' '.join(lines[:4])}"


# --- the checks ---------------------------------------------------------------------------------------------------


def checks_of(family: str, device: str, quick: bool = False) -> Iterator[Check]:
    """Yield the checks of a family for a device type, always in the same order."""
    if family == "autograd":
        yield from (Check(name, check) for name, check in engine.AUTOGRAD.items())
    elif family == "tensors":
        yield from (Check(name, check) for name, check in engine.TENSORS.items())
    elif family == "nn layers":
        yield from (Check(name, partial(networks.assert_layer_agrees, name, device)) for name in networks.LAYERS)
    elif family == "training":
        yield from (Check(name, partial(networks.assert_optimizer_agrees, name, device)) for name in networks.OPTIMIZERS)
        yield Check("a convolutional network", partial(networks.assert_training_agrees, device))
    else:
        yield from _checks_of_operations(family, Checker(device, quick), quick)


def _checks_of_operations(family: str, checker: Checker, quick: bool) -> Iterator[Check]:
    seen: set[str] = set()
    for number, sample in enumerate(families()[family]):
        if quick and sample.name in seen:
            continue
        seen.add(sample.name)
        for check, applies in CHECKS.items():
            if applies(sample) and (not quick or check in _QUICK):
                yield _check(f"{sample.name} [{family}-{number}]", check, sample, checker)
    for number, call in enumerate(() if quick else bad_calls().get(family, ())):
        yield Check(f"{call.name} [{family}-{number}] errors", partial(checker.raises, call))


def _check(sample_name: str, check: str, sample: Any, checker: Checker) -> Check:
    skipped = ""
    if not checker.dtypes(sample):
        skipped = f"no {' or '.join(checker.lacking(sample))}"
    elif check in IN_DOUBLE and not checker.wide_dtypes(sample):
        if check == "gradients":
            check = "gradients_as_on_the_cpu"
            skipped = "" if "float32" in checker.dtypes(sample) else "no dtype for derivatives"
        else:
            skipped = "no float64 for finite differences"
    return Check(f"{sample_name} {check}", partial(getattr(checker, check), sample), skipped)

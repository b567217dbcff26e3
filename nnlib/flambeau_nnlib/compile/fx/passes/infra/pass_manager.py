"""`PassManager`, which runs passes in an order that satisfies constraints."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from flambeau import nn

from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Callable[..., PassResult | None]:
    """Convert a function that changes a graph module, and returns it or None, to a pass that returns a `PassResult`."""

    @functools.wraps(fn)
    def wrapped(module: nn.Module) -> PassResult | None:
        result = fn(module)
        return result if isinstance(result, PassResult) else PassResult(module if result is None else result, True)

    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Return the constraint that the pass `this` runs before the pass `that`."""
    return lambda first, second: not (first is that and second is this)


class PassManager:
    """Run passes repeatedly, until none of them modifies the graph module.

    Args:
        passes: functions from a graph module to a `PassResult`, or None for "not modified".
        constraints: functions of two passes that return False if the first must not run before the second.
        steps: the greatest number of rounds.
        run_checks_after_each_pass: whether to run the checks after each pass, not only at the end.
        suppress_check_failures: accepted for compatibility and ignored.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = list(passes or ())
        self.constraints = list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._check: Callable[[nn.Module], None] | None = None
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint on the order of passes."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[[nn.Module], None]) -> None:
        """Set a function that raises an error for an invalid graph module. TypeError if it has not exactly one parameter."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self._check = check

    def check(self, module: nn.Module) -> None:
        """Call the function that `add_checks` has set."""
        if self._check is not None:
            self._check(module)

    def validate_constraints(self) -> None:
        """Raise a RuntimeError if the order of the passes violates a constraint."""
        for (i, first), (j, second) in itertools.combinations(enumerate(self.passes), 2):
            if not all(constraint(first, second) for constraint in self.constraints):
                raise RuntimeError(f"pass schedule constraint violated. Expected {first} before {second} but found {i} < {j}")
        self._validated = True

    def solve_constraints(self) -> None:
        """Sort the passes so that all constraints are satisfied. Raise a RuntimeError if they contradict each other."""
        rest, ordered = list(self.passes), []
        while rest:
            first = next((one for one in rest if self._may_precede(one, rest)), None)
            if first is None:
                raise RuntimeError(f"Circular dependency detected among the following passes: {rest}")
            rest.remove(first)
            ordered.append(first)
        self.passes, self._validated = ordered, True

    def _may_precede(self, one: Pass, others: list[Pass]) -> bool:
        return all(constraint(one, other) for other in others if other is not one for constraint in self.constraints)

    def __call__(self, module: nn.Module) -> PassResult:
        """Run the passes on a graph module; return it, and whether it was modified."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            modified = False
            for one in self.passes:
                result = one(module)
                if result is not None:
                    if not isinstance(result, PassResult):
                        raise TypeError(
                            f"The result of the pass {one} should be type PassResult. Please wrap it with `pass_result_wrapper`."
                        )
                    module, modified = result.graph_module, modified or result.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            if not modified:
                break
        self.check(module)
        return PassResult(module, modified)

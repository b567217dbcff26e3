"""`python -m flambeau watch`: run a program, and write one of its training steps as a page of HTML."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import flambeau as torch

from ..profiler.watching import watch
from .launcher import run_file
from .text import counted

__all__ = ["main"]

_EPILOG = """\
A step ends when an optimizer's `step` returns: step N is everything between the ends of steps N - 1 and N of the optimizer that
steps first. The next step is recorded as torch.compile does, to list the calls that it would fuse. Then the program is stopped.
"""


def main(arguments: Sequence[str]) -> int:
    """Run `watch` with its arguments.  Return the exit status: 2 for an error, else 0."""
    parser = argparse.ArgumentParser(
        "python -m flambeau watch", description="Run a program, and show one of its training steps as a page of HTML.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s FILE.py [--step N] [-o OUT.html] [-- argument ...]",
    )  # fmt: skip
    parser.add_argument("program", metavar="FILE.py", help="the program; arguments after -- are passed to it")
    parser.add_argument("--step", type=int, default=3, metavar="N", help="the number of the step, from 1; 3 by default")
    parser.add_argument("-o", "--output", default="step.html", metavar="OUT.html", help="the file to write; step.html by default")
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    if options.step < 1:
        parser.error(f"--step {options.step}: steps are counted from 1")
    steps = _Steps(options.step, watch(f"Step {options.step} of {Path(options.program).name}"))
    try:
        with steps:
            run_file(options.program, list(arguments[end + 1 :]))
    except _Finished:
        pass
    if steps.count < options.step:
        print(
            f"watch: {options.program} ended after {counted(steps.count, 'step')} of an optimizer; choose a smaller --step, or "
            "put the code to watch in `with flambeau.watch() as step:` and call step.save()",
            file=sys.stderr,
        )
        return 2
    steps.watched.save(options.output)
    print(
        f"{options.output}: {counted(len(steps.watched.operations), 'operation')}, {Path(options.output).stat().st_size:,} bytes"
    )
    return 0


class _Finished(BaseException):
    """Stops the program after the last recorded step; not an `Exception`, so that the program does not handle it."""


class _Steps:
    """Context that counts the steps of the first optimizer, records one of them, and then the calls of the next one.

    Attributes:
        count: the number of steps that have ended.
        watched: the recorded step.
    """

    def __init__(self, number: int, watched: watch) -> None:
        self.number, self.watched, self.count = number, watched, 0
        self._optimizer: Any = None
        self._hooks, self._fusions = ExitStack(), ExitStack()

    def __enter__(self) -> _Steps:
        torch.install_as_torch()
        self._hooks.enter_context(self.watched.optimizers())
        self._hooks.callback(torch.optim.optimizer.register_optimizer_step_post_hook(self._end_step).remove)
        self._begin_step()
        return self

    def __exit__(self, *exception: object) -> None:
        self._hooks.close()
        self._fusions.close()
        if self.watched.active:
            self.watched.stop()

    def _begin_step(self) -> None:
        if self.count == max(self.number - 2, 0):  # also record the step before, because the first recorded step is slow
            self.watched.start()
        elif self.count == self.number - 1:
            self.watched.restart()
        elif self.count == self.number:
            self._fusions.enter_context(self.watched.fusions())

    def _end_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizer = self._optimizer or optimizer
        if optimizer is self._optimizer:
            self.count += 1
            if self.count == self.number:
                self.watched.stop()
            if self.count > self.number:
                raise _Finished
            self._begin_step()

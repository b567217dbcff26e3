"""`flambeau.watch`: record one training step, and show it as a page of HTML.

Entry points: `watch` (a context, for notebooks and programs), and `python -m flambeau watch` (`cli.watching`).

- `operations`: the recorder.  Function modes report calls, autograd nodes report derivative rules, `kernels` reports kernels.
- `kernels`: the interceptor that observes kernel calls, and where each kernel comes from.
- `fusing`: records a step as `torch.compile` does, to find the calls that it would fuse.
- `sources`: source code, docstrings and lines of the program.
- `page`: writes the page, from the template `page.html`.

Invariants: nothing is observed, and no call is slower, outside of a watched step; the step computes what it computes unwatched;
the page loads nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import flambeau as torch

from ...transforms.capture import NotCapturable
from .fusing import FusionRecorder, Fusions
from .operations import Operation, StepRecorder
from .page import page

__all__ = ["watch"]


class watch:
    """A context that records one training step: its forward pass, backward pass and optimizer step.

    In a notebook, the object is displayed as a page with all operations; `save` writes that page to a file.  Each operation
    has its record, shapes, dtypes, memory, time, the line of the program that called it, its derivative rule with the values that
    were saved for it, and the kernel that computed it.  Only calls of the thread that entered the context are recorded.

    Functions compiled by `torch.compile` run eagerly inside the context.  Times include the time of recording, except those of
    kernels.

    Args:
        name: the title of the page.

    Attributes:
        operations: the recorded operations, in the order in which they began.

    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.watch() as step:
    ...     (2 * x).exp().sum().backward()
    >>> [operation.name for operation in step.operations]
    ['mul', 'exp', 'sum', 'SumBackward0', 'ExpBackward0', 'MulBackward0']
    """

    def __init__(self, name: str = "A training step") -> None:
        self.name = name
        self._recorder = StepRecorder()
        self._fusions: Fusions | str = "A second step must be recorded to find the calls that torch.compile would fuse."

    @property
    def active(self) -> bool:
        """Whether the step is being recorded."""
        return self._recorder.active

    @property
    def operations(self) -> list[Operation]:
        return self._recorder.operations

    def __enter__(self) -> watch:
        with ExitStack() as undo:
            undo.enter_context(self.optimizers())
            self.start()
            undo.callback(self.stop)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._undo.close()

    def start(self) -> None:
        """Begin to record the step; its optimizers are recorded if this is called inside the context `optimizers`.

        Raises:
            RuntimeError: a step has been recorded before.
        """
        if self.operations:
            raise RuntimeError("this object has recorded a step already; call flambeau.watch() again for another step")
        self._stance = import_module("flambeau.compiler").set_stance("force_eager")
        self._recorder.start()

    def restart(self) -> None:
        """Forget what was recorded so far.  A second step in a recording is faster, because it looks up no kernels."""
        self._recorder.restart()

    def stop(self) -> None:
        """End the recording of the step."""
        self._recorder.stop()
        self._stance.__exit__(None, None, None)

    @contextmanager
    def optimizers(self) -> Iterator[None]:
        """Context in which the steps of optimizers are part of the recording."""
        optimizer = torch.optim.optimizer

        def begin(stepping: Any, args: Any, kwargs: Any) -> None:
            self._recorder.begin_optimizer(stepping, len(args) > 1 or bool(kwargs.get("closure")))

        before = optimizer.register_optimizer_step_pre_hook(begin)
        after = optimizer.register_optimizer_step_post_hook(lambda *step: self._recorder.end_optimizer())
        try:
            yield
        finally:
            before.remove()
            after.remove()

    @contextmanager
    def fusions(self) -> Iterator[None]:
        """Context for another step like the watched one, to find the calls that `torch.compile` would fuse.

        >>> x = torch.ones(3, requires_grad=True)
        >>> def train():
        ...     (2 * x).exp().sum().backward()
        >>> with torch.watch() as step:
        ...     train()
        >>> with step.fusions():
        ...     train()
        """
        recorder = FusionRecorder()
        try:
            recorder.start()
        except NotCapturable as reason:
            self._fusions = f"torch.compile runs this step eagerly: {reason}"
            yield
            return
        try:
            yield
        finally:
            self._fusions = recorder.stop()

    def html(self) -> str:
        """Return the page: one file with all data, styles and scripts."""
        return page(self.name, self._recorder, self._fusions)

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        style = "width:100%;height:44em;border:0"
        page = escape(self.html()).replace("\n", "&#10;")  # in one line, as Markdown ends HTML at an empty line
        return f'<iframe srcdoc="{page}" style="{style}" title="{escape(self.name)}"></iframe>'

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.operations):,} operations in {self._recorder.time / 1e6:.1f} ms>"

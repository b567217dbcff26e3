"""Programs: recorded calls as a Python function of arrays.

The source has one line for each needed call, in the recorded order, which preserves the order of writes and random draws.  A
name is deleted after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ...engine.tensors.tensor import Tensor
from .compiled_program import compiled_together
from .device_graphs import DeviceGraph, obstacle
from .fusion import fused
from .inference import Inference
from .passes import checks_first, merged, needed_calls, placed, specialized, without_copies
from .recorder import CHECK, EFFECT, Call, Recorder, Reference
from .source import Source

__all__ = ["Program"]


class Program:
    """A function of arrays, generated from recorded calls.

    Args:
        recorder: the recorder of the calls.
        calls: the calls.
        inputs: the input values.
        outputs: the values to return.
        stays: other values whose memory is used after the program, so that writes to it are needed.
        name: the name of the function.
        weights: for an inference step, the tensors from outside, by the value that is their array; otherwise None.

    Attributes:
        code: the Python source.
        run: the function, of a sequence of inputs; it returns a tuple of outputs.
        calls: the calls that are needed.
    """

    recorder: Recorder
    inputs: list[Reference]
    name: str
    outputs: list[Reference]
    calls: list[Call]
    code: str
    run: Callable[..., Any]

    def __init__(
        self,
        recorder: Recorder,
        calls: Sequence[Call],
        inputs: Sequence[Reference],
        outputs: Sequence[Reference],
        stays: Iterable[Reference] = (),
        name: str = "step",
        weights: Mapping[Reference, Tensor] | None = None,
    ) -> None:
        self.recorder, self.inputs, self.name = recorder, list(inputs), name
        calls, outputs = merged(recorder, needed_calls(recorder, calls, outputs, stays), outputs)
        calls, self.outputs = without_copies(recorder, checks_first(recorder, calls), inputs, outputs)
        self._plain: list[Call] | None = calls
        self.inference: Inference | None = None
        planner = None if weights is None else recorder.backend.inference
        if planner is not None:
            inference = Inference(recorder, calls, self.outputs, weights or {}, planner)
            if inference.prepared:
                self.inference, calls = inference, inference.calls
        calls, self.body = compiled_together(recorder, calls, inputs, self.outputs)
        joined = fused(recorder, calls, self.outputs, recorder.backend.fusion)
        self._has_parts = self.body is not None or self.inference is not None or len(joined) < len(calls)
        self._write(joined)

    def _write(self, calls: Sequence[Call]) -> None:
        backend = self.recorder.backend
        calls, device = placed(self.recorder, specialized(self.recorder, calls))
        self._placed = calls
        self._source = Source(self.recorder, calls, self.inputs, self.outputs, self.name)
        self.calls, self.run = self._source.calls, self._source.run
        if self.inference is None or not self.inference.has_only_plans():
            self.run = backend.wrap_program(self.run)
        if device is not None:
            self.run = backend.bind(self.run, device)
        self.code = self._source.code if self.body is None else f"{self.body.code}\n\n{self._source.code}"

    @property
    def exact(self) -> bool:
        """Whether results are bitwise equal to the recorded ones; plans and whole-program compilers may round differently."""
        return self.body is None and self.inference is None

    def separate(self) -> bool:
        """Undo fusion: run each call separately again.  Return whether any were fused."""
        if self._plain is None:
            return False
        plain, self._plain = self._plain, None
        if self._has_parts:
            self.body = self.inference = None
            self._write(plain)
        return self._has_parts

    def use_device_graph(self, fixed: Collection[Reference], apart: int | None = None) -> str | None:
        """Run as a device graph from now on; return None, or the reason why that is impossible.

        Args:
            fixed: values at the same address in each replay, such as parameters.
            apart: the first `apart` outputs must each have separate memory; None for all outputs.
        """
        memory = {self.recorder.group(reference) for reference in fixed}
        moving = [reference for reference in self.inputs if self.recorder.group(reference) not in memory]
        reason = obstacle(self.recorder, self._placed, moving, self.outputs[:apart])
        if reason is None:
            graph = DeviceGraph(self.recorder, self._placed, self.inputs, self.outputs, fixed, self.run)
            self.run = graph.run
        return reason

    @property
    def checks_before_effects(self) -> bool:
        """Whether all checks precede the first random draw or write to existing memory, so that a failed check changes
        nothing.
        """
        group = self.recorder.group
        there = {group(reference) for reference in self.inputs}
        kinds = [
            call.kind == CHECK
            for call in self.calls
            if call.kind in (CHECK, EFFECT) or any(group(target) in there for target in call.writes)
        ]
        return kinds == sorted(kinds, reverse=True)

    # --- inspection ---

    def table(self) -> list[tuple[str, str, str]]:
        """Return a row for each call: kind, name, and the line of source."""
        sources = [self._source] if self.body is None else [self.body, self._source]
        return [(call.kind, call.name, source.line(call)) for source in sources for call in source.calls]

    def print_tabular(self) -> None:
        """Print a row for each call: kind, name, and the line of source."""
        rows = [("kind", "name", "line"), *self.table()]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for kind, name, line in rows:
            print(f"{kind:{widths[0]}}  {name:{widths[1]}}  {line}")

    def __repr__(self) -> str:
        return f"Program({self.name}: {len(self.inputs)} inputs, {len(self.calls)} calls, {len(self.outputs)} outputs)"

"""Run a program as a device graph, such as a CUDA graph: its kernels are recorded once and launched together in each replay.

A graph uses the same addresses in each launch.  Inputs of a step are copied to static arrays, and results are copied from
static arrays; parameters and other external tensors are used in place.  Calls whose arguments are only numbers, such as the
conversion of a learning rate to an array, run before each launch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from .recorder import CHECK, COMPUTE, EFFECT, Call, Recorder, Reference, references_in
from .source import Source

__all__ = ["DeviceGraph", "obstacle"]

_MAX_RECORDINGS = 8  # recordings of one program; each new set of numbers or addresses needs one
_FROM_HOST = frozenset({"asarray", "array", "from_host", "from_host_later"})


def obstacle(recorder: Recorder, calls: Sequence[Call], given: Collection[Reference], outputs: Sequence[Reference]) -> str | None:
    """Return the reason why calls cannot become a device graph; None if they can.

    Args:
        recorder: the recorder of the calls.
        calls: the calls.
        given: the values whose address may differ between replays.
        outputs: the values that the program returns.
    """
    if not hasattr(recorder.backend, "begin_capture"):
        return f"the {recorder.backend.name} backend has no graphs"
    if len(_devices(recorder, calls)) > 1:
        return "it uses several devices"
    _, calls = _split_number_calls(recorder, calls)
    exposed = {recorder.group(reference) for call in calls for reference in call.writes} | set(map(recorder.group, outputs))
    # a constant that is neither written to nor returned needs no call in the graph
    calls = [call for call in calls if call.constant is None or recorder.group(call.results) in exposed]
    memory_given = {recorder.group(reference) for reference in given}
    for call in calls:
        values = list(references_in((call.args, call.kwargs, call.results)))
        if call.kind == EFFECT:
            return f"it draws random numbers: {call.name}"
        if call.kind == CHECK:
            return f"it compares values: {call.name}"
        if any(reference in recorder.on_host for reference in values):
            return f"it computes on the CPU: {call.name} (optimizers count steps there, if not told `capturable=True`)"
        if call.name in _FROM_HOST or any(recorder.kinds[reference.index] is None for reference in references_in(call.results)):
            return f"values go between the CPU and the device: {call.name}"
        if any(recorder.group(target) in memory_given for target in call.writes):
            return f"it writes to an argument: {call.name}"
    if any(reference in recorder.on_host or recorder.kinds[reference.index] is None for reference in outputs):
        return "it returns a value on the CPU"
    memory = [recorder.group(reference) for reference in dict.fromkeys(outputs)]
    return "some of its results share memory" if len(set(memory)) < len(memory) else None


def _devices(recorder: Recorder, calls: Sequence[Call]) -> set[int]:
    """Return the devices of the calls' arguments and results, in libraries with several devices."""
    values = (reference for call in calls for reference in references_in((call.args, call.kwargs, call.results)))
    return {recorder.devices[reference] for reference in values if reference in recorder.devices}


def _split_number_calls(recorder: Recorder, calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Split calls into calls on numbers alone and other calls."""
    numbers: list[Call] = []
    others: list[Call] = []
    known: set[Reference] = set()  # results of calls whose arguments are only numbers
    for call in calls:
        given = list(references_in((call.args, call.kwargs)))
        scalar_key = all(reference in known or recorder.kinds[reference.index] is None for reference in given)
        if (
            call.kind == COMPUTE
            and not call.writes
            and scalar_key
            and (given or call.name in _FROM_HOST)
            and call.constant is None
        ):
            numbers.append(call)
            known.update(references_in(call.results))
        else:
            others.append(call)
    return numbers, others


class DeviceGraph:
    """Runs calls as a device graph.

    Args:
        recorder: the recorder of the calls.
        calls: the calls, for which `obstacle` returned None.
        inputs: the input values.
        outputs: the values to return.
        fixed: the values whose address never changes.
        run: a function that runs the calls one by one; the fallback if the library cannot record them.

    Attributes:
        reason: why the calls run one by one; None if they run as a graph.
    """

    run_calls: Callable[[Sequence[Any]], tuple[Any, ...]]
    recordings: int
    static: list[Any]
    pool: Any

    def __init__(
        self,
        recorder: Recorder,
        calls: Sequence[Call],
        inputs: Sequence[Reference],
        outputs: Sequence[Reference],
        fixed: Collection[Reference],
        run: Callable[[Sequence[Any]], tuple[Any, ...]],
    ) -> None:
        self.backend: Any = recorder.backend
        self.run_calls, self.recordings = run, 0
        self.device: int | None = next(iter(_devices(recorder, calls)), None)
        self.reason: str | None = None
        before, body = _split_number_calls(recorder, calls)
        made = {reference for call in body for reference in references_in(call.results)}
        used = dict.fromkeys(reference for call in body for reference in references_in((call.args, call.kwargs)))
        needed = [reference for reference in [*used, *outputs] if reference not in made]
        inside = recorder.shared_dictionaries().difference(inputs)  # dictionaries used only by these calls
        needed = [reference for reference in dict.fromkeys(needed) if reference not in inside]
        self.before: Source = Source(recorder, before, inputs, needed, "before_the_graph")
        self.body: Source = Source(recorder, body, needed, outputs, "graph")
        memory_fixed = {recorder.group(reference) for reference in fixed}
        self.numbers: list[int] = []  # indices in `needed` of numbers; `still`: of fixed arrays; `moving`: of others
        self.still: list[int] = []
        self.moving: list[int] = []
        for place, reference in enumerate(needed):
            if recorder.kinds[reference.index] is None and reference not in recorder.shared_dictionaries():
                self.numbers.append(place)
            elif recorder.group(reference) in memory_fixed:
                self.still.append(place)
            else:
                self.moving.append(place)
        places = {reference: place for place, reference in enumerate(needed)}
        # For each output: its index in `needed` (None if computed), and whether its address is fixed, so that no copy is needed.
        self.outputs: list[tuple[int | None, bool]] = [
            (places.get(reference), recorder.group(reference) in memory_fixed) for reference in outputs
        ]
        self.graph: Any = None
        self.results: Any = None  # the static arrays that a launch writes its results to
        self.known: Any = None  # the numbers and addresses with which the graph was recorded
        self.stream: Any = None  # stream of the latest launch

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs for the input values."""
        backend = self.backend
        if self.reason is not None or backend.is_capturing():
            return self.run_calls(values)
        index = backend.current_device() if self.device is None else self.device
        with backend.guard(index):
            given = self.before.run(values)
            known = [given[place] for place in self.numbers], [backend.data_ptr(given[place]) for place in self.still]
            if self.graph is None or known != self.known:
                self._record(given, index)
                if self.reason is not None:
                    warnings.warn(f"torch.compile: a step is replayed without a CUDA graph: {self.reason}", stacklevel=2)
                    return self.run_calls(values)
                self.known = known
            stream = backend.current_stream(index)
            if self.stream is not None and stream is not self.stream:  # the previous launch may still use the memory
                stream.wait_event(self.stream.record())
            self.stream = stream
            for static, place in zip(self.static, self.moving, strict=True):
                self._write(static, given[place])
            self.graph.launch(stream)
            return tuple([
                given[place] if place is not None else result if is_outside else self._copy(result)
                for (place, is_outside), result in zip(self.outputs, self.results, strict=True)
            ])  # fmt: skip

    def _copy(self, value: Any) -> Any:
        """Copy an array, or a dictionary of arrays that kernels share."""
        if type(value) is dict:
            return {key: self._copy(item) for key, item in value.items()}
        return self.backend.copy(value) if isinstance(value, self.backend.array_type) else value

    def _write(self, static: Any, value: Any) -> None:
        """Write `value` into the copy `static` made by `_copy`."""
        if type(static) is dict:
            for key, item in static.items():
                self._write(item, value[key])
        elif isinstance(static, self.backend.array_type):
            self.backend.write(static, value)

    def _record(self, given: Sequence[Any], index: int) -> None:
        """Record the kernels that the calls launch, without running them."""
        self.graph = self.results = None
        if self.recordings == _MAX_RECORDINGS:
            self.reason = f"it was recorded {self.recordings} times, for other numbers or addresses"
            return
        self.recordings += 1
        backend = self.backend
        values = list(given)
        self.static = [self._copy(values[place]) for place in self.moving]
        for place, static in zip(self.moving, self.static, strict=True):
            values[place] = static
        self.pool = backend.create_pool()  # a separate pool: no other allocation may use the memory that a launch writes
        stream, before = backend.create_stream(index), backend.current_stream(index)
        backend.use_stream(stream, index)
        try:
            backend.begin_capture("relaxed")
            try:
                with backend.using_pool(self.pool):
                    self.results = self.body.run(values)
            except Exception:
                with suppress(Exception):  # an incomplete recording may be invalid
                    backend.end_capture()
                raise
            self.graph = backend.end_capture()
        except Exception as error:  # fall back to running the calls one by one
            self.reason = f"{type(error).__name__}: {error}"
        finally:
            backend.use_stream(before, index)

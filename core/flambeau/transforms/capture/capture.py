"""Capture one call of a function: run it once, record its kernel calls, and build programs that replay them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...backend import Backend, RecordableBackend, for_device_type
from ...engine.calls.inplace import regenerate
from ...engine.devices.devices import get_default_device
from ...engine.devices.hookspecs import StaleWeights
from ...engine.tape.engine import edge_of, run
from ...engine.tape.grad_mode import is_grad_enabled
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values.trees import flatten, unflatten
from .differentiation import CompiledFunctionBackward, RecordedBackward, ones_like, record_backward
from .effects import Effects
from .guards import Aliasing, ArgumentGradient, Outside, all_hold, describe, gradients_of_arguments, tensors_from_outside
from .inference import Inference
from .passes import needed_calls
from .program import Program
from .recorder import Call, RecordedArray, RecordedInteger, RecordedNumber, Recorder, Reference, references_in
from .recording import NotCapturable, Recording
from .results import Results
from .sources import Source, Sources

__all__ = ["Captured", "Refused", "capture", "describe", "tensors_in"]


@dataclass(slots=True)
class _History:
    """The autograd node that a replay attaches to some of its results.

    Attributes:
        outputs: indices of the node's outputs among the new tensors.
        inputs: the sources of the node's inputs in a replay.
        program: the backward program; None if the captured call has freed the graph, so that another backward raises an error.
        positions: for each input, the index of its gradient among the program's outputs.
        watched: the tensors whose memory the program reads, to detect later writes.
    """

    outputs: list[int]
    inputs: list[Source]
    program: Program | None = None
    positions: list[int | None] = field(default_factory=list)
    watched: list[Source] = field(default_factory=list)

    def attach(self, tensors: Sequence[Tensor], saved: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Attach a node, whose backward runs the program, to the results of a replay."""
        inputs = [source.tensor_in(arguments) for source in self.inputs]
        node = CompiledFunctionBackward.attach(inputs, [tensors[position] for position in self.outputs])
        if self.program is not None:
            node.set_up(self.program, self.positions, saved, [source.tensor_in(arguments) for source in self.watched])


@dataclass(slots=True)
class Captured:
    """A captured call of a function, which can be replayed.

    Attributes:
        forward: the program of the call, including the backward pass and the optimizer update if the call made them.
        backward: the program of a backward pass from the results; None if there is no graph.
        sources: the sources of the forward's inputs.
        results: the results that the call returns.
        effects: the changes that the call makes to tensors that existed before it.
    """

    forward: Program
    backward: Program | None
    sources: list[Source]
    results: Results
    effects: Effects
    places: list[tuple[dict[Any, Any], Any]]
    saved_from: int = 0  # forward outputs from this index on are saved for the backward
    effects_from: int = 0
    histories: list[_History] = field(default_factory=list)
    generators: list[tuple[Any, Any]] = field(default_factory=list)  # pairs (random generator, its backend's generator)
    outside: list[Outside] = field(default_factory=list)
    argument_gradients: list[ArgumentGradient] = field(default_factory=list)
    aliasing: Aliasing | None = None  # None if the call writes to no tensor
    device: int | None = None  # the device on which backends with a "current device" compute
    fixed: set[Reference] = field(default_factory=set)  # values that have the same memory address in each replay

    def holds(self, arguments: Sequence[Any]) -> bool:
        """Whether a replay is valid: tensors have the same shapes, dtypes, `requires_grad` and shared memory as at capture."""
        if not all_hold(self.outside):
            return False
        for gradient in self.argument_gradients:
            if not gradient.holds(arguments):
                return False
        if self.aliasing is not None and not self.aliasing.holds(arguments):
            return False
        if self.device is not None and self.device != self.forward.recorder.current_device():
            return False
        return not self.generators or all(generator._raw is raw for generator, raw in self.generators)

    def replay(self, arguments: Sequence[Any]) -> Any:
        """Replay the call with these tensors as arguments, in the order of `tensors_in`."""
        arrays = [  # most sources are external tensors; reading their arrays directly is faster than calling `_array`
            source.tensor._array if source.kind == "tensor" else self._array(source, arguments)  # type: ignore[union-attr]
            for source in self.sources
        ]
        inference = self.forward.inference
        if inference is None:
            self.effects.clear_gradients(arguments)
            values = self.forward.run(arrays)
        else:  # steps with plans have no effects and no gradients
            values = self._run_plans(inference, arrays)
            if self.results.one is not None:
                return self.results.one.make(values[0])
        arrays = []
        self.effects.apply(values[self.effects_from : self.saved_from], arguments)
        tensors = self.results.make(values, arguments)
        if self.histories:
            between = self.results.add_views(tensors)
            if is_grad_enabled():
                for history in self.histories:
                    history.attach(tensors, values[self.saved_from :], arguments)
            for view in between:
                regenerate(view)
        return self.results.result(tensors, values, arguments)

    def _run_plans(self, inference: Inference, arrays: Sequence[Any]) -> Sequence[Any]:
        """Run the program, after preparing its plans again if weights have changed; without plans if they change every time."""
        values: Sequence[Any]
        state = inference.state
        draws = self._draws() if inference.draws else ()  # a plan may notice new weights after others have drawn
        if inference.is_current():
            try:
                values = self.forward.run(arrays)
            except StaleWeights:  # a write that no version counter records
                _restore(draws)
            else:
                inference.renewals = 0
                return values
        if inference.renew(state):
            try:
                values = self.forward.run(arrays)
            except StaleWeights:  # another thread writes to the weights
                _restore(draws)
            else:
                return values
        self.separate()
        values = self.forward.run(arrays)
        return values

    def _draws(self) -> list[tuple[Any, Any]]:
        return [(raw, raw.get_state()) for _, raw in self.generators]

    def _array(self, source: Source, arguments: Sequence[Any]) -> Any:
        if source.kind == "number":
            container, key = self.places[source.position]
            return container[key]
        return source.tensor_in(arguments)._array

    @property
    def exact(self) -> bool:
        """Whether a replay computes bitwise the same results as the call."""
        return all(program.exact for program in (self.forward, self.backward) if program is not None)

    def separate(self) -> bool:
        """Undo fusion, so that replays run each call separately.  Return whether any calls were fused."""
        programs = [program for program in (self.forward, self.backward) if program is not None]
        separated = [program.separate() for program in programs]
        return any(separated)

    def use_device_graphs(self) -> list[str]:
        """Replay as device graphs (such as CUDA graphs) from now on; return the reasons why programs cannot be."""
        reasons = [self.forward.use_device_graph(self.fixed, self.saved_from)]
        if self.backward is not None:
            reasons.append(self.backward.use_device_graph(self.fixed))
        return [reason for reason in reasons if reason is not None]

    def touched(self) -> list[Tensor]:
        """Return the external tensors (not arguments) that a replay reads or changes."""
        return [source.tensor for source in self.sources if source.tensor is not None] + self.effects.tensors()

    def gradients_of_ones(self, leaves: Sequence[Any], positions: Sequence[int], arguments: Sequence[Tensor]) -> list[Any] | None:
        """Run a backward with gradients of 1 for the results at `positions`.  Return the inputs' gradients: arrays or None.

        Returns None if the call has no backward.
        """
        if self.backward is None:
            return None
        outputs = [leaves[position] for position in positions]
        roots = [(edge_of(output), wrap(ones_like(output), output._key.materialized)) for output in outputs]
        inputs = [source.tensor_in(arguments) for source in self.histories[-1].inputs]
        gradients = run(roots, retain_graph=True, inputs=inputs, capture=True) if inputs and roots else []
        return [None if gradient is None else gradient._array for gradient in gradients or []]


def _restore(draws: Sequence[tuple[Any, Any]]) -> None:
    """Set random generators back to their states before a replay that has to be repeated."""
    for raw, state in draws:
        raw.set_state(state)


def tensors_in(args: Any, kwargs: Any) -> list[Tensor]:
    """Return the tensors in the arguments of a call."""
    return [leaf for leaf in flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]


def capture(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    backend: Backend | None = None,
    nearby: Sequence[Tensor] = (),
    numbers: Sequence[tuple[dict[Any, Any], Any]] = (),
    strict: bool = False,
) -> tuple[Any, Captured]:
    """Call a function, and capture what the call does.

    Args:
        function: the function; it is called once.
        args, kwargs: its arguments.
        backend: the backend to record, in addition to the CPU's; by default the first recordable backend
            among those of the arguments, the default device and the tensors in `nearby`.
        nearby: other tensors that the function may use.
        numbers: numbers that may change from call to call, each given as a dictionary and its key.
        strict: raise an error where the program reads an element of a tensor as a Python value.

    Returns:
        the result of the function, and the captured call.

    Raises:
        Refused: the function has been called (with result `result`), but cannot be replayed for the reason in the message.
        LookedAtValue: with `strict`, the program reads a value.

    Example:
        >>> from flambeau.transforms.capture import capture
        >>> x = torch.arange(3.0)
        >>> result, captured = capture(lambda x: (2 * x).relu() + 1, (x,))
        >>> captured.replay([x - 5])
        tensor([1., 1., 1.])
        >>> print(captured.forward.code)
        def step(inputs):
            a0, = inputs
            v3 = mul(a0, constant)
            del a0
            v4 = relu(v3)
            del v3
            v5 = add(v4, constant_1)
            del v4
            return (v5,)
        <BLANKLINE>
    """
    kwargs = kwargs or {}
    if backend is None:
        backend = _backend_of(tensors_in(args, kwargs), nearby)
    recording = Recording(backend, numbers, strict)
    with recording:
        result = function(*args, **kwargs)
        try:
            captured = _build_captured(recording, result, tensors_in(args, kwargs))
        except NotCapturable as error:
            failure: Exception | None = error
            captured = None
        else:
            failure = None
        result = _unwrap(result)
    if captured is None:
        raise Refused(str(failure), result, recording.recorder.missed)
    return result, captured


class Refused(NotCapturable):
    """Raised if a function was called but the call cannot be replayed.

    Attributes:
        result: the result of the call.
        missed: the backend that should have been recorded, if the call used a backend that was not; otherwise None.
    """

    result: Any
    missed: Backend | None

    def __init__(self, reason: str, result: Any, missed: Backend | None = None) -> None:
        super().__init__(reason)
        self.result, self.missed = result, missed


def _backend_of(arguments: Sequence[Tensor], nearby: Sequence[Tensor]) -> Backend:
    """Return the first recordable backend other than the CPU's (which is always recorded), else the first of all."""
    default, host = for_device_type(get_default_device().type), for_device_type("cpu")
    of_arguments, others = ([tensor._key.materialized.backend for tensor in tensors] for tensors in (arguments, nearby))
    found = [*of_arguments, default, *others]
    return next((backend for backend in found if isinstance(backend, RecordableBackend) and backend is not host), found[0])


def _unwrap(result: Any) -> Any:
    """Replace recorded numbers and arrays in the result by their values."""
    leaves, spec = flatten(result)
    return unflatten([_unwrap_leaf(leaf) for leaf in leaves], spec)


def _unwrap_leaf(leaf: Any) -> Any:
    if type(leaf) in (RecordedNumber, RecordedInteger):
        return leaf.plain
    return leaf._value if type(leaf) is RecordedArray else leaf


def _build_captured(recording: Recording, result: Any, arguments: list[Tensor]) -> Captured:
    """Build programs from a recording, which must still be open."""
    recorder = recording.recorder
    leaves, spec = flatten(result)
    sources = Sources(recording, arguments)
    results = Results.of(recording, leaves, spec, sources)
    backwards = record_backward(recording, results.tensors())
    results.forget()
    effects = Effects.of(recording, sources, arguments)
    _check(recording)
    outputs = list(results.outputs)
    effects_from = len(outputs)
    outputs += effects.references()
    saved_from = len(outputs)
    end = next((backward.first for backward in backwards if backward.first is not None), len(recorder.calls))
    captured = Captured(
        None, None, [], results, effects, recording.places, saved_from, effects_from,  # type: ignore[arg-type]  # set below
    )  # fmt: skip
    for backward in backwards:
        _add_backward(captured, recording, backward, sources, outputs)
    sources.find_shared_memory(recorder.calls)
    needed = needed_calls(recorder, recorder.calls[:end], outputs, sources.all_references())
    inputs = sources.needed_by(needed, outputs)
    weights = None if backwards or effects.any() else sources.tensors()
    captured.forward = Program(recorder, needed, inputs, outputs, sources.all_references(), weights=weights)
    captured.sources = [sources.source_of(reference) for reference in inputs]
    _add_guards(captured, recording, sources, arguments)
    recorder.forget_dictionaries()
    if not captured.forward.checks_before_effects:
        raise NotCapturable("it compares values after it has changed others")
    return captured


def _check(recording: Recording) -> None:
    """Raise NotCapturable if the recording contains something that a replay cannot repeat."""
    recorder = recording.recorder
    if recorder.spoiled:
        raise NotCapturable(recorder.spoiled)
    if recording.device != recorder.current_device():
        raise NotCapturable("another device has become the current one")
    if recording.spoiled_numbers():
        raise NotCapturable("a number that was to be followed, such as a learning rate, was replaced")


def _add_guards(captured: Captured, recording: Recording, sources: Sources, arguments: list[Tensor]) -> None:
    """Add the conditions for a replay to `captured`, and mark the gradients that a replay overwrites without reading."""
    effects, forward = captured.effects, captured.forward
    changed_gradients = [source for source in effects.places() if source.kind == "gradient"]
    read = {(source.position, id(source.tensor)) for source in captured.sources + changed_gradients if source.kind == "gradient"}
    for gradient in effects.gradients:
        gradient.replaces = (gradient.tensor.position, id(gradient.tensor.tensor)) not in read
    of_histories = [source for history in captured.histories for source in history.inputs]
    used = captured.sources + of_histories + captured.results.sources() + changed_gradients
    captured.outside = tensors_from_outside(recording, used, effects)
    captured.argument_gradients = gradients_of_arguments(recording, arguments, used, effects)
    if effects.arrays or _writes_to(recording.recorder, forward.calls, forward.inputs):
        captured.aliasing = Aliasing(arguments, captured.outside)
    captured.generators, captured.device = recording.generators, recording.device
    captured.fixed = {reference for reference, source in sources.found.items() if source.tensor is not None}


def _writes_to(recorder: Recorder, calls: Sequence[Call], inputs: Sequence[Reference]) -> bool:
    """Whether calls write to the memory of their inputs."""
    there = {recorder.group(reference) for reference in inputs}
    return any(recorder.group(reference) in there for call in calls for reference in call.writes)


def _constant_calls(recorder: Recorder, calls: Sequence[Call]) -> list[Call]:
    """Return the calls that compute constants which are never written to.  A backward repeats them, to save memory."""
    written = {recorder.group(reference) for call in recorder.calls for reference in call.writes}
    return [call for call in calls if call.constant is not None and recorder.group(call.results) not in written]


def _add_backward(
    captured: Captured, recording: Recording, backward: RecordedBackward, sources: Sources, outputs: list[Reference]
) -> None:
    """Build the program of a backward, and add it to `captured`.  Values that it needs are appended to the forward's outputs."""
    history = _History(backward.outputs, [sources.of_tensor(tensor) for tensor in backward.inputs])
    captured.histories.append(history)
    if backward.first is None:
        return
    recorder = recording.recorder
    calls = _constant_calls(recorder, recorder.calls[: backward.first]) + recorder.calls[backward.first :]
    made = {reference for call in calls for reference in references_in(call.results)}
    wanted = [reference for reference in backward.results if reference is not None]
    needed = needed_calls(recorder, calls, wanted)
    used = dict.fromkeys(reference for call in needed for reference in references_in((call.args, call.kwargs)))
    used.update(dict.fromkeys(wanted))
    gradients = set(backward.gradients)
    saved = [reference for reference in used if reference not in made and reference not in gradients]
    outputs += saved
    captured.backward = history.program = Program(recorder, calls, [*saved, *backward.gradients], wanted, name="backward")
    positions = iter(range(len(wanted)))
    history.positions = [None if reference is None else next(positions) for reference in backward.results]
    history.watched = [sources.source_of(reference) for reference in saved if reference in sources.lifted]

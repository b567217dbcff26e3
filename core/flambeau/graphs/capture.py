"""Capturing one call of a function: it runs once, and what it did becomes programs that do it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..backend import Backend, for_device_type
from ..runtime.devices import DispatchKey, get_default_device
from ..tape.engine import edge_of, run
from ..tensors.tensor import Tensor, wrap
from ..values.trees import Spec, flatten, unflatten
from .differentiation import CompiledFunctionBackward, RecordedBackward, record_backward
from .effects import Effects
from .passes import needed_calls
from .program import Program
from .recorder import Call, RecordedArray, RecordedInteger, RecordedNumber, Recorder, Reference, references_in
from .recording import NotCapturable, Recording

__all__ = ["Captured", "Refused", "capture", "describe", "tensors_in"]


@dataclass(slots=True)
class Source:
    """Where a replay finds an array: in an argument, in a tensor that lived outside, or in the gradient of one."""

    kind: str  # "argument", "tensor", "gradient", "number"
    position: int
    tensor: Tensor | None
    key: DispatchKey | None


@dataclass(slots=True)
class _Outside:
    """What a replay expects of a tensor from outside."""

    tensor: Tensor
    array: Any  # as it was last seen
    description: Any
    requires_grad: bool
    has_gradient: bool | None  # None where that does not matter
    gradient_description: Any = None  # where the gradient's memory is used

    def holds(self) -> bool:
        tensor = self.tensor
        if tensor._requires_grad is not self.requires_grad or tensor._has_hooks:
            return False
        if tensor._array is not self.array:
            if describe(tensor) != self.description:
                return False
            self.array = tensor._array
        if self.has_gradient is not None and (tensor._grad is not None) is not self.has_gradient:
            return False
        return self.gradient_description is None or describe(tensor._grad) == self.gradient_description


def describe(tensor: Any) -> Any:
    """What a program relies on of a tensor: type, dispatch key, shape, strides, and whether it wants a gradient."""
    array = tensor._array
    return type(tensor), tensor._key, array.shape, getattr(array, "strides", None), tensor._requires_grad, tensor._inference


@dataclass(slots=True)
class Result:
    """A leaf of what the function returned: a new tensor, one from outside, a number, or a constant."""

    kind: str  # "new", "outside", "argument", "number", "constant"
    value: Any = None
    position: int = 0
    key: DispatchKey | None = None
    requires_grad: bool = False


@dataclass(slots=True)
class Captured:
    """What one call of a function did, ready to be done again.

    Attributes:
        forward: the program of the call, with the step's backward and update if these were part of it.
        backward: the program that a backward from the results runs; None if none of them requires a gradient.
        sources: where the forward's inputs come from.
        tensors: the tensors from outside whose arrays it reads.
    """

    forward: Program
    backward: Program | None
    sources: list[Source]
    results: list[Result]
    spec: Spec
    effects: Effects
    places: list[tuple[dict[Any, Any], Any]]
    saved_from: int = 0  # where in the forward's outputs what the backward needs begins
    effects_from: int = 0
    gradient_positions: list[int | None] = field(default_factory=list)
    differentiable: list[int] = field(default_factory=list)
    inputs: list[Source] = field(default_factory=list)
    watched: list[Source] = field(default_factory=list)
    generators: list[tuple[Any, Any]] = field(default_factory=list)  # random generators, and what each draws from
    outside: list[_Outside] = field(default_factory=list)

    def holds(self) -> bool:
        """Whether the tensors from outside are still what they were: of the same shape and dtype, wanting a gradient or not."""
        for tensor in self.outside:
            if not tensor.holds():
                return False
        return all(generator._raw is raw for generator, raw in self.generators)

    def replay(self, arguments: Sequence[Any]) -> Any:
        """Do it again, with these tensors in place of the arguments' (in the order of `tensors_in`)."""
        arrays = [self._array(source, arguments) for source in self.sources]
        self.effects.clear_gradients(arguments)
        values = self.forward.run(arrays)
        arrays = []
        self.effects.apply(values[self.effects_from : self.saved_from], arguments)
        leaves = [self._leaf(result, values, arguments) for result in self.results]
        if self.backward is not None:
            CompiledFunctionBackward.attach(
                self.backward,
                self.gradient_positions,
                values[self.saved_from :],
                [self._tensor(source, arguments) for source in self.watched],
                [self._tensor(source, arguments) for source in self.inputs],
                [leaves[position] for position in self.differentiable],
            )
        return unflatten(leaves, self.spec)

    def _array(self, source: Source, arguments: Sequence[Any]) -> Any:
        if source.kind == "number":
            container, key = self.places[source.position]
            return container[key]
        return self._tensor(source, arguments)._array

    def _tensor(self, source: Source, arguments: Sequence[Any]) -> Any:
        if source.kind == "argument":
            return arguments[source.position]
        return source.tensor if source.kind == "tensor" else source.tensor._grad  # type: ignore[union-attr]  # a tensor

    def _leaf(self, result: Result, values: Sequence[Any], arguments: Sequence[Any]) -> Any:
        if result.kind == "new":
            return wrap(values[result.position], result.key)  # type: ignore[arg-type]  # a key
        if result.kind == "number":
            return values[result.position]
        return arguments[result.position] if result.kind == "argument" else result.value

    @property
    def exact(self) -> bool:
        """Whether a replay gives the bits that the call gave."""
        return all(program.exact for program in (self.forward, self.backward) if program is not None)

    def separate(self) -> bool:
        """Make each call by itself, rather than several in one loop or program; returns whether there were any of these."""
        programs = [program for program in (self.forward, self.backward) if program is not None]
        separated = [program.separate() for program in programs]
        return any(separated)

    def touched(self) -> list[Tensor]:
        """The tensors from outside that it reads or changes."""
        return [source.tensor for source in self.sources if source.tensor is not None] + self.effects.tensors()

    def gradients_of_ones(self, leaves: Sequence[Any]) -> list[Any] | None:
        """The gradients (arrays, or None) of what it leads to, if those of all results are ones; None if there is no backward."""
        if self.backward is None:
            return None
        outputs = [leaves[position] for position in self.differentiable]
        roots = [(edge_of(output), wrap(one_like(output), output._key)) for output in outputs]
        inputs = [source.tensor for source in self.inputs if source.tensor is not None]
        gradients = run(roots, retain_graph=True, inputs=inputs, capture=True) if inputs else []
        return [None if gradient is None else gradient._array for gradient in gradients or []]


def one_like(tensor: Tensor) -> Any:
    """An array of ones in the shape and dtype of a tensor."""
    return tensor._key.backend.xp.ones(tensor._array.shape, dtype=tensor._key.raw_dtype)


def tensors_in(args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors in the arguments of a call."""
    return [leaf for leaf in flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]


def capture(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    backend: Backend | None = None,
    numbers: Sequence[tuple[dict[Any, Any], Any]] = (),
    strict: bool = False,
) -> tuple[Any, Captured]:
    """Call a function, and capture what the call does.

    Args:
        function: the function; it is called once.
        args, kwargs: its arguments.
        backend: whose arrays are recorded; by default, that of the default device.
        numbers: places of numbers that may change from call to call: dictionary and key.
        strict: raise where the program looks at a value.

    Returns:
        what the function returned, and what was captured.

    Raises:
        Refused: the call has been made (its result is `result`), but cannot be repeated from a record; the message says why.
        LookedAtValue: with `strict`, at the first look at a value.

    Example:
        >>> import flambeau as torch
        >>> from flambeau.graphs import capture
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
        backend = _backend_of(tensors_in(args, kwargs))
    recording = Recording(backend, numbers, strict)
    with recording:
        result = function(*args, **kwargs)
        try:
            captured = _captured(recording, result, tensors_in(args, kwargs))
        except NotCapturable as error:
            failure: Exception | None = error
            captured = None
        else:
            failure = None
        result = _plain(result)
    if captured is None:
        raise Refused(str(failure), result)
    return result, captured


class Refused(NotCapturable):
    """A call was made, but cannot be repeated from a record.

    Attributes:
        result: what the call returned.
    """

    def __init__(self, reason: str, result: Any) -> None:
        super().__init__(reason)
        self.result = result


def _backend_of(tensors: Sequence[Tensor]) -> Backend:
    return tensors[0]._key.backend if tensors else for_device_type(get_default_device().type)


def _plain(result: Any) -> Any:
    """The result without recorded numbers and arrays."""
    leaves, spec = flatten(result)
    return unflatten([_plain_leaf(leaf) for leaf in leaves], spec)


def _plain_leaf(leaf: Any) -> Any:
    if type(leaf) in (RecordedNumber, RecordedInteger):
        return leaf.plain
    return leaf._value if type(leaf) is RecordedArray else leaf


def _captured(recording: Recording, result: Any, arguments: list[Tensor]) -> Captured:
    recorder = recording.recorder
    leaves, spec = flatten(result)
    backward = record_backward(recording, leaves)
    effects = Effects.of(recording, arguments)
    if recorder.spoiled:
        raise NotCapturable(recorder.spoiled)
    if recording.spoiled_numbers():
        raise NotCapturable("a number that was to be followed, such as a learning rate, was replaced")
    sources = _Sources(recording, arguments)
    results, outputs = _results(recording, leaves, backward, sources)
    effects_from = len(outputs)
    outputs += effects.references()
    saved_from = len(outputs)
    forward_calls = recorder.calls if backward is None else recorder.calls[: backward.first]
    captured = Captured(
        None, None, [], results, spec, effects, recording.places, saved_from, effects_from,  # type: ignore[arg-type]  # set below
    )  # fmt: skip
    if backward is not None:
        _add_backward(captured, recording, backward, sources, outputs)
    sources.find_shared_memory(recorder.calls)
    made = {reference for call in forward_calls for reference in references_in(call.results)}
    needed = needed_calls(recorder, forward_calls, outputs, sources.all_references())
    inputs = sources.needed_by(needed, outputs, made)
    captured.forward = Program(recorder, needed, inputs, outputs, sources.all_references())
    captured.sources = [sources.source_of(reference) for reference in inputs]
    captured.outside = _expectations(recording, captured)
    captured.generators = recording.generators
    recorder.forget_dictionaries()
    if not captured.forward.checks_before_effects:
        raise NotCapturable("it compares values after it has changed others")
    return captured


def _expectations(recording: Recording, captured: Captured) -> list[_Outside]:
    """What a replay has to check of tensors from outside."""
    effects = captured.effects
    of_gradient = {
        id(place.tensor): place.tensor
        for place in (*(gradient.tensor for gradient in effects.gradients), *effects.cleared)
        if place.tensor is not None
    }
    uses_gradient = {id(source.tensor) for source in captured.sources if source.kind == "gradient"}
    tensors = {id(source.tensor): source.tensor for source in captured.sources + captured.inputs if source.tensor is not None}
    expected = []
    for tensor in (tensors | of_gradient).values():
        before = recording.states[id(tensor)]
        grad = before.grad
        if tensor._has_hooks:
            raise NotCapturable("a tensor has hooks")
        matters = id(tensor) in of_gradient or id(tensor) in uses_gradient
        expected.append(
            _Outside(
                tensor, before.array, _description_before(recording, tensor), before.requires_grad,
                (grad is not None) if matters else None,
                _description_before(recording, grad) if grad is not None and id(tensor) in uses_gradient else None,
            )
        )  # fmt: skip
    return expected


def _description_before(recording: Recording, tensor: Tensor) -> Any:
    before = recording.states[id(tensor)]
    array = before.array
    return type(tensor), before.key, array.shape, getattr(array, "strides", None), before.requires_grad, tensor._inference


class _Sources:
    """Where the values come from that were there before."""

    def __init__(self, recording: Recording, arguments: list[Tensor]) -> None:
        self.recording = recording
        self.positions = {id(tensor): position for position, tensor in reversed(list(enumerate(arguments)))}
        self.found: dict[Reference, Source] = {}
        gradient_of = {id(state.grad): state.tensor for state in recording.states.values() if state.grad is not None}
        for state in recording.states.values():
            reference = state.lifted._reference
            source = self._source(state.tensor, gradient_of)
            if reference not in self.found or source.kind == "argument":
                self.found[reference] = source
        for position, number in enumerate(recording.numbers):
            self.found[number.reference] = Source("number", position, None, None)
        self.lifted = {state.lifted._reference: state.lifted for state in recording.states.values()}

    def _source(self, tensor: Tensor, gradient_of: dict[int, Tensor]) -> Source:
        position = self.positions.get(id(tensor))
        if position is not None:
            return Source("argument", position, None, tensor._key)
        owner = gradient_of.get(id(tensor))
        if owner is not None:
            return Source("gradient", 0, owner, tensor._key)
        return Source("tensor", 0, tensor, tensor._key)

    def of_tensor(self, tensor: Tensor) -> Source:
        """Where a replay finds a tensor that was there."""
        return self.found[self.recording.states[id(tensor)].lifted._reference]

    def source_of(self, reference: Reference) -> Source:
        return self.found[reference]

    def all_references(self) -> list[Reference]:
        """All values that were there before."""
        return list(self.found)

    def needed_by(self, calls: Sequence[Any], outputs: Sequence[Reference], made: set[Reference]) -> list[Reference]:
        """The values from before that calls use, or that are outputs."""
        used = [reference for call in calls for reference in references_in((call.args, call.kwargs))]
        return [reference for reference in dict.fromkeys([*used, *outputs]) if reference in self.found and reference not in made]

    def find_shared_memory(self, calls: Sequence[Any]) -> None:
        """Join the groups of those that lie in the same memory, such as a parameter and a view of it."""
        used = dict.fromkeys(reference for call in calls for reference in references_in((call.args, call.kwargs)))
        arrays = [self.lifted[reference] for reference in used if reference in self.lifted]
        recorder = self.recording.recorder
        for i, array in enumerate(arrays):
            backend = recorder.backend_of(array._value)
            for other in arrays[:i]:
                if backend is recorder.backend_of(other._value) and backend.shares_memory(array._value, other._value):  # type: ignore[union-attr]  # a backend
                    recorder.join(array._reference, other._reference)


def _results(
    recording: Recording, leaves: Sequence[Any], backward: RecordedBackward | None, sources: _Sources
) -> tuple[list[Result], list[Reference]]:
    """What to return, and the values that it takes."""
    results: list[Result] = []
    outputs: list[Reference] = []
    differentiable = set(backward.outputs) if backward is not None else set()
    recorder = recording.recorder
    outside = {recorder.group(reference) for reference in sources.found}
    given: set[int] = set()
    for i, leaf in enumerate(leaves):
        if type(leaf) in (RecordedNumber, RecordedInteger):
            results.append(Result("number", position=len(outputs)))
            outputs.append(leaf.reference)
        elif isinstance(leaf, Tensor):
            state = recording.states.get(id(leaf))
            if state is not None:
                source = sources.of_tensor(leaf)
                if source.kind == "argument":
                    results.append(Result("argument", position=source.position))
                elif source.kind == "tensor":
                    results.append(Result("outside", leaf))
                else:
                    raise NotCapturable("it returns the gradient of a tensor")
                continue
            reference = recording.reference_of(leaf)
            if reference is None or type(leaf) is not Tensor:
                raise NotCapturable(f"it returns a {type(leaf).__name__}")
            if recorder.group(reference) in outside:
                raise NotCapturable("it returns a view of a tensor from outside")
            if recorder.group(reference) in given:
                raise NotCapturable("it returns two tensors that share memory")
            if leaf._requires_grad and i not in differentiable:
                raise NotCapturable("it returns a new leaf that requires a gradient")
            given.add(recorder.group(reference))
            results.append(Result("new", position=len(outputs), key=leaf._key))
            outputs.append(reference)
        elif type(leaf) is RecordedArray:
            raise NotCapturable("it returns an array of the array library")
        else:
            results.append(Result("constant", leaf))
    return results, outputs


def _constant_calls(recorder: Recorder, calls: Sequence[Call]) -> list[Call]:
    """Those that give constants that nobody writes to: a backward has them for itself rather than from the forward."""
    written = {recorder.group(reference) for call in recorder.calls for reference in call.writes}
    return [call for call in calls if call.constant is not None and recorder.group(call.results) not in written]


def _add_backward(
    captured: Captured, recording: Recording, backward: RecordedBackward, sources: _Sources, outputs: list[Reference]
) -> None:
    """Make the program of the backward, and add to the forward's outputs what it needs."""
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
    captured.backward = Program(recorder, calls, [*saved, *backward.gradients], wanted, name="backward")
    positions = iter(range(len(wanted)))
    captured.gradient_positions = [None if reference is None else next(positions) for reference in backward.results]
    captured.differentiable = backward.outputs
    captured.inputs = [sources.of_tensor(tensor) for tensor in backward.inputs]
    captured.watched = [sources.source_of(reference) for reference in saved if reference in sources.lifted]

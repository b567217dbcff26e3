"""Fuse chains of element-wise calls: each chain becomes one call of a loop that the backend, or a kernel pack, compiles.

`Backend.fusion` defines which operations a loop supports and how it is compiled.  This module finds and describes the chains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.devices.hookspecs import Fusion, FusionChain, FusionInput, FusionStep, Operand
from .elementwise import Elementwise, Step, elementwise
from .recorder import Call, Recorder, Reference, references_in

__all__ = ["fused", "fusible"]

_MAX_CALLS = 48  # maximum number of calls in one loop
_MAX_STEPS = 256
_MAX_ARRAYS = 32  # maximum number of inputs and possible outputs: a CUDA kernel has 4 kB of parameters


def fused(recorder: Recorder, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion | None) -> list[Call]:
    """Replace each chain of element-wise calls by one call.  Without `fusion`, return the calls unchanged."""
    if fusion is None:
        return list(calls)
    replaced: dict[int, Call | None] = {}
    for chain in _chains(recorder, calls, outputs, fusion):
        call = _fused_call(recorder, chain, calls, outputs, fusion)
        replaced.update({member.place: None for member in chain.members[:-1]} | {chain.members[-1].place: call})
    kept = [replaced.get(place, call) for place, call in enumerate(calls)]
    return [call for call in kept if call is not None]


def fusible(recorder: Recorder, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion) -> list[list[Call]]:
    """Return the chains that `fused` would replace, as lists of calls."""
    return [[member.call for member in chain.members] for chain in _chains(recorder, calls, outputs, fusion)]


def _chains(recorder: Recorder, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion) -> list[_Chain]:
    """Return the chains of more than one call."""
    last_use = {
        reference: place for place, call in enumerate(calls) for reference in references_in((call.args, call.kwargs))
    } | dict.fromkeys(outputs, len(calls))
    chains = _Chains(recorder, fusion, last_use)
    for place, call in enumerate(calls):
        chains.add(place, call)
    return [chain for chain in chains.all if len(chain.members) > 1]


# --- finding chains -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Member:
    """A call of a chain: its index among all calls, and its steps."""

    place: int
    call: Call
    computes: Elementwise


@dataclass(eq=False, slots=True)
class _Chain:
    """Calls that may be fused into one call.  It runs in the place of the last of them."""

    shape: tuple[int, ...]
    split: int | None  # if an input is a row or a column: the number of dimensions of a row
    members: list[_Member]
    results: set[Reference] = field(default_factory=set)
    accessed: dict[int, set[Reference]] = field(default_factory=dict)  # {memory group: values that are read or written}
    written: set[int] = field(default_factory=set)  # memory groups that are written to

    @property
    def device(self) -> int | None:
        return self.members[0].call.device

    def step_count(self) -> int:
        return sum(len(member.computes.steps) for member in self.members)

    def operands(self) -> Iterator[Reference]:
        for member in self.members:
            for step in member.computes.steps:
                yield from references_in(step.operands)


class _Chains:
    """The chains found so far.  Open chains can still grow: no other call has used their results or the arrays they write."""

    def __init__(self, recorder: Recorder, fusion: Fusion, last_use: dict[Reference, int]) -> None:
        self.recorder, self.fusion, self.last_use = recorder, fusion, last_use
        self.all: list[_Chain] = []
        self.open: dict[_Chain, None] = {}  # in the order of their last calls
        self.maker: dict[Reference, _Chain] = {}  # {result: open chain that computes it}
        self.users: dict[int, set[_Chain]] = {}  # {memory group: chains that read or write it}

    def add(self, place: int, call: Call) -> None:
        """Process the next call: extend, merge or close chains."""
        touched = self._must_precede(call)
        chain = self._new_chain(place, call)
        if chain is None:
            for before in touched:
                self._close(before)
            return
        for before in touched:
            if self._can_merge(before, chain):
                self._merge(chain, before)
            else:
                self._close(before)
        self.all.append(chain)
        self.open[chain] = None
        self.maker.update(dict.fromkeys(chain.results, chain))
        for memory in chain.accessed:
            self.users.setdefault(memory, set()).add(chain)

    def _must_precede(self, call: Call) -> list[_Chain]:
        """Return the open chains that must run before the call: it uses their results, or either writes memory that the other
        uses.
        """
        group = self.recorder.group
        found: set[_Chain] = set()
        for reference in references_in((call.args, call.kwargs)):
            if reference in self.maker:
                found.add(self.maker[reference])
            memory = group(reference)
            found.update(chain for chain in self.users.get(memory, ()) if memory in chain.written)
        for target in call.writes:
            found.update(self.users.get(group(target), ()))
        return [chain for chain in self.open if chain in found] if found else []

    def _new_chain(self, place: int, call: Call) -> _Chain | None:
        """Return a new chain with this call, or None if a loop cannot compute it."""
        computes = elementwise(self.recorder, call, self.fusion)
        if computes is None:
            return None
        target, shape = computes.target, computes.steps[-1].shape
        chain = _Chain(shape, None, [_Member(place, call, computes)])
        read = set(chain.operands())
        if _size(shape) < self.fusion.least or not self.recorder.on_host.isdisjoint(read):
            return None
        if not self.fusion.general:
            splits = set()
            for reference in read:
                layout, split = _layout(self.recorder.kind(reference)[0], shape)
                if layout == "broadcast":
                    return None
                splits.add(split)
            splits.discard(None)
            if len(splits) > 1:
                return None
            chain.split = next(iter(splits), None)
        for reference in (*read, *call.writes):
            chain.accessed.setdefault(self.recorder.group(reference), set()).add(reference)
        if target is None:
            chain.results.add(call.results)
        else:
            chain.written.add(self.recorder.group(target))
        return chain

    def _can_merge(self, before: _Chain, chain: _Chain) -> bool:
        """Whether two chains can be merged into one loop."""
        if before.shape != chain.shape or before.device != chain.device:
            return False
        if before.split is not None and chain.split is not None and before.split != chain.split:
            return False
        if len(before.members) + len(chain.members) > _MAX_CALLS or before.step_count() + chain.step_count() > _MAX_STEPS:
            return False
        if self.fusion.general and self._array_count(before, chain) > _MAX_ARRAYS:
            return False
        # A loop reads and writes each array at the same element, so that overlapping arrays must be identical.
        for memory in before.written | chain.written:
            if len(before.accessed.get(memory, set()) | chain.accessed.get(memory, set())) > 1:
                return False
        return True

    def _array_count(self, before: _Chain, chain: _Chain) -> int:
        """Return the number of inputs and possible outputs of the merged chain."""
        results, place = before.results | chain.results, chain.members[-1].place
        read = set().union(*before.accessed.values(), *chain.accessed.values()) - results
        return len(read) + sum(self.last_use.get(reference, 0) > place for reference in results)

    def _merge(self, chain: _Chain, before: _Chain) -> None:
        self._close(before)
        self.all.remove(before)
        chain.members = sorted(before.members + chain.members, key=lambda member: member.place)
        chain.results |= before.results
        chain.written |= before.written
        chain.split = before.split if chain.split is None else chain.split
        for memory, references in before.accessed.items():
            chain.accessed.setdefault(memory, set()).update(references)

    def _close(self, chain: _Chain) -> None:
        if chain in self.open:
            del self.open[chain]
            for reference in chain.results:
                del self.maker[reference]
            for memory in chain.accessed:
                self.users[memory].discard(chain)


# --- building the fused call
# --------------------------------------------------------------------------------------------------


def _fused_call(recorder: Recorder, chain: _Chain, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion) -> Call:
    """Return one call that replaces a chain."""
    members = [member.call for member in chain.members]
    inside = set(map(id, members))
    used = set(outputs)
    for call in calls:
        if id(call) not in inside:
            used.update(references_in((call.args, call.kwargs)))
    results = [call.results for call in members if call.results in used]
    described, given, targets = _describe(recorder, chain, results)
    one_by_one = _Unfused(members, given, results)
    loop = fusion.loop(described, one_by_one)
    name = "fused_" + "_".join(call.name for call in members[:4]) + ("_and_more" if len(members) > 4 else "")
    returned = tuple(results) if len(results) > 1 else results[0] if results else None
    return Call(name, loop, tuple(given), {}, returned, writes=tuple(targets), device=chain.device)


def _describe(
    recorder: Recorder, chain: _Chain, results: Sequence[Reference]
) -> tuple[FusionChain, list[Reference], list[Reference]]:
    """Return a chain as a `FusionChain`, its input values, and the inputs that it writes to."""
    inputs: dict[tuple[Reference, str], int] = {}  # a number is a separate input for each dtype
    latest: dict[Reference, Step] = {}  # the step that last wrote each array
    steps: list[tuple[Step, list[Any]]] = []
    for member in chain.members:
        for step in member.computes.steps:
            operands = [latest.get(item, item) if type(item) is Reference else item for item in step.operands]
            for place, operand in enumerate(operands):
                if type(operand) is Reference:
                    operands[place] = key = operand, step.floats if recorder.kinds[operand.index] is None else ""
                    inputs.setdefault(key, len(inputs))
            steps.append((step, operands))
        latest[member.computes.target or member.call.results] = member.computes.steps[-1]
    number_of: dict[Any, int] = inputs | {step: number for number, (step, _) in enumerate(steps, len(inputs))}
    described = [
        FusionStep(
            step.name,
            step.signature,
            tuple([item if type(item) in (int, float) else Operand(number_of[item]) for item in operands]),
            step.floats,
        )
        for step, operands in steps
    ]
    targets = [reference for reference in latest if (reference, "") in inputs]
    written = [(inputs[reference, ""], number_of[latest[reference]]) for reference in targets]
    kinds = [_input(recorder, reference, floats, chain.shape) for reference, floats in inputs]
    outputs = [number_of[latest[reference]] for reference in results]
    return (
        FusionChain(described, kinds, outputs, written, chain.shape, chain.split or 0),
        [reference for reference, _ in inputs],
        targets,
    )


def _input(recorder: Recorder, reference: Reference, floats: str, whole: tuple[int, ...]) -> FusionInput:
    if floats:
        return FusionInput("number", floats)
    shape, dtype = recorder.kind(reference)
    return FusionInput(_layout(shape, whole)[0], str(dtype))


class _Unfused:
    """Run the calls of a chain one by one: the fallback for arrays that the compiled loop does not support."""

    def __init__(self, calls: Sequence[Call], given: Sequence[Reference], results: Sequence[Reference]):
        self.calls, self.given, self.results = list(calls), list(given), list(results)

    def __call__(self, *arrays: Any) -> Any:
        values: dict[Any, Any] = dict(zip(self.given, arrays, strict=True))
        for call in self.calls:
            # An argument without a value becomes None; the call does not read it.
            arguments = [values.get(item) if type(item) is Reference else item for item in call.args]
            options = {name: values[item] if type(item) is Reference else item for name, item in call.kwargs.items()}
            result = call.function(*arguments, **options)
            if call.results is not None:
                values[call.results] = result
        results = tuple([values[reference] for reference in self.results])
        return results[0] if len(results) == 1 else results or None


def _layout(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[str, int | None]:
    """Return the layout of an array of `shape` in a loop over arrays of shape `whole`, such as "full".

    Rows and columns also return the number of dimensions of a row; other layouts return None.
    """
    if shape == whole:
        return "full", None
    if _size(shape) == 1 and len(shape) <= len(whole):
        return "scalar", None
    stripped = shape
    while stripped and stripped[0] == 1 and len(stripped) > 1:
        stripped = stripped[1:]
    if stripped == whole[len(whole) - len(stripped) :]:
        return "row", len(stripped)
    ones = 0
    while shape[len(shape) - 1 - ones] == 1:
        ones += 1
    if ones and len(shape) == len(whole) and shape[:-ones] == whole[:-ones]:
        return "column", ones
    return "broadcast", None


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size

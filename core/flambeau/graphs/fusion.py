"""Chains of element-wise calls, each of which becomes one call of a loop that a kernel pack compiles.

What such a loop may compute, and how it is compiled, a pack says by the hook `flambeau_fusion`.  This module finds the chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..runtime.hookspecs import Fusion, FusionInput, FusionStep, Operand
from .recorder import COMPUTE, Call, Recorder, Reference, references_in

__all__ = ["fused"]

_MOST = 48  # steps of one loop
_LETTERS = {"float32": "f", "bool": "b"}


@dataclass(eq=False, slots=True)
class _Chain:
    """Calls that may become one, at the place of the last of them."""

    shape: tuple[int, ...]
    split: int | None  # how many of the last dimensions a row has, where some input is a row or a column
    members: list[tuple[int, Call, tuple[Any, ...]]] = field(default_factory=list)  # place, call, its arguments that matter
    results: set[Reference] = field(default_factory=set)


def fused(recorder: Recorder, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion | None) -> list[Call]:
    """The calls, with one call in place of each chain of element-wise ones, where the backend has a pack that compiles loops."""
    if fusion is None:
        return list(calls)
    chains = _Chains(recorder, fusion)
    for place, call in enumerate(calls):
        chains.see(place, call)
    replaced: dict[int, Call | None] = {}
    for chain in chains.all:
        if len(chain.members) > 1:
            call = _one_call(recorder, chain, calls, outputs, fusion)
            replaced.update({place: None for place, _, _ in chain.members[:-1]} | {chain.members[-1][0]: call})
    kept = [replaced.get(place, call) for place, call in enumerate(calls)]
    return [call for call in kept if call is not None]


class _Chains:
    """The chains found so far; an open one may still grow, because nobody else has used its results."""

    def __init__(self, recorder: Recorder, fusion: Fusion) -> None:
        self.recorder, self.fusion = recorder, fusion
        self.all: list[_Chain] = []
        self.open: dict[Reference, _Chain] = {}  # by the results of their members

    def see(self, place: int, call: Call) -> None:
        """Take the next call."""
        found = self._elementwise(call)
        used = list(references_in((call.args, call.kwargs)))
        if found is None:
            for reference in used:
                self._close(self.open.get(reference))
            self._close_readers({self.recorder.group(target) for target in call.writes})
            return
        arguments, shape, split = found
        chain = _Chain(shape, split)
        self.all.append(chain)
        for reference in used:
            before = self.open.get(reference)
            if before is None or before is chain:
                continue
            if before.shape == shape and _agree(before.split, chain.split) and len(before.members) + len(chain.members) < _MOST:
                self._take_in(chain, before)
            else:
                self._close(before)
        chain.members.append((place, call, arguments))
        chain.results.add(call.results)
        self.open[call.results] = chain

    def _take_in(self, chain: _Chain, before: _Chain) -> None:
        chain.members = sorted(chain.members + before.members, key=lambda member: member[0])
        chain.results |= before.results
        chain.split = before.split if chain.split is None else chain.split
        self.open.update(dict.fromkeys(before.results, chain))
        self.all.remove(before)

    def _close(self, chain: _Chain | None) -> None:
        if chain is not None:
            for reference in chain.results:
                self.open.pop(reference, None)

    def _close_readers(self, written: set[int]) -> None:
        """Close the chains that read memory that is written to now: later they would read other values."""
        if written:
            for chain in set(self.open.values()):
                read = (reference for _, call, _ in chain.members for reference in references_in(call.args))
                if any(self.recorder.group(reference) in written for reference in read):
                    self._close(chain)

    def _elementwise(self, call: Call) -> tuple[tuple[Any, ...], tuple[int, ...], int | None] | None:
        """Of a call that can be part of a loop: its arguments, the shape of its result, and how rows divide that."""
        signature = self.fusion.operations.get(call.name)
        if signature is None or call.kind != COMPUTE or call.writes or call.kwargs or type(call.results) is not Reference:
            return None
        letters, result = signature.split(">")
        kind = self.recorder.kinds[call.results.index]
        if kind is None or len(call.args) < len(letters) or call.scalars or call.constant is not None:
            return None
        shape, split = kind[0], None
        if _size(shape) < self.fusion.least or _LETTERS.get(str(kind[1])) != result:
            return None
        for argument, letter in zip(call.args, letters, strict=False):
            if type(argument) in (int, float):
                if letter != "f" or not abs(argument) < 1e38:
                    return None
                continue
            of_argument = self.recorder.kinds[argument.index] if type(argument) is Reference else None
            if of_argument is None or _LETTERS.get(str(of_argument[1])) != letter:
                return None
            layout, own_split = _layout(of_argument[0], shape)
            if layout is None or not _agree(split, own_split):
                return None
            split = own_split if split is None else split
        return call.args[: len(letters)], shape, split


def _one_call(recorder: Recorder, chain: _Chain, calls: Sequence[Call], outputs: Sequence[Reference], fusion: Fusion) -> Call:
    """One call in place of a chain."""
    members = [call for _, call, _ in chain.members]
    inside = set(map(id, members))
    used = set(outputs)
    for call in calls:
        if id(call) not in inside:
            used.update(references_in((call.args, call.kwargs)))
    numbers: dict[Reference, int] = {}
    for _, _, arguments in chain.members:
        for reference in references_in(arguments):
            if reference not in chain.results:
                numbers.setdefault(reference, len(numbers))
    given = list(numbers)
    inputs = []
    for reference in given:
        shape, dtype = recorder.kind(reference)
        inputs.append(FusionInput(_layout(shape, chain.shape)[0] or "full", str(dtype)))
    steps = []
    for call in members:
        numbers[call.results] = len(numbers)
    for _, call, arguments in chain.members:
        operands = [Operand(numbers[item]) if type(item) is Reference else item for item in arguments]
        steps.append(FusionStep(call.name, tuple(operands), str(recorder.kind(call.results)[1])))
    results = [call.results for call in members if call.results in used]
    one_by_one = _OneByOne([(call, arguments) for _, call, arguments in chain.members], given, results)
    loop = fusion.loop(steps, inputs, [numbers[reference] for reference in results], chain.shape, chain.split or 0, one_by_one)
    name = "fused_" + "_".join(call.name for call in members[:4]) + ("_and_more" if len(members) > 4 else "")
    return Call(name, loop, tuple(given), {}, results[0] if len(results) == 1 else tuple(results))


class _OneByOne:
    """The calls of a chain as they were: what a loop falls back on for arrays that it does not take."""

    def __init__(self, calls: Sequence[tuple[Call, tuple[Any, ...]]], given: Sequence[Reference], results: Sequence[Reference]):
        self.calls, self.given, self.results = list(calls), list(given), list(results)

    def __call__(self, *arrays: Any) -> Any:
        values: dict[Any, Any] = dict(zip(self.given, arrays, strict=True))
        for call, arguments in self.calls:
            real = [values[item] if type(item) is Reference else item for item in arguments]
            values[call.results] = call.function(*real)
        results = tuple([values[reference] for reference in self.results])
        return results[0] if len(results) == 1 else results


def _layout(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[str | None, int | None]:
    """How an array of one shape is read in a loop over another: as a whole, by rows, by columns, or as one number."""
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
    return None, None


def _agree(split: int | None, other: int | None) -> bool:
    return split is None or other is None or split == other


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size

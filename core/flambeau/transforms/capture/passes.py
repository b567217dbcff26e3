"""Passes over recorded calls: dead code elimination, common subexpression elimination, order of checks, removal of copies."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ...engine.devices.hookspecs import ArrayKind
from .recorder import CHECK, COMPUTE, EFFECT, Call, Recorder, Reference, references_in

__all__ = ["checks_first", "merged", "needed_calls", "placed", "specialized", "substituted", "without_copies"]


def needed_calls(
    recorder: Recorder, calls: Sequence[Call], outputs: Iterable[Reference], stays: Iterable[Reference] = ()
) -> list[Call]:
    """Return the calls whose results or writes are used.

    Args:
        recorder: the recorder of the calls.
        calls: the calls.
        outputs: the values that the program returns.
        stays: other values whose memory is used after the program, so that writes to it are needed.
    """
    group, dictionaries = recorder.group, recorder.shared_dictionaries()
    wanted = set(outputs)
    in_use = {group(reference) for reference in (*wanted, *stays)}
    needed = []
    for call in reversed(calls):
        arguments = list(references_in((call.args, call.kwargs)))
        written = [*call.writes, *(reference for reference in arguments if reference in dictionaries)]
        if (
            call.kind != COMPUTE
            or any(reference in wanted for reference in references_in(call.results))
            or any(group(reference) in in_use for reference in written)
        ):
            needed.append(call)
            wanted.update(arguments)
            in_use.update(map(group, arguments))
    needed.reverse()
    return needed


# --- common subexpressions --------------------------------------------------------------------------------------------------


def merged(recorder: Recorder, calls: Sequence[Call], outputs: Sequence[Reference]) -> tuple[list[Call], list[Reference]]:
    """Eliminate common subexpressions: drop calls that repeat an earlier one.

    Two calls are equal if they call the same function with the same values, and their memory was not written to between the
    calls.
    A result that is written to later, or is an output, keeps its own memory.

    Returns:
        the remaining calls, and the outputs with dropped values replaced by the earlier ones.
    """
    group, dictionaries = recorder.group, recorder.shared_dictionaries()
    exposed = {group(reference) for call in calls for reference in call.writes} | {group(reference) for reference in outputs}
    written: dict[int, int] = {}  # number of writes to each memory group so far
    first: dict[Any, Call] = {}
    instead: dict[Reference, Reference] = {}
    kept = []
    for original in calls:
        call = substituted(original, instead)
        arguments = list(references_in((call.args, call.kwargs)))
        if _may_merge(call) and not dictionaries.intersection(arguments):
            of_arguments = {group(reference) for reference in arguments}
            fresh = {group(reference) for reference in references_in(call.results)} - of_arguments
            if not fresh & exposed:
                versions = tuple([written.get(group(reference), 0) for reference in arguments])
                key = call.name, call.function, call.device, call.expected, _key(call.args), _key(call.kwargs), versions
                earlier = first.setdefault(key, call)
                if earlier is not call:
                    pairs = zip(references_in(call.results), references_in(earlier.results), strict=True)
                    instead.update(pairs)
                    continue
        for reference in call.writes:
            written[group(reference)] = written.get(group(reference), 0) + 1
        kept.append(call)
    return kept, [instead.get(reference, reference) for reference in outputs]


def _may_merge(call: Call) -> bool:
    if call.kind == EFFECT or call.writes or type(call.function) in (operator.attrgetter, operator.methodcaller):
        return False
    return call.kind == CHECK or call.results is not None


def _key(value: Any) -> Any:
    """Return a hashable key of an argument.  Arguments with equal keys have the same value."""
    kind = type(value)
    if kind is Reference:
        return value
    if kind in (tuple, list):
        return kind, tuple(map(_key, value))
    if kind is dict:
        return kind, tuple([(key, _key(item)) for key, item in value.items()])
    if kind is slice:
        return kind, _key(value.start), _key(value.stop), _key(value.step)
    if kind is float:
        return kind, repr(value)  # unlike `==`, `repr` distinguishes 0.0 from -0.0
    if value is None or kind in (bool, int, str):
        return kind, value
    return id(value)


def substituted(call: Call, instead: dict[Reference, Reference]) -> Call:
    """Replace references in the call's arguments and writes by those in `instead`."""
    if not instead or not any(reference in instead for reference in references_in((call.args, call.kwargs))):
        return call
    args, kwargs = _substitute(call.args, instead), _substitute(call.kwargs, instead)
    return replace(call, args=args, kwargs=kwargs, writes=tuple([instead.get(target, target) for target in call.writes]))


def _substitute(value: Any, instead: dict[Reference, Reference]) -> Any:
    kind = type(value)
    if kind is Reference:
        return instead.get(value, value)
    if kind in (tuple, list):
        return kind([_substitute(item, instead) for item in value])
    if kind is dict:
        return {key: _substitute(item, instead) for key, item in value.items()}
    if kind is slice:
        return slice(_substitute(value.start, instead), _substitute(value.stop, instead), _substitute(value.step, instead))
    return value


# --- order, and copies ------------------------------------------------------------------------------------------------------


def checks_first(recorder: Recorder, calls: Sequence[Call]) -> list[Call]:
    """Move the checks, and the calls that they need, before all other calls.

    A check may read memory that is written to, such as an optimizer's step count.  If such arrays are small, the check is first
    run on copies of them.
    """
    group, dictionaries = recorder.group, recorder.shared_dictionaries()
    maker = {reference: call for call in calls for reference in references_in(call.results)}
    written = {group(reference) for call in calls for reference in call.writes}
    first: list[Call] = []
    chosen: set[int] = set()
    waiting_checks = []
    for check in (call for call in calls if call.kind == CHECK):
        chain, waiting, pure = [check], [check], True
        while waiting:
            for reference in references_in((waiting.pop().args,)):
                source = maker.get(reference)
                pure = pure and group(reference) not in written and reference not in dictionaries
                if source is not None:
                    pure = pure and source.kind == COMPUTE and not source.writes
                    chain.append(source)
                    waiting.append(source)
        if pure:
            first += [call for call in chain if id(call) not in chosen]
            chosen.update(map(id, chain))
        else:
            waiting_checks.append(check)
    on_copies = _checks_on_copies(recorder, calls, waiting_checks)
    if on_copies:
        chosen.update(map(id, waiting_checks))
    place = {id(call): number for number, call in enumerate(calls)}
    first.sort(key=lambda call: place[id(call)])
    return first + on_copies + [call for call in calls if id(call) not in chosen]


_MAX_COPIED_SIZE = 16  # maximum number of elements of an array that is copied so that a check can run first


def _checks_on_copies(recorder: Recorder, calls: Sequence[Call], checks: Sequence[Call]) -> list[Call]:
    """Return checks and the calls that they need, on copies of the written arrays; [] if impossible or if arrays are large."""
    if not checks:
        return []
    until = next(number for number, call in enumerate(calls) if call is checks[-1])
    wanted = {reference for check in checks for reference in references_in(check.args)}
    needed = {id(call) for call in needed_calls(recorder, calls[:until], wanted) if call.kind != CHECK}
    of_checks = set(map(id, checks))
    part = [call for call in calls[: until + 1] if id(call) in needed or id(call) in of_checks]
    group, dictionaries = recorder.group, recorder.shared_dictionaries()
    used = dict.fromkeys(reference for call in part for reference in references_in((call.args, call.kwargs, call.results)))
    for reference in used:
        kind = recorder.kinds[reference.index]
        if reference in dictionaries or (kind is not None and _size(kind[0]) > _MAX_COPIED_SIZE):
            return []
    if any(call.kind == EFFECT for call in part):
        return []
    made = {reference for call in part for reference in references_in(call.results)}
    written = {group(reference) for call in part for reference in call.writes}
    instead: dict[Reference, Reference] = {}
    copied: dict[int, Reference] = {}
    on_copies = []
    for reference in used:
        if reference in made or group(reference) in written:
            instead[reference] = new = recorder.new_reference()
            recorder.kinds[new.index] = recorder.kinds[reference.index]
            if reference in recorder.on_host:
                recorder.on_host.add(new)
            recorder.join(new, copied.setdefault(group(reference), new))
        if reference in instead and reference not in made:
            backend = recorder.host if reference in recorder.on_host and recorder.host else recorder.backend
            on_copies.append(Call("copy", backend.copy, (reference,), {}, instead[reference]))
    if len(on_copies) > len({group(call.args[0]) for call in on_copies}):
        return []  # two of the arrays share memory, but their copies would not
    for call in part:
        again = substituted(call, instead)
        results, scalars = _substitute(call.results, instead), tuple([instead[reference] for reference in call.scalars])
        on_copies.append(replace(again, results=results, scalars=scalars, constant=call.constant))
    return on_copies


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def specialized(recorder: Recorder, calls: Sequence[Call]) -> list[Call]:
    """Replace kernels by the backend's faster functions for the recorded shapes and dtypes, if any."""
    return [_specialized(recorder, call) for call in calls]


def _specialized(recorder: Recorder, call: Call) -> Call:
    args = tuple([_kind_of(recorder, argument) for argument in call.args])
    function = call.function
    if any(type(argument) is Reference for argument in args):  # the argument is a number that the program computes
        return call
    while (other := recorder.backend.specialize_kernel(function, args)) is not None:
        function = other
    return call if function is call.function else replace(call, function=function)


def _kind_of(recorder: Recorder, argument: Any) -> Any:
    kind = recorder.kinds[argument.index] if type(argument) is Reference else None
    return argument if kind is None else ArrayKind(*kind)


def placed(recorder: Recorder, calls: Sequence[Call]) -> tuple[list[Call], int | None]:
    """Bind each call to its device at recording.  If all calls have one device, leave them unchanged and return the device."""
    devices = {call.device for call in calls if call.device is not None}
    if len(devices) < 2:
        return list(calls), next(iter(devices), None)
    bind = cache(recorder.backend.bind)
    return [call if call.device is None else replace(call, function=bind(call.function, call.device)) for call in calls], None


def without_copies(
    recorder: Recorder, calls: Sequence[Call], inputs: Iterable[Reference], outputs: Sequence[Reference]
) -> tuple[list[Call], list[Reference]]:
    """Remove copies of arrays that are not used afterwards; return the calls, and the outputs with copies replaced by
    originals.
    """
    group, dictionaries = recorder.group, recorder.shared_dictionaries()
    last_use: dict[int, int] = {}
    for number, call in enumerate(calls):
        for reference in references_in((call.args, call.kwargs)):
            last_use[group(reference)] = number
    outside = {group(reference) for reference in (*inputs, *outputs)}
    makers: dict[int, list[Call]] = {}
    for call in calls:
        for reference in references_in(call.results):
            makers.setdefault(group(reference), []).append(call)
    kept: list[Call] = []
    instead: dict[Reference, Reference] = {}
    for number, original in enumerate(calls):
        call = substituted(original, instead)
        source = original.args[0] if call.owned else None
        if type(source) is Reference and group(source) not in outside and last_use[group(source)] == number:
            made = makers.get(group(source), [])
            if len(made) == 1 and not any(reference in dictionaries for reference in references_in(made[0].args)):
                instead[call.results] = instead.get(source, source)
                continue
        kept.append(call)
    return kept, [instead.get(reference, reference) for reference in outputs]

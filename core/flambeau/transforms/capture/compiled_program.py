"""Compile all calls to one program, for array libraries that compile whole programs, such as JAX.

A compiled program cannot draw random numbers, compute on the host (such as an optimizer's step count) or check values.  Draws
and host calls run before it, checks after it.  Computations on Python numbers alone, such as Adam's bias corrections, also run
before it: they take a fraction of a microsecond in Python, but several in the compiled program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .recorder import CHECK, COMPUTE, EFFECT, Call, Recorder, Reference, references_in
from .source import Source

__all__ = ["compiled_together"]


def compiled_together(
    recorder: Recorder, calls: Sequence[Call], inputs: Sequence[Reference], outputs: Sequence[Reference]
) -> tuple[list[Call], Source | None]:
    """Combine all calls that the backend can compile into one call.  Return the new calls, and the source of the combined call.

    If the backend does not compile whole programs, the calls are unchanged and the source is None.
    """
    if not recorder.backend.compiles_programs:
        return list(calls), None
    before = _calls_before(recorder, calls)
    chosen = set(map(id, before))
    last = {reference for call in calls if id(call) not in chosen for reference in references_in(call.results)}
    if any(reference in last for call in before for reference in references_in((call.args, call.kwargs))):
        return list(calls), None
    checks: list[tuple[Reference, Call]] = []
    inside = []
    for call in calls:
        if id(call) not in chosen and call.kind == CHECK:
            checks.append((recorder.new_reference(), call))
            inside.append(replace(call, kind=COMPUTE, results=checks[-1][0]))
        elif id(call) not in chosen:
            inside.append(call)
    if not inside:
        return list(calls), None
    made = {reference for call in inside for reference in references_in(call.results)}
    dictionaries = recorder.shared_dictionaries()
    used = dict.fromkeys(reference for call in inside for reference in references_in((call.args, call.kwargs)))
    given = [reference for reference in used if reference not in made and reference not in dictionaries]
    results = [*dict.fromkeys(reference for reference in outputs if reference in made), *(truth for truth, _ in checks)]
    body = Source(recorder, inside, given, results, "compiled_together")
    program = Call(body.name, recorder.backend.compile_program(body.run, body.name), (given,), {}, tuple(results))
    after = [Call(check.name, bool, (truth,), {}, None, CHECK, expected=check.expected) for truth, check in checks]
    return [*before, program, *after], body


def _calls_before(recorder: Recorder, calls: Sequence[Call]) -> list[Call]:
    """Return the calls to run before the compiled program: random draws, calls on the host or on numbers, and their inputs."""
    maker = {reference: call for call in calls for reference in references_in(call.results)}
    scalar_key = _of_numbers(recorder, calls)
    chosen: set[int] = set()
    for call in calls:
        if call.kind == EFFECT or _is_on_host(recorder, call) or id(call) in scalar_key:
            waiting = [call]
            while waiting:
                needed = waiting.pop()
                if id(needed) not in chosen:
                    chosen.add(id(needed))
                    arguments = references_in((needed.args, needed.kwargs))
                    waiting += [maker[reference] for reference in arguments if reference in maker]
    return [call for call in calls if id(call) in chosen]


def _is_on_host(recorder: Recorder, call: Call) -> bool:
    return any(reference in recorder.on_host for reference in references_in((call.args, call.kwargs, call.results)))


def _of_numbers(recorder: Recorder, calls: Sequence[Call]) -> set[int]:
    """Return the ids of calls that compute Python numbers from Python numbers alone, such as from a learning rate."""
    found: set[int] = set()
    from_device: set[Reference] = set()
    for call in calls:
        arguments, results = list(references_in((call.args, call.kwargs))), list(references_in(call.results))
        if _is_on_host(recorder, call):
            continue
        if any(recorder.kinds[reference.index] is not None or reference in from_device for reference in (*arguments, *results)):
            from_device.update(results)
        elif arguments:
            found.add(id(call))
    return found

"""Inference steps: run consecutive calls as one plan, with folded and packed weights.

A step is an inference step if it changes no tensor and has no backward.  Its calls are compiled by the hook
`flambeau_inference`, of a kernel pack or a backend.  Tensors from outside, such as parameters, are constants of a plan.
Plans are prepared again if the version counter of such a tensor has changed, or if it has another array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from ...engine.devices.hookspecs import ArrayKind, InferencePlanner, Plan, PlanCall
from ...engine.tensors.tensor import Tensor
from .passes import needed_calls
from .recorder import COMPUTE, EFFECT, Call, Recorder, Reference, references_in

__all__ = ["Inference"]

_MOST_RENEWALS = 4  # after this number of consecutive replays with new weights, plans are not worth preparing


class Inference:
    """The plans of an inference step.

    Args:
        recorder: the recorder of the calls.
        calls: all calls of the step.
        outputs: the values that it returns.
        weights: the tensors from outside, by the value that is their array.
        planner: the compiler of plans.

    Attributes:
        weights: the tensors that plans depend on.
        calls: the calls, in which each plan is one call.
        draws: whether the step draws random numbers.
        prepared: whether there are plans, and their weights are folded and packed.
        renewals: the number of replays, up to the last one, that had to prepare the plans again.
        state: each tensor of `weights`, with its array and version when the plans were prepared.
    """

    recorder: Recorder
    planner: InferencePlanner
    weights: dict[Reference, Tensor]
    calls: list[Call]
    plans: list[Plan]
    draws: bool
    prepared: bool
    renewals: int
    state: list[tuple[Tensor, Any, int]]

    def __init__(
        self,
        recorder: Recorder,
        calls: Sequence[Call],
        outputs: Sequence[Reference],
        weights: Mapping[Reference, Tensor],
        planner: InferencePlanner,
    ) -> None:
        self.recorder, self.planner, self.weights = recorder, planner, dict(weights)
        self.plans, self.renewals = [], 0
        self._constant_calls: dict[Reference, Call] = {}
        self._used_constants: set[Reference] = set()  # by plans
        self._lock = Lock()
        self.calls = self._planned(calls, outputs)
        self.draws = any(call.kind == EFFECT for call in self.calls)
        self._drop_unused_constants()
        self.prepared = bool(self.plans) and self._prepare()

    # --- finding plans ---

    def _planned(self, calls: Sequence[Call], outputs: Sequence[Reference]) -> list[Call]:
        constants = set(self.weights)
        planned: list[Call] = []
        run: list[tuple[Call, PlanCall]] = []
        kinds: dict[Any, ArrayKind] = {
            reference: ArrayKind(*kind)
            for call in calls
            for reference in references_in((call.args, call.kwargs, call.results))
            if (kind := self.recorder.kinds[reference.index]) is not None
        }
        functional = _Functional(self.recorder, calls, kinds)
        written = {self.recorder.group(target) for call in calls for target in call.writes}
        for place, call in enumerate(calls):
            plan_call = functional.translate(call)
            used = list(references_in((call.args, call.kwargs)))
            if plan_call is not None and not call.writes and constants.issuperset(used):
                planned.append(call)
                for result in references_in(call.results):
                    if self.recorder.group(result) not in written:
                        self._constant_calls[result] = call
                        constants.add(result)
            elif plan_call is not None and self.planner.supports(plan_call, kinds, constants):
                run.append((call, plan_call))
                functional.accept(call, plan_call)
            else:
                planned += self._plan(run, calls[place:], outputs, constants, kinds, functional)
                planned.append(call)
                run = []
                functional.restart()
        planned += self._plan(run, (), outputs, constants, kinds, functional)
        return needed_calls(self.recorder, planned, outputs)

    def _plan(
        self,
        run: list[tuple[Call, PlanCall]],
        later: Sequence[Call],
        outputs: Sequence[Reference],
        constants: set[Reference],
        kinds: Mapping[Any, ArrayKind],
        functional: _Functional,
    ) -> list[Call]:
        """Return one call for a run of calls, or the calls themselves."""
        plain = [call for call, _ in run]
        if not run:
            return plain
        made = {reference for call in plain for reference in references_in(call.results)}
        wanted = [*outputs, *(reference for call in later for reference in references_in((call.args, call.kwargs)))]
        results = list(dict.fromkeys(reference for reference in wanted if reference in made))
        used = dict.fromkeys(reference for call in plain for reference in references_in((call.args, call.kwargs)))
        inputs = [reference for reference in used if reference not in made and reference not in constants]
        if not results:
            return plain
        views = self._views(inputs, results)
        if views:  # a result must not share memory with another or with an input
            places = [place for place, call in enumerate(plain) if not views.isdisjoint(references_in(call.results))]
            if any(call.writes for call in plain):
                return plain
            place = places[-1]
            before = self._plan(run[:place], [*plain[place:], *later], outputs, constants, kinds, functional)
            return [*before, plain[place], *self._plan(run[place + 1 :], later, outputs, constants, kinds, functional)]
        latest = [functional.latest(reference) for reference in results]
        strides = [self.recorder.strides.get(reference) for reference in results]
        plan = self.planner.plan([call for _, call in run], kinds, inputs, latest, strides)
        if plan is None:
            return plain
        self.plans.append(plan)
        self._used_constants.update(constants.intersection(used))
        returned = tuple(results) if len(results) > 1 else results[0]
        name = "plan_of_" + "_".join(dict.fromkeys(call.name for call in plain))[:60]
        return [Call(name, plan, tuple(inputs), {}, returned, device=plain[0].device)]

    def _views(self, inputs: Sequence[Reference], results: Sequence[Reference]) -> set[Reference]:
        """Return the results that share memory with an input or with an earlier result."""
        seen = {self.recorder.group(reference) for reference in inputs}
        views = set()
        for reference in sorted(results, key=lambda reference: reference.index):
            if self.recorder.group(reference) in seen:
                views.add(reference)
            seen.add(self.recorder.group(reference))
        return views

    def has_only_plans(self) -> bool:
        """Whether the step calls nothing but plans."""
        return all(call.function in self.plans for call in self.calls)

    # --- weights ---

    def _prepare(self) -> bool:
        """Fold and pack all weights."""
        state = [(tensor, self._real(tensor._array), _version(tensor)) for tensor in self.weights.values()]
        values: dict[Any, Any] = {reference: array for reference, (_, array, _) in zip(self.weights, state, strict=True)}
        for reference, call in self._constant_calls.items():
            arguments = [_valued(argument, values) for argument in call.args]
            result = call.function(*arguments, **{name: _valued(item, values) for name, item in call.kwargs.items()})
            values[reference] = result if call.results is reference else result[call.results.index(reference)]
        is_prepared = all(plan.prepare(values) for plan in self.plans)
        self.state = state  # last: after an exception the plans are not current
        return is_prepared

    def _drop_unused_constants(self) -> None:
        """Keep the constants that plans depend on, directly or through calls; a change of others does not matter."""
        needed = self._used_constants
        for reference, call in reversed(list(self._constant_calls.items())):
            if reference in needed:
                needed.update(references_in((call.args, call.kwargs)))
            else:
                del self._constant_calls[reference]
        self.weights = {reference: tensor for reference, tensor in self.weights.items() if reference in needed}

    @staticmethod
    def _real(array: Any) -> Any:
        return getattr(array, "_value", array)  # a recorded array, while the capture is being built

    def is_current(self) -> bool:
        """Whether no weight has another array or version than when the plans were prepared."""
        for tensor, array, version in self.state:
            storage = tensor._storage
            if tensor._array is not array or version != (0 if storage is None else storage.version + storage.unversioned):
                return False
        return True

    def renew(self, state: Any) -> bool:
        """Prepare the plans with the current weights, unless another thread has done so and `state` is no longer the state.

        Returns False if the weights change in every replay.
        """
        with self._lock:
            if self.state is not state:
                return True
            self.renewals += 1
            return self.renewals <= _MOST_RENEWALS and self._prepare()


def _version(tensor: Tensor) -> int:
    """Return the number of in-place writes, including those through `.data`."""
    storage = tensor._storage
    return 0 if storage is None else storage.version + storage.unversioned


def _valued(argument: Any, values: Mapping[Any, Any]) -> Any:
    if type(argument) is Reference:
        return values[argument]
    if type(argument) in (tuple, list):
        return type(argument)([_valued(item, values) for item in argument])
    return argument


class _Functional:
    """Rewrites calls of a run that write to their first argument as calls with a new result.

    This is possible if the run has computed the argument, and nothing else shares its memory.
    """

    def __init__(self, recorder: Recorder, calls: Sequence[Call], kinds: dict[Any, ArrayKind]) -> None:
        self.recorder, self.kinds = recorder, kinds
        self._sharing: dict[int, set[Reference]] = {}
        for call in calls:
            for reference in references_in((call.args, call.kwargs, call.results)):
                self._sharing.setdefault(recorder.group(reference), set()).add(reference)
        self.restart()

    def restart(self) -> None:
        """Begin a new run."""
        self._versions: dict[Reference, Any] = {}
        self._made: set[Reference] = set()

    def latest(self, reference: Reference) -> Any:
        """Return the key of the current value of an array."""
        return self._versions.get(reference, reference)

    def translate(self, call: Call) -> PlanCall | None:
        """Return a call without writes, or None."""
        results = call.results if type(call.results) is tuple else () if call.results is None else (call.results,)
        if call.kind != COMPUTE or call.scalars or any(type(result) is not Reference for result in results):
            return None
        args = tuple([self._renamed(argument) for argument in call.args])
        kwargs = {name: self._renamed(value) for name, value in call.kwargs.items()}
        if not call.writes:
            return PlanCall(call.name, args, kwargs, call.results)
        target = call.writes[0]
        alone = len(self._sharing[self.recorder.group(target)]) == 1 and target in self._made
        if not alone or call.writes != call.args[:1] or call.results is not None:
            return None
        result = (target, len(self.kinds))
        self.kinds[result] = ArrayKind(*self.recorder.kind(target))
        return PlanCall(call.name, args, kwargs, result)

    def accept(self, call: Call, plan_call: PlanCall) -> None:
        """Add a translated call to the run."""
        if call.writes:
            self._versions[call.writes[0]] = plan_call.result
        else:
            self._made.update(references_in(call.results))

    def _renamed(self, value: Any) -> Any:
        if type(value) is Reference:
            return self.latest(value)
        if type(value) in (tuple, list):
            return type(value)([self._renamed(item) for item in value])
        return value

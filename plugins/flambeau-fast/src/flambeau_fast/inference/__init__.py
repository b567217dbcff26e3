"""Inference plans: consecutive calls of an inference step, run by one C call with packed weights and one arena.

- `support`: which calls a plan can contain.
- `lowering`: calls to nodes: folds batch normalization, and joins activations and residuals with the products before them.
- `memory`: places in the arena, by lifetime.
- `plan`: the lines that `c/plan.h` runs, and the call of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from flambeau.backend import ArrayKind, PlanCall

from .plan import MOST_ARRAYS, Plan
from .support import WITH_WEIGHTS, supported

__all__ = ["Planner"]


class Planner:
    """The compiler of inference steps that `flambeau.backend.RecordableBackend.inference` returns."""

    def supports(self, call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> bool:
        return supported(call, kinds, constants)

    def plan(
        self,
        calls: Sequence[PlanCall],
        kinds: Mapping[Any, ArrayKind],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        strides: Sequence[tuple[int, ...] | None],
    ) -> Plan | None:
        if len(inputs) + len(outputs) > MOST_ARRAYS or not any(call.name in WITH_WEIGHTS for call in calls):
            return None
        return Plan(calls, kinds, inputs, outputs, strides)

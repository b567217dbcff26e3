"""Find the calls of a training step that `torch.compile` would compute in one loop."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import flambeau as torch

from ...engine.calls.facts import Kind, names
from ...engine.calls.tables import FORMULAS, OPS
from ...engine.devices.hookspecs import Fusion
from ...transforms.capture import place_in_program
from ...transforms.capture.fusion import fusible
from ...transforms.capture.recorder import Call
from ...transforms.capture.recording import Recording

__all__ = ["Chain", "FusionRecorder", "Fusions"]


class Chain(NamedTuple):
    """Calls that one loop would compute: their names, their lines in the program, and the shape of the results."""

    names: list[str]
    places: list[str]
    shape: tuple[int, ...]


class Fusions(NamedTuple):
    """What `torch.compile` would do with a step.

    Attributes:
        chains: the chains of calls that would be fused.
        calls: the number of kernel calls in the step.
        supported: whether the backend has a compiler of loops; if not, `chains` are those that one for all element-wise
            operations would find.
        reason: why a compiled step would run eagerly, or an empty string.
    """

    chains: list[Chain]
    calls: int
    supported: bool
    reason: str


class FusionRecorder:
    """Records a training step as `torch.compile` does when it captures one, to find the chains in it."""

    def start(self) -> None:
        """Begin to record the backend of the default device.

        Raises:
            NotCapturable: the backend does not support recording.
        """
        self._recording = Recording(torch.backend.for_device_type(torch.get_default_device().type))
        self._calls = self._recording.recorder.calls = _PlacedCalls()
        self._recording.__enter__()

    def stop(self) -> Fusions:
        """End the recording, and return the chains in it."""
        self._recording.__exit__()
        recorder = self._recording.recorder
        fusion = recorder.backend.fusion
        found = fusible(recorder, self._calls, (), fusion or _all_elementwise())
        chains = [
            Chain(
                [call.name for call in chain],
                [self._calls.places[call] for call in chain],
                max((recorder.kind(call.results or call.writes[0])[0] for call in chain), key=len),
            )
            for chain in found
        ]
        return Fusions(chains, len(self._calls), fusion is not None, recorder.spoiled or "")


class _PlacedCalls(list[Call]):
    """A list of calls that notes the line of the program at which each call was added."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Call, str] = {}

    def append(self, call: Call) -> None:
        super().append(call)
        self.places[call] = place_in_program()


def _all_elementwise() -> Fusion:
    """Return the description of loops that support all element-wise operations with floating-point arguments."""
    importlib.import_module("flambeau.operations")  # defines them
    pointwise = names(kind=Kind.POINTWISE)
    operations = {name: _signatures(len(OPS[name].tensor_names), OPS[name].promote) for name in pointwise if name in OPS}
    for name, formula in FORMULAS.items():  # such as `silu_backward`
        if name.partition("_backward")[0] in pointwise:
            operations.setdefault(name, _signatures(formula.__code__.co_argcount - 1, "float"))
    operations |= dict.fromkeys(("truediv", "pow"), ("ff>f",)) | {"square": ("f>f",)}
    described: Any = SimpleNamespace(least=0, operations=operations, general=False, loop=_no_loop)
    described.floats = frozenset({"float32", "float64"})
    return described  # type: ignore[no-any-return]  # it has the attributes of a Fusion


def _signatures(count: int, promote: str) -> tuple[str, ...]:
    return (f"{'f' * count}>{'b' if promote == 'compare' else 'f'}",)


def _no_loop(chain: Any, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
    return one_by_one

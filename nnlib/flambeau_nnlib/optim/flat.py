"""Small parameters laid end to end, so that one update serves them all.

What an update of a few numbers costs is the calls.  Many small parameters are therefore copied into one vector, with
their gradients, and back when it has been updated; their states are views of vectors from the start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .optimizer import Group, State

FEWEST = 4
"""Parameters that it takes to be faster."""

LARGEST = 4096
"""Elements of a parameter up to which copying it is cheaper than the calls, on a CPU."""

Rule = Callable[..., None]


class Flattener:
    """Applies an elementwise rule to the parameters of a group, to the small ones of them all at once.

    The states are only laid end to end when the same parameters have gradients in two steps in a row.
    """

    def __init__(self, scalars: tuple[str, ...]) -> None:
        self.scalars = scalars
        self.params: list[Tensor] = []
        self.bundles: list[Bundle] | None = None
        self.rest: list[int] = []

    def apply(self, rule: Rule, params: list[Tensor], grads: list[Tensor], states: list[State], options: Group) -> None:
        if not _same(params, self.params):
            self.params, self.bundles = params, None
            rule(params, grads, states, **options)
            return
        if self.bundles is None or not all(bundle.fits(states) for bundle in self.bundles):
            self._bundle(states)
        for bundle in self.bundles:
            bundle.apply(rule, grads, options)
        if self.rest:
            rule(*([each[i] for i in self.rest] for each in (params, grads, states)), **options)

    def _bundle(self, states: list[State]) -> None:
        alike = defaultdict(list)
        for i, (param, state) in enumerate(zip(self.params, states, strict=True)):
            if _is_small(param):
                counts = (state[name].item() for name in self.scalars)
                alike[param.device, param.dtype, *counts].append(i)
        chosen = [indices for indices in alike.values() if len(indices) >= FEWEST]
        self.bundles = [Bundle(indices, self.params, states, self.scalars) for indices in chosen]
        bundled = {i for indices in chosen for i in indices}
        self.rest = [i for i in range(len(self.params)) if i not in bundled]


class Bundle:
    """Parameters that are updated as one: of one device and dtype, and with the same numbers in their states."""

    def __init__(
        self, indices: list[int], params: list[Tensor], states: list[State], scalars: tuple[str, ...]
    ) -> None:
        self.indices = indices
        self.params = [params[i] for i in indices]
        self.param, self.param_pieces = _lay(self.params)
        self.grad, self.grad_pieces = _lay(self.params)
        self.state: State = {}
        self.counts: list[tuple[Tensor, Tensor]] = []
        self.state_pieces: list[tuple[int, str, Tensor]] = []
        for name in states[indices[0]]:
            vector, pieces = _lay([states[i][name] for i in indices])
            if name in scalars:
                self.counts.append((vector, pieces[0]))
            self.state[name] = pieces[0] if name in scalars else vector
            for i, piece in zip(indices, pieces, strict=True):
                states[i][name] = piece
                self.state_pieces.append((i, name, piece))

    def fits(self, states: list[State]) -> bool:
        """Whether nobody has put another tensor into a state."""
        return all(states[i].get(name) is piece for i, name, piece in self.state_pieces)

    def apply(self, rule: Rule, grads: list[Tensor], options: Group) -> None:
        for piece, param in zip(self.param_pieces, self.params, strict=True):
            piece.copy_(param)
        for piece, i in zip(self.grad_pieces, self.indices, strict=True):
            piece.copy_(grads[i])
        rule([self.param], [self.grad], [self.state], **options)
        for piece, param in zip(self.param_pieces, self.params, strict=True):
            param.copy_(piece)
        for counts, count in self.counts:
            counts.fill_(count)


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _is_small(param: Tensor) -> bool:
    return param.is_floating_point() and (param.numel() <= LARGEST or param.device.type != "cpu")


def _lay(tensors: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector with the elements of tensors, and the views of it that have their shapes."""
    vector = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    pieces = vector.split([tensor.numel() for tensor in tensors])
    return vector, [piece.view(tensor.shape) for piece, tensor in zip(pieces, tensors, strict=True)]

"""Small parameters concatenated, so that one update serves them all.

Updating a parameter of a few numbers costs mostly the overhead of calls.  Small parameters and their gradients are
therefore copied into one vector, updated as one, and copied back; their states become views of one vector permanently.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .optimizer import Group, State

FEWEST = 4
"""The number of parameters that it takes to be faster."""

LARGEST, LONGEST = 1 << 12, 1 << 16
"""Elements of a parameter, and of a vector, up to which copying is faster, in the caches of a CPU."""

ON_DEVICES = 1 << 8
"""How many times more that is on other devices, whose calls cost more."""

Rule = Callable[..., None]


class Flattener:
    """Applies an elementwise rule to the parameters of a group, joining the small ones.

    They are joined when the same parameters have had gradients in two steps in a row.
    """

    def __init__(self, rule: Rule, scalars: tuple[str, ...]) -> None:
        self.rule = rule
        self.scalars = scalars
        self.params: list[Tensor] = []
        self.joined = False
        self.bundles: list[Bundle] = []
        self.unjoined: list[int] = []

    def apply(self, params: list[Tensor], grads: list[Tensor], states: list[State], options: Group) -> None:
        if not (len(params) == len(self.params) and all(map(is_, params, self.params))):
            self.params, self.joined = params, False
            self.rule(params, grads, states, **options)
            return
        if not (self.joined and all(bundle.holds(states) for bundle in self.bundles)):
            self._join(states)
        for bundle in self.bundles:
            bundle.apply(self.rule, grads, options)
        if self.unjoined:
            lists = ([values[i] for i in self.unjoined] for values in (params, grads, states))
            self.rule(*lists, **options)

    def _join(self, states: list[State]) -> None:
        indices_by_kind: defaultdict[Any, list[int]] = defaultdict(list)
        filled: Counter[Any] = Counter()
        for i, longest in self._candidates(states):
            param = self.params[i]
            counts = (states[i][name].item() for name in self.scalars)
            kind = (param.device, param.dtype, *states[i], *counts)
            filled[kind] += param.numel()
            indices_by_kind[kind, filled[kind] // longest].append(i)
        joined = [indices for indices in indices_by_kind.values() if len(indices) >= FEWEST]
        self.unjoined = sorted({*range(len(self.params))}.difference(*joined))
        self.bundles = [Bundle(indices, self.params, states, self.scalars) for indices in joined]
        self.joined = True

    def _candidates(self, states: list[State]) -> Iterator[tuple[int, int]]:
        """Find the small parameters that share no memory with other parameters or processes, nor do their states.

        Yields:
            the index of each, and how long a vector of such parameters may be.
        """
        owners = Counter(param.untyped_storage().data_ptr() for param in self.params)
        for i, (param, state) in enumerate(zip(self.params, states, strict=True)):
            on_cpu = param.device.type == "cpu"
            scale = 1 if on_cpu else ON_DEVICES
            small = param.is_floating_point() and param.numel() <= LARGEST * scale
            alone = owners[param.untyped_storage().data_ptr()] == 1
            if small and alone and self._is_plain(param, state):
                shared = on_cpu and any(x.is_shared() for x in (param, *state.values()))
                if not shared:
                    yield i, LONGEST * scale

    def _is_plain(self, param: Tensor, state: State) -> bool:
        """Tell whether the state holds only scalars and tensors like the parameter, as the rule has created them."""
        return all(
            isinstance(x, Tensor) and (name in self.scalars or (x.shape, x.dtype) == (param.shape, param.dtype))
            for name, x in state.items()
        )


class Bundle:
    """Parameters that are updated as one: of one device and dtype, with the same numbers in their states."""

    def __init__(self, indices: list[int], params: list[Tensor], states: list[State], scalars: tuple[str, ...]) -> None:
        self.indices = indices
        self.params = [params[i] for i in indices]
        self.param, self.param_pieces = _concatenate(self.params)
        self.grad, self.grad_pieces = _concatenate(self.params)
        self.state: State = {}
        self.state_pieces: list[tuple[int, str, Tensor]] = []
        self.counts: list[tuple[Tensor, Tensor]] = []
        for name in states[indices[0]]:
            vector, pieces = _concatenate([states[i][name] for i in indices])
            for i, piece in zip(indices, pieces, strict=True):
                states[i][name] = piece
                self.state_pieces.append((i, name, piece))
            self.state[name] = vector
            if name in scalars:  # the rule updates the first one, which is then copied to the others
                self.state[name] = pieces[0]
                self.counts.append((vector, pieces[0]))

    def holds(self, states: list[State]) -> bool:
        """Tell whether the states still hold the views of the joined vectors: a checkpoint may have replaced them."""
        return all(states[i].get(name) is piece for i, name, piece in self.state_pieces)

    def apply(self, rule: Rule, grads: list[Tensor], options: Group) -> None:
        for piece, param in zip(self.param_pieces, self.params, strict=True):
            piece.copy_(param)
        for piece, i in zip(self.grad_pieces, self.indices, strict=True):
            piece.copy_(grads[i])
        rule([self.param], [self.grad], [self.state], **options)
        for piece, param in zip(self.param_pieces, self.params, strict=True):
            param.copy_(piece)
        for vector, count in self.counts:
            vector.fill_(count)


def _concatenate(tensors: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return a vector with the elements of tensors, and the views of it that have their shapes."""
    vector = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    pieces = vector.split([tensor.numel() for tensor in tensors])
    return vector, [piece.view(tensor.shape) for piece, tensor in zip(pieces, tensors, strict=True)]

"""Concatenation of small parameters, so that one update handles all of them.

Updating a small parameter costs mostly call overhead. Small parameters and their gradients are therefore copied into
one vector, updated together, and copied back. Their states become views of one vector permanently.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .optimizer import Group, State

MIN_PARAMETERS = 4
"""Minimum number of parameters for which concatenation is faster."""

MAX_PARAMETER, MAX_VECTOR = 1 << 12, 1 << 16
"""Maximum number of elements of a small parameter, and of a vector of parameters; vectors fit into CPU caches."""

DEVICE_FACTOR = 1 << 8
"""Factor of `MAX_PARAMETER` and `MAX_VECTOR` on devices other than the CPU, where calls cost more."""

Rule = Callable[..., None]


class Flattener:
    """Applies an elementwise rule to the parameters of a group; small parameters are concatenated.

    They are concatenated when the same parameters had gradients in two consecutive steps.
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
        joined = [indices for indices in indices_by_kind.values() if len(indices) >= MIN_PARAMETERS]
        self.unjoined = sorted({*range(len(self.params))}.difference(*joined))
        self.bundles = [Bundle(indices, self.params, states, self.scalars) for indices in joined]
        self.joined = True

    def _candidates(self, states: list[State]) -> Iterator[tuple[int, int]]:
        """Yield the small parameters that share no memory with other parameters or processes.

        Yields:
            the index of the parameter, and the maximum length of a vector that contains it.
        """
        owners = Counter(param.untyped_storage().data_ptr() for param in self.params)
        for i, (param, state) in enumerate(zip(self.params, states, strict=True)):
            on_cpu = param.device.type == "cpu"
            scale = 1 if on_cpu else DEVICE_FACTOR
            small = param.is_floating_point() and param.numel() <= MAX_PARAMETER * scale
            alone = owners[param.untyped_storage().data_ptr()] == 1
            if small and alone and self._is_plain(param, state):
                shared = on_cpu and any(x.is_shared() for x in (param, *state.values()))
                if not shared:
                    yield i, MAX_VECTOR * scale

    def _is_plain(self, param: Tensor, state: State) -> bool:
        """Whether the state has only scalars and tensors of the parameter's shape and dtype."""
        return all(
            isinstance(x, Tensor) and (name in self.scalars or (x.shape, x.dtype) == (param.shape, param.dtype))
            for name, x in state.items()
        )


class Bundle:
    """Parameters that are updated together: same device, dtype and scalar states."""

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
            if name in scalars:  # equal for all parameters: the rule updates only the first
                self.state[name] = pieces[0]
                self.counts.append((vector, pieces[0]))

    def holds(self, states: list[State]) -> bool:
        """Whether the states still are views of the vectors; loading a checkpoint replaces them."""
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
    """Concatenate tensors to a vector; return it and its views with the shapes of the tensors."""
    vector = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
    pieces = vector.split([tensor.numel() for tensor in tensors])
    return vector, [piece.view(tensor.shape) for piece, tensor in zip(pieces, tensors, strict=True)]

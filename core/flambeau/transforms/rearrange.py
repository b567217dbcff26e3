"""`rearrange`: reordering, splitting and joining dimensions by a pattern of their names."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ..tensors.tensor import Tensor

__all__ = ["rearrange"]

ELLIPSIS = "…"


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions arranged as the right side of `pattern` says.

    Parentheses stand for one dimension that several names make up; `...` for all dimensions that have no name; `1` for a
    dimension of that length.  Lengths that do not follow from the tensor are given by keyword.

    Raises:
        ValueError: the pattern is malformed, or does not fit the tensor.

    >>> import flambeau as torch
    >>> torch.func.rearrange(torch.zeros(2, 3, 4), "a b c -> c (a b)").shape
    torch.Size([4, 6])
    """
    if isinstance(tensor, (list, tuple)):
        from ..operations.joining import stack

        tensor = stack(list(tensor))
    left, right = _sides(pattern)
    unnamed = tensor.ndim - sum(each != [ELLIPSIS] for each in left)
    if unnamed < 0 or (unnamed and [ELLIPSIS] not in left):
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) and tensor ({tensor.ndim}) must match: {pattern!r}")
    extra = [f"{ELLIPSIS}{index}" for index in range(unnamed)]
    left, right = _expanded(left, extra), _expanded(right, extra)
    lengths = _lengths(left, tensor.shape, axes_lengths, pattern)
    order = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    if sorted(order) != sorted(wanted):
        raise ValueError(f"Identifiers only on one side of expression (should be on both): {sorted(set(order) ^ set(wanted))}")
    split = tensor.reshape([lengths[name] for name in order])
    moved = split.permute([order.index(name) for name in wanted])
    return moved.reshape([prod(lengths[name] for name in group) for group in right])  # type: ignore[no-any-return]  # `tensor` is Any


def _sides(pattern: str) -> tuple[list[list[str]], list[list[str]]]:
    if pattern.count("->") != 1:
        raise ValueError(f"Pattern must have exactly one '->': {pattern!r}")
    left, right = (_groups(side) for side in pattern.split("->"))
    return left, right


def _groups(side: str) -> list[list[str]]:
    """The names on one side, by the dimension that they make up; dimensions of length 1 are empty groups."""
    found: list[list[str]] = []
    for group, name in re.findall(r"\(([^()]*)\)|([^\s()]+)", side.replace("...", ELLIPSIS)):
        names = [name] if name else group.split()
        found.append([each for each in names if each != "1"])
    names = [name for group in found for name in group]
    for name in names:
        if name != ELLIPSIS and not name.isidentifier():
            raise ValueError(f"Invalid identifier in pattern: {name!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"Duplicate identifiers in pattern: {sorted(name for name in set(names) if names.count(name) > 1)}")
    return found


def _expanded(groups: list[list[str]], extra: list[str]) -> list[list[str]]:
    """The groups with the ellipsis replaced by names of its own."""
    made: list[list[str]] = []
    for group in groups:
        if group == [ELLIPSIS]:
            made += [[name] for name in extra]
        else:
            made.append([name for each in group for name in (extra if each == ELLIPSIS else [each])])
    return made


def _lengths(groups: list[list[str]], shape: Any, given: dict[str, int], pattern: str) -> dict[str, int]:
    lengths = dict(given)
    for group, length in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in lengths]
        if len(unknown) > 1:
            raise ValueError(f"Could not infer sizes for {unknown} in pattern {pattern!r}")
        known = prod(lengths[name] for name in group if name in lengths)
        if unknown:
            if length % max(known, 1):
                raise ValueError(f"Shape mismatch, can't divide axis of length {length} in chunks of {known}")
            lengths[unknown[0]] = length // max(known, 1)
        elif known != length:
            raise ValueError(f"Shape mismatch, {known} != {length}")
    return lengths

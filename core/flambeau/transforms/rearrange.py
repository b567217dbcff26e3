"""`rearrange`: reorder, split and merge dimensions by a pattern of their names."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from ..engine.tensors.tensor import Tensor

__all__ = ["rearrange"]

ELLIPSIS = "…"


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """Rearrange the dimensions of a tensor from the left to the right side of `pattern`.

    Names in parentheses form one dimension; `...` matches all unnamed dimensions; `1` is a dimension of size 1.  Sizes that
    cannot be inferred from the tensor are given as keyword arguments.

    Args:
        tensor: a tensor, or a list of tensors of one shape, which are stacked along a first dimension.
        pattern: the names of the dimensions, such as `"batch (row column) -> row column batch"`.
        **axes_lengths: sizes of named dimensions.

    Raises:
        ValueError: the pattern is malformed, or does not fit the tensor.

    >>> torch.func.rearrange(torch.zeros(2, 3, 4), "a b c -> c (a b)").shape
    torch.Size([4, 6])
    """
    if isinstance(tensor, (list, tuple)):
        from ..operations.joining import stack

        tensor = stack(list(tensor))
    left, right = _sides(pattern)
    unnamed = tensor.ndim - sum(group != [ELLIPSIS] for group in left)
    if unnamed < 0 or (unnamed and [ELLIPSIS] not in left):
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) and tensor ({tensor.ndim}) must match: {pattern!r}")
    extra = [f"{ELLIPSIS}{index}" for index in range(unnamed)]
    left, right = _expanded(left, extra), _expanded(right, extra)
    lengths = _lengths(left, tensor.shape, axes_lengths, pattern)
    order = [name for group in left for name in group]
    target = [name for group in right for name in group]
    if sorted(order) != sorted(target):
        raise ValueError(f"Identifiers only on one side of expression (should be on both): {sorted(set(order) ^ set(target))}")
    split = tensor.reshape([lengths[name] for name in order])
    moved = split.permute([order.index(name) for name in target])
    return moved.reshape([prod(lengths[name] for name in group) for group in right])  # type: ignore[no-any-return]  # `tensor` is Any


def _sides(pattern: str) -> tuple[list[list[str]], list[list[str]]]:
    if pattern.count("->") != 1:
        raise ValueError(f"Pattern must have exactly one '->': {pattern!r}")
    left, right = (_groups(side) for side in pattern.split("->"))
    return left, right


def _groups(side: str) -> list[list[str]]:
    """Return the names in each dimension on one side of the pattern; a dimension of size 1 is an empty group."""
    groups: list[list[str]] = []
    for group, name in re.findall(r"\(([^()]*)\)|([^\s()]+)", side.replace("...", ELLIPSIS)):
        names = [name] if name else group.split()
        groups.append([n for n in names if n != "1"])
    names = [name for group in groups for name in group]
    for name in names:
        if name != ELLIPSIS and not name.isidentifier():
            raise ValueError(f"Invalid identifier in pattern: {name!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"Duplicate identifiers in pattern: {sorted(name for name in set(names) if names.count(name) > 1)}")
    return groups


def _expanded(groups: list[list[str]], extra: list[str]) -> list[list[str]]:
    """Return the groups with the ellipsis replaced by the names `extra`."""
    expanded: list[list[str]] = []
    for group in groups:
        if group == [ELLIPSIS]:
            expanded += [[name] for name in extra]
        else:
            expanded.append([name for entry in group for name in (extra if entry == ELLIPSIS else [entry])])
    return expanded


def _lengths(groups: list[list[str]], shape: Any, axes_lengths: dict[str, int], pattern: str) -> dict[str, int]:
    lengths = dict(axes_lengths)
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

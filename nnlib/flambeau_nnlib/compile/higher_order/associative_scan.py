"""`associative_scan`: a prefix scan in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.utils import pytree

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Compute the prefix scan along a dimension: element `i` of the result combines the elements 0 to `i` of `xs`.

    Args:
        combine_fn: an associative function of two values with the structure of `xs`, without the dimension `dim`.
        xs: a tensor, or nested containers of tensors with the same size along `dim`.
        dim: the dimension to scan.
        reverse: whether to scan from the end.
        combine_mode: "generic", or "pointwise" for GPU tensors and elementwise functions.

    Returns:
        The results, with the structure and shapes of `xs`.

    Raises:
        ValueError: `combine_fn` is not callable, `dim` is not an int, `combine_mode` is invalid or is "pointwise" for CPU
            tensors, `xs` contains no tensors, or their size along `dim` is 0.
        RuntimeError: `reverse` is not a bool.

    >>> from flambeau._higher_order_ops.associative_scan import associative_scan
    >>> associative_scan(lambda x, y: x * y, torch.tensor([1, 2, 3, 4]), 0, combine_mode="generic")
    tensor([ 1,  2,  6, 24])
    """
    leaves, structure = pytree.tree_flatten(xs)
    dim = _check(combine_fn, leaves, dim, reverse, combine_mode)
    elements = [leaf.movedim(dim, 0) for leaf in leaves]
    if reverse:
        elements = [element.flip(0) for element in elements]
    combine = torch.vmap(combine_fn) if combine_mode == "generic" else combine_fn

    def combine_leaves(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        return pytree.tree_leaves(combine(pytree.tree_unflatten(left, structure), pytree.tree_unflatten(right, structure)))

    results = _scan(combine_leaves, elements)
    if reverse:
        results = [result.flip(0) for result in results]
    return pytree.tree_unflatten([result.movedim(0, dim) for result in results], structure)


def _check(combine_fn: Any, leaves: list[Any], dim: Any, reverse: Any, combine_mode: Any) -> int:
    """Raise an error for invalid arguments. Return `dim` as a nonnegative number."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if combine_mode == "pointwise" and not all(leaf.device.type in ("cuda", "xpu") for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    along: int = dim + leaves[0].ndim if dim < 0 else dim
    if any(leaf.ndim <= along or leaf.shape[along] == 0 for leaf in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    return along


def _scan(combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], elements: list[Tensor]) -> list[Tensor]:
    """Scan along the first dimension: combine pairs of elements and scan these recursively, which gives the odd elements of the
    result. Then compute the even elements from these.
    """
    count = elements[0].shape[0]
    if count < 2:
        return elements
    odd = _scan(combine, combine([e[: count - 1 : 2] for e in elements], [e[1::2] for e in elements]))
    first = [e[:1] for e in elements]
    if count == 2:
        even = first
    else:
        between = combine([o[: (count - 1) // 2] for o in odd], [e[2::2] for e in elements])
        even = [torch.cat([head, tail]) for head, tail in zip(first, between, strict=True)]
    return [_interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    pairs = torch.stack([even[: len(odd)], odd], 1).flatten(0, 1)
    return pairs if len(even) == len(odd) else torch.cat([pairs, even[-1:]])

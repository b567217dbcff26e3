"""Helpers shared by distributions: broadcasting of parameters, probabilities and logits, cached properties."""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, cast, overload

import flambeau as torch
from flambeau import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060  # the Euler-Mascheroni constant, -digamma(1)

T = TypeVar("T")

_Number = (int, float, bool)


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Broadcast tensors and numbers to one shape. A number takes the dtype and device of the first tensor.

    Args:
        *values: the tensors and numbers.

    Raises:
        ValueError: a value is neither a tensor nor a number.

    Example:
        >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.5)
        (tensor([0., 0.]), tensor([1.5000, 1.5000]))
    """
    is_tensor = [torch.overrides.is_tensor_like(v) for v in values]
    if not all(ok or isinstance(v, _Number) for ok, v in zip(is_tensor, values, strict=True)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(is_tensor):
        first = next((v for v in values if isinstance(v, Tensor)), None)
        options: dict[str, Any] = (
            {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
        )
        values = tuple(v if ok else torch.tensor(v, **options) for ok, v in zip(is_tensor, values, strict=True))
    return tuple(torch.broadcast_tensors(*cast(tuple[Tensor, ...], values)))


class lazy_property(functools.cached_property[T]):
    """A cached property whose first access runs with gradients enabled."""

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object, owner: type | None = None) -> Self | T:
        with torch.enable_grad():
            return super().__get__(instance, owner)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to `[eps, 1 - eps]`, for the machine epsilon of their dtype, so that their logarithms are finite."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Convert log-odds (`is_binary`) or unnormalized log-probabilities along the last dimension to probabilities."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to logits, the inverse of `logits_to_probs`. Probabilities 0 and 1 give large finite logits."""
    probs = clamp_probs(probs)
    return torch.log(probs) - torch.log1p(-probs) if is_binary else torch.log(probs)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the entries on and below diagonal `diag` of square matrices `(..., n, n)` as vectors, in row-major order.

    Example:
        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1., 0.], [2., 3.]]))
        tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _tril_mask(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Convert vectors to lower triangular matrices with zeros elsewhere: the inverse of `tril_matrix_to_vec`.

    Raises:
        ValueError: no square matrix has `vec.shape[-1]` entries on and below diagonal `diag`.
    """
    # Solve `(n + diag)(n + diag + 1)/2 - (part cut off by a positive diag) = vec.shape[-1]` for n.
    root = ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = round((root - (1 + 2 * diag)) / 2)
    mask = _tril_mask(n, diag, vec)
    if int(mask.sum()) != vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., mask] = vec
    return mat


def _tril_mask(n: int, diag: int, like: Tensor) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool, device=like.device).tril(diag)


def _standard_normal(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Sum over the last `dim` dimensions."""
    return value.flatten(-dim).sum(-1) if dim else value

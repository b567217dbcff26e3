"""Embedding layers, which return rows of a table by index."""

from __future__ import annotations

from typing import Self

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """The base of embedding layers: a weight `(num_embeddings, embedding_dim)`, with a row of zeros at `padding_idx`."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _set_up(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        requires_grad: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if padding_idx != 0 and not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx = padding_idx + num_embeddings if padding_idx < 0 else padding_idx
        self.padding_idx = padding_idx
        if weight is None:
            rows = torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(rows, requires_grad=requires_grad)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Draw new rows from N(0, 1)."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table of `num_embeddings` learned vectors of size `embedding_dim`, looked up by index.

    The vectors are initialized from N(0, 1). `Embedding.from_pretrained` creates a layer from given vectors.

    Args:
        num_embeddings: the number of indices, which are from 0 to `num_embeddings - 1`; the call raises IndexError
            for other indices.
        embedding_dim: the size of each vector.
        padding_idx: an index whose vector starts as zeros and gets no gradient, so that training does not change it;
            may be negative. AssertionError if out of range.
        max_norm: the largest norm of a vector; selected vectors of larger norm are scaled down to it, in place. None for
            no limit.
        norm_type: the order p of the norm for `max_norm`.
        scale_grad_by_freq: whether to divide the gradient of a vector by the number of times its index is in the batch.
        sparse: whether the gradient of `weight` is a sparse tensor of the selected rows.
        _weight: the initial table, `(num_embeddings, embedding_dim)`; None to draw it.
        _freeze: whether to exclude the table from training, by `requires_grad=False`.
        device, dtype: device and dtype of the parameter `weight`, `(num_embeddings, embedding_dim)`.

    Shape:
        - Input: `(*)`, of integer indices, any number of dimensions.
        - Output: `(*, embedding_dim)`.

    Example:
        >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
        torch.Size([2, 4, 3])
        >>> torch.nn.Embedding(10, 3, padding_idx=0).weight[0].detach()
        tensor([0., 0., 0.])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        settings = [
            f"{self.num_embeddings}, {self.embedding_dim}",
            f"padding_idx={self.padding_idx}" if self.padding_idx is not None else "",
            f"max_norm={self.max_norm}" if self.max_norm is not None else "",
            f"norm_type={self.norm_type}" if self.norm_type != 2 else "",
            f"scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq is not False else "",
            "sparse=True" if self.sparse is not False else "",
        ]
        return ", ".join(filter(None, settings))

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Create a layer from the given rows; they are not trained if `freeze`.

        >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.3], [4.0, 5.1]]))(torch.tensor([1]))
        tensor([[4.0000, 5.1000]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        num_embeddings, embedding_dim = embeddings.shape
        return cls(
            num_embeddings,
            embedding_dim,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the learned vectors of each bag of indices, computed without storing all vectors.

    The result equals `Embedding` followed by `sum`, `mean` or `max`; an empty bag gives zeros.

    Args:
        num_embeddings: the number of indices, which are from 0 to `num_embeddings - 1`.
        embedding_dim: the size of each vector.
        max_norm: the largest norm of a vector; selected vectors of larger norm are scaled down to it, in place. None for
            no limit.
        norm_type: the order p of the norm for `max_norm`.
        scale_grad_by_freq: whether to divide the gradient of a vector by the number of times its index is in the batch; not for
            mode "max".
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of `weight` is a sparse tensor of the selected rows. Not for mode "max".
        _weight: the initial table, `(num_embeddings, embedding_dim)`; None to draw it.
        include_last_offset: whether the last of the `offsets` is the end of the last bag, not its start.
        padding_idx: an index that is ignored in the bags; its vector starts as zeros and gets no gradient.
        device, dtype: device and dtype of the parameter `weight`, `(num_embeddings, embedding_dim)`.

    Shape:
        - Input: integer indices, `(B, N)` for B bags of N indices each, or `(N,)` for bags that `offsets` divides.
        - Offsets: `(B,)`, the start of each bag in a 1-D input; the first one is 0. `(B + 1,)` with `include_last_offset`.
        - Per-sample weights: the shape of the input, factors of the vectors, for mode "sum". The default is 1.
        - Output: `(B, embedding_dim)`.

    Raises:
        ValueError: in the call, if the mode is unknown, or offsets and input do not fit.

    Example:
        >>> bags = torch.nn.EmbeddingBag(10, 3, mode="sum")
        >>> bags(torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])).shape
        torch.Size([2, 3])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_up(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        settings = [
            f"{self.num_embeddings}, {self.embedding_dim}",
            f"max_norm={self.max_norm}" if self.max_norm is not None else "",
            f"norm_type={self.norm_type}" if self.norm_type != 2 else "",
            f"scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq is not False else "",
            f"mode={self.mode!r}",
            f"padding_idx={self.padding_idx}" if self.padding_idx is not None else "",
        ]
        return ", ".join(filter(None, settings))

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Create a layer from the given rows; they are not trained if `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        num_embeddings, embedding_dim = embeddings.shape
        layer = cls(
            num_embeddings,
            embedding_dim,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
            _weight=embeddings,
        )
        layer.weight.requires_grad = not freeze
        return layer

"""Functions of neural networks that `torch` itself has: those behind `nn.functional`, with PyTorch's order of arguments.

A mode or a reduction, which is a string in `nn.functional`, is a number here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.calls.arguments import Dims, as_int
from ..engine.calls.dispatch import common_shape, require_flags
from ..engine.calls.node_names import gathered
from ..engine.calls.tables import PUBLIC
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from . import adaptive_pooling, embedding, loss, pooling
from . import convolution as conv
from .creation import arange, zeros
from .joining import cat
from .statistics import norm

__all__ = ["reduction_of"]


def reduction_of(number: int) -> str:
    """The word for a reduction: "mean" for 1, "sum" for 2, and "none" for any other number, as in PyTorch."""
    return {1: "mean", 2: "sum"}.get(number, "none")


# --- pooling ------------------------------------------------------------------------------------------------------


def max_pool1d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum of windows of `(N, C, L)` or `(C, L)`; see `torch.nn.functional.max_pool2d`."""
    return pooling.max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # one without indices


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """The maximum of windows of `(N, C, L)` or `(C, L)`, and where it is."""
    return pooling.max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)  # type: ignore[no-any-return]  # two with indices


def max_pool2d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum of windows of `(N, C, H, W)` or `(C, H, W)`; see `torch.nn.functional.max_pool2d`.

    >>> import flambeau as torch
    >>> torch.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    return pooling.max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # one without indices


def max_pool3d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum of windows of `(N, C, D, H, W)` or `(C, D, H, W)`; see `torch.nn.functional.max_pool2d`."""
    return pooling.max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # one without indices


def adaptive_max_pool1d(input: Tensor, output_size: Dims) -> tuple[Tensor, Tensor]:
    """The maximum of `output_size` windows of `(N, C, L)` or `(C, L)`, and where it is."""
    return adaptive_pooling.adaptive_max_pool(1, input, output_size, return_indices=True)  # type: ignore[no-any-return]  # two with indices


# --- convolution --------------------------------------------------------------------------------------------------


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution of as many dimensions as `weight` has, or its transpose; the input has a batch dimension.

    Shapes: input `(N, C, *)`, weight `(C_out, C / groups, *)`, or `(C, C_out / groups, *)` if `transposed`.

    >>> import flambeau as torch
    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[2., 2.]]])
    """
    if isinstance(padding, str):
        raise TypeError("convolution(): argument 'padding' (position 5) must be tuple of ints, not str")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, "
            f"but got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    return conv.convolve(input.ndim - 2, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time that comes first, before batch and channels, with `pad` zeros at both ends.

    Shapes: input `(T, N, C)`, weight `(K, C, C_out)`, bias `(C_out,)`; result `(T + 2 * pad - K + 1, N, C_out)`.
    """
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    output = conv.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)
    return gathered(output.contiguous(), "ConvTbcBackward0", (input, weight, bias))


# --- losses -------------------------------------------------------------------------------------------------------


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """The cross entropy of `sigmoid(input)` and `target`; `reduction`: 0 for all losses, 1 for mean, 2 for sum."""
    word = reduction_of(as_int("binary_cross_entropy_with_logits", "reduction", reduction))
    if target.shape != input.shape:
        common = common_shape(target.shape, input.shape)
        if target.shape != common:
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(common)}")
        input = input.expand(common)
    return loss.binary_cross_entropy_with_logits(input, target, weight, pos_weight, word)


# --- bags of embeddings -------------------------------------------------------------------------------------------

_BAG_MODES = ("sum", "mean", "max")


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (mode 0), mean (1) or maximum (2) of the rows of each bag, whose indices begin at its offset.

    Returns it with three tensors that PyTorch's backward asks for: the bag of each index and the size of each bag (for sums,
    which need neither, none and zeros), and the indices of the maxima (for means, the sizes once more).
    """
    require_flags("embedding_bag", scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, include_last_offset=include_last_offset)
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if offsets.dtype.category > dtypes.INTEGER:
        raise RuntimeError(
            "Expected tensor for argument #1 'offsets' to have one of the following scalar types: Long, Int; but "
            f"got torch.{offsets.dtype.legacy_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    if offsets.numel():
        embedding.check_offsets(offsets, indices.shape[0])
    padding = embedding.padding_row(padding_idx, weight.shape[0])
    output = embedding.embedding_bag(
        weight, indices, offsets, _BAG_MODES[mode], per_sample_weights, include_last_offset, padding, scale_grad_by_freq
    )
    dtype = dtypes.promote_types(indices.dtype, offsets.dtype)
    bags, count = embedding.bag_numbers(offsets, indices.shape[0], include_last_offset)
    if not mode:
        none = zeros(count if output.requires_grad else offsets.shape[0], dtype=dtype, device=weight.device)
        return output, none.new_empty(0) if padding is None else bags.to(dtype), none, none.clone()
    counted = bags if padding is None else bags.masked_fill(indices == padding, count)
    sizes = zeros(count + 1, dtype=dtype, device=weight.device)
    sizes = sizes.index_add(0, counted, bags.new_ones(bags.shape, dtype=dtype))[:count]
    largest = sizes.clone() if mode == 1 else _indices_of_maxima(weight, indices, counted, output).to(dtype)
    return output, bags.to(dtype), sizes, largest


def _indices_of_maxima(weight: Tensor, indices: Tensor, bags: Tensor, maxima: Tensor) -> Tensor:
    """For each bag and column the index of the row where the maximum comes first; 0 where there is none."""
    count, length = maxima.shape[0], indices.shape[0]
    rows, maxima = weight.detach()[indices], maxima.detach()
    expected = cat([maxima, maxima.new_zeros(1, maxima.shape[1])])[bags]
    places = arange(length, device=indices.device).unsqueeze(1).masked_fill(rows != expected, length)
    first = places.new_full((count + 1, maxima.shape[1]), length)
    first = first.scatter_reduce(0, bags.unsqueeze(1).expand(places.shape), places, "amin")[:count]
    return cat([indices.long(), places.new_zeros(1)])[first]


# --- norms --------------------------------------------------------------------------------------------------------


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm `pow` of each slice of `v` along `dim`, in a shape that broadcasts against `v`; of it all for dim -1.

    >>> import flambeau as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return gathered(norm(v, pow), "NormBackward0", (v,))
    if not 0 <= dim < v.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-v.ndim}, {v.ndim - 1}], but got {dim})")
    dims = [d for d in range(v.ndim) if d != dim]
    return gathered(norm(v, pow, dims, True), "ViewBackward0", (v,))


PUBLIC.update({function.__name__: function for function in (
    max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool3d, adaptive_max_pool1d, convolution, conv_tbc,
    binary_cross_entropy_with_logits, embedding_bag, norm_except_dim,
)})  # fmt: skip

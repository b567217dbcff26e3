"""Losses and grid samplers of the namespace `torch`: as in `nn.functional`, but modes and reductions are integers."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.extension import Autocast, Kind, as_float, as_int, declare, open_to_overrides, require_flags
from flambeau.extension.functions import reduction_of

from .functional import loss, margin_loss, warping

__all__ = [
    "affine_grid_generator", "cosine_embedding_loss", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
    "hinge_embedding_loss", "kl_div", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss",
]  # fmt: skip

# --- losses: reduction 0 is "none", 1 "mean", 2 "sum" -------------------------------------------------------------


def _reduction(name: str, number: int) -> str:
    return reduction_of(as_int(name, "reduction", number))


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """Compute the Kullback-Leibler divergence `target * (log(target) - input)`.

    Args:
        input: a tensor of log-probabilities.
        target: a tensor of probabilities with the shape of `input`.
        reduction: 0 for none, 1 for the mean, 2 for the sum.
        log_target: whether `target` holds log-probabilities.

    >>> torch.kl_div(torch.zeros(2), torch.ones(2))
    tensor([0., 0.])
    """
    return loss.divergence(input, target, _reduction("kl_div", reduction), log_target)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """Compute the negative log-likelihood of counts `target` under a Poisson distribution with rate (or log rate) `input`.

    Args:
        input: a tensor of rates, or of their logarithms.
        target: a tensor of counts with the shape of `input`.
        log_input: whether `input` holds logarithms.
        full: whether to add Stirling's approximation of `log(target!)`.
        eps: a number added to the rates before the logarithm; used unless `log_input`.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.poisson_nll_loss(torch.zeros(1), torch.ones(1), True, False, 1e-8, 2)
    tensor(1.)
    """
    return loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction("poisson_nll_loss", reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """Compute `input` where the target is 1 and `max(0, margin - input)` where it is -1.

    Args:
        input: a tensor of any shape, such as distances.
        target: a tensor of 1 and -1 with the shape of `input`.
        margin: the value above which dissimilar pairs have no loss.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """
    return margin_loss.hinge_embedding_loss(input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """Compute `max(0, -target * (input1 - input2) + margin)`.

    Args:
        input1, input2: tensors of scores, of the same shape.
        target: a tensor of 1 where `input1` should be larger, and of -1 where `input2` should be.
        margin: the difference of the scores above which a pair has no loss.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1]))
    tensor([2.])
    """
    return margin_loss.ranking(input1, input2, target, margin, _reduction("margin_ranking_loss", reduction))


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """Compute `1 - cos(input1, input2)` where the target is 1 and `max(0, cos(input1, input2) - margin)` where it is -1.

    Args:
        input1, input2: tensors `(N, D)` or `(D,)`.
        target: a tensor `(N,)` or `()` of 1 and -1.
        margin: the cosine below which dissimilar pairs have no loss.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.cosine_embedding_loss(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([-1]))
    tensor([1.])
    """
    return margin_loss.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction("cosine_embedding_loss", reduction)
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """Compute `max(0, margin + |anchor - positive| - |anchor - negative|)`; vectors are along the last dimension.

    Args:
        anchor, positive, negative: tensors `(*, D)`.
        margin: the difference of the distances above which a triplet has no loss.
        p: the order of the norm.
        eps: a number added to the differences, so that the norm has a derivative where the vectors are equal.
        swap: whether the smaller of the negative's distances to `anchor` and to `positive` is used.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), margin=2.0).round(decimals=2)
    tensor([0.5900])
    """
    require_flags("triplet_margin_loss", swap=swap)
    reduction_name, margin = _reduction("triplet_margin_loss", reduction), as_float("triplet_margin_loss", "margin", margin)
    return margin_loss.triplet(anchor, positive, negative, margin, p, eps, swap, reduction_name)


# --- grids ----------------------------------------------------------------------------------------------------------

_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


@declare(kind=Kind.RESAMPLING)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return the sampling grid of affine maps `theta` for images of shape `size`, as input for `grid_sampler`.

    Args:
        theta: affine maps `(N, 2, 3)` for images, or `(N, 3, 4)` for volumes.
        size: the shape of the images: `(N, C, H, W)` or `(N, C, D, H, W)`.
        align_corners: whether -1 and 1 are the centres of the border pixels instead of their outer edges.

    >>> torch.affine_grid_generator(torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    require_flags("affine_grid_generator", align_corners=align_corners)
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    return warping.affine_points(theta, size, align_corners)


@declare(kind=Kind.RESAMPLING, autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.WIDEST})
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Sample images or volumes at the points of `grid`; see `torch.nn.functional.grid_sample`.

    Args:
        input: a tensor `(N, C, H, W)` or `(N, C, D, H, W)`.
        grid: coordinates in [-1, 1], a tensor `(N, H', W', 2)` or `(N, D', H', W', 3)`.
        interpolation_mode: 0 for linear, 1 for nearest, 2 for cubic interpolation.
        padding_mode: the values outside of the input: 0 for zeros, 1 for the nearest edge, 2 for reflection.
        align_corners: whether -1 and 1 are the centres of the border pixels instead of their outer edges.

    >>> torch.grid_sampler(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]])
    """
    require_flags("grid_sampler", align_corners=align_corners)
    mode = _mode_name("interpolation_mode", _MODES, interpolation_mode)
    padding = _mode_name("padding_mode", _PADDINGS, padding_mode)
    return warping.sample_grid(input, grid, mode, padding, align_corners)


def _mode_name(name: str, modes: Sequence[str], number: int) -> str:
    index = as_int("grid_sampler", name, number)
    if not 0 <= index < len(modes):
        raise RuntimeError(f"grid_sampler(): expected {name} to be one of 0, 1 and 2, but got {index}")
    return modes[index]


@declare(kind=Kind.RESAMPLING)
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Sample images at the points of `grid`; see `grid_sampler`.

    Args:
        input: a tensor `(N, C, H, W)`.
        grid: coordinates in [-1, 1], a tensor `(N, H', W', 2)`.
        interpolation_mode, padding_mode, align_corners: as in `grid_sampler`.

    >>> torch.grid_sampler_2d(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]])
    """
    _check_dims(4, input, grid)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@declare(kind=Kind.RESAMPLING)
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Sample volumes at the points of `grid`; see `grid_sampler`.

    Args:
        input: a tensor `(N, C, D, H, W)`.
        grid: coordinates in [-1, 1], a tensor `(N, D', H', W', 3)`.
        interpolation_mode, padding_mode, align_corners: as in `grid_sampler`.

    >>> torch.grid_sampler_3d(torch.tensor([[[[[1.0, 3.0]]]]]), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[2.]]]]])
    """
    _check_dims(5, input, grid)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_dims(count: int, input: Tensor, grid: Tensor) -> None:
    if input.dim() != count or grid.dim() != count:
        raise RuntimeError(
            f"grid_sampler(): expected {count}D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )


open_to_overrides(globals(), __all__, native=__all__, module="flambeau")

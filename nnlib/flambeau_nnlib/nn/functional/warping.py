"""Warping: affine grids, and sampling of images at the points of a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, declare, merge_nodes, require_dtype, require_flags, warn, with_grad_fn
from flambeau.extension.functions import tied, weighted_pixels, with_tied_gradient

__all__ = ["affine_grid", "grid_sample"]

_UNIT_SIZE = (
    "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended "
    "use case of affine_grid. See the documentation of affine_grid for details."
)
_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


# --- grids --------------------------------------------------------------------------------------------------------


@declare(kind=Kind.RESAMPLING)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the sampling grid of affine maps for images or volumes, as input of `grid_sample`.

    Jaderberg et al., *Spatial transformer networks*, 2015.

    Args:
        theta: the maps, a floating-point tensor `(N, 2, 3)` for images or `(N, 3, 4)` for volumes: each maps the
            coordinates (x, y, 1) of a pixel of the result to the point of the input that is sampled for it.
        size: the size of the result of `grid_sample`, `(N, C, H, W)` or `(N, C, D, H, W)`. The grid has the shape
            `(N, H, W, 2)` or `(N, D, H, W, 3)`.
        align_corners: whether -1 and 1 are the centres of the corner pixels instead of their outer edges. Pass the same
            value to `grid_sample`. None means False, with a warning.

    Raises:
        ValueError: the dtype or shape of `theta` does not fit, or a size is not positive.
        NotImplementedError: `size` has neither 4 nor 5 dimensions.

    Example:
        >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    if align_corners is None:
        warn(_CHANGED)
    else:
        require_flags("affine_grid_generator", align_corners=align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {tuple(size)}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {tuple(size)}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    if align_corners and 1 in size[2:]:
        warn(_UNIT_SIZE)
    return affine_points(theta, size, bool(align_corners))


@with_grad_fn("AffineGridGeneratorBackward0")
def affine_points(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return the sampling grid of affine maps for images of shape `size`, without checks."""
    n, space = len(size) - 2, list(size[2:])
    axes = [_pixel_centres(length, align_corners, theta) for length in space]
    columns = [axis.reshape([-1 if i == dim else 1 for i in range(n)]).expand(space) for dim, axis in enumerate(axes)]
    points = torch.stack([*reversed(columns), torch.ones_like(columns[0])], -1).reshape(-1, n + 1)
    return (points @ theta.transpose(1, 2)).reshape(size[0], *space, n)


def _pixel_centres(length: int, align_corners: bool, like: Tensor) -> Tensor:
    """Return the coordinates of pixel centres along one dimension, from -1 to 1."""
    if length == 1:
        return torch.zeros(1, dtype=like.dtype, device=like.device)
    corners = torch.linspace(-1, 1, length, dtype=like.dtype, device=like.device)
    return corners if align_corners else corners * ((length - 1) / length)


# --- sampling -----------------------------------------------------------------------------------------------------


@declare(kind=Kind.RESAMPLING, autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.WIDEST})
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Sample images or volumes at the points of a grid, by interpolation.

    Args:
        input: a floating-point tensor `(N, C, H_in, W_in)` or `(N, C, D_in, H_in, W_in)`.
        grid: the points, `(N, H, W, 2)` or `(N, D, H, W, 3)`, of the same dtype, with coordinates x, y (and z) from -1
            at one side of the input to 1 at the other. The result has the shape `(N, C, H, W)` or `(N, C, D, H, W)`.
        mode: how to interpolate between pixels: "bilinear" (trilinear for volumes), "nearest", or "bicubic" (images
            only).
        padding_mode: the values outside the input: "zeros", "border" (the nearest pixel of the edge) or "reflection".
        align_corners: whether -1 and 1 are the centres of the corner pixels instead of their outer edges. None means
            False, with a warning.

    Raises:
        ValueError: the mode is unknown.
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> grid = torch.tensor([[[[0.0, 0.0], [1.0, -1.0]]]])
        >>> torch.nn.functional.grid_sample(image, grid, align_corners=True)
        tensor([[[[2.5000, 2.0000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warn(_CHANGED)
    else:
        require_flags("grid_sampler", align_corners=align_corners)
    return sample_grid(input, grid, mode, padding_mode, bool(align_corners))


def sample_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    """Compute `grid_sample` without checking the modes."""
    _check_grid(input, grid, mode)
    require_dtype(f"grid_sampler_{input.dim() - 2}d_cpu", input, "floating")
    output = _sample(input, grid, mode, padding_mode, align_corners)
    return merge_nodes(output, f"GridSampler{input.dim() - 2}DBackward0", (input, grid))


# For every point, one of its neighbouring pixels along one dimension: (integer coordinates, weights).
_Neighbour = tuple[Tensor, Tensor]


def _sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    space = list(input.shape[2:])
    places = [_unnormalized(grid[..., -1 - dim], length, align_corners) for dim, length in enumerate(space)]
    if padding_mode == "zeros":
        not_finite = math.nan if len(space) == 2 else -2.0  # the sample is NaN in an image, but 0 in a volume, as in PyTorch
        places = [x.masked_fill(~x.isfinite(), not_finite) for x in places]
    if mode == "bicubic":
        return _weighted(input, [_cubic(x, n, padding_mode, align_corners) for x, n in zip(places, space, strict=True)])
    places = [_clipped(x, length, padding_mode, align_corners) for x, length in zip(places, space, strict=True)]
    if mode == "nearest":
        nearest = [[(x.round().nan_to_num(-1.0), torch.ones_like(x))] for x in places]  # NaN counts as outside the input
        return tied(_weighted(with_tied_gradient(input), nearest), with_tied_gradient(grid))
    output = _weighted(input, [_linear(x) for x in places])
    return output if output.requires_grad or not grid.requires_grad else tied(output, grid)  # reflections in one pixel


def _linear(x: Tensor) -> list[_Neighbour]:
    low = x.detach().floor()
    share = x - low
    return [(low, 1 - share), (low + 1, share)]


def _cubic(x: Tensor, length: int, padding_mode: str, align_corners: bool) -> list[_Neighbour]:
    low = x.detach().floor()
    places = [_clipped(low + step, length, padding_mode, align_corners) for step in (-1, 0, 1, 2)]
    return list(zip(places, _cubic_weights(x - low), strict=True))


def _weighted(input: Tensor, neighbours: Sequence[Sequence[_Neighbour]]) -> Tensor:
    """For each point, sum its weighted neighbouring pixels in all dimensions; pixels outside the input count as zero."""
    batch, channels, *space = input.shape
    count = math.prod(space)
    along = [
        [(_to_indices(place, length, count), weight) for place, weight in options]
        for options, length in zip(neighbours, space, strict=True)
    ]
    index, weights = [], []
    for (flat, weight), *others in itertools.product(*along):
        for length, (place, factor) in zip(space[1:], others, strict=True):
            flat, weight = flat * length + place, weight * factor
        index.append(flat)
        weights.append(weight)
    points = index[0].shape[1:]
    shape = (batch, len(index), math.prod(points))
    pixels = input.reshape(batch, channels, count)
    sums = weighted_pixels(pixels, torch.stack(weights, 1).reshape(shape), torch.stack(index, 1).reshape(shape))
    return sums.reshape(batch, channels, *points)


def _to_indices(place: Tensor, length: int, far: int) -> Tensor:
    """Convert coordinates to integer indices; outside the input, to `-far`, so low that a sum over dimensions is negative."""
    place = place.detach()
    outside = (place < 0) | (place > length - 1)
    place = torch.where(outside, 0.0, place).nan_to_num(0.0)  # NaN takes pixel 0, with weight NaN
    return place.long() - outside.long() * far


def _check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    if input.dtype is not grid.dtype:
        names = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half"}
        raise RuntimeError(
            f"expected scalar type {names.get(input.dtype, input.dtype)} but found {names.get(grid.dtype, grid.dtype)}"
        )
    got = f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {got}")
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, {got}")
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with "
            f"sizes {list(grid.shape)}"
        )
    for dim, length in enumerate(input.shape[2:], 2):
        if not length:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {dim} being empty"
            )
    if mode == "bicubic" and input.dim() != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def _unnormalized(x: Tensor, length: int, align_corners: bool) -> Tensor:
    return (x + 1) * ((length - 1) / 2) if align_corners else ((x + 1) * length - 1) / 2


def _clipped(x: Tensor, length: int, padding_mode: str, align_corners: bool) -> Tensor:
    if padding_mode == "reflection":
        low, high = (0.0, length - 1.0) if align_corners else (-0.5, length - 0.5)
        x = _reflected(x, low, high)
    if padding_mode == "zeros":
        return x
    return x.masked_fill(~(x > 0), 0.0).clamp(max=length - 1)  # NaN becomes 0, as in PyTorch


def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    span = high - low
    if span <= 0:
        return torch.zeros_like(x)
    distance = (x - low).abs()
    reflections = (distance.detach() / span).floor()
    offset = distance - reflections * span
    reflected: Tensor = torch.where(reflections % 2 == 0, offset + low, high - offset)
    return reflected


def _cubic_weights(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """Return the four weights of cubic interpolation (Keys, "Cubic convolution interpolation", 1981)."""

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]

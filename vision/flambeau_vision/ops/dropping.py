"""Regularization by dropping residual branches (stochastic depth) or blocks of features (DropBlock)."""

from __future__ import annotations

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

__all__ = [
    "DropBlock2d",
    "DropBlock3d",
    "StochasticDepth",
    "drop_block2d",
    "drop_block3d",
    "stochastic_depth",
]

Tensor = torch.Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zero a residual branch with probability `p` in training, otherwise multiply it by `1 / (1 - p)`.

    Huang, Sun, Liu, Sedra and Weinberger, [Deep Networks with Stochastic Depth](https://arxiv.org/abs/1603.09382), 2016.

    Args:
        input: the output of the residual branch, of shape `(N, ...)`.
        p: the probability of zeroing, from 0 to 1.
        mode: `"batch"` to zero all samples of the batch or none, `"row"` to decide for each sample separately.
        training: whether to drop; if False, the input is returned.

    Raises:
        ValueError: `p` is out of range, or `mode` unknown.

    Example:
        >>> from flambeau_vision.ops import stochastic_depth
        >>> stochastic_depth(torch.ones(6, 1), p=0.5, mode="row").unique()
        tensor([0., 2.])
    """
    _check_probability(p)
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    survival = 1.0 - p
    noise = torch.empty([rows] + [1] * (input.ndim - 1), dtype=input.dtype, device=input.device)
    noise = noise.bernoulli_(survival)
    if survival > 0.0:
        noise.div_(survival)
    return input * noise


class StochasticDepth(nn.Module):
    """Zero a residual branch with probability `p` in training: `stochastic_depth` as a module.

    Args:
        p: the probability of zeroing, from 0 to 1.
        mode: `"batch"` to zero all samples of the batch or none, `"row"` to decide for each sample separately.

    Raises:
        ValueError: from calls, if `p` is out of range or `mode` unknown.

    Example:
        >>> from flambeau_vision.ops import StochasticDepth
        >>> StochasticDepth(0.5, "row").eval()(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}"


def _drop_block(input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool) -> Tensor:
    _check_probability(p)
    dims = input.ndim - 2
    if not training or p == 0.0:
        return input
    sizes = input.shape[2:]
    block_size = min(block_size, *sizes)
    # Blocks are drawn only at positions where they fit completely. Each position is drawn with the probability gamma, which is
    # chosen so that the blocks cover the fraction p of the features.
    positions = [size - block_size + 1 for size in sizes]
    gamma = p / block_size**dims
    for size, count in zip(sizes, positions, strict=True):
        gamma *= size / count
    noise = torch.empty((*input.shape[:2], *positions), dtype=input.dtype, device=input.device).bernoulli_(gamma)
    half = block_size // 2
    noise = F.pad(noise, [half] * (2 * dims), value=0)
    max_pool = F.max_pool2d if dims == 2 else F.max_pool3d
    keep = 1 - max_pool(noise, kernel_size=block_size, stride=1, padding=half)[(..., *map(slice, sizes))]
    scale = keep.numel() / (eps + keep.sum())
    return input.mul_(keep).mul_(scale) if inplace else input * keep * scale


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06, training: bool = True
) -> Tensor:
    """Zero square blocks of features at random in training, and scale up the others.

    Ghiasi, Lin and Le, [DropBlock: A regularization method for convolutional networks](https://arxiv.org/abs/1810.12890),
    2018.

    Args:
        input: features of shape `(N, C, H, W)`.
        p: average fraction of the features to drop, from 0 to 1.
        block_size: side length of the blocks; limited to the size of the input.
        inplace: modify `input` in place.
        eps: added to the number of remaining features, by which the result is divided; it is 0 if all features are dropped.
        training: whether to drop; if False, the input is returned.

    Raises:
        ValueError: `p` is out of range, or `input` does not have 4 dimensions.

    Example:
        >>> from flambeau_vision.ops import drop_block2d
        >>> features = torch.ones(2, 3, 16, 16)
        >>> dropped = drop_block2d(features, p=0.2, block_size=3)
        >>> bool((dropped == 0).any()), round(dropped.mean().item(), 3)
        (True, 1.0)
    """
    if input.ndim != 4:
        raise ValueError(f"input should be 4 dimensional. Got {input.ndim} dimensions.")
    return _drop_block(input, p, block_size, inplace, eps, training)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06, training: bool = True
) -> Tensor:
    """Zero cubes of features at random in training, and scale up the others: `drop_block2d` in three dimensions.

    Args:
        input: features of shape `(N, C, D, H, W)`.
        p: average fraction of the features to drop, from 0 to 1.
        block_size: side length of the cubes; limited to the size of the input.
        inplace: modify `input` in place.
        eps: added to the number of remaining features, by which the result is divided; it is 0 if all features are dropped.
        training: whether to drop; if False, the input is returned.

    Raises:
        ValueError: `p` is out of range, or `input` does not have 5 dimensions.

    Example:
        >>> from flambeau_vision.ops import drop_block3d
        >>> drop_block3d(torch.ones(1, 1, 4, 8, 8), p=0.2, block_size=3).shape
        torch.Size([1, 1, 4, 8, 8])
    """
    if input.ndim != 5:
        raise ValueError(f"input should be 5 dimensional. Got {input.ndim} dimensions.")
    return _drop_block(input, p, block_size, inplace, eps, training)


class DropBlock2d(nn.Module):
    """Zero square blocks of features at random in training: `drop_block2d` as a module.

    Args:
        p: average fraction of the features to drop, from 0 to 1.
        block_size: side length of the blocks; limited to the size of the input.
        inplace: modify the input in place.
        eps: added to the number of remaining features, by which the result is divided; it is 0 if all features are dropped.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: the same.

    Example:
        >>> from flambeau_vision.ops import DropBlock2d
        >>> DropBlock2d(p=0.2, block_size=3).eval()(torch.ones(1, 1, 2, 2))
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, block_size={self.block_size}, inplace={self.inplace}"


class DropBlock3d(DropBlock2d):
    """Zero cubes of features at random in training: `drop_block3d` as a module.

    Args:
        p: average fraction of the features to drop, from 0 to 1.
        block_size: side length of the cubes; limited to the size of the input.
        inplace: modify the input in place.
        eps: added to the number of remaining features, by which the result is divided; it is 0 if all features are dropped.

    Shape:
        - Input: `(N, C, D, H, W)`.
        - Output: the same.

    Example:
        >>> from flambeau_vision.ops import DropBlock3d
        >>> DropBlock3d(p=0.2, block_size=3)(torch.ones(1, 1, 4, 8, 8)).shape
        torch.Size([1, 1, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

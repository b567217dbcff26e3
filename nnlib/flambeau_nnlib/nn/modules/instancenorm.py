"""Instance normalization: `InstanceNorm1d` to `InstanceNorm3d`, and their lazy variants."""

from __future__ import annotations

import warnings
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Base class of instance normalization. `_input_dims` is `(ndim of unbatched input, ndim of batched input)`."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        is_batched = input.dim() == self._input_dims[1]
        self._check_features(input, 1 if is_batched else 0)
        if is_batched:
            return self._normalize(input)
        return self._normalize(input.unsqueeze(0)).squeeze(0)

    def _check_features(self, input: Tensor, dim: int) -> None:
        if input.size(dim) == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False",
            stacklevel=4,
        )

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if keys:
                name = type(self).__name__
                names = " and ".join(f'"{key}"' for key in keys)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {name} with track_running_stats=False. "
                    "If state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                    f"{name} does not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {name} to enable them. See the documentation of {name} for details."
                )
                for key in keys:
                    del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sequence separately to mean 0 and variance 1, in training and in evaluation.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. Unlike `BatchNorm1d`, by default it has neither weight and bias
    nor running statistics.

    Ulyanov et al., *Instance normalization: the missing ingredient for fast stylization*, 2016.

    Args:
        num_features: the number of channels. For another number, the call raises ValueError if `affine`, else it warns.
        eps: added to the variance before taking the square root.
        momentum: the weight of the new batch in the running statistics, if they are kept.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics in training, and to normalize by them in evaluation.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, L)` or `(num_features, L)`; ValueError for other numbers of dimensions, or where a
          channel has a single value.
        - Output: the shape of the input.

    Example:
        >>> output = torch.nn.InstanceNorm1d(4)(torch.randn(2, 4, 50))
        >>> torch.allclose(output.mean(-1), torch.zeros(2, 4), atol=1e-6)
        True
    """

    _input_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each image separately to mean 0 and variance 1, in training and in evaluation.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. Unlike `BatchNorm2d`, by default it has neither weight and bias
    nor running statistics.

    Ulyanov et al., *Instance normalization: the missing ingredient for fast stylization*, 2016.

    Args:
        num_features: the number of channels. For another number, the call raises ValueError if `affine`, else it warns.
        eps: added to the variance before taking the square root.
        momentum: the weight of the new batch in the running statistics, if they are kept.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics in training, and to normalize by them in evaluation.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, H, W)` or `(num_features, H, W)`; ValueError for other numbers of dimensions, or
          where a channel has a single value.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.InstanceNorm2d(3, affine=True)(torch.randn(2, 3, 5, 5)).shape
        torch.Size([2, 3, 5, 5])
    """

    _input_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each volume separately to mean 0 and variance 1, in training and in evaluation.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. Unlike `BatchNorm3d`, by default it has neither weight and bias
    nor running statistics.

    Ulyanov et al., *Instance normalization: the missing ingredient for fast stylization*, 2016.

    Args:
        num_features: the number of channels. For another number, the call raises ValueError if `affine`, else it warns.
        eps: added to the variance before taking the square root.
        momentum: the weight of the new batch in the running statistics, if they are kept.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics in training, and to normalize by them in evaluation.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, D, H, W)` or `(num_features, D, H, W)`; ValueError for other numbers of dimensions,
          or where a channel has a single value.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.InstanceNorm3d(3)(torch.randn(3, 4, 5, 5)).shape
        torch.Size([3, 4, 5, 5])
    """

    _input_dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An `InstanceNorm1d` that takes `num_features` from its first input, and then becomes an `InstanceNorm1d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm1d`, with the same defaults.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features, L)` or `(num_features, L)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyInstanceNorm1d()
        >>> layer(torch.randn(2, 4, 50)).shape, layer.num_features
        (torch.Size([2, 4, 50]), 4)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An `InstanceNorm2d` that takes `num_features` from its first input, and then becomes an `InstanceNorm2d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm2d`, with the same defaults.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features, H, W)` or `(num_features, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyInstanceNorm2d()
        >>> layer(torch.randn(2, 3, 5, 5)).shape, layer.num_features
        (torch.Size([2, 3, 5, 5]), 3)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An `InstanceNorm3d` that takes `num_features` from its first input, and then becomes an `InstanceNorm3d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm3d`, with the same defaults.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features, D, H, W)` or `(num_features, D, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyInstanceNorm3d()
        >>> layer(torch.randn(2, 3, 4, 5, 5)).shape, layer.num_features
        (torch.Size([2, 3, 4, 5, 5]), 3)
    """

    cls_to_become = InstanceNorm3d

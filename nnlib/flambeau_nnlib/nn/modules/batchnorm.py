"""Batch normalization: `BatchNorm1d` to `BatchNorm3d`, their lazy variants, and `SyncBatchNorm`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init, parameter
from ..parameter import Parameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Weight, bias and running statistics of batch and instance normalization.

    `_input_dims` lists the allowed numbers of input dimensions.
    """

    _version = 2  # format of the state_dict: version 2 added num_batches_tracked
    __constants__ = ("track_running_stats", "momentum", "eps", "num_features", "affine")
    _input_dims: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, is_used in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(torch.empty(num_features, device=device, dtype=dtype)) if is_used else None
            self.register_parameter(name, value)
        tracked = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", torch.ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to 1, the bias to 0, and reset the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._input_dims:
            expected = " or ".join(f"{dim}D" for dim in self._input_dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any) -> None:
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # average all batches equally, not by an exponential moving average
                momentum = 1.0 / float(self.num_batches_tracked)
        use_batch_stats = self.training or self.running_mean is None
        use_running_stats = self.track_running_stats or not self.training
        return self._normalize(
            input,
            self.running_mean if use_running_stats else None,
            self.running_var if use_running_stats else None,
            self.weight,
            self.bias,
            use_batch_stats,
            momentum,
            self.eps,
        )

    def _normalize(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        use_batch_stats: bool,
        momentum: float,
        eps: float,
    ) -> Tensor:
        return F.batch_norm(input, running_mean, running_var, weight, bias, use_batch_stats, momentum, eps)


class BatchNorm1d(_BatchNorm):
    """Normalizes each feature to mean 0 and variance 1 over the batch, then scales and shifts it.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. In training, mean and (biased) variance are those of the
    batch, and the buffers `running_mean` and `running_var` are updated:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. Evaluation uses these buffers.

    Ioffe and Szegedy, *Batch normalization: accelerating deep network training*, 2015.

    Args:
        num_features: the number of features, the second dimension of the input.
        eps: added to the variance before taking the square root; in training ValueError unless it is positive.
        momentum: the weight of the new batch in the running statistics; None for the mean of all batches.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per feature.
        track_running_stats: whether to keep running statistics. Without them, evaluation also normalizes by the batch.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features)` or `(N, num_features, L)`; ValueError for other numbers of dimensions, or, in
          training, where a feature has a single value.
        - Output: the shape of the input.

    Example:
        >>> output = torch.nn.BatchNorm1d(4)(torch.randn(20, 4))
        >>> torch.allclose(output.mean(0), torch.zeros(4), atol=1e-6)
        True
    """

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel of images to mean 0 and variance 1 over the batch and all pixels, then scales and shifts it.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. In training, mean and (biased) variance are those of the
    batch, and the buffers `running_mean` and `running_var` are updated:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. Evaluation uses these buffers.

    Ioffe and Szegedy, *Batch normalization: accelerating deep network training*, 2015.

    Args:
        num_features: the number of channels, the second dimension of the input.
        eps: added to the variance before taking the square root; in training ValueError unless it is positive.
        momentum: the weight of the new batch in the running statistics; None for the mean of all batches.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics. Without them, evaluation also normalizes by the batch.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, H, W)`; ValueError for other numbers of dimensions, or, in training, where a channel
          has a single value.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.BatchNorm2d(3)
        >>> layer(torch.randn(2, 3, 5, 5)).shape, layer.num_batches_tracked
        (torch.Size([2, 3, 5, 5]), tensor(1))
    """

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel of volumes to mean 0 and variance 1 over the batch and all voxels, then scales and shifts it.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`. In training, mean and (biased) variance are those of the
    batch, and the buffers `running_mean` and `running_var` are updated:
    `running = (1 - momentum) * running + momentum * batch`, with the unbiased variance. Evaluation uses these buffers.

    Ioffe and Szegedy, *Batch normalization: accelerating deep network training*, 2015.

    Args:
        num_features: the number of channels, the second dimension of the input.
        eps: added to the variance before taking the square root; in training ValueError unless it is positive.
        momentum: the weight of the new batch in the running statistics; None for the mean of all batches.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics. Without them, evaluation also normalizes by the batch.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, D, H, W)`; ValueError for other numbers of dimensions, or, in training, where a
          channel has a single value.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.BatchNorm3d(3)(torch.randn(2, 3, 4, 5, 5)).shape
        torch.Size([2, 3, 4, 5, 5])
    """

    _input_dims = (5,)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """The base of lazy normalization layers, which take `num_features` from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = parameter.UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = parameter.UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.int64, device=device)

    def reset_parameters(self) -> None:
        """Set initial values if the shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Allocate parameters and statistics for the number of channels of `input`, and initialize them."""
        self.num_features = input.shape[1]
        if not self.has_uninitialized_params():  # `load_state_dict` has already set them
            return
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A `BatchNorm1d` that takes `num_features` from its first input, and then becomes a `BatchNorm1d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm1d`.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features)` or `(N, num_features, L)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyBatchNorm1d()
        >>> layer(torch.randn(20, 4)).shape, layer.num_features
        (torch.Size([20, 4]), 4)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A `BatchNorm2d` that takes `num_features` from its first input, and then becomes a `BatchNorm2d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm2d`.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyBatchNorm2d()
        >>> layer(torch.randn(2, 3, 5, 5)).shape, layer.num_features
        (torch.Size([2, 3, 5, 5]), 3)
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A `BatchNorm3d` that takes `num_features` from its first input, and then becomes a `BatchNorm3d`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        eps, momentum, affine, track_running_stats, bias: as in `BatchNorm3d`.
        device, dtype: device and dtype of parameters and statistics.

    Shape:
        - Input: `(N, num_features, D, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> layer = torch.nn.LazyBatchNorm3d()
        >>> layer(torch.randn(2, 3, 4, 5, 5)).shape, layer.num_features
        (torch.Size([2, 3, 4, 5, 5]), 3)
    """

    cls_to_become = BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes, for training with few samples per process.

    It works like `BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d`, with mean and variance over the samples of all processes.
    In evaluation, and with a single process, the results are the same as theirs.

    Args:
        num_features: the number of channels, the second dimension of the input.
        eps: added to the variance before taking the square root.
        momentum: the weight of the new batch in the running statistics; None for the mean of all batches.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, with one value per channel.
        track_running_stats: whether to keep running statistics. Without them, evaluation also normalizes by the batch.
        process_group: the process group of `torch.distributed` whose samples are normalized together; None for all processes.
        device, dtype: device and dtype of parameters and statistics, all of shape `(num_features,)`.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_features, *)`; ValueError for fewer than 2 dimensions.
        - Output: the shape of the input.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
        SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalize(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        use_batch_stats: bool,
        momentum: float,
        eps: float,
    ) -> Tensor:
        if not (use_batch_stats and self.training and self._has_peers()):
            return super()._normalize(input, running_mean, running_var, weight, bias, use_batch_stats, momentum, eps)
        dims = [0, *range(2, input.dim())]
        count = input.new_tensor([input.numel() / input.size(1)])
        sums = torch.cat([input.sum(dims), (input * input).sum(dims), count])
        total, total_of_squares, count = AllReduceSum.apply(sums, self.process_group).split([self.num_features] * 2 + [1])
        mean: Tensor = total / count
        var: Tensor = total_of_squares / count - mean * mean
        if running_mean is not None and running_var is not None:
            with torch.no_grad():
                running_mean.lerp_(mean, momentum)
                running_var.lerp_(var * (count / (count - 1)), momentum)
        scale = torch.rsqrt(var + eps) if weight is None else torch.rsqrt(var + eps) * weight
        shift = -mean * scale if bias is None else bias - mean * scale
        per_channel = (-1,) + (1,) * (input.dim() - 2)
        return input * scale.reshape(per_channel) + shift.reshape(per_channel)

    def _has_peers(self) -> bool:
        distributed = torch.distributed
        if not (distributed.is_available() and distributed.is_initialized()):
            return False
        world_size: int = distributed.get_world_size(self.process_group)
        return world_size > 1

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch normalization in `module` by a `SyncBatchNorm` with the same parameters and statistics."""
        result = module
        if isinstance(module, _BatchNorm):
            result = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name, tensor in (*module._parameters.items(), *module._buffers.items()):
                setattr(result, name, tensor)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class AllReduceSum(torch.autograd.Function):
    """A differentiable all-reduce: forward sums the input over all processes, backward sums the gradient over them."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, group: Any) -> Tensor:
        ctx.group = group
        output = input.clone()
        torch.distributed.all_reduce(output, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        grad = grad.clone()
        torch.distributed.all_reduce(grad, group=ctx.group)
        return grad, None

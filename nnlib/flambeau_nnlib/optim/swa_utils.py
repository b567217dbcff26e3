"""Averages of model weights during training."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .lr_scheduler.scheduler import LRScheduler, Rates, per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Count = Tensor | int
Average = Callable[[Tensor, Tensor, Count], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Count], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function for `AveragedModel(avg_fn=...)` that computes exponential moving averages.

    The function is called with an average, a new value and a count, which it ignores. It returns `decay * average + (1
    - decay) * value`.

    Args:
        decay: weight of the previous average, from 0 to 1; with 0.999, the average covers about a thousand updates.

    Raises:
        ValueError: `decay` is not between 0 and 1.

    Example:
        >>> average = torch.optim.swa_utils.get_ema_avg_fn(decay=0.5)
        >>> average(torch.tensor(1.0), torch.tensor(3.0), 7).item()
        2.0
    """
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Count) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return a function for `AveragedModel(avg_fn=...)` that computes the mean of all values of a parameter.

    The function is called with the mean of `count` values, a new value and `count`. It returns the mean of `count + 1`
    values.

    Example:
        >>> average = torch.optim.swa_utils.get_swa_avg_fn()
        >>> average(torch.tensor(1.0), torch.tensor(5.0), 3).item()
        2.0
    """

    @torch.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Count) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """Return a function for `AveragedModel(multi_avg_fn=...)` that computes exponential moving averages of all
    parameters.

    The function is called with lists of averages and of new values, and a count. It changes the averages in place.

    Args:
        decay: weight of the previous averages, from 0 to 1.

    Raises:
        ValueError: `decay` is not between 0 and 1.

    Example:
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> update = torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=update)
        >>> for value in (1.0, 3.0):
        ...     _ = torch.nn.init.constant_(model.weight, value)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.item()
        1.5
    """
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_params: Sequence[Tensor], current_params: Sequence[Tensor], num_averaged: Count) -> None:
        _move(ema_params, current_params, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """Return a function for `AveragedModel(multi_avg_fn=...)` that computes means of all parameters: the default.

    The function is called with lists of means and of new values, and a count. It changes the means in place.

    Example:
        >>> means = [torch.tensor(1.0)]
        >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(means, [torch.tensor(5.0)], 3)
        >>> means
        [tensor(2.)]
    """

    @torch.no_grad()
    def swa_update(averaged_params: Sequence[Tensor], current_params: Sequence[Tensor], num_averaged: Count) -> None:
        _move(averaged_params, current_params, 1 / (int(num_averaged) + 1))

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _move(averages: Sequence[Tensor], values: Sequence[Tensor], weight: float) -> None:
    for average, value in zip(averages, values, strict=True):
        if average.is_floating_point() or average.is_complex():
            average.lerp_(value, weight)
        else:
            average.copy_(average + (value - average) * weight)


class AveragedModel(torch.nn.Module):
    """A copy of a model whose parameters are averages over the training of the model.

    By default they are means, for stochastic weight averaging: Izmailov et al., [Averaging Weights Leads to Wider
    Optima and Better Generalization](https://arxiv.org/abs/1803.05407), 2018. Call `update_parameters(model)` after a
    step or an epoch of the model's training, and at the end `update_bn` if the model has batch normalization layers.

    Args:
        model: the model to average; it is copied.
        device: device of the averages; None for the device of the model.
        avg_fn: returns the new average, given the last average, the new value and the number of values averaged so far;
            None for the mean. See `get_ema_avg_fn`.
        multi_avg_fn: like `avg_fn`, but updates a list of averages in place; see `get_ema_multi_avg_fn`.
        use_buffers: also average the buffers, such as the statistics of batch normalization. By default they are
            copied.

    Raises:
        AssertionError: both functions are given.

    Example:
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 3.0):
        ...     _ = torch.nn.init.constant_(model.weight, value)
        ...     averaged.update_parameters(model)
        >>> averaged(torch.ones(1)).item()
        2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: torch.nn.Module,
        device: torch.device | str | int | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    @torch.no_grad()
    def update_parameters(self, model: torch.nn.Module) -> None:
        """Update the averages with the current parameters of the model."""
        averages, values = self._tensors(self.module), self._tensors(model)
        values = [value.detach().to(average.device) for average, value in zip(averages, values, strict=True)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        else:
            self._update_lists(averages, values)
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=True):
                average.copy_(value)
        self.n_averaged += 1

    def _tensors(self, model: torch.nn.Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return [tensor.detach() for tensor in chain(model.parameters(), buffers)]

    def _update_lists(self, averages: list[Tensor], values: list[Tensor]) -> None:
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        pairs_by_kind: defaultdict[Any, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for average, value in zip(averages, values, strict=True):
            pairs_by_kind[average.device, average.dtype].append((average, value))
        for (device, _), pairs in pairs_by_kind.items():
            update([average for average, _ in pairs], [value for _, value in pairs], self.n_averaged.to(device))


@torch.no_grad()
def update_bn(loader: Iterable[Any], model: torch.nn.Module, device: torch.device | str | int | None = None) -> None:
    """Recompute the running statistics of a model's batch normalization layers in one pass over the data.

    An averaged model needs this because its statistics belong to other weights.

    Args:
        loader: an iterable of batches: tensors, or lists or tuples whose first element is a tensor.
        model: the model. It is called in training mode, and then set back to its previous mode.
        device: device to which the batches are moved; None to not move them.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0]])], model)
        >>> model[0].running_mean
        tensor([4.])
    """
    layers = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm)
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, layers)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # None: statistics are means over all batches
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the learning rates to a constant value, used during stochastic weight averaging.

    Args:
        optimizer: the optimizer whose learning rates are set.
        swa_lr: the final learning rate, a number or a list with one for each group.
        anneal_epochs: number of epochs of the annealing; 0 sets the final value immediately.
        anneal_strategy: `"cos"` for a half cosine, `"linear"` for a straight line.
        last_epoch: the epoch to resume from; -1 to start.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> linear = {"anneal_epochs": 2, "anneal_strategy": "linear"}
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, **linear)
        >>> for epoch in range(3):
        ...     optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
        [0.75]
        [0.5]
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, lr in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """Return the weight of `swa_lr` in the learning rate of an epoch, from 0 to 1."""
        t = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _next_lrs(self) -> Rates:
        epoch = self._step_count - 1
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        previous_share, share = self._share(epoch - 1), self._share(epoch)
        rates: Rates = []
        for group in self.optimizer.param_groups:
            swa_lr = group["swa_lr"]
            # Compute the learning rate before annealing from the current rate, which is a weighted mean of it and `swa_lr`.
            lr = swa_lr if previous_share == 1 else (group["lr"] - previous_share * swa_lr) / (1 - previous_share)
            rates.append(swa_lr * share + lr * (1 - share))
        return rates

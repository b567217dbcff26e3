"""`ExponentialFamily`: base class that computes the entropy from the log-normalizer."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density `exp(<t(x), θ> - F(θ) + k(x))`, for natural parameters θ.

    A subclass defines the natural parameters θ (`_natural_params`), the log normaliser F (`_log_normalizer`) and the mean
    of k (`_mean_carrier_measure`). Entropy and KL divergence are then computed as Bregman divergences: Nielsen and Nock,
    "Entropies and cross-entropies of exponential families", 2010.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one draw.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Example:
        >>> d = torch.distributions.Exponential(torch.tensor(2.0))
        >>> isinstance(d, torch.distributions.ExponentialFamily), d.entropy()
        (True, tensor(0.3069))
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any, **kwargs: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        entropy: Tensor | float = -self._mean_carrier_measure
        log_normalizer, terms = self._natural_moments()
        for param, moment in terms:
            entropy = entropy - _sum_rightmost(param * moment, param.dim() - len(self._batch_shape))
        return entropy + log_normalizer

    def _natural_moments(self) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return F(θ), and pairs of each natural parameter with the mean of its statistic (the derivative of F)."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        moments = torch.autograd.grad(log_normalizer.sum(), params, create_graph=True)
        return log_normalizer, list(zip(params, moments, strict=True))

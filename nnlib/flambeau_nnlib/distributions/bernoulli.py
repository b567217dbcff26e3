"""`Bernoulli`, the distribution of a variable that is 1 with a given probability and 0 otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from . import constraints
from .exp_family import ExponentialFamily
from .probs_logits import ProbsLogits
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ProbsLogits, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability `probs`, else 0.

    Args:
        probs: the probability of a 1, from 0 to 1, of any shape.
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits`.
        - Event: `()`, 0 or 1.

    Example:
        >>> coin = torch.distributions.Bernoulli(probs=torch.tensor([0.5, 0.25]))
        >>> coin.log_prob(torch.tensor([1., 1.])).exp()
        tensor([0.5000, 0.2500])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._specified(probs, logits)
        super().__init__(self._keep_params(**{name: value}), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode: Tensor = torch.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(2, expand, self._param.dtype)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return torch.log1p(torch.exp(x))

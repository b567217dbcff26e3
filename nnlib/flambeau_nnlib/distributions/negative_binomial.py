"""`NegativeBinomial`, the distribution of the number of successes before a given number of failures."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from . import constraints
from .gamma import Gamma
from .probs_logits import CountedProbsLogits
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(CountedProbsLogits):
    """The negative binomial distribution: the number of successes before `total_count` failures in independent trials.

    Its mean is `total_count * probs / (1 - probs)`.

    Args:
        total_count: the number of failures at which to stop, nonnegative; not necessarily an integer.
        probs: the probability of a success in each trial, in [0, 1).
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a nonnegative integer.

    Example:
        >>> torch.distributions.NegativeBinomial(3., torch.tensor(0.5)).mean
        tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n, logits = self.total_count, self.logits
        log_choices = torch.lgamma(n + value) - torch.lgamma(1 + value) - torch.lgamma(n)
        log_choices = log_choices.masked_fill(n + value == 0, 0.0)  # for total_count 0, value 0 has probability 1
        return log_choices + n * F.logsigmoid(-logits) + value * F.logsigmoid(logits)

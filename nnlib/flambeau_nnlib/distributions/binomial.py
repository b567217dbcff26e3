"""`Binomial`, the distribution of the number of successes in independent trials."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .probs_logits import CountedProbsLogits

__all__ = ["Binomial"]


class Binomial(CountedProbsLogits):
    """The binomial distribution: the number of successes in `total_count` independent trials.

    Args:
        total_count: the number of trials, a nonnegative integer.
        probs: the probability of a success in each trial, from 0 to 1.
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, an integer from 0 to `total_count`.

    Example:
        >>> heads = torch.distributions.Binomial(2, torch.tensor(0.5))
        >>> heads.log_prob(heads.enumerate_support()).exp()
        tensor([0.2500, 0.5000, 0.2500])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n, logits = self.total_count, self.logits
        # softplus(logits) without overflow. Splitting it into two clamps halves the gradient at 0 evenly.
        positive_part = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        log_normalizer = n * (positive_part + torch.log1p(torch.exp(-logits.abs())))
        log_choices = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        return log_choices + value * logits - log_normalizer

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self._counts("entropy", expand=False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._counts("enumerate_support", expand)

    def _counts(self, method: str, expand: bool) -> Tensor:
        total_count = int(self.total_count.max())
        if self.total_count.min() != total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return self._enumerate(1 + total_count, expand, self._param.dtype)

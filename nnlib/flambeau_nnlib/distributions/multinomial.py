"""The distribution of the counts of each category in `total_count` draws from a categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .binomial import Binomial
from .categorical import Categorical, CategoricalBased
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(CategoricalBased):
    """The multinomial distribution: the count of each of K categories in `total_count` draws.

    Args:
        total_count: the number of draws, one int for the whole batch. `log_prob` accepts counts with any sum.
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `(K,)`, nonnegative integers that sum to `total_count`.

    Raises:
        NotImplementedError: `total_count` is a tensor.

    Example:
        >>> d = torch.distributions.Multinomial(4, torch.tensor([1., 1., 2.]))
        >>> d.mean
        tensor([1., 1., 2.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(Categorical(probs, logits), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, draws, torch.ones_like(draws)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_choices = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0.0)  # 0 * log(0) is 0
        return log_choices + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        # Each count has a binomial distribution. Count 0 is left out, since its log(count!) is 0.
        binomial = Binomial(n, self.probs)
        counts = binomial.enumerate_support(expand=False)[1:]
        mean_log_factorials = (binomial.log_prob(counts).exp() * torch.lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + mean_log_factorials

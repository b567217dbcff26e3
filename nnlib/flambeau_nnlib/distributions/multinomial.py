"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .binomial import Binomial
from .categorical import Categorical, OverCategorical
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """How often each of K categories occurs in `total_count` draws.

    Args:
        total_count: the number of draws, an int for the whole batch; `log_prob` accepts counts of any total.
        probs: weights of shape `(..., K)`, not negative, which are divided by their sum.
        logits: log-probabilities of shape `(..., K)`, to which a constant may be added; give exactly one of the two.
        validate_args: whether parameters and values out of range raise ValueError; None for the default (see
            `Distribution.set_default_validate_args`), which is that they do.

    Shape:
        - Batch: that of the parameter without its last dimension.
        - Event: `(K,)`, whole numbers that sum to `total_count`.

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
        # Each count is binomial, and log(count!) vanishes at 0.
        binomial = Binomial(n, self.probs)
        counts = binomial.enumerate_support(expand=False)[1:]
        mean_log_factorials = (binomial.log_prob(counts).exp() * torch.lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + mean_log_factorials

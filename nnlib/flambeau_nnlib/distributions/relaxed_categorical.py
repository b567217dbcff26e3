"""Continuous relaxations of the categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .categorical import Categorical, CategoricalBased
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(CategoricalBased):
    """The distribution of the logarithm of a `RelaxedOneHotCategorical` variable. Its density is numerically more stable.

    Maddison, Mnih and Teh, [The Concrete Distribution](https://arxiv.org/abs/1611.00712), 2016.

    Args:
        temperature: the temperature of the relaxation, a positive tensor.
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `(K,)`, real numbers whose exponentials sum to 1.

    Example:
        >>> from flambeau.distributions.relaxed_categorical import ExpRelaxedCategorical
        >>> ExpRelaxedCategorical(torch.tensor(1.), torch.ones(3)).rsample((2,)).shape
        torch.Size([2, 3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # larger than the true support, which is the logarithms of probability vectors
    has_rsample = True
    _unexpanded = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(Categorical(probs, logits), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbel = -(-u.log()).log()
        return ((self.logits + gumbel) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n: int = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = (logits - value * self.temperature).log_softmax(-1).sum(-1)
        return score + math.lgamma(n) + (n - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """A continuous relaxation of the one-hot categorical distribution: reparametrised samples are probability vectors.

    Maddison, Mnih and Teh, [The Concrete Distribution](https://arxiv.org/abs/1611.00712), 2016; Jang, Gu and Poole,
    [Categorical Reparameterization with Gumbel-Softmax](https://arxiv.org/abs/1611.01144), 2016.

    Args:
        temperature: the temperature of the relaxation, a positive tensor. The lower it is, the closer samples are to one-hot.
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `(K,)`, nonnegative numbers that sum to 1.

    Example:
        >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).rsample((2,)).shape
        torch.Size([2, 3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base_dist, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs

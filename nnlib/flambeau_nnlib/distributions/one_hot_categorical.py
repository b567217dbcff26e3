"""`OneHotCategorical`, a distribution of one-hot vectors, and a variant with straight-through gradients."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from . import constraints
from .categorical import Categorical, CategoricalBased

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(CategoricalBased):
    """The categorical distribution over one-hot vectors of length K.

    The last dimension of `probs` holds the probabilities of the categories.

    Args:
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `(K,)`, a one-hot vector.

    Example:
        >>> torch.distributions.OneHotCategorical(torch.tensor([1., 3.])).mode
        tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        super().__init__(Categorical(probs, logits), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values

    def _one_hot(self, index: Tensor) -> Tensor:
        return F.one_hot(index, self._event_shape[0]).to(self.probs)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose `rsample` has straight-through gradients: backward treats the sample as if it were `probs`.

    Bengio, Léonard and Courville, [Estimating or Propagating Gradients Through Stochastic Neurons for Conditional
    Computation](https://arxiv.org/abs/1308.3432), 2013.

    Args:
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `(K,)`, a one-hot vector.

    Example:
        >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0., 1.])).rsample()
        tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())

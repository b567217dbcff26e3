"""`Categorical`, the distribution of an index, and the base class of distributions of vectors of K categories."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .probs_logits import ProbsLogits

__all__ = ["Categorical"]


class Categorical(ProbsLogits):
    """The categorical distribution over the indices 0 to K - 1. The last dimension of `probs` holds their probabilities.

    Args:
        probs: nonnegative weights of shape `(..., K)`, normalized to sum to 1.
        logits: unnormalized log-probabilities of shape `(..., K)`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits` without its last dimension.
        - Event: `()`, an integer from 0 to K - 1.

    Example:
        >>> d = torch.distributions.Categorical(probs=torch.tensor([1., 1., 2.]))
        >>> d.probs
        tensor([0.2500, 0.2500, 0.5000])
        >>> d.log_prob(torch.tensor(2)).exp()
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        name, value = self._specified(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return torch.full(self._batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        draws = torch.multinomial(rows, torch.Size(sample_shape).numel(), replacement=True)
        return draws.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        index, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # Replace -inf by a finite number, so that 0 * log(0) is 0 rather than nan.
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(self._num_events, expand, torch.long)


class CategoricalBased(Distribution):
    """Base class of distributions over vectors of length K, such as one-hot vectors.

    The parameter, as of `Categorical`, is `probs` or `logits` of shape `(..., K)`.
    """

    def __init__(self, categorical: Categorical, validate_args: bool | None) -> None:
        self._categorical = categorical
        super().__init__(categorical.batch_shape, categorical.param_shape[-1:], validate_args)

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> torch.Size:
        """The shape of `probs` and of `logits`."""
        return self._categorical.param_shape

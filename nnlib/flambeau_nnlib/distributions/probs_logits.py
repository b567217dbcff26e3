"""Base classes of distributions parametrized by either `probs` or `logits`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsLogits(Distribution):
    """A distribution parametrized by either `probs` or `logits`. The other one is computed when first read."""

    _is_binary = True  # whether `logits` are log-odds of two outcomes, instead of log-probabilities of K outcomes

    @staticmethod
    def _specified(probs: Any, logits: Any) -> tuple[str, Any]:
        """Return the name and the value of the parameter that is not None."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return ("probs", probs) if logits is None else ("logits", logits)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, self._is_binary)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, self._is_binary)

    @property
    def _param(self) -> Tensor:
        return self.probs if "probs" in vars(self) else self.logits

    @property
    def param_shape(self) -> torch.Size:
        """The shape of `probs` and of `logits`."""
        return self._param.shape

    def _enumerate(self, count: int, expand: bool, dtype: torch.dtype) -> Tensor:
        """Return the integers 0 to `count - 1` along a new first dimension, the support of distributions over that range."""
        values = torch.arange(count, dtype=dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class CountedProbsLogits(ProbsLogits):
    """A distribution of counts, parametrized by `total_count` and either `probs` or `logits`."""

    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._specified(probs, logits)
        total_count, value = broadcast_all(total_count, value)
        super().__init__(self._keep_params(total_count=total_count.type_as(value), **{name: value}), validate_args=validate_args)

"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .probs_logits import ProbsLogits
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsLogits):
    """The log-odds of a `RelaxedBernoulli` variable, on the real line.

    Args:
        temperature: the temperature of the relaxation, a tensor.
        probs: the probability of a 1.
        logits: its log-odds; exactly one of the two is given.

    Example:
        >>> import flambeau as torch
        >>> from flambeau.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        >>> d = LogitRelaxedBernoulli(torch.tensor(1.), logits=torch.tensor(0.))
        >>> d.log_prob(torch.tensor(0.))
        tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _unexpanded = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        name, value = self._given(probs, logits)
        self._init_params(validate_args, **{name: value})

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value * self.temperature
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli variable relaxed to (0, 1), with reparametrised draws that harden as the temperature falls.

    From Maddison, Mnih and Teh, "The concrete distribution", and Jang, Gu and Poole, "Categorical
    reparameterization with Gumbel-softmax", both 2017.

    Args:
        temperature: the temperature of the relaxation, a tensor.
        probs: the probability of a 1.
        logits: its log-odds; exactly one of the two is given.

    Example:
        >>> import flambeau as torch
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(1.), torch.tensor([0.5, 0.9])).rsample((3,)).shape
        torch.Size([3, 2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base_dist, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs

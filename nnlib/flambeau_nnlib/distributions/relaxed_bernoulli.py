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
    """The distribution of the log-odds of a `RelaxedBernoulli` variable.

    Maddison, Mnih and Teh, [The Concrete Distribution](https://arxiv.org/abs/1611.00712), 2016.

    Args:
        temperature: the temperature of the relaxation, a positive tensor.
        probs: the probability of a 1, from 0 to 1.
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits`.
        - Event: `()`, a real number.

    Example:
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
        name, value = self._specified(probs, logits)
        super().__init__(self._keep_params(**{name: value}), validate_args=validate_args)

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
    """A continuous relaxation of the Bernoulli distribution, with reparametrised samples between 0 and 1.

    Maddison, Mnih and Teh, [The Concrete Distribution](https://arxiv.org/abs/1611.00712), 2016; Jang, Gu and Poole,
    [Categorical Reparameterization with Gumbel-Softmax](https://arxiv.org/abs/1611.01144), 2016.

    Args:
        temperature: the temperature of the relaxation, a positive tensor. The lower it is, the closer samples are to 0 or 1.
        probs: the probability of a 1, from 0 to 1.
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits`.
        - Event: `()`, a number in [0, 1].

    Example:
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(1.), torch.tensor([0.5, 0.9])).rsample((3,)).shape
        torch.Size([3, 2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

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

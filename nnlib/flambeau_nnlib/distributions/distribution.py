"""The base class of all distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .constraints import Constraint, is_dependent
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution or a batch of distributions. Base class of all distributions.

    Samples have shape `sample_shape + batch_shape + event_shape`. `event_shape` is the shape of one draw. `batch_shape` is
    the shape of the parameters: its entries are independent distributions with different parameters. `sample_shape` is
    the caller's argument: its entries are independent, identically distributed draws.

    A subclass defines `arg_constraints`, `support` and the methods that it can compute. The inherited `expand` expands
    every attribute that is a distribution or a tensor whose shape begins with the batch shape, except the attributes
    named in `_unexpanded`.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one draw.
        validate_args: whether to check the parameters, and the values passed to `log_prob` and `cdf`. None uses the
            default set by `set_default_validate_args`.

    Raises:
        ValueError: validation is on and a parameter violates its constraint.

    Example:
        >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
        >>> d.batch_shape, d.event_shape, d.sample((5,)).shape
        (torch.Size([3]), torch.Size([]), torch.Size([5, 3]))
        >>> torch.distributions.Normal(0.0, -1.0)
        Traceback (most recent call last):
        ...
        ValueError: Expected parameter scale ...
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _unexpanded: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions validate their arguments by default. The initial default is `__debug__`.

        Args:
            value: the default for distributions created later without `validate_args`.

        Raises:
            ValueError: `value` is not a bool.
        """
        if value not in [True, False]:
            raise ValueError(f"Expected a bool, but got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_params()
        super().__init__()  # calls the next base class of a subclass with several bases

    def _keep_params(self, **params: Tensor | float) -> torch.Size:
        """Broadcast the parameters against each other, set them as attributes, and return their shape, the batch shape."""
        tensors = broadcast_all(*params.values())
        vars(self).update(zip(params, tensors, strict=True))
        return tensors[0].shape

    # --- shapes and parameters ---

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape: the broadcast shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The event shape: the shape of a single draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint that each parameter must satisfy, keyed by parameter name."""
        raise NotImplementedError

    @property
    def support(self) -> Constraint:
        """The constraint that every draw satisfies."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Distribution:
        """Return the same distribution with its batch dimensions expanded to `batch_shape`, sharing memory.

        Args:
            batch_shape: the new shape; the current batch shape must broadcast to it.
            _instance: an uninitialized instance to fill in, passed by a subclass that overrides `expand`.

        Raises:
            NotImplementedError: the class has a custom `__init__` but does not override `expand`.
        """
        batch_shape = torch.Size(batch_shape)
        library_class = next(c for c in type(self).__mro__ if c.__module__.startswith(Distribution.__module__.rpartition(".")[0]))
        new: Distribution = self._get_checked_instance(library_class, _instance)
        for name, value in vars(self).items():
            if name not in vars(new):
                vars(new)[name] = value if name in self._unexpanded else self._expanded(value, batch_shape)
        new._batch_shape = batch_shape
        return new

    def _expanded(self, value: Any, batch_shape: torch.Size) -> Any:
        rank = len(self._batch_shape)
        if isinstance(value, Distribution):
            return value.expand(batch_shape + value.batch_shape[rank:])
        if isinstance(value, Tensor) and value.shape[:rank] == self._batch_shape:
            return value.expand(batch_shape + value.shape[rank:])
        return value

    def _get_checked_instance(self, cls: type[Distribution], _instance: Any = None) -> Any:
        """Return an uninitialized instance for `cls.expand` to fill in. A subclass with a custom `__init__` must pass one."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> torch.Size:
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def __repr__(self) -> str:
        params = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = ", ".join(f"{name}: {p if p.numel() == 1 else p.size()}" for name, p in params.items())
        return f"{type(self).__name__}({shown})"

    # --- moments ---

    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, of shape `batch_shape + event_shape`."""
        return self.variance.sqrt()

    # --- samples ---

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples without gradients.

        Args:
            sample_shape: the shape of the samples to draw; `()` for one draw.

        Returns:
            a tensor of shape `sample_shape + batch_shape + event_shape`.
        """
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw reparametrised samples: differentiable functions of the parameters and of parameter-free noise.

        Available if `has_rsample` is True.

        Args:
            sample_shape: the shape of the samples to draw; `()` for one draw.

        Returns:
            a tensor of shape `sample_shape + batch_shape + event_shape`.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` samples. Deprecated: use `sample((n,))`."""
        message = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along a new first dimension.

        Available if `has_enumerate_support` is True.

        Args:
            expand: whether to expand the values over the batch dimensions. Otherwise these have size 1.

        Returns:
            a tensor of shape `(cardinality,) + batch_shape + event_shape`.
        """
        raise NotImplementedError

    # --- probabilities ---

    def log_prob(self, value: Tensor) -> Tensor:
        """Compute the log-density of a value, or its log-probability if the distribution is discrete.

        Args:
            value: a tensor of shape `sample_shape + batch_shape + event_shape`, or one that broadcasts to it.

        Returns:
            a tensor of shape `sample_shape + batch_shape`.

        Raises:
            ValueError: validation is on and `value` has a wrong shape or is outside the support.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Compute the probability that a draw is less than or equal to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Compute the quantile for the probability `value`: the inverse of `cdf`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Compute the entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Compute the exponential of the entropy, of shape `batch_shape`."""
        return torch.exp(self.entropy())

    # --- validation ---

    def _validate_params(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            is_unset = name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or is_unset:
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def _check_sample(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise a ValueError unless `value` fits the shape and the support of this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event_shape = value.size(), self._event_shape
        if shape[len(shape) - len(event_shape) :] != event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event_shape}.")
        expected = self._batch_shape + event_shape
        if any(1 != i != j != 1 for i, j in zip(reversed(shape), reversed(expected), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

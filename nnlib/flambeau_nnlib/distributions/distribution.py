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
    """A probability distribution, or a batch of them; the base of all.

    Samples have shape `sample_shape + batch_shape + event_shape`: `event_shape` is that of one draw, `batch_shape` that of
    the parameters (distributions that differ and are independent), `sample_shape` what the caller asks for (draws that
    are identically distributed).

    A subclass defines `arg_constraints` and `support`, and the methods that it can compute. `expand` comes for free: it
    expands every attribute that is a distribution or a tensor beginning with the batch shape, except those that
    `_unexpanded` names.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one draw.
        validate_args: whether to check parameters and the values given to `log_prob` and `cdf`; None takes the default
            (see `set_default_validate_args`).

    Raises:
        ValueError: arguments are validated, and a parameter is out of its range.

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
        """Validate by default, or not. The default is Python's `__debug__`: on, except under `python -O`.

        Args:
            value: whether distributions that are made from now on without `validate_args` validate.

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
        super().__init__()  # for multiple inheritance

    def _keep_params(self, **params: Tensor | float) -> torch.Size:
        """Set the parameters, broadcast against each other, as attributes, and return their common shape: the batch shape."""
        tensors = broadcast_all(*params.values())
        vars(self).update(zip(params, tensors, strict=True))
        return tensors[0].shape

    # --- shapes and parameters ---

    @property
    def batch_shape(self) -> torch.Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The shape of a single draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """What each parameter must satisfy, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Constraint:
        """What every draw satisfies."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Distribution:
        """The same distribution with its batch dimensions expanded to `batch_shape`, sharing memory.

        Args:
            batch_shape: the new shape, to which the present one must broadcast.
            _instance: an instance to fill in, from a subclass that overrides this method.

        Raises:
            NotImplementedError: a subclass with an `__init__` of its own must override this method.
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
        """An uninitialized instance for `cls.expand` to fill in; a subclass with its own `__init__` must pass one."""
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
        """Draws, without gradient.

        Args:
            sample_shape: how many draws, as a shape; `()` for one.

        Returns:
            a tensor of shape `sample_shape + batch_shape + event_shape`.
        """
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Reparametrised draws: a differentiable function of the parameters and of parameter-free noise.

        Only where `has_rsample` is true.

        Args:
            sample_shape: how many draws, as a shape; `()` for one.

        Returns:
            a tensor of shape `sample_shape + batch_shape + event_shape`.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` draws; write `sample((n,))` instead."""
        message = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension.

        Only where `has_enumerate_support` is true.

        Args:
            expand: whether to repeat the values over the batch; otherwise the batch dimensions are of size 1.

        Returns:
            a tensor of shape `(cardinality,) + batch_shape + event_shape`.
        """
        raise NotImplementedError

    # --- probabilities ---

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-density (or log-probability) of a value.

        Args:
            value: a tensor of shape `sample_shape + batch_shape + event_shape`, or one that broadcasts to it.

        Returns:
            a tensor of shape `sample_shape + batch_shape`.

        Raises:
            ValueError: arguments are validated and `value` has a wrong shape or lies outside the support.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw less than or equal to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile of probability `value`: the inverse of `cdf`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy, of shape `batch_shape`."""
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

"""Transforms from unconstrained reals to constrained values.

`biject_to(constraint)` returns a bijective transform onto the values that satisfy the constraint. Its log-determinant
exists, so it suits densities. `transform_to(constraint)` returns a transform that need not be bijective and may take
more inputs than the constrained value has degrees of freedom, which suits optimisation.

>>> positive = torch.distributions.constraints.positive
>>> torch.distributions.transform_to(positive)(torch.tensor(0.))
tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform
from .utils import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]
F = TypeVar("F", bound=Factory)


class ConstraintRegistry:
    """Maps the type of a constraint to a factory of transforms onto the values that satisfy it.

    `biject_to(constraint)` and `transform_to(constraint)` return a transform; that of `biject_to` has an inverse.

    Args:
        constraint: a constraint of a registered type.

    >>> torch.distributions.biject_to(torch.distributions.constraints.positive)(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    @overload
    def register(self, constraint: Constraint | type, factory: None = None) -> Callable[[F], F]: ...

    @overload
    def register(self, constraint: Constraint | type, factory: F) -> F: ...

    def register(self, constraint: Constraint | type, factory: Factory | None = None) -> Any:
        """Register `factory(constraint) -> Transform` for a type of constraint. Without `factory`, return a decorator.

        Raises:
            TypeError: `constraint` is neither a subclass nor an instance of `Constraint`.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(cls, type) and issubclass(cls, Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Return the transform for `constraint`.

        Raises:
            NotImplementedError: no factory is registered for the type of `constraint`.
        """
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(
    *constraints_: Constraint | type, registries: tuple[ConstraintRegistry, ...] = (biject_to, transform_to)
) -> Callable[[F], F]:
    def decorator(factory: F) -> F:
        for registry in registries:
            for constraint in constraints_:
                registry.register(constraint, factory)
        return factory

    return decorator


@_register(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_register(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint: Any) -> Transform:
    affine = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), affine])


@_register(constraints.less_than)
def _to_below(constraint: Any) -> Transform:
    affine = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), affine])


@_register(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, _Number) and isinstance(high, _Number) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_register(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@_register(constraints.simplex, registries=(biject_to,))
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@_register(constraints.simplex, registries=(transform_to,))
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@_register(constraints.lower_cholesky, registries=(transform_to,))
def _to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@_register(constraints.positive_definite, constraints.positive_semidefinite, registries=(transform_to,))
def _to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _register_composites(to: ConstraintRegistry) -> None:
    """Register `independent`, `cat` and `stack`, whose transforms are built from `to(...)` of their component constraints."""

    @to.register(constraints.independent)
    def _to_independent(constraint: Any) -> Transform:
        return transforms.IndependentTransform(to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    @to.register(constraints.cat)
    def _to_cat(constraint: Any) -> Transform:
        return transforms.CatTransform([to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    @to.register(constraints.stack)
    def _to_stack(constraint: Any) -> Transform:
        return transforms.StackTransform([to(c) for c in constraint.cseq], constraint.dim)


_register_composites(biject_to)
_register_composites(transform_to)

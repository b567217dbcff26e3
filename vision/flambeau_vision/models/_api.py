"""Models by name, and their published weights."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from types import ModuleType
from typing import Any

import flambeau as torch
from flambeau import nn

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    "register_model",
]

SITE = "https://download.pytorch.org/models/"

_builders: dict[str, Callable[..., nn.Module]] = {}
_weights: dict[str, type[WeightsEnum]] = {}


@dataclass(eq=False)
class Weights:
    """Published weights.

    Attributes:
        url: where they are.
        transforms: makes the transform that prepares images for them.
        meta: among others `categories`, the names of the classes, and `num_params`.
    """

    url: str
    transforms: Callable[[], Callable]
    meta: Mapping[str, Any]


class WeightsEnum(Enum):
    """The published weights of one model; `DEFAULT` is the best of them."""

    @classmethod
    def verify(cls, weights: Any) -> WeightsEnum | None:
        """`weights` itself, or the member of that name.

        Raises:
            TypeError: if they are weights of another model.
            KeyError: if there is no such name.
        """
        if isinstance(weights, str):
            return cls[weights.replace(f"{cls.__name__}.", "")]
        if weights is not None and not isinstance(weights, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(weights).__name__}."
            )
        return weights

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Mapping[str, torch.Tensor]:
        """Download the weights; arguments are those of `hub.load_state_dict_from_url` after the address."""
        return torch.hub.load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        """Where they are."""
        return self.value.url

    @property
    def transforms(self) -> Callable[[], Callable]:
        """Makes the transform that prepares images for them."""
        return self.value.transforms

    @property
    def meta(self) -> Mapping[str, Any]:
        """Facts about them."""
        return self.value.meta


def _resolve(weights_class: type[WeightsEnum], weights: Any, pretrained: bool | None) -> WeightsEnum | None:
    """The weights meant, where `weights` may also be the `pretrained` of early versions."""
    if isinstance(weights, bool):
        weights, pretrained = None, weights
    if pretrained is not None:
        warnings.warn("The parameter 'pretrained' is deprecated, please use 'weights' instead.", stacklevel=3)
        weights = next(iter(weights_class)) if pretrained else weights
    return weights_class.verify(weights)


def fix_argument(kwargs: dict[str, Any], name: str, value: Any) -> None:
    """Set an argument that the weights determine.

    Raises:
        ValueError: if it was given with another value.
    """
    if kwargs.setdefault(name, value) != value:
        raise ValueError(f"The parameter '{name}' expected value {value} but got {kwargs[name]} instead.")


def register_model(weights_class: type[WeightsEnum], loads: bool = False) -> Callable:
    """Make a function of keyword arguments that builds a model a public builder, with `weights` and `progress`.

    The model that it builds gets the weights loaded; with `loads` the function does that itself, and is called with
    `weights` and `progress` too.
    """

    def decorate(build: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        @wraps(build)
        def builder(
            weights: Any = None, progress: bool = True, *, pretrained: bool | None = None, **kwargs: Any
        ) -> nn.Module:
            weights = _resolve(weights_class, weights, pretrained)
            if loads:
                return build(weights=weights, progress=progress, **kwargs)
            if weights is None:
                return build(**kwargs)
            if weights.meta["categories"] is not None:
                fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
            model = build(**kwargs)
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            return model

        del builder.__wrapped__  # so that inspect shows the arguments of the builder
        _builders[build.__name__] = builder
        _weights[build.__name__] = weights_class
        return builder

    return decorate


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of the models, sorted.

    Args:
        module: only models defined in this module.
        include: only names that match one of these patterns.
        exclude: no names that match one of these.

    Example:
        >>> from flambeau_vision import models
        >>> models.list_models(include="resnet*", exclude="*1*")
        ['resnet34', 'resnet50']
    """
    names = {name for name, build in _builders.items() if module in (None, _module_of(build))}
    if include:
        patterns = [include] if isinstance(include, str) else include
        names = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    if exclude:
        for pattern in [exclude] if isinstance(exclude, str) else exclude:
            names -= set(fnmatch.filter(names, pattern))
    return sorted(names)


def _module_of(build: Callable) -> ModuleType:
    """The package of models that a builder belongs to: `models`, `models.segmentation` or `models.detection`."""
    import sys

    return sys.modules[build.__module__.rpartition(".")[0]]


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """The function that builds the model of this name.

    Raises:
        ValueError: if there is none.
    """
    try:
        return _builders[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name}") from None


def get_model(name: str, **config: Any) -> nn.Module:
    """Build the model of this name; further arguments are the builder's.

    Example:
        >>> from flambeau_vision import models
        >>> model = models.get_model("squeezenet1_1", num_classes=10)
        >>> sum(parameter.numel() for parameter in model.parameters())
        727626
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: str | Callable) -> type[WeightsEnum]:
    """The published weights of a model, given by name or builder."""
    name = name if isinstance(name, str) else name.__name__
    get_model_builder(name)
    return _weights[name.lower()]


def get_weight(name: str) -> WeightsEnum:
    """Weights by their full name, such as `"ResNet50_Weights.IMAGENET1K_V1"`.

    Raises:
        ValueError: if there are none.
    """
    class_name, _, member = name.partition(".")
    for weights_class in _weights.values():
        if weights_class.__name__ == class_name and member in weights_class.__members__:
            return weights_class[member]
    raise ValueError(f"Unable to find weights {name}")

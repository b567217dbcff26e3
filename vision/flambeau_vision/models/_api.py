"""Registry of models by name, with their published weights."""

from __future__ import annotations

import fnmatch
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import flambeau as torch
from flambeau import nn

__all__ = [
    "SUBPACKAGES",
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
SUBPACKAGES = ("detection", "optical_flow", "quantization", "segmentation", "video")  # of `models`, imported on first use

_builders: dict[str, Callable[..., nn.Module]] = {}
_weights: dict[str, type[WeightsEnum]] = {}


@dataclass(eq=False)
class Weights:
    """The URL and metadata of published weights. They are the values of the members of a `WeightsEnum`.

    Args:
        url: URL of the file.
        transforms: a function without parameters that returns the preprocessing transform of the model.
        meta: metadata, such as `categories` (the class names) and `num_params`.

    Example:
        >>> from flambeau_vision.models import ResNet18_Weights
        >>> weights = ResNet18_Weights.DEFAULT.value
        >>> weights.url, weights.meta["categories"][0]
        ('https://download.pytorch.org/models/resnet18-f37072fd.pth', 'tench')
    """

    url: str
    transforms: Callable[[], Callable]
    meta: Mapping[str, Any]


class WeightsEnum(Enum):
    """Base class for the published weights of one model, one member per file. `DEFAULT` is the most accurate.

    Example:
        >>> from flambeau_vision.models import ResNet50_Weights
        >>> [weights.name for weights in ResNet50_Weights], ResNet50_Weights.DEFAULT
        (['IMAGENET1K_V1', 'IMAGENET1K_V2'], ResNet50_Weights.IMAGENET1K_V2)
        >>> prepare = ResNet50_Weights.DEFAULT.transforms()  # from an image to what the model takes
    """

    @classmethod
    def verify(cls, weights: Any) -> WeightsEnum | None:
        """Return the member of this enum given by `weights`.

        Args:
            weights: a member, its name, or None.

        Returns:
            the member, or None.

        Raises:
            TypeError: `weights` belongs to another model.
            KeyError: the enum has no member of this name.
        """
        if isinstance(weights, str):
            return cls[weights.replace(f"{cls.__name__}.", "")]
        if weights is not None and not isinstance(weights, cls):
            raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received {type(weights).__name__}.")
        return weights

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Mapping[str, torch.Tensor]:
        """Download the weights; arguments are passed to `hub.load_state_dict_from_url` after the URL."""
        return torch.hub.load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        """URL of the file."""
        return self.value.url

    @property
    def transforms(self) -> Callable[[], Callable]:
        """A function without parameters that returns the preprocessing transform of the model."""
        return self.value.transforms

    @property
    def meta(self) -> Mapping[str, Any]:
        """Metadata, such as the class names."""
        return self.value.meta


def _resolve_weights(
    weights_class: type[WeightsEnum], other: type[WeightsEnum] | None, weights: Any, pretrained: bool | None
) -> WeightsEnum | None:
    """Return the weights selected by a builder's arguments. `pretrained` and bool values of `weights` are deprecated."""
    if isinstance(weights, bool):
        weights, pretrained = None, weights
    if pretrained is not None:
        warnings.warn("The parameter 'pretrained' is deprecated, please use 'weights' instead.", stacklevel=3)
        weights = next(iter(weights_class)) if pretrained else weights
    if other is not None and (isinstance(weights, other) or weights in other.__members__.keys() - {"DEFAULT"}):
        return other.verify(weights)
    return weights_class.verify(weights)


def fix_argument(kwargs: dict[str, Any], name: str, value: Any) -> None:
    """Set the argument `name` to `value`, the only one that fits the weights.

    Raises:
        ValueError: if the argument was given with another value.
    """
    if kwargs.setdefault(name, value) != value:
        raise ValueError(f"The parameter '{name}' expected value {value} but got {kwargs[name]} instead.")


_WEIGHTS_DOC = """Published weights of `{model}`; `DEFAULT` is the best member.

Each member has the `url` of the file, `transforms`, which creates the preprocessing transform, and `meta`, with the class names
and the number of parameters. `{model}(weights={weights}.DEFAULT)` loads the weights.

Example:
    >>> from {package} import {weights}
    >>> {weights}.DEFAULT.meta["num_params"]
    {num_params}
"""

_BUILDER_DOC = """{summary}

Args:
    weights: the published weights to load, a member of `{weights}` or its name, such as `"DEFAULT"`; None to
        initialize at random.
    progress: show a progress bar of the download.
    pretrained: deprecated, use `weights`: True for the first published weights.
    **kwargs: further arguments of the model.

Raises:
    TypeError: `weights` belongs to another model.
    KeyError: no weights have this name.
    ValueError: a further argument contradicts the weights.

Example:
    >>> from {package} import {model}
    >>> from flambeau_vision.models import get_model_weights
    >>> weights = get_model_weights({model}).DEFAULT
    >>> weights, weights.meta["num_params"]
    ({best!r}, {num_params})
"""


def _public_package(build: Callable) -> str:
    """Return the package that exports a builder: its module if that is a package, otherwise the parent package."""
    import sys

    name = build.__module__
    return name if hasattr(sys.modules[name], "__path__") else name.rpartition(".")[0]


def _document(builder: Callable, weights_class: type[WeightsEnum]) -> None:
    """Set the docstrings of a builder, with the arguments added by `register_model`, and of its weights."""
    best = weights_class["DEFAULT"]
    facts = {
        "model": builder.__name__,
        "weights": weights_class.__name__,
        "package": _public_package(builder),
        "best": best,
        "num_params": best.meta["num_params"],
    }
    builder.__doc__ = _BUILDER_DOC.format(summary=inspect.cleandoc(builder.__doc__ or ""), **facts)
    weights_class.__doc__ = _WEIGHTS_DOC.format(**facts)


def register_model(
    weights_class: type[WeightsEnum], loads_weights: bool = False, name: str | None = None, other: type[WeightsEnum] | None = None
) -> Callable:
    """Return a decorator that registers the function that builds a model, and adds the parameters `weights` and `progress`.

    The decorated function calls the original one and loads the weights into the model. With `loads_weights=True`, the original
    function is called with `weights` and `progress`, and must load them. `list_models` lists the model as `name`, by default
    the name of the function. Weights of the enum `other` are also accepted.
    """

    def decorate(build: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        @wraps(build)
        def builder(weights: Any = None, progress: bool = True, *, pretrained: bool | None = None, **kwargs: Any) -> nn.Module:
            weights = _resolve_weights(weights_class, other, weights, pretrained)
            if loads_weights:
                return build(weights=weights, progress=progress, **kwargs)
            if weights is None:
                return build(**kwargs)
            if weights.meta["categories"] is not None:
                fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
            model = build(**kwargs)
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            return model

        del builder.__wrapped__  # otherwise `inspect.signature` would show the signature of `build`
        _document(builder, weights_class)
        _builders[name or build.__name__] = builder
        _weights[name or build.__name__] = weights_class
        return builder

    return decorate


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """Return the sorted names of the registered models.

    Args:
        module: the package of the models, such as `models.detection`; None for all.
        include: return only names that match this pattern or one of a list, with the wildcards `*` and `?`.
        exclude: omit names that match this pattern or one of a list.

    Example:
        >>> from flambeau_vision import models
        >>> models.list_models(include="resnet*", exclude="*1*")
        ['resnet34', 'resnet50']
    """
    _register_all()
    names = {name for name, build in _builders.items() if module in (None, _model_package(build))}
    if include:
        patterns = [include] if isinstance(include, str) else include
        names = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    if exclude:
        for pattern in [exclude] if isinstance(exclude, str) else exclude:
            names -= set(fnmatch.filter(names, pattern))
    return sorted(names)


def _register_all() -> None:
    """Import the subpackages, which registers their models."""
    for name in SUBPACKAGES:
        import_module(f"flambeau_vision.models.{name}")


def _model_package(build: Callable) -> ModuleType:
    """Return the package of a builder, such as `models`, `models.segmentation` or `models.detection`."""
    import sys

    return sys.modules[_public_package(build)]


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """Return the function that builds a model.

    Args:
        name: name of the model, case-insensitive; see `list_models`.

    Raises:
        ValueError: no model has this name.

    Example:
        >>> from flambeau_vision import models
        >>> models.get_model_builder("resnet18") is models.resnet18
        True
    """
    if name.lower() not in _builders:
        _register_all()
    try:
        return _builders[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name}") from None


def get_model(name: str, **config: Any) -> nn.Module:
    """Build a model by name.

    Args:
        name: name of the model, case-insensitive; see `list_models`.
        **config: arguments of its builder, such as `weights` and `num_classes`.

    Raises:
        ValueError: no model has this name.

    Example:
        >>> from flambeau_vision import models
        >>> model = models.get_model("squeezenet1_1", num_classes=10)
        >>> sum(parameter.numel() for parameter in model.parameters())
        727626
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: str | Callable) -> type[WeightsEnum]:
    """Return the enum class of the published weights of a model.

    Args:
        name: name of the model, or its builder.

    Raises:
        ValueError: no model has this name.

    Example:
        >>> from flambeau_vision import models
        >>> models.get_model_weights("resnet18").DEFAULT
        ResNet18_Weights.IMAGENET1K_V1
    """
    if not isinstance(name, str):
        name = next((key for key, builder in _builders.items() if builder is name), name.__name__)
    get_model_builder(name)
    return _weights[name.lower()]


def get_weight(name: str) -> WeightsEnum:
    """Return published weights by their full name.

    Args:
        name: name of the enum and the member, such as `"ResNet50_Weights.IMAGENET1K_V1"`.

    Raises:
        ValueError: no weights have this name.

    Example:
        >>> from flambeau_vision import models
        >>> models.get_weight("ResNet50_Weights.IMAGENET1K_V1").meta["num_params"]
        25557032
    """
    _register_all()
    class_name, _, member = name.partition(".")
    for weights_class in _weights.values():
        if weights_class.__name__ == class_name and member in weights_class.__members__:
            return weights_class[member]
    raise ValueError(f"Unable to find weights {name}")

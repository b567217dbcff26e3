"""Parametrizations: modules that compute a parameter of another module from the learned tensors.

>>> class Symmetric(torch.nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).mT
>>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
>>> torch.equal(layer.weight, layer.weight.T)
True
>>> list(dict(layer.named_parameters()))
['bias', 'parametrizations.weight.original']
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class Cache:
    """The parametrized tensors computed inside `cached()`."""

    depth = 0
    tensors: dict[tuple[int, str], Tensor]


def __getattr__(name: str) -> int:
    if name == "_cache_enabled":  # the number of open `cached()` contexts
        return Cache.depth
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@contextmanager
def cached() -> Iterator[None]:
    """Context in which each parametrized tensor is computed only once.

    It saves time where a tensor is used several times, as in a recurrent network. Changes of the originals inside the
    context take effect after it.

    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
        >>> with cached():
        ...     print(layer.weight is layer.weight)
        True
    """
    if Cache.depth == 0:
        Cache.tensors = {}
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if Cache.depth == 0:
            Cache.tensors = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, called one after the other on its `original`.

    `register_parametrization` creates it; a module stores it as `module.parametrizations.<name>`. If `right_inverse` of the
    first parametrization returns several tensors, these are `original0`, `original1`, ...

    Args:
        modules: the parametrizations, at least one, in the order in which they are called.
        original: the tensor to parametrize, from which the originals are computed by the modules' `right_inverse`.
        unsafe: let the parametrized tensor have another shape or dtype than `original`.

    Raises:
        ValueError: `modules` is empty, a `right_inverse` does not return tensors, or shape or dtype change without `unsafe`.

    Example:
        >>> class Double(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...     def right_inverse(self, y):
        ...         return y / 2
        >>> doubled = ParametrizationList([Double()], torch.tensor([4.0]))
        >>> doubled.original, doubled()
        (tensor([2.]), tensor([4.]))
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Tensor | Sequence[Tensor] = original
        with torch.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # not invertible: keep the tensor as the original
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            self._register_original(original, new)
        else:
            self._register_originals(original, new)
        if not unsafe:
            check_shape_and_dtype(self(), shape, dtype)

    def _register_original(self, original: Tensor, new: Tensor) -> None:
        for attribute in ("dtype", "device"):
            before, after = getattr(original, attribute), getattr(new, attribute)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {attribute}.\n"
                    f"original.{attribute}: {before}\nright_inverse(original).{attribute}: {after}"
                )
        original.data = new.detach()
        register_tensor(self, "original", original)

    def _register_originals(self, original: Tensor, new: Sequence[Tensor]) -> None:
        for index, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {index} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            register_tensor(self, f"original{index}", tensor.requires_grad_(original.requires_grad))

    @property
    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{index}") for index in range(self.ntensors)]

    def forward(self) -> Tensor:
        first, *following = self
        value: Tensor = first(*self._originals)
        for module in following:
            value = module(value)
        return value

    @torch.no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`.

        Args:
            value: the tensor; the modules' `right_inverse` are applied to it from the last to the first.

        Raises:
            RuntimeError: a module has no `right_inverse`.
            ValueError: the number or dtype of the tensors that a `right_inverse` returns differs from the originals.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor and not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if not self.is_tensor and not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        values = [value] if self.is_tensor else value
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(values)}."
            )
        for index, (original, tensor) in enumerate(zip(self._originals, values, strict=True)):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors. Got element {index} of type {type(tensor).__name__}."
                )
            if tensor.dtype != original.dtype:
                which, name = ("The tensor", "original") if self.is_tensor else (f"Tensor {index}", f"original{index}")
                raise ValueError(
                    f"{which} returned by `right_inverse` has dtype {tensor.dtype} while `{name}` has dtype {original.dtype}"
                )
            original.data = tensor.detach()


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Compute a parameter or buffer of a module by another module; later parametrizations are applied after earlier ones.

    Afterwards `module.<name>` is `parametrization(original)`, computed whenever it is read. The learned tensor is
    `module.parametrizations.<name>.original`. Assigning to the attribute calls
    `parametrization.right_inverse`, if it has that method.

    Args:
        module: the module that has the tensor; it is changed, and returned.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module from the original (or the previous parametrization's result) to the tensor to use.
        unsafe: allow a change of shape or dtype.

    Raises:
        ValueError: the module has no such tensor, or shape or dtype would change without `unsafe`.

    Example:
        >>> class Symmetric(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
        >>> torch.equal(layer.weight, layer.weight.T)
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_appended(getattr(module, tensor_name), parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            replace_by_subclass(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, parametrized_property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def check_shape_and_dtype(value: Any, shape: torch.Size, dtype: torch.dtype) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for attribute, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {attribute} of the tensor, unless `unsafe` flag is "
                f"enabled.\nunparametrized {attribute}: {before}\nparametrized {attribute}: {after}"
            )


def check_appended(current: Tensor, parametrization: Module) -> None:
    """Raise ValueError unless a parametrization to append, and its inverse, keep the shape and dtype of the tensor."""
    result = parametrization(current)
    check_shape_and_dtype(result, current.shape, current.dtype)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for attribute in ("dtype", "shape"):
        if getattr(inverse, attribute) != getattr(current, attribute):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {attribute} as the parametrized "
                f"tensor, unless the `unsafe` flag is enabled.\nexpected {attribute}: {getattr(current, attribute)}\n"
                f"returned {attribute}: {getattr(inverse, attribute)}"
            )


def replace_by_subclass(module: Module) -> None:
    """Replace the class of `module` by a new subclass, to which properties can be added without changing other modules."""
    cls = type(module)
    attributes: dict[str, Any] = {"__getstate__": refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        attributes["__deepcopy__"] = deepcopy_parametrized
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), attributes)


def refuse_pickling(module: Module) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def deepcopy_parametrized(module: Module, memo: dict[int, Any]) -> Module:
    replica = type(module).__new__(type(module))
    memo[id(module)] = replica
    replica.__setstate__(copy.deepcopy(Module.__getstate__(module), memo))
    return replica


def parametrized_property(name: str) -> property:
    """Return the property `name` of a parametrized module: computed when read, inverted when set."""

    def get(module: Module) -> Tensor:
        parametrization: Callable[[], Tensor] = module.parametrizations[name]
        if Cache.depth == 0:
            return parametrization()
        if torch.jit.is_tracing():
            raise RuntimeError("Cannot trace a model while caching the parametrized parameters.")
        key = (id(module), name)
        if key not in Cache.tensors:
            Cache.tensors[key] = parametrization()
        return Cache.tensors[key]

    def set(module: Module, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(get, set)


def register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized tensor.

    Args:
        module: the module; its submodules are not checked.
        tensor_name: the name of the tensor; None for any tensor.

    Example:
        >>> is_parametrized(torch.nn.Linear(1, 1))
        False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Replace a parametrized tensor by a plain parameter or buffer.

    Args:
        module: the module that has the tensor; it is changed, and returned.
        tensor_name: the name of the tensor.
        leave_parametrized: keep the computed value; False to keep the original, which must then be one tensor.

    Raises:
        ValueError: the tensor is not parametrized, or there are several originals to keep.

    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
        >>> list(remove_parametrizations(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor "
            "that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    register_tensor(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized.

    Args:
        module: the module, parametrized or not.

    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(1, 1))
        >>> type(layer).__name__, type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Copy the parametrizations and originals of a module to another module.

    Args:
        from_module: the parametrized module.
        to_module: the module to change; it is returned.
        tensor_name: the name of the tensor to transfer; None for all that are parametrized.

    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
        >>> other = transfer_parametrizations_and_params(layer, torch.nn.Linear(2, 2))
        >>> torch.equal(layer.weight, other.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        for key in [key for key in (*source._parameters, *source._buffers) if key.startswith("original")]:
            setattr(to_module.parametrizations[name], key, getattr(source, key))
    return to_module

"""Containers: `Sequential`, and lists and dictionaries of modules or parameters."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, overload

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names

from ..parameter import Parameter
from .module import MYPY, Module, indent

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

__getattr__ = private_names(__name__)


class Container(Module):
    """The deprecated base class of containers, which gives a FutureWarning; subclass `Module` instead.

    Args:
        **kwargs: the modules to hold, by name.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     container = torch.nn.Container(act=torch.nn.ReLU())
        >>> container.act
        ReLU()
    """

    def __init__(self, **kwargs: Module) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _ModuleSequence(Module):
    """The base of `Sequential` and `ModuleList`: modules in order, named "0", "1", ... by default."""

    _modules: dict[str, Module]  # values are never None, unlike in `Module`

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Module:
        return self._slice(index) if isinstance(index, slice) else self._modules[self._get_abs_string_index(index)]

    def _slice(self, index: slice) -> Self:
        raise NotImplementedError

    def _get_abs_string_index(self, index: int) -> str:
        """Return the name of the module at `index`."""
        return list(self._modules)[position(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(index), module)

    def __delitem__(self, index: int | slice) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._get_abs_string_index(index)]
        for key in keys:
            delattr(self, key)
        self._number(self)

    def _number(self, modules: Iterable[Module]) -> None:
        self._modules = {str(number): module for number, module in enumerate(modules)}

    def append(self, module: Module) -> Self:
        """Add `module` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add `modules` at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        modules = list(self)
        modules.insert(index, module)
        self._number(modules)

    def pop(self, index: int | slice) -> Module:
        """Remove and return the module at `index`, or the modules of a slice."""
        module = self[index]
        del self[index]
        return module


class Sequential(_ModuleSequence):
    """Calls modules one after the other, each on the output of the one before.

    It can be indexed, sliced, iterated over, appended and added to like a list.

    Args:
        *args: the modules in order, then named "0", "1" and so on; or an `OrderedDict` of modules by name. TypeError
            for objects that are not modules.

    Shape:
        - Input: the single argument of the first module.
        - Output: the result of the last module; the input for an empty `Sequential`.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        >>> net.append(torch.nn.Linear(8, 2))
        Sequential(
          (0): Linear(in_features=4, out_features=8, bias=True)
          (1): ReLU()
          (2): Linear(in_features=8, out_features=2, bias=True)
        )
        >>> net(torch.ones(3, 4)).shape
        torch.Size([3, 2])
    """

    @overload
    def __init__(self, *args: Module) -> None: ...

    @overload
    def __init__(self, args: OrderedDict[str, Module], /) -> None: ...

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], OrderedDict)
        for name, module in args[0].items() if is_named else enumerate(args):
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    if TYPE_CHECKING and not MYPY:  # editors; `torch.fx` prints annotations of the method above

        def forward(self, input: Any) -> Tensor: ...

    def _slice(self, index: slice) -> Self:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def insert(self, index: int, module: Module) -> Self:
        """Add `module` before position `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *self._check_sequential(other))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(self._check_sequential(other))

    def _check_sequential(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, factor: Any) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")


class ModuleList(_ModuleSequence):
    """A list of modules that are registered as submodules, unlike those in a plain list.

    Args:
        modules: the initial modules; None for an empty list. TypeError for objects that are not modules.

    Example:
        >>> torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _slice(self, index: slice) -> Self:
        return type(self)(list(self)[index])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add `modules` at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        return super().extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Add `module` before position `index`."""
        self._insert(index, module)

    def __repr__(self) -> str:
        """Return the printed form, in which consecutive modules with the same repr are shown once, with a count."""
        runs: list[list[Any]] = []
        for number, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = number
            else:
                runs.append([number, number, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            indent(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
            for first, last, text in runs
        ]
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules that are registered as submodules, by name.

    Args:
        modules: a mapping of names to modules, or (name, module) pairs; the order is kept. None for an empty dictionary.
            KeyError for a name that is empty, has a dot or is an attribute of dictionaries.

    Example:
        >>> heads = torch.nn.ModuleDict({"mean": torch.nn.Linear(4, 1), "act": torch.nn.ReLU()})
        >>> heads["act"], list(heads)
        (ReLU(), ['mean', 'act'])
    """

    _modules: dict[str, Module]  # values are never None, unlike in `Module`

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module named `key`."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names of the modules."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Return (name, module) pairs."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add the modules of a mapping, or of (name, module) pairs."""
        for key, module in pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


class ParameterList(Module):
    """A list of parameters that are registered in the module that has the list, unlike those in a plain list.

    Args:
        values: the initial parameters; None for an empty list. Tensors become parameters; other objects are stored
            unchanged.

    Example:
        >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.zeros(3, 2)])
        >>> weights
        ParameterList(
            (0): Parameter containing: [torch.float32 of size 2]
            (1): Parameter containing: [torch.float32 of size 3x2]
        )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(position(index, len(self))))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(position(index, len(self))), as_parameter(param))

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add `value` at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add `values` at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return describe(enumerate(self), lambda tensor: tensor.dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters that are registered in the module that has the dictionary, by name.

    Args:
        parameters: a mapping of names to parameters, or (name, parameter) pairs; None for an empty one. Pairs and an
            `OrderedDict` keep their order, other mappings are sorted by name. Tensors become parameters; other objects
            are stored unchanged. TypeError for a key that is not a string.

    Example:
        >>> torch.nn.ParameterDict({"scale": torch.ones(3)})
        ParameterDict(  (scale): Parameter containing: [torch.FloatTensor of size 3])
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _check_key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). "
                "Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._check_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._check_key(key)] = None
        setattr(self, key, as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return other | self

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a new `ParameterDict` with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new `ParameterDict` with the given keys, each with value `default`."""
        return ParameterDict((key, default) for key in keys)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`; a missing key is first set to `default`."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default` if it is missing."""
        if key in self:
            return self[key]
        return default

    def pop(self, key: str) -> Any:
        """Remove `key` and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (key, value) pair."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all items."""
        for key in list(self._keys):
            del self[key]

    def keys(self) -> KeysView[str]:
        """Return the keys, in the order in which they were added."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return an iterator over (key, parameter or other object) pairs, in the order of `keys`."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return an iterator over the values, in insertion order."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Mapping[str, Any] | ParameterDict | Iterable[tuple[str, Any]]) -> None:
        """Add the items of a mapping, or (key, value) pairs; items of an unordered mapping are sorted by key."""
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = OrderedDict(sorted(parameters.items()))
        for key, value in pairs(parameters, "ParametersDict", "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return describe(self.items(), torch.typename)

    def __call__(self, input: Any) -> None:  # type: ignore[override]  # the signature is PyTorch's
        raise RuntimeError("ParameterDict should not be called.")


def position(index: int, length: int) -> int:
    """Convert a possibly negative index to a non-negative one; IndexError if it is out of range."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, torch.Tensor) and not isinstance(value, Parameter) else value


def describe(items: Iterable[tuple[Any, Any]], type_of: Any) -> str:
    """Return the part of the repr of a `ParameterList` or `ParameterDict` with one line per item."""
    lines = []
    for key, value in items:
        if isinstance(value, torch.Tensor):
            label = "Parameter" if isinstance(value, Parameter) else "Tensor"
            size = "x".join(str(length) for length in value.shape)
            device = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
            lines.append(f"  ({key}): {label} containing: [{type_of(value)} of size {size}{device}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


def pairs(source: Any, caller: str, name: str) -> Iterator[tuple[str, Any]]:
    """Iterate over the (key, value) pairs of a mapping or an iterable of pairs; raise TypeError or ValueError for others."""
    if not isinstance(source, Iterable):
        raise TypeError(f"{caller}.update should be called with an iterable of key/value pairs, but got {type(source).__name__}")
    if hasattr(source, "items"):
        yield from list(source.items())
        return
    for number, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{number} has length {len(pair)}; 2 is required")
        yield pair

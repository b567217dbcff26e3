"""Base classes of data pipes: datasets to which other data pipes can be added as methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)


class _DataPipe:
    """Base of data pipes: methods registered by name, and hooks for pickling."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "functions" not in vars(cls) and not hasattr(cls, "functions"):
            cls.functions = {}

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Register a function as a method; its first argument is the pipe."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Register a data pipe class as a method: `pipe.name(...)` then creates a pipe of this class that reads from `pipe`.

        Raises:
            Exception: a method of this name is already registered.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        function = functools.partial(cls_to_register)
        function.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = function

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Set a function that returns the state of a pipe when pickling. Raise RuntimeError if one is already set."""
        if _DataPipe._find_class_attribute(cls, "getstate_hook") is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Set a function that replaces `__reduce_ex__`, unless it raises NotImplementedError.

        Raises:
            RuntimeError: such a function is already set.
        """
        if _DataPipe._find_class_attribute(cls, "reduce_ex_hook") is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    @staticmethod
    def _find_class_attribute(cls: Any, name: str) -> Any:
        return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)

    def __getstate__(self) -> Any:
        hook = _DataPipe._find_class_attribute(type(self), "getstate_hook")
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = _DataPipe._find_class_attribute(type(self), "reduce_ex_hook")
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __str__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_DataPipe, IterableDataset[T_co]):
    """An iterable data pipe. A subclass defines `__iter__` and usually reads from another pipe.

    >>> from flambeau.utils.data import IterDataPipe, functional_datapipe
    >>> @functional_datapipe("doubled")
    ... class Doubler(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (2 * x for x in self.source)
    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).doubled())
    [2, 4]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def reset(self) -> None:
        """Make the next iteration start at the beginning. Subclasses that store their position override this."""


class DFIterDataPipe(IterDataPipe[T_co]):
    """An iterable data pipe of data frames, which need no special treatment.

    >>> from flambeau.utils.data import DFIterDataPipe, IterDataPipe
    >>> issubclass(DFIterDataPipe, IterDataPipe)
    True
    """


class MapDataPipe(_DataPipe, Dataset[T_co]):
    """A map-style data pipe. A subclass defines `__getitem__` and `__len__`.

    >>> from flambeau.utils.data import MapDataPipe
    >>> class Squares(MapDataPipe):
    ...     def __getitem__(self, index):
    ...         return index**2
    ...     def __len__(self):
    ...         return 4
    >>> list(Squares().batch(2)[1])
    [4, 9]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class _PipeWrapper:
    """Base of the pipes that hold another pipe, which libraries put between a loader and a pipe to pickle it."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_PipeWrapper, IterDataPipe[Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_PipeWrapper, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


class functional_datapipe:
    """A class decorator that registers a data pipe as a method of all data pipes.

    Args:
        name: the name of the method.
        enable_df_api_tracing: accepted for compatibility and ignored.

    Raises:
        TypeError: the decorated class is not a data pipe.

    Example:
        >>> from flambeau.utils.data import IterDataPipe, functional_datapipe
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("first")
        ... class First(IterDataPipe):
        ...     def __init__(self, source, count):
        ...         self.source, self.count = source, count
        ...     def __iter__(self):
        ...         return (x for x, _ in zip(self.source, range(self.count)))
        >>> list(IterableWrapper("abc").first(2))
        ['a', 'b']
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
                return cls
        raise TypeError("`functional_datapipe` can only decorate IterDataPipe")


class DataChunk(list[Any]):
    """A list of the elements of one batch.

    Args:
        items: the elements of the batch.

    Example:
        >>> from flambeau.utils.data import DataChunk
        >>> DataChunk([1, 2]).as_str()
        '[1, 2]'
    """

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.items = items

    def raw_iterator(self) -> Iterator[Any]:
        """Yield the items."""
        yield from self.items

    def as_str(self, indent: str = "") -> str:
        """Return the items as text: `indent`, then the items in brackets."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

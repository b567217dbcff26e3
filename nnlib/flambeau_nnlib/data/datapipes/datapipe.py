"""What data pipes are: datasets with methods that others have added to them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)


class _Functions:
    """A base with methods by registered name, hooks for pickling, and a short name."""

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
        """Add a method, a function whose first argument is the pipe."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Add a method that makes a pipe, which reads from the one that it is called on.

        Raises:
            Exception: there is a method of this name.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        function = functools.partial(cls_to_register)
        function.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = function

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Set what gives the state of a pipe that is pickled.  RuntimeError where there is one."""
        if _Functions._given(cls, "getstate_hook") is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Set what `__reduce_ex__` returns, unless it raises NotImplementedError.  RuntimeError where there is one."""
        if _Functions._given(cls, "reduce_ex_hook") is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    @staticmethod
    def _given(cls: Any, name: str) -> Any:
        return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)

    def __getstate__(self) -> Any:
        hook = _Functions._given(type(self), "getstate_hook")
        return self.__dict__ if hook is None else hook(self.__dict__)

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = _Functions._given(type(self), "reduce_ex_hook")
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


class IterDataPipe(_Functions, IterableDataset[T_co]):
    """A data pipe that is iterated over: a subclass defines `__iter__`, and often reads from another pipe.

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
        """Return to the beginning: for subclasses that keep where they are."""


class MapDataPipe(_Functions, Dataset[T_co]):
    """A data pipe with `__getitem__` and `__len__`, which a subclass defines.

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


class functional_datapipe:
    """A class decorator that makes a data pipe a method of all others.

    Args:
        name: of the method.
        enable_df_api_tracing: accepted; data frames are iterated over as anything else.

    Raises:
        TypeError: the class is no data pipe.

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
    """A batch, as a list.

    Args:
        items: those of the batch.

    Example:
        >>> from flambeau.utils.data import DataChunk
        >>> DataChunk([1, 2]).as_str()
        '[1, 2]'
    """

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.items = items

    def raw_iterator(self) -> Iterator[Any]:
        """The items."""
        yield from self.items

    def as_str(self, indent: str = "") -> str:
        """The items in brackets."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

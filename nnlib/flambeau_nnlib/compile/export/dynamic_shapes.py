"""Dynamic sizes of inputs: `Dim`, and the `dynamic_shapes` argument of `torch.export.export`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

import flambeau as torch
from flambeau.utils import pytree

from ._errors import UserError

__all__ = ["AdditionalInputs", "Constraint", "Dim", "ShapesCollection", "dims"]


class _Hint(Enum):
    """How `export` treats a size for which `dynamic_shapes` gives no named `Dim`."""

    AUTO = "AUTO"
    DYNAMIC = "DYNAMIC"
    STATIC = "STATIC"

    def __repr__(self) -> str:
        return f"Dim.{self.value}"


class Dim:
    """A dynamic size of an input. Dimensions with the same name have the same size.

    Expressions such as `2 * Dim("half")` and `Dim("n") + 1` are derived sizes. `Dim.AUTO` makes a size dynamic if possible,
    `Dim.DYNAMIC` requires it to be dynamic, and `Dim.STATIC` fixes it to the size of the example.

    Args:
        name: the name, a Python identifier.
        min, max: the smallest and the largest value; by default 0 and no limit.

    Raises:
        ValueError: `max` is not larger than `min`.

    >>> from flambeau.export import Dim
    >>> Dim("batch", min=1, max=64), 2 * Dim("half")
    (Dim('batch', min=1, max=64), 2*half)
    """

    AUTO = _Hint.AUTO
    DYNAMIC = _Hint.DYNAMIC
    STATIC = _Hint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min, self.max = 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise ValueError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.root, self.factor, self.offset = self, 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        derived = Dim.__new__(Dim)
        derived.root, derived.factor, derived.offset = self.root, factor, offset
        root = self.root.__name__
        times = root if factor == 1 else f"{factor}*{root}"
        derived.__name__ = times if not offset else f"{times} {'+' if offset > 0 else '-'} {abs(offset)}"
        derived.min = factor * self.root.min + offset
        derived.max = None if self.root.max is None else factor * self.root.max + offset
        return derived

    def __add__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset + _whole(other, "added to"))

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset - _whole(other, "subtracted from"))

    def __mul__(self, other: int) -> Dim:
        if _whole(other, "multiplied with") <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected"
            )
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        limits = [f"min={self.min}"] * (self.min != 0) + [f"max={self.max}"] * (self.max is not None)
        return f"Dim({', '.join([repr(self.__name__), *limits])})"


def _whole(value: Any, what: str) -> int:
    if type(value) is not int:
        raise NotImplementedError(f"Attempted to have {value!r} {what} a Dim, where an integer was expected")
    return value


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Create several `Dim`s with the same limits.

    Args:
        names: their names.
        min, max: the smallest and the largest value of each.

    >>> from flambeau.export import dims
    >>> dims("height", "width", min=32)
    (Dim('height', min=32), Dim('width', min=32))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class Constraint(NamedTuple):
    """The range of a dynamic size; `upper` is None if it is unbounded."""

    lower: int = 0
    upper: int | None = None

    def narrowed(self, lower: int | None = None, upper: int | None = None) -> Constraint:
        """Return the intersection with another range."""
        uppers = [limit for limit in (self.upper, upper) if limit is not None]
        return Constraint(max(self.lower, lower or 0), min(uppers) if uppers else None)

    def __contains__(self, value: Any) -> bool:
        return self.lower <= value and (self.upper is None or value <= self.upper)

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"


class ShapesCollection:
    """Specify `dynamic_shapes` for individual tensors, which is easier for nested inputs.

    >>> x = torch.ones(4, 8)
    >>> shapes = torch.export.ShapesCollection()
    >>> shapes[x] = {0: torch.export.Dim("batch")}
    >>> shapes.dynamic_shapes(torch.nn.Linear(8, 2), (x,))
    {'input': {0: Dim('batch')}}
    """

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, tensor: Any, shape: Any) -> None:
        if id(tensor) in self._shapes and self._shapes[id(tensor)][1] != shape:
            raise AssertionError(f"Shapes assigned to input are inconsistent: {self._shapes[id(tensor)][1]} and {shape}")
        self._shapes[id(tensor)] = (tensor, shape)

    def __getitem__(self, tensor: Any) -> Any:
        return self._shapes.setdefault(id(tensor), (tensor, {}))[1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Return the `dynamic_shapes` argument of `export` for a module with these arguments.

        Args:
            m: the module or function.
            args, kwargs: the example inputs.

        Raises:
            ValueError: a tensor with an assigned shape is not among the arguments.
        """
        named = arguments_by_name(m, args, kwargs or {})
        given = {id(leaf) for leaf in pytree.tree_leaves(named)}
        if self._shapes.keys() - given:
            raise ValueError("Some tensors that were assigned shapes were not found in args")
        return pytree.tree_map(lambda leaf: self._shapes[id(leaf)][1] if id(leaf) in self._shapes else None, named)


class AdditionalInputs:
    """Derive `dynamic_shapes` from several example inputs: sizes that differ between them are dynamic.

    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(7, 8),))
    >>> more.dynamic_shapes(torch.nn.Linear(8, 2), (torch.ones(4, 8),))
    {'input': (Dim.DYNAMIC, None)}
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add another example input.

        Args:
            args, kwargs: the inputs.
        """
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Return the `dynamic_shapes` argument of `export` for a module with these arguments.

        Args:
            m: the module or function.
            args, kwargs: the first example inputs.

        Raises:
            ValueError: an added input has a different structure from the first one.
        """
        first, structure = pytree.tree_flatten(arguments_by_name(m, args, kwargs or {}))
        others = []
        for more_args, more_kwargs in self._examples:
            leaves, other = pytree.tree_flatten(arguments_by_name(m, more_args, more_kwargs))
            if other != structure:
                raise ValueError(
                    f"the inputs {more_args}, {more_kwargs} have a different structure from the first example inputs"
                )
            others.append(leaves)
        shapes = [_differing(leaf, [leaves[place] for leaves in others]) for place, leaf in enumerate(first)]
        return pytree.tree_unflatten(shapes, structure)

    def verify(self, ep: Any) -> None:
        """Run an exported program on all added inputs; it raises an AssertionError if their sizes are not supported."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _differing(first: Any, others: list[Any]) -> Any:
    if not isinstance(first, torch.Tensor):
        return None
    return tuple(
        Dim.DYNAMIC if any(other.shape[dim] != size for other in others) else None for dim, size in enumerate(first.shape)
    )


def arguments_by_name(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by parameter name; those of `*args` form one tuple."""
    signature = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function)
    bound = signature.bind(*args, **kwargs).arguments
    return dict(_without_rest(signature, bound))


def _without_rest(signature: inspect.Signature, bound: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            yield from value.items()
        else:
            yield name, value


def sizes_by_tensor(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> dict[int, dict[int, Any]]:
    """Return the dynamic sizes of each input tensor as `{id(tensor): {dim: Dim or hint}}`.

    Raises:
        UserError: `dynamic_shapes` does not have the structure of the inputs.
    """
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(function, args, kwargs)
    named = arguments_by_name(function, args, kwargs)
    if isinstance(dynamic_shapes, dict) and set(dynamic_shapes) != set(named):
        raise UserError(
            "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
            f"{list(named)} of `inputs`, but here they are {list(dynamic_shapes)}. Alternatively, you could also ignore arg "
            "names "
            "entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`."
        )
    found: dict[int, dict[int, Any]] = {}
    inputs = named if isinstance(dynamic_shapes, dict) else tuple(named.values())
    _match(inputs, dynamic_shapes, "inputs", lambda tensor, shape: found.setdefault(id(tensor), shape))
    return found


def _match(inputs: Any, shapes: Any, where: str, note: Callable[[Any, dict[int, Any]], Any]) -> None:
    """Traverse inputs and shapes together, and call `note` with each tensor and its dynamic dimensions."""
    if shapes is None:
        return
    if isinstance(inputs, torch.Tensor):
        note(inputs, _of_dimensions(inputs, shapes, where))
    elif isinstance(inputs, dict):
        if not isinstance(shapes, dict) or set(shapes) != set(inputs):
            raise UserError(
                f"Detected mismatch between the structure of `{where}` and `dynamic_shapes`: {list(inputs)}, {shapes}"
            )
        for key, value in inputs.items():
            _match(value, shapes[key], f"{where}[{key!r}]", note)
    elif isinstance(inputs, (list, tuple)):
        if not isinstance(shapes, (list, tuple)) or len(shapes) != len(inputs):
            raise UserError(
                f"Detected mismatch between the structure of `{where}` and `dynamic_shapes`: {len(inputs)} elements, {shapes}"
            )
        for number, (value, below) in enumerate(zip(inputs, shapes, strict=True)):
            _match(value, below, f"{where}[{number}]", note)
    else:
        raise UserError(f"{where} is not a tensor, so its entry in `dynamic_shapes` must be None, got {shapes!r}")


def _of_dimensions(tensor: Any, shape: Any, where: str) -> dict[int, Any]:
    if isinstance(shape, (list, tuple)):
        if len(shape) != tensor.ndim:
            raise UserError(f"Expected {tensor.ndim} dynamic shapes for {where}, one for each dimension, but got {shape}")
        shape = dict(enumerate(shape))
    if not isinstance(shape, dict):
        raise UserError(f"Unexpected dynamic_shapes for {where}: {shape!r}; a dict, a list, a tuple or None was expected")
    for dim, size in shape.items():
        if not isinstance(dim, int) or not 0 <= dim < tensor.ndim:
            raise UserError(f"{where} has {tensor.ndim} dimensions, but `dynamic_shapes` names the dimension {dim!r}")
        if isinstance(size, int) and size != tensor.shape[dim]:
            raise UserError(
                f"Static shape constraint of {size} does not match input size of {tensor.shape[dim]}, for {where}[{dim}]"
            )
    return {dim: size for dim, size in shape.items() if size not in (None, Dim.STATIC) and not isinstance(size, int)}

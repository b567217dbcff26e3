"""Facts about operations, declared by `op()`, `composite()` and `declare`, and queries of operations by their facts.

Code that treats groups of operations alike (nested and sparse tensors, autocast, `_foreach`, DTensor, ...) calls `names()`
instead of listing names.  A declaration costs one insertion into a dictionary.  `Facts` objects and the results of queries are
built when first needed, and built again after a module with further operations has been imported.

>>> from flambeau.extension import Kind, facts_of, names
>>> facts_of("multiply_").name, facts_of("multiply_").kind.name, "exp" in names(kind=Kind.POINTWISE)
('mul', 'POINTWISE', True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum, Flag, auto
from typing import Any, TypeVar

__all__ = [
    "COMPILED", "COMPILED_NAMESPACES", "FACTORY_OPTIONS", "OPTIONS", "Autocast", "Facts", "Kind", "Linearity", "Narrow",
    "Order", "Overlap", "check_options", "declare", "declared", "facts_of", "is_inplace", "names", "operation_name",
    "register", "unaliased",
]  # fmt: skip

FACTORY_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
"""The options of functions that create tensors, in schema notation."""


class Kind(Enum):
    """The kind of an operation: how its results depend on its arguments."""

    POINTWISE = auto()
    """Each element of the result is computed from the elements at the same index, after broadcasting: `add`, `exp`, `where`."""
    REDUCTION = auto()
    """One element for a whole tensor, or for each slice along some dimensions: `sum`, `amax`, `std`, `vector_norm`."""
    SCAN = auto()
    """Each element is computed from the elements up to it along a dimension: `cumsum`, `cummax`."""
    VIEW = auto()
    """The same memory with another shape or other strides: `transpose`, `unsqueeze`, `select`."""
    MOVEMENT = auto()
    """Copies of elements in another arrangement: `cat`, `flip`, `repeat`, `pad`."""
    INDEXING = auto()
    """Elements picked by indices or a mask: `gather`, `index_select`, `take`, `embedding`."""
    SCATTER = auto()
    """A copy of a tensor; elements picked by indices or a mask are overwritten or added to: `scatter_add`, `index_copy`."""
    PRODUCT = auto()
    """Products of vectors and matrices, and sums of them: `matmul`, `linear`, `einsum`, `cdist`."""
    CONVOLUTION = auto()
    """Convolutions, transposed convolutions, `unfold` and `fold`."""
    NORMALIZATION = auto()
    """A result of the input's shape, computed from means or sums along some dimensions: `softmax`, `layer_norm`."""
    POOLING = auto()
    """Maxima and means of windows, and unpooling."""
    RESAMPLING = auto()
    """Values of the input at other points of its grid: `interpolate`, `grid_sample`, `pixel_shuffle`."""
    LOSS = auto()
    """A loss, with its `reduction`."""
    FACTORY = auto()
    """A new tensor from sizes, ranges or data: `zeros`, `arange`, `tensor`."""
    LIKE = auto()
    """A new tensor with the shape of the first argument, whose elements are not read: `zeros_like`."""
    RANDOM = auto()
    """A new tensor of random numbers from parameters or a shape: `rand`, `randn_like`.  Operations that draw for each element of
    a tensor are `POINTWISE`, with the fact `random`."""
    SORTING = auto()
    """Results that depend on the order of elements: `sort`, `topk`, `unique`, `searchsorted`."""
    DECOMPOSITION = auto()
    """Factors, solutions, inverses and functions of matrices: `linalg.svd`, `linalg.solve`, `matrix_exp`."""
    FOURIER = auto()
    """Fourier transforms."""
    RECURRENT = auto()
    """Recurrent cells and layers."""
    ATTENTION = auto()
    """Attention."""
    CONVERSION = auto()
    """The same elements in another dtype, on another device or in another memory layout: `to`, `cpu`, `contiguous`, `clone`."""
    QUERY = auto()
    """A Python value about a tensor that does not depend on its elements: `numel`, `is_complex`."""
    OTHER = auto()
    """None of these."""


class Autocast(Enum):
    """The precision in which autocast computes an operation."""

    FAST = auto()
    """Cast to the dtype of the `autocast` context: for matrix products and convolutions, which gain the most speed."""
    FLOAT32 = auto()
    """Cast to float32: for operations that overflow or lose accuracy in half precision."""
    WIDEST = auto()
    """Cast all arguments to the widest dtype among them."""
    WHOLE = auto()
    """No cast, and no autocast for the operations inside: for composites that PyTorch implements as one uncast operation."""
    UNSAFE = auto()
    """Raise an error."""


class Linearity(Enum):
    """The tensor arguments in which an operation is linear."""

    NONE = auto()
    FIRST = auto()
    """Linear in the first argument only: `div`."""
    EACH = auto()
    """Linear in each argument while the others are constant: `mul`, `matmul`."""
    JOINT = auto()
    """Linear in all arguments together: `neg`, `add`, `sum`, `cat`."""


class Narrow(Flag):
    """The float8 dtypes and complex32: most operations do not support them."""

    NONE = 0
    SIGNED_FLOAT8 = auto()
    """float8 dtypes that have a sign."""
    UNSIGNED_FLOAT8 = auto()
    """float8_e8m0fnu, which has no sign; used for scale factors."""
    COMPLEX32 = auto()
    FLOAT8 = SIGNED_FLOAT8 | UNSIGNED_FLOAT8
    ALL = FLOAT8 | COMPLEX32


class Order(Enum):
    """How the CPU's kernel lays out a result in memory."""

    AS_INPUT = auto()
    """The order of dimensions in memory is that of the arguments."""
    ROW_MAJOR = auto()
    IMAGE = auto()
    """Channels-last if the first argument is; else row-major."""


class Overlap(Enum):
    """What the in-place form does with a tensor whose elements share memory, such as an expanded one."""

    REFUSED = auto()
    """Raise RuntimeError."""
    DEPRECATED = auto()
    """Warn, and write the elements that change."""
    ALLOWED = auto()
    """Write the elements that change."""


_MOVING = frozenset({Kind.VIEW, Kind.MOVEMENT, Kind.INDEXING, Kind.CONVERSION})


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts about one operation.  All are declared, documented and given their defaults here, and nowhere else."""

    name: str
    """The name of the record or composite, with the module as a prefix for `linalg` and `fft` (`linalg_norm`)."""
    kind: Kind = Kind.OTHER
    keeps_zero: bool = False
    """Whether zero maps to zero for any values of the non-tensor arguments."""
    linearity: Linearity = Linearity.NONE
    moves: bool = None  # type: ignore[assignment]  # `__post_init__` sets it
    """Whether each element of the result is an unchanged element of an argument; the default depends on `kind`."""
    narrow: Narrow = None  # type: ignore[assignment]  # `__post_init__` sets it
    """The narrow dtypes that the operation supports; by default all if `moves` is True, else none."""
    rounds_once: bool = False
    """Whether float16 / bfloat16 results are computed in float32 and rounded only once, at the end."""
    order: Order = Order.AS_INPUT
    """The memory layout of the result."""
    overlap: Overlap = Overlap.REFUSED
    """What the in-place form does with a tensor whose elements share memory."""
    may_share: tuple[str, ...] = ()
    """The tensor arguments that may share memory with the tensor that the in-place form writes to."""
    random: bool = None  # type: ignore[assignment]  # `__post_init__` sets it
    """Whether the result depends on random numbers; True by default if `kind` is `RANDOM`."""
    dynamic_shape: bool = False
    """Whether the shape of the result depends on the elements of the arguments: `nonzero`, `unique`."""
    autocast: Autocast | Mapping[str, Autocast] | None = None
    """The precision under autocast, for all device types or for each (`{"cuda": Autocast.FLOAT32}`)."""
    home: str = ""
    """PyTorch's module of the function if it differs from the public namespace: `"torch.functional"` for a function of `torch`,
    `"torch"` for a function of `torch.nn.functional`."""
    operator: str = ""
    """The name of PyTorch's operator, if it is not the operation's name: `"clone"` for `contiguous`."""
    dispatches: Callable[..., tuple[Any, ...]] | None = None
    """A function of this operation's arguments that returns the name and the arguments of the operator that PyTorch passes to
    `__torch_dispatch__` instead: `lambda input, dim: ("_softmax", input, dim, False)`.  A dictionary after the arguments contains
    the keyword arguments."""
    single_operator: bool = False
    """Whether `__torch_dispatch__` receives a composite function as one operator; True by default if it has a `grad_fn`."""
    returns_bool: bool = False
    """Whether the result is a Python bool, so that autograd never records the call: `equal`."""
    schema: str | tuple[str, ...] = ()
    """The signature in ATen notation, if it cannot be derived from the function: `"flip(Tensor self, int[] dims) -> Tensor"`.
    An operation with overloads has several signatures, in the order in which a call tries them."""

    def __post_init__(self) -> None:
        if self.moves is None:
            object.__setattr__(self, "moves", self.kind in _MOVING)
        if self.narrow is None:
            object.__setattr__(self, "narrow", Narrow.ALL if self.moves else Narrow.NONE)
        if self.random is None:
            object.__setattr__(self, "random", self.kind is Kind.RANDOM)

    def autocast_on(self, device_type: str) -> Autocast | None:
        """Return the precision under autocast on a device type.  All accelerators use CUDA's."""
        if self.autocast is None or isinstance(self.autocast, Autocast):
            return self.autocast
        return self.autocast.get(device_type if device_type == "cpu" else "cuda")


COMPILED_NAMESPACES = ("fft", "linalg", "special")  # PyTorch compiles `torch.linalg.inv` as `torch._C._linalg.linalg_inv`
COMPILED = ("torch", "torch._C._nn")  # `home` of functions that PyTorch implements in C++: they never become methods
OPTIONS = frozenset(option.name for option in fields(Facts)) - {"name"}

_declared: dict[str, dict[str, Any]] = {}  # the declared facts of each operation, by its name
_spellings: dict[str, str] = {}  # maps an alias, operator (`__mul__`) or in-place form to the operation's name
_facts: dict[str, Facts] = {}  # built from `_declared` when first needed
_queries: dict[Any, frozenset[str]] = {}


def register(
    name: str, options: Mapping[str, Any], *, aliases: Iterable[str] = (), operators: Iterable[str] = (), inplace: bool = False
) -> None:
    """Store the aliases, operators and in-place name of an operation, and add facts to those declared for it before."""
    declared = _declared.get(name)
    if declared is None:
        _declared[name] = dict(options)
    else:
        declared.update(options)
    for alias in aliases:
        _spellings[alias] = name
    for operator in operators:
        _spellings[operator] = name
    if inplace:
        _spellings[name + "_"] = name
        for alias in aliases:
            _spellings[alias + "_"] = name
    _facts.clear()
    _queries.clear()


C = TypeVar("C", bound=Callable[..., Any])


def declare(*own_names: str, aliases: Iterable[str] = (), operators: Iterable[str] = (), **facts: Any) -> Callable[[C], C]:
    """Return a decorator that declares facts about a function made of operations.

    Args:
        *own_names: the names of the operations that the function implements; by default, its own name.
        aliases: further names of the function.
        operators: the operator methods that call it, such as `__matmul__`.
        **facts: the fields of `Facts`.

    >>> from flambeau.extension import Kind, declare, facts_of
    >>> @declare(kind=Kind.POINTWISE)
    ... def half_of(input):
    ...     return input / 2
    >>> facts_of("half_of").kind.name
    'POINTWISE'
    """
    check_options("declare()", facts)

    def register_function(function: C) -> C:
        for name in own_names or (operation_name(function),):
            register(name, facts, aliases=aliases, operators=operators)
        return function

    return register_function


def check_options(caller: str, facts: Mapping[str, Any]) -> None:
    """Raise TypeError if a name is not a field of `Facts`."""
    if not facts.keys() <= OPTIONS:
        raise TypeError(f"{caller}: unknown facts {sorted(facts.keys() - OPTIONS)}; known are {sorted(OPTIONS)}")


def operation_name(function: Callable[..., Any]) -> str:
    """Return the name of the operation that a function, method or operator implements: the key of its facts."""
    name: str = getattr(function, "__name__", "")
    if name.startswith("__"):
        return _spellings.get(name, name.strip("_"))
    modules = (getattr(function, "__module__", None) or "").split(".")
    for family in ("fft", "linalg"):
        if family in modules and "torch_names" not in modules and not name.startswith(family + "_"):
            return f"{family}_{name}"
    return name


def is_inplace(name: str) -> bool:
    """Whether the function with this public name writes to its first argument: `add_`, `__iadd__`."""
    if name.startswith("__"):
        return name.startswith("__i") and name != "__invert__"
    return name.endswith("_")


def unaliased(name: str) -> str:
    """Resolve an alias to the operation with the same arguments; return other names unchanged.

    In-place forms and reflected operators (`__rsub__`) keep their names.
    """
    facts = None if is_inplace(name) or name.startswith("__r") else facts_of(name)
    return name if facts is None else facts.name


def facts_of(name: str) -> Facts | None:
    """Return the facts about the operation with a public name, or None if none are declared.

    `torch.special` spells several operations with a prefix: `special_round` has the facts of `round`.
    """
    found = _facts.get(name)
    if found is None:
        own = name if name in _declared else _spellings.get(name) or name.removesuffix("_").removeprefix("special_")
        if own not in _declared:
            return None
        found = _facts[name] = _facts.get(own) or Facts(name=own, **_declared[own])
    return found


def declared(fact: str) -> dict[str, Any]:
    """Return the declared values of one fact, by operation name, without building the other facts."""
    return {name: facts[fact] for name, facts in _declared.items() if fact in facts}


def names(**wanted: Any) -> frozenset[str]:
    """Return every public name (function, alias, method, operator, in-place form) of the operations with all these facts.

    Args:
        **wanted: for each fact, the required value, or a set of allowed values: `kind={Kind.VIEW, Kind.MOVEMENT}`,
            `keeps_zero=True`.  `narrow` gives the dtypes that the operation must support.  `has="autocast"` requires that the
            value of `autocast` is not None, False or empty.
    """
    query = frozenset((key, frozenset(value) if isinstance(value, set) else value) for key, value in wanted.items())
    found = _queries.get(query)
    if found is None:
        every = (*_declared, *_spellings)
        found = _queries[query] = frozenset(name for name in every if _holds(facts_of(name), query))
    return found


def _holds(facts: Any, query: Iterable[tuple[str, Any]]) -> bool:
    for key, value in query:
        actual = getattr(facts, value if key == "has" else key)
        if key == "has":
            holds = bool(actual)
        elif isinstance(value, Narrow):
            holds = value in actual
        else:
            holds = actual in value if isinstance(value, frozenset) else actual is value
        if not holds:
            return False
    return True

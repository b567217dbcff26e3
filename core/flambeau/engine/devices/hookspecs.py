"""The hooks that a plugin may implement, as pluggy specifications.  A backend only needs `flambeau_backend`.

A plugin is a module (or any object) with functions decorated by `flambeau.backend.hookimpl`, published under the
entry-point group `flambeau.backends` with the backend's name as the entry's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import pluggy

if TYPE_CHECKING:
    from ...backend import Backend
    from ..tensors.tensor import Tensor
    from .devices import device

PROJECT = "flambeau"
hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def flambeau_backend(name: str) -> Backend | None:
    """Return the backend called `name`, or None if it belongs to another plugin."""


@hookspec
def flambeau_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for an existing backend, by operation name.

    Read once, when the backend is first used.  A kernel takes the arguments of the operation's forward without its
    `xp`: raw arrays first, then the parameters.  It must not write to its inputs.
    """


@hookspec
def flambeau_inplace_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for the in-place forms of an existing backend's operations, by the operation's name.

    Read once.  A kernel is called as `kernel(target, *others, **scalars)` with raw arrays (0-d ones for scalars), and writes
    into `target`.  If it raises, it must not have written anything.  So the library must not raise for infinities inside it, even
    where its user has asked for that; for NumPy, see `flambeau_backends.numpy.quiet`.
    """


class Operand(NamedTuple):
    """An argument of a step of a chain: an input, or the result of an earlier step, which are counted on from the inputs."""

    number: int


class FusionStep(NamedTuple):
    """One operation in a chain: which of its signatures it has, its arguments (`Operand`, or numbers), its floats' dtype."""

    name: str
    signature: str
    operands: tuple[Any, ...]
    floats: str

    @property
    def dtype(self) -> str:
        """The name of its result's dtype."""
        return "bool" if self.signature.endswith("b") else self.floats


class FusionInput(NamedTuple):
    """What a chain reads: an array, with its dtype's name, or a number that the program computes.

    Of arrays, the layout says how they lie beside the results: `full`, a `row` or `column` that is repeated, one number
    (`scalar`), or `broadcast` in another way.  A `number` has the dtype that it is used in.
    """

    layout: str
    dtype: str


class FusionChain(NamedTuple):
    """A chain of element-wise operations, to be computed in one loop.

    Attributes:
        steps: the operations, in order.
        inputs: what is given.
        outputs: the numbers of the steps that are given back, as arrays of `shape`.
        written: of arrays that are changed in place, the input's number and that of the step whose result is left in it.
        shape: of all results.
        split: how many of the last dimensions of `shape` a row has, where there are rows or columns.
    """

    steps: Sequence[FusionStep]
    inputs: Sequence[FusionInput]
    outputs: Sequence[int]
    written: Sequence[tuple[int, int]]
    shape: tuple[int, ...]
    split: int


class ArrayKind(NamedTuple):
    """What is known of an array before a captured step runs."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


class Fusion(Protocol):
    """Loops that compute chains of element-wise operations, for the steps that `torch.compile` captures.

    Attributes:
        least: the number of elements from which on a loop pays.
        operations: the operations that loops compute: what each takes and gives, as in `"ff>b"` for two arrays of floats and a
            result of bool.  All floats of a step have one dtype; a number may stand in the place of an `f`.  A name that ends in
            `_` is of the form that writes to its first argument.
        floats: the dtypes, by name, that `f` stands for.
        general: whether loops broadcast in every way, write in place, and take numbers that the program computes; and whether
            an operation that is not among `operations`, nor a kernel of the backend, may be taken apart into some that are.
    """

    least: int
    operations: Mapping[str, Sequence[str]]
    floats: frozenset[str]
    general: bool

    def loop(self, chain: FusionChain, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the chain's inputs, which gives its outputs: one array, a tuple of several, or None.

        It gives the same bits as the steps, one by one; it may be compiled when it is first called.  `one_by_one` does the same
        by the operations themselves, for arrays that a loop does not take, such as those that are not contiguous.
        """


@hookspec(firstresult=True)
def flambeau_fusion(backend: Backend) -> Fusion | None:
    """Return what compiles loops for the arrays of an existing backend, or None.

    Read once.  What such a loop gives is compared, bit for bit, with what the operations give, before it is relied on.
    """


class Collectives(Protocol):
    """Communication between the devices of one type.  Tensors are detached, and so are results."""

    def devices(self) -> list[device]:
        """All devices of the type."""

    def run(self, calls: Sequence[Callable[[], Any]], devices: Sequence[device]) -> list[Any]:
        """Run each call on its device, in parallel; where a call raises, its exception takes the place of its result."""

    def broadcast(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> list[list[Tensor]]:
        """For each device, a copy of all tensors."""

    def scatter(self, tensor: Tensor, devices: Sequence[device], sizes: Sequence[int] | None, dim: int) -> list[Tensor]:
        """For each device, a part of the tensor along `dim`, of these sizes or as equal as possible."""

    def gather(self, tensors: Sequence[Tensor], destination: device, dim: int) -> Tensor:
        """The tensors of all devices, concatenated on one device."""

    def reduce_add(self, tensors: Sequence[Tensor], destination: device) -> Tensor:
        """The sum of the tensors of all devices, on one device."""

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The sum of the tensors, on the device of each."""


@hookspec(firstresult=True)
def flambeau_collectives(device_type: str) -> Collectives | None:
    """Return the collectives of a device type, or None if it belongs to another plugin."""


@hookspec(firstresult=True)
def flambeau_distributed_engine(name: str) -> Any:
    """Return the engine of `torch.distributed` called `name`, or None if it is another plugin's.

    An engine carries the bytes of collectives between processes; it is a `flambeau_nnlib.distributed.engine.Engine`.
    """


@hookspec
def flambeau_report_header() -> str:  # type: ignore[empty-body]  # a specification
    """Return one line about the plugin for `python -m flambeau env`."""

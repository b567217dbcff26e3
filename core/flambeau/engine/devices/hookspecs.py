"""The hooks that a plugin may implement, as pluggy specifications.  A backend must implement `flambeau_backend`.

A plugin is a module (or any object) with functions decorated by `flambeau.backend.hookimpl`, published under the
entry-point group `flambeau.backends` with the backend's name as the entry's name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
    """Return the backend called `name`, or None if another plugin provides it."""


@hookspec
def flambeau_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for an existing backend, by operation name.

    Called once, when the backend is first used.  A kernel takes the arguments of the operation's forward without its
    `xp`: raw arrays first, then the parameters.  It must not write to its inputs.
    """


@hookspec
def flambeau_inplace_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for the in-place forms of an existing backend's operations, by the operation's name.

    Called once.  A kernel is called as `kernel(target, *others, **scalars)` with raw arrays (0-d ones for scalars), and writes
    into `target`.  If it raises, it must not have written anything.  A kernel must therefore disable floating-point errors that
    the user has enabled in the library; for NumPy, see `flambeau_backends.numpy.error_state`.
    """


class Operand(NamedTuple):
    """An argument of a step in a chain: `number` is i for input i, and n + j for the result of step j, with n inputs."""

    number: int


class FusionStep(NamedTuple):
    """One operation in a chain: its name, signature (`"ff>b"`), arguments (`Operand` or numbers) and floating-point dtype."""

    name: str
    signature: str
    operands: tuple[Any, ...]
    floats: str

    @property
    def dtype(self) -> str:
        """The name of the result's dtype."""
        return "bool" if self.signature.endswith("b") else self.floats


class FusionInput(NamedTuple):
    """An input of a chain: an array, or a number that the program computes.

    For an array, `layout` is how it broadcasts to the shape of the results: `full` (same shape), `row` or `column` (repeated),
    `scalar` (one element), or `broadcast` (any other way).  For a number, `layout` is `number`, and it is converted to `dtype`.
    """

    layout: str
    dtype: str


class FusionChain(NamedTuple):
    """A chain of pointwise operations, computed in one loop.

    Attributes:
        steps: the operations, in order.
        inputs: the arrays and numbers.
        outputs: the indices of steps whose results are returned, as arrays of `shape`.
        written: pairs (index of an input that is modified in-place, index of the step whose result is written to it).
        shape: the shape of all results.
        split: the number of trailing dimensions of `shape` that form a row, if any input is a `row` or `column`.
    """

    steps: Sequence[FusionStep]
    inputs: Sequence[FusionInput]
    outputs: Sequence[int]
    written: Sequence[tuple[int, int]]
    shape: tuple[int, ...]
    split: int


class ArrayKind(NamedTuple):
    """The shape and dtype of an array, known before a captured step runs."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


class Fusion(Protocol):
    """Compiles chains of pointwise operations, captured by `torch.compile`, to loops.

    Attributes:
        least: the minimum number of elements for which a loop is faster than separate operations.
        operations: the supported operations with their signatures, such as `"ff>b"`: two floating-point arrays to a bool array.
            All floats of a step have one dtype; a number may replace an `f`.  An operation whose name ends in `_` writes to
            its first argument.
        floats: the names of the supported dtypes for `f`.
        general: whether loops support any broadcasting, in-place writes and numbers that the program computes.  If so, an
            operation that is not in `operations`, and has no kernel of the backend, may also be decomposed into supported ones.
    """

    least: int
    operations: Mapping[str, Sequence[str]]
    floats: frozenset[str]
    general: bool

    def loop(self, chain: FusionChain, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes the chain's inputs and returns its outputs: one array, a tuple of arrays, or None.

        Its results must be bitwise equal to those of the separate steps.  It may be compiled at its first call.  `one_by_one`
        runs the operations separately: call it for arrays that the loop does not support, such as non-contiguous ones.
        """


@hookspec(firstresult=True)
def flambeau_fusion(backend: Backend) -> Fusion | None:
    """Return the loop compiler for the arrays of an existing backend, or None.

    Called once.  Before a loop is used, its results are compared bitwise with those of the operations.
    """


class PlanCall(NamedTuple):
    """One kernel call of an inference step: `result = name(*args, **kwargs)`, without side effects.

    Values are hashable keys; every argument that is a key of `InferencePlanner.plan`'s `kinds` is an array. The result is a
    tuple of keys for calls that return several arrays.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    result: Any


class StaleWeights(Exception):
    """Raised by a plan whose weights have changed since it was prepared; it has computed nothing."""


class Plan(Protocol):
    """Consecutive calls of an inference step, run as one call, which must not warn of floating-point errors."""

    def prepare(self, constants: Mapping[Any, Any]) -> bool:
        """Fold and pack the weights, given as arrays by key; return False if the plan cannot be used.

        Called again if weights change, possibly while another thread runs the plan.
        """

    def __call__(self, *inputs: Any) -> Any:
        """Return the results: one array, or a tuple of arrays.

        Raises:
            StaleWeights: a weight has changed.
        """


class InferencePlanner(Protocol):
    """Compiles consecutive calls of an inference step, captured by `torch.compile`, to plans.

    Results may differ from those of the separate calls in the order of rounding.
    """

    def supports(self, call: PlanCall, kinds: Mapping[Any, ArrayKind], constants: Collection[Any]) -> bool:
        """Whether a plan can contain the call; `constants` are the keys of weights, and of values computed from them."""

    def plan(
        self,
        calls: Sequence[PlanCall],
        kinds: Mapping[Any, ArrayKind],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        strides: Sequence[tuple[int, ...] | None],
    ) -> Plan | None:
        """Return a plan for the calls, or None if it would not be faster.

        Arrays that are neither inputs nor computed by the calls are constants.

        Args:
            calls: the calls, in order.
            kinds: shape and dtype of each array.
            inputs, outputs: keys of the arrays that the plan takes and returns.
            strides: strides of the outputs in the recorded call; None in libraries whose arrays have no strides.
        """


@hookspec(firstresult=True)
def flambeau_inference(backend: Backend) -> InferencePlanner | None:
    """Return the compiler of inference steps for the arrays of an existing backend, or None.  Called once."""


class Collectives(Protocol):
    """Communication between the devices of one type.  Arguments and results are detached tensors."""

    def devices(self) -> list[device]:
        """Return all devices of the type."""

    def run(self, calls: Sequence[Callable[[], Any]], devices: Sequence[device]) -> list[Any]:
        """Run each call on its device, in parallel. If a call raises an exception, return that in place of the result."""

    def broadcast(self, tensors: Sequence[Tensor], devices: Sequence[device]) -> list[list[Tensor]]:
        """Return a list for each device, with copies of all tensors on that device."""

    def scatter(self, tensor: Tensor, devices: Sequence[device], sizes: Sequence[int] | None, dim: int) -> list[Tensor]:
        """Split the tensor along `dim`, and return one part on each device; by default, the parts have nearly equal sizes."""

    def gather(self, tensors: Sequence[Tensor], destination: device, dim: int) -> Tensor:
        """Return the concatenation of the tensors along `dim`, on the device `destination`."""

    def reduce_add(self, tensors: Sequence[Tensor], destination: device) -> Tensor:
        """Return the sum of the tensors, on the device `destination`."""

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the sum of the tensors as a list: a copy of it on the device of each tensor."""


@hookspec(firstresult=True)
def flambeau_collectives(device_type: str) -> Collectives | None:
    """Return the collectives of a device type, or None if another plugin provides them."""


@hookspec(firstresult=True)
def flambeau_distributed_engine(name: str) -> Any:
    """Return the engine of `torch.distributed` called `name`, or None if another plugin provides it.

    An engine carries the bytes of collectives between processes; it is a `flambeau_nnlib.distributed.engine.Engine`.
    """


@hookspec
def flambeau_report_header() -> str:  # type: ignore[empty-body]  # a specification
    """Return one line about the plugin, to be printed by `python -m flambeau env`."""

"""Activation checkpointing: trade compute for memory by recomputing a part of the forward pass in backward.

See Chen et al., `Training Deep Nets with Sublinear Memory Cost <https://arxiv.org/abs/1604.06174>`_.
"""

from __future__ import annotations

import contextlib
import enum
import traceback
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch

from .amp.autocast_mode import snapshot as autocast_snapshot
from .amp.policies import operation_name

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

ContextPair = tuple[AbstractContextManager, AbstractContextManager]

_debug_override: bool | None = None
_early_stop_override: bool | None = None


class CheckpointError(RuntimeError):
    """The recomputation did not save the same tensors as the forward pass did."""


def noop_context_fn() -> ContextPair:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], ContextPair] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, without keeping what its backward needs: that is computed once more in backward.

    With ``use_reentrant=False`` (recommended) the graph is recorded as usual, and only the saved tensors are left out.
    With True the function runs without a graph and is differentiated by a backward inside of backward: some tensor
    among ``args`` must require a gradient, ``autograd.grad`` does not work, and ``kwargs`` are not supported.

    Args:
        preserve_rng_state: draw the same random numbers again. Default: True.
        context_fn: returns two contexts, for the forward pass and for the recomputation.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of the recomputed tensors; ``"none"`` not.
        debug: let an error of this check list the operations of both passes.
        early_stop: end the recomputation as soon as all that is needed is there.

    Raises CheckpointError in backward if the recomputation differs, ValueError for options that do not go together.

    >>> import flambeau as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.exp().log(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.])
    """
    if use_reentrant is None:
        use_reentrant = _default_use_reentrant("torch.utils.checkpoint")
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)

    if determinism_check not in _DESCRIBE:
        raise ValueError(
            f"determinism_check should be one of {list(_DESCRIBE)}, but got {determinism_check}"
        )
    log = None
    if debug if _debug_override is None else _debug_override:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log = _Log()
        context_fn = log.contexts
    forward_context, recompute_context = context_fn()
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)

    frame = _Frame(
        _Recomputation(function, args, kwargs, preserve, recompute_context),
        early_stop=early_stop if _early_stop_override is None else _early_stop_override,
        describe=_DESCRIBE[determinism_check],
        log=log,
    )
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def _default_use_reentrant(name: str) -> bool:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
        "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve "
        "the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants.",
        stacklevel=3,
    )
    return True


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """``input`` passed through ``functions`` one by one, in ``segments`` parts that are checkpointed, but for the last.

    ``functions`` is a Sequential or a list. The keyword ``preserve_rng_state`` is that of :func:`checkpoint`.

    >>> import flambeau as torch
    >>> x = torch.tensor([4.0], requires_grad=True)
    >>> checkpoint_sequential([torch.sqrt, torch.square, torch.sqrt], 2, x, use_reentrant=False)
    tensor([2.], grad_fn=<SqrtBackward0>)
    """
    if use_reentrant is None:
        use_reentrant = _default_use_reentrant("torch.utils.checkpoint.checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def run(part: Sequence[Callable]) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for function in part:
                value = function(value)
            return value

        return forward

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        part = functions[start : start + size]
        input = checkpoint(run(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(functions[last:])(input)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that overrides the ``debug`` argument of every :func:`checkpoint` in it; None does not."""
    global _debug_override
    before, _debug_override = _debug_override, enabled
    try:
        yield
    finally:
        _debug_override = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that overrides the ``early_stop`` argument of every :func:`checkpoint` in it."""
    global _early_stop_override
    before, _early_stop_override = _early_stop_override, enable
    try:
        yield
    finally:
        _early_stop_override = before


# --- The settings that a recomputation runs with: those of the forward pass ---


class DefaultDeviceType:
    """The type of device whose random state is kept when no argument is on a device other than the CPU."""

    _device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Get it; unless set, it is the accelerator's if there is one, or ``"cpu"``."""
        return DefaultDeviceType._device_type or ("cuda" if torch.cuda.is_available() else "cpu")


def _accelerated(values: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in _tensors(values) if value.device.type not in ("cpu", "meta")]


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(value.values())
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            yield from _tensors(item)


def _infer_device_type(args: Any) -> str:
    types = [tensor.device.type for tensor in _accelerated(args)]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored. "
            "Consequently, if any checkpointed functions involve randomness, this may result in incorrect gradients. "
            "(Note that if CUDA devices are among the devices detected, it will be prioritized; otherwise, the first "
            f"device encountered will be selected.)\nDevice types: {sorted(set(types))} first device type: {types[0]}",
            stacklevel=3,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """The indices of the devices that the tensors in ``args`` are on, and their random states. The CPU is left out."""
    module = getattr(torch, _infer_device_type(args))
    devices = [tensor.get_device() for tensor in _accelerated(args)]
    states = []
    for device in devices:
        with module.device(device):
            states.append(module.get_rng_state())
    return devices, states


def set_device_states(
    devices: Iterable[int], states: Iterable[torch.Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of ``devices``."""
    device_type = device_type or DefaultDeviceType.get_device_type()
    if device_type == "meta":
        return
    module = getattr(torch, device_type)
    for device, state in zip(devices, states, strict=False):
        with module.device(device):
            module.set_rng_state(state)


class _Settings:
    """Random states, autocast and default device at the time of creation, to be set again later."""

    def __init__(self, preserve_rng_state: bool, args: Any) -> None:
        self.preserve = preserve_rng_state
        self.autocast = autocast_snapshot()
        self.default_device = torch.get_default_device()
        if preserve_rng_state:
            self.device_type = _infer_device_type(args)
            self.state = torch.get_rng_state()
            self.devices, self.device_states = get_device_states(*args)

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.preserve:
                stack.enter_context(torch.random.fork_rng(self.devices, device_type=self.device_type))
                torch.set_rng_state(self.state)
                set_device_states(self.devices, self.device_states, device_type=self.device_type)
            stack.enter_context(torch.device(self.default_device))
            stack.enter_context(self.autocast())
            yield


# --- Without reentering autograd: hooks on saved tensors ---


class _SaveInputs(torch.autograd.Function):
    """Saves tensors as an operation would, so that the hooks of an outer checkpoint apply to them."""

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*tensors)
        return anchor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("nothing depends on what this returns")


class _Recomputation:
    """A call of ``function`` that can be repeated."""

    def __init__(
        self, function: Callable, args: tuple, kwargs: dict, preserve_rng_state: bool, context: AbstractContextManager
    ) -> None:
        self.function = function
        self.kwargs = kwargs
        self.settings = _Settings(preserve_rng_state, args)
        self.context = context
        self.positions = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        self.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        anchor = torch.empty(0, requires_grad=True)
        self.saved = _SaveInputs.apply(anchor, *[args[i] for i in self.positions]).grad_fn

    def __call__(self) -> None:
        args = list(self.args)
        for i, tensor in zip(self.positions, self.saved.saved_tensors, strict=True):
            args[i] = tensor
        with self.settings.restored(), self.context:
            self.function(*args, **self.kwargs)


_DESCRIBE: dict[str, Callable[[torch.Tensor], Any]] = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}


class _Holder:
    """Stands in the graph for a saved tensor. Empty, but from a recomputation until backward takes the tensor."""

    tensor: torch.Tensor | None = None


class _Stop(Exception):
    """Ends a recomputation that has all it needs."""


class _Frame:
    """The tensors that one checkpointed call has to save, in the order it does."""

    def __init__(
        self, recompute: _Recomputation, early_stop: bool, describe: Callable[[torch.Tensor], Any], log: _Log | None
    ) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.describe = describe
        self.log = log
        self.holders: list[weakref.ref[_Holder]] = []
        self.descriptions: list[Any] = []
        self.completed = False  # the forward pass is
        self.comparable = True

    def hooks(self) -> AbstractContextManager:
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: torch.Tensor) -> _Holder:
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        with torch.no_grad():
            self.descriptions.append(self.describe(tensor))
        return holder

    def unpack(self, holder: _Holder) -> torch.Tensor:
        if holder.tensor is None:
            try:
                self._fill()
            except CheckpointError as error:
                if self.log is None:
                    raise
                raise CheckpointError(self.log.report()) from error
        # Given away, not kept: a second backward recomputes, and memory is free in the meantime.
        tensor, holder.tensor = holder.tensor, None
        return tensor  # type: ignore[return-value]

    def _fill(self) -> None:
        GraphExecGroup._enter_frame(self)
        refill = _Refill(self)
        hooks = torch.autograd.graph.saved_tensors_hooks(refill.pack, lambda tensor: tensor)
        with contextlib.suppress(_Stop), hooks, torch.enable_grad():
            self.recompute()
        if self.comparable:
            self._check(refill.count)

    def _check(self, count: int) -> None:
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{_TIP}"
            )
        mismatches = ""
        for i, (reference, saved) in enumerate(zip(self.holders, self.descriptions, strict=True)):
            holder = reference()
            if holder is not None and (recomputed := self.describe(holder.tensor)) != saved:  # type: ignore[arg-type]
                mismatches += (
                    f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {recomputed}\n"
                )
        if mismatches:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{mismatches}.\n{_TIP}"
            )


_TIP = (
    "Tip: To see a more detailed error message, pass `debug=True` to `torch.utils.checkpoint.checkpoint(...)` or wrap "
    "the code block with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class _Refill:
    """Puts the tensors saved by one recomputation into the holders of ``frame``."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.count = 0

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        frame, position = self.frame, self.count
        self.count += 1
        tensor = tensor.detach()
        if position >= len(frame.holders):
            if frame.completed:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                    f"original forward pass.\n{_TIP}"
                )
            frame.comparable = False  # a backward inside of the forward pass, which has saved only some so far
            return tensor
        holder = frame.holders[position]()
        if holder is not None:
            holder.tensor = tensor
        if frame.early_stop and self.count == len(frame.holders):
            raise _Stop
        return tensor


class GraphExecGroup:
    """A context in which several backward calls recompute each checkpointed call only once.

    They must not need the same saved tensor: that raises CheckpointError. Groups cannot be nested.
    """

    _current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup._current}"
            )
        GraphExecGroup._current = self
        self._frames: weakref.WeakSet[_Frame] = weakref.WeakSet()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        GraphExecGroup._current = None

    @staticmethod
    def _enter_frame(frame: _Frame) -> None:
        group = GraphExecGroup._current
        if group is None:
            return
        if frame in group._frames:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                "If you are calling ctx.saved_tensors in backward, make sure to do so only once."
            )
        group._frames.add(frame)


# --- Debugging ---


class _Log:
    """The operations of the forward pass and of the last recomputation."""

    def __init__(self) -> None:
        self.forward = _LogMode()
        self.recomputation = _LogMode()

    def contexts(self) -> ContextPair:
        return self.forward, self.recomputation

    def report(self) -> str:
        passes = {"original forward": self.forward.calls, "recomputation": self.recomputation.calls}
        lines = ["An error happened while unpacking tensors; these operations ran, each with where it was called."]
        for title, calls in passes.items():
            lines.append(f"\n--- {title} ---")
            for i, (name, place) in enumerate(calls):
                lines.append(f"{name}   ({i + 1} of {len(calls)} in {title})\n    {place}")
        return "\n".join(lines)


class _LogMode(torch.overrides.TorchFunctionMode):
    def __enter__(self) -> Any:
        self.calls: list[tuple[str, str]] = []
        return super().__enter__()

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(True for _ in _tensors(result)):
            caller = traceback.extract_stack(limit=2)[0]
            self.calls.append((operation_name(func), f"{caller.filename}:{caller.lineno}:{caller.name}"))
        return result


# --- Selective checkpointing ---


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an operation: keep it from the forward pass, or recompute it."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


# They compute nothing, so no policy is asked about them.
SAC_IGNORED_OPS = {torch.Tensor.detach}


class SelectiveCheckpointContext:
    """What a policy function is told about a call: its result, ``op_output``. ``is_recompute`` is always False."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Callable], allow_cache_entry_mutation: bool = False
) -> ContextPair:
    """The contexts for ``context_fn`` of :func:`checkpoint` that keep the results of some operations.

    ``policy_fn_or_list`` is a list of functions whose results to keep, or a function that is called as
    ``policy(context, op, *args, **kwargs)`` after each operation and returns a :class:`CheckpointPolicy`, or whether to
    keep its result. Operations are seen as the checkpointed function calls them: ``linear``, not the product in it.

    Raises ValueError for an item of the list that is no function, TypeError if it is neither list nor function. If a
    kept tensor is modified in place, backward raises RuntimeError, unless ``allow_cache_entry_mutation``.

    >>> import functools
    >>> import flambeau as torch
    >>> x = torch.eye(2, requires_grad=True)
    >>> keep_products = functools.partial(create_selective_checkpoint_contexts, [torch.mm])
    >>> y = checkpoint(lambda x: torch.mm(x, x).sin().sum(), x, use_reentrant=False, context_fn=keep_products)
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not callable(op):
                raise ValueError(f"Expected op in `op_list` to be a function but got: {op} of type {type(op)}.")
        kept = {operation_name(op) for op in policy_fn_or_list}

        def policy_fn(context: SelectiveCheckpointContext, op: Callable, *args: Any, **kwargs: Any) -> bool:
            return operation_name(op) in kept

    elif callable(policy_fn_or_list):
        policy_fn = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[tuple[str, int], Any] = {}
    return _KeepMode(policy_fn, storage), _ReplayMode(storage, allow_cache_entry_mutation)


_RECOMPUTED = object()
_USED = object()


class _SelectiveMode(torch.overrides.TorchFunctionMode):
    """Numbers the calls of each operation. Subclasses say what to do with the one called ``key``."""

    def __enter__(self) -> Any:
        self.counts: Counter[str] = Counter()
        return super().__enter__()

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = operation_name(func)
        if func in SAC_IGNORED_OPS or name == "get":  # "get": a property
            return func(*args, **(kwargs or {}))
        key = name, self.counts[name]
        self.counts[name] += 1
        return self.run(key, func, args, kwargs or {})

    def run(self, key: tuple[str, int], func: Callable, args: tuple, kwargs: dict) -> Any:
        raise NotImplementedError


class _KeepMode(_SelectiveMode):
    """Asks the policy, and puts what it wants kept into ``storage``."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[tuple[str, int], Any]) -> None:
        self.policy_fn = policy_fn
        self.storage = storage

    def run(self, key: tuple[str, int], func: Callable, args: tuple, kwargs: dict) -> Any:
        with _Undecided.hooks() as saved:
            result = func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        if policy is True or policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE):
            self.storage[key] = _map_tensors(_Kept, result)
        else:
            self.storage[key] = _RECOMPUTED
            for tensor in saved:
                tensor.leave_to(_Frame.current)
        return result


class _ReplayMode(_SelectiveMode):
    """Returns what is in ``storage``, and runs the rest."""

    def __init__(self, storage: dict[tuple[str, int], Any], allow_mutation: bool) -> None:
        self.storage = storage
        self.allow_mutation = allow_mutation

    def run(self, key: tuple[str, int], func: Callable, args: tuple, kwargs: dict) -> Any:
        entry = self.storage.get(key)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {key[1]} encountered during backward but not found in storage. This can "
                "happen if the operations in the checkpointed region are nondeterministic or depend on global state "
                "that changed between forward and backward."
            )
        if entry is _USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _RECOMPUTED:
            return func(*args, **kwargs)
        self.storage[key] = _USED
        return _map_kept(lambda kept: kept.get(self.allow_mutation), entry)


class _Undecided:
    """A tensor saved by an operation, before the policy says whether the operation is to be recomputed."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor: torch.Tensor | None = tensor
        self.left: tuple[_Frame, _Holder] | None = None

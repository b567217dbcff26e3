"""Selective checkpointing: save the results of some operations, and recompute the rest."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch
from flambeau.extension import operation_name

from .frame import Frame

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]


class CheckpointPolicy(enum.Enum):
    """Whether to save the result of an operation in the forward pass, or recompute it."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


# Operations that compute nothing, so that policies are not called for them.
SAC_IGNORED_OPS = {torch.Tensor.detach}


class SelectiveCheckpointContext:
    """First argument of a policy function. `op_output` is the result of the operation."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Callable[..., Any]], allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return contexts for `checkpoint`'s `context_fn` that save the results of some operations.

    Operations are those that the checkpointed function calls: `linear`, not the matrix product in it.

    Args:
        policy_fn_or_list: a list of functions whose results are saved; or a policy, called as `policy(context, op,
            *args, **kwargs)` after each operation. A policy returns a `CheckpointPolicy`, or a bool for whether to save
            the result.
        allow_cache_entry_mutation: accept in-place changes of saved results; otherwise backward raises RuntimeError for
            them.

    Raises:
        ValueError: an item of the list is not a function.
        TypeError: `policy_fn_or_list` is neither a list nor a function.

    Example:
        >>> import functools
        >>> x = torch.eye(2, requires_grad=True)
        >>> save_products = functools.partial(create_selective_checkpoint_contexts, [torch.mm])
        >>> from flambeau.utils.checkpoint import checkpoint
        >>> y = checkpoint(lambda x: torch.mm(x, x).sin().sum(), x, use_reentrant=False, context_fn=save_products)
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not callable(op):
                raise ValueError(f"Expected op in `op_list` to be a function but got: {op} of type {type(op)}.")
        kept_names = {operation_name(op) for op in policy_fn_or_list}

        def policy_fn(context: SelectiveCheckpointContext, op: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
            return operation_name(op) in kept_names

    elif callable(policy_fn_or_list):
        policy_fn = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[tuple[str, int], Any] = {}
    return _KeepMode(policy_fn, storage), _ReplayMode(storage, allow_cache_entry_mutation)


_RECOMPUTED = object()
_USED = object()


class _SelectiveMode(torch.overrides.TorchFunctionMode):
    """Identify each call of an operation by a `key`: its name and a counter. Subclasses define `run`."""

    sees_methods = False

    def __enter__(self) -> Any:
        self.counts: Counter[str] = Counter()
        return super().__enter__()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = operation_name(func)
        if func in SAC_IGNORED_OPS or name == "get":  # "get" is the name of the getter of a property
            return func(*args, **(kwargs or {}))
        key = name, self.counts[name]
        self.counts[name] += 1
        return self.run(key, func, args, kwargs or {})

    def run(self, key: tuple[str, int], func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


class _KeepMode(_SelectiveMode):
    """Mode of the forward pass: stores the results that the policy selects in `storage`."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[tuple[str, int], Any]) -> None:
        self.policy_fn = policy_fn
        self.storage = storage

    def run(self, key: tuple[str, int], func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        saved: list[_Undecided] = []

        def pack(tensor: torch.Tensor) -> _Undecided:
            saved.append(_Undecided(tensor))
            return saved[-1]

        with torch.autograd.graph.saved_tensors_hooks(pack, _Undecided.unpack):
            result = func(*args, **kwargs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self.policy_fn(context, func, *args, **kwargs)
        if policy is True or policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE):
            self.storage[key] = _map_items(_Kept, result)
        else:
            self.storage[key] = _RECOMPUTED
            for undecided in saved:
                undecided.hand_over(Frame.current)
        return result


class _ReplayMode(_SelectiveMode):
    """Mode of the recomputation: returns results from `storage`, and runs the operations without a stored result."""

    def __init__(self, storage: dict[tuple[str, int], Any], allow_mutation: bool) -> None:
        self.storage = storage
        self.allow_mutation = allow_mutation

    def run(self, key: tuple[str, int], func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        entry = self.storage.get(key)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {key[1]} encountered during backward but not found in storage. "
                "This can happen if the operations in the checkpointed region are nondeterministic or "
                "depend on global state that changed between forward and backward."
            )
        if entry is _USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region "
                "computed under selective activation checkpoint."
            )
        if entry is _RECOMPUTED:
            return func(*args, **kwargs)
        self.storage[key] = _USED
        return _map_items(lambda result: result.get(self.allow_mutation), entry)


class _Undecided:
    """A tensor that an operation saved for backward, while the policy has not yet decided whether to recompute it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor: torch.Tensor | None = tensor

    def hand_over(self, frame: Frame) -> None:
        """Drop the tensor, so that `frame` recomputes it in backward."""
        self.frame = frame
        assert self.tensor is not None  # each tensor is handed over only once
        self.holder = frame.pack(self.tensor)
        self.tensor = None

    def unpack(self) -> torch.Tensor:
        return self.frame.unpack(self.holder) if self.tensor is None else self.tensor


class _Kept:
    """A result that the forward pass saved for the recomputation."""

    def __init__(self, value: Any) -> None:
        self.value = value
        if isinstance(value, torch.Tensor):
            # The graph of `value` refers to this object: without `detach`, there would be a reference cycle.
            self.value, self.requires_grad, self.version = value.detach(), value.requires_grad, value._version

    def get(self, allow_mutation: bool) -> Any:
        if not isinstance(self.value, torch.Tensor):
            return self.value
        if self.value._version != self.version and not allow_mutation:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value.detach().requires_grad_(self.requires_grad)


def _map_items(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        items = [function(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(value)

"""Activation checkpointing: trade compute for memory by recomputing a part of the forward pass in backward.

See Chen et al., `Training Deep Nets with Sublinear Memory Cost <https://arxiv.org/abs/1604.06174>`_.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch
from flambeau.extension import private_names

from .debug import Log
from .frame import DESCRIBE, CheckpointError, Frame, GraphExecGroup, Recomputation
from .reentrant import CheckpointFunction, check_backward_validity, detach_variable
from .selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from .settings import DefaultDeviceType, get_device_states, set_device_states

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

__getattr__ = private_names(__name__)

_debug_override: bool | None = None
_early_stop_override: bool | None = None


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` without saving the tensors that its backward pass needs: they are recomputed in
    backward.

    Args:
        function: the function to call, usually a module.
        *args: its arguments.
        use_reentrant: False (recommended) records the graph as usual, without the saved tensors. True runs the function
            without a graph and differentiates it by a backward pass inside the backward pass: some tensor among `args`
            must require a gradient, `autograd.grad` does not work, and `kwargs` are not supported.
        context_fn: returns two contexts, for the forward pass and for the recomputation.
        determinism_check: `"default"` compares shapes, dtypes and devices of the recomputed tensors; `"none"` does not.
        debug: include the operations of both passes in the error of the determinism check.
        early_stop: end the recomputation as soon as all saved tensors that are needed have been recomputed.
        **kwargs: keyword arguments of `function`. In addition, `preserve_rng_state` (default: True) makes the
            recomputation draw the same random numbers again.

    Raises:
        CheckpointError: in backward, if the recomputation differs.
        ValueError: options contradict each other.

    Example:

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

    if determinism_check not in DESCRIBE:
        raise ValueError(f"determinism_check should be one of {list(DESCRIBE)}, but got {determinism_check}")
    log = None
    if debug if _debug_override is None else _debug_override:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log = Log()
        context_fn = log.contexts
    forward_context, recompute_context = context_fn()
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)

    frame = Frame(
        Recomputation(function, args, kwargs, preserve, recompute_context),
        early_stop=early_stop if _early_stop_override is None else _early_stop_override,
        describe=DESCRIBE[determinism_check],
        log=log,
    )
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def _default_use_reentrant(name: str) -> bool:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
        "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
        "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to "
        "docs for more details on the differences between the two variants.",
        stacklevel=3,
    )
    return True


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Pass `input` through `functions` in `segments` parts, checkpointing all but the last.

    Args:
        functions: a Sequential or a list of functions.
        segments: number of parts.
        input: the input of the first function.
        use_reentrant: as for `checkpoint`.
        **kwargs: `preserve_rng_state`, as for `checkpoint`.

    Example:
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

    def run(part: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
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
    """Return a context that overrides the `debug` argument of every `checkpoint`; None does not override it."""
    global _debug_override
    previous, _debug_override = _debug_override, enabled
    try:
        yield
    finally:
        _debug_override = previous


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Return a context that overrides the `early_stop` argument of every `checkpoint`."""
    global _early_stop_override
    previous, _early_stop_override = _early_stop_override, enable
    try:
        yield
    finally:
        _early_stop_override = previous

"""Hooks: functions that a module calls around its forward and its backward.

`Module.__call__` only checks the flag `_has_hooks`; the code in this file runs only if a hook is registered.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import flambeau as torch
from flambeau.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from .module import Module

__all__ = [
    "Hookable",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


Hook = Callable[..., Any]
T = TypeVar("T")


class GlobalHooks:
    """The hooks that apply to every module."""

    def __init__(self) -> None:
        self._forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._forward_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self._forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
        self._backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._backward_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._is_full_backward_hook: bool | None = None
        self.registration: dict[str, OrderedDict[int, Hook]] = {
            "parameter": OrderedDict(),
            "buffer": OrderedDict(),
            "module": OrderedDict(),
        }


GLOBAL = GlobalHooks()


CALL_HOOK_KINDS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")


def has_call_hooks(owner: Any) -> bool:
    return any(getattr(owner, kind) for kind in CALL_HOOK_KINDS)


def global_call_hooks() -> tuple[int, ...]:
    """Return the identifiers of the hooks around the calls of all modules."""
    if Hookable._has_hooks is True:  # see `enable_hooks_everywhere`
        return ()
    return tuple(identifier for kind in CALL_HOOK_KINDS for identifier in getattr(GLOBAL, kind))


def add_hook(
    hooks: OrderedDict[int, T], hook: T, prepend: bool = False, flags: Sequence[OrderedDict[int, bool]] = ()
) -> RemovableHandle:
    """Add `hook` to `hooks` and its id to each dict in `flags`; return a handle that removes it from all of them."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call_registration_hooks(kind: str, module: Module, name: str, value: Any) -> Any:
    """Call the global registration hooks with a new member; return the member, or the last replacement a hook returned."""
    for hook in GLOBAL.registration[kind].values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


class Hookable:
    """The part of `Module` that registers hooks and calls them."""

    forward: Callable[..., Any]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None

    _has_hooks: Any = True  # an instance without hooks, which is not compiled, has False in its `__dict__`
    _compiled_call_impl: Callable[..., Any] | None = None  # the compiled `forward`, set by `compile`
    _hook_kinds = (
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_state_dict_pre_hooks",
        "_state_dict_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
    )

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before every forward; a return value other than None replaces the arguments.

        With `with_kwargs`, the hook is called as `hook(module, args, kwargs)` and returns None or `(args, kwargs)`.

        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(torch.zeros(2))
        tensor([1., 1.])
        """
        self.__dict__["_has_hooks"] = True
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every forward; a return value other than None replaces the output.

        With `with_kwargs`, the hook is called as `hook(module, args, kwargs, output)`; with `always_call`, it is
        called even if forward raised.
        """
        self.__dict__["_has_hooks"] = True
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; it may return a new `grad_output`."""
        self.__dict__["_has_hooks"] = True
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the module's backward; it may return a new `grad_input`.

        Gradients come as tuples, with None for arguments that are not tensors. While such a hook is registered,
        inputs and outputs of the module are views and must not be modified in place.
        """
        claim_backward_hooks(self, full=True, where="on a single Module")
        self.__dict__["_has_hooks"] = True
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: use `register_full_backward_hook`. The hook only gets the gradients of the module's last operation."""
        claim_backward_hooks(self, full=False, where="on a single Module")
        self.__dict__["_has_hooks"] = True
        return add_hook(self._backward_hooks, hook)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        forward = self._compiled_call_impl or self.forward
        if not (has_call_hooks(self) or has_call_hooks(GLOBAL)):
            self.__dict__["_has_hooks"] = self._compiled_call_impl is not None  # if False, the next call skips this method
            Hookable._has_hooks = True
            return forward(*args, **kwargs)
        result = None
        called: set[int] = set()
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            full_hooks, last_op_hooks = self._get_backward_hooks()
            pre_hooks = self._get_backward_pre_hooks()
            caller = BackwardHookCaller(self, full_hooks, pre_hooks) if full_hooks or pre_hooks else None
            if caller:
                args = caller.inputs(args)
            result = forward(*args, **kwargs)
            for key, hook, always_call, with_kwargs in self._iter_forward_hooks():
                if always_call:
                    called.add(key)
                replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if replacement is not None:
                    result = replacement
            if caller:
                result = caller.outputs(result)
            if last_op_hooks:
                hook_last_op(self, last_op_hooks, args, result)
            return result
        except Exception:
            self._run_always_called_hooks(called, args, kwargs, result)
            raise

    def _run_forward_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for key, hook in (*GLOBAL._forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is None:
                    continue
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _iter_forward_hooks(self) -> Iterator[tuple[int, Hook, bool, bool]]:
        for owner in (GLOBAL, self):
            for key, hook in list(owner._forward_hooks.items()):
                yield key, hook, key in owner._forward_hooks_always_called, key in owner._forward_hooks_with_kwargs

    def _run_always_called_hooks(self, called: set[int], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        for key, hook, always_call, with_kwargs in self._iter_forward_hooks():
            if not always_call or key in called:
                continue
            try:
                replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if replacement is not None:
                    result = replacement
            except Exception as error:
                scope = "global module" if key in GLOBAL._forward_hooks else "module"
                warnings.warn(
                    f"{scope} forward hook with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error}",
                    stacklevel=3,
                )

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        full: list[Hook] = []
        last_op: list[Hook] = []
        for owner in (GLOBAL, self):
            (full if owner._is_full_backward_hook else last_op).extend(owner._backward_hooks.values())
        return full, last_op

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*GLOBAL._backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


def claim_backward_hooks(owner: Any, full: bool, where: str) -> None:
    """Record that `owner` has full or legacy backward hooks; raise RuntimeError if it already has hooks of the other kind."""
    if owner._is_full_backward_hook is (not full):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    owner._is_full_backward_hook = full


class BackwardHookFunction(torch.autograd.Function):
    """Returns its inputs. In the autograd graph it is one node, so that a hook on the node gets all their gradients."""

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        return grads


class BackwardHookCaller:
    """Calls a module's full backward hooks, from an autograd node around its inputs and one around its outputs."""

    def __init__(self, module: Hookable, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_count = self.output_count = 0
        self.input_slots: list[int] | None = None
        self.output_slots: list[int] | None = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        args, self.input_slots = self._mark(args, self._on_grad_inputs)
        return args

    def outputs(self, result: Any) -> Any:
        if not isinstance(result, (torch.Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}",
                stacklevel=4,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        outputs, self.output_slots = self._mark(outputs, self._on_grad_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _mark(self, values: tuple[Any, ...], on_grad: Hook) -> tuple[tuple[Any, ...], list[int] | None]:
        """Pass the tensors in `values` through a `BackwardHookFunction` that calls `on_grad`; return `(values, indices)`."""
        slots = [index for index, value in enumerate(values) if isinstance(value, torch.Tensor)]
        if not (torch.is_grad_enabled() and any(values[index].requires_grad for index in slots)):
            return values, None
        marked = BackwardHookFunction.apply(*[values[index] for index in slots])
        next(tensor.grad_fn for tensor in marked if tensor.requires_grad).register_hook(on_grad)
        values_list = list(values)
        for index, tensor in zip(slots, marked, strict=True):
            values_list[index] = tensor
        cls: Any = type(values)
        return (tuple(values_list) if cls is tuple else cls._make(values_list)), slots  # keeps the type of a namedtuple

    def _on_grad_outputs(self, _: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
        assert self.output_slots is not None
        grad_outputs = scatter_to_slots(grads, self.output_slots, self.output_count)
        for hook in self.pre_hooks:
            replacement = hook(self.module, grad_outputs)
            if replacement is not None:
                check_count("Backward pre hook", "grad_output", replacement, grad_outputs)
                grad_outputs = replacement
        if self.input_slots is None:
            self._run_hooks_without_inputs(grad_outputs)
        else:
            self.grad_outputs = grad_outputs
        return tuple(grad_outputs[index] for index in self.output_slots)

    def _on_grad_inputs(self, grads: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:  # the gradient bypassed the module's outputs
            return None
        assert self.input_slots is not None
        grad_inputs = scatter_to_slots(grads, self.input_slots, self.input_count)
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is not None:
                check_count("Backward hook", "grad_input", replacement, grad_inputs)
                grad_inputs = replacement
        self.grad_outputs = None
        return tuple(grad_inputs[index] for index in self.input_slots)

    def _run_hooks_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Call the hooks with the gradients of the outputs alone, because no input requires a gradient."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs "
            "since no inputs require gradients.",
            stacklevel=5,
        )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(item is None for item in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires "
                    "gradient should always return None or None for all gradients."
                )


def scatter_to_slots(values: tuple[Any, ...], slots: list[int], count: int) -> tuple[Any, ...]:
    """Return a tuple of `count` items: `values` at the indices `slots`, None elsewhere."""
    result: list[Any] = [None] * count
    for index, value in zip(slots, values, strict=True):
        result[index] = value
    return tuple(result)


def check_count(hook: str, argument: str, got: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    if len(got) != len(expected):
        raise RuntimeError(f"{hook} returned an invalid number of {argument}, got {len(got)}, but expected {len(expected)}")


def hook_last_op(module: Hookable, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Register legacy backward hooks on the operation that computed the module's (first) output."""
    output = result
    while not isinstance(output, torch.Tensor):
        if isinstance(output, dict):
            output = next(value for value in output.values() if isinstance(value, torch.Tensor))
        else:
            output = output[0]
    node = output.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda *grads, hook=hook: hook(module, *grads))
    problem = last_op_problem(args, result, node)
    if problem:
        warnings.warn(problem, FutureWarning, stacklevel=4)


def last_op_problem(args: tuple[Any, ...], result: Any, node: Any) -> str | None:
    """Return a warning that explains why a legacy hook on `node` misses gradients of the module; None if it gets all."""
    advice = "Please use register_full_backward_hook to get the documented behavior."

    def are_tensors(values: Any) -> bool:
        return isinstance(values, tuple) and all(isinstance(value, torch.Tensor) for value in values)

    results = (result,) if isinstance(result, torch.Tensor) else result
    if not are_tensors(results):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            "is deprecated and will be removed in future versions. "
            f"This hook will be missing some of the grad_output. {advice}"
        )
    if not are_tensors(args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is deprecated and will be removed in future versions. "
            f"This hook will be missing some of the grad_input. {advice}"
        )
    if len({tensor.grad_fn for tensor in results} - {None}) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated "
            f"and will be removed in future versions. This hook will be missing some grad_output. {advice}"
        )
    if {tensor.grad_fn for tensor in args} - {None} != {function for function, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated "
            f"and will be removed in future versions. This hook will be missing some grad_input. {advice}"
        )
    return None


def enable_hooks_everywhere() -> None:
    """Make `_has_hooks` True for all modules: a property of the class takes precedence over the instances' `__dict__`."""
    Hookable._has_hooks = property(lambda module: True)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module, ahead of the module's own hooks."""
    enable_hooks_everywhere()
    return add_hook(GLOBAL._forward_pre_hooks, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module, ahead of the module's own hooks."""
    enable_hooks_everywhere()
    flags = [GLOBAL._forward_hooks_with_kwargs] if with_kwargs else []
    if always_call:
        flags.append(GLOBAL._forward_hooks_always_called)
    return add_hook(GLOBAL._forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Register a legacy backward hook for all modules; see `Module.register_backward_hook`."""
    claim_backward_hooks(GLOBAL, full=False, where="as a global Module hook")
    enable_hooks_everywhere()
    return add_hook(GLOBAL._backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Register a backward pre-hook for all modules; see `Module.register_full_backward_pre_hook`."""
    enable_hooks_everywhere()
    return add_hook(GLOBAL._backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Register a backward hook for all modules; see `Module.register_full_backward_hook`."""
    claim_backward_hooks(GLOBAL, full=True, where="as a global Module hook")
    enable_hooks_everywhere()
    return add_hook(GLOBAL._backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered; it may return another parameter."""
    return add_hook(GLOBAL.registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered; it may return another buffer."""
    return add_hook(GLOBAL.registration["buffer"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a submodule is registered; it may return another module."""
    return add_hook(GLOBAL.registration["module"], hook)

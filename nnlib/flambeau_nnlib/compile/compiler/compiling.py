"""`torch.compile`: capture calls while they run, and replay them while everything they depend on is unchanged.

A call that changes Python state, such as the one in which an optimizer creates its state, runs eagerly. The next call is
captured while it runs. The call after that is replayed and also run from the same state, and both results are compared. All
later calls are replayed.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, TypeVar, overload

import flambeau as torch
from flambeau import Tensor
from flambeau.extension.capture import (
    Captured,
    CheckFailed,
    LookedAtValue,
    NotCapturable,
    Program,
    Refused,
    capture,
    describe,
    is_recording,
    tensors_in,
    verified,
)
from flambeau.extension.taking_turns import exclusive, replaying
from flambeau.utils import pytree

from ... import nn
from . import settings
from .dependencies import Dependencies
from .errors import FailOnRecompile, Unsupported
from .watching import Watch

__all__ = ["CompiledFunction", "OptimizedModule", "compile"]

RECOMPILE_LIMIT = 8
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_MODES_WITH_GRAPHS = ("reduce-overhead", "max-autotune")
_ATTEMPTS = 4  # after this number of calls that change Python state, the function always runs eagerly
_CHANGES_STATE = "each call changes Python objects, which a replay would not repeat"


class _Entry:
    """A captured call, and what it depends on."""

    __slots__ = ("captured", "dependencies", "verified")

    def __init__(self, captured: Captured, dependencies: Dependencies) -> None:
        self.captured, self.dependencies, self.verified = captured, dependencies, False


class CompiledFunction:
    """A function whose calls are captured and replayed.

    Args:
        function: the function, or method.
        name: the name used in messages.
        fullgraph: raise an error if the function cannot be captured, instead of running it eagerly.
        recompile_limit: the maximum number of captures, for example for different shapes.
        device_graphs: launch the kernels of a replay as one device graph, if the device supports it.
        warns: warn once if the function cannot be captured.

    Attributes:
        entries: the captured calls, by the signature of the arguments.
        reason: why the function runs eagerly, or None.
        without_graph: why kernels are launched separately in spite of `device_graphs`, or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        fullgraph: bool = False,
        recompile_limit: int = RECOMPILE_LIMIT,
        device_graphs: bool = False,
        warns: bool = True,
    ) -> None:
        self.function, self.name, self.fullgraph, self.recompile_limit = function, name, fullgraph, recompile_limit
        self.device_graphs, self.warns = device_graphs, warns
        self._forget()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle without what has been captured."""
        return type(self), (self.function, self.name, self.fullgraph, self.recompile_limit, self.device_graphs, self.warns)

    def _forget(self) -> None:
        self.entries: dict[Any, list[_Entry]] = {}
        self.reason: str | None = None
        self.without_graph: str | None = None
        self._attempts = 0
        self._warm = False  # whether any call so far has left Python state unchanged
        self._calls = 0
        self._backend: Any = None  # the backend to record, if a call has used another one than its arguments
        self._generation = settings.generation()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_recording() or settings.stance() == "force_eager":
            return self.function(*args, **kwargs)
        if self._generation != settings.generation():
            self._forget()
        if self.reason is not None:
            return self.function(*args, **kwargs)
        thread = get_ident()
        replaying.append(thread)
        try:
            if not exclusive.is_taken:
                tensors, signature = _signature(args, kwargs)
                for entry in self.entries.get(signature, ()):
                    if entry.verified and entry.captured.holds(tensors) and entry.dependencies.is_unchanged():
                        try:
                            return entry.captured.replay(tensors)
                        except CheckFailed:  # a tensor has another value than in the captured call
                            continue
        finally:
            replaying.remove(thread)
        if not exclusive.acquire():
            return self.function(*args, **kwargs)
        try:
            return self._verify_or_capture(args, kwargs)
        finally:
            exclusive.release()

    def _verify_or_capture(self, args: Any, kwargs: Any) -> Any:
        """Compare the first replay of a captured call with the function, or capture the call; replay it if both are done."""
        if self.reason is not None:  # another thread has captured it meanwhile
            return self.function(*args, **kwargs)
        tensors, signature = _signature(args, kwargs)
        for entry in self.entries.get(signature, ()):
            if entry.captured.holds(tensors) and entry.dependencies.is_unchanged():
                try:
                    return self._replay(entry, tensors, args, kwargs)
                except CheckFailed:
                    continue
        return self._capture(signature, args, kwargs)

    @property
    def programs(self) -> list[Program]:
        """The captured programs of calls or training steps. Each is followed by the program of its backward pass, if any.

        Each program has its source as `code`; `print_tabular()` prints its kernel calls as a table.
        """
        captured = [entry.captured for entries in self.entries.values() for entry in entries]
        return [program for one in captured for program in (one.forward, one.backward) if program is not None]

    # --- replay ---

    def _replay(self, entry: _Entry, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        if entry.verified:
            return entry.captured.replay(tensors)
        with settings.compiling():
            result, difference = verified(entry.captured, lambda: self.function(*args, **kwargs), tensors)
        if difference is None:
            entry.verified = True
            if self.device_graphs:
                self._use_device_graphs(entry.captured)
        elif not entry.captured.separate():  # without fused loops, compare a replay again; if none, give up
            self._give_up(f"a replay differed from the function in {difference}; it may depend on state that is not tracked")
        return result

    def _use_device_graphs(self, captured: Captured) -> None:
        """Launch further replays as one device graph. If that fails on a CUDA device, warn once."""
        reasons = captured.use_device_graphs()
        if reasons and self.without_graph is None:
            self.without_graph = reasons[0]
            if captured.forward.recorder.backend.device_type == "cuda":
                warnings.warn(f"torch.compile: {self.name} is replayed without a CUDA graph: {reasons[0]}", stacklevel=5)

    # --- capture ---

    def _capture(self, signature: Any, args: Any, kwargs: Any) -> Any:
        stance, count = settings.stance(), sum(map(len, self.entries.values()))
        self._calls += 1
        if count and stance == "fail_on_recompile":
            raise FailOnRecompile(
                f"torch.compile: {self.name} would have to be compiled again, but the stance is 'fail_on_recompile'"
            )
        if (count and stance == "eager_on_recompile") or (self._calls == 1 and "eager_then" in stance):
            return self.function(*args, **kwargs)
        if count >= self.recompile_limit:
            self._give_up(f"it was already compiled {count} times, for different arguments or state; see recompile_limit")
            return self.function(*args, **kwargs)
        others = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if not isinstance(leaf, Tensor)]
        try:
            dependencies = Dependencies((self.function, *others))
        except RuntimeError as error:
            self._give_up(str(error))
            return self.function(*args, **kwargs)
        if not self._warm and not self.fullgraph:
            return self._warm_up(dependencies, args, kwargs)
        return self._try(signature, dependencies, args, kwargs)

    def _warm_up(self, dependencies: Dependencies, args: Any, kwargs: Any) -> Any:
        """Run eagerly until a call leaves Python state unchanged. The first steps of an optimizer change it."""
        result = self.function(*args, **kwargs)
        self._warm = dependencies.is_unchanged()
        self._attempts += 1
        if self._attempts > _ATTEMPTS and not self._warm:
            self._give_up(_CHANGES_STATE)
        return result

    def _try(self, signature: Any, dependencies: Dependencies, args: Any, kwargs: Any) -> Any:
        reason, captured = None, None
        try:
            with settings.compiling(), Watch() as watch:
                result, captured = capture(
                    self.function,
                    args,
                    kwargs,
                    backend=self._backend,
                    nearby=dependencies.tensors,
                    numbers=dependencies.numbers,
                    strict=self.fullgraph,
                )
        except LookedAtValue as error:
            raise Unsupported(f"torch.compile: {self.name}: {error}") from None
        except Refused as refused:
            result, reason = refused.result, str(refused)
            if refused.missed is not None and self._backend is None:
                self._backend = refused.missed
                return result
        except NotCapturable as error:  # raised before the function was called
            from flambeau.library.dispatch_modes import is_traceable_wrapper_subclass  # most programs do not need the package

            if any(map(is_traceable_wrapper_subclass, tensors_in(args, kwargs))):
                self.reason = str(error)  # the class of a wrapper computes in Python: no graph is broken
            else:
                self._give_up(str(error))
            return self.function(*args, **kwargs)
        if not dependencies.is_unchanged():
            self._attempts += 1
            captured = None
            if self._attempts <= _ATTEMPTS:
                return result
            reason = _CHANGES_STATE
        if captured is None:
            self._give_up(reason or "it cannot be captured")
            return result
        for code, names in watch.codes.items():
            dependencies.add_code(code, names)
        self.entries.setdefault(signature, []).append(_Entry(captured, dependencies))
        return result

    def _give_up(self, reason: str) -> None:
        """Run eagerly from now on, and warn once."""
        self.reason, self.entries = reason, {}
        if self.fullgraph:
            raise Unsupported(f"torch.compile: {self.name}: {reason}")
        if self.warns:
            warnings.warn(f"torch.compile: {self.name} runs eagerly: {reason}", stacklevel=5)


def _signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], Any]:
    """Return the tensors in the arguments, and a signature that selects the matching captured call."""
    if not args and not kwargs:
        return [], None
    if not kwargs and len(args) == 1 and isinstance(args[0], Tensor):
        return [args[0]], describe(args[0])
    if not kwargs and all(isinstance(argument, Tensor) for argument in args):
        tensors: list[Tensor] = list(args)
        return tensors, (tuple(map(describe, tensors)), _pattern(tensors))
    leaves, spec = pytree.tree_flatten((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    described = [describe(leaf) if isinstance(leaf, Tensor) else _described(leaf) for leaf in leaves]
    return tensors, (tuple(described), _pattern(tensors), repr(spec))


def _pattern(tensors: Sequence[Tensor]) -> Any:
    """Return a hashable value that describes which of the tensors are the same object."""
    if len(tensors) < 2:
        return None
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(tensor), position) for position, tensor in enumerate(tensors)])


def _described(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return type(value), value
    return "object", id(value)


# --- torch.compile --------------------------------------------------------------------------------------------------------


class OptimizedModule(nn.Module):
    """A module returned by `torch.compile`. It computes the same as the original module, `_orig_mod`.

    Args:
        mod: the module.
        dynamo_ctx: a function that compiles functions; None for the default settings.

    >>> list(OptimizedModule(torch.nn.Linear(1, 1)).state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    def __init__(self, mod: nn.Module, dynamo_ctx: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self._orig_mod = mod
        self.training = mod.training
        wrap = dynamo_ctx or (lambda call: CompiledFunction(call, type(mod).__name__))
        self.__dict__["_compiled_call"] = wrap(mod.__call__)
        self.__dict__["_dynamo_ctx"] = dynamo_ctx

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled_call"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled module."""
        return self.__dict__["_compiled_call"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set training mode for the module and its submodules."""
        self.training = mode
        self._orig_mod.train(mode)
        return self

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in dir(self._orig_mod))]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        wrap = state.get("_dynamo_ctx") or (lambda call: CompiledFunction(call, type(self._orig_mod).__name__))
        self.__dict__["_compiled_call"] = wrap(self._orig_mod.__call__)


_Model = TypeVar("_Model", bound=Callable[..., Any])


@overload
def compile(
    model: _Model,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> _Model: ...


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Callable[[_Model], _Model]: ...


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return a faster version of a function or module; can be used as a decorator.

    It can compile a function of tensors, a module, or a whole training step (forward, backward and the optimizer's step in
    one function). Calls are recorded as kernel calls and replayed as straight-line code, while everything they depend on is
    unchanged: shapes, dtypes and strides of the arguments, modes, globals, closures, attributes of modules. Otherwise the
    call is compiled again. A function that reads tensor values (`.item()`, `if x > 0`) or has side effects other than on
    tensors (`print`) runs eagerly, and a warning gives the reason.

    Args:
        model: the function or module.
        fullgraph: raise an error if the function cannot be compiled, instead of running it eagerly.
        dynamic: no effect, because every shape is compiled separately.
        backend: the name of a backend of PyTorch, or a function that takes a `fx.GraphModule` and example inputs and returns
            a function. All names are equivalent here, except the ones for debugging, such as `"eager"`, which run eagerly.
        mode: `"reduce-overhead"` and `"max-autotune"` replay a step on CUDA as a CUDA graph if possible. Other modes are
            equivalent to None.
        options: only `{"triton.cudagraphs": True}` has an effect: it requests CUDA graphs. It cannot be combined with `mode`.
        name: the name of the function in messages.
        disable: return the function or module unchanged.
        recompile_limit: the maximum number of captures, by default 8.
        isolate_recompiles, shapes_spec: accepted and ignored.

    Raises:
        RuntimeError: `mode` is invalid or combined with `options`, or the backend is unknown. With `fullgraph`, a call raises
            `torch._dynamo.exc.Unsupported` if the function cannot be compiled.

    Warns:
        UserWarning: the function runs eagerly; emitted once per function.

    Example:
        >>> net = torch.nn.Linear(3, 1)
        >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        >>> @torch.compile
        ... def step(x, y):
        ...     optimizer.zero_grad()
        ...     loss = torch.nn.functional.mse_loss(net(x), y)
        ...     loss.backward()
        ...     optimizer.step()
        ...     return loss.detach()
        >>> losses = [step(torch.ones(2, 3), torch.zeros(2, 1)).item() for _ in range(9)]
        >>> losses[0] > 100 * losses[-1] or losses[-1] < 1e-3
        True
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    settings.check_backend(backend)
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name,
            disable=disable, recompile_limit=recompile_limit,
        )  # fmt: skip
    if not callable(model):
        raise RuntimeError(f"torch.compile: expected a function or a module, got {type(model).__name__}")
    if disable:
        return model

    chosen = settings.get_default_backend() if backend is None else backend
    with_graphs = mode in _MODES_WITH_GRAPHS or bool((options or {}).get("triton.cudagraphs"))
    shown = str(name or getattr(model, "__name__", type(model).__name__))

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        if callable(chosen):
            from .backends import WithBackend  # imported here, because `fx` is large

            return WithBackend(model, chosen, shown, fullgraph, _signature)
        if chosen in settings.FOR_DEBUGGING:
            return function
        return CompiledFunction(function, shown, fullgraph, recompile_limit or RECOMPILE_LIMIT, with_graphs)

    if isinstance(model, nn.Module):
        return model if isinstance(model, OptimizedModule) else OptimizedModule(model, compiled)
    if inspect.isclass(model) or hasattr(model, "_torchdynamo_orig_callable"):
        return model
    call = compiled(model)

    @functools.wraps(model)
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    run._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    run.compiled = call  # type: ignore[attr-defined]  # what has been captured, to look at
    return run

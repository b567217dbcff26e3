"""`Module`: the base of every layer and network."""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar, overload

import flambeau as torch
from flambeau.__future__ import get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion
from flambeau.extension import private_names

from ..parameter import Buffer, Parameter
from .hooks import (
    CALL_HOOK_KINDS,
    Hookable,
    call_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .state_dict import Stateful
from .state_dict import _IncompatibleKeys as _IncompatibleKeys
from .state_dict import _WrappedHook as _WrappedHook

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

__getattr__ = private_names(__name__)

MEMBER_KINDS = ("_parameters", "_buffers", "_modules")
NOTHING = object()  # default of arguments for which None is a valid value


P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


MYPY = False  # mypy assumes True.  mypy 2.4 recurses without end if `__call__` is a descriptor.


class _HasForward(Protocol[P, R_co]):
    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class _CallsForward:
    """The type of `Module.__call__` for editors: a call has the parameters and the result of the module's `forward`."""

    @overload
    def __get__(self, module: _HasForward[P, R_co], owner: Any = None) -> Callable[P, R_co]: ...

    @overload
    def __get__(self, module: None, owner: Any = None) -> Callable[..., Any]: ...

    def __get__(self, module: Any, owner: Any = None) -> Any: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Members(dict[str, Any]):
    """The parameters, buffers or submodules of a module, by name.

    Each is mirrored in the module's `__dict__`, so that reading `module.weight` is an ordinary attribute lookup,
    fifteen times cheaper than `__getattr__`. Names that the class itself defines are not mirrored. If the class
    overrides `__getattr__`, no names are mirrored, so that its method is called. A module and its shallow copies share
    members.
    """

    __slots__ = ("_owners",)

    def __init__(self, owner: Module, members: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self._owners = [weakref.ref(owner)]
        self.update(members)

    def add_owner(self, owner: Module) -> None:
        """Also mirror the members in `owner`."""
        self.remove_owner(owner)
        self._owners.append(weakref.ref(owner))
        for name, value in self.items():
            mirror(owner, name, value)

    def remove_owner(self, owner: Module) -> None:
        """Stop mirroring the members in `owner`, which is about to get other members."""
        self._owners = [ref for ref in self._owners if ref() is not None and ref() is not owner]

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        for ref in self._owners:
            owner = ref()
            if owner is not None:
                mirror(owner, name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._unmirror(name)

    def pop(self, name: str, *default: Any) -> Any:
        is_member = name in self
        value = super().pop(name, *default)
        if is_member:
            self._unmirror(name)
        return value

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._unmirror(name)
        return name, value

    def _unmirror(self, name: str) -> None:
        for ref in self._owners:
            owner = ref()
            if owner is not None:
                owner.__dict__.pop(name, None)

    # these methods of dict would not call `__setitem__` and `__delitem__`
    update = MutableMapping.update
    clear = MutableMapping.clear
    setdefault = MutableMapping.setdefault

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def mirror(owner: Module, name: str, value: Any) -> None:
    cls = type(owner)
    if cls.__getattr__ is Module.__getattr__ and not hasattr(cls, name):
        owner.__dict__[name] = value


def _parameter_like(param: Parameter, data: torch.Tensor, grad: torch.Tensor | None) -> Parameter:
    new: Parameter = Parameter(data, param.requires_grad)
    new.grad = grad
    return new


class Module(Stateful, Hookable):
    """The base of all layers and networks.

    A subclass calls `super().__init__()` in its `__init__`, assigns parameters and submodules to attributes, and defines
    `forward`. Assigned parameters are registered, so that `parameters()`, `to()` and `state_dict()` include them. Call the
    module itself, `module(x)`, not its `forward`, so that hooks run.

    Shape:
        - Input and output: those of the subclass's `forward`.

    Example:
        >>> class Net(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = torch.nn.Linear(2, 4)
        ...     def forward(self, x):
        ...         return torch.relu(self.hidden(x))
        >>> Net()
        Net(
          (hidden): Linear(in_features=2, out_features=4, bias=True)
        )
        >>> Net()(torch.ones(3, 2)).shape
        torch.Size([3, 4])
    """

    call_super_init = False
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        for kind in MEMBER_KINDS:
            self._set_members(kind, {})
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        state["_has_hooks"] = False
        for kind in self._hook_kinds:
            state[kind] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, input: Any = NOTHING, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or self._has_hooks or input is NOTHING:
            args = args if input is NOTHING else (input, *args)
            return self._call_with_hooks(args, kwargs) if self._has_hooks else self.forward(*args, **kwargs)
        # without packing arguments, a call takes a third of the time
        return self.forward(input, *args) if args else self.forward(input)

    _call_impl = __call__  # programs that replace `__call__` call PyTorch's private name

    def forward(self, *input: Any) -> Any:
        """Compute the output of the module; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    if TYPE_CHECKING and not MYPY:
        __call__: _CallsForward
        forward: Callable[..., Any]

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's `forward` in place, with the options of `torch.compile`.  Hooks run as before.

        Unlike `torch.compile(module)`, this keeps the module itself.  Copies and pickles are not compiled.

        >>> layer = torch.nn.Linear(2, 3)
        >>> layer.compile()
        >>> layer(torch.ones(1, 2)).shape
        torch.Size([1, 3])
        """
        self.__dict__["_compiled_call_impl"] = torch.compile(self.forward, *args, **kwargs)
        self.__dict__["_has_hooks"] = True

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter as attribute `name`. None reserves the name for a parameter, and is not in the `state_dict`."""
        self._check_new_name("parameter", "_parameters", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{torch.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                    "the forward() method."
                )
            param = call_registration_hooks("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: torch.Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that is part of the state but not a parameter. `state_dict` contains it if `persistent`.

        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        self._check_new_name("buffer", "_buffers", name)
        if tensor is not None and not torch.overrides.is_tensor_like(tensor):
            raise TypeError(f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = call_registration_hooks("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule as attribute `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_new_name("module", "_modules", name)
        self._modules[name] = call_registration_hooks("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; the same as `add_module`."""
        self.add_module(name, module)

    def _check_new_name(self, label: str, kind: str, name: str) -> None:
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {label} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{label} name should be a string. Got {torch.typename(name)}")
        if "." in name:
            got = f", got: {name}" if label == "module" else ""
            raise KeyError(f'{label} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{label} name can\'t be empty string ""')
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        """Return a member that is not mirrored in `__dict__`; see `Members`."""
        for kind in MEMBER_KINDS:
            members = self.__dict__.get(kind, ())
            if name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._delete_name(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._delete_name(name, keep="_modules")
            self._modules[name] = call_registration_hooks("module", self, name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = call_registration_hooks("module", self, name, None)
        elif isinstance(value, Buffer) or name in state.get("_buffers", ()):
            self._set_buffer(name, value)
        elif name in MEMBER_KINDS:
            self._set_members(name, value)
        else:
            super().__setattr__(name, value)
            if name in CALL_HOOK_KINDS:
                state["_has_hooks"] = True

    def _set_members(self, kind: str, members: dict[str, Any]) -> None:
        """Replace all members of a kind: parameters, buffers or submodules. A `Members` instance stays shared with its owners."""
        previous = self.__dict__.get(kind, ())
        if previous is members:
            return
        for name in previous:
            self.__dict__.pop(name, None)
        if isinstance(previous, Members):
            previous.remove_owner(self)
        if isinstance(members, Members):
            members.add_owner(self)
        else:
            members = Members(self, members)
        self.__dict__[kind] = members

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not torch.overrides.is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        is_buffer = isinstance(value, Buffer)
        persistent = value.persistent if is_buffer else name not in self._non_persistent_buffers_set
        is_overridden = type(self).register_buffer is not Module.register_buffer
        if not is_overridden or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )

    def _delete_name(self, name: str, keep: str) -> None:
        """Before a member `name` of kind `keep` is registered, delete any attribute or member of another kind with this name."""
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        for kind in MEMBER_KINDS:
            if kind != keep:
                self.__dict__[kind].pop(name, None)

    def __delattr__(self, name: str) -> None:
        for kind in MEMBER_KINDS:
            members = getattr(self, kind)
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling and copying: members as plain dicts, without their mirrors in `__dict__`."""
        members = {kind: dict(self.__dict__[kind]) for kind in MEMBER_KINDS if kind in self.__dict__}
        excluded = {"_has_hooks", "_compiled_call_impl", *(name for names in members.values() for name in names)}
        return {name: value for name, value in self.__dict__.items() if name not in excluded} | members

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state.items() if name not in MEMBER_KINDS})
        for kind in MEMBER_KINDS:
            self._set_members(kind, state.get(kind, {}))
        for kind in self._hook_kinds:
            self.__dict__.setdefault(kind, OrderedDict())

    def __copy__(self) -> Self:
        """Return a shallow copy, which shares the members: registering one in either module affects both."""
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        for kind in MEMBER_KINDS:
            copied._set_members(kind, self.__dict__.get(kind, {}))
        return copied

    # Traversal

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over (name, module) pairs of the direct submodules, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over this module and all its descendants, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over (dotted name, module) pairs of this module and all its descendants.

        >>> net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))
        >>> [name for name, module in net.named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                dotted = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, dotted, remove_duplicate)

    def _named_members(
        self,
        get_members: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, member in get_members(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{module_prefix}.{name}" if module_prefix else name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters of this module and, if `recurse`, of its descendants; each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over (dotted name, parameter) pairs.

        >>> [(name, tuple(param.shape)) for name, param in torch.nn.Linear(2, 3).named_parameters()]
        [('weight', (3, 2)), ('bias', (3,))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[torch.Tensor]:
        """Iterate over the buffers of this module and, if `recurse`, of its descendants; each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Iterate over (dotted name, buffer) pairs."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """Return the module with dotted name `target`; AttributeError if it is missing."""
        module = self
        for name in target.split(".") if target else ():
            module = module._get_member(name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the submodule with dotted name `target`; if `strict`, it must already exist.

        >>> net = torch.nn.Sequential(torch.nn.ReLU())
        >>> net.set_submodule("0", torch.nn.Tanh())
        >>> net[0]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._get_member(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with dotted name `target`; AttributeError if it is missing."""
        path, _, name = target.rpartition(".")
        param = self.get_submodule(path)._get_member(name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> torch.Tensor:
        """Return the buffer with dotted name `target`; AttributeError if it is missing."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer: torch.Tensor = module._get_member(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def _get_member(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    # Conversion

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every descendant module, then on this module.

        >>> def zero_bias(module):
        ...     if isinstance(module, torch.nn.Linear):
        ...         torch.nn.init.zeros_(module.bias)
        >>> net = torch.nn.Sequential(torch.nn.Linear(1, 2)).apply(zero_bias)
        >>> net[0].bias.tolist()
        [0.0, 0.0]
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Apply `fn` to all tensors. Parameters and gradients stay the same objects, unless moved from or to device `meta`."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                new_data = fn(param)
                new_grad = None if param.grad is None else fn(param.grad)
            if get_swap_module_params_on_conversion():
                grad, param.grad = param.grad, None
                torch.utils.swap_tensors(param, _parameter_like(param, new_data, None))
                if grad is not None and new_grad is not None:
                    torch.utils.swap_tensors(grad, new_grad)
                    param.grad = grad
            elif (
                get_overwrite_module_params_on_conversion()
                or param.is_meta != new_data.is_meta
                or param.layout is not new_data.layout
            ):
                self._parameters[name] = _parameter_like(param, new_data, new_grad)
            else:
                param.data = new_data
                if new_grad is not None and param.grad is not None:
                    param.grad.data = new_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers, in place: `to(device, dtype)`, `to(dtype)`, `to(tensor)`, `to(memory_format=)`.

        A dtype, which must be floating point or complex, applies to floating-point and complex tensors only.

        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and some "
                "modules might not work as expected when using complex tensors as parameters or buffers.",
                stacklevel=2,
            )

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            converts = dtype is not None and (tensor.is_floating_point() or tensor.is_complex())
            target = (device or tensor.device, dtype if converts else tensor.dtype, non_blocking)
            in_format = memory_format is not None and tensor.dim() in (4, 5)
            try:
                return tensor.to(*target, memory_format=memory_format) if in_format else tensor.to(*target)
            except NotImplementedError as error:
                if not tensor.is_meta:
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device: torch.device | str | int | None, recurse: bool = True) -> Self:
        """Move parameters and buffers to `device` without copying their values."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: torch.dtype | str) -> Self:
        """Convert all parameters and buffers to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_floating(self, dtype: torch.dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._to_floating(torch.float32)

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._to_floating(torch.float64)

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._to_floating(torch.float16)

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._to_floating(torch.bfloat16)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: int | torch.device | None = None) -> Self:
        """Move all parameters and buffers to the current, or the given, CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that other processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # Training and evaluation mode

    def train(self, mode: bool = True) -> Self:
        """Set this module and its descendants to training mode, or to evaluation mode if `mode` is False.

        >>> torch.nn.Dropout(0.9).train(False)(torch.ones(3))
        tensor([1., 1., 1.])
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode; the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters, to None or, without `set_to_none`, to zero."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
                "The parameters are copied (in a differentiable manner) from the original module. "
                "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
                "If you need gradients in your forward method, consider using autograd.grad instead.",
                stacklevel=2,
            )
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
            elif grad.grad_fn is not None:
                grad.detach_().zero_()
            else:
                grad.requires_grad_(False).zero_()

    def _replicate_for_data_parallel(self) -> Self:
        """Return a shallow copy of this module without parameters."""
        replica = type(self).__new__(type(self))
        members = {"_parameters": {}, "_buffers": dict(self._buffers), "_modules": dict(self._modules)}
        replica.__setstate__({**self.__getstate__(), **members, "_is_replica": True})
        return replica

    # Printed form

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the settings that `repr` shows between the parentheses; override it in subclasses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        settings = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if not children and len(settings) <= 1:
            return f"{self._get_name()}({extra})"
        lines = "\n  ".join([*settings, *children])
        return f"{self._get_name()}(\n  {lines}\n)"


def indent(text: str) -> str:
    """Indent every line of `text` except the first and blank lines by two spaces."""
    first, *lines = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in lines)])


def parse_to(*args: Any, **kwargs: Any) -> tuple[torch.device | None, torch.dtype | None, bool, Any]:
    """Parse the arguments of `to`: return `(device, dtype, non_blocking, memory_format)`."""
    first = args[0] if args else None
    names: tuple[str, ...]
    if isinstance(first, torch.Tensor):
        names = ("tensor", "non_blocking", "copy")
    elif isinstance(first, torch.dtype):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    options = dict(zip(names, args, strict=False))
    unknown = set(kwargs) - {"tensor", "device", "dtype", "non_blocking", "copy", "memory_format"}
    dtype = options.get("dtype", kwargs.get("dtype"))
    if unknown or not isinstance(dtype, torch.dtype | None) or len(args) > len(names) or options.keys() & kwargs.keys():
        got = [torch.typename(arg) for arg in args] + [f"{name}={torch.typename(kwargs[name])}" for name in kwargs]
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(got)})")
    options.update(kwargs)
    if options.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    if "tensor" in options:
        options["device"], options["dtype"] = options["tensor"].device, options["tensor"].dtype
    device = options.get("device")
    if device is not None and not isinstance(device, torch.device):
        device = torch.device(device)
    return device, options.get("dtype"), bool(options.get("non_blocking", False)), options.get("memory_format")

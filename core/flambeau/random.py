"""`torch.random`: random generators, the default generators of all devices, and functions that seed and save them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from . import backend as backends
from .engine.calls.transform_hooks import hooks
from .engine.devices.devices import canonical, device, dispatch_key
from .engine.tape.transforming import open_batches
from .engine.tensors.tensor import Tensor, wrap
from .engine.values import dtypes
from .engine.values.forking import new_lock

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_Device = device
_lock = new_lock()


class Generator:
    """A random number generator.  On the CPU it generates the same numbers as PyTorch for the same seed.

    Args:
        device: the device for which numbers are generated.

    Raises:
        RuntimeError: the device is not available, or is `meta`, which has no generator.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = _Device(device)
        if self._device.type != "cpu":
            _check_backend(self._device.type)
        self._raw: Any = None  # created at the first use, because libraries take time to import their generators

    @property
    def device(self) -> _Device:
        """Return the device of the generator.

        >>> torch.Generator().device
        device(type='cpu')
        """
        return self._device

    @property
    def raw(self) -> Any:
        """The generator object of the backend, which draws the samples."""
        if self._raw is None:
            place = canonical(self.device)
            raw = backends.for_device_type(place.type).generator(place.index or 0)
            with _lock:  # of two threads that create it, the first one sets it
                self._raw = self._raw or raw
        return self._raw

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed.  Return the generator.

        Args:
            seed: the seed; negative numbers are taken modulo `2**64`.
        """
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        try:
            self.raw.manual_seed(int(seed))
        except ValueError as error:
            raise RuntimeError(str(error)) from error
        return self

    def seed(self) -> int:
        """Set a random seed from the operating system.  Return the seed."""
        return self.raw.seed()  # type: ignore[no-any-return]  # generators are untyped

    def initial_seed(self) -> int:
        """Return the last seed that was set."""
        return self.raw.initial_seed()  # type: ignore[no-any-return]  # generators are untyped

    def get_state(self) -> Tensor:
        """Return the state as a uint8 tensor in PyTorch's layout."""
        key = dispatch_key(dtypes.uint8, _Device("cpu"))
        return wrap(key.backend.asarray(self.raw.get_state()), key)

    def set_state(self, new_state: Tensor) -> Generator:
        """Set the state to one that `get_state` returned.  Return the generator."""
        if not isinstance(new_state, Tensor) or new_state.dtype is not dtypes.uint8:
            raise TypeError(
                "expected a torch.ByteTensor, but got "
                + (new_state.type() if isinstance(new_state, Tensor) else type(new_state).__name__)
            )
        if new_state.device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.raw.set_state(new_state._array)  # the backend's array, not a NumPy array, so that graph capture can trace it
        return self

    def clone_state(self) -> Generator:
        """Return a new generator with the same state."""
        copy = Generator(self.device)
        copy._raw = self.raw.clone()
        return copy

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Set the state to that of another generator.  Return this generator."""
        self._raw = state.raw.clone()
        return self

    def get_offset(self) -> int:
        """Return the offset of a counter-based generator.  RuntimeError for the CPU, whose generator has no offset."""
        if not hasattr(self.raw, "get_offset"):
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")
        return self.raw.get_offset()  # type: ignore[no-any-return]  # generators are untyped

    def set_offset(self, offset: int) -> Generator:
        """Set the offset of a counter-based generator.  RuntimeError for the CPU, whose generator has no offset."""
        if not hasattr(self.raw, "set_offset"):
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")
        self.raw.set_offset(offset)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        offset = self.get_offset() if hasattr(self.raw, "get_offset") else None
        return type(self), (self.device,), (self.initial_seed(), offset, self.get_state())

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):  # from an older pickle, which creates the object without `__init__`
            self.__init__(state["device"])  # type: ignore[misc]  # the same class
            state = (0, None, state["state"])
        self.set_state(state[2])

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {hex(id(self))}>"


default_generator: Final = Generator("cpu")
_of_context: ContextVar[Generator] = ContextVar("default_generator", default=default_generator)
_current: Callable[[], Generator] = _of_context.get  # the default CPU generator of this thread
_defaults: dict[tuple[str, int], Generator] = {}


def _check_backend(device_type: str) -> None:
    if device_type == "meta":
        raise RuntimeError("META device type not an accelerator.")
    try:
        backends.for_device_type(device_type)
    except AssertionError as error:  # PyTorch raises AssertionError for tensors, but RuntimeError for generators
        raise RuntimeError(f"Cannot get {device_type.upper()} generator: {error}") from error


@contextmanager
def use_default_generator(generator: Generator) -> Iterator[None]:
    """Context in which this thread draws from `generator`, instead of the CPU's default generator, and seeds it alone.

    `torch.default_generator` remains the generator of the other threads.
    """
    token = _of_context.set(generator)
    try:
        yield
    finally:
        _of_context.reset(token)


def default_for(place: device) -> Generator:
    """Return the default generator of a device."""
    if place.type == "cpu":
        return _current()
    place = canonical(place)
    key = (place.type, place.index or 0)
    if key not in _defaults:
        generator = Generator(place)
        if _default_seed is not None:
            generator.manual_seed(_default_seed)
        _defaults.setdefault(key, generator)
    return _defaults[key]


_default_seed: int | None = None  # the seed of `manual_seed`, for default generators that are created later


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices.  Return that of the CPU.

    Args:
        seed: the seed; negative numbers are taken modulo `2**64`.

    >>> _ = torch.manual_seed(0); torch.rand(1)
    tensor([0.4963])
    """
    global _default_seed
    seed = int(seed)
    current = _current()
    current.manual_seed(seed)
    if current is default_generator:
        _default_seed = seed
        for generator in _defaults.values():
            generator.manual_seed(seed)
    return current


def seed() -> int:
    """Seed the default generators by a random seed from the operating system.  Return the seed."""
    current = _current()
    new_seed = current.seed()
    if current is default_generator:
        for generator in _defaults.values():
            generator.manual_seed(new_seed)
    return new_seed


def initial_seed() -> int:
    """Return the seed of the default CPU generator."""
    return _current().initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default CPU generator as a uint8 tensor."""
    return _current().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default CPU generator.

    Args:
        new_state: a state from `get_rng_state`.

    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), first)
    True
    """
    _current().set_state(new_state)


@contextmanager
def fork_rng(
    devices: Sequence[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restore the states of the default generators at the end of a `with` block.

    Args:
        devices: devices or indices of `device_type` to include, even if their generators have not been used yet.
        enabled: False to restore nothing.
        device_type: the device type of indices in `devices`.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(3)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    if device(device_type).type == "meta" or not enabled:
        yield
        return
    for entry in devices or ():  # creates the generators of these devices, so that their states are saved
        default_for(device(device_type, entry) if isinstance(entry, int) else device(entry))
    current = _current()
    saved = current.get_state()
    others = {key: generator.get_state() for key, generator in _defaults.items()}
    try:
        yield
    finally:
        current.set_state(saved)
        for key, state in others.items():
            _defaults[key].set_state(state)


def raw_generator(generator: Generator | None, place: device) -> Any:
    """Return the backend's generator for sampling on a device: that of `generator`, else the default one."""
    if generator is None and place.type == "cpu" and not open_batches():
        current = _current()
        return current._raw or current.raw
    if place.type == "meta":  # tensors on `meta` have no values, so that any generator is accepted
        raw = backends.for_device_type("meta").generator(0)
    elif generator is not None and generator.device.type != place.type:
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{generator.device.type}'")
    else:
        raw = default_for(place).raw if generator is None else generator.raw
    return hooks.batches.generator(raw, place) if open_batches() else raw

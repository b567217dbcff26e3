"""Random generators: `Generator`, the default generators of the devices, and functions that seed and save them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from . import backend as backends
from .engine.calls.transform_hooks import hooks
from .engine.devices.devices import canonical, device, dispatch_key
from .engine.tape.transforming import open_batches
from .engine.tensors.tensor import Tensor, wrap
from .engine.values import dtypes

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_Device = device


class Generator:
    """A stream of random numbers; on the CPU, it is PyTorch's stream for the same seed.

    Raises:
        RuntimeError: there is no such device, or it is `meta`, on which nothing is drawn.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = _Device(device)
        if self._device.type != "cpu":
            _check_backend(self._device.type)
        self._raw: Any = None  # made when first used: loading a library's generators takes time

    @property
    def device(self) -> _Device:
        """The device of the generator.

        >>> torch.Generator().device
        device(type='cpu')
        """
        return self._device

    @property
    def raw(self) -> Any:
        """The backend's own generator, with the samplers."""
        if self._raw is None:
            place = canonical(self.device)
            self._raw = backends.for_device_type(place.type).generator(place.index or 0)
        return self._raw

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from `seed`; returns the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        try:
            self.raw.manual_seed(int(seed))
        except ValueError as error:
            raise RuntimeError(str(error)) from error
        return self

    def seed(self) -> int:
        """Restart the stream from a random seed of the operating system; returns the seed."""
        return self.raw.seed()  # type: ignore[no-any-return]  # generators are untyped

    def initial_seed(self) -> int:
        """The seed that the stream was started from."""
        return self.raw.initial_seed()  # type: ignore[no-any-return]  # generators are untyped

    def get_state(self) -> Tensor:
        """The state as a ByteTensor, in PyTorch's layout."""
        key = dispatch_key(dtypes.uint8, _Device("cpu"))
        return wrap(key.backend.asarray(self.raw.get_state()), key)

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that `get_state` returned."""
        if not isinstance(new_state, Tensor) or new_state.dtype is not dtypes.uint8:
            raise TypeError(
                "expected a torch.ByteTensor, but got "
                + (new_state.type() if isinstance(new_state, Tensor) else type(new_state).__name__)
            )
        if new_state.device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.raw.set_state(new_state._array)  # not as NumPy's array: compiled steps follow it
        return self

    def clone_state(self) -> Generator:
        """A new generator that starts from the current state."""
        copy = Generator(self.device)
        copy._raw = self.raw.clone()
        return copy

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """Continue from another generator's state."""
        self._raw = state.raw.clone()
        return self

    def get_offset(self) -> int:
        """The offset in a counter-based stream; the CPU's generator has none."""
        if not hasattr(self.raw, "get_offset"):
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")
        return self.raw.get_offset()  # type: ignore[no-any-return]  # generators are untyped

    def set_offset(self, offset: int) -> Generator:
        """Set the offset in a counter-based stream; the CPU's generator has none."""
        if not hasattr(self.raw, "set_offset"):
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")
        self.raw.set_offset(offset)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self.device, "state": self.get_state()}

    def __setstate__(self, state: Any) -> None:
        self.__init__(state["device"])  # type: ignore[misc]  # the same class
        self.set_state(state["state"])

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {hex(id(self))}>"


default_generator: Final = Generator("cpu")
_defaults: dict[tuple[str, int], Generator] = {}


def _check_backend(device_type: str) -> None:
    if device_type == "meta":
        raise RuntimeError("META device type not an accelerator.")
    try:
        backends.for_device_type(device_type)
    except AssertionError as error:  # PyTorch raises AssertionError for tensors, but RuntimeError for generators
        raise RuntimeError(f"Cannot get {device_type.upper()} generator: {error}") from error


def default_for(place: device) -> Generator:
    """The default generator of a device."""
    if place.type == "cpu":
        return default_generator
    place = canonical(place)
    key = (place.type, place.index or 0)
    if key not in _defaults:
        _defaults[key] = Generator(place)
        if _seed_of_others is not None:
            _defaults[key].manual_seed(_seed_of_others)
    return _defaults[key]


_seed_of_others: int | None = None  # the seed for devices whose default generators are made later


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices; returns the CPU's.

    >>> _ = torch.manual_seed(0); torch.rand(1)
    tensor([0.4963])
    """
    global _seed_of_others
    seed = int(seed)
    default_generator.manual_seed(seed)
    _seed_of_others = seed
    for generator in _defaults.values():
        generator.manual_seed(seed)
    return default_generator


def seed() -> int:
    """Seed the default generators from the operating system; returns the seed."""
    new_seed = default_generator.seed()
    for generator in _defaults.values():
        generator.manual_seed(new_seed)
    return new_seed


def initial_seed() -> int:
    """The seed of the default CPU generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default CPU generator, as a ByteTensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default CPU generator."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Sequence[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Context that restores the states of the default generators at its end.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(3)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    if device(device_type).type == "meta" or not enabled:
        yield
        return
    for entry in devices or ():  # creates their generators, so that their states are saved
        default_for(device(device_type, entry) if isinstance(entry, int) else device(entry))
    saved = default_generator.get_state()
    others = {key: generator.get_state() for key, generator in _defaults.items()}
    try:
        yield
    finally:
        default_generator.set_state(saved)
        for key, state in others.items():
            _defaults[key].set_state(state)


def raw_generator(generator: Generator | None, place: device) -> Any:
    """The backend's generator to sample from."""
    if generator is None and place.type == "cpu" and not open_batches():
        return default_generator._raw or default_generator.raw
    if place.type == "meta":  # nothing is drawn, whatever the generator
        raw = backends.for_device_type("meta").generator(0)
    elif generator is not None and generator.device.type != place.type:
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{generator.device.type}'")
    else:
        raw = default_for(place).raw if generator is None else generator.raw
    return hooks.batches.generator(raw, place) if open_batches() else raw

"""Random number generators of CUDA devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import random as generators
from ..engine.devices import cuda as runtime
from ..engine.devices import devices
from ..engine.tensors.tensor import Tensor

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip


def default_generators() -> tuple[generators.Generator, ...]:
    """Return the default generator of each device."""
    return tuple(_default_generator(index) for index in range(runtime.device_count()))


def _default_generator(place: Any) -> generators.Generator:
    return generators.default_for(devices.device("cuda", runtime.index_of(place)))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; does nothing without CUDA."""
    seed = int(seed)
    if runtime.is_available():
        _default_generator(None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; does nothing without CUDA."""
    seed = int(seed)
    for generator in default_generators():
        generator.manual_seed(seed)


def seed() -> None:
    """Seed the generator of the current device with a random number; does nothing without CUDA."""
    if runtime.is_available():
        _default_generator(None).seed()


def seed_all() -> None:
    """Seed the generators of all devices with one random number; does nothing without CUDA."""
    all_generators = default_generators()
    if all_generators:
        manual_seed_all(all_generators[0].seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    runtime.init()
    return _default_generator(None).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the state of a device's generator as a ByteTensor."""
    runtime.init()
    return _default_generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all devices' generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of a device's generator; does nothing without CUDA."""
    if runtime.is_available():
        _default_generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all devices' generators, in the order of the devices."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)

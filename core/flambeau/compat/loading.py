"""Private functions of `torch.serialization`: the parts of `torch.load`, for programs that replace it."""

from __future__ import annotations

from typing import Any, NoReturn

from ..serialization import load

__all__: list[str] = []


def _legacy_load(f: Any, map_location: Any, pickle_module: Any, **pickle_load_args: Any) -> Any:
    """Read a file of PyTorch before 1.6 with the given module for pickles; see `torch.load`."""
    return load(f, map_location, pickle_module, weights_only=False, **pickle_load_args)


def _load(zip_file: Any, map_location: Any, pickle_module: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: archives are read by `torch.load`, from files."""
    raise NotImplementedError("torch.serialization._load is not supported; call torch.load on the file")

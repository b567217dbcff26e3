"""The names of `torch._inductor`, PyTorch's compiler back end, that libraries use.  flambeau has its own compiler."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from flambeau_nnlib.compile import export
from flambeau_nnlib.compile.compiler import cudagraph_mark_step_begin

from . import config, utils

__all__ = [
    "aoti_compile_and_package", "aoti_load_package", "config", "cudagraph_mark_step_begin", "list_mode_options", "list_options",
    "utils",
]  # fmt: skip


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """Return the settings that each `mode` of `torch.compile` changes, or those of one mode."""
    return dict(config.MODES) if mode is None else config.MODES[mode]


def list_options() -> list[str]:
    """Return the names of the settings in `torch._inductor.config`."""
    return sorted(config.get_config_copy())


def aoti_compile_and_package(
    exported_program: export.ExportedProgram,
    *,
    package_path: str | os.PathLike[str] | None = None,
    inductor_configs: dict[str, Any] | None = None,
) -> str:
    """Save an exported program, to be loaded by `aoti_load_package`.

    Args:
        exported_program: the program, see `torch.export.export`.
        package_path: a file name that ends in `.pt2`. Default: a new temporary file.
        inductor_configs: accepted for compatibility and ignored.

    Returns:
        The file name.

    Raises:
        AssertionError: the file name does not end in `.pt2`.

    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> path = torch._inductor.aoti_compile_and_package(program)
    >>> torch._inductor.aoti_load_package(path)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    path = package_path or Path(tempfile.mkdtemp()) / "model.pt2"
    if not os.fspath(path).endswith(".pt2"):
        raise AssertionError(f"Expect package path to be a file ending in .pt2, got {path} instead.")
    export.save(exported_program, path)
    return os.fspath(path)


def aoti_load_package(path: str | os.PathLike[str], model_name: str = "model", *args: Any, **kwargs: Any) -> Any:
    """Return the program of a file as a function; see `aoti_compile_and_package`."""
    return export.load(path).module()

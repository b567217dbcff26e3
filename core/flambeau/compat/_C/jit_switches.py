"""Switches of PyTorch's JIT compiler.  They keep their values, and have no effect: scripts run as Python."""

from __future__ import annotations

__all__ = [
    "_get_graph_executor_optimize", "_jit_can_fuse_on_cpu", "_jit_can_fuse_on_gpu", "_jit_clear_class_registry",
    "_jit_get_num_profiled_runs",
    "_jit_override_can_fuse_on_cpu", "_jit_override_can_fuse_on_gpu", "_jit_set_bailout_depth", "_jit_set_num_profiled_runs",
    "_jit_set_nvfuser_enabled", "_jit_set_nvfuser_guard_mode", "_jit_set_profiling_executor", "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled", "_jit_texpr_fuser_enabled", "_set_graph_executor_optimize",
]  # fmt: skip

_values = {
    "bailout_depth": 20,
    "fuse_on_cpu": True,
    "fuse_on_gpu": True,
    "num_profiled_runs": 1,
    "optimize": True,
    "profiling_executor": True,
    "profiling_mode": True,
    "texpr_fuser": True,
}


def _exchange(name: str, value: int) -> int:
    before, _values[name] = _values[name], value
    return before


def _jit_set_profiling_executor(value: bool) -> bool:
    """Set whether functions are profiled before they are optimized; return the previous value."""
    return bool(_exchange("profiling_executor", value))


def _jit_set_profiling_mode(value: bool) -> bool:
    """Set whether the profiling executor specializes functions to shapes; return the previous value."""
    return bool(_exchange("profiling_mode", value))


def _jit_set_num_profiled_runs(value: int) -> int:
    """Set the number of calls that are profiled; return the previous number."""
    return _exchange("num_profiled_runs", value)


def _jit_get_num_profiled_runs() -> int:
    """Return the number of calls that are profiled."""
    return _values["num_profiled_runs"]


def _jit_set_bailout_depth(value: int) -> int:
    """Set how often a function may be specialized; return the previous number."""
    return _exchange("bailout_depth", value)


def _jit_set_texpr_fuser_enabled(value: bool) -> None:
    """Set whether element-wise operations are fused."""
    _exchange("texpr_fuser", value)


def _jit_texpr_fuser_enabled() -> bool:
    """Whether element-wise operations are fused."""
    return bool(_values["texpr_fuser"])


def _jit_override_can_fuse_on_cpu(value: bool) -> None:
    """Set whether operations are fused on the CPU."""
    _exchange("fuse_on_cpu", value)


def _jit_can_fuse_on_cpu() -> bool:
    """Whether operations are fused on the CPU."""
    return bool(_values["fuse_on_cpu"])


def _jit_override_can_fuse_on_gpu(value: bool) -> None:
    """Set whether operations are fused on GPUs."""
    _exchange("fuse_on_gpu", value)


def _jit_can_fuse_on_gpu() -> bool:
    """Whether operations are fused on GPUs."""
    return bool(_values["fuse_on_gpu"])


def _jit_set_nvfuser_enabled(value: bool) -> None:
    """Do nothing: PyTorch has removed this compiler and keeps the function."""


def _jit_set_nvfuser_guard_mode(value: bool) -> None:
    """Do nothing: PyTorch has removed this compiler and keeps the function."""


def _set_graph_executor_optimize(value: bool) -> None:
    """Set whether scripts are optimized."""
    _exchange("optimize", value)


def _get_graph_executor_optimize(new_setting: bool | None = None) -> bool:
    """Return whether scripts are optimized, and change that if a new setting is given."""
    return bool(_values["optimize"] if new_setting is None else _exchange("optimize", new_setting))


def _jit_clear_class_registry() -> None:
    """Do nothing: scripted classes are not registered."""

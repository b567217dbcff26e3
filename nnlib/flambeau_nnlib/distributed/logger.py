"""The statistics that `DistributedDataParallel` records."""

from __future__ import annotations

from typing import Any

__all__ = ["Logger"]


class Logger:
    """A record of how `DistributedDataParallel` was configured and of its steps.

    Args:
        reducer: the object that averages the gradients.

    >>> logger = Logger(None)
    >>> logger.set_construction_data_and_log("Net", [], -1, True, False, False)
    >>> logger._get_ddp_logging_data()["strs_map"]["module_name"]
    'Net'
    """

    def __init__(self, reducer: Any) -> None:
        self._reducer = reducer
        self._strings: dict[str, str] = {}
        self._numbers: dict[str, int] = {"iteration": 0}

    def set_construction_data_and_log(
        self,
        module_name: str,
        device_ids: Any,
        output_device: int,
        broadcast_buffers: bool,
        has_sync_bn: bool,
        static_graph: bool,
    ) -> None:
        """Record the constructor arguments."""
        self._strings |= {"module_name": module_name, "device_ids": ", ".join(map(str, device_ids))}
        self._numbers |= {
            "output_device": output_device,
            "broadcast_buffers": int(broadcast_buffers),
            "has_sync_bn": int(has_sync_bn),
            "static_graph": int(static_graph),
        }

    def set_runtime_stats_and_log(self) -> None:
        """Count one iteration."""
        self._numbers["iteration"] += 1

    def set_error_and_log(self, error: str) -> None:
        """Record an error message."""
        self._strings["error"] = error
        self._numbers["has_error"] = 1

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {"strs_map": dict(self._strings), "ints_map": dict(self._numbers)}

    def _set_comm_hook_name(self, name: str) -> None:
        self._strings["comm_hook"] = name

    def _set_uneven_input_join(self) -> None:
        self._numbers["join_uneven_inputs"] = 1

    def _set_static_graph(self) -> None:
        self._numbers["static_graph"] = 1

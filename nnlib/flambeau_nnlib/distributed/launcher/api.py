"""What to start, and how: `elastic_launch(LaunchConfig(...), function_or_command)(*arguments)`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.multiprocessing.logs import DefaultLogsSpecs, LogsSpecs
from .agent import Agent, CommandWorker, FunctionWorker, Worker

__all__ = ["LOCAL_RANK", "LaunchConfig", "elastic_launch"]

LOCAL_RANK = "${local_rank}"  # stands for the local rank in the arguments of a command


@dataclass
class LaunchConfig:
    """How to start the processes of a job on this host.

    Args:
        min_nodes, max_nodes: how many hosts take part.
        nproc_per_node: how many processes on this one.
        logs_specs: where their output goes.
        run_id: the name of the job, the same on all hosts.
        role: a name for the processes.
        rdzv_endpoint: `host:port` where the hosts meet; empty for one host.
        rdzv_backend: `"static"`, where each host knows its rank (`rdzv_configs["rank"]`), or `"c10d"`, where they are counted as
            they come.
        rdzv_configs: `rank`, `timeout` (seconds to wait for other hosts), `last_call_timeout` (seconds to wait for more once
            there are `min_nodes`).
        rdzv_timeout: seconds to wait for other hosts; -1 leaves it to `rdzv_configs`.
        max_restarts: how often all processes are started again after one has failed.
        monitor_interval: seconds between looks at the processes.
        start_method: how processes that run a function are started.
        local_addr: this host's address.
        signals_to_handle: signals that end the processes too.
        shutdown_timeout: seconds that processes have to end.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "static"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    local_addr: str | None = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_backend not in ("static", "c10d"):
            raise ValueError(f"rdzv_backend has to be 'static' or 'c10d', not {self.rdzv_backend!r}")
        if self.min_nodes < 1 or self.max_nodes < self.min_nodes:
            raise ValueError(f"min_nodes={self.min_nodes}, max_nodes={self.max_nodes}: expected 1 <= min_nodes <= max_nodes")
        self.run_id = self.run_id or uuid.uuid4().hex
        self.logs_specs = self.logs_specs or DefaultLogsSpecs()
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout


class elastic_launch:
    """Starts processes that run a function or a command; calling it with the arguments waits for them.

    Args:
        config: how.
        entrypoint: a function, which has to be importable with the start method `spawn`, or a program.

    The call returns what the function returned in each process, by global rank. It raises `ChildFailedError` if a process failed
    and no restarts are left.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *arguments: Any) -> dict[int, Any]:
        config, entrypoint = self._config, self._entrypoint

        def start(environment: dict[str, str], *more: Any) -> Worker:
            if isinstance(entrypoint, str):
                own = [str(argument).replace(LOCAL_RANK, environment["LOCAL_RANK"]) for argument in arguments]
                return CommandWorker([entrypoint, *own], environment, *more)
            return FunctionWorker(entrypoint, arguments, environment, config.start_method)

        name = entrypoint if isinstance(entrypoint, str) else entrypoint.__qualname__
        if isinstance(entrypoint, str) and arguments:
            name = next((str(part) for part in arguments if not str(part).startswith("-") and part != "flambeau"), name)
        return Agent(config, start, os.path.basename(name)).run()

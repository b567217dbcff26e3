"""Launching of processes: `elastic_launch(LaunchConfig(...), function_or_command)(*arguments)`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.multiprocessing.logs import DefaultLogsSpecs, LogsSpecs
from .agent import Agent, CommandWorker, FunctionWorker, Worker

__all__ = ["LOCAL_RANK", "LaunchConfig", "elastic_launch"]

LOCAL_RANK = "${local_rank}"  # placeholder of the local rank in the arguments of a command


@dataclass
class LaunchConfig:
    """Configuration of a launch on this host.

    Args:
        min_nodes, max_nodes: minimum and maximum number of hosts.
        nproc_per_node: number of processes on this host.
        logs_specs: destinations of the output of processes.
        run_id: name of the job, the same on all hosts.
        role: a name for the processes.
        rdzv_endpoint: `host:port` of the rendezvous; empty for one host.
        rdzv_backend: `"static"`: each host's rank is given by `rdzv_configs["rank"]`. `"c10d"`: hosts are numbered in
            the order they join.
        rdzv_configs: `rank`, `timeout` (seconds to wait for other hosts), `last_call_timeout` (seconds to wait for
            further hosts when `min_nodes` have joined).
        rdzv_timeout: seconds to wait for other hosts; -1 uses `rdzv_configs`.
        max_restarts: maximum number of restarts of all processes after a failure.
        monitor_interval: seconds between checks of the processes.
        start_method: start method of processes that run a function.
        local_addr: address of this host.
        signals_to_handle: signals that end the processes as well as the agent.
        shutdown_timeout: seconds that processes have to exit before SIGKILL.
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
    """Launch processes that run a function or a command. Call the object with the arguments to run them.

    Args:
        config: the launch configuration.
        entrypoint: a function, which must be importable with the start method `spawn`, or a program.

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

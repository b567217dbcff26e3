"""The agent of a host: starts the processes of a job, monitors them, and restarts them."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from ..elastic.multiprocessing.logs import LogsDest, Std, copy_to
from ..errors import DistNetworkError, DistStoreError
from ..secret import VARIABLE as SECRET
from ..store import Store, TCPStore

if TYPE_CHECKING:
    from .api import LaunchConfig

__all__ = ["Agent", "CommandWorker", "FunctionWorker", "Worker"]

_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows, SIGTERM ends a process immediately
SHUTDOWN_TIMEOUT = 30  # seconds after which a process that has not exited is killed


class Worker(Protocol):
    """A started process."""

    pid: int

    def exitcode(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""

    def signal(self, number: int) -> None:
        """Send a signal to the process."""

    def result(self) -> Any:
        """Return the result of the process's function, after it has ended."""


class CommandWorker:
    """A process that runs a command."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], logs: LogsDest, prefix: str) -> None:
        streams: dict[str, Any] = {}
        for name, path, stream in (("stdout", logs.stdout, Std.OUT), ("stderr", logs.stderr, Std.ERR)):
            if path is not None:
                streams[name] = subprocess.PIPE if logs.tees & stream else path.open("wb")
        self._process = subprocess.Popen(list(command), env=environment, **streams)
        self.pid = self._process.pid
        self._copies = []
        for name, path, shown in (("stdout", logs.stdout, sys.stdout), ("stderr", logs.stderr, sys.stderr)):
            if streams.get(name) == subprocess.PIPE and path is not None:
                self._copies.append(copy_to(getattr(self._process, name), path.open("wb"), shown, prefix))
            elif name in streams:
                streams[name].close()

    def exitcode(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        code = self._process.poll()
        if code is not None:
            for copy in self._copies:
                copy.join(5)
        return code

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        self._process.send_signal(number)

    def result(self) -> None:
        """Return None: a command has no result."""


class FunctionWorker:
    """A process that runs a function."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], environment: dict[str, str], method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        self._returned, send = context.Pipe(False)
        self._process = context.Process(target=_call, args=(function, arguments, environment, send))
        self._process.start()
        send.close()
        self.pid = self._process.pid
        self._result: Any = None

    def exitcode(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        with suppress(EOFError, OSError):
            if self._returned.poll():
                self._result = self._returned.recv()
        code: int | None = self._process.exitcode
        return code

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def result(self) -> Any:
        """Return the result of the function."""
        return self._result


def _call(function: Callable[..., Any], arguments: Sequence[Any], environment: dict[str, str], returned: Any) -> None:
    from ..elastic.multiprocessing.errors import record

    os.environ.update(environment)
    returned.send(record(function)(*arguments))


class Interrupted(Exception):
    """Raised when the agent receives a signal that ends the job."""

    def __init__(self, number: int) -> None:
        super().__init__(f"received {signal.Signals(number).name}")
        self.number = number


class Agent:
    """Start and monitor the processes of one host.

    Args:
        config: launch configuration.
        start: starts a process, given its environment, log destination and log prefix.
        name: name of the program, for error messages.
    """

    def __init__(self, config: LaunchConfig, start: Callable[..., Worker], name: str) -> None:
        self._config, self._start, self._name = config, start, name
        self._workers: dict[int, Worker] = {}  # keys are local ranks
        self._logs: dict[int, LogsDest] = {}

    def run(self) -> dict[int, Any]:
        """Run the processes until they end; return their results by global rank."""
        config = self._config
        store, address = self._connect_store()
        before = {
            number: signal.signal(number, _interrupt)
            for name in config.signals_to_handle.split(",")
            if (number := getattr(signal, name.strip(), None)) is not None
        }
        try:
            for attempt in range(config.max_restarts + 1):
                node_rank, nodes, first_rank, world_size = self._rendezvous(store, attempt)
                self._start_all(store, address, attempt, node_rank, nodes, first_rank, world_size)
                failures = self._watch(store, attempt, nodes, first_rank)
                if failures is None:
                    self._wait_for_other_hosts(store, attempt, nodes)
                    return {first_rank + local: worker.result() for local, worker in self._workers.items()}
                if attempt < config.max_restarts:
                    print(f"{self._name}: a process has failed; restart {attempt + 1} of {config.max_restarts}", file=sys.stderr)
            raise ChildFailedError(
                self._name, failures or {first_rank: ProcessFailure(0, 0, 1, "", "a process of another host failed")}
            )
        except Interrupted as interruption:
            self._end_processes(interruption.number)
            raise
        finally:
            self._end_processes(signal.SIGTERM)
            store.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    # --- hosts ---

    def _connect_store(self) -> tuple[TCPStore, str]:
        """Return the job's store, which the agent of the first host serves, and its address."""
        config = self._config
        timeout = timedelta(seconds=float(config.rdzv_configs.get("timeout", 900)))
        host, _, port = (config.rdzv_endpoint or "127.0.0.1:0").rpartition(":")
        if not config.rdzv_endpoint:
            os.environ.setdefault(SECRET, secrets.token_hex(32))  # a new secret for this job
        serves = config.rdzv_configs.get("rank", 0) == 0 if config.rdzv_backend == "static" else _is_this_host(host)
        if serves:
            try:
                store = TCPStore(host, int(port or 0), is_master=True, timeout=timeout, wait_for_workers=False)
                return store, config.local_addr or host
            except DistNetworkError:
                if config.rdzv_backend == "static":
                    raise
        return TCPStore(host, int(port or 29400), timeout=timeout, wait_for_workers=False), host

    def _rendezvous(self, store: Store, attempt: int) -> tuple[int, int, int, int]:
        """Return this host's index, the number of hosts, the global rank of this host's first process, and the world size."""
        config = self._config
        prefix = f"agents/{config.run_id}/{attempt}"
        if config.rdzv_backend == "static":
            node_rank, nodes = int(config.rdzv_configs.get("rank", 0)), config.max_nodes
        else:
            node_rank, nodes = self._register_host(store, prefix)
        store.set(f"{prefix}/processes/{node_rank}", str(config.nproc_per_node))
        counts = [int(store.get(f"{prefix}/processes/{other}")) for other in range(nodes)]
        return node_rank, nodes, sum(counts[:node_rank]), sum(counts)

    def _register_host(self, store: Store, prefix: str) -> tuple[int, int]:
        """Register this host; return its index and the number of hosts. Host 0 closes the registration when `max_nodes`
        hosts have registered, or a timeout after `min_nodes` hosts have.
        """
        config = self._config
        node_rank = store.add(f"{prefix}/hosts", 1) - 1
        if node_rank == 0:
            end = None
            while (count := store.add(f"{prefix}/hosts", 0)) < config.max_nodes:
                if count >= config.min_nodes:
                    end = end or time.monotonic() + float(config.rdzv_configs.get("last_call_timeout", 30))
                    if time.monotonic() > end:
                        break
                time.sleep(0.05)
            store.set(f"{prefix}/closed", str(min(count, config.max_nodes)))
        nodes = int(store.get(f"{prefix}/closed"))
        if node_rank >= nodes:
            raise RuntimeError(f"the job {config.run_id!r} already has {nodes} hosts: a further host can join at a restart only")
        return node_rank, nodes

    def _wait_for_other_hosts(self, store: TCPStore, attempt: int, nodes: int) -> None:
        """If this process serves the store, wait until all hosts are done, so that they can use the store."""
        done = f"agents/{self._config.run_id}/{attempt}/done"
        with suppress(DistNetworkError):
            store.add(done, 1)
            while store._table is not None and store.add(done, 0) < nodes:
                time.sleep(self._config.monitor_interval)

    # --- processes ---

    def _start_all(
        self, store: TCPStore, address: str, attempt: int, node_rank: int, nodes: int, first_rank: int, world_size: int
    ) -> None:
        config = self._config
        assert config.logs_specs is not None
        self._workers = {}
        for local in range(config.nproc_per_node):
            logs = self._logs[local] = config.logs_specs.destination(config.run_id, attempt, local)
            own = {
                "RANK": first_rank + local,
                "WORLD_SIZE": world_size,
                "LOCAL_RANK": local,
                "LOCAL_WORLD_SIZE": config.nproc_per_node,
                "GROUP_RANK": node_rank,
                "GROUP_WORLD_SIZE": nodes,
                "ROLE_RANK": first_rank + local,
                "ROLE_WORLD_SIZE": world_size,
                "ROLE_NAME": config.role,
                "MASTER_ADDR": address,
                "MASTER_PORT": store.port,
                "TORCHELASTIC_RESTART_COUNT": attempt,
                "TORCHELASTIC_MAX_RESTARTS": config.max_restarts,
                "TORCHELASTIC_RUN_ID": config.run_id,
                "TORCHELASTIC_USE_AGENT_STORE": True,
                "FLAMBEAU_LAUNCHER": 1,
                "TORCHELASTIC_ERROR_FILE": logs.error_file,
            }
            environment = os.environ | {name: str(value) for name, value in own.items()}
            if config.nproc_per_node > 1:
                environment.setdefault("OMP_NUM_THREADS", "1")
            self._workers[local] = self._start(environment, logs, f"[{config.role}{first_rank + local}]:")

    def _watch(self, store: Store, attempt: int, nodes: int, first_rank: int) -> dict[int, ProcessFailure] | None:
        """Return None when all processes have exited with status 0. After a failure, here or on another host, end all
        processes and return the failures.
        """
        failed = f"agents/{self._config.run_id}/{attempt}/failed"
        while True:
            codes = {local: worker.exitcode() for local, worker in self._workers.items()}
            failures = {
                first_rank + local: ProcessFailure(local, self._workers[local].pid, code, str(self._logs[local].error_file))
                for local, code in codes.items()
                if code
            }
            if failures:
                with suppress(DistNetworkError, DistStoreError):
                    store.set(failed, "1")
                self._end_processes(signal.SIGTERM)
                return failures
            if all(code == 0 for code in codes.values()):
                return None
            if nodes > 1 and store.check([failed]):
                self._end_processes(signal.SIGTERM)
                return {}
            time.sleep(self._config.monitor_interval)

    def _end_processes(self, number: int) -> None:
        """Send a signal to all running processes, and SIGKILL after a timeout."""
        running = [worker for worker in self._workers.values() if worker.exitcode() is None]
        for worker in running:
            worker.signal(number)
        patience = SHUTDOWN_TIMEOUT if self._config.shutdown_timeout is None else self._config.shutdown_timeout
        end = time.monotonic() + patience
        while any(worker.exitcode() is None for worker in running):
            if time.monotonic() > end:
                for worker in running:
                    worker.signal(_KILL)
                end = float("inf")
            time.sleep(0.02)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise Interrupted(number)


def _is_this_host(host: str) -> bool:
    """Whether a host name or address belongs to this host: only then can a socket be bound to it."""
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
        return True

"""`python -m flambeau.distributed.run`: start the processes of a job, monitor them, and restart them if one fails.

    python -m flambeau.distributed.run --standalone --nproc-per-node 4 train.py --epochs 3      on one host
    python -m flambeau.distributed.run --nnodes 2 --node-rank 0 --master-addr HOST --master-port 29500 --nproc-per-node 4 train.py
    python -m flambeau.distributed.run --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29400 --rdzv-id JOB train.py

The options are those of torchrun. The environment variable `PET_<OPTION>` sets the default of an option. Scripts run
under `python -m flambeau`, so that `import torch` is flambeau. With several hosts, `FLAMBEAU_JOB_SECRET` has to be the
same on all of them. Hosts can join before the job starts and at a restart.
"""

from __future__ import annotations

import logging
import os
import sys
import uuid
from argparse import REMAINDER, Action, ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import flambeau as torch

from .elastic.multiprocessing import ChildFailedError, DefaultLogsSpecs, LogsSpecs, Std, record
from .launcher.agent import Interrupted
from .launcher.api import LOCAL_RANK, LaunchConfig, elastic_launch

__all__ = [
    "REMAINDER",
    "DefaultLogsSpecs",
    "LaunchConfig",
    "LogsSpecs",
    "Std",
    "check_env",
    "config_from_args",
    "determine_local_world_size",
    "elastic_launch",
    "env",
    "get_args_parser",
    "get_logger",
    "get_rdzv_endpoint",
    "get_use_env",
    "macros",
    "main",
    "parse_args",
    "parse_min_max_nnodes",
    "record",
    "run",
    "run_script_path",
]


class env(Action):
    """An option whose default is the environment variable `PET_<OPTION>`."""

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        default = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=default, required=required and default is None, **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, values)


class check_env(Action):
    """A flag that the environment variable `PET_<OPTION>=1` also sets."""

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        default = bool(int(os.environ.get(f"PET_{dest.upper()}", "1" if default else "0")))
        super().__init__(dest=dest, default=default, nargs=0, **kwargs)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, True)


class macros:
    """Placeholders in script arguments that are replaced by values of each process."""

    local_rank = LOCAL_RANK


def get_logger(name: str | None = None) -> logging.Logger:
    """Return the launcher's logger."""
    return logging.getLogger(name or __name__)


def get_args_parser() -> ArgumentParser:
    """Return the parser of the command line."""
    parser = ArgumentParser(prog="python -m flambeau.distributed.run", description=(__doc__ or "").partition("\n")[0])

    def option(name: str, help: str, **kwargs: Any) -> None:
        names = dict.fromkeys((name, "--" + name[2:].replace("-", "_")))
        parser.add_argument(*names, help=help, **({"action": env} | kwargs))

    option("--nnodes", "number of hosts, or MIN:MAX", type=str, default="1:1")
    option("--nproc-per-node", "processes per host: a number, auto, cpu or gpu", type=str, default="1")
    option("--rdzv-backend", "rendezvous of the hosts: static or c10d", type=str, default="static")
    option("--rdzv-endpoint", "address of the rendezvous: HOST:PORT", type=str, default="")
    option("--rdzv-id", "the name of the job", type=str, default="none")
    option("--rdzv-conf", "options of the rendezvous: KEY=VALUE,...", type=str, default="")
    option("--standalone", "run on this host only, without an address", action=check_env)
    option("--max-restarts", "number of restarts after failures", type=int, default=0)
    option("--monitor-interval", "seconds between checks of the processes", type=float, default=0.1)
    option("--start-method", "start method, for functions", type=str, default="spawn", choices=["spawn", "fork", "forkserver"])
    option("--role", "a name for the processes", type=str, default="default")
    parser.add_argument("-m", "--module", action=check_env, help="run a module, as python -m does")
    option("--no-python", "run the command itself, not under Python", action=check_env)
    option("--run-path", "accepted for compatibility: scripts always run in separate processes", action=check_env)
    option("--log-dir", "folder of the log files", type=str, default=None)
    parser.add_argument(
        "-r", "--redirects", action=env, type=str, default="0", help="output to files: 1 stdout, 2 stderr, 3 both"
    )
    parser.add_argument("-t", "--tee", action=env, type=str, default="0", help="output to files and here: 1, 2, 3")
    option("--local-ranks-filter", "show only the output of these local ranks: 0,1,...", type=str, default="")
    option("--node-rank", "rank of this host, for static", type=int, default=0)
    option("--master-addr", "address of host 0, for static", type=str, default="127.0.0.1")
    option("--master-port", "port on host 0, for static", type=int, default=None)
    option("--local-addr", "this host's address", type=str, default=None)
    option("--signals-to-handle", "signals that also end the processes", type=str, default="SIGTERM,SIGINT,SIGHUP,SIGQUIT")
    option("--shutdown-timeout", "seconds that processes have to exit", type=int, default=None)
    parser.add_argument("training_script", type=str, help="the script, module or command")
    parser.add_argument("training_script_args", nargs=REMAINDER, help="its arguments")
    return parser


def parse_args(args: list[str] | None) -> Namespace:
    """Parse a command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """Return the minimum and maximum number of hosts.

    >>> parse_min_max_nnodes("2:4"), parse_min_max_nnodes("3")
    ((2, 4), (3, 3))

    Raises:
        RuntimeError: `nnodes` is neither `NUMBER` nor `MIN:MAX`.
    """
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """Return the number of processes on this host for a value of `--nproc-per-node`.

    >>> determine_local_world_size("3")
    3

    Raises:
        ValueError: the value is `gpu` without a GPU, or not a known word.
    """
    try:
        return int(nproc_per_node)
    except ValueError as error:
        devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if nproc_per_node == "gpu" and not devices:
            raise ValueError("Cuda is not available.") from error
        if nproc_per_node in ("gpu", "auto") and devices:
            return devices
        if nproc_per_node in ("cpu", "auto"):
            return os.cpu_count() or 1
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}") from error


def get_rdzv_endpoint(args: Namespace) -> str:
    """Return the address of the rendezvous."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{args.master_port or 29500}"
    return str(args.rdzv_endpoint)


def get_use_env(args: Namespace) -> bool:
    """Whether scripts read their ranks from the environment; False if the deprecated `launch` passes them as arguments."""
    return bool(getattr(args, "use_env", True))


def _configurations(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise ValueError(f"--rdzv-conf takes KEY=VALUE,..., but {wrong[0]!r} has no value")
    return {key.strip(): value.strip() for key, _, value in pairs}


def config_from_args(args: Namespace) -> tuple[LaunchConfig, Callable[..., Any] | str, list[str]]:
    """Return the launch configuration, the program, and its arguments."""
    min_nodes, max_nodes = parse_min_max_nnodes(args.nnodes)
    if not 0 < min_nodes <= max_nodes:
        raise ValueError(f"--nnodes={args.nnodes}: expected 0 < MIN <= MAX")
    if args.max_restarts < 0:
        raise ValueError(f"--max-restarts={args.max_restarts} has to be at least 0")
    configurations: dict[str, Any] = dict(_configurations(args.rdzv_conf))
    backend, endpoint, run_id = args.rdzv_backend, get_rdzv_endpoint(args), args.rdzv_id
    alone = max_nodes == 1 and backend == "static" and args.master_port is None and not args.rdzv_endpoint
    if args.standalone or alone:
        backend, endpoint = "static", ""
        run_id = str(uuid.uuid4()) if args.standalone else run_id
    if backend == "static":
        configurations["rank"] = 0 if args.standalone else args.node_rank
    shown = {int(rank) for rank in args.local_ranks_filter.split(",") if rank}
    config = LaunchConfig(
        min_nodes=min_nodes,
        max_nodes=max_nodes,
        nproc_per_node=determine_local_world_size(args.nproc_per_node),
        logs_specs=DefaultLogsSpecs(args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), shown or None),
        run_id=run_id,
        role=args.role,
        rdzv_endpoint=endpoint,
        rdzv_backend=backend,
        rdzv_configs=configurations,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        local_addr=args.local_addr,
        signals_to_handle=args.signals_to_handle,
        shutdown_timeout=args.shutdown_timeout,
    )
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return config, args.training_script, list(args.training_script_args)
    interpreter = os.environ.get("PYTHON_EXEC", sys.executable)
    program = ["-u", "-m", "flambeau", *(["-m"] if args.module else []), args.training_script]
    return config, interpreter, [*program, *args.training_script_args]


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Run a script in this process, as `python` would."""
    import runpy

    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def run(args: Namespace) -> None:
    """Start the processes that the options describe. ChildFailedError if they fail after all restarts."""
    config, program, arguments = config_from_args(args)
    elastic_launch(config, program)(*arguments)


def main(args: list[str] | None = None) -> None:
    """Run the command line. The exit status is 0 on success, 1 if a process failed, 128 + n after signal n."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except Interrupted as interruption:
        print(f"{interruption}: all processes have been ended", file=sys.stderr)
        sys.exit(128 + interruption.number)


if __name__ == "__main__":
    main()

"""Compare collectives of flambeau's communication engines with PyTorch's gloo on this machine: ratios of times, and memory.

    python benchmarks/collectives.py                     2 and 4 ranks, every installed engine
    python benchmarks/collectives.py --ranks 2 --only all_reduce --rounds 5
    python benchmarks/collectives.py --hosts             also the default engine over the loopback network, as between hosts

The libraries run alternately in separate processes. A cell shows the minimum time over the rounds and, in parentheses, the
processor time of all ranks, which is more reliable on a busy machine. Ratios below 1 mean faster than PyTorch's gloo.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

SIZES = {"4 KB": 1 << 12, "1 MB": 1 << 20, "64 MB": 1 << 26}
STEPS = {"4 KB": 100, "1 MB": 20, "64 MB": 2}
OPERATIONS = ("all_reduce", "broadcast", "all_gather", "reduce_scatter")


def operations(torch: Any, size: int, ranks: int) -> dict[str, Callable[[], Any]]:
    """Return the measured calls by name. Each call transfers tensors with a total of `size` bytes per rank."""
    dist = torch.distributed
    full, part = torch.ones(size // 4), torch.ones(size // 4 // ranks)
    parts = [torch.empty(size // 4 // ranks) for _ in range(ranks)]
    return {
        "all_reduce": lambda: dist.all_reduce(full),
        "broadcast": lambda: dist.broadcast(full, 0),
        "all_gather": lambda: dist.all_gather(parts, part),
        "reduce_scatter": lambda: dist.reduce_scatter(part, list(full.chunk(ranks))),
    }


def run_rank(library: str, backend: str, only: str) -> None:
    """Run the measurements in one rank. Rank 0 prints the results as JSON."""
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    dist = torch.distributed
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found: dict[str, float] = {}
    for name, size in SIZES.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for operation, call in operations(torch, size, ranks).items():
            if only in operation:
                measured = [measure_call(dist, call, STEPS[name]) for _ in range(4)][1:]
                seconds, processor = map(min, zip(*measured, strict=True))
                total = torch.tensor([processor])
                dist.all_reduce(total)
                found[f"{operation} {name}"], found[f"{operation} {name}, processors"] = seconds, total.item()
        found[f"memory {name}"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if only in "DDP step":
        found["DDP step / plain step"], found["DDP step / plain step, processors"] = data_parallel_step(torch)
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def measure_call(dist: Any, call: Callable[[], Any], steps: int) -> tuple[float, float]:
    """Return the wall-clock time and this rank's processor time of a call, in seconds."""
    dist.barrier()
    start, processor = time.perf_counter(), time.process_time()
    for _ in range(steps):
        call()
    processor = (time.process_time() - processor) / steps
    dist.barrier()
    return (time.perf_counter() - start) / steps, processor


def data_parallel_step(torch: Any) -> tuple[float, float]:
    """Return the ratios of wall-clock and processor time of a training step with and without `DistributedDataParallel`."""
    nn = torch.nn
    plain = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    parallel = nn.parallel.DistributedDataParallel(plain)
    batch = torch.randn(128, 512)

    def step(net: Any) -> None:
        net.zero_grad()
        net(batch).pow(2).mean().backward()

    rounds = [measure_call(torch.distributed, lambda net=net: step(net), 2) for _ in range(15) for net in (plain, parallel)]
    (alone, alone_processor), (together, processor) = (map(min, zip(*rounds[offset::2], strict=True)) for offset in (0, 1))
    return together / alone, processor / alone_processor


def run(side: str, ranks: int, only: str) -> dict[str, float]:
    """Run one round of measurements of a library and communication engine."""
    library, backend, hosts = {
        "PyTorch gloo": ("torch", "gloo", False),
        "gloo": ("flambeau", "gloo", False),
        "gloo between hosts": ("flambeau", "gloo", True),
        "mpi": ("flambeau", "mpi", False),
    }[side]
    command = [sys.executable, __file__, "--worker", library, backend, "--only", only]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if backend == "mpi":
        done = subprocess.run(
            ["mpiexec", "-n", str(ranks), *command], capture_output=True, text=True, env=environment, check=True
        )
        return json.loads(done.stdout.strip().splitlines()[-1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    processes = []
    for rank in range(ranks):
        rank_environment = {"RANK": str(rank)} | ({"FLAMBEAU_HOST_ID": f"host {rank}"} if hosts else {})
        pipe = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
        processes.append(subprocess.Popen(command, env=environment | rank_environment, stdout=pipe, text=True))
    output = processes[0].communicate()[0]
    if any(process.wait() for process in processes):
        raise RuntimeError(f"{side} failed")
    return json.loads(output.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4], help="numbers of processes")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument("--only", default="", help="operations whose name contains this, or `DDP step`")
    parser.add_argument(
        "--hosts", action="store_true", help="also measure the default engine over the loopback network, as between hosts"
    )
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        run_rank(*arguments.worker, arguments.only)
        return
    sides = ["PyTorch gloo", "gloo"]
    sides += ["gloo between hosts"] * arguments.hosts
    sides += ["mpi"] * (find_spec("mpi4py") is not None and shutil.which("mpiexec") is not None)
    for ranks in arguments.ranks:
        rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for _ in range(arguments.rounds):
            for side in sides:
                rounds[side].append(run(side, ranks, arguments.only))
        show(ranks, rounds)


def show(ranks: int, rounds: dict[str, list[dict[str, float]]]) -> None:
    """Print PyTorch's times and the ratios of the other libraries' times to them."""
    base, *others = [{key: min(one[key] for one in found) for key in found[0]} for found in rounds.values()]
    print(f"\n{ranks} ranks".ljust(29) + "".join(f"{side:>20}" for side in rounds))
    for key, value in base.items():
        if key.endswith(", processors"):
            continue
        if key.startswith("DDP"):
            cells = [f"{side[key]:.2f} ({side[f'{key}, processors']:.2f})".rjust(20) for side in (base, *others)]
        elif key.startswith("memory"):
            cells = [f"{side[key]:17.0f} MB" for side in (base, *others)]
        else:
            processors = base[f"{key}, processors"]
            cells = [f"{value * 1e3:10.3f} ({processors * 1e3:.3f}) ms".rjust(20)]
            cells += [f"{side[key] / value:.2f} ({side[f'{key}, processors'] / processors:.2f})".rjust(20) for side in others]
        print(f"{key:28}{''.join(cells)}")


if __name__ == "__main__":
    main()

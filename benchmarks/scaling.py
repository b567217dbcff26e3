"""Measure latency and bandwidth of `all_reduce`, and predict the efficiency of data-parallel training.

    python benchmarks/scaling.py                                        measure with 2 processes, then predict
    python benchmarks/scaling.py --latency 5e-6 --bandwidth 12e9        predict for a network with known values

A ring all-reduce of `B` bytes between `n` processes has `2 (n - 1)` steps of `B / n` bytes. With latency `a` and bandwidth
`b`, it takes `T(n) = 2 (n - 1) a + 2 (n - 1) / n * B / b`. Part of this time overlaps with the backward pass. For small
tensors, libraries use trees, whose latency is `2 log2(n) a`. The prediction uses the smaller latency.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from math import ceil, log2

SIZES = (4, 1 << 26)


def run_rank() -> None:
    """Measure the minimum time of an `all_reduce` of each size in one process. Rank 0 prints the times as JSON."""
    import flambeau as torch
    import flambeau.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(os.environ["ENGINE"])
    found = []
    for size in SIZES:
        row, repetitions, best = torch.ones(size // 4), 100 if size < 1024 else 2, float("inf")
        for _ in range(6):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(repetitions):
                dist.all_reduce(row)
            best = min(best, (time.perf_counter() - start) / repetitions)
        found.append(best)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def measure_network(engine: str, hosts: bool) -> tuple[float, float]:
    """Measure an `all_reduce` between two processes. Return latency (seconds) and bandwidth (bytes per second)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, __file__, "--work"]
    if engine == "mpi":
        environment = {**os.environ, "ENGINE": engine}
        done = subprocess.run(["mpiexec", "-n", "2", *command], env=environment, capture_output=True, text=True, check=False)
        outputs = [done.stdout]
    else:
        processes = []
        for rank in "01":
            job = {"RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "ENGINE": engine}
            host = {"FLAMBEAU_HOST_ID": f"host {rank}"} if hosts else {}
            processes.append(subprocess.Popen(command, env={**os.environ, **job, **host}, stdout=subprocess.PIPE, text=True))
        outputs = [process.communicate()[0] for process in processes]
    small, large = json.loads("".join(outputs).strip().splitlines()[-1])
    return small / 2, SIZES[1] / (large - small)


def predict_all_reduce(n: int, size: float, latency: float, bandwidth: float) -> float:
    """Return the predicted time in seconds of an `all_reduce` of `size` bytes between `n` processes."""
    return 2 * min(n - 1, ceil(log2(n))) * latency + 2 * (n - 1) / n * size / bandwidth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="gloo", choices=["gloo", "mpi"])
    parser.add_argument("--hosts", action="store_true", help="use the loopback network, as between hosts")
    parser.add_argument("--latency", type=float, help="latency in seconds")
    parser.add_argument("--bandwidth", type=float, help="bandwidth in bytes per second")
    parser.add_argument(
        "--parameters", type=float, default=25.6e6, help="number of parameters of 4 bytes (default: those of ResNet-50)"
    )
    parser.add_argument("--step", type=float, default=0.25, help="seconds of a training step without communication")
    parser.add_argument("--hidden", type=float, default=0.5, help="fraction of a step that overlaps with communication")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        run_rank()
        return
    latency, bandwidth = options.latency, options.bandwidth
    if latency is None or bandwidth is None:
        latency, bandwidth = measure_network(options.engine, options.hosts)
    print(f"latency {latency * 1e6:.1f} us, bandwidth {bandwidth / 1e9:.2f} GB/s")
    for power in range(1, 11):
        n = 1 << power
        seconds = predict_all_reduce(n, 4 * options.parameters, latency, bandwidth)
        visible = max(0.0, seconds - options.hidden * options.step)
        print(f"{n:5} processes: all_reduce {seconds * 1e3:8.2f} ms, efficiency {options.step / (options.step + visible):.1%}")


if __name__ == "__main__":
    main()

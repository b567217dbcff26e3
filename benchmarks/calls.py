"""What a call costs, against PyTorch: small tensors, where the time is Python's.

    python benchmarks/calls.py            prints a table of medians, interleaved in one run
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

Workload = Callable[[ModuleType], Callable[[], Any]]


def add(torch: Any) -> Callable[[], Any]:
    a, b = torch.ones(10), torch.ones(10)
    return lambda: a + b


def add_tracked(torch: Any) -> Callable[[], Any]:
    a, b = torch.ones(10, requires_grad=True), torch.ones(10)
    return lambda: a + b


def backward(torch: Any) -> Callable[[], Any]:
    a, b = torch.ones(10, requires_grad=True), torch.ones(10)

    def step() -> None:
        a.grad = None
        ((a + b) * b).sum().backward()

    return step


def two_layer_net(torch: Any) -> Callable[[], Any]:
    """One SGD step of the network 64 x 1000 x 100 x 10."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1000, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    loss_fn = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x, y = torch.randn(64, 1000), torch.randn(64, 10)

    def step() -> Any:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def two_layer_net_adam(torch: Any) -> Callable[[], Any]:
    """The same network, one Adam step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1000, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    loss_fn = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    x, y = torch.randn(64, 1000), torch.randn(64, 10)

    def step() -> Any:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


# name: (workload, calls per round, the ratio aimed at)
WORKLOADS: dict[str, tuple[Any, int, float]] = {
    "a + b, 10 elements": (add, 20000, 0.6),
    "a + b, 10 elements, tracked": (add_tracked, 20000, 0.8),
    "((a + b) * b).sum().backward()": (backward, 3000, 0.35),
    "two-layer net, SGD step": (two_layer_net, 200, 0.65),
    "two-layer net, Adam step": (two_layer_net_adam, 200, 0.7),
}


def seconds(run: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def compare(workload: Any, calls: int, rounds: int, theirs: Any, ours: Any) -> tuple[float, float]:
    """Medians of both, in rounds that take turns, so that what disturbs the machine disturbs both."""
    runs = workload(theirs), workload(ours)
    times: tuple[list[float], list[float]] = [], []
    for run in runs:
        seconds(run, max(calls // 10, 1))
    for _ in range(rounds):
        for run, collected in zip(runs, times, strict=True):
            collected.append(seconds(run, calls))
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="run the workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    import flambeau
    import torch

    torch.set_num_threads(args.threads)
    flambeau.set_num_threads(args.threads)
    print(f"{'workload':36s} {'PyTorch':>10s} {'flambeau':>10s} {'ratio':>6s}  aim")
    for name, (workload, calls, aim) in WORKLOADS.items():
        if args.only is None or args.only in name:
            theirs, ours = compare(workload, calls, args.rounds, torch, flambeau)
            print(f"{name:36s} {theirs * 1e6:8.2f}us {ours * 1e6:8.2f}us {ours / theirs:6.2f}  {aim}", flush=True)


if __name__ == "__main__":
    main()

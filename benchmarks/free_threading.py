"""Time work in one and in several threads, with and without the GIL. Requires a free-threaded Python and two cores.

    python3.14t benchmarks/free_threading.py
    python3.14t benchmarks/free_threading.py --threads 8

Each row shows how many times faster several threads do the same work than one: 1.0 means equal time. The maximum is the number of
cores or threads. Each time is the least of several runs, which alternate between one and several threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ROUNDS = 5
PARTS = 8  # pieces of work, shared by the threads


def train_small_models() -> Callable[[int], None]:
    import flambeau as torch

    def work(number: int) -> None:
        torch.manual_seed(number)
        model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        optimizer = torch.optim.Adam(model.parameters())
        x, y = torch.ones(16, 32), torch.zeros(16, dtype=torch.int64)
        for _ in range(100):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

    return work


def words() -> Any:
    """Return a dataset whose samples take Python code to compute."""
    import flambeau as torch

    class Words(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 400

        def __getitem__(self, index: int) -> torch.Tensor:
            text = " ".join(str(index * factor) for factor in range(60))
            return torch.tensor([hash(word) % 1000 for word in text.split()])

    return Words()


def load_data() -> Callable[[int], None]:
    from flambeau.utils.data import DataLoader

    def work(number: int) -> None:
        for _ in DataLoader(words(), batch_size=16):
            pass

    return work


def load_in_worker_threads(workers: int) -> Callable[[], None]:
    from flambeau.utils.data import DataLoader

    options = {"num_workers": workers, "multiprocessing_context": "thread", "persistent_workers": True}
    loader = DataLoader(words(), batch_size=16, **options)

    def work() -> None:
        for _ in range(PARTS):
            for _ in loader:
                pass

    return work


def run_compiled_model() -> Callable[[int], None]:
    import flambeau as torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64)).eval()
    compiled, x = torch.compile(model), torch.ones(8, 64)
    with torch.no_grad():
        for _ in range(4):
            compiled(x)

    def work(number: int) -> None:
        with torch.no_grad():
            for _ in range(1500):
                compiled(x)

    return work


def data_parallel(devices: int) -> Callable[[], None]:
    import flambeau as torch

    class Repeated(torch.nn.Module):
        """One layer called many times: copying it to the devices takes little time, relative to calling it."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(50):
                x = self.layer(x).tanh()
            return x

    model = torch.nn.DataParallel(Repeated().to("cpu:0"), device_ids=list(range(devices)))
    x = torch.ones(128, 64, device="cpu:0")

    def work() -> None:
        for _ in range(10):
            model.zero_grad()
            model(x).sum().backward()

    return work


def least_times(*runs: Callable[[], object]) -> list[float]:
    """Return the least time of each function in seconds; the functions alternate."""
    times = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, found in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def measure(threads: int) -> dict[str, float]:
    """Return how many times faster each work is with several threads than with one."""
    import flambeau as torch

    torch.set_num_threads(1)
    gains = {}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(threads) as several:
        for prepare in (train_small_models, load_data, run_compiled_model):
            work = prepare()
            alone, together = least_times(
                lambda work=work: list(one.map(work, range(PARTS))), lambda work=work: list(several.map(work, range(PARTS)))
            )
            gains[prepare.__name__.replace("_", " ")] = alone / together
    alone, together = least_times(load_in_worker_threads(1), load_in_worker_threads(threads))
    gains["data loader with worker threads"] = alone / together
    alone, together = least_times(data_parallel(1), data_parallel(2))
    gains["data parallel on two virtual devices"] = alone / together
    return gains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="the number of threads (default: 2)")
    threads = parser.parse_args().threads
    if os.environ.get("FREE_THREADING_CHILD"):
        print(json.dumps(measure(threads)))
        return
    found = {}
    for gil in "1", "0":
        variables = os.environ | {"PYTHON_GIL": gil, "FLAMBEAU_CPU_DEVICES": "2", "FREE_THREADING_CHILD": "1"}
        command = [sys.executable, __file__, f"--threads={threads}"]
        done = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
        found[gil] = json.loads(done.stdout)
    print(f"| {threads} threads, relative to one | with the GIL | without |\n|---|---|---|")
    for name, gain in found["1"].items():
        print(f"| {name} | {gain:.2f} | {found['0'][name]:.2f} |")


if __name__ == "__main__":
    main()

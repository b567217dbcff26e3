"""DataLoader workers: seeds, transferred data, errors, killed workers and shutdown."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from small_datasets import FORK, Count, Squares, drawn_seed, numbers

import flambeau as torch
from flambeau.utils.data import (
    DataLoader,
    Dataset,
    Sampler,
    get_worker_info,
)

pytestmark = pytest.mark.slow


class Draws(Dataset):
    """A dataset of random numbers from each generator that a worker seeds."""

    def __getitem__(self, index):
        return random.random(), np.random.rand(), torch.rand(()).item(), torch.initial_seed()

    def __len__(self) -> int:
        return 2


def test_workers_are_seeded_from_one_number():
    torch.manual_seed(4)
    loader = DataLoader(Draws(), batch_size=None, num_workers=2, **FORK)
    samples = list(loader)
    torch.manual_seed(4)
    base_seed = drawn_seed()
    for worker, (python, numpy, ours, seed) in enumerate(samples):
        assert seed == base_seed + worker
        assert python == random.Random(seed).random()
        words = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        assert numpy == np.random.RandomState(np.random.SeedSequence(words).generate_state(4)).rand()
        assert ours == torch.rand((), generator=torch.Generator().manual_seed(seed)).item()


class Info(Dataset):
    def __getitem__(self, index):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, info.dataset is self, torch.get_num_threads(), os.getpid()

    def __len__(self) -> int:
        return 4


def test_worker_info_and_init_fn():
    class Marked(Info):
        mark = None

        def __getitem__(self, index):
            return (*super().__getitem__(index), self.mark)

    def mark(worker_id):
        get_worker_info().dataset.mark = f"worker {worker_id}"

    samples = list(DataLoader(Marked(), batch_size=None, num_workers=2, worker_init_fn=mark, **FORK))
    assert [sample[0] for sample in samples] == [0, 1, 0, 1]
    assert {sample[1] for sample in samples} == {2}
    assert samples[1][2] == samples[0][2] + 1
    assert all(sample[3] for sample in samples)
    assert {sample[4] for sample in samples} == {1}
    assert [sample[6] for sample in samples] == ["worker 0", "worker 1"] * 2
    assert get_worker_info() is None


def process_ids(loader) -> set:
    return {sample[5] for sample in loader}


def test_persistent_workers_stay():
    loader = DataLoader(Info(), batch_size=None, num_workers=2, persistent_workers=True, **FORK)
    assert process_ids(loader) == process_ids(loader)
    for _ in loader:  # start an epoch without finishing it
        break
    assert len(list(loader)) == 4
    other = DataLoader(Info(), batch_size=None, num_workers=2, **FORK)
    assert process_ids(other) != process_ids(other)
    count = DataLoader(Count(7), batch_size=2, num_workers=2, persistent_workers=True, **FORK)
    assert numbers(count) == numbers(count) == [[0, 2], [1, 3], [4, 6], [5]]


def test_batches_arrive_as_they_were_sent():
    class Mixed(Dataset):
        def __getitem__(self, index):
            return [
                torch.arange(20000, dtype=torch.int16).reshape(100, 200).t()[index:],
                torch.full((3,), index, dtype=torch.complex64),
                torch.empty(0, 2, dtype=torch.bool),
                torch.tensor(2.5, requires_grad=True),
                np.full((300, 300), index),
                b"x" * 100_000,
                {"name": "a", "none": None},
            ]

        def __len__(self):
            return 3

    local = list(DataLoader(Mixed(), batch_size=None, collate_fn=lambda sample: sample))
    remote = list(DataLoader(Mixed(), batch_size=None, collate_fn=lambda sample: sample, num_workers=2, **FORK))
    for here, there in zip(local, remote, strict=True):
        for a, b in zip(here[:4], there[:4], strict=True):
            assert torch.equal(a, b) and a.dtype is b.dtype and a.requires_grad == b.requires_grad
        assert np.array_equal(here[4], there[4]) and here[5:] == there[5:]
        there[0].fill_(7)  # received tensors are writable
        assert there[0].min() == 7


def test_collected_batches_do_not_exhaust_descriptors():
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, limits[1]))
    try:
        batches = list(DataLoader(torch.arange(200), collate_fn=lambda batch: batch[0].repeat(9000), num_workers=1, **FORK))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [int(batch[-1]) for batch in batches] == list(range(200))


class Faulty(Dataset):
    def __init__(self, fault) -> None:
        self.fault = fault

    def __getitem__(self, index):
        return self.fault() if index == 3 else index

    def __len__(self) -> int:
        return 6


def missing_key():
    return {}["missing"]


def bad_value():
    raise ValueError("bad sample")


def unpicklable_error():
    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(one, two)

    raise Odd(1, 2)


def unpicklable():
    return lambda: None


def has_history():
    return torch.ones(2, requires_grad=True) * 2


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (missing_key, KeyError, "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback"),
        (bad_value, ValueError, "Caught ValueError in DataLoader worker process 1.\nOriginal Traceback"),
        (bad_value, ValueError, "ValueError: bad sample"),
        (unpicklable_error, RuntimeError, "Caught Odd in DataLoader worker process 1."),
        (unpicklable, Exception, "Can't pickle|Can't get local object"),
        (has_history, RuntimeError, "Cowardly refusing to serialize non-leaf tensor which requires_grad"),
    ],
)
def test_worker_errors_are_raised_here(fault, error, message):
    iterator = iter(DataLoader(Faulty(fault), batch_size=None, num_workers=2, **FORK))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(error, match=message):
        next(iterator)
    assert list(iterator) == [4, 5]


def test_an_error_in_init_fn_is_raised_here():
    def fail(worker_id):
        raise OSError("no such shard")

    with pytest.raises(OSError, match="no such shard"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=fail, **FORK))


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed"),
        (lambda: os._exit(3), "exited unexpectedly with exit code 3"),
    ],
)
def test_a_dead_worker_is_noticed(fault, cause):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as info:
        list(DataLoader(Faulty(fault), batch_size=None, num_workers=2, **FORK))
    assert cause in str(info.value.__cause__)


def test_timeout(monkeypatch):
    monkeypatch.setattr(sys.modules["flambeau_nnlib.data.pool"], "SHUTDOWN_PERIOD", 0.1)
    loader = DataLoader(Faulty(lambda: time.sleep(60)), batch_size=None, num_workers=2, timeout=0.5, **FORK)
    # worker 1 loads the slow sample, but on a busy machine worker 0 may also be late
    late = r"DataLoader timed out after 0.5 seconds while waiting for a batch from worker [01] \(pid \d+\)"
    with pytest.raises(RuntimeError, match=late):
        list(loader)
    gc.collect()
    assert not multiprocessing.active_children()


def test_workers_end_with_the_iterator():
    for _ in DataLoader(Squares(500), num_workers=2, collate_fn=lambda batch: torch.ones(50_000), **FORK):
        break
    gc.collect()
    list(DataLoader(Squares(), num_workers=2, **FORK))
    assert not multiprocessing.active_children()


def test_any_order_gives_the_same_samples():
    class Uneven(Squares):
        def __getitem__(self, index):
            time.sleep(0.02 if index % 2 else 0)
            return index

    loader = DataLoader(Uneven(20), batch_size=None, num_workers=2, in_order=False, **FORK)
    assert sorted(loader) == list(range(20))


def test_prefetching_is_bounded():
    class Indices(Sampler):
        drawn = 0

        def __iter__(self):
            for i in range(50):
                self.drawn += 1
                yield i

        def __len__(self):
            return 50

    sampler = Indices()
    iterator = iter(DataLoader(Squares(50), sampler=sampler, batch_size=None, num_workers=2, prefetch_factor=3, **FORK))
    assert sampler.drawn == 6
    next(iterator)
    assert sampler.drawn == 7


def test_spawned_workers():
    loader = DataLoader(Squares(4), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert numbers(loader) == [[0, 1], [4, 9]]


PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import flambeau as torch
from flambeau.utils.data import DataLoader, Dataset

class Products(Dataset):
    def __getitem__(self, index):
        return torch.ones(200, 200) @ torch.ones(200, 200)
    def __len__(self):
        return 10_000

np.ones((800, 800)) @ np.ones((800, 800))  # starts the threads of the BLAS
iterator = iter(DataLoader(Products(), 4, num_workers=2, prefetch_factor=8, multiprocessing_context="fork"))
print(float(next(iterator)[0, 0, 0]), [process.pid for process in iterator._pool.processes], flush=True)
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("pass", 0),
        ("sys.exit(4)", 4),
        ("raise ValueError", 1),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT),
    ],
)
def test_nothing_hangs_however_the_program_ends(ending, code):
    program = textwrap.dedent(PROGRAM).format(ending=ending)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=os.environ)
    assert done.returncode == code, done.stderr
    value, _, pids = done.stdout.partition(" ")
    assert float(value) == 200.0
    deadline = time.monotonic() + 300
    alive = [int(pid) for pid in pids.strip("[]\n").split(",")]
    while alive and time.monotonic() < deadline:
        alive = [pid for pid in alive if is_running(pid)]
        time.sleep(0.05)
    assert not alive


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""DataLoader workers, as processes and as threads: seeds, transferred data, errors, killed workers and shutdown."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from small_datasets import FORK, THREAD, Count, Squares, drawn_seed, numbers

import flambeau as torch
from flambeau.utils.data import (
    DataLoader,
    Dataset,
    IterDataPipe,
    Sampler,
    get_worker_info,
)

pytestmark = pytest.mark.slow
processes_and_threads = pytest.mark.parametrize("kind", [FORK, THREAD], ids=["processes", "threads"])


def worker_threads(collect: bool = True) -> list[threading.Thread]:
    if collect:
        gc.collect()  # frees iterators that an earlier test's traceback refers to, and so ends their threads
    return [thread for thread in threading.enumerate() if thread.name.startswith("flambeau loader")]


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
        (missing_key, KeyError, "Caught KeyError in DataLoader worker {worker} 1.\nOriginal Traceback"),
        (bad_value, ValueError, "Caught ValueError in DataLoader worker {worker} 1.\nOriginal Traceback"),
        (bad_value, ValueError, "ValueError: bad sample"),
        (unpicklable_error, RuntimeError, "Caught Odd in DataLoader worker {worker} 1."),
    ],
)
@processes_and_threads
def test_worker_errors_are_raised_here(kind, fault, error, message):
    iterator = iter(DataLoader(Faulty(fault), batch_size=None, num_workers=2, **kind))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(error, match=message.format(worker="thread" if kind is THREAD else "process")):
        next(iterator)
    assert list(iterator) == [4, 5]


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (unpicklable, Exception, "Can't pickle|Can't get local object"),
        (has_history, RuntimeError, "Cowardly refusing to serialize non-leaf tensor which requires_grad"),
    ],
)
def test_processes_cannot_send_every_sample(fault, error, message):
    iterator = iter(DataLoader(Faulty(fault), batch_size=None, num_workers=2, **FORK))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(error, match=message):
        next(iterator)
    assert list(iterator) == [4, 5]


@processes_and_threads
def test_an_error_in_init_fn_is_raised_here(kind):
    def fail(worker_id):
        raise OSError("no such shard")

    with pytest.raises(OSError, match="no such shard"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=fail, **kind))


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


@processes_and_threads
def test_any_order_gives_the_same_samples(kind):
    class Uneven(Squares):
        def __getitem__(self, index):
            time.sleep(0.02 if index % 2 else 0)
            return index

    loader = DataLoader(Uneven(20), batch_size=None, num_workers=2, in_order=False, **kind)
    assert sorted(loader) == list(range(20))


@processes_and_threads
def test_prefetching_is_bounded(kind):
    class Indices(Sampler):
        drawn = 0

        def __iter__(self):
            for i in range(50):
                self.drawn += 1
                yield i

        def __len__(self):
            return 50

    sampler = Indices()
    iterator = iter(DataLoader(Squares(50), sampler=sampler, batch_size=None, num_workers=2, prefetch_factor=3, **kind))
    assert sampler.drawn == 6
    next(iterator)
    assert sampler.drawn == 7


def test_threads_have_their_own_generators_and_leave_those_of_the_main_thread():
    class Draws(Dataset):
        def __getitem__(self, index):
            rng = get_worker_info().rng
            generators = rng.random_generator.random(), rng.numpy_generator.random(), rng.torch_generator.initial_seed()
            return torch.rand(()).item(), torch.nn.functional.dropout(torch.ones(8)).tolist(), torch.initial_seed(), generators

        def __len__(self):
            return 4

    before = random.getstate(), str(np.random.get_state())
    torch.manual_seed(4)
    samples = list(DataLoader(Draws(), batch_size=None, num_workers=2, **THREAD))
    drawn = torch.rand(3)
    assert (random.getstate(), str(np.random.get_state())) == before
    torch.manual_seed(4)
    base_seed = drawn_seed()
    for worker in range(2):
        seed = base_seed + worker
        python = random.Random(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            for number, values, initial, (first, second, third) in samples[worker::2]:
                assert number == torch.rand(()).item() and values == torch.nn.functional.dropout(torch.ones(8)).tolist()
                assert initial == third == seed and first == python.random() and 0 <= second < 1
    assert torch.equal(torch.rand(3), drawn)


def test_a_thread_that_seeds_or_restores_the_generator_affects_no_other_thread():
    class Seeds(Dataset):
        def __getitem__(self, index):
            torch.manual_seed(index)
            state = torch.get_rng_state()
            first = torch.rand(())
            torch.set_rng_state(state)
            return first.item(), torch.rand(()).item(), torch.initial_seed()

        def __len__(self):
            return 6

    torch.manual_seed(9)
    samples = list(DataLoader(Seeds(), batch_size=None, num_workers=2, **THREAD))
    for index, (first, second, seed) in enumerate(samples):
        assert first == second == torch.rand((), generator=torch.Generator().manual_seed(index)).item() and seed == index
    assert torch.initial_seed() == 9


def test_thread_workers_share_the_dataset():
    class Marked(Dataset):
        def __init__(self):
            self.threads, self.marks = [], []

        def __getitem__(self, index):
            info = get_worker_info()
            self.threads.append(threading.current_thread())
            return info.id, info.num_workers, info.dataset is self, info.worker_method, torch.is_grad_enabled()

        def __len__(self):
            return 6

    dataset = Marked()
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        persistent_workers=True,
        worker_init_fn=lambda worker: get_worker_info().dataset.marks.append(worker),
        **THREAD,
    )
    assert loader.multiprocessing_context == "thread"
    with torch.no_grad():  # modes are not inherited
        assert list(loader) == [[number % 2, 2, True, "thread", True] for number in range(6)]
    assert len(list(loader)) == 6  # in the same threads
    assert len({*dataset.threads}) == 2 and sorted(dataset.marks) == [0, 1]
    for _ in loader:  # start an epoch without finishing it
        break
    assert len(list(loader)) == 6 and len(worker_threads()) == 2
    assert get_worker_info() is None
    assert not [thread for thread in dataset.threads if thread is threading.current_thread()]
    del loader
    assert not worker_threads()


@pytest.mark.parametrize("persistent", [False, True])
def test_threads_read_iterable_datasets(persistent):
    loader = DataLoader(Count(7), batch_size=2, num_workers=2, persistent_workers=persistent, **THREAD)
    assert numbers(loader) == numbers(loader) == [[0, 2], [1, 3], [4, 6], [5]]
    assert list(DataLoader(Count(7), batch_size=None, num_workers=3, **THREAD)) == list(range(7))


def test_threads_pass_samples_without_copies():
    class Objects(Dataset):
        samples = (lambda: None, torch.ones(2, requires_grad=True) * 2, torch.arange(3))

        def __getitem__(self, index):
            return self.samples[index]

        def __len__(self):
            return 3

    loaded = list(DataLoader(Objects(), batch_size=None, collate_fn=lambda sample: sample, num_workers=2, **THREAD))
    assert all(here is there for here, there in zip(loaded, Objects.samples, strict=True))


def test_threads_keep_no_batch_alive():
    iterator = iter(DataLoader(Squares(4), num_workers=1, persistent_workers=True, **THREAD))
    batches = [weakref.ref(batch) for batch in iterator]
    gc.collect()
    assert len(batches) == 4 and not any(batch() is not None for batch in batches)


def test_thread_timeout(monkeypatch):
    monkeypatch.setattr(sys.modules["flambeau_nnlib.data.thread_pool"], "SHUTDOWN_PERIOD", 0.1)
    released = threading.Event()
    loader = DataLoader(Faulty(released.wait), batch_size=None, num_workers=2, timeout=0.5, **THREAD)
    late = r"DataLoader timed out after 0.5 seconds while waiting for a batch from worker [01] \(thread 'flambeau loader [01]'\)"
    with pytest.raises(RuntimeError, match=late):
        list(loader)
    assert worker_threads()
    released.set()  # a thread that was not terminated ends when its call returns
    for thread in worker_threads():
        thread.join(60)
    assert not worker_threads()


def test_a_thread_ended_by_an_exception_is_noticed():
    iterator = iter(DataLoader(Faulty(lambda: sys.exit(3)), batch_size=None, num_workers=2, **THREAD))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"DataLoader worker \(thread 'flambeau loader 1'\) exited") as info:
            iterator._pool.get([1], 0)
        assert isinstance(info.value.__cause__, SystemExit)


def test_worker_threads_end_with_the_iterator():
    for ending in ("break", "exhausted", "error"):
        assert not worker_threads()
        iterator = iter(DataLoader(Squares(50), num_workers=3, **THREAD))
        for _ in iterator:
            assert len(worker_threads(collect=False)) == 3
            if ending != "exhausted":
                break
        if ending == "exhausted":
            assert not worker_threads()
        if ending == "error":
            iterator._pool.close()
        del iterator
        assert not worker_threads()


def test_an_iterator_in_a_cycle_may_be_freed_by_its_worker():
    class Collects(Dataset):
        def __getitem__(self, index):
            gc.collect()
            return index

        def __len__(self):
            return 100

    iterator = iter(DataLoader(Collects(), batch_size=None, num_workers=2, **THREAD))
    iterator.itself = iterator
    del iterator
    for thread in worker_threads():
        thread.join(60)
    assert not worker_threads()


def test_loaders_in_worker_threads():
    class Nested(Dataset):
        def __getitem__(self, index):
            inner = DataLoader(Squares(4), batch_size=4, num_workers=2, **THREAD)
            return next(iter(inner)) + index, get_worker_info().id

        def __len__(self):
            return 4

    samples = list(DataLoader(Nested(), batch_size=None, num_workers=2, **THREAD))
    assert [batch.tolist() for batch, _ in samples] == [[index, index + 1, index + 4, index + 9] for index in range(4)]
    assert [worker for _, worker in samples] == [0, 1, 0, 1]


def test_threads_load_while_a_step_is_captured():
    class Noise(Dataset):
        def __getitem__(self, index):
            return torch.rand(4, 4) + torch.randn(4, 4)

        def __len__(self):
            return 60

    def losses(decorator):
        torch.manual_seed(1)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @decorator
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        loader = DataLoader(Noise(), batch_size=4, num_workers=4, prefetch_factor=4, **THREAD)
        return [step(batch).item() for batch in loader]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that cannot be captured warns
        assert losses(torch.compile) == losses(lambda step: step)


def test_a_captured_function_may_read_from_worker_threads():
    loader = DataLoader(Squares(6), batch_size=2, num_workers=2, **THREAD)
    expected = [sum(x * x for x in range(6)) * factor for factor in range(3)]
    total = torch.compile(lambda factor: sum(batch.sum() for batch in loader) * factor)
    with pytest.warns(UserWarning, match="runs eagerly"):
        assert [total(torch.tensor(factor)).item() for factor in range(3)] == expected


def test_threads_are_started_only_for_what_supports_them():
    class Pipe(IterDataPipe):
        def __iter__(self):
            yield from range(4)

    assert list(DataLoader(Pipe(), batch_size=None, num_workers=1, **THREAD)) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="data pipes support one iterator at a time"):
        DataLoader(Pipe(), batch_size=None, num_workers=2, **THREAD)
    with pytest.raises(ValueError, match="multiprocessing_context can only be used with"):
        DataLoader(Squares(), **THREAD)


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
iterator = iter(DataLoader(Products(), 4, num_workers=2, prefetch_factor=8, multiprocessing_context="{context}"))
print(float(next(iterator)[0, 0, 0]), [process.pid for process in getattr(iterator._pool, "processes", ())], flush=True)
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
@processes_and_threads
def test_nothing_hangs_however_the_program_ends(kind, ending, code):
    program = textwrap.dedent(PROGRAM).format(ending=ending, context=kind["multiprocessing_context"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=os.environ)
    assert done.returncode == code, done.stderr
    value, _, pids = done.stdout.partition(" ")
    assert float(value) == 200.0
    deadline = time.monotonic() + 300
    alive = [int(pid) for pid in pids.strip("[]\n").split(",") if pid]
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

"""Processes that die: the others raise an error that names the dead rank within seconds, and leave no shared memory behind.

`FLAMBEAU_TEST_KILLS=50 python -m pytest tests/distributed/test_distributed_failures.py -k random` kills processes at 50
random moments.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import test_distributed
from test_distributed_engines import in_processes, join

import flambeau as torch
import flambeau.distributed as dist

pytestmark = pytest.mark.slow

LIMIT = 60.0  # seconds within which the other processes must detect a dead one
KILLS = int(os.environ.get("FLAMBEAU_TEST_KILLS", "4"))
WAYS = ("raises", "killed", "ends", "exits")


def shared_memory() -> set[str]:
    """Return the names in /dev/shm that jobs of flambeau or MPI may have created."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in names if name.startswith(("flambeau", "mpich", "psm"))}


def assert_that_nothing_stays(before: set[str]) -> None:
    """Wait until all shared memory that is not in `before` is removed. Tests that run in parallel remove theirs at their end."""
    left, end = shared_memory() - before, time.monotonic() + 300
    while left := left & shared_memory():
        assert time.monotonic() < end, left
        time.sleep(0.05)


def die(way: str) -> None:
    """End this process by SIGKILL, `os._exit`, `sys.exit` or an exception."""
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "exits":
        os._exit(3)
    if way == "ends":
        sys.exit(0)
    raise ArithmeticError("on purpose")


def in_interpreters(ranks: int, program: str, *arguments: Any, hosts: int = 1) -> list[subprocess.Popen[str]]:
    """Run the function `program` of this file in one interpreter per rank, which then shuts down as usual."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_distributed_failures as here; "
    return [
        subprocess.Popen(
            [sys.executable, "-c", f"{code}here.{program}({rank}, *{arguments!r})"],
            env=os.environ | ({"FLAMBEAU_HOST_ID": f"host {rank % hosts}"} if hosts > 1 else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]


# --- at a known moment ---


def dies(rank: int, url: str, hosts: int, folder: Path, way: str, waits_in: str) -> None:
    join(rank, url, hosts)
    dist.barrier()
    (folder / f"passed {rank}").touch()
    if rank == 1:
        while len(list(folder.glob("passed *"))) < dist.get_world_size():  # data sent to other hosts must have arrived
            time.sleep(0.02)
        (folder / "died").write_text(str(time.time()))
        die(way)
    if waits_in == "nothing":
        time.sleep(2)
    try:
        if waits_in == "recv":
            dist.recv(torch.zeros(1), 1)
        elif waits_in == "recv from another":
            dist.recv(torch.zeros(1), 2 - rank)
        elif waits_in == "async":
            dist.all_reduce(torch.ones(100_000), async_op=True).wait()
        elif waits_in == "a store":
            dist.new_group([1, 2 - rank, rank])
        else:
            dist.all_reduce(torch.ones(4))
    except dist.DistBackendError as error:
        (folder / str(rank)).write_text(f"{time.time()} {error}")
        os._exit(0)


@pytest.mark.parametrize(
    ("hosts", "way", "waits_in"),
    [
        (1, "killed", "all_reduce"),
        (1, "exits", "recv"),
        (1, "killed", "recv from another"),
        (1, "killed", "async"),
        (1, "killed", "nothing"),
        (1, "exits", "a store"),
        (2, "killed", "all_reduce"),
    ],
)
def test_others_notice_that_a_rank_has_died(hosts: int, way: str, waits_in: str, tmp_path: Path) -> None:
    if hosts > 1:
        pytest.importorskip("zmq")
    before = shared_memory()
    url = f"tcp://127.0.0.1:{test_distributed.free_port()}"
    assert in_processes(dies, url, hosts, tmp_path, way, waits_in) == [0, -signal.SIGKILL if way == "killed" else 3, 0]
    died = float((tmp_path / "died").read_text())
    for rank in (0, 2):
        when, _, message = (tmp_path / str(rank)).read_text().partition(" ")
        assert float(when) - died < LIMIT and "rank 1 (host " in message and "has ended" in message
    assert_that_nothing_stays(before)


def assert_death_of_first_rank_is_reported(rank: int, url: str, folder: Path) -> None:
    join(rank, url, 1)
    dist.barrier()
    if rank == 0:
        os._exit(1)
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=r"rank 0 \(host .*has ended without leaving"):
        dist.barrier()
    assert time.monotonic() - began < LIMIT
    os._exit(0)


def test_others_notice_that_the_first_rank_has_died(tmp_path: Path) -> None:
    assert in_processes(assert_death_of_first_rank_is_reported, f"tcp://127.0.0.1:{test_distributed.free_port()}", tmp_path) == [
        1,
        0,
        0,
    ]


def assert_smaller_group_goes_on(rank: int, url: str) -> None:
    join(rank, url, 1)
    if rank == 2:
        os._exit(1)
    with pytest.raises(dist.DistBackendError, match="rank 2"):
        dist.barrier()
    smaller = dist.shrink_group([2])
    total = torch.ones(3)
    dist.all_reduce(total, group=smaller)
    assert total.tolist() == [2, 2, 2]
    os._exit(0)


def test_a_smaller_group_goes_on() -> None:
    assert in_processes(assert_smaller_group_goes_on, f"tcp://127.0.0.1:{test_distributed.free_port()}") == [0, 0, 1]


def waits_for_what_never_comes(rank: int, url: str) -> None:
    join(rank, url, 1, 2)
    if rank == 0:
        dist.irecv(torch.zeros(1), 1, tag=7)
        dist.all_reduce(torch.ones(4), async_op=True)
        raise ArithmeticError("on purpose")
    dist.barrier()


def test_a_program_ends_whose_operations_never_do() -> None:
    processes = in_interpreters(2, "waits_for_what_never_comes", f"tcp://127.0.0.1:{test_distributed.free_port()}")
    first, second = (process.communicate(timeout=300)[0] for process in processes)
    assert "ArithmeticError: on purpose" in first
    assert "DistBackendError" in second and ("rank 0 (host " in second or "do not call the same" in second)


def ends_before_its_operation(rank: int, url: str) -> None:
    join(rank, url, 1, 2)
    work = dist.all_reduce(torch.ones(2_000_000), async_op=True)
    if rank == 1:
        time.sleep(0.5)
        work.wait()
        print("got what the other sent before it ended")


def test_operations_that_were_started_end_with_the_program() -> None:
    processes = in_interpreters(2, "ends_before_its_operation", f"tcp://127.0.0.1:{test_distributed.free_port()}")
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0] and "got what" in outputs[1]


def assert_tags_are_independent(rank: int, url: str) -> None:
    join(rank, url, 1, 2)
    if rank == 0:
        received = [torch.zeros(1) for _ in range(12)]
        works = [dist.irecv(tensor, 1, tag=7) for tensor in received[:2]]
        works += [dist.irecv(tensor, 1, tag=tag) for tag, tensor in enumerate(received[2:], 10)]
        works[-1].wait()
        dist.send(torch.ones(1), 1)
        for work in works:
            work.wait()
        assert [tensor.item() for tensor in received] == [1, 2, *range(10, 20)]
    else:
        dist.send(torch.tensor([19.0]), 0, tag=19)
        dist.recv(torch.zeros(1), 0)
        for tag in range(18, 9, -1):
            dist.send(torch.tensor([float(tag)]), 0, tag=tag)
        for value in (1.0, 2.0):
            dist.send(torch.tensor([value]), 0, tag=7)
    dist.barrier()
    dist.destroy_process_group()


def test_messages_of_one_tag_keep_their_order_and_tags_do_not_wait_for_each_other() -> None:
    assert in_processes(assert_tags_are_independent, f"tcp://127.0.0.1:{test_distributed.free_port()}", size=2) == [0, 0]


# --- at random moments ---


def random_calls(rank: int, size: int, seed: int) -> list[Callable[[], Any]]:
    """Return collectives of random kinds and sizes. The same seed gives the same calls in all processes."""
    chance, calls = random.Random(seed), []
    for _ in range(20):
        count = int(10 ** chance.uniform(0, 6.5))
        root = chance.randrange(size)
        kinds: list[Callable[..., Any]] = [
            lambda count, root: dist.all_reduce(torch.ones(count)),
            lambda count, root: dist.broadcast(torch.ones(count), root),
            lambda count, root: dist.reduce(torch.ones(count), root),
            lambda count, root: dist.all_gather([torch.ones(count) for _ in range(size)], torch.ones(count)),
            lambda count, root: dist.reduce_scatter(torch.ones(count), [torch.ones(count) for _ in range(size)]),
            lambda count, root: dist.all_to_all_single(torch.ones(size * count), torch.ones(size * count)),
            lambda count, root: dist.all_reduce(torch.ones(count), async_op=True).wait(),
            lambda count, root: dist.all_gather_object([None] * size, {"rank": rank}),
            lambda count, root: dist.send(torch.ones(9), (rank + 1) % size) or dist.recv(torch.ones(9), (rank - 1) % size),
            lambda count, root: dist.barrier(),
        ]
        kind = chance.choice(kinds)
        calls.append(lambda kind=kind, count=count, root=root: kind(count, root))
    return calls


def works_until_one_dies(rank: int, size: int, url: str, hosts: int, folder: str, seed: int, victim: int, way: str) -> None:
    """Call collectives in a loop. The victim ends itself after a random time, unless the test kills it."""
    if url == "mpi":
        dist.init_process_group("mpi")
        rank = dist.get_rank()
    else:
        join(rank, url, hosts, size)
    end = time.monotonic() + 0.3 + random.Random(seed + 1).random()
    place = Path(folder)
    (place / f"ready {rank}").write_text(str(os.getpid()))
    try:
        while True:
            for call in random_calls(rank, size, seed):
                call()
                if way != "killed" and rank == victim and time.monotonic() > end:
                    (place / "died").write_text(str(time.time()))
                    die(way)
    except dist.DistBackendError as error:
        (place / str(rank)).write_text(f"{time.time()} {error}")
        raise


def assert_that_all_saw_it(folder: Path, ranks: set[int], victim: int) -> None:
    died = float((folder / "died").read_text())
    for rank in ranks:
        when, _, message = (folder / str(rank)).read_text().partition(" ")
        assert float(when) - died < LIMIT, (rank, float(when) - died, message)
        assert re.search(rf"rank {victim} \(host .*process \d+\) has (ended without leaving|left)", message), (rank, message)


def kill_when_all_work(folder: Path, size: int, victim: int, seed: int) -> None:
    end = time.monotonic() + 300
    while len(list(folder.glob("ready *"))) < size:
        if time.monotonic() > end:
            raise TimeoutError("some ranks did not start within 60 seconds")
        time.sleep(0.01)
    time.sleep(0.3 + random.Random(seed + 1).random())
    (folder / "died").write_text(str(time.time()))
    os.kill(int((folder / f"ready {victim}").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("seed", range(KILLS))
def test_random_ends_at_random_moments(seed: int, tmp_path: Path) -> None:
    before, chance = shared_memory(), random.Random(seed)
    size, hosts = chance.choice([2, 3, 4]), 2 if seed % 4 == 3 and find_spec("zmq") else 1
    victim, way = chance.randrange(size), "killed" if seed % 2 == 0 else chance.choice(WAYS)
    url = f"tcp://127.0.0.1:{test_distributed.free_port()}"
    arguments = size, url, hosts, str(tmp_path), seed, victim, way
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=works_until_one_dies, args=(rank, *arguments)) for rank in range(size)]
    for process in processes:
        process.start()
    if way == "killed":
        kill_when_all_work(tmp_path, size, victim, seed)
    for process in processes:
        process.join(300)
    hung = [rank for rank, process in enumerate(processes) if process.is_alive()]
    for process in processes:
        process.kill()
    assert not hung
    assert_that_all_saw_it(tmp_path, set(range(size)) - {victim}, victim)
    assert_that_nothing_stays(before)


@pytest.mark.skipif(not find_spec("mpi4py") or not shutil.which("mpiexec"), reason="needs mpi4py and mpiexec")
@pytest.mark.parametrize("seed", range(max(1, KILLS // 3)))
def test_mpi_random_ends_at_random_moments(seed: int, tmp_path: Path) -> None:
    """If a process is killed, mpiexec ends the others; otherwise they raise an error."""
    before, chance = shared_memory(), random.Random(seed)
    size, way = chance.choice([2, 3]), WAYS[seed % len(WAYS)]
    victim = chance.randrange(size)
    arguments = 0, size, "mpi", 1, str(tmp_path), seed, victim, way
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_distributed_failures as here; "
    program = [sys.executable, "-c", f"{code}here.works_until_one_dies(*{arguments!r})"]
    with subprocess.Popen(["mpiexec", "-n", str(size), *program], stderr=subprocess.DEVNULL) as job:
        if way == "killed":
            kill_when_all_work(tmp_path, size, victim, seed)
        job.wait(300)
    if way in ("killed", "exits"):
        assert time.time() - float((tmp_path / "died").read_text()) < LIMIT
    else:
        assert_that_all_saw_it(tmp_path, set(range(size)) - {victim}, victim)
    assert_that_nothing_stays(before)

"""Communication engines: unauthenticated clients, mismatched collectives, several hosts and MPI."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest
import test_distributed

import flambeau as torch
import flambeau.distributed as dist

pytestmark = pytest.mark.slow

SIZE = 3


def join(rank: int, url: str, hosts: int, size: int = SIZE) -> None:
    """Join a job while pretending to run on one of `hosts` hosts."""
    os.environ["FLAMBEAU_HOST_ID"] = f"host {rank % hosts}"
    dist.init_process_group("gloo", init_method=url, rank=rank, world_size=size, timeout=timedelta(seconds=30))


def in_processes(target: Callable[..., Any], *arguments: Any, size: int = SIZE) -> list[int | None]:
    """Run `target(rank, *arguments)` in separate processes, wait until all have ended, and return the exit codes."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=target, args=(rank, *arguments)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        process.kill()
    return [process.exitcode for process in processes]


# --- disagreements ---


def assert_disagreement_is_reported(rank: int, url: str, hosts: int, detail: bool, folder: Path) -> None:
    join(rank, url, hosts, 2)
    dist.set_debug_level(dist.DebugLevel.DETAIL if detail else dist.DebugLevel.OFF)
    with pytest.raises(dist.DistBackendError) as caught:
        dist.all_reduce(torch.ones(2, 2)) if rank else dist.all_reduce(torch.ones(4 if detail else 5))
    expected = ("[2, 2]", "[4]") if detail else ("all_reduce of 4", "all_reduce of 5")
    assert all(what in str(caught.value) for what in expected), str(caught.value)
    (folder / str(rank)).touch()
    while not (folder / str(1 - rank)).exists():  # the other rank must detect the mismatch before this rank leaves
        time.sleep(0.02)
    os._exit(0)


@pytest.mark.parametrize(("hosts", "detail"), [(1, False), (1, True), (2, False)])
def test_ranks_that_disagree_are_told_what_each_calls(hosts: int, detail: bool, tmp_path: Path) -> None:
    if hosts > 1:
        pytest.importorskip("zmq")
    assert in_processes(
        assert_disagreement_is_reported, f"tcp://127.0.0.1:{test_distributed.free_port()}", hosts, detail, tmp_path, size=2
    ) == [0, 0]


# --- strangers ---


class Trap:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_of_strangers_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    store.set("key", "value")
    trap = pickle.dumps(Trap(tmp_path / "caught"))
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", store.port)) as stranger:
            stranger.sendall(len(trap).to_bytes(4, "big") + trap)
    with Client(("127.0.0.1", store.port)) as stranger:
        stranger.recv_bytes()  # the authentication challenge
        stranger.send_bytes(trap)
    friend = dist.TCPStore("127.0.0.1", store.port, wait_for_workers=False)
    friend.set("other", trap)  # stored values are bytes and are not unpickled by the store
    assert friend.get("other") == trap and not (tmp_path / "caught").exists()
    monkeypatch.setenv("FLAMBEAU_JOB_SECRET", "another")
    stranger = dist.TCPStore("127.0.0.1", store.port, wait_for_workers=False, timeout=timedelta(seconds=1))
    with pytest.raises(dist.DistNetworkError, match="does not hold this job's secret: set FLAMBEAU_JOB_SECRET"):
        stranger.get("key")
    store.close()


def test_the_secret_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau_nnlib.distributed.secret import job_secret

    monkeypatch.delenv("FLAMBEAU_JOB_SECRET", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = job_secret()
    path = tmp_path / "flambeau" / "job-secret"
    assert job_secret() == first and path.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("FLAMBEAU_JOB_SECRET", "given")
    assert job_secret() != first


def assert_wrong_key_is_refused(rank: int, url: str) -> None:
    """A process on another host cannot send messages without the job's secret."""
    import zmq

    join(rank, url, 2, 2)
    far = dist.default_group()._job._mailbox._remote
    if rank == 1:
        public, secret = zmq.curve_keypair()
        with zmq.Context() as context, context.socket(zmq.PUSH) as stranger:
            stranger.curve_publickey, stranger.curve_secretkey, stranger.curve_serverkey = public, secret, far._public
            stranger.linger = 0
            stranger.connect(dist.default_group().store.get("default/far/0").decode())
            stranger.send_multipart((b"group 0, message 5 from 1", b"message", bytes(4)))
            time.sleep(0.5)
        dist.send(torch.ones(1), 0, tag=5)
    else:
        received = torch.zeros(1)
        dist.recv(received, 1, tag=5)
        assert received.item() == 1
    dist.barrier()
    dist.destroy_process_group()


def test_messages_of_strangers_between_hosts_are_not_taken() -> None:
    pytest.importorskip("zmq")
    assert in_processes(assert_wrong_key_is_refused, f"tcp://127.0.0.1:{test_distributed.free_port()}", size=2) == [0, 0]


# --- all collectives, on every engine and dtype ---


def on_two_hosts(rank: int, url: str) -> None:
    join(rank, url, 2)
    for check in (
        test_distributed.assert_collectives,
        test_distributed.assert_objects_and_messages,
        test_distributed.assert_groups,
        assert_many_sizes,
    ):
        check(rank)
    dist.barrier()
    dist.destroy_process_group()


def assert_many_sizes(rank: int) -> None:
    """All-reduce tensors smaller and larger than a chunk, of dtypes that NumPy lacks, and non-contiguous tensors."""
    for count in (1, 5000, 300_001):
        for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.complex64):
            tensor = (torch.arange(count) % 7).to(dtype) * (rank + 1)
            dist.all_reduce(tensor)
            assert torch.equal(tensor, (torch.arange(count) % 7).to(dtype) * 6)
    turned = torch.full((200, 300), float(rank)).t()
    dist.all_reduce(turned, dist.ReduceOp.MAX)
    assert turned.shape == (300, 200) and not turned.is_contiguous() and turned.min() == turned.max() == SIZE - 1
    flags = torch.tensor([rank == 0, rank < 2, False])
    dist.all_reduce(flags, dist.ReduceOp.BOR)
    assert flags.tolist() == [True, True, False]
    mean = torch.full((3,), rank)
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    assert mean.tolist() == [1, 1, 1]
    parts = [torch.zeros(receiver_share(rank, sender)) for sender in range(SIZE)]
    dist.all_to_all(parts, [torch.full((receiver_share(receiver, rank),), float(rank)) for receiver in range(SIZE)])
    assert all(part.eq(sender).all() for sender, part in enumerate(parts))
    works = [dist.all_reduce(torch.full((50_000,), float(step)), async_op=True) for step in range(5)]
    assert [work.get_future().wait()[0][0].item() for work in works] == [3 * step for step in range(5)]


def receiver_share(receiver: int, sender: int) -> int:
    return 100_000 * receiver + 1000 * sender


def assert_many_sizes_on_one_host(rank: int, url: str) -> None:
    join(rank, url, 1)
    assert_many_sizes(rank)
    dist.barrier()
    dist.destroy_process_group()


def test_many_sizes() -> None:
    assert in_processes(assert_many_sizes_on_one_host, f"tcp://127.0.0.1:{test_distributed.free_port()}") == [0, 0, 0]


def test_two_hosts() -> None:
    pytest.importorskip("zmq")
    assert in_processes(on_two_hosts, f"tcp://127.0.0.1:{test_distributed.free_port()}") == [0, 0, 0]


MPI_PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
import flambeau as torch, flambeau.distributed as dist, test_distributed, test_distributed_engines
dist.init_process_group("mpi")
assert dist.get_backend() == "mpi" and dist.is_mpi_available()
for check in (test_distributed.assert_collectives, test_distributed.assert_objects_and_messages, test_distributed.assert_groups,
              test_distributed.assert_data_parallel, test_distributed_engines.assert_many_sizes):
    check(dist.get_rank())
dist.destroy_process_group()
"""


@pytest.mark.skipif(not find_spec("mpi4py") or not shutil.which("mpiexec"), reason="needs mpi4py and mpiexec")
def test_mpi(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MPI_PROGRAM.format(tests=str(Path(__file__).parent)))
    paths = os.pathsep.join(path for path in sys.path if path)
    command = ["mpiexec", "-n", str(SIZE), sys.executable, str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- an engine of a plugin ---


class Plugin:
    """A communication engine for jobs of one process."""

    device_type, needs_store = "cpu", False

    @torch.backend.hookimpl
    def flambeau_distributed_engine(self, name: str) -> Any:
        return self if name == "alone" else None

    def available(self) -> bool:
        return True

    def join(self, store: Any, rank: int, world_size: int, timeout: timedelta) -> Any:
        from flambeau_nnlib.distributed.gloo import GlooJob

        return GlooJob(dist.HashStore(), 0, 1, timeout)


def test_a_plugin_adds_an_engine() -> None:
    plugin = Plugin()
    torch.backend.plugins().register(plugin, name="alone")
    try:
        dist.init_process_group("alone")
        assert dist.get_backend() == "alone" and dist.is_backend_available("alone") and not dist.is_backend_available("other")
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [1, 1]
        dist.destroy_process_group()
    finally:
        torch.backend.plugins().unregister(plugin)
    with pytest.raises(RuntimeError, match="doesn't have ALONE built in"):
        dist.init_process_group("alone")

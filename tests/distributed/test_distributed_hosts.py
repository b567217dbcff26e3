"""Jobs on two simulated hosts: connected network namespaces with separate host names."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

LIMIT = 30.0  # seconds within which a process must detect that a host is unreachable
PORT = 29513

PROGRAM = """
import os, sys, time
from pathlib import Path
import flambeau as torch, flambeau.distributed as dist
from datetime import timedelta

torch.set_num_threads(1)
task, folder = sys.argv[1], Path(sys.argv[2])
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
assert len(set(dist.default_group()._job._watch.hosts)) == 2

def works():
    total = torch.arange(300_000.0) * (rank + 1)
    dist.all_reduce(total)
    assert torch.equal(total, torch.arange(300_000.0) * 10)
    parts = [torch.empty(5, dtype=torch.bfloat16) for _ in range(size)]
    dist.all_gather(parts, torch.full((5,), float(rank), dtype=torch.bfloat16))
    assert [part[0].item() for part in parts] == [0, 1, 2, 3]
    received = torch.zeros(7)
    sending = dist.isend(torch.full((7,), float(rank)), (rank + 2) % size)
    dist.recv(received, (rank + 2) % size)
    assert received[0].item() == (rank + 2) % size
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found[3] == {"rank": 3}
    here = dist.new_subgroups(2)[0]  # of one host: shared memory
    dist.all_reduce(received, group=here)
    steps()

def steps():
    def network():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    generator = torch.Generator().manual_seed(1)
    batch = torch.randn(8 * size, 6, generator=generator)
    alone, together = network(), torch.nn.parallel.DistributedDataParallel(network())
    for net, rows in ((alone, batch), (together, batch[rank * 8 : rank * 8 + 8])):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(rows).pow(2).mean().backward()
            optimizer.step()
    for one, other in zip(alone.parameters(), together.parameters()):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)

if task == "works":
    works()
    dist.barrier()
    dist.destroy_process_group()
    (folder / f"worked {rank}").touch()
else:
    (folder / f"ready {rank}").touch()
    try:
        while True:
            dist.all_reduce(torch.ones(100_000))
    except dist.DistBackendError as error:
        (folder / str(rank)).write_text(f"{time.time()} {error}")
        os._exit(0)
"""


def command(*arguments: str) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Create two network namespaces with the addresses 10.213.77.1 and 10.213.77.2, and yield their names."""
    if not all(map(shutil.which, ("ip", "nsenter", "unshare"))):
        pytest.skip("the commands `ip`, `nsenter` and `unshare` are required")
    names = [f"fl{os.getpid()}{letter}" for letter in "ab"]
    try:
        for name in names:
            command("ip", "netns", "add", name)
        command("ip", "link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for place, name in enumerate(names, 1):
            command("ip", "-n", name, "addr", "add", f"10.213.77.{place}/24", "dev", "cable")
            for device in ("lo", "cable"):
                command("ip", "-n", name, "link", "set", device, "up")
    except OSError as error:
        pytest.skip(f"two hosts are two network namespaces, which this user cannot make: {error}")
    else:
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def on_host(host: str, *arguments: Any, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process in a host's network namespace."""
    within = [
        "nsenter",
        f"--net=/var/run/netns/{host}",
        "unshare",
        "--uts",
        "sh",
        "-c",
        f'hostname {host}; exec "$@"',
        "sh",
        sys.executable,
    ]
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [*within, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_a_job_on_two_hosts(hosts: list[str], program: Path, tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    secret, where = secrets.token_hex(), f"10.213.77.1:{PORT}"
    options = ["--nnodes", 2, "--nproc-per-node", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", where, "--rdzv-id", "job"]
    agents = [
        on_host(host, "-m", "flambeau.distributed.run", *options, program, "works", tmp_path, FLAMBEAU_JOB_SECRET=secret)
        for host in hosts
    ]
    outputs = [agent.communicate(timeout=300)[0] for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    assert sorted(path.name for path in tmp_path.glob("worked *")) == [f"worked {rank}" for rank in range(4)]


def test_a_stranger_on_another_host_is_refused(hosts: list[str]) -> None:
    server = f"""
import flambeau.distributed as dist
store = dist.TCPStore("10.213.77.1", {PORT}, is_master=True, wait_for_workers=False)
store.set("key", "value")
print(store.get("friend"))
"""
    client = f"""
import sys, flambeau.distributed as dist
from datetime import timedelta
store = dist.TCPStore("10.213.77.1", {PORT}, wait_for_workers=False, timeout=timedelta(seconds=20))
assert store.get("key") == b"value"
store.set("friend", "came")
"""
    serving = on_host(hosts[0], "-c", server, FLAMBEAU_JOB_SECRET="right")
    stranger = on_host(hosts[1], "-c", client, FLAMBEAU_JOB_SECRET="wrong").communicate(timeout=300)[0]
    assert "does not hold this job's secret" in stranger
    assert on_host(hosts[1], "-c", client, FLAMBEAU_JOB_SECRET="right").communicate(timeout=300)[0] == ""
    assert "came" in serving.communicate(timeout=300)[0]


@pytest.mark.parametrize("way", ["processes killed", "cable pulled"])
def test_a_host_that_goes(way: str, hosts: list[str], program: Path, tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    job = {"MASTER_ADDR": "10.213.77.1", "MASTER_PORT": str(PORT), "WORLD_SIZE": "4", "FLAMBEAU_JOB_SECRET": secrets.token_hex()}
    processes = [on_host(hosts[rank // 2], program, "endless", tmp_path, RANK=str(rank), **job) for rank in range(4)]
    try:
        end = time.monotonic() + 300
        while len(list(tmp_path.glob("ready *"))) < 4:
            gone = [process for process in processes if process.poll() is not None]
            assert time.monotonic() < end and not gone, [process.stdout and process.stdout.read() for process in gone]
            time.sleep(0.02)
        time.sleep(0.5)
        died = time.time()
        if way == "cable pulled":
            command("ip", "-n", hosts[1], "link", "set", "cable", "down")
        else:
            for process in processes[2:]:
                os.killpg(process.pid, signal.SIGKILL)
        others = {0: hosts[1], 1: hosts[1], 2: hosts[0], 3: hosts[0]}
        for rank in (0, 1, 2, 3) if way == "cable pulled" else (0, 1):
            processes[rank].wait(300)
            when, _, message = (tmp_path / str(rank)).read_text().partition(" ")
            assert float(when) - died < LIMIT, (rank, float(when) - died, message)
            assert f"(host {others[rank]}, process " in message, (rank, message)
    finally:
        for process in processes:
            process.kill()
            process.communicate()

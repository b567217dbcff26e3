"""Train for minutes with loaders, compiled steps, checkpoints, and processes that are killed: resources must stay flat.

    python tests/robustness/soaking.py --minutes 5

Half of the time goes to one process whose loader workers are killed, the other half to jobs of three processes. In some jobs, a
rank is killed and the launcher restarts all ranks. In others, a rank loses its network connection; these jobs require network
namespaces, which only root may create.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import flambeau as torch
from flambeau import nn
from flambeau.utils.data import DataLoader, TensorDataset

TOLERATED = {
    "MiB": 12.0,
    "descriptors": 0,
    "threads": 0,
    "files": 0,
    "shared memory": 0,
}  # the largest allowed growth, see `growth`
RANKS = 3
HERE = Path(__file__).parent


# --- resources ---


def temporary_files() -> int:
    return sum(len(files) + len(folders) for _, folders, files in os.walk(tempfile.gettempdir()))


def shared_memory() -> int:
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return sum(name.startswith("flambeau") for name in names)


def resources() -> dict[str, float]:
    """Return what this process and its user hold: memory in MiB, descriptors, threads, temporary files, shared memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return {
        "MiB": pages * resource.getpagesize() / 2**20,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "files": temporary_files(),
        "shared memory": shared_memory(),
    }


def growth(measured: list[dict[str, float]]) -> dict[str, float]:
    """Return the growth of each resource: its least value in the last third, minus its largest in the second third.

    The first third warms up caches and pools.
    """
    third = len(measured) // 3
    if not third:
        return {name: round(measured[-1][name] - measured[0][name], 1) for name in TOLERATED}
    before, after = measured[third : 2 * third], measured[2 * third :]
    return {name: round(min(m[name] for m in after) - max(m[name] for m in before), 1) for name in TOLERATED}


def excessive(grown: dict[str, float]) -> dict[str, float]:
    """Return the resources that grew more than tolerated."""
    return {name: n for name, n in grown.items() if n > TOLERATED[name]}


# --- one process ---


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def train(seconds: float, seed: int) -> dict[str, object]:
    """Train with compiled steps, loaders and checkpoints, and kill a worker in every fourth epoch."""
    random, end = Random(seed), time.monotonic() + seconds
    torch.manual_seed(seed)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    compiled = torch.compile(model)
    data = TensorDataset(torch.randn(256, 32), torch.randint(0, 10, (256,)))
    counts, measured = {"epochs": 0, "steps": 0, "killed workers": 0, "checkpoints": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        while time.monotonic() < end:
            kills = counts["epochs"] % 4 == 3
            batches = iter(DataLoader(data, batch_size=16, shuffle=True, num_workers=2))
            victim = random.choice(batches._pool.processes) if kills else None
            try:
                for inputs, targets in batches:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(compiled(inputs), targets).backward()
                    optimizer.step()
                    counts["steps"] += 1
                    if victim is not None:
                        os.kill(victim.pid, signal.SIGKILL)
                        victim.join()
                        victim = None
            except RuntimeError as error:
                if not kills or "exited unexpectedly" not in str(error):
                    raise
                counts["killed workers"] += 1
            del batches
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
            state = torch.load(path)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            counts["checkpoints"] += 1
            counts["epochs"] += 1
            measured.append(resources())
    return {"counts": counts, "growth": growth(measured)}


# --- jobs ---

# Each rank writes the growth of its resources into its file `done<rank>`.
WORKER = """
import json, os, sys, time
from datetime import timedelta
from pathlib import Path
import flambeau as torch
import flambeau.distributed as dist

folder, kills = Path(sys.argv[1]), sys.argv[2] == "kills"
sys.path.append(sys.argv[3])
from soaking import growth, resources
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, path = dist.get_rank(), folder / "state.pt"
weight = torch.load(path)["weight"] if path.exists() else torch.zeros(1000)
start, measured = int(weight[0]), []
for step in range(start, 60):
    gradient = torch.ones(1000)
    dist.all_reduce(gradient)
    weight += gradient / dist.get_world_size()
    if rank == 0 and step % 10 == 9:
        torch.save({"weight": weight}, path)
    if kills and rank == 1 and step == start + 25:
        os.kill(os.getpid(), 9)
    if not kills and rank == 1 and step == 20:
        (folder / "ready").touch()
    if not kills:
        time.sleep(0.02)
    measured.append(resources())
assert (weight == 60).all()
dist.destroy_process_group()
(folder / f"done{rank}").write_text(json.dumps(growth(measured)))
"""


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def restarted_job(folder: Path) -> None:
    """Run a job whose rank 1 is killed twice.  The launcher restarts it from its last checkpoint until it is done."""
    (folder / "worker.py").write_text(WORKER, encoding="utf-8")
    command = [sys.executable, "-m", "flambeau.distributed.run", f"--nproc-per-node={RANKS}", "--max-restarts=5"]
    command += [f"--master-port={free_port()}", str(folder / "worker.py"), str(folder), "kills", str(HERE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode or len(list(folder.glob("done*"))) != RANKS:
        raise RuntimeError(f"the job did not end: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    for rank in range(RANKS):
        if grown := excessive(json.loads((folder / f"done{rank}").read_text(encoding="utf-8"))):
            raise RuntimeError(f"on rank {rank} these grew: {grown}")


@contextmanager
def network(count: int, name: str) -> Iterator[list[str]]:
    """Create network namespaces with addresses 10.77.0.1, 10.77.0.2, ..., connected by a bridge.  Yield their names."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    names = [f"{name}{i}" for i in range(count)]
    bridge = f"{name}bridge"[:15]
    try:
        ip("netns", "add", bridge)
        ip("-n", bridge, "link", "add", "bridge", "type", "bridge")
        ip("-n", bridge, "link", "set", "bridge", "up")
        for i, space in enumerate(names):
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
            ip("link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", f"port{i}", "netns", bridge)
            ip("-n", bridge, "link", "set", f"port{i}", "master", "bridge")
            ip("-n", bridge, "link", "set", f"port{i}", "up")
            ip("-n", space, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
        yield names
    finally:
        for space in [*names, bridge]:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)


def namespaces_exist() -> bool:
    """Whether this process may create network namespaces and links between them."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    try:
        with network(2, f"try{os.getpid() % 10000}-"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def cut_off_job(folder: Path) -> None:
    """Cut rank 1 off from the others during a job.  Each of the others must end with an error within its timeout."""
    (folder / "worker.py").write_text(WORKER, encoding="utf-8")
    prefix = f"cut{os.getpid() % 10000}-"
    with network(RANKS, prefix) as names:
        processes = []
        for rank, space in enumerate(names):
            environment = os.environ | {
                "RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29511", "FLAMBEAU_JOB_SECRET": "soak",
            }  # fmt: skip
            command = ["ip", "netns", "exec", space, sys.executable, str(folder / "worker.py"), str(folder), "cut", str(HERE)]
            processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        try:
            end = time.monotonic() + 500
            while not (folder / "ready").exists():
                if time.monotonic() > end or any(process.poll() is not None for process in processes):
                    raise RuntimeError("the job did not start: " + "".join(_errors(process) for process in processes))
                time.sleep(0.02)
            subprocess.run(["ip", "-n", f"{prefix}bridge"[:15], "link", "set", "port1", "down"], check=True)
            for process in processes:
                process.wait(300)
            errors = [_errors(process) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if any(process.returncode == 0 for process in processes) or list(folder.glob("done*")):
            raise RuntimeError("a rank ended as if it had not been cut off")
        if not all("Error" in error for error in errors):
            raise RuntimeError(f"a rank reported no error: {errors}")


def _errors(process: subprocess.Popen[str]) -> str:
    """Kill a process if it still runs. Return what it wrote to stderr."""
    process.kill()
    return process.communicate()[1]


def run_jobs(seconds: float) -> dict[str, object]:
    """Run two kinds of jobs in turn: a rank is killed and the job restarted, or a rank loses its network connection."""
    counts, measured, end = {"restarted jobs": 0, "cut off jobs": 0}, [resources()], time.monotonic() + seconds
    cuts = namespaces_exist()
    if not cuts:
        print("NOT CHECKED: ranks without network connection, because network namespaces cannot be created", file=sys.stderr)
    while len(measured) < 2 or time.monotonic() < end:
        for name, job in {"restarted jobs": restarted_job, "cut off jobs": cut_off_job}.items():
            if name == "cut off jobs" and not cuts:
                continue
            with tempfile.TemporaryDirectory() as folder:
                job(Path(folder))
            counts[name] += 1
        measured.append(resources())
    return {"counts": counts, "growth": growth(measured)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Train for minutes; memory, descriptors, threads and files must stay flat.")
    parser.add_argument("--minutes", type=float, default=5, help="time in total (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data and of the killed workers (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:  # so that only files of this run are counted
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        for name, result in (
            ("one process", lambda: train(options.minutes * 30, options.seed)),
            ("jobs", lambda: run_jobs(options.minutes * 30)),
        ):
            found = result()
            grown = excessive(found["growth"])
            results[name] = found["counts"] | {"failed": len(grown)}
            if grown:
                print(f"{name}: these grew: {grown}", file=sys.stderr)
            if not options.json:
                print(f"{name}: {found['counts']}, growth {found['growth']}", flush=True)
        assert threading.active_count() == 1
    if options.json:
        print(json.dumps(results))
    return int(any(result["failed"] for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())

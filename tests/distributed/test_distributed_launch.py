"""`python -m flambeau.distributed.run` starts, monitors and restarts processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flambeau.distributed.elastic.multiprocessing import ChildFailedError, Std
from flambeau.distributed.launcher import LaunchConfig, elastic_launch
from test_distributed import free_port

from flambeau.distributed import run as launcher

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys, time
import torch, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group()
    total = torch.tensor([dist.get_rank()])
    dist.all_reduce(total)
    words = ["rank", dist.get_rank(), "of", dist.get_world_size(), "sum", total.item(), *sys.argv[1:]]
    sys.stdout.write(" ".join(map(str, words)) + chr(10))  # in one piece, for the ranks share a pipe
    sys.stdout.flush()
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if "fails" in sys.argv and dist.get_rank() == 1 and attempt == "0":
        raise ValueError("on purpose")
    if "waits" in sys.argv:
        time.sleep(500)
    dist.barrier()
    dist.destroy_process_group()

main()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def start(*arguments: Any) -> subprocess.Popen[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "flambeau.distributed.run", *map(str, arguments)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, **pipes)


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_one_host(program: Path) -> None:
    code, out, err = finished(start("--standalone", "--nproc-per-node", 2, program, "--rank", "${local_rank}"))
    assert code == 0, err
    assert sorted(out.splitlines()) == [f"rank {rank} of 2 sum 1 --rank {rank}" for rank in range(2)]


def test_empty_folders_of_logs_are_removed(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    status, _, errors = finished(start("--nproc-per-node=2", program))
    assert status == 0, errors
    assert not [path.name for path in folder.iterdir() if path.name.startswith("flambeau-run-")]


def test_restarts_and_logs(program: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    code, out, err = finished(
        start("--nproc_per_node=2", "--max-restarts=1", "-r0:0,1:2", "-t", "1", "--log-dir", logs, program, "fails")
    )
    assert code == 0 and "restart 1 of 1" in err
    assert sorted(out.splitlines()) == [f"[default{rank}]:rank {rank} of 2 sum 1 fails" for rank in (0, 0, 1, 1)]
    assert "ValueError: on purpose" in next(logs.glob("*/attempt_0/1/stderr.log")).read_text()
    assert next(logs.glob("*/attempt_1/0/stdout.log")).read_text() == "rank 0 of 2 sum 1 fails\n"


def test_a_failure_is_explained(program: Path) -> None:
    code, _, err = finished(start("--standalone", "--nproc-per-node=2", program, "fails"))
    assert code == 1
    assert (
        "program.py FAILED" in err
        and "rank      : 1 (local_rank: 1)" in err
        and "ValueError: on purpose" in err.split("FAILED")[1]
    )


def test_signals_end_all(program: Path) -> None:
    process = start("--standalone", "--nproc-per-node=2", program, "waits")
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    code, _, err = finished(process)
    assert code == 128 + signal.SIGTERM and "received SIGTERM" in err


@pytest.mark.parametrize("way", ["static", "c10d"])
def test_two_hosts(way: str, program: Path) -> None:
    port = free_port()
    common: list[Any] = ["--nnodes=2", "--nproc-per-node=1"]
    if way == "static":
        own: list[list[Any]] = [["--node-rank", rank, "--master-addr=127.0.0.1", "--master-port", port] for rank in range(2)]
    else:
        own = [["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=job"]] * 2
    results = [finished(process) for process in [start(*common, *each, program) for each in own]]
    assert [code for code, _, _ in results] == [0, 0], results
    assert sorted(out for _, out, _ in results) == ["rank 0 of 2 sum 1\n", "rank 1 of 2 sum 1\n"]


def ranks(add: int) -> int:
    if add < 0:
        raise ValueError("negative")
    return int(os.environ["RANK"]) + add


def test_functions() -> None:
    config = LaunchConfig(1, 1, 2, start_method="fork", max_restarts=0)
    assert elastic_launch(config, ranks)(10) == {0: 10, 1: 11}
    with pytest.raises(ChildFailedError, match="(?s)ranks FAILED.*ValueError: negative") as caught:
        elastic_launch(config, ranks)(-1)
    assert caught.value.get_first_failure()[1].exitcode == 1


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    args = launcher.parse_args(["--nnodes=1:2", "--rdzv_endpoint=host:1", "--rdzv-conf", "timeout=5", "-m", "pkg", "--lr", "1"])
    config, program, arguments = launcher.config_from_args(args)
    assert (config.min_nodes, config.max_nodes, config.nproc_per_node, config.rdzv_endpoint) == (1, 2, 3, "host:1")
    assert config.rdzv_configs == {"timeout": "5", "rank": 0} and program == sys.executable
    assert arguments == ["-u", "-m", "flambeau", "-m", "pkg", "--lr", "1"]
    assert launcher.determine_local_world_size("cpu") == os.cpu_count() and Std.from_str("3") == Std.ALL
    for call in (
        lambda: launcher.determine_local_world_size("many"),
        lambda: Std.from_str("x"),
        lambda: launcher.config_from_args(launcher.parse_args(["--nnodes=2:1", "x"])),
        lambda: launcher.config_from_args(launcher.parse_args(["--rdzv-conf=a", "x"])),
        lambda: launcher.config_from_args(launcher.parse_args(["--rdzv-backend=etcd", "x"])),
        lambda: launcher.config_from_args(launcher.parse_args(["--no-python", "-m", "x"])),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(RuntimeError, match="MIN:MAX"):
        launcher.parse_min_max_nnodes("1:2:3")

"""Faults of the machine: full disks, read-only folders, missing memory and file descriptors, clock jumps, signals.

`python tests/robustness/report.py` writes the table in docs/project/robustness.md from these tests.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.distributed import checkpoint
from flambeau.engine.devices.interceptor import Interceptor
from flambeau.serialization.npz import load_npz, save_npz
from flambeau.serialization.safetensors import load_safetensors, save_safetensors
from flambeau_nnlib.optim import adam

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")]


def run(program: str, *arguments: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process, in which `torch` and `nn` are imported."""
    code = "import flambeau as torch\nfrom flambeau import nn\n" + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=550,
    )


# --- a full disk ---


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Files larger than `size` bytes cannot be written: the same error path as a full disk, without the rights to mount one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 256 KiB; skip where mounting is not allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def network(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.ReLU())


def _save_program(width: int, path: Path) -> None:
    torch.export.save(torch.export.export(network(width), (torch.ones(2, width),)), path)


def _save_onnx(width: int, path: Path) -> None:
    torch.onnx.export(network(width), (torch.ones(2, width),), path, verbose=False)


WRITERS: dict[str, tuple[Callable[[int, Path], Any], Callable[[Path], Any]]] = {
    "save": (lambda width, path: torch.save(network(width).state_dict(), path), torch.load),
    "save, legacy": (
        lambda width, path: torch.save(network(width).state_dict(), path, _use_new_zipfile_serialization=False), torch.load,
    ),
    "safetensors": (lambda width, path: save_safetensors(network(width).state_dict(), path), load_safetensors),
    "npz": (lambda width, path: save_npz(network(width).state_dict(), path), load_npz),
    "jit.save": (lambda width, path: torch.jit.save(torch.jit.script(network(width)), path), torch.jit.load),
    "export.save": (_save_program, torch.export.load),
    "onnx": (_save_onnx, lambda path: path.read_bytes()),
}  # fmt: skip


def assert_that_the_old_file_stays(name: str, folder: Path, fault: Callable[[], Any], numbers: tuple[int, ...]) -> None:
    """Write a small file, then a large one under the fault.  The small one must stay complete, without temporary files."""
    write, read = WRITERS[name]
    path = folder / "file"
    write(4, path)
    before, files = path.read_bytes(), sorted(os.listdir(folder))  # ONNX models have a second file
    with fault(), pytest.raises(OSError) as raised:
        write(512, path)
    assert raised.value.errno in numbers
    assert path.read_bytes() == before and sorted(os.listdir(folder)) == files
    read(path)
    write(8, path)  # the next, smaller file is written
    assert path.read_bytes() != before


@pytest.mark.parametrize("name", WRITERS)
def test_full_disk_by_a_limit(name, tmp_path):
    assert_that_the_old_file_stays(name, tmp_path, lambda: limited_files(100_000), (errno.EFBIG,))


@pytest.mark.parametrize("name", WRITERS)
def test_full_disk(name, small_disk):
    @contextmanager
    def unchanged() -> Iterator[None]:
        yield

    assert_that_the_old_file_stays(name, small_disk, unchanged, (errno.ENOSPC,))


def test_full_device():
    with pytest.raises(OSError, match="No space left on device"):
        torch.save(torch.ones(100_000), "/dev/full")


def test_full_disk_and_distributed_checkpoints(tmp_path):
    state = {"weight": torch.arange(12.0)}
    checkpoint.save(state, checkpoint_id=tmp_path, no_dist=True)
    with limited_files(100_000), pytest.raises(checkpoint.CheckpointException, match="File too large"):
        checkpoint.save({"weight": torch.ones(12, 10_000)}, checkpoint_id=tmp_path, no_dist=True)
    restored = {"weight": torch.zeros(12)}
    checkpoint.load(restored, checkpoint_id=tmp_path, no_dist=True)
    torch.testing.assert_close(restored["weight"], state["weight"])


# --- folders that cannot be written ---

NO_HOME = {
    "HOME": "/dev/null/home",
    "XDG_CACHE_HOME": "/dev/null/cache",
    "TMPDIR": "/dev/null/temporary",
    "TORCH_HOME": "/dev/null/torch",
}


def test_without_a_home_networks_train():
    program = """
        network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(network.parameters())
        compiled = torch.compile(network)
        for _ in range(5):
            optimizer.zero_grad()
            compiled(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        print("trained")
    """
    done = run(program, **NO_HOME)
    assert done.stdout == "trained\n" and not done.returncode, done.stderr


def test_downloads_without_a_home_name_the_folder(tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "weights.pth")
    program = """
        import sys
        try:
            torch.hub.load_state_dict_from_url(sys.argv[1], progress=False)
        except OSError as error:
            print(error)
        print(torch.hub.load_state_dict_from_url(sys.argv[1], sys.argv[2], progress=False)["weight"].tolist())
    """
    done = run(program, (tmp_path / "weights.pth").as_uri(), tmp_path / "downloads", **NO_HOME)
    assert "/dev/null/" in done.stdout and done.stdout.endswith("[1.0, 1.0]\n"), done.stderr


# --- mapped files ---


def test_a_shorter_file_is_refused_before_it_is_mapped(tmp_path):
    path = tmp_path / "file.pt"
    torch.save(torch.ones(100_000), path)
    os.truncate(path, 200_000)
    with pytest.raises(RuntimeError, match="failed reading zip archive.*file.pt"):
        torch.load(path, mmap=True)


def test_saving_over_a_mapped_file_leaves_the_tensors(tmp_path):
    path = tmp_path / "file.pt"
    torch.save(torch.arange(100_000.0), path)
    mapped = torch.load(path, mmap=True)
    torch.save(torch.zeros(1), path)  # replaces the file: the mapping keeps the old one
    torch.testing.assert_close(mapped, torch.arange(100_000.0))


def test_a_mapped_file_that_shrinks_ends_the_process(tmp_path):
    """The documented limit: reading mapped memory behind the new end of the file makes the system send SIGBUS."""
    path = tmp_path / "file.pt"
    torch.save(torch.ones(100_000), path)
    program = """
        import faulthandler, os, sys
        faulthandler.enable()
        x = torch.load(sys.argv[1], mmap=True)
        os.truncate(sys.argv[1], 4096)
        x.sum()
    """
    done = run(program, path)
    assert done.returncode == -signal.SIGBUS and "Bus error" in done.stderr


# --- too little memory ---


class FailsAt(Interceptor):
    """Context in which the n-th kernel call raises MemoryError; counts the calls."""

    def __init__(self, number: int) -> None:
        super().__init__([torch.backend.find("numpy")])
        self.number, self.calls = number, 0

    def stand_in(self, backend: Any) -> Any:
        class Backend:
            def __getattr__(self, name: str) -> Any:
                return getattr(backend, name)

        return Backend()

    def wrap_kernel(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.number:
                raise MemoryError(f"call {self.number}: {name}")
            return kernel(*args, **options)

        return failing


class FailsAtUpdate:
    """Context in which the n-th update of a parameter by an optimizer raises MemoryError; counts the updates."""

    def __init__(self, number: int) -> None:
        self.number, self.calls, self.patches = number, 0, pytest.MonkeyPatch()

    def __enter__(self) -> FailsAtUpdate:
        for owner, name in ((adam, "fused_step"), (torch.Tensor, "add_")):
            self.patches.setattr(owner, name, self._failing(getattr(owner, name)))
        return self

    def __exit__(self, *exception: object) -> None:
        self.patches.undo()

    def _failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.number:
                raise MemoryError(f"call {self.number}: an update")
            return function(*args, **options)

        return failing


class Training:
    """A network, its optimizer and a batch."""

    def __init__(self, optimizer: str) -> None:
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
        self.optimizer = getattr(torch.optim, optimizer)(self.network.parameters(), lr=0.1)
        self.inputs, self.targets = torch.randn(6, 5), torch.randn(6, 2)

    def forward(self) -> torch.Tensor:
        return nn.functional.mse_loss(self.network(self.inputs), self.targets)

    def step(self) -> float:
        self.optimizer.zero_grad()
        loss = self.forward()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def state(self) -> dict[str, Any]:
        return {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value.clone() if isinstance(value, torch.Tensor) else value


def failing_calls(total: int) -> range:
    return range(1, total + 1, max(1, total // 25))


@pytest.mark.parametrize("phase", ["forward", "backward", "optimizer"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_memory_errors_in_a_step(phase, optimizer):
    """After a MemoryError in any kernel, training continues from the saved state, with the losses of a run without errors."""
    reference = Training(optimizer)
    losses = [reference.step() for _ in range(5)]

    def until(training: Training) -> Callable[[], Any]:
        """Run the phases before the tested one; return the tested one."""
        training.optimizer.zero_grad()
        if phase == "forward":
            return training.forward
        loss = training.forward()
        if phase == "backward":
            return loss.backward
        loss.backward()
        return training.optimizer.step

    counted = Training(optimizer)
    counted.step()
    function, fails_at = until(counted), FailsAtUpdate if phase == "optimizer" else FailsAt
    with fails_at(0) as counter:
        function()
    total = counter.calls
    assert total >= 2
    for number in failing_calls(total):
        training = Training(optimizer)
        training.step(), training.step()
        saved = copied(training.state())
        function = until(training)
        with fails_at(number), pytest.raises((MemoryError, RuntimeError), match=f"call {number}:"):
            function()
        assert torch.is_grad_enabled() and Interceptor.active is None
        if phase != "optimizer":  # these phases change no parameter
            for name, value in training.state()["network"].items():
                torch.testing.assert_close(value, saved["network"][name], rtol=0, atol=0)
        else:
            training.network.load_state_dict(saved["network"])
            training.optimizer.load_state_dict(saved["optimizer"])
        assert [training.step() for _ in range(3)] == losses[2:], number


def test_memory_errors_while_saving_and_loading(tmp_path, monkeypatch):
    """Fail at each write of a file, and at the allocation of a storage while loading."""
    from flambeau.serialization import replacing

    path, values = tmp_path / "file.pt", {"a": torch.arange(5.0), "b": torch.ones(100_000)}
    torch.save(values, path)
    before, write = path.read_bytes(), replacing._EagerFile.write
    for number in range(1, 20):
        count = 0

        def failing(self: Any, data: Any, number: int = number) -> int:
            nonlocal count
            count += 1
            if count == number:
                raise MemoryError
            return write(self, data)

        monkeypatch.setattr(replacing._EagerFile, "write", failing)
        try:
            torch.save({"a": torch.zeros(1), "b": torch.zeros(200_000)}, path)
            break
        except MemoryError:
            assert path.read_bytes() == before and os.listdir(tmp_path) == ["file.pt"]
    assert number > 1, "no write failed"
    monkeypatch.undo()
    torch.save(values, path)
    program = """
        import resource, sys
        torch.load(sys.argv[1])
        used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
        torch.save(torch.zeros(50_000_000), sys.argv[2])
        resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000, -1))
        try:
            torch.load(sys.argv[2])
        except RuntimeError as error:
            print(type(error).__name__, error)
        print(torch.load(sys.argv[1])["a"].tolist())
    """
    done = run(program, path, tmp_path / "large.pt")
    message, *rest = done.stdout.splitlines() or [""]
    assert re.search(r"DefaultCPUAllocator: can't allocate memory.*record .*large\.pt", message), done.stdout + done.stderr
    assert rest == ["[0.0, 1.0, 2.0, 3.0, 4.0]"]


def test_too_little_address_space_for_a_step():
    program = """
        import resource
        network = nn.Linear(1000, 1000)
        network(torch.ones(2, 1000)).sum().backward()
        used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000, -1))
        try:
            network(torch.ones(40_000, 1000)).sum().backward()
        except (MemoryError, RuntimeError) as error:
            print(type(error).__name__, error)
        network.zero_grad()
        network(torch.ones(2, 1000)).sum().backward()
        print("continues")
    """
    done = run(program)
    assert done.stdout.endswith("continues\n") and "llocate" in done.stdout, done.stdout + done.stderr


# --- too few descriptors ---


def test_too_few_descriptors(tmp_path):
    path = tmp_path / "file.pt"
    program = """
        import os, resource, sys
        from flambeau.utils.data import DataLoader
        torch.save(torch.ones(3), sys.argv[1])
        list(DataLoader(list(range(8)), num_workers=2))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        calls = (
            lambda: torch.save(torch.zeros(2), sys.argv[1]),
            lambda: torch.load(sys.argv[1]),
            # a server that starts processes (Python 3.14's default) reports "Connection refused" when it lacks descriptors itself
            lambda: list(DataLoader(list(range(8)), num_workers=2, multiprocessing_context="fork")),
        )
        for call in calls:
            errors, opened = [], len(os.listdir("/proc/self/fd"))
            for allowed in range(3, opened + 20):
                resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, limits[1]))
                try:
                    call()
                except OSError as error:
                    errors.append(str(error))
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            assert errors and all("Too many open files" in error for error in errors), errors
            # Python's `Popen._launch` leaves its first pipe open if it cannot create the second one.
            assert len(os.listdir("/proc/self/fd")) - opened <= (2 * len(errors) if call is calls[2] else 0)
            call()
        print(torch.load(sys.argv[1]).tolist(), os.listdir(os.path.dirname(sys.argv[1])))
    """
    done = run(program, path)
    assert done.stdout == "[0.0, 0.0] ['file.pt']\n", done.stdout + done.stderr


# --- clocks and signals ---


def test_clock_jumps():
    """Timeouts use the monotonic clock: jumps of `time.time` by a year, forwards and backwards, have no effect."""
    program = """
        import itertools, time
        from flambeau.utils.data import DataLoader
        import flambeau.distributed as dist
        now, jumps = time.time, itertools.cycle([0, 86400 * 365, -86400 * 365])
        time.time = lambda: now() + next(jumps)
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        for _ in range(3):
            assert len(list(DataLoader(list(range(8)), num_workers=2, timeout=300))) == 8
            dist.all_reduce(torch.ones(2))
        with torch.profiler.profile() as profile:
            torch.ones(3).sum()
        assert 0 <= sum(event.cpu_time_total for event in profile.key_averages()) < 1e9
        dist.destroy_process_group()
        print("done")
    """
    done = run(program)
    assert done.stdout == "done\n" and not done.returncode, done.stderr


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_signals_while_saving(sent, tmp_path):
    path = tmp_path / "file.pt"
    program = """
        import sys
        for number in range(10**9):
            torch.save({"number": number, "values": torch.full((200_000,), float(number))}, sys.argv[1])
            print(number, flush=True)
    """
    random = Random(0)
    for _ in range(8):
        code = "import flambeau as torch\n" + textwrap.dedent(program)
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(random.random() * 0.2)
            process.send_signal(sent)
            printed = [0, *(int(line) for line in process.stdout if line.endswith("\n"))]
        loaded = torch.load(path)
        assert loaded["number"] >= printed[-1] and (loaded["values"] == loaded["number"]).all()
    torch.save(torch.ones(1), path)
    assert os.listdir(tmp_path) == ["file.pt"]

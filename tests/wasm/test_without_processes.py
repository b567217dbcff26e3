"""On WebAssembly, calls that need processes, shared memory or too much memory raise RuntimeError, and loaders run in-process.

The tests run in the guests of `tox -e wasm`, and elsewhere in an interpreter whose `sys.platform` is "wasi" during imports.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import flambeau as torch
import flambeau.distributed
import flambeau.multiprocessing as mp
from flambeau.extension import WEBASSEMBLY
from flambeau.utils.data import DataLoader
from flambeau_backends.parallel import workers

in_webassembly = pytest.mark.skipif(not WEBASSEMBLY, reason="tests WebAssembly")

PROGRAM = """
import multiprocessing.pool, subprocess, sys, numpy, pytest
platform, sys.platform = sys.platform, "wasi"
import flambeau.distributed, flambeau.multiprocessing, flambeau.utils.data
sys.platform = platform
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""


@pytest.mark.skipif(WEBASSEMBLY, reason="needs a process")
def test_with_the_platform_of_webassembly():
    done = subprocess.run([sys.executable, "-c", PROGRAM, __file__], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr


@in_webassembly
@pytest.mark.parametrize("options", [{}, {"persistent_workers": True, "timeout": 3.0}])
def test_loaders_load_in_process_and_warn_once(options):
    from flambeau_nnlib.data import dataloader

    dataloader._warn_without_processes.cache_clear()
    with pytest.warns(UserWarning, match="loads in this process instead of 2 workers") as warned:
        loader = DataLoader(torch.arange(10), 4, num_workers=2, **options)
        assert [len(batch) for _ in range(2) for batch in loader] == [4, 4, 2] * 2
    assert len(warned) == 1


@in_webassembly
@pytest.mark.parametrize(
    "call",
    [
        lambda: mp.spawn(print, nprocs=2),
        lambda: mp.Process(target=print).start(),
        lambda: mp.Queue(),
        lambda: mp.get_context("fork").Queue(),
        lambda: mp.get_context("spawn").Process(target=print).start(),
        lambda: mp.Pool(2),
        lambda: torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:29500", world_size=2, rank=0),
    ],
)
def test_processes_are_refused(call):
    with pytest.raises(RuntimeError, match="needs several processes, which WebAssembly"):
        call()


@in_webassembly
def test_shared_memory_is_refused():
    with pytest.raises(RuntimeError, match="require a POSIX system with processes"):
        torch.ones(3).share_memory_()


def test_workers_of_devices_run_in_this_thread(monkeypatch):
    monkeypatch.setattr(workers, "WEBASSEMBLY", True)
    monkeypatch.setattr(workers, "_workers", {})
    threads = set()

    def call():
        threads.add(threading.get_ident())
        raise KeyError("raised by the call")

    results = workers.run_on([torch.device("cpu", 0)] * 2, [call, lambda: 1])
    assert threads == {threading.get_ident()} and isinstance(results[0], KeyError) and results[1] == 1


def test_tensors_larger_than_the_memory():
    with pytest.raises(MemoryError, match=r"can't allocate memory: .*(GiB|TiB|PiB|EiB|bytes)") as raised:
        torch.nn.Linear(2**24, 2**24)
    assert isinstance(raised.value, RuntimeError), "programs catch PyTorch's RuntimeError"

"""Forks while other threads draw random numbers: the child process can also draw, and has the state of the fork."""

from __future__ import annotations

import os
import select
import sys
import threading

import pytest

import flambeau as torch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="the system does not fork")


def in_child(compute) -> bytes:
    """Return the bytes that `compute` returns in a child process.  Fail if it returns nothing for 20 seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, compute())
        os._exit(0)
    os.close(writing)
    try:
        assert select.select([reading], [], [], 20)[0], "the child process is blocked"
        return os.read(reading, 100)
    finally:
        os.close(reading)
        os.kill(child, 9)
        os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("draw", [
    lambda: torch.rand(3), lambda: torch.randn(3000), lambda: torch.randn(50), lambda: torch.randperm(2000), lambda: torch.manual_seed(0),
], ids=["rand", "large randn", "randn", "randperm", "manual_seed"])  # fmt: skip
def test_children_draw_while_threads_of_their_parent_drew(draw):
    torch.rand(2), torch.randn(2000), draw()  # a fork during an import blocks the child's import: those are Python's locks
    stopped = threading.Event()

    def loop() -> None:
        while not stopped.is_set():
            draw()

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            assert in_child(lambda: torch.rand(2).numpy().tobytes() + torch.randn(2000)[:2].numpy().tobytes()) != b""
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def test_children_continue_the_stream():
    torch.manual_seed(3)
    torch.rand(5)
    expected = in_child(lambda: torch.rand(2).numpy().tobytes())
    assert expected == torch.rand(2).numpy().tobytes()


def test_a_lock_that_the_forking_thread_holds_is_free_in_the_child():
    from flambeau.engine.values.forking import new_lock

    lock = new_lock()
    with lock:
        assert in_child(lambda: str(lock.locked()).encode()) == b"False"
        assert lock.locked()
    assert not lock.locked()

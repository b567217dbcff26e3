"""torch.multiprocessing: tensors shared between processes, and processes that fail."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import flambeau as torch
import flambeau.multiprocessing as mp

pytestmark = pytest.mark.slow

METHODS = [method for method in ("fork", "spawn") if method in mp.get_all_start_methods()]
WAIT = 300  # timeout in seconds for operations that take milliseconds on an idle machine


@pytest.fixture(params=METHODS)
def context(request):
    return mp.get_context(request.param)


@pytest.fixture(params=sorted(mp.get_all_sharing_strategies()))
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def run(context, target, *args):
    """Start a daemon process, which is terminated with the test process."""
    process = context.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def assert_succeeds(process) -> None:
    process.join(WAIT)
    assert process.exitcode == 0


# --- The drop-in ---


def test_everything_of_multiprocessing_is_here():
    assert all(getattr(mp, name) is getattr(multiprocessing, name) for name in multiprocessing.__all__)
    assert set(multiprocessing.__all__) <= set(mp.__all__)


def test_strategies():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    with pytest.raises(AssertionError, match="invalid sharing strategy 'telepathy', expected one of"):
        mp.set_sharing_strategy("telepathy")


# --- Sharing ---


def write_and_answer(queue, answers):
    tensor = queue.get(timeout=WAIT)
    tensor[0] = 100
    answers.put(tensor.shape)
    queue.get(timeout=WAIT)  # keep the process alive until the test ends it


def test_both_sides_of_a_queue_see_what_the_other_writes(context, strategy):
    queue, answers = context.Queue(), context.Queue()
    process = run(context, write_and_answer, queue, answers)
    tensor = torch.zeros(4)
    queue.put(tensor)
    assert answers.get(timeout=WAIT) == (4,)
    assert tensor.tolist() == [100, 0, 0, 0]
    queue.put(None)
    assert_succeeds(process)
    assert tensor.tolist() == [100, 0, 0, 0]


def echo(connection):
    while (message := connection.recv()) is not None:
        connection.send(message)


TENSORS = {
    "1-d": lambda: torch.arange(6.0),
    "0-d": lambda: torch.tensor(3, dtype=torch.int16),
    "empty": lambda: torch.empty(0, 3),
    "transposed": lambda: torch.arange(6).reshape(2, 3).t(),
    "sliced": lambda: torch.arange(10)[2:8:3],
    "expanded": lambda: torch.ones(2, 1).expand(2, 5),
    "bool": lambda: torch.tensor([True, False]),
    "complex": lambda: torch.tensor([1 + 2j]),
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "constant parameter": lambda: torch.nn.Parameter(torch.tensor([1]), requires_grad=False),
}


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS.keys())
def test_a_pipe_returns_the_same_memory(make, strategy):
    context = mp.get_context(METHODS[0])
    ours, theirs = context.Pipe()
    process = run(context, echo, theirs)
    sent = make()
    ours.send([sent, {"again": sent}])
    assert ours.poll(WAIT)
    received, again = ours.recv()
    ours.send(None)
    assert_succeeds(process)
    assert type(received) is type(sent)
    assert received.dtype is sent.dtype and received.stride() == sent.stride()
    assert received.requires_grad == sent.requires_grad and received.is_leaf
    assert torch.equal(received, sent) and received is again["again"]
    if sent.numel():
        assert received.data_ptr() == sent.data_ptr()


def add_one(tensor):
    tensor += 1


def test_arguments_are_shared(context, strategy):
    tensor = torch.zeros(3)
    mp.share(tensor)
    assert_succeeds(run(context, add_one, tensor))
    assert_succeeds(run(context, add_one, tensor))
    assert tensor.tolist() == [2, 2, 2]


def test_sharing_moves_the_tensor_in_place():
    tensor = torch.arange(6.0).reshape(2, 3)
    assert not mp.is_shared(tensor)
    block = mp.share(tensor)
    assert mp.is_shared(tensor) and mp.is_shared(tensor[1:]) and tensor.is_shared() and tensor[1:].is_shared()
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mp.share(tensor) is block
    leaf = torch.ones(2, requires_grad=True)
    mp.share(leaf)
    leaf.sum().backward()
    assert leaf.requires_grad and leaf.grad.tolist() == [1, 1]


def test_sharing_takes_all_tensors_of_the_memory_along():
    tensor = torch.zeros(4)
    view, alias, storage = tensor[1:], tensor.detach(), tensor.untyped_storage()
    mp.share(view)
    assert all(mp.is_shared(each) for each in (tensor, view, alias)) and tensor.untyped_storage() is storage
    tensor.fill_(1)
    assert view.tolist() == [1, 1, 1] and alias.tolist() == [1, 1, 1, 1]


def write_to_storages(queue, answers):
    untyped, typed, tensor = queue.get(timeout=WAIT)
    untyped[3] = 64
    typed[1] = 5
    answers.put(tensor.tolist())
    queue.get(timeout=WAIT)  # keep the process alive until the test ends it


def test_storages_are_sent_as_memory(context, strategy):
    queue, answers = context.Queue(), context.Queue()
    process = run(context, write_to_storages, queue, answers)
    tensor, other = torch.zeros(4), torch.zeros(3)
    queue.put((tensor.untyped_storage(), other.storage(), tensor[:2]))
    assert answers.get(timeout=WAIT) == [2, 0]
    assert tensor.tolist() == [2, 0, 0, 0] and other.tolist() == [0, 5, 0]
    queue.put(None)
    assert_succeeds(process)


def double(tensor):
    return tensor * 2


def test_pools(context):
    with context.Pool(2) as pool:
        results = pool.map(double, [torch.ones(2), torch.tensor(3)])
    assert [result.tolist() for result in results] == [[2, 2], 6]


def put_and_leave(queue):
    queue.put(torch.arange(3))


def test_the_file_system_strategy_outlives_the_sender():
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        queue = mp.Queue()
        assert_succeeds(run(mp.get_context(METHODS[0]), put_and_leave, queue))
        assert queue.get(timeout=WAIT).tolist() == [0, 1, 2]
    finally:
        mp.set_sharing_strategy(before)


SENDER = """
import os, signal, time
import flambeau as torch
import flambeau.multiprocessing as mp

def share_and_die(queue):
    mp.set_sharing_strategy("file_system")
    tensors = [torch.ones(3).share_memory_() for _ in range(5)]
    queue.put(tensors)
    while queue.empty():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

def files():
    return set(name for name in os.listdir("/dev/shm") if name.startswith("flambeau-"))

if __name__ == "__main__":
    before = files()
    if {first!r} == "strategy":
        mp.set_sharing_strategy("file_system")
    context = mp.get_context({method!r})
    queue = context.Queue()
    process = context.Process(target=share_and_die, args=(queue,))
    process.start()
    process.join()
    print(process.exitcode)
    end = time.monotonic() + 300
    while files() - before and time.monotonic() < end:
        time.sleep(0.02)
    print(files() - before)
    try:
        queue.get()
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="looks for files in shared memory")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("first", ["strategy", "processes"])
def test_a_killed_sender_leaves_nothing_in_shared_memory(method, first, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(SENDER.format(method=method, first=first))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=os.environ)
    gone = "the memory of a tensor that was received is gone: the process that sent it was killed"
    assert (done.stdout.splitlines(), done.stderr) == ([str(-signal.SIGKILL), "set()", gone], "")


def total(queue, answers):
    tensors = queue.get(timeout=WAIT)
    answers.put((sum(tensor.sum().item() for tensor in tensors), len(os.listdir("/proc/self/fd"))))
    queue.get(timeout=WAIT)  # keep the process alive until the test ends it


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files")
def test_the_file_system_strategy_keeps_no_descriptor_for_a_tensor(context):
    resource = pytest.importorskip("resource")
    limits, before = resource.getrlimit(resource.RLIMIT_NOFILE), mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, limits[1]))
    try:
        queue, answers = context.Queue(), context.Queue()
        process = run(context, total, queue, answers)
        tensors = [torch.full((4,), float(i)).share_memory_() for i in range(600)]
        queue.put(tensors)
        value, files = answers.get(timeout=WAIT)
        assert value == 4 * sum(range(600)) and files < 100 and len(os.listdir("/proc/self/fd")) < 100
        queue.put(None)
        assert_succeeds(process)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        mp.set_sharing_strategy(before)


def test_what_is_shared_and_put_just_before_the_end_arrives(context):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        queue = context.Queue()
        assert_succeeds(run(context, share_put_and_leave, queue))
        assert [tensor.tolist() for tensor in queue.get(timeout=WAIT)] == [[0, 1], [0, 2]]
    finally:
        mp.set_sharing_strategy(before)


def share_put_and_leave(queue):
    mp.set_sharing_strategy("file_system")
    queue.put([torch.arange(2.0).share_memory_(), (2 * torch.arange(2.0)).share_memory_()])


def test_views_of_one_memory_stay_views(context, strategy):
    base = torch.arange(12.0).reshape(3, 4)
    view = base[1:]
    view.share_memory_()
    view[0, 0] = 99
    assert base[1, 0] == 99 and base.is_shared()
    queue, answers = context.Queue(), context.Queue()
    process = run(context, write_to_a_view, queue, answers)
    queue.put((base, view))
    queue.put(view[1])
    assert answers.get(timeout=WAIT) == [[0, 1, 2, 3], [7, 5, 6, 7], [8, 9, 10, 77]]
    assert base.tolist() == [[0, 1, 2, 3], [7, 5, 6, 7], [8, 9, 10, 77]]
    queue.put(None)
    assert_succeeds(process)


def write_to_a_view(queue, answers):
    base, view = queue.get(timeout=WAIT)
    row = queue.get(timeout=WAIT)
    view[0, 0] = 7
    row[3] = 77
    answers.put(base.tolist())
    queue.get(timeout=WAIT)  # keep the process alive until the test ends it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_tensors_of_a_mapped_file_can_be_shared(tmp_path):
    torch.save(torch.zeros(4), tmp_path / "zeros.pt")
    tensor = torch.load(tmp_path / "zeros.pt", mmap=True)
    assert not tensor.is_shared()
    tensor.share_memory_()
    assert_succeeds(run(mp.get_context("fork"), add_one, tensor))
    assert tensor.tolist() == [1, 1, 1, 1] and torch.load(tmp_path / "zeros.pt").tolist() == [0, 0, 0, 0]


def test_history_cannot_be_sent():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        multiprocessing.reduction.ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)


def test_nothing_is_left_open(strategy):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("cannot count open files here")
    mp.share(torch.ones(5))
    gc.collect()
    before = os.listdir("/proc/self/fd")
    for _ in range(20):
        mp.share(torch.ones(5))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == len(before)
    left = [name for name in os.listdir("/dev/shm") if name.startswith("flambeau-")] if os.path.isdir("/dev/shm") else []
    assert left == []


PROGRAM = """
import flambeau as torch
import flambeau.multiprocessing as mp

def worker(queue, answers):
    answers.put(queue.get() + 1)
    queue.get()

if __name__ == "__main__":
    mp.set_sharing_strategy({strategy!r})
    queue, answers = mp.Queue(), mp.Queue()
    process = mp.Process(target=worker, args=(queue, answers))
    process.start()
    tensor = torch.zeros(2)
    queue.put(tensor)
    print(answers.get().tolist())
    queue.put(tensor)
    process.join()
"""


@pytest.mark.parametrize("strategy", sorted(mp.get_all_sharing_strategies()))
def test_a_program_ends_without_warnings(strategy, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM).format(strategy=strategy))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 1.0]\n", "")


# --- Starting processes, and learning how they ended ---


def set_item(index, tensor, factor):
    tensor[index] = factor * (index + 1)


def test_spawn():
    tensor = torch.zeros(2)
    mp.share(tensor)
    assert mp.spawn(set_item, (tensor, 10), nprocs=2) is None
    assert tensor.tolist() == [10, 20]


def fail_second(index):
    if index == 1:
        raise ValueError("failed on purpose")
    time.sleep(WAIT)


def leave(index):
    os._exit(7)


def die(index):
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted(index):
    raise KeyboardInterrupt


start = {"nprocs": 2, "start_method": METHODS[0]}


def test_an_exception_comes_with_its_traceback_and_stops_the_others():
    begin = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException) as info:
        mp.start_processes(fail_second, **start)
    assert time.monotonic() - begin < WAIT / 2
    assert str(info.value).startswith("\n\n-- Process 1 terminated with the following error:\nTraceback")
    assert "in fail_second" in str(info.value) and "ValueError: failed on purpose" in str(info.value)
    assert info.value.error_index == 1 and info.value.error_pid > 0


def test_exit_codes_and_signals():
    with pytest.raises(mp.ProcessExitedException, match=r"process \d terminated with exit code 7") as info:
        mp.start_processes(leave, **start)
    assert (info.value.exit_code, info.value.signal_name) == (7, None)
    with pytest.raises(mp.ProcessExitedException, match=r"process \d terminated with signal SIGKILL") as info:
        mp.start_processes(die, **start)
    assert (info.value.exit_code, info.value.signal_name) == (-9, "SIGKILL")
    copy = pickle.loads(pickle.dumps(info.value))
    assert (str(copy), copy.error_pid, copy.signal_name) == (str(info.value), info.value.error_pid, "SIGKILL")
    assert isinstance(copy, mp.ProcessException)
    assert mp.start_processes(interrupted, **start) is None


def sleep(index, seconds):
    time.sleep(seconds)


def test_joining_by_hand():
    context = mp.start_processes(sleep, (0.2,), join=False, **start)
    assert len(context.pids()) == 2
    assert context.join(timeout=0.01) is False
    while not context.join(timeout=WAIT):
        pass
    assert context.join() is True
    assert [process.exitcode for process in context.processes] == [0, 0]


def test_older_names_warn():
    with pytest.warns(FutureWarning, match=r"only supports start_method=spawn \(got: fork\)"):
        mp.spawn(sleep, (0,), nprocs=0, start_method="fork")
    with pytest.warns(UserWarning, match="SpawnContext is renamed to ProcessContext"):
        mp.SpawnContext([], [])


# --- Hogwild ---


def take_steps(index, model, features, targets, until):
    """Train one of the parameters until the loss is small. The other processes must train the other parameters."""
    optimizer = torch.optim.SGD([list(model.parameters())[index]], lr=0.1)  # this process updates only one parameter
    for _ in range(20_000):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), targets)
        if loss.item() < until:
            return
        loss.backward()
        optimizer.step()
    raise AssertionError(f"the loss is still {loss.item()}")


def test_processes_train_one_model_together():
    torch.manual_seed(0)
    features = torch.randn(50, 3)
    targets = features @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3
    model = torch.nn.Linear(3, 1)
    model.share_memory()
    assert all(parameter.is_shared() for parameter in model.parameters())
    mp.spawn(take_steps, args=(model, features, targets, 1e-4), nprocs=2)
    assert torch.allclose(model.weight, torch.tensor([[1.0, -2.0, 0.5]]), atol=0.05)
    assert torch.allclose(model.bias, torch.tensor([3.0]), atol=0.05)


class Sizes(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return torch.full((10,), float(index)), torch.full((50_000,), float(index)), torch.tensor(index)

    def __len__(self):
        return 2


def write_to(batch):
    for tensor in batch:
        tensor[...] = 7


def test_tensors_of_workers_are_shared():
    """Tensors from workers are in shared memory: writes of a forked process or of a queue's receiver are visible."""
    for method in ("start", "queue"):
        for batch in torch.utils.data.DataLoader(Sizes(), batch_size=None, num_workers=1, multiprocessing_context="fork"):
            assert all(tensor.is_shared() and tensor.untyped_storage().is_shared() for tensor in batch)
            assert batch[0][2:].is_shared() and not (batch[0] + 1).is_shared() and not batch[1].clone().is_shared()
            if method == "start":
                child = mp.get_context("fork").Process(target=write_to, args=(batch,))
                child.start()
                child.join(60)
            else:
                queue = mp.get_context("fork").SimpleQueue()
                queue.put(list(batch))
                write_to(queue.get())
            assert all((tensor == 7).all() for tensor in batch)

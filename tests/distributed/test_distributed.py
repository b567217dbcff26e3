"""Process groups, collectives and stores, in three processes on one machine."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

import flambeau as torch
import flambeau.distributed as dist
import flambeau.multiprocessing as mp
from flambeau import nn

pytestmark = pytest.mark.slow

SIZE = 3


def assert_in_group(rank: int, url: str, check: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=url, rank=rank, world_size=SIZE, timeout=timedelta(seconds=30))
    try:
        globals()[check](rank)
        dist.barrier()
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def assert_collectives(rank: int) -> None:
    ones = torch.ones(4)
    for op, expected in (
        (dist.ReduceOp.SUM, 6),
        (dist.ReduceOp.AVG, 2),
        (dist.ReduceOp.PRODUCT, 6),
        (dist.ReduceOp.MIN, 1),
        (dist.ReduceOp.MAX, 3),
    ):
        t = ones * (rank + 1)
        assert dist.all_reduce(t, op) is None and t.tolist() == [expected] * 4
    for shape in ((), (0,), (2, 5)):
        t = torch.full(shape, rank, dtype=torch.int64)
        dist.all_reduce(t)
        assert torch.equal(t, torch.full(shape, 3, dtype=torch.int64))
    t = torch.full((2,), float(rank))
    dist.broadcast(t, 1)
    assert t.tolist() == [1, 1]
    t = torch.full((2,), float(rank))
    dist.reduce(t, 2)
    assert t.tolist() == ([3, 3] if rank == 2 else [rank, rank])
    rows = [torch.zeros(2) for _ in range(SIZE)]
    dist.all_gather(rows, torch.full((2,), float(rank)))
    assert torch.stack(rows)[:, 0].tolist() == [0, 1, 2]
    whole = torch.zeros(SIZE, 2)
    work = dist.all_gather_into_tensor(whole, torch.full((2,), float(rank)), async_op=True)
    assert work.wait() and work.is_completed() and whole[:, 1].tolist() == [0, 1, 2]
    dist.gather(
        torch.tensor([rank]), rows if rank == -1 else [torch.zeros(1, dtype=torch.int64) for _ in range(3)] if not rank else None
    )
    mine = torch.zeros(1)
    dist.scatter(mine, [torch.tensor([10.0 + each]) for each in range(SIZE)] if rank == 0 else None)
    assert mine.item() == 10 + rank
    part = torch.zeros(2)
    dist.reduce_scatter_tensor(part, torch.arange(6.0))
    assert part.tolist() == [SIZE * 2 * rank, SIZE * (2 * rank + 1)]
    swapped = torch.zeros(SIZE)
    dist.all_to_all_single(swapped, torch.arange(3.0) + 10 * rank)
    assert swapped.tolist() == [rank, 10 + rank, 20 + rank]
    with pytest.raises(ValueError, match="Argument ``scatter_list`` must"):
        dist.scatter(mine, [] if rank == 0 else [mine])
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")


def assert_objects_and_messages(rank: int) -> None:
    found = [None] * SIZE
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": each} for each in range(SIZE)]
    shared = ["a", {"b": 1}] if rank == 0 else [None, None]
    dist.broadcast_object_list(shared)
    assert shared == ["a", {"b": 1}]
    if rank == 0:
        dist.send(torch.tensor([5.0]), 1, tag=3)
        dist.send_object_list(["hello"], 1)
        got = [dist.recv(torch.zeros(1), tag=7) for _ in range(2)]
        assert sorted(got) == [1, 2]
    else:
        if rank == 1:
            t, objects = torch.zeros(1), [None]
            work = dist.irecv(t, 0, tag=3)
            assert work.wait() and t.item() == 5 and dist.recv_object_list(objects, 0) == 0 and objects == ["hello"]
        dist.isend(torch.ones(1), 0, tag=7).wait()


def assert_groups(rank: int) -> None:
    pair = dist.new_group([2, 0])
    if rank == 1:
        assert (
            pair is dist.GroupMember.NON_GROUP_MEMBER
            and dist.get_rank(pair) == -1
            and dist.all_reduce(torch.ones(1), group=pair) is None
        )
    else:
        t = torch.tensor([float(rank)])
        dist.all_reduce(t, group=pair)
        assert t.item() == 2 and dist.get_process_group_ranks(pair) == [0, 2] and dist.get_group_rank(pair, 2) == 1
    mesh = dist.init_device_mesh("cpu", (SIZE, 1), mesh_dim_names=("data", "model"))
    assert mesh.get_coordinate() == (rank, 0) and mesh["data"].size() == SIZE and mesh.get_local_rank("model") == 0
    t = torch.ones(1)
    dist.all_reduce(t, group=mesh.get_group("data"))
    assert t.item() == SIZE


def assert_data_parallel(rank: int) -> None:
    torch.manual_seed(rank)  # different parameters on each rank, until rank 0 broadcasts its own
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
    torch.manual_seed(9)
    data, optimizer = torch.randn(SIZE * 4, 3), torch.optim.SGD(net.parameters(), lr=0.1)
    alone = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    alone.load_state_dict(net.module.state_dict())
    other = torch.optim.SGD(alone.parameters(), lr=0.1)
    for _ in range(3):
        for model, batch, steps in ((net, data[rank * 4 : rank * 4 + 4], optimizer), (alone, data, other)):
            steps.zero_grad()
            model(batch).pow(2).mean().backward()
            steps.step()
    for a, b in zip(net.module.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    with net.no_sync():
        net.zero_grad()
        net(data[rank * 4 : rank * 4 + 4]).sum().backward()
    assert net.module[2].bias.grad.tolist() == [4, 4]


def assert_unused_parameters(rank: int) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"out": self.used(x)}

    net = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)
    net(torch.full((1, 2), float(rank)))["out"].sum().backward()
    assert net.module.used.weight.grad.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    "check",
    ["assert_collectives", "assert_objects_and_messages", "assert_groups", "assert_data_parallel", "assert_unused_parameters"],
)
def test_three_processes(check: str, tmp_path: Path) -> None:
    mp.start_processes(assert_in_group, (f"file://{tmp_path}/store", check), nprocs=SIZE, start_method="fork")


def free_port() -> int:
    """Return an unused TCP port."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    store.close()
    return store.port


def test_meeting_by_address() -> None:
    mp.start_processes(assert_in_group, (f"tcp://127.0.0.1:{free_port()}", "assert_groups"), nprocs=SIZE, start_method="fork")


def leave_at_once(rank: int, url: str) -> None:
    dist.init_process_group("gloo", init_method=url, rank=rank, world_size=SIZE, timeout=timedelta(seconds=30))


def test_the_store_stays_until_all_have_met() -> None:
    for _ in range(3):
        mp.start_processes(leave_at_once, (f"tcp://127.0.0.1:{free_port()}",), nprocs=SIZE, start_method="fork")


def test_a_closed_store_gives_its_port_back() -> None:
    port = 0
    for _ in range(3):
        store = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
        port = store.port
        client = dist.TCPStore("127.0.0.1", port, wait_for_workers=False)
        client.set("key", "value")
        store.close()
        store.close()
        assert store.get("key") == b"value"
    with pytest.raises(dist.DistNetworkError, match=f"cannot reach the store at 127.0.0.1:{port}"):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(milliseconds=30), wait_for_workers=False).get("key")


def test_joining_again() -> None:
    for _ in range(2):
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{free_port()}", rank=0, world_size=1)
        port = dist.default_group().store.port
        assert dist.get_world_size() == 1
        dist.destroy_process_group()
        dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False).close()


def test_stores(tmp_path: Path) -> None:
    master = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = dist.TCPStore("127.0.0.1", master.port, wait_for_workers=False)
    for one, other in (
        (master, client),
        (dist.HashStore(),) * 2,
        (dist.FileStore(f"{tmp_path}/a"), dist.FileStore(f"{tmp_path}/a")),
    ):
        one.set("key", "value")
        assert other.get("key") == b"value" and other.add("count", 2) == 2 and one.add("count", 3) == 5
        other.append("key", "s")
        assert one.multi_get(["key", "count"]) == [b"values", b"5"] and one.num_keys() == 2
        assert one.compare_set("key", "values", "new") == b"new" and other.compare_set("key", "old", "x") == b"new"
        assert dist.PrefixStore("p", one).check(["key"]) is False and other.delete_key("key") and not one.check(["key"])
        one.set_timeout(timedelta(milliseconds=20))
        with pytest.raises(dist.DistStoreError, match="keys: nothing"):
            one.get("nothing")


def test_without_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dist.is_available() and not dist.is_initialized() and dist.is_gloo_available() and not dist.is_nccl_available()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(torch.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in"):
        dist.init_process_group("nccl")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")
    with pytest.raises(RuntimeError, match="needed when a module"):
        nn.parallel.DistributedDataParallel(nn.ReLU())
    assert dist.get_node_local_rank(2) == int(os.environ.get("LOCAL_RANK", 2))

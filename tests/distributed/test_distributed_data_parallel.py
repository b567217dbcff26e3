"""`DistributedDataParallel` in two processes, compared with one process that trains on all batches."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import test_distributed
from flambeau.distributed._composable.replicate import replicate
from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from flambeau.distributed.algorithms.join import Join
from flambeau.distributed.fsdp import fully_shard
from test_distributed_engines import in_processes, join

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.nn.parallel import DistributedDataParallel

pytestmark = pytest.mark.slow

SIZE = 2
STEPS = 3


def network(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 2))


def run(rank: int, url: str, names: list[str]) -> None:
    torch.set_num_threads(1)
    join(rank, url, 1, SIZE)
    for name in names:
        globals()[name](rank)
        dist.barrier()
    dist.destroy_process_group()


def batches(steps: int = STEPS) -> torch.Tensor:
    torch.manual_seed(5)
    return torch.randn(steps, SIZE, 4, 6)


def trained(wrap: Callable[[nn.Module], Any], rank: int | None, lr: float = 0.1, steps: int = STEPS) -> list[torch.Tensor]:
    """Return the weights after training on the batches of `rank`, or on the batches of all ranks if `rank` is None."""
    net = wrap(network())
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.5)
    for step in batches(steps):
        optimizer.zero_grad()
        inputs = step.flatten(0, 1) if rank is None else step[rank]
        net(inputs).pow(2).mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in net.parameters()]


def assert_close(found: list[torch.Tensor], expected: list[torch.Tensor], tolerance: float = 1e-6) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=0)


def assert_options(rank: int) -> None:
    """Options such as small buckets, gradient views and static graphs give the same weights as a single process."""
    alone = trained(lambda net: net, None)
    for more in ({"bucket_cap_mb": 0.0001}, {"gradient_as_bucket_view": True}, {"static_graph": True, "bucket_cap_mb": 0.002},
                 {"find_unused_parameters": True}):  # fmt: skip
        found = trained(lambda net, more=more: DistributedDataParallel(net, **more), rank)  # type: ignore[misc]
        assert_close(found, alone)
    net = DistributedDataParallel(network(), bucket_cap_mb=0.0001)
    assert len(net.reducer.buckets) > 2


def assert_first_rank_is_copied(rank: int) -> None:
    net = DistributedDataParallel(network(rank))
    assert_close([p.detach() for p in net.parameters()], [p.detach() for p in network(0).parameters()], 0)
    with pytest.raises(RuntimeError, match="DDP expects same model across all ranks, but Rank 0 has 2 params, while rank 1 has"):
        DistributedDataParallel(nn.Linear(2, 2, bias=rank == 0))


def assert_overlap(rank: int) -> None:
    """The communication of the first bucket starts before the backward ends."""
    net, seen = DistributedDataParallel(network(), bucket_cap_mb=0.0001), []

    def hook(state: Any, bucket: Any) -> Any:
        seen.append((bucket.index(), bucket.is_last(), net.module[0].weight.grad is None))
        return default_hooks.allreduce_hook(state, bucket)

    net.register_comm_hook(None, hook)
    net(torch.ones(1, 6)).sum().backward()
    assert [index for index, _, _ in seen] == list(range(len(net.reducer.buckets)))
    assert seen[0][1:] == (False, True) and seen[-1][1]
    with pytest.raises(RuntimeError, match="can only be called once"):
        net.register_comm_hook(None, hook)


def assert_accumulation(rank: int) -> None:
    net = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with net.no_sync():
        net(torch.full((1, 1), 1.0 + rank)).sum().backward()
    assert net.module.weight.grad.item() == 1 + rank
    net(torch.full((1, 1), 10.0)).sum().backward()
    assert net.module.weight.grad.item() == 11.5


def assert_replicated_in_place(rank: int) -> None:
    """`replicate` gives the weights of one process, and keeps the names and the class of the module."""
    alone = trained(lambda net: net, None)
    assert_close(trained(lambda net: replicate(net, bucket_cap_mb=0.001), rank), alone)
    net = network(rank)
    assert (
        replicate(net, ignored_modules=[net[0]], device_id=torch.device("cpu")) is net and type(net).__name__ == "DDPSequential"
    )
    assert isinstance(net, nn.Sequential) and next(iter(net.state_dict())) == "0.weight"
    assert type(net[:1]) is nn.Sequential
    seen = []
    net.register_comm_hook(seen, lambda state, bucket: state.append(1) or default_hooks.allreduce_hook(None, bucket))
    net.set_requires_gradient_sync(False)
    net(torch.ones(1, 6)).sum().backward()
    own = network(rank)[0].weight
    assert torch.equal(net[0].weight, own) and torch.equal(net[2].weight, network(0)[2].weight) and not seen
    net.set_requires_gradient_sync(True)
    net(torch.ones(1, 6)).sum().backward()
    grads = [torch.zeros_like(net[2].weight) for _ in range(SIZE)]
    dist.all_gather(grads, net[2].weight.grad)
    assert seen and torch.equal(grads[0], grads[1])
    with pytest.raises(RuntimeError, match="fully_shard"):
        replicate(fully_shard(nn.Linear(2, 2)))
    with pytest.raises(RuntimeError, match="device_id"):
        replicate(nn.Linear(2, 2), device_id="cpu")
    with pytest.raises(AssertionError, match="deepcopy"):
        copy.deepcopy(net)


class Branches(nn.Module):
    """A module whose ranks can use different submodules."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(1, 1, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor, which: str) -> torch.Tensor:
        return getattr(self, which)(x)


def assert_unused_parameters(rank: int) -> None:
    net = DistributedDataParallel(Branches(), find_unused_parameters=True)
    for _ in range(2):
        net.zero_grad()
        net(torch.ones(1, 1), "second" if rank else "first").sum().backward()
        assert net.module.third.weight.grad is None
        assert net.module.first.weight.grad.item() == net.module.second.weight.grad.item() == 0.5
    net = DistributedDataParallel(Branches())
    net(torch.ones(1, 1), "first").sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration") as caught:
        net(torch.ones(1, 1), "first")
    assert "find_unused_parameters=True" in str(caught.value) and "second.weight, third.weight" in str(caught.value)
    net = DistributedDataParallel(Branches(), static_graph=True)
    for _ in range(2):
        net.zero_grad()
        net(torch.ones(1, 1), "first").sum().backward()
        assert net.module.third.weight.grad is None and net.module.first.weight.grad.item() == 1


def assert_uneven_inputs(rank: int) -> None:
    """Rank 0 has one batch and rank 1 three; gradients are averaged over all ranks, or over those that still have batches."""
    counts = [1, 3]
    for divides_by_all in (True, False):
        net = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        nn.init.ones_(net.module.weight)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with net.join(divide_by_initial_world_size=divides_by_all):
            for _ in range(counts[rank]):
                optimizer.zero_grad()
                net(torch.ones(1, 1)).sum().backward()
                optimizer.step()
        expected = 1 - 0.1 * (2 if divides_by_all else 3)
        assert abs(net.module.weight.item() - expected) < 1e-6
    with pytest.raises(RuntimeError, match="exhausted"), Join([net], throw_on_early_termination=True):
        for _ in range(counts[rank]):
            net(torch.ones(1, 1)).sum().backward()


def assert_hooks(rank: int) -> None:
    alone = trained(lambda net: net, None)
    for hook, tolerance in (
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.fp16_compress_hook, 1e-3),
        (default_hooks.bf16_compress_hook, 1e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 1e-3),
    ):

        def wrap(net: nn.Module, hook: Any = hook) -> Any:
            parallel = DistributedDataParallel(net, bucket_cap_mb=0.002)
            parallel.register_comm_hook(None, hook)
            return parallel

        found = trained(wrap, rank)
        assert_close(found, alone, tolerance)


def assert_powersgd(rank: int) -> None:
    """PowerSGD with full rank is exact, and with rank 1 reaches a similar loss."""
    alone = trained(lambda net: net, None, steps=8)

    def wrap(rank: int, hook: Any) -> Callable[[nn.Module], Any]:
        def wrapped(net: nn.Module) -> Any:
            parallel = DistributedDataParallel(net)
            state = powerSGD_hook.PowerSGDState(None, rank, start_powerSGD_iter=2, min_compression_rate=0.1 if rank > 1 else 2)
            parallel.register_comm_hook(state, hook)
            return parallel

        return wrapped

    assert_close(trained(wrap(40, powerSGD_hook.powerSGD_hook), rank, steps=8), alone, 1e-4)
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        weights = trained(wrap(1, hook), rank, steps=8)
        same = [torch.empty_like(weights[0]) for _ in range(SIZE)]
        dist.all_gather(same, weights[0])
        assert torch.equal(*same) and not torch.equal(weights[0], alone[0])
        assert all((one - other).abs().max() < 0.1 for one, other in zip(weights, alone, strict=True))
    with pytest.raises(ValueError, match="Expect `start_powerSGD_iter` > 1"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


def assert_mixed_dtypes_and_buffers(rank: int) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2).double())
    parallel = DistributedDataParallel(net)
    hidden = nn.Sequential(net[0], net[1])

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return net[2](hidden(x).double())

    parallel = DistributedDataParallel(Both())
    for step in range(2):
        parallel(torch.randn(8, 4, generator=torch.Generator().manual_seed(rank + 10 * step))).sum().backward()
    gradient = torch.cat([parameter.grad.double().reshape(-1) for parameter in parallel.parameters()])
    both = [torch.empty_like(gradient) for _ in range(SIZE)]
    dist.all_gather(both, gradient)
    assert torch.equal(*both)
    parallel.eval()
    parallel.train()
    parallel(torch.ones(8, 4))
    assert parallel.reducer.buckets[0].flat.dtype != parallel.reducer.buckets[1].flat.dtype


def assert_zero_redundancy(rank: int) -> None:
    """Each process stores half of Adam's state. The weights and the consolidated state match an unsharded optimizer."""
    from flambeau.distributed.optim import ZeroRedundancyOptimizer

    def step(net: nn.Module, optimizer: Any, inputs: torch.Tensor) -> None:
        optimizer.zero_grad()
        net(inputs).pow(2).mean().backward()
        optimizer.step()

    net, alone = DistributedDataParallel(network()), network()
    groups = lambda net: [{"params": net[:3].parameters()}, {"params": net[3:].parameters(), "lr": 0.02}]  # noqa: E731
    optimizer = ZeroRedundancyOptimizer(groups(net.module), torch.optim.Adam, lr=0.01)
    whole = torch.optim.Adam(groups(alone), lr=0.01)
    assert len(optimizer.optim.param_groups[0]["params"]) < len(optimizer.param_groups[0]["params"])
    inputs = batches(6)
    for batch in inputs[:3]:
        step(net, optimizer, batch[rank])
        step(alone, whole, batch.flatten(0, 1))
    assert_close([p.detach() for p in net.parameters()], [p.detach() for p in alone.parameters()])
    with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
        optimizer.state_dict()
    optimizer.consolidate_state_dict(1)
    states = [optimizer.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(states, 1)
    expected = whole.state_dict()
    assert states[0]["state"].keys() == expected["state"].keys() and states[0]["param_groups"] == expected["param_groups"]
    for number, state in expected["state"].items():
        torch.testing.assert_close(states[0]["state"][number]["exp_avg"], state["exp_avg"], atol=1e-6, rtol=0)
    again = ZeroRedundancyOptimizer(groups(net.module), torch.optim.Adam, lr=0.5)
    again.load_state_dict(states[0])
    for batch in inputs[3:]:
        step(net, again, batch[rank])
        step(alone, whole, batch.flatten(0, 1))
    assert_close([p.detach() for p in net.parameters()], [p.detach() for p in alone.parameters()])


@pytest.mark.parametrize(
    "names",
    [["assert_options", "assert_first_rank_is_copied", "assert_zero_redundancy"], ["assert_overlap", "assert_accumulation", "assert_replicated_in_place", "assert_unused_parameters", "assert_uneven_inputs"], ["assert_hooks", "assert_powersgd", "assert_mixed_dtypes_and_buffers"]],
    ids=" ".join,
)  # fmt: skip
def test_two_processes(names: list[str]) -> None:
    assert in_processes(run, f"tcp://127.0.0.1:{test_distributed.free_port()}", names, size=SIZE) == [0] * SIZE


def test_a_callback_at_the_end_of_a_backward() -> None:
    seen: list[bool] = []
    weight = torch.ones(1, requires_grad=True)
    queue = torch.autograd.Variable._execution_engine.queue_callback
    output = weight * 2
    output.register_hook(lambda grad: queue(lambda: seen.append(weight.grad is not None)))
    output.sum().backward()
    assert seen == [True]
    with pytest.raises(RuntimeError, match="during backward pass"):
        queue(print)

"""`fully_shard` and `FullyShardedDataParallel`: trained weights match one process that trains on all batches."""

from __future__ import annotations

import functools
from contextlib import nullcontext

import pytest
from distributed_jobs import assert_job_ends, assert_same_weights, whole
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
    register_fsdp_forward_method,
)
from flambeau.distributed.fsdp._fully_shard.group import GradientSum, ParameterGroup
from flambeau.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
)
from flambeau.distributed.optim import ZeroRedundancyOptimizer
from flambeau.distributed.tensor import DTensor, Replicate, Shard
from flambeau.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from flambeau.distributed.tensor.placement_types import _StridedShard

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.nn.parallel import DistributedDataParallel
from flambeau_nnlib.distributed import collectives


def network(seed=0):
    torch.manual_seed(seed)
    layers = [nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.LayerNorm(6)) for _ in range(2)]
    return nn.Sequential(*layers, nn.Linear(6, 3))


def sharded(**options):
    net = network()
    for layer in net[:2]:
        fully_shard(layer, **options)
    return fully_shard(net, **options)


def trained(net, rank, size, steps=3, clip=True, accumulate=1):
    """Train the network on the samples of `rank`, or on the samples of all ranks if `rank` is None. Return the network."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    rng = torch.Generator().manual_seed(5)
    for _ in range(steps):
        batches = torch.randn(accumulate, size, 4, 6, generator=rng)
        for index, batch in enumerate(batches):
            last = index == accumulate - 1
            if isinstance(net, FSDPModule):
                net.set_requires_gradient_sync(last)
            with net.no_sync() if hasattr(net, "no_sync") and not last else nullcontext():
                inputs = batch.flatten(0, 1) if rank is None else batch[rank]
                (net(inputs).float().pow(2).mean() / accumulate).backward()
        if clip and hasattr(net, "clip_grad_norm_"):
            net.clip_grad_norm_(0.5)
        elif clip:
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    return net


def assert_weights(rank, size):
    alone = trained(network(), None, size)
    gathered = []
    gather = ParameterGroup.gather
    ParameterGroup.gather = lambda group, parts: gathered.append(group) or gather(group, parts)
    net = trained(sharded(), rank, size)
    often, gathered[:] = len(gathered), []
    seen = []
    net[0][0].register_forward_hook(lambda layer, *_: seen.append((isinstance(layer.weight, nn.Parameter), layer.weight.shape)))
    with torch.no_grad():
        net(torch.ones(2, 6))
    assert seen == [(True, (6, 6))] and all(isinstance(parameter, nn.Parameter) for parameter in net.parameters())
    gathered.clear()
    kept = trained(sharded(reshard_after_forward=False), rank, size)
    ParameterGroup.gather = gather
    # Three groups, three steps: each group is gathered in the forward, and all but the root again in the backward.
    assert (often, len(gathered)) == (3 * (3 + 2), 3 * 3)
    always = trained(sharded(reshard_after_forward=True), rank, size)
    assert_same_weights(always, alone)
    for found in (net, kept):
        assert_same_weights(found, alone)
        assert isinstance(found, FSDPModule) and isinstance(found, nn.Sequential) and type(found).__name__ == "FSDPSequential"
        for parameter in found.parameters():
            assert type(parameter) is DTensor and parameter.placements == (Shard(0),) == parameter.grad.placements
            assert len(parameter.to_local()) <= -(-len(parameter) // size)
    assert_same_weights(trained(sharded(), rank, size, accumulate=3), trained(network(), None, size, accumulate=3))
    assert_same_weights(trained(sharded(shard_placement_fn=lambda p: Shard(p.ndim - 1)), rank, size), alone)


def assert_prefetch(rank, size):
    """Check the order in which parameter groups are prefetched and used."""
    events = []
    start, gather = ParameterGroup._start, ParameterGroup.gather
    ParameterGroup._start = lambda group, parts, async_op=False: (
        events.append(f"{'ahead' if async_op else 'now'} {names[group]}") or start(group, parts, async_op)
    )
    ParameterGroup.gather = lambda group, parts: events.append(f"use {names[group]}") or gather(group, parts)
    net = sharded(reshard_after_forward=True)
    names = {module.__dict__["_fsdp_state"].group: name for module, name in ((net[0], "0"), (net[1], "1"), (net, "net"))}

    def step():
        events.clear()
        net(torch.ones(2, 6)).sum().backward()
        return events

    backward = ["use net", "now net", "ahead 1", "use 1", "ahead 0", "use 0"]
    assert step() == ["use net", "now net", "use 0", "now 0", "use 1", "now 1", *backward]
    net.set_modules_to_forward_prefetch([net[0], net[1]])
    net[1].set_modules_to_backward_prefetch([])
    backward = ["use net", "now net", "ahead 1", "use 1", "use 0", "now 0"]
    assert step() == ["use net", "now net", "ahead 0", "ahead 1", "use 0", "use 1", *backward]
    with torch.no_grad():
        events.clear()
        handle = net[0].unshard(async_op=True)
        assert events == ["ahead 0"] and type(net[0][0].weight) is DTensor
        handle.wait()
        assert events == ["ahead 0", "use 0"] and type(net[0][0].weight) is not DTensor
        net[0].reshard()
        net[0].unshard(async_op=True)
        net[0].reshard()
        for parameter in net.parameters():
            parameter.mul_(2)  # the copies gathered before this write must not be used
        events.clear()
        net[0].unshard()
        assert events == ["use 0", "now 0"]
        assert torch.equal(net[0][0].weight, 2 * network()[0][0].weight)
        net[0].reshard()
    ParameterGroup._start, ParameterGroup.gather = start, gather
    with pytest.raises(ValueError, match="requires FSDP modules"):
        net.set_modules_to_forward_prefetch([net[2]])
    net = sharded()
    net.set_modules_to_forward_prefetch([net[0]])
    net[0].set_modules_to_forward_prefetch([net[1]])
    assert_same_weights(trained(net, rank, size, accumulate=2), trained(network(), None, size, accumulate=2))


def assert_reductions_overlap(rank, size):
    """The backward starts a gradient reduction per module, and waits for the reductions only at its end."""
    events = []
    start, wait = ParameterGroup._start_sums, GradientSum.wait
    ParameterGroup._start_sums = lambda group, gradients: events.append(f"start {names[group]}") or start(group, gradients)
    GradientSum.wait = lambda gradient_sum: events.append("wait") or wait(gradient_sum)
    net = sharded()
    names = {module.__dict__["_fsdp_state"].group: name for module, name in ((net[0], "0"), (net[1], "1"), (net, "net"))}
    net(torch.ones(2, 6)).sum().backward()
    ParameterGroup._start_sums, GradientSum.wait = start, wait
    assert events == ["start 1", "start 0", "start net", "wait", "wait", "wait"]
    # Hooks of sharded parameters see reduced gradients. A second backward accumulates, also if a module is used twice.
    alone, seen = network(), []
    weight = net[0][0].weight
    handles = [
        weight.register_hook(lambda gradient: seen.append(type(gradient))),
        weight.register_post_accumulate_grad_hook(lambda part: seen.append(part.grad.full_tensor())),
    ]
    alone(torch.ones(2, 6)).sum().backward()
    for model in (alone, net):
        model[0](model[0](torch.ones(2, 6))).pow(2).sum().backward()
    for handle in handles:
        handle.remove()
    assert seen[0] is DTensor
    for part, expected in zip(net.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(part.grad.full_tensor(), expected.grad, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(seen[-1], alone[0][0].weight.grad, atol=1e-5, rtol=1e-5)


def assert_reshard_among_two(rank, size):
    """`reshard_after_forward=2` shards parameters over groups of two processes between forward and backward."""
    alone = trained(network(), None, size)
    groups = []
    gather = collectives.all_gather_into_tensor
    collectives.all_gather_into_tensor = lambda output, row, group=None, async_op=False: (
        groups.append(group.size()) or gather(output, row, group, async_op)
    )
    net = trained(sharded(reshard_after_forward=2), rank, size, steps=1)
    assert groups[:6] == [size] * 3 + [2] * 3
    collectives.all_gather_into_tensor = gather
    assert_same_weights(trained(net, rank, size, steps=0), trained(network(), None, size, steps=1))
    assert_same_weights(trained(sharded(reshard_after_forward=2), rank, size), alone)
    with pytest.raises(ValueError, match="should be a factor of 4, not 3"):
        fully_shard(network(), reshard_after_forward=3)


def assert_other_devices(rank, size):
    net = fully_shard(network(), offload_policy=CPUOffloadPolicy())
    assert_same_weights(trained(net, rank, size), trained(network(), None, size))
    total = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    assert type(total) is DTensor
    gradients = [torch.linalg.vector_norm(parameter.grad.full_tensor()) for parameter in net.parameters()]
    torch.testing.assert_close(total.full_tensor(), torch.linalg.vector_norm(torch.stack(gradients)))


def assert_data_parallel(rank, size):
    """`DistributedDataParallel` with a replicated or a sharded optimizer."""
    alone = trained(network(), None, size)
    net = DistributedDataParallel(network())
    assert_same_weights(trained(net, rank, size).module, alone)
    plain = trained(network(), None, size, clip=False)
    net = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.05)
    rng = torch.Generator().manual_seed(5)
    for _ in range(3):
        net(torch.randn(1, size, 4, 6, generator=rng)[0][rank]).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert_same_weights(net.module, plain)


def assert_two_dimensions(rank, size):
    """Hybrid sharding on a 2-d mesh, and sharding of layers that are already tensor parallel."""
    alone = trained(network(), None, size)
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("replicate", "shard"))
    net = trained(sharded(mesh=mesh), rank, size)
    assert net[2].weight.placements == (Replicate(), Shard(0))
    assert_same_weights(net, alone)
    if size == 4:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        net = network()
        plan = {"0.0": ColwiseParallel(output_layouts=Replicate()), "1.0": RowwiseParallel(input_layouts=Replicate())}
        parallelize_module(net, mesh["tp"], plan)
        for layer in (net[0], net[1], net):
            fully_shard(layer, mesh=mesh["dp"])
        weight = net[0][0].weight
        assert weight.placements == (_StridedShard(0, 2), Shard(0)) and weight.device_mesh.mesh_dim_names == ("dp", "tp")
        assert weight.to_local().shape[0] <= 2 and net[1][0].weight.placements == (Shard(0), Shard(1))
        assert torch.equal(weight.full_tensor(), network()[0][0].weight)
        data = mesh["dp"].get_local_rank()
        split = trained(net, data, 2, clip=False)
        alone = trained(network(), None, 2, clip=False)
        assert_same_weights(split, alone)
        net(torch.ones(1, 6)).sum().backward()
        both = [*net[0][0].parameters(), *net[1][0].parameters()]
        total = nn.utils.clip_grad_norm_(both[:1] + both[2:3], 1e-3)  # both parameters are on the same mesh
        alone(torch.ones(1, 6)).sum().backward()
        gradients = [layer[0].weight.grad for layer in alone[:2]]
        torch.testing.assert_close(total.full_tensor(), nn.utils.get_total_norm(gradients), atol=1e-5, rtol=1e-4)
        assert net[0][0].weight.grad.placements == (_StridedShard(0, 2), Shard(0))


def assert_methods(rank, size):
    net = sharded()
    handle = net.unshard(async_op=True)
    handle.wait()
    assert type(net[2].weight) is not DTensor and torch.equal(net[2].weight.detach(), network()[2].weight.detach())
    net.reshard()
    assert type(net[2].weight) is DTensor
    net.unshard()
    net(torch.ones(1, 6)).sum().backward()
    assert type(net[2].weight) is DTensor  # sharded again after the backward
    net.zero_grad()
    with pytest.raises(ValueError, match="already been applied"):
        fully_shard(net)
    states = net.state_dict()
    other = sharded()
    other.load_state_dict({name: value * 2 for name, value in states.items()})
    assert torch.equal(whole(other[2].weight.detach()), 2 * network()[2].weight.detach())
    # Create the network on meta, shard it, then initialize it.
    with torch.device("meta"):
        late = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    fully_shard(late)
    assert late[0].weight.is_meta
    late.to_empty(device="cpu")
    torch.manual_seed(1)
    for layer in late:
        layer.reset_parameters()
    torch.manual_seed(1)
    assert_same_weights(late, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), 0)
    late(torch.ones(2, 4)).sum().backward()
    # MixedPrecisionPolicy: dtypes of parameters, gradients and outputs.
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32)
    seen = []
    net = fully_shard(network(), mp_policy=policy)
    net[2].register_forward_hook(lambda module, inputs, output: seen.append((module.weight.dtype, inputs[0].dtype)))
    output = net(torch.ones(2, 6))
    assert output.dtype is torch.float32 and seen == [(torch.bfloat16, torch.bfloat16)]
    output.sum().backward()
    assert net[2].weight.dtype is torch.float32 is net[2].weight.grad.dtype
    # Frozen and tied parameters, and a method other than forward.
    net = network()
    net[0][0].weight.requires_grad_(False)
    net[1][0].weight = net[0][0].weight
    fully_shard(net)
    assert net[1][0].weight is net[0][0].weight
    net.twice = lambda x: net.forward(x) * 2
    register_fsdp_forward_method(net, "twice")
    torch.testing.assert_close(net.twice(torch.ones(1, 6)), 2 * net(torch.ones(1, 6)))
    net(torch.ones(1, 6)).sum().backward()
    assert net[0][0].weight.grad is None and net[0][0].bias.grad is not None


def assert_wrapped_network(rank, size):
    """`FullyShardedDataParallel`: wrap policies, state dicts and the optimizer state."""
    alone = trained(network(), None, size)
    policies = [
        None,
        ModuleWrapPolicy({nn.Sequential}),
        functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}),
        functools.partial(size_based_auto_wrap_policy, min_num_params=42),
        CustomPolicy(
            lambda module: {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP} if isinstance(module, nn.LayerNorm) else False
        ),
    ]
    for policy, strategy in zip(
        policies, (None, None, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD, None), strict=True
    ):
        net = FullyShardedDataParallel(network(), auto_wrap_policy=policy, sharding_strategy=strategy)
        assert len(FullyShardedDataParallel.fsdp_modules(net)) == 1 + (
            0 if policy is None else 2 if policy is policies[1] else net_parts(net) - 1
        )
        trained(net, rank, size)
        state = net.state_dict()
        assert list(state) == list(alone.state_dict())
        for name, value in alone.state_dict().items():
            torch.testing.assert_close(state[name], value, atol=1e-6, rtol=0)
    with FullyShardedDataParallel.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        assert all(type(value) is DTensor for value in net.state_dict().values())
    other = FullyShardedDataParallel(network(rank), sync_module_states=True)
    torch.testing.assert_close(other.state_dict()["2.weight"], network()[2].weight.detach())
    other.load_state_dict(state)
    torch.testing.assert_close(other.state_dict()["2.weight"], state["2.weight"])
    with FullyShardedDataParallel.summon_full_params(other):
        assert other.module[2].weight.shape == (3, 6)
        with torch.no_grad():
            other.module[2].weight.fill_(3)
    assert torch.equal(other.state_dict()["2.weight"], torch.full((3, 6), 3.0))
    mixed = FullyShardedDataParallel(
        network(), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    )
    mixed(torch.ones(2, 6)).float().sum().backward()
    assert mixed.module[2].weight.grad.dtype is torch.float32
    # Optimizer state dicts are keyed by parameter names.
    optimizer = torch.optim.Adam(other.parameters(), lr=0.1)
    other(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    saved = FullyShardedDataParallel.optim_state_dict(other, optimizer)
    assert saved["state"]["2.weight"]["exp_avg"].shape == (3, 6) and saved["param_groups"][0]["params"][-1] == "2.bias"
    again = torch.optim.Adam(other.parameters(), lr=0.2)
    again.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(other, again, saved))
    kept = again.state[other.module[2].weight]["exp_avg"]
    assert again.param_groups[0]["lr"] == 0.1 and type(kept) is DTensor
    torch.testing.assert_close(kept.full_tensor(), saved["state"]["2.weight"]["exp_avg"])


def net_parts(net):
    return sum(isinstance(part, FullyShardedDataParallel) for part in net.modules())


def test_two_processes_train_as_one():
    assert_job_ends(2, assert_weights)


@pytest.mark.slow
def test_two_processes_and_their_ways():
    assert_job_ends(
        2,
        assert_two_dimensions,
        assert_methods,
        assert_wrapped_network,
        assert_data_parallel,
        assert_prefetch,
        assert_reductions_overlap,
        assert_other_devices,
    )


@pytest.mark.slow
def test_four_processes_train_as_one():
    assert_job_ends(
        4, assert_weights, assert_two_dimensions, assert_wrapped_network, assert_data_parallel, assert_reshard_among_two
    )


@pytest.mark.slow
def test_one_process_trains_as_one():
    assert_job_ends(1, assert_weights, assert_data_parallel)
    assert not dist.is_initialized()

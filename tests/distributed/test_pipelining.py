"""Pipelines: every schedule computes the losses and gradients of one process that runs the whole model."""

from __future__ import annotations

import pytest
from distributed_jobs import assert_job_ends
from flambeau.distributed._composable.replicate import replicate
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.fsdp import fully_shard
from flambeau.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    SplitPoint,
    pipe_split,
    pipeline,
)
from flambeau.distributed.pipelining._utils import PipeliningMetadataError
from flambeau.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _Replicate,
    merge_chunks,
    split_args_kwargs_into_chunks,
    sum_reducer,
)
from flambeau.distributed.pipelining.schedules import (
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    _PipelineSchedule,
    _ScheduleForwardOnly,
    get_schedule_class,
)

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau_nnlib.distributed.pipelining.orders import order_of_actions, stages_of_rank
from flambeau_nnlib.distributed.pipelining.split_backward import input_gradients

SCHEDULES = ["GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
CPU = torch.device("cpu")


@pytest.fixture
def one_process():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Place:
    """A stage without a module."""

    def __init__(self, stage_index, num_stages, rank, ranks):
        self.stage_index, self.num_stages, self.group = stage_index, num_stages, None
        self.group_rank, self.group_size = rank, ranks


def scheduled(name, rank, ranks, local, microbatches):
    """Return a schedule whose stages have no modules."""
    kind = get_schedule_class(name)
    indices = stages_of_rank(rank, ranks, ranks * local, kind._style)
    stages = [Place(index, ranks * local, rank, ranks) for index in indices]
    return kind(stages[0] if issubclass(kind, PipelineScheduleSingle) else stages, microbatches)


@pytest.mark.parametrize("name", SCHEDULES)
def test_orders_run_each_pass_once_after_what_it_needs(name):
    complete = 0
    for ranks in range(1, 6):
        for local in (1, 2, 3):
            for microbatches in range(1, 13):
                try:
                    order = scheduled(name, 0, ranks, local, microbatches).pipeline_order
                except ValueError:
                    continue
                done = set()
                for step in range(max(map(len, order.values()))):
                    now = [actions[step] for actions in order.values() if step < len(actions) and actions[step] is not None]
                    for index, kind, microbatch in now:
                        needed = (index, "F", microbatch)
                        if kind.value == "F":
                            needed = None if index == 0 else (index - 1, "F", microbatch)
                        elif kind.value == "W":
                            needed = (index, "I", microbatch)
                        elif index < ranks * local - 1:
                            needed = (index + 1, "B", microbatch)
                        assert needed is None or needed in done, (name, ranks, local, microbatches)
                    for index, kind, microbatch in now:
                        done |= {(index, kind.value, microbatch), (index, kind.value.replace("I", "B"), microbatch)}
                passes = [action for actions in order.values() for action in actions if action is not None]
                assert len(set(passes)) == len(passes)
                kinds = [action.computation_type.value for action in passes]
                assert kinds.count("F") == kinds.count("B") + kinds.count("I") == ranks * local * microbatches
                assert kinds.count("I") == kinds.count("W")
                complete += 1
    assert complete > 10


def test_orders_of_known_schedules():
    def written(name, rank, ranks=2, local=1, microbatches=4):
        return " ".join(str(action or "-") for action in scheduled(name, 0, ranks, local, microbatches).pipeline_order[rank])

    assert written("GPipe", 0) == "0F0 0F1 0F2 0F3 - - 0B0 0B1 0B2 0B3"
    assert written("GPipe", 1) == "- 1F0 1F1 1F2 1F3 1B0 1B1 1B2 1B3"
    assert written("1F1B", 0) == "0F0 0F1 - 0B0 0F2 0B1 0F3 0B2 - 0B3"
    assert written("1F1B", 1) == "- 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"
    assert written("LoopedBFS", 0, local=2, microbatches=2) == "0F0 0F1 2F0 2F1 - - 2B1 2B0 0B1 0B0"
    assert written("Interleaved1F1B", 0, local=2, microbatches=2) == "0F0 0F1 2F0 2F1 - 2B0 - 2B1 0B0 0B1"
    assert written("InterleavedZeroBubble", 1, microbatches=2) == "- 1F0 1I0 1F1 1I1 1W0 1W1"


def test_policies_that_wait_for_each_other_are_refused():
    schedule = scheduled("GPipe", 0, 2, 1, 2)
    policies = [schedule._policy(rank) for rank in range(2)]
    waiting = type(policies[0])(policies[0].forwards, policies[0].backwards, in_flight=1, forwards_first=True)
    with pytest.raises(RuntimeError, match="wait for each other"):
        order_of_actions([waiting, policies[1]])


# --- training ---------------------------------------------------------------------------------------------------------


def parts(count):
    torch.manual_seed(3)
    return [nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.ReLU()) for _ in range(count)]


def reference(samples, targets, stages, microbatches):
    """Return the model trained on all microbatches, its losses, and its outputs."""
    model = nn.Sequential(*parts(stages))
    chunks = list(zip(samples.tensor_split(microbatches), targets.tensor_split(microbatches), strict=True))
    outputs = [model(sample) for sample, _ in chunks]
    losses = [nn.functional.mse_loss(output, target) for output, (_, target) in zip(outputs, chunks, strict=True)]
    torch.stack(losses).mean().backward()
    return model, torch.stack(losses), torch.cat(outputs)


def data(microbatches):
    generator = torch.Generator().manual_seed(4)
    return torch.randn(2, 2 * microbatches + 1, 6, generator=generator)


def assert_trains_as_one_process(rank, size, name, local, microbatches):
    kind, stages = get_schedule_class(name), size * local
    samples, targets = data(microbatches)
    model, expected, outputs = reference(samples, targets, stages, microbatches)
    mine, modules = stages_of_rank(rank, size, stages, kind._style), parts(stages)
    own = [PipelineStage(modules[index], index, stages, CPU) for index in mine]
    single = issubclass(kind, PipelineScheduleSingle)
    schedule = kind(own[0] if single else own, microbatches, loss_fn=nn.functional.mse_loss)
    first, last = 0 in mine, stages - 1 in mine
    for _ in range(2):
        losses = ["old"]
        for index in mine:
            modules[index].zero_grad()
        result = schedule.step(*([samples] if first else []), target=targets if last else None, losses=losses)
        for index in mine:
            for found, wanted in zip(modules[index].parameters(), model[index].parameters(), strict=True):
                torch.testing.assert_close(found.grad, wanted.grad, msg=f"{name}, {size} processes, stage {index}")
    if last:
        torch.testing.assert_close(torch.stack(losses), expected.detach())
        torch.testing.assert_close(result, outputs.detach())
        torch.testing.assert_close(schedule.eval(*([samples] if first else [])).detach(), outputs.detach())
    else:
        assert result is None and losses == ["old"] and schedule.eval(*([samples] if first else [])) is None


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_train_as_one_process(name, size):
    local = 1 if issubclass(get_schedule_class(name), PipelineScheduleSingle) else 2
    assert_job_ends(size, assert_trains_as_one_process, arguments=(name, local, 6))


class Block(nn.Module):
    """A block with two results, keyword arguments, and a result that needs no gradient."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, hidden, skip=None, mask=None, note=None, *, scale=1.0):
        hidden = self.linear(hidden) * scale
        return hidden, None if skip is None else skip + hidden, torch.ones(hidden.shape[0], dtype=torch.int64), ("note", 1)


def assert_sends_several_values(rank, size):
    torch.manual_seed(1)
    blocks = [Block() for _ in range(size)]
    samples = torch.randn(5, 4)
    schedule = Schedule1F1B(
        PipelineStage(blocks[rank], rank, size, CPU),
        2,
        lambda output, target: (output[0] - target).pow(2).sum(),
        output_merge_spec=(*[TensorChunkSpec(0)] * 3, (None, None)),
        scale_grads=False,
    )
    given = (samples, samples) if rank == 0 else ()
    scale = torch.full((5, 1), 0.5)
    result = schedule.step(*given, target=torch.zeros(5, 4) if rank == size - 1 else None, scale=scale)
    hidden, skip = samples, samples
    for block in blocks:
        hidden, skip, mask, note = block(hidden, skip, scale=scale)
    if rank == size - 1:
        torch.testing.assert_close(result[:3], (hidden.detach(), skip.detach(), mask))
        assert result[3] == note == ("note", 1)
    mine = [parameter.grad.clone() for parameter in blocks[rank].parameters()]
    blocks[rank].zero_grad()
    hidden.pow(2).sum().backward()
    torch.testing.assert_close(mine, [parameter.grad for parameter in blocks[rank].parameters()])


def assert_replicas_train_as_one_process(rank, size, wrap):
    """Two stages, each on two processes, which train on different samples."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("stage", "replica"))
    stage, replica = mesh.get_local_rank("stage"), mesh.get_local_rank("replica")
    microbatches, group = 4, mesh.get_group("stage")
    samples, targets = torch.randn(2, 2, 8, 6, generator=torch.Generator().manual_seed(2))
    model = nn.Sequential(*parts(2))
    for sample, target in zip(samples, targets, strict=True):
        (nn.functional.mse_loss(model(sample), target) / 2).backward()
    for kind in (ScheduleGPipe, ScheduleLoopedBFS, ScheduleInterleavedZeroBubble):
        module = wrap(parts(2)[stage], mesh["replica"])
        own = PipelineStage(module, stage, 2, CPU, group=group)
        schedule = kind(own if kind is ScheduleGPipe else [own], microbatches, loss_fn=nn.functional.mse_loss)
        for _ in range(2):
            module.zero_grad()
            schedule.step(*([samples[replica]] if stage == 0 else []), target=targets[replica] if stage else None)
        for found, wanted in zip(module.parameters(), model[stage].parameters(), strict=True):
            grad = found.grad.full_tensor() if hasattr(found.grad, "full_tensor") else found.grad
            torch.testing.assert_close(grad, wanted.grad)


def wrap_ddp(module, mesh):
    return nn.parallel.DistributedDataParallel(module, process_group=mesh.get_group())


def wrap_replicate(module, mesh):
    return replicate(module, device_mesh=mesh)


def wrap_fsdp(module, mesh):
    return fully_shard(module, mesh=mesh)


def test_stages_send_several_values():
    assert_job_ends(2, assert_sends_several_values)


@pytest.mark.parametrize("wrap", [wrap_ddp, wrap_fsdp, wrap_replicate])
def test_stages_with_replicas(wrap):
    assert_job_ends(4, assert_replicas_train_as_one_process, arguments=(wrap,))


# --- models that are split by tracing ------------------------------------------------------------------------------------


class Net(nn.Module):
    """A model with a connection from the input to the last layer, and a buffer in several stages."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.head = nn.Linear(4, 2)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x, mask=None):
        y = x
        for layer in self.layers:
            y = layer(y).relu() + self.shift
            y = y if mask is None else y * mask
        return self.head(x + y)


class Marked(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.first(x)
        pipe_split()
        return self.second(hidden), hidden.mean(-1)


def assert_traced_stages_train_as_one_process(rank, size):
    torch.manual_seed(0)
    net, samples, mask = Net(), torch.randn(6, 4), torch.rand(6, 4).round()
    pipe = pipeline(
        net, (samples[:2],), {"mask": mask[:2]}, split_spec={"layers.1": SplitPoint.BEGINNING, "layers.2": SplitPoint.END}
    )
    assert pipe.num_stages == size == 3
    schedule = ScheduleGPipe(pipe.build_stage(rank, CPU), 3, loss_fn=nn.functional.mse_loss)
    given, named = ((samples,), {"mask": mask}) if rank == 0 else ((), {})
    result = schedule.step(*given, target=torch.zeros(6, 2) if rank == 2 else None, **named)
    whole = net(samples, mask)
    if rank == 2:
        torch.testing.assert_close(result, whole.detach())
    found = {name: parameter.grad for name, parameter in pipe.get_stage_module(rank).named_parameters()}
    torch.manual_seed(0)
    same = Net()
    nn.functional.mse_loss(same(samples, mask), torch.zeros(6, 2)).backward()
    for name, grad in found.items():
        torch.testing.assert_close(grad, same.get_parameter(name).grad)
    assert (
        list(found)
        == [["layers.0.weight", "layers.0.bias"], [f"layers.{i}.{w}" for i in (1, 2) for w in ("weight", "bias")]][rank]
        if rank < 2
        else list(found) == ["head.weight", "head.bias"]
    )


def test_traced_stages_with_connections_past_a_stage():
    assert_job_ends(3, assert_traced_stages_train_as_one_process)


def test_pipe_runs_as_the_model():
    net, x = Marked(), torch.randn(3, 4)
    pipe = pipeline(net, (x,))
    assert pipe.num_stages == 2 and pipe.info().num_stages == 2 and not pipe.has_loss_and_backward
    torch.testing.assert_close(pipe(x), net(x))
    assert [name for name, _ in pipe.get_stage_module(0).named_parameters()] == ["first.weight", "first.bias"]
    assert not net._forward_hooks and "submod_pp_1" in str(pipe)
    with pytest.raises(ValueError, match="stage index 2"):
        pipe.get_stage_module(2)
    with pytest.raises(ValueError, match="split_policy"):
        pipeline(net, (x,), split_spec={}, split_policy=lambda graph: graph)

    def after_linear(graph_module):
        node = next(node for node in graph_module.graph.nodes if "linear" in node.name)
        with graph_module.graph.inserting_after(node):
            graph_module.graph.call_function(torch.ops.pippy._pipe_split.default)
        return graph_module

    assert pipeline(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (x,), split_policy=after_linear).num_stages == 2


# --- gradients in two parts ------------------------------------------------------------------------------------------------


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)

    def forward(self, x):
        return self.linear(self.linear(x).tanh())


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.norm = nn.LSTM(5, 5), nn.LayerNorm(5)
        self.scale = nn.Parameter(torch.full((5,), 0.7))

    def forward(self, x):
        out, (hidden, _) = self.cell(self.norm(x) * self.scale.exp())
        return out.sum(0) + hidden[0]


@pytest.mark.parametrize("make", [Shared, Recurrent, lambda: nn.Sequential(nn.Linear(5, 5), nn.ReLU())])
def test_gradients_in_two_parts(make):
    torch.manual_seed(0)
    net, x = make(), torch.randn(3, 5, requires_grad=True)
    output = net(x)
    grad = torch.randn_like(output)
    output.backward(grad)
    expected = [x.grad, *(parameter.grad for parameter in net.parameters())]
    net.zero_grad()
    x.grad = None
    (found,), add_weight_gradients = input_gradients([net(x)], [grad], [x])
    add_weight_gradients()
    torch.testing.assert_close([found, *(parameter.grad for parameter in net.parameters())], expected)


def test_weights_wait_for_the_second_part():
    net, x = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)), torch.randn(3, 5, requires_grad=True)
    _, add_weight_gradients = input_gradients([net(x).sum()], [None], [x])
    assert all(parameter.grad is None for parameter in net.parameters())
    add_weight_gradients()
    assert all(parameter.grad is not None for parameter in net.parameters())


# --- chunks ------------------------------------------------------------------------------------------------------------------


def test_chunks():
    x = torch.arange(12).reshape(3, 4)
    args, kwargs = split_args_kwargs_into_chunks(({"a": x}, 5), {"mask": x, "flag": None}, 3)
    assert [chunk[0]["a"].tolist() for chunk in args] == [[row] for row in x.tolist()] and [chunk[1] for chunk in args] == [5] * 3
    assert len(kwargs) == 3 and kwargs[2]["flag"] is None and kwargs[2]["mask"].tolist() == [[8, 9, 10, 11]]
    args, _ = split_args_kwargs_into_chunks((x, x), None, 2, (TensorChunkSpec(1), _Replicate()))
    assert [tuple(part.shape) for part in args[0]] == [(3, 2), (3, 4)]
    assert len(split_args_kwargs_into_chunks((x,), None, 5)[0]) == 3
    assert str(TensorChunkSpec.from_dict({"a": 1})) == "{'a': TensorChunkSpec(1)}"
    parts = [(torch.ones(2, 3), torch.tensor(1.0), 7), (torch.zeros(1, 3), torch.tensor(2.0), 7)]
    merged = merge_chunks(parts, (TensorChunkSpec(0), sum_reducer, None))
    assert merged[0].shape == (3, 3) and merged[1] == 3 and merged[2] == 7
    with pytest.raises(ValueError, match="did not match"):
        merge_chunks(parts, (TensorChunkSpec(0),))
    with pytest.raises(AssertionError, match="Expected 1"):
        merge_chunks([1, 2], 0)
    with pytest.raises(ValueError, match="Unsupported chunk spec"):
        split_args_kwargs_into_chunks((3,), None, 2, (TensorChunkSpec(0),))


# --- errors ------------------------------------------------------------------------------------------------------------------


def stage_of(module=None, index=0, count=1, **options):
    return PipelineStage(nn.Linear(4, 2) if module is None else module, index, count, CPU, **options)


def test_errors(one_process):
    with pytest.raises(ValueError, match="out of range"):
        stage_of(index=1)
    with pytest.raises(ValueError, match="3 stages and 1 processes"):
        ScheduleGPipe(stage_of(count=3), 2)
    with pytest.raises(ValueError, match="stages \\[0, 1\\]"):
        ScheduleLoopedBFS([stage_of(count=2)], 2)
    with pytest.raises(ValueError, match="exactly 2 stages"):
        ScheduleDualPipeV([stage_of()], 2)
    with pytest.raises(ValueError, match="as many microbatches as stages"):
        ScheduleDualPipeV([stage_of(index=index, count=2) for index in range(2)], 1)
    with pytest.raises(ValueError, match="Unknown schedule"):
        get_schedule_class("none")
    schedule = ScheduleGPipe(stage_of(), 3, loss_fn=nn.functional.mse_loss)
    with pytest.raises(ValueError, match="Expecting 3 arg_mbs but got 2"):
        schedule.step(torch.ones(2, 4), target=torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="needs a target"):
        schedule.step(torch.ones(3, 4))
    with torch.no_grad(), pytest.raises(RuntimeError, match="eval"):
        schedule.step(torch.ones(3, 4), target=torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="does not support loss"):
        _ScheduleForwardOnly(stage_of(), 2).step(torch.ones(2, 4), target=torch.ones(2, 2))
    assert _ScheduleForwardOnly(stage_of(), 2).step(torch.ones(2, 4)).shape == (2, 2)


def test_declared_shapes_are_checked(one_process):
    declared = {"input_args": torch.ones(2, 4), "output_args": (torch.ones(2, 2),)}
    schedule = ScheduleGPipe(stage_of(**declared), 2)
    assert schedule.step(torch.ones(4, 4)).shape == (4, 2)
    with pytest.raises(PipeliningMetadataError, match="input 0 has shape \\[3, 4\\]"):
        schedule.step(torch.ones(6, 4))
    with pytest.raises(PipeliningMetadataError, match="output 0"):
        ScheduleGPipe(stage_of(nn.Linear(4, 3), output_args=torch.ones(2, 2)), 1).step(torch.ones(2, 4))


def test_own_gradients_of_weights(one_process):
    calls = []

    def builder():
        calls.append("built")
        return lambda: calls.append("run")

    stages = [stage_of(nn.Linear(4, 4), index, 2, dw_builder=builder) for index in range(2)]
    ScheduleInterleavedZeroBubble(stages, 2, loss_fn=nn.functional.mse_loss).step(torch.ones(4, 4), target=torch.ones(4, 4))
    assert sorted(calls) == ["built"] * 4 + ["run"] * 4


def test_classes():
    assert get_schedule_class("pipelineschedulesingle") is PipelineScheduleSingle
    assert get_schedule_class("INTERLEAVED1F1B").__bases__ == (PipelineScheduleMulti,)
    assert issubclass(ScheduleGPipe, _PipelineSchedule)
    with pytest.raises(TypeError, match="abstract"):
        PipelineScheduleSingle(None, 2)

"""`DTensor`: sharded computations match a single process."""

from __future__ import annotations

import copy
import io
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from distributed_jobs import assert_job_ends, assert_same_weights, whole
from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh
from flambeau.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from flambeau.distributed.tensor._redistribute import steps
from flambeau.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from flambeau.distributed.tensor.placement_types import _StridedShard

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.distributed import tensor as placed
from flambeau.engine.calls.op import op
from flambeau.extension import Kind, Linearity

LAYOUTS = (Shard(0), Shard(1), Replicate())


def assert_close(found, expected):
    torch.testing.assert_close(whole(found), expected, atol=2e-6, rtol=2e-5)


# --- layouts ----------------------------------------------------------------------------------------------------------


def assert_layouts(rank, size):
    """Redistribute between all pairs of layouts, on 1-d and 2-d meshes, including lengths that do not divide evenly."""
    x = torch.arange(5 * 7.0).view(5, 7)
    meshes = [init_device_mesh("cpu", (size,)), init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("a", "b"))]
    for mesh in meshes:
        for source in product(LAYOUTS, repeat=mesh.ndim):
            parts = distribute_tensor(x, mesh, source)
            assert (parts.shape, parts.placements, parts.device_mesh) == (x.shape, source, mesh)
            assert_close(parts, x)
            for goal in product(LAYOUTS, repeat=mesh.ndim):
                moved = parts.redistribute(placements=goal)
                assert moved.placements == goal
                expected = distribute_tensor(x, mesh, goal)
                assert torch.equal(moved.to_local(), expected.to_local())
            whole_sum = DTensor.from_local(torch.full((5, 7), 1.0 + rank), mesh, [Partial()] * mesh.ndim)
            assert_close(whole_sum.redistribute(placements=source), torch.full((5, 7), sum(range(1, size + 1)) * 1.0))
    with pytest.raises(RuntimeError, match="redistributing to Partial is for internal use only"):
        parts.redistribute(placements=[Partial(), Partial()])
    assert_strided_shards(x, mesh)
    with pytest.raises(ValueError, match="must have the same length as `device_mesh.ndim`"):
        distribute_tensor(x, meshes[1], [Shard(0)])


def assert_strided_shards(x, mesh):
    """Check shards of rows that are split first along the second mesh dimension, then along the first."""
    for count in (4, 5, 7):
        rows = x.new_tensor(np.arange(count * 3.0).reshape(count, 3))
        placement = (_StridedShard(0, mesh.size(1)), Shard(0))
        parts = distribute_tensor(rows, mesh, placement)
        if mesh.size(0) == mesh.size(1):  # the shard at (i, j) is what the usual order puts at (j, i)
            i, j = mesh.get_coordinate()
            first = rows.chunk(mesh.size(1))
            part = first[j].chunk(mesh.size(0)) if j < len(first) else ()
            assert torch.equal(parts.to_local(), part[i] if i < len(part) else rows[:0])
        assert_close(parts, rows)
        for goal in product((Shard(0), Shard(1), Replicate()), repeat=2):
            moved = parts.redistribute(placements=goal)
            assert torch.equal(moved.to_local(), distribute_tensor(rows, mesh, goal).to_local())
            back = moved.redistribute(placements=placement)
            assert back.placements == placement and torch.equal(back.to_local(), parts.to_local())
        assert_close(parts * 2 + parts.exp().neg(), rows * 2 - rows.exp())
        assert (parts * 2).placements == placement
        assert_close(parts.sum(0), rows.sum(0))
        assert_close(torch.linalg.vector_norm(parts), torch.linalg.vector_norm(rows))
        assert_close(rows.new_ones(2, count) @ parts.full_tensor(), rows.new_ones(2, count) @ rows)


def assert_conversions(rank, size):
    """Check gradients through `from_local`, `redistribute` and `to_local`."""
    mesh = init_device_mesh("cpu", (size,))
    local = torch.full((2, 3), 1.0 + rank, requires_grad=True)
    parts = DTensor.from_local(local, mesh, [Shard(0)])
    assert parts.shape == (2 * size, 3) and parts.grad_fn is not None
    weights = torch.arange(6.0 * size).view(2 * size, 3)
    (parts.full_tensor() * weights).sum().backward()
    assert torch.equal(local.grad, weights[2 * rank : 2 * rank + 2])
    terms = torch.ones(3, requires_grad=True)
    DTensor.from_local(terms, mesh, [Partial()]).full_tensor().sum().backward()
    assert torch.equal(terms.grad, torch.ones(3))
    whole_tensor = distribute_tensor(torch.ones(4), mesh, [Replicate()]).requires_grad_()
    (whole_tensor.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
    assert whole_tensor.grad.placements == (Partial(),)
    assert_close(whole_tensor.grad, torch.full((4,), sum(range(1, size + 1)) * 1.0))


def assert_factories(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(2)
    drawn = placed.randn(5, 3, device_mesh=mesh, placements=[Shard(0)])
    torch.manual_seed(2)
    assert torch.equal(drawn.full_tensor(), torch.randn(5, 3))
    with mesh:
        assert placed.zeros(2, 3).placements == (Replicate(),)
        assert_close(placed.full((size, 3), 2.5, placements=[Shard(0)]), torch.full((size, 3), 2.5))
        assert placed.ones((3, 4), dtype=torch.int64, placements=[Shard(1)]).sum().item() == 12
        assert placed.empty(6, requires_grad=True, placements=[Shard(0)]).to_local().numel() == -(-6 // size) or rank
    split = distribute_tensor(torch.ones(6, 4), mesh, [Shard(0)])
    torch.manual_seed(3)
    mask = F.dropout(split, 0.5)
    torch.manual_seed(3)
    assert_close(mask, F.dropout(torch.ones(6, 4), 0.5))
    torch.manual_seed(4)
    nn.init.normal_(split)
    torch.manual_seed(4)
    assert_close(split, nn.init.normal_(torch.empty(6, 4)))


# --- operations -------------------------------------------------------------------------------------------------------

PROGRAMS = {
    "sum": lambda x, w: (x + 2 * x.exp()).sum(), "dims": lambda x, w: x.sum(0) + x.mean(0) - x.amax(0), "keep": lambda x, w: x / x.norm(dim=1, keepdim=True),
    "mean": lambda x, w: x.mean(), "norm": lambda x, w: x.norm() * x.norm(1) * x.abs().amax(), "var": lambda x, w: x.var(1) + x.std(0).sum(),
    "linear": lambda x, w: F.linear(x, w, w[:, 0]), "matmul": lambda x, w: x @ w.t(), "softmax": lambda x, w: x.softmax(0) + x.log_softmax(1),
    "norms": lambda x, w: F.layer_norm(x, (6,)) + F.rms_norm(x, (6,)), "gelu": lambda x, w: F.silu(F.gelu(x)), "view": lambda x, w: x.view(4, 2, 3).flatten(1),
    "flat": lambda x, w: x.reshape(-1).view(2, 12), "moved": lambda x, w: x.t().unsqueeze(1).transpose(0, 2).squeeze(1), "cat": lambda x, w: torch.cat([x, w], 0) * 2,
    "stack": lambda x, w: torch.stack([x, x * 2]).sum(0), "split": lambda x, w: x.split(2, 1)[1] + x.chunk(3, 1)[0], "index": lambda x, w: x[1:3, 0] * x[0, 1],
    "where": lambda x, w: torch.where(x > 0, x, -x).masked_fill(x > 1, 0.5), "expand": lambda x, w: x[None].expand(3, 4, 6) * w[0], "batch": lambda x, w:
    x.view(2, 2, 6) @ w.t().expand(2, 6, 5), "sort": lambda x, w: x.sort(1).values + x.topk(6, 1).values, "tri": lambda x, w: x.tril() - x.triu(1),
    "gather": lambda x, w: x.gather(1, x.argsort(1)), "cumsum": lambda x, w: x.cumsum(0).cumsum(1), "pow": lambda x, w: (x**2 + 1) ** 0.5 / 3, "mse": lambda x, w:
    F.mse_loss(x, x.detach() * 2) + F.mse_loss(x, x.detach() + 1, reduction="sum"), "attention": lambda x, w: F.scaled_dot_product_attention(*[x.view(2, 2, 2, 3)] * 3, is_causal=True),
    "entropy": lambda x, w: F.cross_entropy(x, (x.detach() * 0).long().argmax(1)), "flip": lambda x, w: x.flip(0).roll(1, 1), "ones": lambda x, w: x * torch.ones_like(x) + x.new_ones(6),
    "embedding": lambda x, w: F.embedding((x.detach() * 0).long(), w), "conv": lambda x, w: F.conv1d(x.view(1, 4, 6), w[:4, :4].unsqueeze(-1)),
}  # fmt: skip


def assert_operations(rank, size):
    """Values and gradients match a single process for all combinations of layouts."""
    mesh = init_device_mesh("cpu", (size,))
    rng = np.random.default_rng(0)
    values, weights = (torch.tensor(rng.normal(size=shape), dtype=torch.float32) for shape in ((4, 6), (5, 6)))
    for name, program in PROGRAMS.items():
        leaves = [values.clone().requires_grad_(), weights.clone().requires_grad_()]
        expected = program(*leaves)
        direction = torch.tensor(rng.normal(size=tuple(expected.shape)), dtype=torch.float32)
        (expected * direction).sum().backward()
        for first, second in product(LAYOUTS, LAYOUTS):
            parts = [distribute_tensor(t, mesh, [p]).requires_grad_() for t, p in ((values, first), (weights, second))]
            try:
                found = program(*parts)
                assert type(found) is DTensor and found.shape == expected.shape
                (found * distribute_tensor(direction, mesh)).sum().backward()
                assert_close(found.detach(), expected.detach())
                for part, leaf in zip(parts, leaves, strict=True):
                    if leaf.grad is not None:
                        assert type(part.grad) is DTensor
                        assert_close(part.grad, leaf.grad)
            except Exception as error:
                raise AssertionError(f"{name} of {first} and {second}") from error


def assert_particular_operations(rank, size):
    """Check in-place operations, Python numbers as operands, copies, serialization, and calls that must raise an error."""
    mesh = init_device_mesh("cpu", (size,))
    x = distribute_tensor(torch.arange(6.0).view(3, 2), mesh, [Shard(0)])
    y = distribute_tensor(torch.ones(3, 2), mesh, [Shard(1)])
    local = x.to_local()
    assert x.add_(y, alpha=2) is x and x.to_local().data_ptr() == local.data_ptr()
    assert_close(x, torch.arange(6.0).view(3, 2) + 2)
    x.zero_().copy_(y)
    assert x.placements == (Shard(0),) and x.sum().item() == 6 and bool((x == 1).all()) and x.tolist() == [[1.0, 1.0]] * 3
    assert float(x.mean()) == 1 and x.double().dtype is torch.float64 and "placements=(Shard(dim=0),)" in repr(x)
    with pytest.raises(RuntimeError, match="got mixed torch.Tensor and DTensor"):
        x + torch.ones(3, 2)
    assert_close(x + torch.tensor(1.0), torch.full((3, 2), 2.0))
    with pytest.raises(RuntimeError, match="cannot change its placement"):
        distribute_tensor(torch.ones(3, 2), mesh, [Shard(0)]).cumsum_(0)
    parameter = nn.Parameter(x)
    copied = copy.deepcopy(parameter)
    assert type(copied) is DTensor and isinstance(copied, nn.Parameter) and copied.to_local() is not parameter.to_local()
    file = io.BytesIO()
    torch.save({"x": parameter}, file)
    file.seek(0)
    again = torch.load(file)["x"]
    assert isinstance(again, nn.Parameter) and again.placements == x.placements and again.device_mesh == mesh
    assert_close(again.detach(), torch.ones(3, 2))


def assert_meshes(rank, size):
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("rows", "columns"))
    assert mesh["rows"] == mesh["rows"] and hash(mesh["rows"]) == hash(mesh["rows"]) and mesh["rows", "columns"] is mesh
    assert repr(mesh) == f"DeviceMesh((rows=2, columns={size // 2}), 'cpu', stride=({size // 2}, 1))"
    flat = mesh._flatten("all")
    assert flat.mesh.tolist() == list(range(size)) and mesh["all"] is flat and flat.get_group().size() == size
    again = DeviceMesh.from_group(mesh.get_group("rows"), "cpu")
    assert again.mesh.tolist() == mesh["rows"].mesh.tolist()
    with pytest.raises(RuntimeError, match="Cannot slice a DeviceMesh without mesh_dim_names"):
        init_device_mesh("cpu", (size,))["rows"]


def test_two_processes_hold_one_tensor():
    assert_job_ends(2, assert_layouts, assert_conversions, assert_factories, assert_particular_operations, assert_meshes)


def assert_new_operations(rank, size):
    """New operations whose `kind` is declared, such as `Kind.POINTWISE`, work on sharded tensors."""
    triple = op("triple", lambda xp, input: 3 * input, kind=Kind.POINTWISE, linearity=Linearity.JOINT, input=lambda F, g: 3 * g)
    bump = op("bump", lambda xp, input: xp.exp(-input * input), kind=Kind.POINTWISE, promote="float")
    x = torch.arange(24.0).view(4, 6) / 10
    mesh = init_device_mesh("cpu", (size,))
    for placement in (Shard(0), Shard(1), Replicate()):
        for operation in (triple, bump):
            found = operation(distribute_tensor(x, mesh, [placement]))
            assert found.placements == (placement,)
            assert_close(found, operation(x))
    terms = DTensor.from_local(x * (rank + 1), mesh, [Partial()])
    assert triple(terms).placements == (Partial(),)  # triple is linear: a partial sum need not be reduced first
    assert_close(bump(terms), bump(x * sum(range(1, size + 1))))
    assert_close(triple(terms), 3 * x * sum(range(1, size + 1)))


def test_new_operations():
    assert_job_ends(2, assert_new_operations)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_processes_compute_as_one(size):
    assert_job_ends(size, assert_layouts, assert_conversions, assert_factories, assert_operations, assert_meshes)


def test_a_dimension_that_several_split_is_put_together_from_the_right():
    assert steps([Shard(0), Shard(0)], [Replicate(), Shard(0)]) == [
        (1, Shard(0), Replicate()),
        (0, Shard(0), Replicate()),
        (1, Replicate(), Shard(0)),
    ]
    assert steps([Shard(0), Shard(1)], [Replicate(), Shard(1)]) == [(0, Shard(0), Replicate())]
    assert steps([Shard(0)], [Shard(1)]) == [(0, Shard(0), Shard(1))]


def test_placements_say_what_they_are():
    assert [str(p) for p in (Shard(1), Replicate(), Partial(), Partial("avg"))] == ["S(1)", "R", "P(sum)", "P(avg)"]
    assert repr((Shard(1), Replicate(), Partial())) == "(Shard(dim=1), Replicate(), Partial(sum))"
    assert Shard(1).is_shard() and Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Partial().is_partial("sum")
    lengths = [Shard(0).local_shard_size_and_offset(10, 4, rank) for rank in range(4)]
    assert lengths == [(len(part), int(part[0])) for part in torch.arange(10).chunk(4)]


# --- layers in parts --------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, width=8, heads=4):
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.value, self.out = (nn.Linear(width, width) for _ in range(3))
        # softmax cancels a key bias: the gradient would be only rounding errors, which Adam would amplify
        self.key = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head_width = width // heads

    def forward(self, x):
        y = self.before(x)
        batch, length, _ = y.shape
        heads = [
            layer(y).view(batch, length, -1, self.head_width).transpose(1, 2) for layer in (self.query, self.key, self.value)
        ]
        seen = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(batch, length, -1)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    def __init__(self, width=8, words=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.head = nn.Linear(width, words)

    def forward(self, words):
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def trained(net, context=nullcontext, clip=False):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, eps=1e-4)
    torch.manual_seed(3)
    for _ in range(2):
        words = torch.randint(0, 16, (2, 5))
        with context():
            loss = F.cross_entropy(net(words).flatten(0, 1), words.flatten().roll(1))
            optimizer.zero_grad()
            loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return net


def network():
    torch.manual_seed(0)
    return Transformer()


HALVES = {f"blocks.*.{name}": ColwiseParallel() for name in ("query", "key", "value", "up")} | {
    f"blocks.*.{name}": RowwiseParallel() for name in ("out", "down")
}


def assert_split_layers(rank, size):
    """Trained weights match a single process: tensor parallel layers, sharded logits and sequence parallelism."""
    mesh = init_device_mesh("cpu", (size,))
    alone, clipped = trained(network()), trained(network(), clip=True)
    assert_same_weights(trained(parallelize_module(network(), mesh, HALVES)), alone)
    all_parts = {
        **HALVES,
        "words": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Replicate()),
    }
    net = trained(parallelize_module(network(), mesh, all_parts))
    assert_same_weights(net, alone)
    assert net.blocks[0].up.weight.placements == (Shard(0),) and net.blocks[0].up.weight.grad.placements == (Shard(0),)
    split_logits = {**HALVES, "head": ColwiseParallel(use_local_output=False)}
    assert_same_weights(trained(parallelize_module(network(), mesh, split_logits), loss_parallel), alone)
    sequence = {"words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False)}
    sequence |= {f"blocks.*.{name}": SequenceParallel() for name in ("before", "after")}
    for name in ("query", "key", "value", "up"):
        sequence[f"blocks.*.{name}"] = ColwiseParallel(input_layouts=Shard(1), use_local_output=False)
    for name in ("out", "down"):
        sequence[f"blocks.*.{name}"] = RowwiseParallel(output_layouts=Shard(1), use_local_output=False)
    sequence["head"] = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())
    assert_same_weights(trained(parallelize_module(network(), mesh, sequence), clip=True), clipped)


def assert_styles(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    x = torch.arange(8.0).view(4, 2)
    layer = parallelize_module(nn.Identity(), mesh, PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0)))
    assert layer(x).placements == (Shard(0),)
    assert torch.equal(layer(x).full_tensor(), x)
    layer = parallelize_module(
        nn.Identity(), mesh, PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
    )
    assert torch.equal(layer(x), torch.cat([x] * size))
    both = PrepareModuleInputOutput(
        input_layouts=Replicate(), desired_input_layouts=Shard(0), output_layouts=Shard(0), desired_output_layouts=Replicate()
    )
    assert torch.equal(parallelize_module(nn.Identity(), mesh, both)(x), x)
    with pytest.raises(NotImplementedError, match="ColwiseParallel currently only support nn.Linear and nn.Embedding!"):
        parallelize_module(nn.Tanh(), mesh, ColwiseParallel())
    with pytest.warns(UserWarning, match="could not be resolved"):
        parallelize_module(nn.Sequential(nn.Linear(2, 2)), mesh, {"nothing": ColwiseParallel()})

    def split(name, module, mesh):
        if isinstance(module, nn.Linear):
            module.weight = nn.Parameter(distribute_tensor(module.weight.detach(), mesh, [Shard(0)]))

    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 3))
    net = distribute_module(
        copy.deepcopy(plain),
        mesh,
        split,
        lambda m, inputs, mesh: DTensor.from_local(inputs[0], mesh),
        lambda m, out, mesh: out.full_tensor(),
    )
    assert_close(net(x), plain(x))
    assert net[2].bias.placements == (Replicate(),)


def test_styles_say_how_layers_are_split():
    assert_job_ends(2, assert_styles)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_networks_are_split_over_processes(size):
    assert_job_ends(size, assert_split_layers)


def assert_styles_can_be_extended(rank, size):
    """A style of a user overrides one step of a style of the library, and calls the others."""
    calls = []

    class Noted(SequenceParallel):
        @staticmethod
        def _prepare_output_fn(use_local_output, mod, outputs, device_mesh):
            calls.append(outputs.placements)
            return outputs.redistribute(placements=(Replicate(),)).to_local()

    class Halved(ColwiseParallel):
        def _partition_linear_fn(self, name, module, device_mesh):
            super()._partition_linear_fn(name, module, device_mesh)
            with torch.no_grad():
                module.weight.div_(2)

    mesh = init_device_mesh("cpu", (size,))
    norm, linear = nn.LayerNorm(6), nn.Linear(6, 4, bias=False)
    x = torch.arange(2.0 * 4 * 6).reshape(2, 4, 6).sin()
    expected, product = norm(x), linear(x) / 2
    parallelize_module(norm, mesh, Noted())
    parallelize_module(linear, mesh, Halved(output_layouts=Replicate()))
    torch.testing.assert_close(norm(x.chunk(size, 1)[rank]), expected)
    torch.testing.assert_close(linear(x), product)
    assert calls == [(Shard(1),)] and repr(Noted()) == "Noted(sequence_dim=1, use_local_output=False)"


def test_styles_can_be_extended():
    assert_job_ends(2, assert_styles_can_be_extended)

"""Functional collectives, which return new tensors, and their gradients."""

from __future__ import annotations

import flambeau.distributed._functional_collectives as functional
import pytest
from distributed_jobs import assert_job_ends
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.tensor import Replicate, Shard
from flambeau.distributed.tensor._utils import compute_local_shape_and_global_offset

import flambeau as torch

pytestmark = pytest.mark.slow


def assert_collectives(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    x = torch.arange(4.0).reshape(2, 2) + 10 * rank
    for group in (mesh, (mesh, 0), mesh.get_group(), [0, 1]):
        assert torch.equal(functional.all_reduce(x, "sum", group), 2 * torch.arange(4.0).reshape(2, 2) + 10)
    assert torch.equal(functional.all_reduce(x, "max", mesh), torch.arange(4.0).reshape(2, 2) + 10)
    assert torch.equal(functional.broadcast(x, 1, mesh), torch.arange(4.0).reshape(2, 2) + 10)
    assert x[0, 0] == 10 * rank
    whole = functional.wait_tensor(functional.all_gather_tensor(x, 1, mesh))
    assert torch.equal(whole, torch.tensor([[0.0, 1, 10, 11], [2, 3, 12, 13]]))
    assert torch.equal(functional.reduce_scatter_tensor(whole, "sum", 1, mesh), 2 * whole[:, 2 * rank : 2 * rank + 2])
    with pytest.raises(ValueError, match="Unsupported reduce operation"):
        functional.all_reduce(x, "middle", mesh)


def assert_gradients(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    rows = torch.full((3, 2), float(rank), requires_grad=True)  # one row goes to rank 0, two rows to rank 1
    taken = [1, 1] if rank == 0 else [2, 2]
    received = functional.all_to_all_single_autograd(rows, taken, [1, 2], mesh)
    assert received[:, 0].tolist() == ([0, 1] if rank == 0 else [0, 0, 1, 1])
    (received * (rank + 1)).sum().backward()
    assert rows.grad[:, 0].tolist() == [1, 2, 2]
    x = torch.ones(2, 2, requires_grad=True)
    (functional.all_gather_tensor_autograd(x, 0, mesh) * torch.arange(4.0)[:, None]).sum().backward()
    assert torch.equal(x.grad, size * (torch.tensor([[0.0], [1.0]]) + 2 * rank).expand(2, 2))
    for operation, factor in (("sum", 1.0), ("avg", 0.5)):
        x.grad = None
        (functional.reduce_scatter_tensor_autograd(x, operation, 0, mesh) * (rank + 1)).sum().backward()
        assert torch.equal(x.grad, factor * torch.tensor([[1.0], [2.0]]).expand(2, 2))
    with pytest.raises(ValueError, match="no gradient"):
        functional.reduce_scatter_tensor_autograd(x, "max", 0, mesh)


def assert_parts(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    assert compute_local_shape_and_global_offset((3, 4), mesh, [Shard(0)]) == (((2, 4), (0, 0)), ((1, 4), (2, 0)))[rank]
    assert compute_local_shape_and_global_offset((3, 4), mesh, [Replicate()]) == ((3, 4), (0, 0))


def test_between_processes():
    assert_job_ends(2, assert_collectives, assert_gradients, assert_parts)

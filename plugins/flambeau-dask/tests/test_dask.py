"""Dask tensors: results, laziness, and a cluster of two processes with less memory than a result."""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path

import dask.array
import numpy as np
import pytest
from distributed import Client, LocalCluster
from flambeau_dask import compute, from_dask, persist, to_dask

import flambeau as torch
from flambeau import nn

LIMIT = 400_000_000  # memory limit of each of the two workers, in bytes


@pytest.fixture(scope="module")
def cluster():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None) as local,
        Client(local) as client,
    ):
        yield client


def lazy(*shape, chunks=2, seed=0):
    values = np.random.default_rng(seed).normal(size=shape).astype("float32")
    return torch.tensor(values), from_dask(dask.array.from_array(values, chunks=chunks))


PROGRAMS = {
    "elementwise": lambda x: (x * 2 - x.exp()).tanh().where(x > 0, -x),
    "sum": lambda x: x.sum(0) + x.mean(),
    "extremes": lambda x: x.amax(1) - x.min(),
    "norms": lambda x: x.norm() + x.var(0),
    "product": lambda x: x @ x.t(),
    "softmax": lambda x: x.softmax(1),
    "views": lambda x: x.t().reshape(3, -1)[1:, ::2],
    "joined": lambda x: torch.cat([x, x.flip(0)], 1),
    "sorted": lambda x: x.sort(1).values + x.argsort(1),
    "gather": lambda x: x.gather(1, x.argsort(1)),
    "layer": lambda x: nn.functional.layer_norm(x, (6,)),
    "gelu": lambda x: nn.functional.gelu(x),
    "cumulated": lambda x: x.cumsum(1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_cpu(name):
    here, there = lazy(5, 6)
    torch.testing.assert_close(PROGRAMS[name](there).cpu(), PROGRAMS[name](here), rtol=1e-5, atol=1e-5)


def test_nothing_is_computed_before_values_are_asked_for():
    computed = []

    def block(values):
        computed.append(values.size)
        return values

    array = dask.array.ones((8, 4), chunks=4).map_blocks(block, dtype="float64", meta=np.ones((0, 0)))
    x = from_dask(array)
    y = (x @ x.t()).sum() + 1
    assert not computed and y.shape == () and to_dask(x) is array
    assert y.item() == 8 * 8 * 4 + 1 and len(computed) >= 2
    kept = persist(x)
    computed.clear()
    assert kept.sum().item() == 32 and not computed
    first, second = compute(x.sum(), x.mean(0))
    assert first.item() == 32 and second.tolist() == [1.0] * 4 and first.device.type == "cpu"


def test_a_linear_model_is_trained():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    nets = [plain, copy.deepcopy(plain).to("dask")]
    here, there = lazy(20, 6, chunks=(5, 6))
    classes = torch.arange(20) % 3
    for net, x, y in zip(nets, (here, there), (classes, classes.to("dask")), strict=True):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    for one, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(other.detach().cpu(), one.detach(), rtol=1e-5, atol=1e-6)


def test_least_squares_on_a_cluster(cluster):
    here, there = lazy(400, 5, chunks=(100, 5))
    weights = torch.arange(5.0)
    targets = here @ weights
    normal, right = compute(there.t() @ there, there.t() @ targets.to("dask"))
    torch.testing.assert_close(torch.linalg.solve(normal, right), weights, rtol=1e-3, atol=1e-3)


def test_inference_in_batches_on_a_cluster(cluster):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).eval()
    here, there = lazy(300, 6, chunks=(50, 6))
    with torch.no_grad():
        expected = net(here).argmax(1)
        (found,) = compute(net.to("dask")(there).argmax(1))
    assert torch.equal(found, expected)


def test_a_result_is_larger_than_the_memory(cluster):
    n = 20_000
    x = from_dask(dask.array.ones((n, n), chunks=(2_000, 2_000), dtype="float32"))
    y = x * 3 + x.t()
    assert y.numel() * y.itemsize > 2 * LIMIT
    assert y.mean().item() == 4
    assert len(cluster.scheduler_info()["workers"]) == 2


def test_data_parallel_training_on_a_cluster(cluster):
    """The example `examples/ddp_on_dask.py`: both processes end with equal parameters."""
    path = Path(__file__).parents[3] / "examples" / "ddp_on_dask.py"
    spec = importlib.util.spec_from_file_location("ddp_on_dask", path)
    example = importlib.util.module_from_spec(spec)
    sys.modules["ddp_on_dask"] = example
    spec.loader.exec_module(example)
    cluster.upload_file(str(path))
    first, second = example.train_on(cluster, steps=30)
    assert first["loss"] == second["loss"] < 1.0
    for name, value in first["weights"].items():
        np.testing.assert_array_equal(value, second["weights"][name])


def test_what_dask_itself_cannot() -> None:
    """Operations that Dask lacks: `eye` with more columns than rows, and assignment with several index arrays."""
    assert torch.equal(torch.eye(2, 5, device="dask").cpu(), torch.eye(2, 5))
    x = torch.zeros(3, 4, device="dask")
    x.fill_diagonal_(2)
    x[torch.tensor([0, 1]), torch.tensor([1, 2])] = torch.tensor([5.0, 6.0], device="dask")
    assert x.tolist() == [[2, 5, 0, 0], [0, 2, 6, 0], [0, 0, 2, 0]]


def test_long_series_are_one_entry_of_the_graph() -> None:
    x, y = torch.tensor([0.1, 0.5, 2.5]), torch.tensor([[1.5], [0.7]])
    lazy_x, lazy_y = x.to("dask"), y.to("dask")
    for function in (
        torch.igamma,
        torch.igammac,
        lambda a, b: torch.special.zeta(a + 1.5, b),
        lambda a, b: torch.polygamma(1, a),
    ):
        found = function(lazy_x, lazy_y)
        assert len(to_dask(found).__dask_graph__()) < 30
        torch.testing.assert_close(found.cpu(), function(x, y))


def test_transforms_along_chunks() -> None:
    x, chunked = lazy(4, 6)
    for transform in (torch.fft.fftn, torch.fft.rfft, torch.fft.rfftn, torch.fft.fftshift):
        torch.testing.assert_close(transform(chunked).cpu(), transform(x))


def test_factorizations_of_batches_in_chunks() -> None:
    x, chunked = lazy(3, 4, 4)
    positive, chunked_positive = x @ x.mT + torch.eye(4), chunked @ chunked.mT + torch.eye(4, device="dask")
    for function in (torch.linalg.cholesky, torch.linalg.inv, torch.linalg.det, torch.linalg.eigvalsh, torch.linalg.svdvals):
        torch.testing.assert_close(function(chunked_positive).cpu(), function(positive), atol=1e-4, rtol=1e-4)
    right = torch.ones(3, 4, 2)
    found = torch.linalg.solve(chunked_positive, right.to("dask")).cpu()
    torch.testing.assert_close(found, torch.linalg.solve(positive, right), atol=1e-4, rtol=1e-4)
    for matrix in (chunked[:, :2], chunked[:, :, :3]):
        q, r = torch.linalg.qr(matrix)
        torch.testing.assert_close((q @ r).cpu(), matrix.cpu(), atol=1e-5, rtol=1e-5)
        u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
        torch.testing.assert_close((u * s.unsqueeze(-2) @ vh).cpu(), matrix.cpu(), atol=1e-5, rtol=1e-5)
        assert torch.linalg.svd(matrix).U.shape == torch.linalg.svd(matrix.cpu()).U.shape

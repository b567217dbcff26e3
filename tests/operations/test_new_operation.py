"""A new operation, added as in docs/operations.md, works in all features that its facts allow, without further registration.

The operation is the Gudermannian function, `gd(x) = 2 atan(tanh(x / 2))`, which PyTorch does not have.
"""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.tensor import Shard, distribute_tensor

import flambeau as torch
import flambeau.distributed as dist
from flambeau import nn
from flambeau.engine.calls import facts
from flambeau.engine.calls.op import op
from flambeau.engine.calls.tables import OPS, PUBLIC
from flambeau.extension import Autocast, Kind
from flambeau.extension.schemas import schemas


@pytest.fixture(scope="module", autouse=True)
def gudermannian():
    """The new operation, which is registered while the tests of this file run."""
    yield op(
        "gudermannian", lambda xp, input: 2 * xp.atan(xp.tanh(input / 2)),
        kind=Kind.POINTWISE, keeps_zero=True, autocast=Autocast.FLOAT32, promote="float", inplace=True,
        input=lambda F, g, input: g / F.cosh(input),
    )  # fmt: skip
    for table in (OPS, PUBLIC, facts._declared, facts._spellings):
        for name in ("gudermannian", "gudermannian_", "shifted_by_one"):
            table.pop(name, None)
    facts._facts.clear()
    facts._queries.clear()
    for name in ("gudermannian", "gudermannian_"):
        delattr(torch.Tensor, name)


def expected(x):
    return 2 * np.arctan(np.tanh(np.asarray(x) / 2))


def test_dense(gudermannian):
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    np.testing.assert_allclose(gudermannian(x).detach(), expected(x.detach()))
    assert torch.autograd.gradcheck(gudermannian, x)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested(gudermannian, layout):
    items = [torch.randn(2, 3), torch.randn(4, 3)]
    nested = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
    for item, result in zip(items, gudermannian(nested).unbind(), strict=True):
        np.testing.assert_allclose(result.detach(), expected(item), rtol=1e-6)
    gudermannian(nested).to_padded_tensor(0.0).sum().backward()
    np.testing.assert_allclose(nested.grad.unbind()[0], 1 / np.cosh(items[0]), rtol=1e-6)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse(gudermannian, layout):
    dense = torch.tensor([[0.0, 1.0], [-2.0, 0.0]])
    sparse = dense.to_sparse(layout=layout).requires_grad_()
    result = gudermannian(sparse)
    assert result.layout is layout and result._nnz() == 2
    np.testing.assert_allclose(result.to_dense().detach(), expected(dense), rtol=1e-6)
    result.to_dense().sum().backward()
    np.testing.assert_allclose(sparse.grad.to_dense()[0, 1], 1 / np.cosh(1.0), rtol=1e-6)


IN_PLACE = """
import flambeau as torch
from flambeau.engine.calls.op import op
from flambeau.extension import Kind

op("halved", lambda xp, input: input / 2, kind=Kind.POINTWISE, keeps_zero=True, promote="float", inplace=True)
for layout in (torch.jagged, torch.strided):
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=layout)
    assert nested.halved_() is nested and nested.unbind()[1].eq(0.5).all()
sparse = torch.eye(2).to_sparse()
assert sparse.halved_() is sparse and torch.equal(sparse.to_dense(), torch.eye(2) / 2)
"""


def test_in_place():
    """Runs in a subprocess: tensor classes only get methods of operations defined before them."""
    subprocess.run([sys.executable, "-c", IN_PLACE], check=True)


def test_meta(gudermannian):
    result = gudermannian(torch.empty(2, 3, dtype=torch.int32, device="meta"))
    assert result.device.type == "meta" and result.shape == (2, 3) and result.dtype is torch.float32


def test_autocast(gudermannian):
    x = torch.ones(2, dtype=torch.bfloat16)
    assert gudermannian(x).dtype is torch.bfloat16
    with torch.autocast("cpu"):
        assert gudermannian(x).dtype is x.gudermannian().dtype is torch.float32


def test_foreach():
    tensors = [torch.randn(2), torch.randn(3, 2)]
    wanted = [expected(tensor) for tensor in tensors]
    for result, value in zip(torch._foreach_gudermannian(tensors), wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6)
    assert torch._foreach_gudermannian_(tensors) is tensors
    np.testing.assert_allclose(tensors[1], wanted[1], rtol=1e-6)


@pytest.fixture
def mesh():
    """A device mesh with a single process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_distributed_tensors(gudermannian, mesh):
    x = torch.randn(4, 3)
    result = gudermannian(distribute_tensor(x, mesh, [Shard(0)]))
    assert result.placements == (Shard(0),)  # the rows stay sharded
    np.testing.assert_allclose(result.full_tensor(), expected(x), rtol=1e-6)


def test_an_operation_that_does_not_keep_zero_is_refused_for_sparse_tensors():
    shifted = op("shifted_by_one", lambda xp, input: input + 1, kind=Kind.POINTWISE, public=False, method=False)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::shifted_by_one'"):
        shifted(torch.ones(2).to_sparse())


# --- graphs: an operation that PyTorch lacks is in flambeau's namespace ----------------------------------------------------


class Applies(nn.Module):
    def forward(self, x):
        return torch.Tensor.gudermannian(x) + 1


X = torch.tensor([-1.0, 0.5])


def test_schemas():
    assert [str(schema) for schema in schemas("gudermannian")] == ["flambeau::gudermannian(Tensor self) -> Tensor"]
    assert str(torch.ops.flambeau.gudermannian_.default._schema) == "flambeau::gudermannian_(Tensor(a!) self) -> Tensor(a!)"
    with pytest.raises(AttributeError, match="'aten' object has no attribute 'gudermannian'"):
        torch.ops.aten.gudermannian


@pytest.mark.parametrize("decomposed", [False, True])
def test_export(decomposed):
    program = torch.export.export(Applies(), (X,))
    program = program.run_decompositions() if decomposed else program
    assert torch.ops.flambeau.gudermannian.default in [node.target for node in program.graph.nodes]
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    np.testing.assert_allclose(torch.export.load(buffer).module()(X), expected(X) + 1, rtol=1e-6)


def test_export_of_writes():
    program = torch.export.export(Writes(), (X,)).run_decompositions()
    assert not any(str(node.target).partition(".default")[0].endswith("_") for node in program.graph.nodes)
    np.testing.assert_allclose(program.module()(X), expected(X), rtol=1e-6)


class Writes(nn.Module):
    def forward(self, x):
        y = x.clone()
        y.gudermannian_()
        return y


def test_fx():
    traced = torch.fx.symbolic_trace(Applies())
    np.testing.assert_allclose(traced(X), expected(X) + 1, rtol=1e-6)


class Scripted(nn.Module):
    def forward(self, x):
        return x.gudermannian() + 1


@pytest.mark.parametrize("compiled", [lambda: torch.jit.trace(Applies(), X), lambda: torch.jit.script(Scripted())])
def test_jit(compiled):
    module = compiled()
    assert "flambeau::gudermannian" in [node.kind() for node in module.graph.nodes()]
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    buffer.seek(0)
    np.testing.assert_allclose(torch.jit.load(buffer)(X), expected(X) + 1, rtol=1e-6)


def test_onnx_has_no_such_operator():
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match="No ONNX function found for flambeau.gudermannian"):
        torch.onnx.export(Applies(), (X,), dynamo=True)

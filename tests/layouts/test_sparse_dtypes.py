"""Dtypes of sums and products of sparse tensors, and of dense tensors to which sparse results are written."""

from __future__ import annotations

import pytest

import flambeau as torch

WRITES = {
    "add_": lambda dense, sparse: dense.add_(sparse),
    "+=": lambda dense, sparse: dense.__iadd__(sparse),
    "sub_": lambda dense, sparse: dense.sub_(sparse, alpha=2),
    "mul_": lambda dense, sparse: dense.mul_(sparse),
    "addmm_": lambda dense, sparse: dense.addmm_(sparse, torch.ones(2, 2)),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("dtypes", [(torch.int32, torch.float32), (torch.bool, torch.int64), (torch.float32, torch.complex64)])
def test_a_dense_tensor_refuses_sparse_results_of_another_category(write, dtypes):
    dense, sparse = torch.ones(2, 2, dtype=dtypes[0]), torch.eye(2, dtype=dtypes[1]).to_sparse()
    with pytest.raises(RuntimeError, match="expected|can't be cast|not implemented|same dtype|with a bool tensor"):
        WRITES[write](dense, sparse)
    assert (dense == 1).all()


def test_a_dense_tensor_takes_sparse_results_of_another_precision():
    assert torch.ones(2, 2).add_(torch.eye(2, dtype=torch.float64).to_sparse()).tolist() == [[2, 1], [1, 2]]
    assert torch.ones(2, 2, dtype=torch.int32).add_(torch.eye(2, dtype=torch.int64).to_sparse()).dtype is torch.int32


def test_common_dtypes_and_sizes_of_sparse_tensors():
    s = torch.eye(2).to_sparse()
    assert torch.result_type(s, 1j) is torch.complex64
    assert torch.result_type(torch.ones(2, dtype=torch.float64), s) is torch.float64
    assert torch.is_same_size(s, s) and torch.is_same_size(s, torch.ones(2, 2)) and not torch.is_same_size(s, torch.ones(2))


DTYPES = [torch.uint8, torch.int16, torch.float32, torch.bool]


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "add_", "sub_"])
@pytest.mark.parametrize("alpha", [1, 2, -1])
def test_sums_have_the_values_and_errors_of_dense_tensors(first, second, name, alpha):
    x, y = torch.tensor([[0, 3], [200, 1]]).to(first), torch.tensor([[2, 0], [1, 250]]).to(second)

    def outcome(a, b):
        try:
            result = getattr(a.clone(), name)(b, alpha=alpha).to_dense()
        except RuntimeError:
            return "refused"
        return result.dtype, result.tolist()

    expected = outcome(x, y)
    assert outcome(x.to_sparse(), y.to_sparse()) == outcome(x, y.to_sparse()) == expected
    assert outcome(x.to_sparse_csr(), y.to_sparse_csr()) == expected

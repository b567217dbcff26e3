"""`segment_reduce` and `grouped_mm`: dimensions divided into segments of different lengths."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F


def ends(*values):
    return torch.tensor(values, dtype=torch.int32)


EMPTY = {"sum": 0.0, "mean": float("nan"), "max": float("-inf"), "min": float("inf"), "prod": 1.0}


@pytest.mark.parametrize("reduce", EMPTY)
def test_segments_without_elements(reduce):
    x = torch.tensor([[1.0], [float("nan")], [3.0]])
    result = torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 0, 2, 0]))
    np.testing.assert_array_equal(result.squeeze(1).numpy(), [1.0, EMPTY[reduce], np.nan, EMPTY[reduce]])
    result = torch.segment_reduce(x, reduce, lengths=torch.tensor([0, 1]), initial=2, unsafe=True)
    np.testing.assert_array_equal(result.squeeze(1).numpy(), [2.0, {"sum": 3, "mean": 3, "max": 2, "min": 1, "prod": 2}[reduce]])
    assert torch.segment_reduce(torch.ones(0, 3), reduce, lengths=torch.tensor([0])).shape == (1, 3)
    assert torch.segment_reduce(torch.ones(0, 3), reduce, lengths=torch.ones(0, dtype=torch.long)).shape == (0, 3)


@pytest.mark.parametrize(
    ("reduce", "initial", "gradient"),
    [
        ("max", 0.0, [1.0, 1.0, 0.0, 0.0, 0.5, 0.5]),
        ("min", 9.0, [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        ("prod", 2.0, [2.0, 6.0, float("nan"), 50.0, 40.0, 40.0]),
        ("sum", 1.0, [1.0] * 6),
    ],
)
def test_gradients_next_to_nan(reduce, initial, gradient):
    x = torch.tensor([1.0, float("nan"), 3.0, 4.0, 5.0, 5.0], requires_grad=True)
    result = torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 2, 3, 0]), initial=initial)
    assert result[1].isnan() and result[3] == initial
    result.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.array(gradient, np.float32))


def test_segments_of_half_precision_are_summed_in_single():
    x = torch.full((4096,), 1.0).half()
    assert torch.segment_reduce(x, "sum", lengths=torch.tensor([4096])).item() == 4096
    assert torch.segment_reduce(x.bfloat16(), "sum", lengths=torch.tensor([4096])).item() == 4096


def test_ties_share_the_gradient():
    x = torch.tensor([2.0, 2.0, 0.0, 3.0, 0.0, 0.0], requires_grad=True)
    torch.segment_reduce(x, "min", lengths=torch.tensor([2, 1, 3])).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5, 1.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("reduce", EMPTY)
def test_derivatives_of_segments(reduce):
    x = torch.rand(2, 5, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([[2, 0, 3], [1, 4, 0]])
    initial = None if reduce in ("sum", "prod") else 0.4  # a finite initial value for empty segments
    assert torch.autograd.gradcheck(lambda x: torch.segment_reduce(x, reduce, lengths=lengths, axis=1, initial=initial), (x,))
    assert torch.autograd.gradgradcheck(lambda x: torch.segment_reduce(x, reduce, lengths=lengths, axis=1, initial=initial), (x,))


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({}, RuntimeError, "Either lengths or offsets"),
        ({"lengths": torch.tensor([-1, 4])}, RuntimeError, "negative"),
        ({"lengths": torch.tensor([2, 2])}, RuntimeError, "to sum to"),
        ({"lengths": torch.tensor([4]), "unsafe": True}, RuntimeError, "outside of a dimension of 3"),
        ({"lengths": torch.tensor([3]), "axis": 1}, RuntimeError, "axis to be the last dimension of lengths but got 1"),
        ({"lengths": torch.tensor([[3], [3]]), "axis": 1}, RuntimeError, "segments"),
        ({"lengths": torch.tensor([3.0])}, NotImplementedError, "not implemented for 'Float'"),
        ({"indices": torch.tensor([3])}, RuntimeError, "not supported"),
        ({"offsets": torch.tensor([0, 5])}, RuntimeError, "outside"),
        ({"offsets": torch.tensor([0, 2, 1])}, RuntimeError, "ascending"),
    ],
)
def test_segments_that_do_not_fit(kwargs, error, message):
    with pytest.raises(error, match=message):
        torch.segment_reduce(torch.ones(3, 2), "sum", **kwargs)


def test_what_segments_are_of():
    with pytest.raises(RuntimeError, match="got median"):
        torch.segment_reduce(torch.ones(3), "median", lengths=torch.tensor([3]))
    with pytest.raises(NotImplementedError, match="for 'Int'"):
        torch.segment_reduce(torch.ones(3).int(), "sum", lengths=torch.tensor([3]))
    assert torch.segment_reduce(torch.ones(1, requires_grad=True), "sum", lengths=torch.tensor([1])).grad_fn.name() == (
        "SegmentReduceBackward0"
    )


def formula(a, b, offs):
    """Reference for `grouped_mm`: multiply group by group."""
    begins = [0, *offs[:-1]]
    pairs = list(zip(begins, offs, strict=True))
    if b.ndim == 3 and a.ndim == 2:
        return np.concatenate([a[i:j] @ b[k] for k, (i, j) in enumerate(pairs)] + [0 * a[offs[-1] :, :1] + 0 * b[0, :1]])
    if a.ndim == 3:
        rest = np.zeros((a.shape[1], b.shape[1] - offs[-1]))
        return np.concatenate([a[k] @ b[:, i:j] for k, (i, j) in enumerate(pairs)] + [rest], 1)
    return np.stack([a[:, i:j] @ b[i:j] for i, j in pairs])


@pytest.mark.parametrize(
    ("left", "right"), [((8, 5), (3, 5, 4)), ((3, 6, 5), (5, 8)), ((6, 8), (8, 4))], ids=["rows", "columns", "summed"]
)
@pytest.mark.parametrize("offs", [(2, 2, 8), (1, 4, 6)], ids=["all", "with a rest"])
def test_grouped_products(left, right, offs):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("f4") for shape in (left, right))
    x, y = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    result = F.grouped_mm(x, y, offs=ends(*offs))
    expected = formula(a, b, offs)
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    assert result.grad_fn.name() == "GroupedMmBackward0"
    g = rng.standard_normal(result.shape).astype("f4")
    result.backward(torch.tensor(g))
    step = rng.standard_normal(left).astype("f4"), rng.standard_normal(right).astype("f4")
    # directional derivative of a bilinear function
    moved = (g * formula(step[0], b, offs)).sum() + (g * formula(a, step[1], offs)).sum()
    found = (x.grad.numpy() * step[0]).sum() + (y.grad.numpy() * step[1]).sum()
    np.testing.assert_allclose(found, moved, rtol=1e-3)
    np.testing.assert_allclose(
        torch._grouped_mm(x.bfloat16(), y.bfloat16(), ends(*offs)).float().detach().numpy(), expected, atol=0.1
    )


def test_one_group_each():
    a, b = torch.randn(3, 2, 4), torch.randn(3, 4, 5)
    assert torch.equal(F.grouped_mm(a, b), a @ b)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (((4, 2), (2, 2, 3)), {}, "Have to provide offsets"),
        (((2, 4, 2), (2, 2, 3)), {"offs": ends(2, 4)}, "Have to provide offsets"),
        (((4, 2), (2, 2, 3)), {"offs": torch.tensor([2, 4])}, "int32"),
        (((4, 2), (2, 2, 3)), {"offs": ends(4)}, "batch sizes have to match"),
        (((4, 2), (2, 2, 3)), {"offs": ends(2, 4).reshape(1, 2)}, "1D"),
        (((4, 2), (2, 2, 3)), {"offs": ends(2, 5)}, r"\[2, 5\] do not divide a dimension of 4"),
        (((4, 2), (2, 3, 3)), {"offs": ends(2, 4)}, "contraction dimension"),
        (((4,), (2, 3, 3)), {"offs": ends(2, 4)}, "2 or 3d"),
        (((4, 2), (2, 2, 3)), {"offs": ends(2, 4), "bias": torch.ones(3)}, "Bias not supported"),
        (((4, 2), (2, 2, 3)), {"offs": ends(2, 4), "out_dtype": torch.half}, "must match"),
    ],
)
def test_groups_that_do_not_fit(args, kwargs, message):
    with pytest.raises(RuntimeError, match=message):
        F.grouped_mm(*(torch.ones(shape) for shape in args), **kwargs)
    with pytest.raises(RuntimeError, match="got Double"):
        F.grouped_mm(torch.ones(1, 1, 1).double(), torch.ones(1, 1, 1).double())


def test_positions_repeated():
    counts = torch.tensor([2, 0, 3])
    assert torch.repeat_interleave(counts).tolist() == [0, 0, 2, 2, 2]
    assert torch.repeat_interleave(counts.int()).dtype is torch.int32
    assert torch.tensor([7, 8]).repeat_interleave(torch.tensor(2)).tolist() == [7, 7, 8, 8]
    for repeats in (-1, torch.tensor([1, -1])):
        with pytest.raises(RuntimeError, match="negative"):
            torch.ones(2).repeat_interleave(repeats)
    with pytest.raises(RuntimeError, match="Invalid output_size"):
        torch.ones(2).repeat_interleave(torch.tensor([1, 2]), output_size=4)

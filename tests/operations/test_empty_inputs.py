"""Inputs without elements: no batch, no channels, no columns."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.nn.functional as F


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 0.0), ("mean", float("nan"))])
@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
def test_classification_without_positions(loss, reduction, expected):
    scores = torch.zeros(2, 3, 0, 7, requires_grad=True)
    result = loss(scores, torch.zeros(2, 0, 7, dtype=torch.long), reduction=reduction)
    torch.testing.assert_close(result.detach(), torch.tensor(expected), equal_nan=True)
    result.backward()
    assert scores.grad.shape == scores.shape
    assert loss(scores, torch.zeros(2, 0, 7, dtype=torch.long), reduction="none").shape == (2, 0, 7)


def test_convolution_without_channels():
    x, weight, bias = torch.zeros(2, 0, 5, requires_grad=True), torch.zeros(4, 0, 2, requires_grad=True), torch.ones(4)
    output = F.conv1d(x, weight, bias)
    assert output.shape == (2, 4, 4) and (output == 1).all()
    output.sum().backward()
    assert x.grad.shape == x.shape and weight.grad.shape == weight.shape
    assert F.conv_transpose1d(torch.zeros(2, 0, 5), torch.zeros(0, 4, 2)).tolist() == torch.zeros(2, 4, 6).tolist()


def test_rows_of_width_zero():
    table = torch.zeros(3, 0, requires_grad=True)
    F.embedding(torch.tensor([0, 2, 2]), table).sum().backward()
    assert table.grad.shape == (3, 0)
    points = torch.zeros(3, 0, requires_grad=True)
    torch.pdist(points).sum().backward()
    assert points.grad.shape == (3, 0)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_without_indices(reduce):
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(x.scatter_reduce(0, torch.tensor([], dtype=torch.long), torch.ones(2, 3), reduce), x)
    assert torch.equal(x.scatter_add(0, torch.tensor([], dtype=torch.long), torch.ones(2, 3)), x)


def test_gradient_of_empty_vectors_that_cat_leaves_out():
    empty, row = torch.ones(0, requires_grad=True), torch.ones(1, 3, requires_grad=True)
    torch.cat([empty, row]).sum().backward()
    assert empty.grad.shape == (0,) and row.grad.tolist() == [[1, 1, 1]]
    assert torch.cat([torch.ones(0), torch.ones(0)], dim=1).shape == (0,)
    assert torch.cat([torch.ones(0, dtype=torch.float64), torch.ones(2, 3)], dim=1).dtype is torch.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.quantile(torch.ones(0), 0.5), RuntimeError, "input tensor must be non-empty"),
        (lambda: torch.kthvalue(torch.ones(2, 0), 1), IndexError, "Expected reduction dim 1 to have non-zero size"),
        (lambda: torch.histogram(torch.ones(3), torch.tensor(0.0)), RuntimeError, "bins tensor should have one dimension"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_variance_of_a_number(dtype):
    x = torch.tensor(2.0, dtype=dtype, requires_grad=True)
    x.std(unbiased=False).backward()
    assert x.var(unbiased=False).item() == 0 and x.grad.item() == 0


def test_gradient_of_a_number_that_index_copy_replaces():
    x = torch.tensor(2.0, requires_grad=True)
    x.index_copy(0, torch.tensor([0]), torch.ones(())).backward()
    assert x.grad.item() == 0


def test_numbers_with_an_imaginary_part():
    assert float(torch.tensor(2 + 0j)) == 2.0 and int(torch.tensor(2 + 0j)) == 2
    for convert, name in ((float, "double"), (int, "int64_t")):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            convert(torch.tensor(1.5j))


NONE = torch.tensor([], dtype=torch.long)
WITHOUT_WRITES = {
    "scatter": lambda x, source: x.scatter(0, NONE, source),
    "scatter_add": lambda x, source: x.scatter_add(0, NONE, source),
    "scatter_reduce": lambda x, source: x.scatter_reduce(0, NONE, source, "amax"),
    "index_reduce": lambda x, source: x.index_reduce(0, NONE, source, "mean"),
    "masked_scatter": lambda x, source: x.masked_scatter(x > 9, source),
    "embedding_bag": lambda x, source: F.embedding_bag(NONE, source.reshape(-1, 2), torch.tensor([0, 0]), mode="max"),
}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", WITHOUT_WRITES)
def test_sources_of_no_elements_get_gradients(name):
    source = torch.zeros(6 if name == "embedding_bag" else 0, requires_grad=True)
    WITHOUT_WRITES[name](torch.arange(3.0), source).sum().backward()
    assert source.grad.tolist() == [0.0] * len(source)


def test_largest_rows_of_width_zero():
    table = torch.zeros(3, 0, requires_grad=True)
    F.embedding_bag(torch.tensor([0, 2, 2]), table, torch.tensor([0, 1]), mode="max").sum().backward()
    assert table.grad.shape == (3, 0)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_the_variance_of_no_elements_warns(name: str) -> None:
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        result = getattr(torch, name)(torch.empty(0))
    assert all(value.isnan() for value in (result if isinstance(result, tuple) else (result,)))

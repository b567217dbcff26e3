"""The device `meta`: tensors with shapes, strides and dtypes but no memory."""

from __future__ import annotations

import copy
import io
import pickle
import time
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau.conformance.checks import Checker, results_of
from flambeau.conformance.samples import families
from flambeau.nn import functional as F

checker = Checker("cpu")
ITEM = "Tensor.item\\(\\) cannot be called on meta tensors"
NO_DATA = "Cannot copy out of meta tensor; no data!"

# Functions whose result or shape depends on values. For meta tensors, PyTorch also raises an error.
NEED_VALUES = {
    "equal", "allclose", "is_nonzero", "Tensor.cpu", "masked_select", "nonzero", "argwhere", "nn.functional.gaussian_nll_loss",
    "unique", "unique_consecutive", "bincount", "histogram", "histogramdd",
}  # fmt: skip
# For a transposed input, the strides of the CPU result depend on the algorithm; the meta result is row-major.
ORDERED_BY_ALGORITHM = ("pool", "pad", "index_add", "index_put")


def needs_values(error):
    return str(error).startswith(("aten::", "indexing with a mask", "cannot repeat_interleave", "Tensor.item()", NO_DATA))


def samples(condition=lambda sample: True):
    return pytest.mark.parametrize(
        "sample",
        [
            pytest.param(sample, id=f"{family}-{number}-{sample.name}")
            for family, table in families().items()
            for number, sample in enumerate(table)
            if condition(sample) and checker.dtypes(sample) and not sample.name.startswith("linalg.ldl")
        ],
    )


def describe(result, with_strides=True):
    """Return shape, dtype and strides. The stride of a dimension of length 1 is None, as it may have any value."""
    if not isinstance(result, torch.Tensor):
        return type(result)
    strides = [stride if n > 1 else None for n, stride in zip(result.shape, result.stride(), strict=True)]
    return tuple(result.shape), result.dtype, strides if with_strides else None


def meta_like(tensor):
    """Return a meta tensor of the same shape, dtype and strides."""
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta", requires_grad=tensor.requires_grad
    )


def assert_meta_agrees(sample, tensors, with_strides=True):
    expected = results_of(sample.call(torch, *tensors))
    try:
        with torch.device("meta"):
            actual = results_of(sample.call(torch, *map(meta_like, tensors)))
    except (RuntimeError, NotImplementedError) as error:
        known = sample.name in NEED_VALUES or sample.name in (
            "Tensor.__getitem__", "repeat_interleave", "nn.functional.ctc_loss",
            "nn.functional.one_hot",
        )  # fmt: skip
        assert known, error
        assert needs_values(error), error
        return
    assert sample.name not in NEED_VALUES
    assert [describe(result, with_strides) for result in actual] == [describe(result, with_strides) for result in expected]
    assert all(result.is_meta for result in actual if isinstance(result, torch.Tensor))


@samples()
def test_results_are_described_as_on_the_cpu(sample):
    for dtype in checker.dtypes(sample):
        assert_meta_agrees(sample, [torch.tensor(array) for array in sample.arrays(np, dtype)])


@samples(lambda sample: sample.layouts)
def test_and_so_are_those_of_transposed_inputs(sample):
    dtype = checker.dtypes(sample)[0]
    tensors = [torch.tensor(array) for array in sample.arrays(np, dtype)]
    transposed = [t.mT.contiguous().mT if t.ndim > 1 else t for t in tensors]
    assert_meta_agrees(sample, transposed, not any(part in sample.name for part in ORDERED_BY_ALGORITHM))


@samples(lambda sample: sample.grad)
def test_and_gradients(sample):
    for dtype in {"float32", "complex64"} & set(checker.dtypes(sample)):
        tensors = [torch.tensor(array) for array in sample.arrays(np, dtype)]
        leaves = [t.requires_grad_() if t.is_floating_point() or t.is_complex() else t for t in tensors]
        gradients = []
        for inputs in (leaves, [meta_like(leaf) for leaf in leaves]):
            try:
                with torch.device(inputs[0].device):
                    results = [
                        r for r in results_of(sample.call(torch, *inputs)) if isinstance(r, torch.Tensor) and r.requires_grad
                    ]
                    torch.autograd.backward(results, [torch.ones_like(result) for result in results])
            except (RuntimeError, NotImplementedError) as error:
                assert inputs[0].is_meta and needs_values(error), error
                return
            gradients.append([describe(leaf.grad) for leaf in inputs])
        assert gradients[0] == gradients[1]


@samples(lambda sample: sample.view)
def test_views_share_the_memory_that_is_not_there(sample):
    x, *others = [meta_like(torch.tensor(array)) for array in sample.arrays(np, checker.dtypes(sample)[0])]
    for view in results_of(sample.call(torch, x, *others)):
        assert view._key.backend.shares_memory(view._array, x._array)
        assert view.untyped_storage().nbytes() == x.untyped_storage().nbytes()


def test_memory_formats_are_kept():
    x = torch.empty(2, 3, 8, 8, device="meta").contiguous(memory_format=torch.channels_last)
    for layer in (
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.MaxPool2d(2),
        torch.nn.BatchNorm2d(3),
        torch.nn.Upsample(scale_factor=2),
        torch.nn.ReLU(),
    ):
        assert layer.to("meta")(x).is_contiguous(memory_format=torch.channels_last)
    assert x.contiguous().is_contiguous()


# --- what a tensor on meta is -------------------------------------------------------------------------------------


def test_no_memory_is_taken():
    x = torch.empty(1 << 20, 1 << 20, device="meta")
    y = torch.nn.Linear(1 << 20, 1 << 20, device="meta")(x).softmax(-1).sum(0)
    assert y.shape == (1 << 20,) and x.untyped_storage().nbytes() == 1 << 42
    y.sum().backward()


def test_the_device():
    x = torch.empty(2, 3, device="meta:0")
    assert x.is_meta and not x.is_cpu and str(x.device) == "meta" and x.device == torch.device("meta")
    assert x.get_device() == -1 and x.type() == "torch.meta.FloatTensor" and x.data_ptr() == 0
    assert not torch.ones(1).is_meta
    with torch.device("meta"):
        assert all(make(3).is_meta for make in (torch.ones, torch.rand, torch.randperm, torch.arange, torch.eye))
        assert torch.tensor([1.0, 2.0]).is_meta
    assert torch.ones_like(x).is_meta and x.new_ones(2).is_meta and torch.zeros_like(x, device="cpu").tolist() == [[0.0] * 3] * 2
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"


def test_to_meta_keeps_shape_strides_and_autograd():
    x = torch.rand(2, 3, requires_grad=True)
    y = x.t().to("meta", torch.float64)
    assert describe(y) == ((3, 2), torch.float64, [1, 3]) and y.requires_grad
    assert torch.as_tensor(np.ones((2, 3)), device="meta").dtype is torch.float64


@pytest.mark.parametrize("look", [lambda x: x.item(), bool, float, int, lambda x: x.is_nonzero(), lambda x: x.any().item()])
def test_values_cannot_be_looked_at(look):
    with pytest.raises(RuntimeError, match=ITEM):
        look(torch.empty((), device="meta"))


@pytest.mark.parametrize(
    "move", [lambda x: x.cpu(), lambda x: x.to("cpu"), lambda x: x.tolist(), lambda x: torch.ones(2, 3).copy_(x)]
)
def test_there_is_no_way_out(move):
    with pytest.raises(NotImplementedError, match=NO_DATA):
        move(torch.empty(2, 3, device="meta"))


def test_neither_into_other_libraries():
    x = torch.empty(2, device="meta")
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        x.__dlpack__()


def test_devices_do_not_mix_but_for_scalars():
    x = torch.empty(2, 3, device="meta")
    assert (x + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float32
    with pytest.raises(RuntimeError, match="meta"):
        x + torch.ones(2, 3)
    x.copy_(torch.ones(3))  # copying values to a meta tensor has no effect
    assert x.mul_(2).zero_().is_meta


@pytest.mark.parametrize(
    "call",
    [
        lambda x, mask: x.nonzero(),
        lambda x, mask: x[mask],
        lambda x, mask: x.masked_select(mask),
        lambda x, mask: x.unique(),
        lambda x, mask: torch.unique_consecutive(x),
        lambda x, mask: torch.where(mask),
        lambda x, mask: mask.long().flatten().bincount(),
        lambda x, mask: torch.equal(x, x),
    ],
)
def test_shapes_that_depend_on_values_are_not_known(call):
    x = torch.empty(2, 3, device="meta")
    with pytest.raises(NotImplementedError, match="depends on data"):
        call(x, x > 0)


def test_tables_without_memory_take_indices_from_anywhere():
    table = torch.empty(1 << 40, 3, device="meta", requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([[1, 2]]), table)
    assert rows.is_meta and rows.shape == (1, 2, 3)
    rows.sum().backward()
    assert table.grad.shape == table.shape


def test_indices():
    x, rows = torch.empty(4, 5, 6, device="meta"), torch.empty(7, dtype=torch.int64, device="meta")
    assert x[rows].shape == (7, 5, 6) and x[:, rows].shape == (4, 7, 6) and x[rows, :, rows].shape == (7, 5)
    assert x[torch.tensor([0, 1])].shape == (2, 5, 6) and x[1:, ..., 0].stride() == (30, 6)
    assert x[1:].storage_offset() == 30 and x[0, None].shape == (1, 5, 6) and x[0, rows, 1:].shape == (7, 5)
    known = torch.zeros(4, 5, dtype=torch.bool)
    known[0, :3] = True
    assert x[known].shape == (3, 6)  # a CPU mask has values, so the number of selected elements is known
    x[x > 0] = 1.0
    x[rows] = 2.0
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[rows] = torch.empty(3, 3, device="meta")
    with pytest.raises(IndexError):
        x[4]


def test_checks_of_shapes_remain():
    x = torch.empty(2, 3, device="meta")
    for wrong in (lambda: x @ x, lambda: x + x.t(), lambda: x.view(5), lambda: torch.cat([x, x.t()]), lambda: F.linear(x, x.t())):
        with pytest.raises(RuntimeError):
            wrong()


def test_writes_through_views_are_differentiated():
    x = torch.empty(3, 4, device="meta", requires_grad=True)
    y = x * 2
    y[0].add_(1)
    y.t_()
    assert y.grad_fn is not None
    y.sum().backward()
    assert x.grad.is_meta and x.grad.shape == (3, 4)


def test_transforms():
    x = torch.empty(2, 3, device="meta")
    assert torch.vmap(lambda row: row.softmax(0) @ row)(x).shape == (2,)
    assert torch.vmap(lambda row: row.quantile(0.5))(x).shape == (2,)
    assert torch.vmap(torch.linalg.inv)(torch.empty(4, 3, 3, device="meta")).shape == (4, 3, 3)
    assert torch.vmap(torch.bernoulli, randomness="different")(x).shape == (2, 3)
    assert torch.func.grad(lambda t: t.square().sum())(x).shape == (2, 3)
    assert torch.func.jvp(torch.sin, (x,), (x,))[1].shape == (2, 3)
    assert torch.func.hessian(lambda t: t.sin().sum())(x[0]).shape == (3, 3)


def test_random_numbers_are_not_drawn():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    x = torch.empty(3, device="meta").normal_(generator=torch.Generator())
    torch.nn.init.kaiming_uniform_(torch.empty(3, 3, device="meta"))
    assert F.dropout(x).is_meta and torch.bernoulli(x).is_meta and torch.multinomial(x, 2).dtype is torch.int64
    assert torch.equal(before, torch.get_rng_state())


# --- copies and files ---------------------------------------------------------------------------------------------


def test_copies_and_pickles():
    layer = torch.nn.Linear(2, 3, device="meta")
    for duplicate in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert duplicate.weight.is_meta and duplicate.weight.requires_grad and isinstance(duplicate.weight, torch.nn.Parameter)
    x = torch.empty(4, 5, device="meta").t()
    file = io.BytesIO()
    torch.save({"x": x, **layer.state_dict()}, file)
    for location in (None, "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=location)
        assert describe(loaded["x"]) == describe(x) and loaded["weight"].is_meta


def test_files_can_be_loaded_without_their_data():
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 3).state_dict(), file)
    file.seek(0)
    assert torch.load(file, map_location="meta")["weight"].is_meta


# --- modules ------------------------------------------------------------------------------------------------------


def test_modules_are_made_without_memory_and_filled_later():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with torch.device("meta"):
        empty = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with pytest.raises(NotImplementedError, match="Please use torch.nn.Module.to_empty"):
        empty.to("cpu")
    real = copy.deepcopy(empty).to_empty(device="cpu")
    real.load_state_dict(model.state_dict())
    empty.load_state_dict(model.state_dict(), assign=True)
    x = torch.rand(5, 2)
    for other in (real, empty):
        torch.testing.assert_close(other(x), model(x))
    assert all(isinstance(parameter, torch.nn.Parameter) for parameter in empty.parameters())


def test_loading_into_meta_without_assign_does_nothing_and_says_so():
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter"):
        torch.nn.Linear(2, 3, bias=False, device="meta").load_state_dict(torch.nn.Linear(2, 3, bias=False).state_dict())
    with pytest.raises(RuntimeError, match="no data"):
        torch.nn.Linear(2, 3).load_state_dict(torch.nn.Linear(2, 3, device="meta").state_dict())


@pytest.mark.parametrize(
    "name",
    ["uniform_", "normal_", "trunc_normal_", "ones_", "eye_", "xavier_normal_", "kaiming_uniform_", "orthogonal_", "zeros_"],
)
def test_initializations_do_nothing(name):
    with torch.device("meta"):
        weight = torch.empty(4, 5)
        assert getattr(torch.nn.init, name)(weight) is weight
        torch.nn.init.sparse_(weight, 0.5)
        torch.nn.init.trunc_normal_(torch.nn.init.dirac_(torch.empty(4, 4, 3)), a=2.0, b=4.0)


def test_skip_init():
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 2, 3, dtype=torch.float64)
    assert layer.weight.device.type == "cpu" and layer.weight.dtype is torch.float64


def test_parameters_can_be_moved_to_meta_as_they_are_registered():
    """Replace `register_parameter`, as accelerate's `init_empty_weights` does."""
    register = torch.nn.Module.register_parameter

    def register_empty(module, name, parameter):
        register(module, name, parameter)
        if parameter is not None:
            on_meta = parameter.to(torch.device("meta"))
            module._parameters[name] = type(parameter)(on_meta, requires_grad=parameter.requires_grad, **parameter.__dict__)

    torch.nn.Module.register_parameter = register_empty
    try:
        layer = torch.nn.TransformerEncoderLayer(8, 2)
    finally:
        torch.nn.Module.register_parameter = register
    assert all(parameter.is_meta for parameter in layer.parameters())
    assert layer(torch.empty(5, 1, 8, device="meta")).shape == (5, 1, 8)


def test_a_training_step():
    model = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.LSTM(8, 4, batch_first=True)).to("meta")
    tokens = torch.empty(2, 5, dtype=torch.int64, device="meta")
    optimizers = [torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), torch.optim.AdamW(model.parameters())]
    for optimizer in optimizers:
        F.cross_entropy(model(tokens)[0].flatten(0, 1), tokens.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.save(optimizers[1].state_dict(), io.BytesIO())


def test_indices_of_large_triangles_are_counted_line_by_line():
    assert torch.tril_indices(50_000, 40_000, 7, device="meta").shape == (2, sum(min(i + 8, 40_000) for i in range(50_000)))
    assert torch.triu_indices(50_000, 40_000, -7, device="meta").shape == (
        2,
        sum(40_000 - min(max(i - 7, 0), 40_000) for i in range(50_000)),
    )


BILLIONS = {
    "nearest": lambda x: F.interpolate(x, 10**6), "bilinear": lambda x: F.interpolate(x, 10**6, mode="bilinear", antialias=True),
    "bytes": lambda x: F.interpolate(x.byte(), 10**6, mode="bilinear"), "area": lambda x: F.interpolate(x, 10**6, mode="area"),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 10**6),
}  # fmt: skip


@pytest.mark.parametrize("name", BILLIONS)
def test_resizing_takes_time_independent_of_the_size(name):
    image = torch.empty(1, 1, 7, 7, device="meta")
    before = time.process_time()
    assert BILLIONS[name](image).shape == (1, 1, 10**6, 10**6)
    padded = F.pad(torch.empty(1, 1, 10**9, device="meta"), (10**8, 10**8), "reflect")
    assert padded.shape == (1, 1, 12 * 10**8)
    assert time.process_time() - before < 1

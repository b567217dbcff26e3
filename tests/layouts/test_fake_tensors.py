"""Fake tensors: shapes, dtypes and devices without memory; the devices need not exist."""

from __future__ import annotations

import copy
import io

import pytest

import flambeau as torch
from flambeau.compat._guards import detect_fake_mode
from flambeau.compat._subclasses import FakeTensor, FakeTensorMode
from flambeau.compat._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorConverter,
    is_fake,
    unset_fake_temporarily,
)


def described(x):
    return type(x), str(x.device), tuple(x.shape), x.stride(), x.dtype


@pytest.fixture
def mode():
    return FakeTensorMode()


def test_the_fake_of_a_tensor(mode):
    x = torch.rand(3, 4, dtype=torch.float64).t().requires_grad_()
    fake = mode.from_tensor(x)
    assert described(fake) == (FakeTensor, "cpu", (4, 3), (1, 4), torch.float64)
    assert fake.requires_grad and fake.is_cpu and not fake.is_meta and fake.fake_mode is mode
    assert mode.from_tensor(x) is fake and mode.from_tensor(fake) is fake
    parameter = mode.from_tensor(torch.nn.Parameter(torch.ones(2)))
    assert (
        isinstance(parameter, torch.nn.Parameter)
        and repr(parameter) == "Parameter(FakeTensor(..., size=(2,), requires_grad=True))"
    )
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        FakeTensorMode().from_tensor(fake)
    with pytest.raises(AssertionError, match=r"elem.device.type must be 'meta', got cpu"):
        FakeTensor(mode, torch.ones(2), "cuda")


def test_tensors_that_are_made_in_the_mode_are_fake(mode):
    with mode:
        made = [
            torch.ones(2), torch.rand(2, device="cuda"), torch.tensor([1, 2]), torch.arange(2.0), torch.empty(2, device="cuda:3"),
            torch.randn(2, device="mps"),
        ]  # fmt: skip
        with torch.device("cuda"):
            made.append(torch.zeros(2))
    devices = ["cpu", "cuda:0", "cpu", "cpu", "cuda:3", "mps:0", "cuda:0"]
    assert [described(x)[:3] for x in made] == [(FakeTensor, device, (2,)) for device in devices]
    assert described(torch.ones(1))[0] is torch.Tensor
    assert repr(made[1]) == "FakeTensor(..., device='cuda:0', size=(2,))"


def test_results_are_on_the_device_of_the_arguments(mode):
    with mode:
        x, y = torch.ones(4, 3, device="cuda:1"), torch.ones(3, 4, device="cuda:1")
        number = torch.tensor(2.0)
    results = [
        x @ y, x + number, number * x, x.t(), x[0], *x.split(2), *x.max(0), torch.cat([x, x]), x.sum(), x.new_ones(2), torch.ones_like(x),
        x.to(torch.half), torch.nn.functional.softmax(x, -1), x.clone().add_(1), x.detach(),
    ]  # fmt: skip
    assert {described(result)[:2] for result in results} == {(FakeTensor, "cuda:1")}
    assert x.to("cpu").device == x.cpu().device == torch.device("cpu") and y.device == torch.device("cuda:1")
    assert number.cuda().device == torch.device("cuda:0") and number.to(x).device == x.device
    assert number.to("cuda:2", torch.half).dtype is torch.half and torch.zeros_like(x, device="cpu").is_cpu
    with pytest.raises(RuntimeError, match="found two different devices cuda:1, cpu"):
        x + x.cpu()
    x.copy_(x.cpu())


def test_real_tensors_are_not_mixed_in_unless_that_is_allowed(mode):
    x = torch.rand(2, 3)
    fake = mode.from_tensor(x)
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + x
    with pytest.raises(AssertionError, match="Please convert all Tensors"), mode:
        x + 1
    allowing = FakeTensorMode(allow_non_fake_inputs=True)
    assert is_fake(allowing.from_tensor(x) + x)
    with allowing:
        assert is_fake(x.exp()) and is_fake(torch.nn.functional.linear(x, x))


@pytest.mark.parametrize(
    "look", [lambda x: x.sum().item(), lambda x: bool(x.any()), lambda x: x.tolist(), lambda x: float(x.sum())]
)
def test_values_cannot_be_looked_at(mode, look):
    with pytest.raises(DataDependentOutputException, match=r"aten._local_scalar_dense.default"):
        look(mode.from_tensor(torch.rand(2, 3)))


@pytest.mark.parametrize(
    ("call", "operator"),
    [(lambda x: x.nonzero(), "nonzero"), (lambda x: x[x > 0], "nonzero"), (lambda x: x.unique(), "_unique2"),
     (lambda x: x.masked_select(x > 0), "masked_select")],
)  # fmt: skip
def test_nor_shapes_that_depend_on_them(mode, call, operator):
    with pytest.raises(DynamicOutputShapeException, match=rf"aten.{operator}.default"):
        call(mode.from_tensor(torch.rand(2, 3)))


def test_numbers_of_the_program_are_known(mode):
    with mode:
        step = torch.tensor(0.0)
        step += 1
        assert step.item() == 1.0 and (step * 3).item() == 3.0
        step += torch.ones(())
        with pytest.raises(DataDependentOutputException):
            step.item()


def test_a_training_step(mode):
    with mode:
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten())
        model = model.append(torch.nn.Linear(4 * 36, 10)).to("cuda:0")
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            output = model(torch.rand(2, 3, 8, 8, device="cuda:0"))
            torch.nn.functional.cross_entropy(output, torch.randint(10, (2,), device="cuda:0")).backward()
            optimizer.step()
    assert described(output)[:3] == (FakeTensor, "cuda:0", (2, 10))
    for parameter in model.parameters():
        assert isinstance(parameter, torch.nn.Parameter) and parameter.device == torch.device("cuda:0")
        assert described(parameter.grad) == described(parameter.detach())


def test_a_transformer_with_its_initialization(mode):
    with mode:
        layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
        torch.nn.init.trunc_normal_(layer.linear1.weight, std=0.02)
        output = layer.to("cuda:1")(torch.rand(2, 5, 8, device="cuda:1"))
    assert described(output)[:3] == (FakeTensor, "cuda:1", (2, 5, 8))


def test_no_memory_is_taken(mode):
    with mode:
        x = torch.nn.Linear(1 << 20, 1 << 20)(torch.ones(1 << 20, 1 << 20))
    assert x.untyped_storage().nbytes() == 1 << 42


def test_copies_and_modes(mode):
    x = mode.from_tensor(torch.ones(2, 3))
    duplicate = copy.deepcopy(x)
    assert described(duplicate) == described(x) and duplicate.fake_mode is mode and duplicate is not x
    assert detect_fake_mode([x, 1]) is mode and detect_fake_mode([torch.ones(1)]) is None
    with mode:
        assert detect_fake_mode() is mode
        with unset_fake_temporarily():
            assert torch.ones(2).tolist() == [1.0, 1.0]
        assert is_fake(torch.ones(2))
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.numpy()


def test_a_converter_returns_the_same_fake_tensor_at_each_call(mode):
    x, converter = torch.ones(2, 3, dtype=torch.float64), FakeTensorConverter()
    fake = converter.from_real_tensor(mode, x)
    assert described(fake) == (FakeTensor, "cpu", (2, 3), (3, 1), torch.float64) and fake.fake_mode is mode
    assert converter.from_real_tensor(mode, x) is fake is not mode.from_tensor(x)


def test_saving_reserves_space_for_the_data(mode):
    with mode:
        state = {"weight": torch.nn.Parameter(torch.ones(2, 3).t()), "steps": torch.ones(4).to(torch.bfloat16)}
    file = io.BytesIO()
    with torch.serialization.skip_data(materialize_fake_tensors=True):
        torch.save(state, file)
    file.seek(0)
    loaded = torch.load(file)
    assert described(loaded["weight"]) == (torch.Tensor, "cpu", (3, 2), (1, 3), torch.float32) and loaded["weight"].requires_grad
    assert loaded["steps"].tolist() == [0] * 4 and loaded["steps"].dtype is torch.bfloat16

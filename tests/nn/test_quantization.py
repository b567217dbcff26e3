"""`torch.ao.quantization`: fake quantization and observers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from flambeau.ao import quantization
from flambeau.ao.quantization import (
    FakeQuantize,
    FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    QConfig,
)

import flambeau as torch
from flambeau import nn


def rounded(x: Any, scale: Any, zero_point: Any, least: int, greatest: int) -> Any:
    return (np.clip(np.rint(x / scale) + zero_point, least, greatest) - zero_point) * scale


# --- functions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0, 3), (4, 5), (2, 3, 4)])
def test_numbers_are_rounded_within_the_range(shape: tuple[int, ...]) -> None:
    x = 4 * torch.randn(shape, generator=torch.Generator().manual_seed(1))
    found = torch.fake_quantize_per_tensor_affine(x, 0.125, 3, -8, 7)
    assert np.array_equal(found.numpy(), rounded(x.numpy(), 0.125, 3, -8, 7))
    of_tensors = torch.fake_quantize_per_tensor_affine(x, torch.tensor([0.125]), torch.tensor([3], dtype=torch.int32), -8, 7)
    assert torch.equal(found, of_tensors)


def test_each_channel_has_its_scale_whatever_the_layout() -> None:
    x = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(2)).transpose(0, 2)
    scale, zero_point = torch.tensor([0.5, 0.25, 0.125, 1.0]), torch.tensor([0, 1, -2, 3], dtype=torch.int32)
    found = torch.fake_quantize_per_channel_affine(x, scale, zero_point, 1, -4, 3)
    across = (1, 4, 1)
    expected = rounded(x.numpy(), scale.numpy().reshape(across), zero_point.numpy().reshape(across), -4, 3)
    assert np.array_equal(found.numpy(), expected)


def test_the_gradient_passes_within_the_range_only() -> None:
    x = torch.tensor([-1.0, 0.05, 1.0, 2.0, float("nan"), float("inf")], requires_grad=True)
    found = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)
    assert torch.allclose(found, torch.tensor([-0.3, 0.0, 1.0, 1.2, -0.3, 1.2]))
    (found * torch.arange(1.0, 7.0)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 2, 3, 0, 0, 0]


def test_halves_are_rounded_in_single_precision() -> None:
    x = torch.tensor([[0.0, 1 / 3, 2 / 3], [1.0, 4 / 3, 5 / 3]])
    scale, zero_point = torch.tensor([0.1, 0.2]), torch.tensor([0, 5], dtype=torch.int32)
    found = torch.fake_quantize_per_channel_affine(x.half(), scale, zero_point, 0, 0, 15)
    assert found.dtype is torch.float16
    assert torch.equal(found, torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, 0, 15).half())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 2), RuntimeError),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 20, 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor([0.1]), 0, 0, 15), TypeError),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, torch.ones(2), torch.zeros(2), 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, 0, 15), NotImplementedError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2).long(), 0, 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2).double(), torch.zeros(2), 0, 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2), 1, 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2), -2, 0, 15), RuntimeError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2), 5, 0, 15), IndexError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2), -3, 0, 15), IndexError),
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.ones(2).int() + 20, 0, 0, 15), RuntimeError),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(torch.ones(2, 3))


# --- observers ----------------------------------------------------------------------------------------------------


def test_a_scale_covers_what_was_seen_and_represents_zero() -> None:
    observer = MinMaxObserver()
    for x in (torch.tensor([0.5, 1.0]), torch.tensor([-1.0, 1.55]), torch.zeros(0)):
        assert observer(x) is x
    scale, zero_point = observer.calculate_qparams()
    assert scale.item() == pytest.approx(2.55 / 255) and zero_point.tolist() == [100] and zero_point.dtype is torch.int32
    observer.reset_min_max_vals()
    with pytest.warns(UserWarning, match="must run observer"):
        assert [found.tolist() for found in observer.calculate_qparams()] == [[1.0], [0]]


def test_symmetric_schemes_have_their_zero_in_the_middle() -> None:
    signed = MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    signed(torch.tensor([-2.0, 1.0]))
    assert [found.tolist() for found in signed.calculate_qparams()] == [[pytest.approx(2 / 127.5)], [0]]
    unsigned = MinMaxObserver(qscheme=torch.per_tensor_symmetric)
    unsigned(torch.tensor([-2.0, 1.0]))
    assert unsigned.calculate_qparams()[1].tolist() == [128]


def test_averages_move() -> None:
    observer = MovingAverageMinMaxObserver(averaging_constant=0.25)
    for x in (torch.tensor([-1.0, 1.0]), torch.tensor([-5.0, 3.0])):
        observer(x)
    assert (observer.min_val.item(), observer.max_val.item()) == (-2.0, 1.5)


@pytest.mark.parametrize("kind", [PerChannelMinMaxObserver, MovingAveragePerChannelMinMaxObserver])
def test_channels_are_observed_apart_and_restored(kind: Any) -> None:
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(3))
    observer = kind(ch_axis=1, dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    observer(x)
    scale, zero_point = observer.calculate_qparams()
    assert np.allclose(scale.numpy(), np.abs(x.numpy()).max((0, 2)) / 127.5) and zero_point.tolist() == [0, 0, 0]
    restored = kind(ch_axis=1)
    restored.load_state_dict(observer.state_dict())
    assert torch.equal(restored.min_val, observer.min_val) and restored.max_val.shape == (3,)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: MinMaxObserver(qscheme=torch.per_channel_affine), NotImplementedError),
        (lambda: PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine), NotImplementedError),
        (lambda: PerChannelMinMaxObserver(is_dynamic=True), NotImplementedError),
        (lambda: MovingAverageMinMaxObserver(is_dynamic=True), NotImplementedError),
        (lambda: MinMaxObserver(dtype=torch.float32), AssertionError),
        (lambda: MinMaxObserver(quant_min=1, quant_max=9), AssertionError),
        (lambda: MinMaxObserver(dtype=torch.qint8, quant_min=-300, quant_max=9), AssertionError),
        (lambda: FakeQuantize(quant_min=5, quant_max=2), AssertionError),
        (lambda: FakeQuantize(quant_min=0, quant_max=256), AssertionError),
        (lambda: FixedQParamsFakeQuantize(MinMaxObserver), AssertionError),
        (lambda: FusedMovingAvgObsFakeQuantize(MinMaxObserver), AssertionError),
        (lambda: QConfig(MinMaxObserver(), MinMaxObserver), ValueError),
        (lambda: quantization.ObserverBase(torch.qint8), TypeError),
    ],
)
def test_what_cannot_be_configured(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_schemes_are_few_and_printed_as_in_programs() -> None:
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine" and isinstance(torch.per_tensor_affine, torch.qscheme)
    assert pickle.loads(pickle.dumps(torch.per_channel_symmetric)) is torch.per_channel_symmetric


# --- modules ------------------------------------------------------------------------------------------------------


def test_a_network_trains_with_rounded_weights() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 1)
    rounding = FakeQuantize(MinMaxObserver, -128, 127, dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    optimizer = torch.optim.SGD([*layer.parameters()], 0.1)
    x = torch.randn(64, 4)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0]])
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(nn.functional.linear(x, rounding(layer.weight), layer.bias), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 100
    steps = rounding(layer.weight) / rounding.scale
    assert torch.allclose(steps, steps.round(), atol=1e-3) and len(steps.unique()) > 1


def test_rounding_and_observing_are_switched_and_restored() -> None:
    rounding = nn.Sequential(FakeQuantize(quant_min=0, quant_max=15))
    x = torch.tensor([0.0, 0.52, 1.5])
    assert torch.allclose(rounding(x), torch.tensor([0.0, 0.5, 1.5]))
    rounding.apply(quantization.disable_observer)
    assert torch.allclose(rounding(2 * x), torch.tensor([0.0, 1.0, 1.5]))
    other = nn.Sequential(FakeQuantize(quant_min=0, quant_max=15))
    other.load_state_dict(rounding.state_dict())
    assert torch.equal(other(2 * x), rounding(2 * x))
    rounding.apply(quantization.disable_fake_quant)
    assert torch.equal(rounding(x), x)
    rounding.apply(quantization.enable_fake_quant)
    rounding.apply(quantization.enable_observer)
    rounding(100 * x)
    assert rounding[0].scale.item() > other[0].scale.item()


def test_fused_rounding_covers_its_range() -> None:
    for make in (quantization.default_fused_wt_fake_quant, quantization.default_fused_per_channel_wt_fake_quant):
        rounding = make()
        x = torch.randn(5, 8, generator=torch.Generator().manual_seed(4))
        error = (rounding(x) - x).abs()
        assert (error <= rounding.scale.reshape(-1, 1) * 0.5001).all()
        assert rounding.zero_point.tolist() == [0] * len(rounding.scale)
    for x in (torch.zeros(3), torch.full((3,), 1e-9)):
        assert torch.equal(quantization.default_fused_act_fake_quant()(x), torch.zeros(3))


def test_configurations_make_a_new_module_each_time() -> None:
    config = QConfig(MinMaxObserver.with_args(quant_min=0, quant_max=127), MinMaxObserver)
    first, second = config.activation(), config.activation(quant_max=15)
    assert (first.quant_max, second.quant_max) == (127, 15) and first is not second
    assert MinMaxObserver.with_callable_args(quant_min=lambda: -1, quant_max=lambda: 3)().quant_max == 3


def test_stubs_pass_what_comes() -> None:
    layer, x = nn.Linear(2, 3), torch.randn(4, 2)
    assert torch.equal(quantization.QuantWrapper(layer)(x), layer(x))


def test_measures_of_the_difference_between_results():
    from flambeau.ao.ns.fx.utils import compute_cosine_similarity, compute_normalized_l2_error, compute_sqnr

    x, y = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 3.0])
    assert compute_sqnr(x, y).item() == pytest.approx(13.9794, rel=1e-5)
    assert compute_normalized_l2_error([x], [y])[0].item() == pytest.approx(0.2)
    assert compute_cosine_similarity(x, y).item() == pytest.approx(0.9899495)


def test_qconfigs_can_be_removed():
    from flambeau.ao.quantization.quantize import _remove_qconfig

    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model.qconfig = model[0].qconfig = torch.ao.quantization.default_dynamic_qconfig
    _remove_qconfig(model)
    assert not hasattr(model, "qconfig") and not hasattr(model[0], "qconfig")

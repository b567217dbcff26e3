"""Dynamic quantization of linear layers: the formula in integers, the error against float32, and which layers are replaced."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn


def test_a_quantized_layer_multiplies_integers():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.275, -0.5]]))
        layer.bias.fill_(3)
    quantized = torch.ao.quantization.quantize_dynamic(layer)
    assert quantized.quantized_weight.tolist() == [[127, -50]] and abs(float(quantized.weight_scale) - 0.01) < 1e-9
    # The range from -27 to 100 has the scale 1 and the zero 27.
    output = quantized(torch.tensor([[-27.0, 100.0], [10.4, 1.0]]))
    np.testing.assert_allclose(output.numpy(), [[3 - 34.29 - 50.0], [3 + 12.7 - 0.5]], rtol=1e-6)


def test_errors_against_float32():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 10))
    x = torch.randn(40, 256)
    with torch.no_grad():
        exact, rough = model(x), torch.ao.quantization.quantize_dynamic(model)(x)
    assert (rough - exact).norm() < 0.03 * exact.norm()


def test_a_loaded_weight_is_used():
    x, (one, other) = torch.randn(3, 8), (torch.ao.quantization.quantize_dynamic(nn.Linear(8, 4)) for _ in range(2))
    assert set(one.state_dict()) == {"quantized_weight", "weight_scale", "bias"}
    one.load_state_dict(other.state_dict())
    assert torch.equal(one(x), other(x))


def test_recurrent_layers_stay_in_float32():
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.LSTM(2, 3)), {nn.LSTM, nn.Linear})
    assert type(model[0]) is nn.LSTM and model[0].weight_hh_l0.dtype is torch.float32


def test_layers_are_chosen_by_type_and_name():
    def kinds(model, *args):
        return [type(module) for module in torch.ao.quantization.quantize_dynamic(model, *args).children()]

    model, quantized = nn.Sequential(nn.Linear(3, 3), nn.Conv1d(3, 3, 1), nn.Linear(3, 3)), torch.ao.nn.quantized.dynamic.Linear
    assert kinds(model) == [quantized, nn.Conv1d, quantized]
    assert kinds(model, {nn.Linear}) == [quantized, nn.Conv1d, quantized]
    assert kinds(model, {"2"}) == [nn.Linear, nn.Conv1d, quantized]
    assert kinds(model, {nn.Linear: torch.ao.quantization.default_dynamic_qconfig, "0": None})[0] is nn.Linear
    assert kinds(model, {nn.Conv1d}) == [nn.Linear, nn.Conv1d, nn.Linear]
    assert type(model[0]) is nn.Linear  # a copy was changed
    assert type(torch.ao.quantization.quantize_dynamic(model, inplace=True)[0]) is type(model[0]) is quantized


def test_what_is_not_supported():
    with pytest.raises(NotImplementedError, match="float16"):
        torch.ao.quantization.quantize_dynamic(nn.Linear(2, 2), dtype=torch.float16)
    per_channel = torch.ao.quantization.default_per_channel_qconfig
    with pytest.raises(NotImplementedError, match="one symmetric scale"):
        torch.ao.quantization.quantize_dynamic(nn.Linear(2, 2), {nn.Linear: per_channel})
    quantized = torch.ao.quantization.quantize_dynamic(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="larger than or equal to 2"):
        quantized(torch.ones(2))
    with pytest.raises(RuntimeError, match="expected scalar type Float"):
        quantized(torch.ones(2, 2).half())

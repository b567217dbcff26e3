"""Dynamic quantization of linear layers: the formula in integers, the error against float32, and which layers are replaced."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn


def quantize(layer, *args, **kwargs):
    """Return a quantized layer; `quantize_dynamic` replaces layers inside of a model only."""
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(layer), *args, **kwargs)[0]


def test_a_layer_that_is_the_model_itself_stays():
    layer = nn.Linear(2, 1)
    assert type(torch.ao.quantization.quantize_dynamic(layer)) is nn.Linear
    assert (
        torch.ao.quantization.quantize_dynamic(layer, {"": torch.ao.quantization.default_dynamic_qconfig}, inplace=True) is layer
    )


def test_a_quantized_layer_multiplies_integers():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.275, -0.5]]))
        layer.bias.fill_(3)
    quantized = quantize(layer)
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
    x, (one, other) = torch.randn(3, 8), (quantize(nn.Linear(8, 4)) for _ in range(2))
    assert set(one.state_dict()) == {"quantized_weight", "weight_scale", "bias"}
    one.load_state_dict(other.state_dict())
    assert torch.equal(one(x), other(x))


LAYERS = {
    "LSTM": lambda: nn.LSTM(6, 5, num_layers=2, bidirectional=True, dropout=0.5),
    "GRU": lambda: nn.GRU(6, 5, num_layers=2, bidirectional=True, batch_first=True),
    "GRU without bias": lambda: nn.GRU(6, 5, bias=False),
}
CELLS = {
    "LSTMCell": lambda: nn.LSTMCell(6, 5),
    "GRUCell": lambda: nn.GRUCell(6, 5, bias=False),
    "RNNCell": lambda: nn.RNNCell(6, 5),
    "RNNCell with relu": lambda: nn.RNNCell(6, 5, nonlinearity="relu"),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("input", ["padded", "packed", "without batch", "with state"])
def test_recurrent_layers(name, input):
    """Results are those of float32 within the error of 7-bit inputs, for all forms of input."""
    torch.manual_seed(0)
    layer = LAYERS[name]().eval()
    quantized = quantize(layer, {type(layer)})
    assert type(quantized) is getattr(torch.ao.nn.quantized.dynamic, type(layer).__name__)
    assert repr(quantized).removeprefix("DynamicQuantized") == repr(layer)
    x, args = torch.randn(*((3, 7, 6) if layer.batch_first else (7, 3, 6))), ()
    if input == "packed":
        x = nn.utils.rnn.pack_padded_sequence(x, [2, 7, 4], batch_first=layer.batch_first, enforce_sorted=False)
    elif input == "without batch":
        x = x[0] if layer.batch_first else x[:, 0]
    elif input == "with state":
        h = torch.randn(layer.num_layers * (1 + layer.bidirectional), 3, 5)
        args = ((h, -h),) if type(layer) is nn.LSTM else (h,)
    with torch.no_grad():
        exact, rough = layer(x, *args), quantized(x, *args)
    for one, other in zip(flat(exact), flat(rough), strict=True):
        assert one.shape == other.shape and 0 < (one - other).abs().max() < 0.03


def flat(results):
    """Return the tensors of an output and a state."""
    output, state = results
    output = output.data if isinstance(output, nn.utils.rnn.PackedSequence) else output
    return [output, *state] if isinstance(state, tuple) else [output, state]


@pytest.mark.parametrize("name", CELLS)
def test_recurrent_cells(name):
    torch.manual_seed(0)
    cell = CELLS[name]()
    quantized = quantize(cell)
    assert type(quantized) is getattr(torch.ao.nn.quantized.dynamic, type(cell).__name__)
    for x in (torch.randn(3, 6), torch.randn(6)):
        with torch.no_grad():
            exact, rough = cell(x), quantized(x)
        for one, other in zip(*(part if isinstance(part, tuple) else (part,) for part in (exact, rough)), strict=True):
            assert one.shape == other.shape and 0 < (one - other).abs().max() < 0.03


def test_recurrent_layers_have_integer_weights():
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.LSTM(2, 3), nn.RNN(2, 3)))
    weights = [value for name, value in model[0].state_dict().items() if name.endswith("weight")]
    assert len(weights) == 2 and all(weight.dtype is torch.int8 for weight in weights)
    assert type(model[1]) is nn.RNN and not list(model[0].parameters())
    other = torch.ao.nn.quantized.dynamic.LSTM(2, 3)
    other.load_state_dict(model[0].state_dict())
    x = torch.randn(4, 1, 2)
    assert torch.equal(other(x)[0], model[0](x)[0])


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
        quantize(nn.Linear(2, 2), dtype=torch.float16)
    per_channel = torch.ao.quantization.default_per_channel_qconfig
    with pytest.raises(NotImplementedError, match="one symmetric scale"):
        quantize(nn.Linear(2, 2), {nn.Linear: per_channel})
    quantized = quantize(nn.Linear(2, 2))
    with pytest.raises(NotImplementedError, match="proj_size"):
        quantize(nn.LSTM(2, 3, proj_size=1))
    with pytest.raises(RuntimeError, match="larger than or equal to 2"):
        quantized(torch.ones(2))
    with pytest.raises(RuntimeError, match="expected scalar type Float"):
        quantized(torch.ones(2, 2).half())

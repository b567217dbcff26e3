"""Recurrent layers, compared with NumPy recurrences; packed sequences."""

import itertools

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils import rnn as rnn_utils

rng = np.random.default_rng(0)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
LAYERS = ["RNN", "LSTM", "GRU"]


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights_of(layer, index, direction):
    suffix = f"_l{index}" + ("_reverse" if direction else "")

    def get(name):
        value = getattr(layer, name + suffix, None)
        return None if value is None else value.detach().numpy()

    return [get(name) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")]


def reference_step(layer, weights, x, h, c):
    """Compute one time step of one layer for a single sequence, as the reference."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    from_input = w_ih @ x + (0 if b_ih is None else b_ih)
    from_state = w_hh @ h + (0 if b_hh is None else b_hh)
    kind = type(layer).__name__
    if kind == "RNN":
        total = from_input + from_state
        return (np.tanh(total) if layer.nonlinearity == "tanh" else np.maximum(total, 0)), c
    if kind == "LSTM":
        i, f, g, o = np.split(from_input + from_state, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return (h if w_hr is None else w_hr @ h), c
    (r_x, z_x, n_x), (r_h, z_h, n_h) = np.split(from_input, 3), np.split(from_state, 3)
    z = sigmoid(z_x + z_h)
    n = np.tanh(n_x + sigmoid(r_x + r_h) * n_h)
    return (1 - z) * n + z * h, c


def reference(layer, x, h0, c0):
    """Compute all layers for a sequence `(L, features)`. Return the output, and the final h and c per layer and direction."""
    finals_h, finals_c = [], []
    for index in range(layer.num_layers):
        outputs = []
        for direction in range(2 if layer.bidirectional else 1):
            weights = weights_of(layer, index, direction)
            h, c = h0[len(finals_h)], c0[len(finals_h)]
            steps = []
            for value in x[::-1] if direction else x:
                h, c = reference_step(layer, weights, value, h, c)
                steps.append(h)
            outputs.append(np.stack(steps[::-1] if direction else steps))
            finals_h.append(h)
            finals_c.append(c)
        x = np.concatenate(outputs, -1)
    return x, np.stack(finals_h), np.stack(finals_c)


def initial_state(layer, batch):
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    return floats(rows, batch, layer.proj_size or layer.hidden_size), floats(rows, batch, layer.hidden_size)


def as_state(layer, h, c):
    h, c = torch.tensor(h), torch.tensor(c)
    return (h, c) if isinstance(layer, nn.LSTM) else h


def from_state(layer, state):
    return [part.detach().numpy() for part in (state if isinstance(layer, nn.LSTM) else (state,))]


SETTINGS = [
    {},
    {"bias": False},
    {"num_layers": 3},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True},
]
CASES = [
    *itertools.product(LAYERS, SETTINGS),
    ("RNN", {"nonlinearity": "relu"}),
    ("LSTM", {"proj_size": 2}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}),
]


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("batch_first", [False, True])
def test_recurrence(name, settings, batch_first):
    layer = getattr(nn, name)(3, 4, batch_first=batch_first, **settings)
    x, (h, c) = floats(5, 2, 3), initial_state(layer, 2)
    input = torch.tensor(x.swapaxes(0, 1) if batch_first else x)
    output, state = layer(input, as_state(layer, h, c))
    output = output.detach().numpy()
    if batch_first:
        output = output.swapaxes(0, 1)
    for sequence in range(2):
        expected, *finals = reference(layer, x[:, sequence], h[:, sequence], c[:, sequence])
        np.testing.assert_allclose(output[:, sequence], expected, **CLOSE)
        for part, final in zip(from_state(layer, state), finals, strict=False):
            np.testing.assert_allclose(part[:, sequence], final, **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
def test_unbatched_input_and_default_state(name):
    layer, x = getattr(nn, name)(3, 4, num_layers=2, bidirectional=True), floats(5, 3)
    output, state = layer(torch.tensor(x))
    zeros = np.zeros((4, 4), np.float32)
    expected, *finals = reference(layer, x, zeros, zeros)
    np.testing.assert_allclose(output.detach().numpy(), expected, **CLOSE)
    for part, final in zip(from_state(layer, state), finals, strict=False):
        np.testing.assert_allclose(part, final, **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("lengths", "enforce_sorted"), [([4, 4, 2, 1], True), ([2, 5, 1, 3], False)])
def test_packed_sequences_run_as_if_alone(name, lengths, enforce_sorted):
    layer = getattr(nn, name)(3, 4, num_layers=2, bidirectional=True)
    sequences = [floats(length, 3) for length in lengths]
    h, c = initial_state(layer, len(lengths))
    packed = rnn_utils.pack_sequence([torch.tensor(sequence) for sequence in sequences], enforce_sorted)
    output, state = layer(packed, as_state(layer, h, c))
    outputs = rnn_utils.unpack_sequence(output)
    for index, sequence in enumerate(sequences):
        expected, *finals = reference(layer, sequence, h[:, index], c[:, index])
        np.testing.assert_allclose(outputs[index].detach().numpy(), expected, **CLOSE)
        for part, final in zip(from_state(layer, state), finals, strict=False):
            np.testing.assert_allclose(part[:, index], final, **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
def test_cells_make_the_steps_of_layers(name):
    cell, layer = getattr(nn, f"{name}Cell")(3, 4), getattr(nn, name)(3, 4)
    for param in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(layer, f"{param}_l0").data = getattr(cell, param).data
    x = torch.tensor(floats(5, 2, 3))
    state = None
    for step in x:
        state = cell(step, state)
    output, _ = layer(x)
    hidden = state[0] if name == "LSTM" else state
    np.testing.assert_allclose(hidden.detach().numpy(), output[-1].detach().numpy(), **CLOSE)
    alone = cell(x[0, 0])
    alone = alone[0] if name == "LSTM" else alone
    np.testing.assert_allclose(alone.detach().numpy(), output[0, 0].detach().numpy(), **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients(name):
    layer = getattr(nn, name)(2, 3, bidirectional=True).double()
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    weights = list(layer.parameters())

    def run(x, *_):
        output, state = layer(x)
        return output, *(state if isinstance(state, tuple) else (state,))

    assert torch.autograd.gradcheck(run, (x, *weights))
    assert torch.autograd.gradgradcheck(run, (x, *weights), fast_mode=True)


def test_gradients_of_packed_input():
    layer = nn.LSTM(2, 3).double()
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: layer(rnn_utils.pack_padded_sequence(x, [3, 1]))[0].data, (x,))


def test_dropout_acts_between_layers_while_training():
    layer, x = nn.GRU(3, 50, num_layers=2, dropout=0.5), torch.tensor(floats(4, 2, 3))
    assert not torch.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert torch.equal(layer(x)[0], layer(x)[0])
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last recurrent layer"):
        nn.GRU(3, 4, dropout=0.5)


def test_names_and_shapes_of_parameters():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    shapes = {name: tuple(param.shape) for name, param in layer.named_parameters()}
    assert list(shapes)[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"]
    assert shapes["weight_ih_l1_reverse"] == (16, 4) and shapes["weight_hr_l1"] == (2, 4)
    assert len(layer.all_weights) == 4 and layer.all_weights[1][0] is layer.weight_ih_l0_reverse
    assert repr(layer) == "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)"
    assert repr(nn.RNNCell(3, 4, bias=False, nonlinearity="relu")) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"
    layer.flatten_parameters()
    bound = max(float(param.detach().abs().max()) for param in layer.parameters())
    assert 0.4 < bound <= 0.5


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: nn.LSTM(3, 4)(torch.ones(2)), ValueError, "LSTM: Expected input to be 2D or 3D, got 1D instead"),
        (lambda: nn.GRU(3, 4)(torch.ones(2, 2, 5)), RuntimeError, "Expected 3, got 5"),
        (lambda: nn.GRU(3, 4)(torch.ones(2, 2, 3), torch.ones(1, 2, 5)), RuntimeError, "Expected hidden size (1, 2, 4)"),
        (lambda: nn.GRU(3, 4)(torch.ones(2, 3), torch.ones(1, 1, 4)), RuntimeError, "hx should also be 2-D but got 3-D"),
        (
            lambda: nn.LSTM(3, 4)(torch.ones(2, 2, 3), (torch.ones(1, 4), torch.ones(1, 4))),
            RuntimeError,
            "hx and cx should also be 3-D but got (2-D, 2-D) tensors",
        ),
        (lambda: nn.RNN(3, 4)(torch.ones(2, 3, dtype=torch.float64)), ValueError, "does not match weight dtype"),
        (lambda: nn.LSTM(3, 4)(torch.ones(2, 2, 3), (torch.ones(1, 2, 4),) * 3), RuntimeError, "lstm expects two hidden states"),
        (lambda: nn.LSTM(3, 4)(torch.ones(0, 2, 3)), RuntimeError, "Expected sequence length to be larger than 0"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), ValueError, "Unknown nonlinearity 'sin'"),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "proj_size argument is only supported for LSTM"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
        (lambda: nn.RNN(3.0, 4), TypeError, "input_size should be of type int, got: float"),
        (lambda: nn.RNN(3, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.RNN(3, 4, dropout=2), ValueError, "dropout should be a number in range [0, 1]"),
        (lambda: nn.RNNBase("QRNN", 3, 4), ValueError, "Unrecognized RNN mode: QRNN"),
        (lambda: nn.LSTMCell(3, 4)(torch.ones(1, 2, 3)), ValueError, "LSTMCell: Expected input to be 1D or 2D, got 3D"),
        (lambda: nn.GRUCell(3, 4)(torch.ones(2, 5)), RuntimeError, "got 5 expected 3"),
    ],
)
def test_errors(action, error, message):
    with pytest.raises(error) as caught:
        action()
    assert message in str(caught.value)


# Packing and padding


def test_pad_and_unpad():
    sequences = [torch.tensor(floats(length, 2)) for length in (2, 4, 1)]
    padded = rnn_utils.pad_sequence(sequences, padding_value=9.0)
    assert padded.shape == (4, 3, 2) and float(padded[3, 0, 0]) == 9.0
    assert torch.equal(rnn_utils.pad_sequence(sequences, batch_first=True, padding_value=9.0), padded.transpose(0, 1))
    left = rnn_utils.pad_sequence(sequences, padding_side="left")
    assert torch.equal(left[3, 2], sequences[2][0]) and float(left[0, 2].abs().sum()) == 0
    for original, restored in zip(sequences, rnn_utils.unpad_sequence(padded, torch.tensor([2, 4, 1])), strict=True):
        assert torch.equal(original, restored)


def test_packing_order():
    packed = rnn_utils.pack_sequence([torch.tensor([1, 2]), torch.tensor([3, 4, 5])], enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 4, 2, 5] and packed.batch_sizes.tolist() == [2, 2, 1]
    assert packed.sorted_indices.tolist() == packed.unsorted_indices.tolist() == [1, 0]
    padded, lengths = rnn_utils.pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=4)
    assert padded.tolist() == [[1, 2, -1, -1], [3, 4, 5, -1]] and lengths.tolist() == [2, 3]
    with pytest.raises(ValueError, match="Expected total_length to be at least"):
        rnn_utils.pad_packed_sequence(packed, total_length=2)


def test_packed_sequence_conversion():
    packed = rnn_utils.pack_sequence([torch.ones(2, 1), torch.ones(1, 1)])
    assert packed.double().data.dtype == torch.float64 and packed.to("cpu") is packed
    assert packed.long().data.dtype == torch.int64 and not packed.is_cuda
    assert rnn_utils.PackedSequence((packed.data, packed.batch_sizes)).batch_sizes is packed.batch_sizes


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 3], "`lengths` array must be sorted in decreasing order"),
        ([3, 0], "Length of all samples has to be greater than 0"),
        ([3], "to be equal to batch_size, but got 1"),
        ([4, 1], "at most the padded length 3, but got 4"),
    ],
)
def test_packing_errors(lengths, message):
    with pytest.raises(RuntimeError) as caught:
        rnn_utils.pack_padded_sequence(torch.ones(3, 2), lengths)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("layer", "kinds"),
    [
        (nn.LSTM(1, 2), ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]),
        (nn.LSTM(1, 2, proj_size=1, bias=False), ["weight_ih_l0", "weight_hh_l0", "weight_hr_l0"]),
        (nn.GRU(1, 2, 2, bias=False, bidirectional=True),
         [f"weight_{part}_l{index}{suffix}" for index in range(2) for suffix in ("", "_reverse") for part in ("ih", "hh")]),
    ],
)  # fmt: skip
def test_flat_weights(layer, kinds):
    assert layer._flat_weights_names == kinds
    assert [each is getattr(layer, name) for each, name in zip(layer._flat_weights, kinds, strict=True)] == [True] * len(kinds)
    assert layer.double()._flat_weights[0].dtype == torch.float64


def test_weights_dropped_out_before_each_call():
    layer, x = nn.LSTM(2, 3), torch.tensor(floats(4, 2))
    raw = layer.weight_hh_l0
    del layer._parameters["weight_hh_l0"]
    assert layer._flat_weights[1] is None
    layer.weight_hh_l0 = torch.zeros(12, 3)
    assert layer._flat_weights[1] is layer.weight_hh_l0
    without = layer(x)[0]
    layer._flat_weights = [raw * 2 if name == "weight_hh_l0" else getattr(layer, name) for name in layer._flat_weights_names]
    assert layer.weight_hh_l0.tolist() == (raw * 2).tolist()
    assert not torch.allclose(layer(x)[0], without)


def test_state_of_an_lstm_cell_is_two_tensors():
    cell, x = nn.LSTMCell(2, 2), torch.ones(1, 2)
    with pytest.raises(TypeError, match=r"lstm_cell\(\): argument 'hx' \(position 2\) must be tuple of Tensors, not Tensor"):
        cell(x, x)
    with pytest.raises(RuntimeError, match="lstm_cell expects two hidden states"):
        cell(x, (x,))
    with pytest.raises(ValueError, match=r"Expected hx\[0\] to be 1D or 2D, got 0D"):
        cell(x, torch.ones(2))
    assert [each.tolist() for each in cell(x, [x, x])] == [each.tolist() for each in cell(x, (x, x))]


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
def test_gradients_are_the_same_where_a_mode_sees_the_calls(layer):
    class Sees(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    net, x = layer(3, 4, num_layers=2, bidirectional=True), torch.tensor(floats(5, 2, 3))
    net(x)[0].square().sum().backward()
    plain = [p.grad for p in net.parameters()]
    net.zero_grad()
    with Sees():
        net(x)[0].square().sum().backward()
    assert all(torch.allclose(p.grad, g) for p, g in zip(net.parameters(), plain, strict=True))

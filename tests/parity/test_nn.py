"""All of `nn` except layers, compared with PyTorch: packed sequences, containers, errors, initialization, `nn.utils`, hooks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("torch")

import torch.nn.utils.prune

import flambeau

pytestmark = pytest.mark.filterwarnings("ignore")
TOLERANCE = {"atol": 1e-5, "rtol": 1e-4}


def floats(*shape):
    """Return random float32 values."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def tensors_in(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return []
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return [value]


def build(library, name, args=(), kwargs=None):
    library.manual_seed(0)
    return getattr(library.nn, name)(*args, **(kwargs or {}))


def run(library, layer, values):
    """Return the output and all gradients as NumPy arrays."""
    library.manual_seed(1)
    x = library.tensor(values, requires_grad=True)
    output = layer(x)
    (output * output.detach().cos()).sum().backward()
    return [as_array(output)] + [None if each.grad is None else as_array(each.grad) for each in (x, *layer.parameters())]


def as_array(tensor):
    return tensor.detach().numpy()


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert (our is None) == (their is None)
        if our is not None:
            assert our.shape == their.shape and our.dtype == their.dtype
            np.testing.assert_allclose(our, their, **TOLERANCE)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(("lengths", "enforce_sorted"), [([5, 3, 3, 1], True), ([3, 1, 5, 3], False)])
def test_packed_sequences(name, lengths, enforce_sorted):
    results = []
    for library in (flambeau, torch):
        layer = build(library, name, (4, 5), {"num_layers": 2, "bidirectional": True, "dropout": 0.2})
        utils = library.nn.utils.rnn
        packed = utils.pack_padded_sequence(library.tensor(floats(5, 4, 4)), lengths, enforce_sorted=enforce_sorted)
        library.manual_seed(3)
        output, state = layer(packed)
        padded, found = utils.pad_packed_sequence(output, batch_first=True, padding_value=-1.0, total_length=7)
        results.append([as_array(t) for t in tensors_in([packed, output, state, padded, found])])
    assert_same(*results)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_encoder_with_padding(batch_first, training):
    padding = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    results = []
    for library in (flambeau, torch):
        layer = build(library, "TransformerEncoderLayer", (8, 2, 16), {"batch_first": batch_first})
        encoder = library.nn.TransformerEncoder(layer, 2, library.nn.LayerNorm(8)).train(training)
        x = library.tensor(floats(3, 5, 8) if batch_first else floats(5, 3, 8))
        library.manual_seed(4)
        outputs = [encoder(x, src_key_padding_mask=library.tensor(padding))]
        outputs.append(encoder(x, mask=library.nn.Transformer.generate_square_subsequent_mask(5)))
        with library.no_grad():
            outputs.append(encoder(x, src_key_padding_mask=library.tensor(padding)))
            outputs.append(encoder(x, src_key_padding_mask=library.tensor(padding[:, ::-1].copy())))
        results.append([as_array(output) for output in outputs])
    assert_same(*results)


ENCODERS = [
    {},
    {"norm_first": True},
    {"batch_first": True},
    {"batch_first": True, "bias": False},
    {"batch_first": True, "nhead": 1},
    {"batch_first": True, "activation": "gelu"},
    {"batch_first": True, "norm_first": True},
]


@pytest.mark.parametrize("settings", ENCODERS, ids=str)
def test_encoder_says_why_it_works_on_padding(settings):
    found = []
    for library in (flambeau, torch):
        layer = library.nn.TransformerEncoderLayer(**{"d_model": 8, "nhead": 2, "dim_feedforward": 16, **settings})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            encoder = library.nn.TransformerEncoder(layer, 2)
            library.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        found.append((encoder.use_nested_tensor, [(each.category, str(each.message)) for each in caught]))
    assert found[0] == found[1]


REFUSED = [
    *(lambda lib, n=n, name=name, bad=bad: getattr(lib.nn, f"{name}{n}d")(bad)(lib.ones(1, 2, *(6,) * n))
      for n in (1, 2, 3) for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool")
      for bad in (2.5, "2", True, None, (2,) * (n + 1), -1)),
    *(lambda lib, n=n, bad=bad: getattr(lib.nn, f"MaxPool{n}d")(2, **bad)(lib.ones(1, 2, *(6,) * n))
      for n in (1, 2, 3) for bad in ({"stride": 1.5}, {"stride": 0}, {"padding": 0.5}, {"padding": 2}, {"dilation": 0}, {"dilation": 1.5})),
    *(lambda lib, n=n, bad=bad: getattr(lib.nn, f"FractionalMaxPool{n}d")(bad, output_size=2)(lib.ones(1, 2, *(6,) * n))
      for n in (2, 3) for bad in (2.5, True, (2,) * (n + 1), 7)),
    *(lambda lib, name=name, bad=bad: getattr(lib.nn.functional, name)(lib.ones(1, 2, 5), lib.ones(2, 2, 3), **bad)
      for name in ("conv1d", "conv_transpose1d") for bad in ({"stride": 1.5}, {"dilation": "a"}, {"padding": 1.5}, {"padding": "x"})),
    lambda lib: lib.nn.functional.conv2d(lib.ones(1, 2, 5, 5), lib.ones(2, 2, 0, 1)),
    lambda lib: lib.nn.RMSNorm((2, 3))(lib.ones(3)),
    lambda lib: lib.nn.GroupNorm(2.0, 4)(lib.ones(2, 4)),
    lambda lib: lib.nn.LSTM(3, 2)(lib.ones(5, 1, 3), (lib.ones(1, 1, 2),) * 3),
    *(lambda lib, mode=mode, bad=bad: lib.nn.functional.pad(lib.ones(1, 2, 5), bad, mode)
      for mode in ("constant", "reflect", "x") for bad in ((1.5, 1), (True, 1), "ab", (1, 1, 1))),
    lambda lib: lib.nn.Linear(2, 2, dtype="float32"),
    lambda lib: lib.tensor([2], dtype="float32"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_types_of_errors(number):
    with pytest.raises(Exception) as theirs:
        REFUSED[number](torch)
    with pytest.raises(Exception) as ours:
        REFUSED[number](flambeau)
    assert type(ours.value) is type(theirs.value)


def test_classes_of_an_adaptive_softmax():
    ours, theirs = (build(library, "AdaptiveLogSoftmaxWithLoss", (16, 100, [10, 50])) for library in (flambeau, torch))
    x = floats(9, 16)
    for method in ("log_prob", "predict"):
        result = getattr(ours, method)(flambeau.tensor(x)), getattr(theirs, method)(torch.tensor(x))
        np.testing.assert_allclose(*(as_array(value) for value in result), **TOLERANCE)


def test_containers_print_alike():
    def network(nn):
        return nn.Sequential(
            nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(inplace=True)]),
            nn.ModuleDict({"a": nn.Conv2d(1, 2, 3), "b": nn.ModuleList()}),
            nn.ParameterList([nn.Parameter(nn.Linear(2, 3).weight.data), 3]),
            nn.ParameterDict({"z": nn.Linear(1, 1).bias, "a": None}),
        )

    ours, theirs = network(flambeau.nn), network(torch.nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]


ERRORS = [
    lambda lib: lib.nn.Conv2d(3, 4, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 3, 3, groups=2),
    lambda lib: lib.nn.Conv2d(4, 4, 3, stride=2, padding="same"),
    lambda lib: lib.nn.Dropout(1.5),
    lambda lib: lib.nn.Linear(2, 3)(lib.ones(4, 5)),
    lambda lib: lib.nn.LSTM(2, 3)(lib.ones(4, 5, 6)),
    lambda lib: lib.nn.LSTM(2, 3)(lib.ones(4)),
    lambda lib: lib.nn.GRU(2, 3)(lib.ones(4, 5, 2), lib.ones(1, 5, 4)),
    lambda lib: lib.nn.LSTM(2, 3, proj_size=3),
    lambda lib: lib.nn.RNN(2, 3, nonlinearity="x"),
    lambda lib: lib.nn.GRU(2, 3, proj_size=1),
    lambda lib: lib.nn.RNN(2, 3, bias=1),
    lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(2, 3)),
    lambda lib: lib.nn.BatchNorm1d(3)(lib.ones(1, 3)),
    lambda lib: lib.nn.InstanceNorm1d(3, affine=True)(lib.ones(2, 4, 5)),
    lambda lib: lib.nn.GroupNorm(2, 3),
    lambda lib: lib.nn.MultiheadAttention(5, 2),
    lambda lib: lib.nn.MultiheadAttention(0, 2),
    lambda lib: lib.nn.Embedding(3, 2, padding_idx=3),
    lambda lib: lib.nn.Hardtanh(2, 1),
    lambda lib: lib.nn.Softmax2d()(lib.ones(2)),
    lambda lib: lib.nn.Unflatten(1, 3),
    lambda lib: lib.nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect"),
    lambda lib: lib.nn.ConvTranspose2d(1, 1, 3, stride=2)(lib.ones(1, 1, 4, 4), [20, 20]),
    lambda lib: lib.nn.FractionalMaxPool2d(2),
    lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]),
    lambda lib: lib.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(lib.ones(2, 4), lib.tensor([0, 7])),
    lambda lib: lib.nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda lib: lib.nn.Transformer(4, 2)(lib.ones(3, 2, 4), lib.ones(3, 1, 4)),
    lambda lib: lib.nn.Sequential(lib.nn.ReLU())[3],
    lambda lib: lib.nn.Sequential().__add__([lib.nn.ReLU()]),
    lambda lib: lib.nn.ModuleList(3),
    lambda lib: lib.nn.ModuleDict([(1, 2, 3)]),
    lambda lib: lib.nn.ParameterList(lib.ones(2)),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("weight.x", None),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("forward", None),
    lambda lib: lib.nn.Linear(2, 2).register_buffer("", None),
    lambda lib: lib.nn.Linear(2, 2).register_buffer("x", 3),
    lambda lib: lib.nn.Linear(2, 2).add_module("x", 3),
    lambda lib: lib.nn.Linear(2, 2).register_parameter("x", lib.ones(2)),
    lambda lib: lib.nn.Linear(2, 2).register_parameter(3, None),
    lambda lib: setattr(lib.nn.Linear(2, 2), "weight", lib.ones(2)),
    lambda lib: setattr(lib.nn.Sequential(lib.nn.ReLU()), "0", 3),
    lambda lib: setattr(lib.nn.BatchNorm1d(2), "running_mean", 3),
    lambda lib: lib.nn.Linear(2, 2).nothing,
    lambda lib: lib.nn.Module()(1),
    lambda lib: lib.nn.Module(1),
    lambda lib: lib.nn.Module(a=1),
    lambda lib: lib.nn.Linear(2, 2).train("yes"),
    lambda lib: lib.nn.Linear(2, 2).to(lib.int64),
    lambda lib: lib.nn.Linear(2, 2).get_submodule("x.y"),
    lambda lib: lib.nn.Linear(2, 2).get_parameter("training"),
    lambda lib: lib.nn.Linear(2, 2).get_buffer("weight"),
    lambda lib: lib.nn.Linear(2, 2).set_submodule("", lib.nn.ReLU()),
    lambda lib: lib.nn.Linear(2, 2).load_state_dict([1]),
    lambda lib: lib.nn.Linear(2, 2).load_state_dict({"weight": lib.ones(3, 3), "extra": lib.ones(1)}),
    lambda lib: lib.nn.Sequential(lib.nn.Linear(1, 1)).load_state_dict({"0.weight": 3, "0.bias": lib.ones(1), "1.x": 2}),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [1, 2]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [2, 0]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [2]),
    lambda lib: lib.nn.utils.remove_weight_norm(lib.nn.Linear(1, 1)),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(1, 1), "weight", amount=2),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(1, 1), "weight", amount=1.5),
    lambda lib: lib.nn.utils.parametrize.register_parametrization(lib.nn.Linear(1, 1), "x", lib.nn.ReLU()),
    lambda lib: lib.nn.init.xavier_uniform_(lib.ones(3)),
    lambda lib: lib.nn.init.kaiming_normal_(lib.ones(3, 3), mode="x"),
    lambda lib: lib.nn.init.calculate_gain("x"),
    lambda lib: lib.nn.init.eye_(lib.ones(3)),
    lambda lib: lib.nn.init.dirac_(lib.ones(3)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    with pytest.raises(Exception) as theirs:
        ERRORS[number](torch)
    with pytest.raises(type(theirs.value)) as ours:
        ERRORS[number](flambeau)
    assert normalized(ours.value) == normalized(theirs.value)


def normalized(error):
    """Return the message with flambeau's module names replaced by torch's."""
    return str(error).replace("flambeau_nnlib.", "torch.").replace("flambeau.", "torch.")


INITIALIZERS = [
    ("uniform_", (4, 5), (-1.0, 2.0)),
    ("normal_", (4, 5), (1.0, 2.0)),
    ("trunc_normal_", (4, 5), ()),
    ("trunc_normal_", (4, 5), (0.0, 1.0, 1.0, 3.0)),
    ("constant_", (4, 5), (2.0,)),
    ("ones_", (4, 5), ()),
    ("zeros_", (4, 5), ()),
    ("eye_", (4, 5), ()),
    ("dirac_", (4, 2, 3), (2,)),
    ("xavier_uniform_", (4, 5, 3), (2.0,)),
    ("xavier_normal_", (4, 5, 3), (2.0,)),
    ("kaiming_uniform_", (4, 5), (0.1, "fan_out")),
    ("kaiming_normal_", (4, 5), (0.0, "fan_in", "relu")),
    ("orthogonal_", (4, 5, 3), (2.0,)),
    ("orthogonal_", (6, 2), ()),
    ("sparse_", (10, 5), (0.3,)),
]


@pytest.mark.parametrize(("name", "shape", "args"), INITIALIZERS)
def test_init(name, shape, args):
    results = []
    for library in (flambeau, torch):
        library.manual_seed(5)
        results.append(as_array(getattr(library.nn.init, name)(library.empty(shape), *args)))
    np.testing.assert_allclose(*results, **TOLERANCE)


def spectral(lib):
    return lib.nn.utils.spectral_norm(lib.nn.Linear(4, 3))


UTILITIES = [
    lambda lib: lib.nn.utils.weight_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.weight_norm(lib.nn.Conv1d(4, 3, 2), dim=None),
    spectral,
    lambda lib: lib.nn.utils.remove_spectral_norm(spectral(lib)),
    lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.ConvTranspose1d(4, 3, 2)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 3)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 4)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(4, 4), orthogonal_map="cayley"),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(4, 3), "weight", amount=0.4),
    lambda lib: lib.nn.utils.prune.random_unstructured(lib.nn.Linear(4, 3), "weight", amount=5),
    lambda lib: lib.nn.utils.prune.ln_structured(lib.nn.Linear(4, 3), "weight", amount=1, n=2, dim=0),
    lambda lib: lib.nn.utils.prune.random_structured(lib.nn.Linear(4, 3), "weight", amount=0.5, dim=1),
    lambda lib: lib.nn.utils.prune.remove(
        lib.nn.utils.prune.l1_unstructured(
            lib.nn.utils.prune.ln_structured(lib.nn.Linear(4, 3), "weight", amount=1, n=2, dim=0), "weight", amount=0.5
        ),
        "weight",
    ),
]


@pytest.mark.parametrize("number", range(len(UTILITIES)))
def test_utilities(number):
    results, keys, shown = [], [], []
    for library in (flambeau, torch):
        library.manual_seed(6)
        layer = UTILITIES[number](library)
        found = run(library, layer, floats(5, 4) if isinstance(layer, library.nn.Linear) else floats(2, 4, 9))
        keys.append(list(layer.state_dict()))
        shown.append(repr(layer))
        results.append(found + [as_array(value) for value in layer.state_dict().values()])
    assert keys[0] == keys[1] and shown[0] == shown[1]
    assert_same(*results)


def test_backward_hooks_see_the_same():
    results = []
    for library in (flambeau, torch):
        seen = []

        def note(module, grad_input, grad_output, seen=seen):
            seen.extend(None if grad is None else as_array(grad) for grad in (*grad_input, *grad_output))

        layer = build(library, "Linear", (3, 2))
        layer.register_full_backward_hook(note)
        layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
        run(library, layer, floats(4, 3))
        results.append(seen)
    assert_same(*results)

"""`torch.ao.quantization.quantize_dynamic`, compared with PyTorch."""

import copy
import warnings

import numpy as np
import pytest
import torch as pytorch

import flambeau as torch

CASES = {
    "normal": lambda random: random.standard_normal((5, 7, 64)),
    "positive": lambda random: random.random((9, 64)),
    "negative": lambda random: -random.random((9, 64)),
    "one row": lambda random: random.standard_normal((1, 64)),
    "zero": lambda random: np.zeros((2, 64)),
    "tiny": lambda random: random.standard_normal((2, 64)) * 1e-4,
    "tiny positive": lambda random: random.random((2, 64)) * 1e-4,
    "large": lambda random: random.standard_normal((2, 64)) * 1e4,
}


def models():
    """Return the same model for flambeau and PyTorch."""
    random = np.random.default_rng(0)
    state = {f"{i}.{name}": random.standard_normal(shape).astype(np.float32) for i, sizes in ((0, (64, 96)), (2, (96, 33)))
             for name, shape in (("weight", sizes[::-1]), ("bias", sizes[1:]))}  # fmt: skip
    for library in (torch, pytorch):
        nn = library.nn
        model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 33))
        model.load_state_dict({name: library.from_numpy(values.copy()) for name, values in state.items()})
        yield library, model


def quantized(library, model, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's deprecation
        return library.ao.quantization.quantize_dynamic(copy.deepcopy(model), *args)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("spec", [None, {"0"}, {"2"}], ids=str)
def test_quantize_dynamic(spec, case):
    x = CASES[case](np.random.default_rng(1)).astype(np.float32)
    results = []
    for library, model in models():
        with library.no_grad():
            results.append(quantized(library, model, spec)(library.from_numpy(x)).numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-5 * np.abs(results[1]).max())


def test_which_layers_are_replaced():
    for spec in (None, {"0"}, {"Linear"}, {"", "2"}):
        texts = []
        for library, model in models():
            chosen = {library.nn.Linear if name == "Linear" else name for name in spec} if spec else spec
            texts.append([type(module).__name__ for module in quantized(library, model, chosen)])
        assert texts[0] == texts[1], spec


RECURRENT = {
    "LSTM": lambda nn: nn.LSTM(16, 24, num_layers=2, bidirectional=True),
    "LSTM, batch first": lambda nn: nn.LSTM(16, 24, batch_first=True),
    "GRU": lambda nn: nn.GRU(16, 24, num_layers=2, bidirectional=True),
    "LSTMCell": lambda nn: nn.LSTMCell(16, 24),
    "GRUCell": lambda nn: nn.GRUCell(16, 24),
    "RNNCell": lambda nn: nn.RNNCell(16, 24),
    "RNNCell with relu": lambda nn: nn.RNNCell(16, 24, nonlinearity="relu"),
}


@pytest.mark.parametrize(
    ("name", "is_packed"),
    [(name, is_packed) for name in RECURRENT for is_packed in (False, True) if not ("Cell" in name and is_packed)],
)
def test_recurrent_layers(name, is_packed):
    """Few roundings of states differ, so that most results are equal to 1e-5 and all to the error of quantization."""
    results, random = [], np.random.default_rng(0)
    x = random.standard_normal((5, 16) if "Cell" in name else (9, 5, 16)).astype(np.float32)
    state = {key: random.standard_normal(value.shape).astype(np.float32) / 4
             for key, value in RECURRENT[name](pytorch.nn).state_dict().items()}  # fmt: skip
    for library in (torch, pytorch):
        layer = RECURRENT[name](library.nn)
        layer.load_state_dict({key: library.from_numpy(value.copy()) for key, value in state.items()})
        input = library.from_numpy(x)
        if is_packed:
            lengths = [9, 4, 4, 2, 1] if not layer.batch_first else [5, 5, 4, 4, 3, 3, 2, 2, 1]
            input = library.nn.utils.rnn.pack_padded_sequence(input, lengths, batch_first=layer.batch_first)
        with library.no_grad():
            outputs = quantized(library, library.nn.ModuleList([layer]), {type(layer)})[0](input)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        tensors = [part for output in outputs for part in (output if type(output) is tuple else (output,))]
        results.append([(part.data if hasattr(part, "batch_sizes") else part).numpy() for part in tensors])
    for ours, theirs in zip(*results, strict=True):
        difference = np.abs(ours - theirs)
        assert difference.max() < 0.02 and np.median(difference) < 1e-5

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

"""Special functions, FFTs and windows compared with PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

POINTS = np.array([-3.5, -1.0, -0.3, 0.0, 0.2, 0.5, 0.9, 1.0, 1.7, 4.0, 12.0, np.nan])
OTHERS = {"multigammaln", "polygamma", "softmax", "log_softmax", "logsumexp", "gammainc", "gammaincc", "xlogy", "xlog1py", "zeta"}
NAMES = [name for name in ours.special.__all__ if name not in OTHERS]


def assert_agree(function, rtol=1e-6, atol=1e-7):
    got, wanted = function(ours), function(theirs)
    for a, b in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        a, b = a.detach().numpy(), b.detach().resolve_conj().resolve_neg().numpy()
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special(name, dtype):
    def function(torch):
        points = POINTS[:-1] if "polynomial" in name else POINTS  # without NaN, for which PyTorch's polynomials return numbers
        x = torch.tensor(points, dtype=getattr(torch, dtype))
        return getattr(torch.special, name)(x, 3) if "polynomial" in name else getattr(torch.special, name)(x)

    assert_agree(function, rtol=1e-5 if dtype == "float32" else 1e-7, atol=1e-6 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "xlogy", "xlog1py", "zeta"])
def test_special_of_two(name):
    a, x = (each.ravel() for each in np.meshgrid([0.0, 0.5, 2.0, 7.0], [0.0, 0.3, 1.0, 8.0]))
    assert_agree(lambda torch: getattr(torch.special, name)(torch.tensor(a), torch.tensor(x)))


@pytest.mark.parametrize("exponent", [0.5, -0.5, 2.0, -1.0, 3.0, 0.0])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_powers_at_the_edges(exponent, dtype):
    """Powers of special values. The exponent is a number, a 0-d tensor, a broadcast tensor or a tensor of the same shape."""
    points = [-np.inf, -2.0, -0.0, 0.0, 0.3, 4.0, np.inf, np.nan]
    for given in (
        lambda torch, of: exponent,
        lambda torch, of: of(exponent),
        lambda torch, of: of([exponent]),
        lambda torch, of: of([exponent] * len(points)),
        lambda torch, of: of(exponent).expand(len(points)),
    ):

        def function(torch, given=given):
            def of(values):
                return torch.tensor(values, dtype=getattr(torch, dtype))

            made = of(points) ** given(torch, of)
            return made, torch.signbit(torch.nan_to_num(made))

        assert_agree(function)


@pytest.mark.parametrize("name", [each for each in ours.signal.windows.__all__ if each != "general_cosine"])
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_windows(name, sym, length):
    assert_agree(lambda torch: getattr(torch.signal.windows, name)(length, sym=sym, dtype=torch.float64), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"])
@pytest.mark.parametrize("periodic", [True, False])
def test_old_windows(name, periodic):
    for length in (0, 1, 2, 7):
        assert_agree(lambda torch, n=length: getattr(torch, name)(n, periodic), rtol=1e-4, atol=1e-6)


STFT = [
    {}, {"hop_length": 3}, {"win_length": 6}, {"center": False}, {"normalized": True}, {"onesided": False},
    {"hop_length": 2, "win_length": 5},
]  # fmt: skip


@pytest.mark.parametrize("options", STFT, ids=str)
def test_short_time_transform_and_its_gradient(options):
    signal = np.random.default_rng(0).standard_normal((2, 40))

    def there(torch):
        x = torch.tensor(signal, requires_grad=True)
        spectra = torch.stft(x, 8, return_complex=True, **options)
        (spectra.abs() ** 2).sum().backward()
        return spectra, x.grad

    def back(torch):
        return torch.istft(torch.stft(torch.tensor(signal), 8, return_complex=True, **options), 8, **options)

    assert_agree(there)
    assert_agree(back)


def test_masked():
    x, mask = np.arange(1.0, 7).reshape(2, 3), np.array([[True, False, True], [False, False, False]])
    for name in (
        "sum",
        "prod",
        "mean",
        "amax",
        "amin",
        "var",
        "std",
        "logsumexp",
        "argmax",
        "argmin",
        "softmax",
        "log_softmax",
        "softmin",
        "cumsum",
        "cumprod",
        "median",
    ):
        assert_agree(lambda torch, n=name: getattr(torch.masked, n)(torch.tensor(x), 1, mask=torch.tensor(mask)))
    assert_agree(lambda torch: torch.masked.norm(torch.tensor(x), 2.0, 1, mask=torch.tensor(mask)))
    assert_agree(lambda torch: torch.masked.normalize(torch.tensor(x), 2.0, 1, mask=torch.tensor(mask)))
    shown = [repr(torch.masked.masked_tensor(torch.tensor(x), torch.tensor(mask)) * 2) for torch in (ours, theirs)]
    assert shown[0] == shown[1]


MASKED = {
    "sum": (1,),
    "prod": (1,),
    "mean": (1,),
    "amax": (1,),
    "amin": (1,),
    "var": (1,),
    "std": (1,),
    "logsumexp": (1,),
    "argmax": (1,),
    "argmin": (1,),
    "softmax": (1,),
    "log_softmax": (1,),
    "softmin": (1,),
    "cumsum": (1,),
    "cumprod": (1,),
    "median": (1,),
    "norm": (2.0, 1),
    "normalize": (2.0, 1),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("given", ["float16", "int32", "float32", "complex64"])
@pytest.mark.parametrize("asked", [None, "float32", "float64", "int32", "complex64"])
def test_masked_in_another_dtype(name, given, asked):
    """Masked functions with `dtype=` have the same result dtypes as in PyTorch."""
    x = [[-1.5, 2.25, 3], [4, -5, 6], [7, 8, 9]]
    mask = [[True, False, True], [False, True, True], [True, True, True]]

    def outcome(torch, mask):
        options = {} if asked is None else {"dtype": getattr(torch, asked)}
        try:
            made = getattr(torch.masked, name)(
                torch.tensor(x).to(getattr(torch, given)), *MASKED[name], mask=mask and torch.tensor(mask), **options
            )
        except Exception as error:
            return type(error)
        return str(made.dtype).split(".")[1], made.to(torch.complex128).tolist()

    for chosen in (None, mask):
        got, wanted = outcome(ours, chosen), outcome(theirs, chosen)
        if isinstance(wanted, type):
            assert got is wanted
        else:
            assert got[0] == wanted[0]
            tolerance = 2e-3 if given == "float16" else 1e-5
            np.testing.assert_allclose(got[1], wanted[1], tolerance, tolerance)

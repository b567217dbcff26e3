"""FFTs and windows: inverses, gradients and comparison with NumPy; MaskedTensor."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch


def signal(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [6, 7])
def test_inverses(norm, n):
    x = signal(3, n)
    torch.testing.assert_close(torch.fft.ifft(torch.fft.fft(x, norm=norm), norm=norm).real, x)
    torch.testing.assert_close(torch.fft.irfft(torch.fft.rfft(x, norm=norm), n, norm=norm), x)
    torch.testing.assert_close(torch.fft.hfft(torch.fft.ihfft(x, norm=norm), n, norm=norm), x)
    torch.testing.assert_close(torch.fft.irfftn(torch.fft.rfftn(x, norm=norm), x.shape, norm=norm), x)
    torch.testing.assert_close(torch.fft.hfftn(torch.fft.ihfftn(x, norm=norm), x.shape, norm=norm), x)
    torch.testing.assert_close(torch.fft.hfft2(torch.fft.ihfft2(x, norm=norm), x.shape, norm=norm), x)


@pytest.mark.parametrize("dims", [(0, 1), (-1, 0), (1,), (0, 2, 1)])
def test_halved_transforms_of_several_dimensions(dims):
    x = signal(3, 4, 5)
    halved = torch.fft.ihfftn(x, dim=dims)
    whole = np.fft.ifftn(x.numpy(), axes=dims)
    np.testing.assert_allclose(
        halved.resolve_conj().numpy(), np.take(whole, range(x.shape[dims[-1]] // 2 + 1), dims[-1]), atol=1e-12
    )
    back = torch.fft.hfftn(halved, [x.shape[each] for each in dims], dims)
    torch.testing.assert_close(back, x)
    with pytest.raises(RuntimeError, match="real input"):
        torch.fft.ihfftn(halved)


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "irfft2", "rfftn", "hfftn", "ihfft2", "ihfftn"]
)
def test_gradients(name):
    x = signal(3, 4)
    x = x if name.startswith(("rfft", "ihfft")) else torch.complex(x, signal(3, 4, seed=1))
    x.requires_grad_()
    assert torch.autograd.gradcheck(getattr(torch.fft, name), x)
    assert torch.autograd.gradgradcheck(getattr(torch.fft, name), x)


def test_frequencies():
    for n in (1, 4, 5):
        np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5, dtype=torch.float64).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(torch.fft.rfftfreq(n, 0.5, dtype=torch.float64).numpy(), np.fft.rfftfreq(n, 0.5))
    x = torch.arange(15).reshape(3, 5)
    assert torch.fft.ifftshift(torch.fft.fftshift(x)).equal(x)


@pytest.mark.parametrize("options", [{}, {"hop_length": 3}, {"normalized": True}, {"onesided": False}], ids=str)
def test_short_time_transform(options):
    x, window = signal(2, 40), torch.hann_window(8, dtype=torch.float64)
    spectra = torch.stft(x, 8, window=window, return_complex=True, **options)
    assert spectra.shape == (2, 8 if options.get("onesided") is False else 5, 1 + 40 // options.get("hop_length", 2))
    back = torch.istft(spectra, 8, window=window, **options)
    torch.testing.assert_close(back, x[:, : back.shape[1]])
    frame = np.fft.fft(x[0, :8].numpy() * window.numpy()) / (np.sqrt(8) if options.get("normalized") else 1)
    first = torch.stft(x, 8, window=window, center=False, return_complex=True, **options)[0, :, 0]
    np.testing.assert_allclose(first.numpy(), frame[: len(first)], atol=1e-12)


def test_short_time_transform_refuses():
    with pytest.raises(RuntimeError, match="return_complex"):
        torch.stft(signal(20), 8)
    with pytest.raises(RuntimeError, match="hop_length=0"):
        torch.stft(signal(20), 8, hop_length=0, return_complex=True)
    with pytest.raises(RuntimeError, match="complex-valued"):
        torch.istft(signal(5, 4), 8)
    with pytest.raises(RuntimeError, match="overlap add"):
        torch.istft(torch.ones(5, 4) + 0j, 8, window=torch.zeros(8))


def test_inverse_transform_warns_if_it_pads_the_signal() -> None:
    window, x = torch.ones(4), torch.arange(8.0)
    spectra = torch.stft(x, 4, window=window, return_complex=True)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="shorter than the length parameter"):
            back = torch.istft(spectra, 4, window=window, length=12)
    finally:
        torch.set_warn_always(False)
    torch.testing.assert_close(back, torch.tensor([0.0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 0, 0]))


def test_stft_aligned_to_the_window_starts_each_frame_with_it() -> None:
    options = {"hop_length": 4, "win_length": 4, "window": torch.ones(4), "center": False, "return_complex": True}
    frames = torch.stft(torch.arange(16.0), 8, **options, align_to_window=True)
    assert frames[0].real.tolist() == [6.0, 22.0, 38.0, 54.0]  # the sums of four elements each
    with pytest.raises(RuntimeError, match="align_to_window should only be set when center = false"):
        torch.stft(torch.arange(16.0), 8, window=torch.ones(8), return_complex=True, align_to_window=True)


def test_windows():
    n = np.arange(7)
    np.testing.assert_allclose(torch.signal.windows.hann(7, dtype=torch.float64).numpy(), np.hanning(7), atol=1e-15)
    np.testing.assert_allclose(torch.signal.windows.hamming(7, dtype=torch.float64).numpy(), np.hamming(7), atol=1e-15)
    np.testing.assert_allclose(torch.signal.windows.blackman(7, dtype=torch.float64).numpy(), np.blackman(7), atol=1e-15)
    np.testing.assert_allclose(torch.signal.windows.bartlett(7, dtype=torch.float64).numpy(), np.bartlett(7), atol=1e-15)
    kaiser = torch.signal.windows.kaiser(7, beta=5.0, dtype=torch.float64)
    np.testing.assert_allclose(kaiser.numpy(), np.kaiser(7, 5.0), rtol=1e-12)
    gaussian = torch.signal.windows.gaussian(7, std=2.0, dtype=torch.float64)
    np.testing.assert_allclose(gaussian.numpy(), np.exp(-(((n - 3) / 2) ** 2) / 2))
    np.testing.assert_allclose(torch.hann_window(7, dtype=torch.float64).numpy(), np.hanning(8)[:7], atol=1e-15)
    with pytest.raises(ValueError, match="non-negative"):
        torch.signal.windows.cosine(-1)


def test_masked_tensor():
    x, mask = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([[True, False, True], [False, False, False]])
    masked = torch.masked.masked_tensor(x, mask)
    assert masked.sum(1).to_tensor(-1).tolist() == [4, -1]
    assert masked.mean(1).get_data()[0] == 2
    assert masked.amax(1).get_mask().tolist() == [True, False]
    assert (masked * 2).exp().get_mask().equal(mask)
    assert masked.t().get_mask().equal(mask.t())
    assert torch.masked.is_masked_tensor(masked) and not torch.masked.is_masked_tensor(x)
    with pytest.raises(ValueError, match="masks must match"):
        masked + torch.masked.masked_tensor(x, ~mask)
    with pytest.raises(TypeError, match="bool"):
        torch.masked.masked_tensor(x, x)


def test_masked_gradient():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False, True])
    torch.masked.mean(x, 0, mask=mask).backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]
    assert torch.autograd.gradcheck(lambda x: torch.masked.var(x, 0, mask=mask), x)


def test_hash_and_order_of_dimensions(tmp_path):
    x = torch.tensor([[1.0, 2.0], [4.0, 8.0]], dtype=torch.float64)
    bits = x.numpy().view(np.uint64)
    assert torch.hash_tensor(x).item() == int(np.bitwise_xor.reduce(bits, None))
    assert torch.hash_tensor(x, 0).tolist() == np.bitwise_xor.reduce(bits, 0).tolist()
    assert torch.empty_permuted((2, 3, 4), (2, 0, 1)).dim_order() == (2, 0, 1)
    path = str(tmp_path / "numbers")
    shared = torch.from_file(path, shared=True, size=4)
    shared.copy_(torch.arange(4.0))
    private = torch.from_file(path, size=4)
    private[0] = 9
    assert torch.from_file(path, size=4).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="smaller than"):
        torch.from_file(path, size=5)


def test_mask_after_an_ellipsis():
    x = np.arange(24.0).reshape(2, 3, 4)
    mask = x[0] % 2 == 0
    assert torch.tensor(x)[..., torch.tensor(mask)].tolist() == x[..., mask].tolist()


def test_python_functions():
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0])
    assert x.clone().apply_(lambda a: a * a).tolist() == [[1, 4], [9, 16]]
    assert x.clone().map_(y, lambda a, b: a + b).tolist() == [[11, 22], [13, 24]]
    assert x.clone().map2_(y, y, lambda a, b, c: a + b - c).tolist() == x.tolist()

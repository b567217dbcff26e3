"""Window functions of the `torch` namespace, periodic by default, and the short-time Fourier transform with its inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.calls.facts import FACTORY_OPTIONS, Autocast, Kind, declare
from ...engine.calls.op import composite
from ...engine.calls.signatures import with_args
from ...engine.calls.tables import PUBLIC
from ...engine.devices.warning import warn_once
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ...engine.values.constants import strided
from ..creation.options import FACTORY_ARGS, devices_for, finish
from ..fft import complex_to_complex, complex_to_real, real_to_complex, sized
from . import windows as shapes

_LENGTH_ARGS = """\
    window_length: the number of elements.
    periodic: whether the window is one period, `N = window_length`, for spectral analysis; otherwise, it is symmetric,
        `N = window_length - 1`, for the design of filters."""
_WINDOW_ARGS = f"{_LENGTH_ARGS}\n{FACTORY_ARGS}"


def _window(
    name: str,
    shape: Callable[..., Tensor],
    window_length: int,
    periodic: bool,
    parameters: dict[str, Any],
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: bool | None,
    requires_grad: bool | None,
) -> Tensor:
    if layout not in (None, strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, got layout: {layout}")
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    computing, place = devices_for(dtypes.float64, device)
    window = shape(window_length, sym=not periodic, dtype=dtypes.float64, device=computing, **parameters)
    return finish(window.to(dtype).to(place), requires_grad, pin_memory=pin_memory)


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"hann_window(int window_length, *, {FACTORY_OPTIONS}) -> Tensor",
        f"hann_window.periodic(int window_length, bool periodic, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(_WINDOW_ARGS)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the Hann window: `(1 - cos(2 pi n / N)) / 2`.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", shapes.hann, window_length, periodic, {}, dtype, layout, device, pin_memory, requires_grad)


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"hamming_window(int window_length, *, {FACTORY_OPTIONS}) -> Tensor",
        f"hamming_window.periodic(int window_length, bool periodic, *, {FACTORY_OPTIONS}) -> Tensor",
        f"hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, {FACTORY_OPTIONS}) -> Tensor",
        "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, "
        f"{FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(f"{_LENGTH_ARGS}\n    alpha: the constant in the formula.\n    beta: the factor of the cosine.\n{FACTORY_ARGS}")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the Hamming window: `alpha - beta cos(2 pi n / N)`.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    weights = {"a": [alpha, beta]}
    shape = shapes.general_cosine
    return _window("hamming_window", shape, window_length, periodic, weights, dtype, layout, device, pin_memory, requires_grad)


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"blackman_window(int window_length, *, {FACTORY_OPTIONS}) -> Tensor",
        f"blackman_window.periodic(int window_length, bool periodic, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(_WINDOW_ARGS)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the Blackman window: `0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)`.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.blackman_window(5, periodic=False)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _window(
        "blackman_window", shapes.blackman, window_length, periodic, {}, dtype, layout, device, pin_memory, requires_grad
    )


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"bartlett_window(int window_length, *, {FACTORY_OPTIONS}) -> Tensor",
        f"bartlett_window.periodic(int window_length, bool periodic, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(_WINDOW_ARGS)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the Bartlett window, a triangle: `1 - abs(2 n / N - 1)`.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window", shapes.bartlett, window_length, periodic, {}, dtype, layout, device, pin_memory, requires_grad
    )


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"kaiser_window(int window_length, *, {FACTORY_OPTIONS}) -> Tensor",
        f"kaiser_window.periodic(int window_length, bool periodic, *, {FACTORY_OPTIONS}) -> Tensor",
        f"kaiser_window.beta(int window_length, bool periodic, float beta, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(f"{_LENGTH_ARGS}\n    beta: the shape; a larger number gives lower sidelobes and a wider main lobe.\n{FACTORY_ARGS}")
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the Kaiser window: `I0(beta sqrt(1 - (2 n / N - 1)**2)) / I0(beta)`, with the modified Bessel function `I0`.

    Raises:
        RuntimeError: the length is negative, or the dtype is not floating-point.

    >>> torch.kaiser_window(5, periodic=False, beta=1.0)
    tensor([0.7898, 0.9450, 1.0000, 0.9450, 0.7898])
    """
    shape = shapes.kaiser
    return _window(
        "kaiser_window", shape, window_length, periodic, {"beta": beta}, dtype, layout, device, pin_memory, requires_grad
    )


for _function in (hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window):
    PUBLIC[_function.__name__] = _function


# --- the short-time Fourier transform --------------------------------------------------------------------------------


def _describe_call(name: str, input: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None) -> str:
    kind = f"torch.{input.dtype.legacy_name}Tensor"
    shown = "None" if window is None else f"torch.{window.dtype.legacy_name}Tensor{{{list(window.shape)}}}"
    return f"{name}({kind}{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, window={shown})"


def _checked_window(name: str, input: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None) -> Tensor | None:
    """Check the arguments, and return the window padded with zeros to length `n_fft`, or None for a window of ones."""
    problem = None
    if hop <= 0:
        problem = f"expected hop_length > 0, but got hop_length={hop}"
    elif not 0 < length <= n_fft:
        problem = f"expected 0 < win_length <= n_fft, but got win_length={length}"
    elif window is not None and window.shape != (length,):
        problem = (
            f"expected a 1D window tensor of size equal to win_length={length}, but got window with size {list(window.shape)}"
        )
    if problem:
        raise RuntimeError(f"{_describe_call(name, input, n_fft, hop, length, window)} : {problem}")
    if window is None and length == n_fft:
        return None
    from ..padding import pad

    window = input.new_ones(length, dtype=input.dtype.to_real()) if window is None else window
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left))


def _frame_positions(count: int, hop: int, n_fft: int, like: Tensor) -> Tensor:
    """Return a matrix with one row per frame: the positions of the frame's elements in the signal."""
    from ..creation.ranges import arange

    starts: Tensor = arange(count, device=like.device)[:, None] * hop
    return starts + arange(n_fft, device=like.device)


@composite(kind=Kind.FOURIER, autocast={"cpu": Autocast.FLOAT32}, home="torch.functional")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: Any = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Compute the short-time Fourier transform: the spectra of windowed frames of a signal, `hop_length` apart.

    Args:
        input: `(*, length)`, at most one batch dimension.
        n_fft: the length of a frame.
        hop_length: the distance between frames; None for `n_fft // 4`.
        win_length: the length of the window, which is padded with zeros to `n_fft`; None for `n_fft`.
        window: a tensor of that length; None for ones, with a warning.
        center: whether to pad the signal so that frame `t` is centred at `t * hop_length`.
        pad_mode: the kind of padding, as for `torch.nn.functional.pad`.
        normalized: whether to divide by `sqrt(n_fft)`.
        onesided: whether to return only the non-negative frequencies; the default for real signals.
        return_complex: whether to return a complex tensor `(*, frequencies, frames)`, or real and imaginary parts in a last
            dimension.
        align_to_window: whether frame `t` begins at `t * hop_length` with the window, not with its zeros; None for False.

    Raises:
        RuntimeError: a length is out of range, `return_complex` is missing for a real signal, or `align_to_window` is given
            with `center`.

    >>> torch.stft(torch.ones(16), n_fft=4, return_complex=True).shape
    torch.Size([3, 17])
    """
    from ..padding import pad

    _warn_without_window(window, "which is known to cause spectral leakage. Others, as torch.hann_window, are recommended")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    signal = input
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        signal = pad(input.reshape((1,) * (3 - input.ndim) + tuple(input.shape)), (n_fft // 2, n_fft // 2), pad_mode)
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    where = _describe_call("stft", input, n_fft, hop, length, window)
    if input.dtype in dtypes.HALF:
        raise RuntimeError(f"FFT doesn't support tensors of type: {input.dtype.legacy_name}")
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{where} : expected a tensor of floating point or complex values")
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"{where} : expected a 1D or 2D tensor")
    signal = signal.reshape(-1, signal.shape[-1])
    if not 0 < n_fft <= signal.shape[-1]:
        raise RuntimeError(f"{where} : expected 0 < n_fft < {signal.shape[-1]}, but got n_fft={n_fft}")
    window = _checked_window("stft", input, n_fft, hop, length, window)
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:
        left = (n_fft - length) // 2
        signal = pad(signal, (left, n_fft - length - left))
    frames = signal.unfold(-1, n_fft, hop)
    frames = frames if window is None else frames * window
    scale = 1 if normalized else 0
    if is_complex:
        spectra = complex_to_complex(frames, (2,), scale, True)
    elif onesided is None or onesided:
        spectra = real_to_complex(frames, (2,), scale)
    else:
        spectra = complex_to_complex(frames.to(frames.dtype.to_complex()), (2,), scale, True)
    spectra = spectra.transpose(1, 2)
    spectra = spectra if input.ndim == 2 else spectra.squeeze(0)
    if return_complex or (is_complex and return_complex is None):
        return spectra
    warn_once(
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
        "all inputs: torch.view_as_real gives what it returns now."
    )
    return _pairs(spectra)


def _warn_without_window(window: Tensor | None, why: str) -> None:
    if window is None:
        warn_once(
            f"A window was not provided. A rectangular window will be applied, {why}. To suppress this warning and use a "
            "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )


def _pairs(input: Tensor) -> Tensor:
    from ..complex import view_as_real

    return view_as_real(input)


@composite(kind=Kind.FOURIER)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Reconstruct a signal from its short-time spectra, the inverse of `stft`, by overlap-add (Griffin and Lim, 1984).

    Args:
        input: a complex tensor `(*, frequencies, frames)` with at most one batch dimension, as `stft` returns it.
        n_fft: the size of the Fourier transforms.
        hop_length: the distance between frames; None for `n_fft // 4`.
        win_length: the size of the window; None for `n_fft`. A shorter window is padded with zeros on both sides.
        window: the window that `stft` used, of size `win_length`; None for a rectangular window.
        center: whether `stft` padded the signal, so that frame `t` is centred at `t * hop_length`.
        normalized: whether `stft` divided by `sqrt(n_fft)`.
        onesided: whether the spectra have only the non-negative frequencies; None for True unless there are `n_fft`.
        length: the length of the signal, which is trimmed or padded with zeros; None for the length that the frames cover.
        return_complex: whether the signal is complex; `onesided` is then False.

    Raises:
        RuntimeError: the sum of the squared windows is 0 at some position.

    >>> x = torch.arange(8.0)
    >>> torch.istft(torch.stft(x, 4, return_complex=True), 4).allclose(x, atol=1e-5)
    True
    """
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if length is not None and length <= 0:
        raise RuntimeError(f"istft: expected a length above 0, but got {length}")
    _warn_without_window(window, "and the inversion is lossless only with the window used by stft")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    where = _describe_call("istft", input, n_fft, hop, win_length, window)
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    _check_spectra(where, input, n_fft, onesided)
    window = _checked_window("istft", input, n_fft, hop, win_length, window)
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        frames = complex_to_complex(spectra, (2,), scale, False)
    else:
        frames = complex_to_real(sized(spectra, (2,), (n_fft // 2 + 1,)), (2,), scale, n_fft)
    window = frames.new_ones(n_fft, dtype=frames.dtype.to_real()) if window is None else window
    return _overlap_add(where, frames, window, hop, center, length, input.ndim == 3)


def _check_spectra(where: str, input: Tensor, n_fft: int, onesided: bool) -> None:
    if not input.numel():
        raise RuntimeError(f"{where} : input tensor cannot be empty")
    if not 2 <= input.ndim <= 3:
        raise RuntimeError(f"{where} : expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    expected, named = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    if input.shape[-2] != expected:
        raise RuntimeError(
            f"{where} : expected the frequency dimension (3rd to the last) of the input tensor to match {named} "
            f"when onesided={onesided}, but got {input.shape[-2]}"
        )


def _overlap_add(where: str, frames: Tensor, window: Tensor, hop: int, center: bool, length: int | None, batched: bool) -> Tensor:
    """Add the windowed frames at their positions, and divide by the sum of the squared windows."""
    count, n_fft = frames.shape[1:]
    total = n_fft + hop * (count - 1)
    positions = _frame_positions(count, hop, n_fft, frames).reshape(-1)
    weighted = (frames * window).reshape(frames.shape[0], -1)
    signal = weighted.new_zeros((frames.shape[0], total)).index_add(1, positions, weighted)
    squares = (window * window).expand(count, n_fft).reshape(-1)
    envelope = squares.new_zeros(total).index_add(0, positions, squares)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total - (n_fft // 2 if center else 0)
    signal, envelope = signal[:, start:stop], envelope[start:stop]
    lowest = envelope.abs()
    if envelope.numel() and lowest._key.backend.extremes(lowest._array)[0] < 1e-11:
        raise RuntimeError(f"{where} window overlap add min: 1")
    signal = signal / envelope
    if length is not None and signal.shape[1] < length:
        warn_once(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings."
        )
        signal = sized(signal, (1,), (length,))
    return signal if batched else signal.squeeze(0)

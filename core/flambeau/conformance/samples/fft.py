"""Fourier transforms."""

from __future__ import annotations

from typing import Any

from .sample import COMPLEX, WIDE, Bad, Sample, real

__all__ = ["BAD", "SAMPLES"]


def _pair(name: str, dtypes: Any, result: str, **options: Any) -> Sample:
    """Return a sample of a transform that NumPy has under the same name."""

    def call(torch: Any, x: Any) -> Any:
        return getattr(torch.fft, name)(x, **options)

    renamed = {{"dim": "axis" if isinstance(value, int) else "axes"}.get(key, key): value for key, value in options.items()}
    return Sample(f"fft.{name}", call, [real(3, 4, 5)], lambda np, x: getattr(np.fft, name)(x, **renamed), dtypes, result)


SAMPLES = [
    _pair("fft", COMPLEX, "same"),
    _pair("fft", WIDE, "complex", n=7, dim=1, norm="ortho"),
    _pair("fft", COMPLEX, "same", n=3),
    _pair("ifft", COMPLEX, "same"),
    _pair("ifft", WIDE, "complex", norm="forward"),
    _pair("rfft", WIDE, "complex"),
    _pair("rfft", WIDE, "complex", dim=0, norm="ortho"),
    _pair("irfft", COMPLEX, "real"),
    _pair("irfft", COMPLEX, "real", n=7, norm="forward"),
    _pair("hfft", COMPLEX, "real"),
    _pair("hfft", COMPLEX, "real", n=5, norm="ortho"),
    _pair("ihfft", WIDE, "complex"),
    _pair("ihfft", WIDE, "complex", norm="forward"),
    _pair("fft2", COMPLEX, "same"),
    _pair("ifft2", COMPLEX, "same", norm="ortho"),
    _pair("rfft2", WIDE, "complex"),
    _pair("irfft2", COMPLEX, "real"),
    _pair("fftn", COMPLEX, "same"),
    _pair("fftn", WIDE, "complex", dim=(0, 2)),
    _pair("ifftn", COMPLEX, "same", dim=(1,)),
    _pair("rfftn", WIDE, "complex", s=(2, 6), dim=(0, 2)),
    _pair("irfftn", COMPLEX, "real", norm="ortho"),
    *(Sample(f"fft.{name}", lambda torch, x, name=name: getattr(torch.fft, name)(x), [real(3, 4)],
             lambda np, x: np.fft.irfftn(x.conj()) * 18, COMPLEX, "real") for name in ("hfft2", "hfftn")),
    *(Sample(f"fft.{name}", lambda torch, x, name=name: getattr(torch.fft, name)(x), [real(3, 4)],
             lambda np, x: np.fft.rfftn(x).conj() / 12, WIDE, "complex") for name in ("ihfft2", "ihfftn")),
    Sample("fft.fftshift", lambda torch, x: torch.fft.fftshift(x), [real(3, 4)], lambda np, x: np.fft.fftshift(x)),
    Sample("fft.ifftshift", lambda torch, x: torch.fft.ifftshift(x, dim=1), [real(3, 5)], lambda np, x: np.fft.ifftshift(x, 1)),
    Sample("fft.fftfreq", lambda torch: torch.fft.fftfreq(5, 0.5), [], lambda np: np.fft.fftfreq(5, 0.5), ("float32",),
           grad=False),
    Sample("fft.rfftfreq", lambda torch: torch.fft.rfftfreq(6, 2.0), [], lambda np: np.fft.rfftfreq(6, 2.0), ("float32",),
           grad=False),
]  # fmt: skip


BAD = [
    Bad("fft.fft", lambda torch, x: torch.fft.fft(x, 0), [real(3)], "RuntimeError"),
    Bad("fft.fft", lambda torch, x: torch.fft.fft(x, norm="none"), [real(3)], "RuntimeError"),
    Bad("fft.fft", lambda torch, x: torch.fft.fft(x, dim=1), [real(3)], "IndexError"),
    Bad("fft.fftn", lambda torch, x: torch.fft.fftn(x, dim=(0, 0)), [real(3, 3)], "RuntimeError"),
    Bad("fft.rfft", lambda torch, x: torch.fft.rfft(x), [real(3)], "RuntimeError", "complex64"),
    Bad("fft.irfft", lambda torch, x: torch.fft.irfft(x), [real(1)], "RuntimeError"),
]  # fmt: skip

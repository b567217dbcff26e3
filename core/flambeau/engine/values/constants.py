"""Memory formats, layouts and quantization schemes: the constants of `torch` that are not dtypes."""

from __future__ import annotations

from typing import Final

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "jagged", "layout", "legacy_contiguous_format", "memory_format",
    "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "preserve_format", "qscheme", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr",
    "strided",
]  # fmt: skip


class Constant:
    """A constant of `torch`, such as `torch.strided`, that is printed, pickled and copied by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(Constant):
    """An order of dimensions in memory, such as `torch.channels_last`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_channels_last: bool = name.startswith("channels_last")

    def order(self, ndim: int) -> tuple[int, ...]:
        """Return the dimensions of a tensor in memory order, from the largest stride to the smallest.

        Raises:
            RuntimeError: `ndim` is not 4 for channels_last, or not 5 for channels_last_3d.
        """
        if not self.is_channels_last:
            return tuple(range(ndim))
        rank = 5 if self._name.endswith("3d") else 4
        if ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {self._name} format")
        return (0, *range(2, ndim), 1)


contiguous_format: Final = memory_format("contiguous_format")
legacy_contiguous_format: Final = contiguous_format
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")


class layout(Constant):
    """How elements are stored: all of them (`torch.strided`), the nonzero ones (`torch.sparse_coo`), or rows of different lengths
    (`torch.jagged`)."""


strided: Final = layout("strided")
jagged: Final = layout("jagged")
sparse_coo: Final = layout("sparse_coo")
sparse_csr: Final = layout("sparse_csr")
sparse_csc: Final = layout("sparse_csc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_bsc: Final = layout("sparse_bsc")


class qscheme(Constant):
    """How real numbers map to small integers: by a scale and a zero point for a tensor or for each channel. Symmetric schemes
    have zero point 0."""


per_tensor_affine: Final = qscheme("per_tensor_affine")
per_tensor_symmetric: Final = qscheme("per_tensor_symmetric")
per_channel_affine: Final = qscheme("per_channel_affine")
per_channel_symmetric: Final = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams: Final = qscheme("per_channel_affine_float_qparams")

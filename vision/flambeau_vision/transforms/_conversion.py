"""Convert images between PIL, NumPy and tensors, and between dtypes and value ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from . import functional as F
from ._base import Transform

__all__ = ["ConvertImageDtype", "LinearTransformation", "Normalize", "PILToTensor", "ToPILImage", "ToTensor"]


class ToTensor:
    """Convert a PIL image or a NumPy array `(H, W, C)` to a tensor `(C, H, W)`; 8-bit values are scaled to `[0, 1]`.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision import transforms
        >>> transforms.ToTensor()(Image.new("RGB", (2, 1), color=(255, 0, 51)))[2]
        tensor([[0.2000, 0.2000]])
    """

    def __call__(self, pic: Any) -> torch.Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """Convert a PIL image to a tensor of shape `(C, H, W)` with the same values.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision import transforms
        >>> transforms.PILToTensor()(Image.new("RGB", (2, 1), color=(255, 0, 51)))[2]
        tensor([[51, 51]], dtype=torch.uint8)
    """

    def __call__(self, pic: Any) -> torch.Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """Convert a tensor `(C, H, W)` or a NumPy array `(H, W, C)` to a PIL image; floats must be in `[0, 1]`.

    Args:
        mode: the mode of the PIL image, such as `"RGB"` or `"CMYK"`; None to infer it from the channels and the dtype.

    Example:
        >>> from flambeau_vision import transforms
        >>> image = transforms.ToPILImage()(torch.ones(3, 4, 5))
        >>> image.mode, image.size
        ('RGB', (5, 4))
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(nn.Module):
    """Convert the dtype and scale the values: floats range from 0 to 1, integers from 0 to their maximum.

    Args:
        dtype: the dtype to convert to.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.ConvertImageDtype(torch.uint8)(torch.tensor([0.0, 0.2, 1.0]))
        tensor([  0,  51, 255], dtype=torch.uint8)
    """

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """Compute `(image - mean) / std` per channel, for floating-point tensors of shape `(..., C, H, W)`.

    Args:
        mean: the mean to subtract, one value per channel.
        std: the standard deviation to divide by, one nonzero value per channel.
        inplace: whether to modify the image in place.

    Example:
        >>> from flambeau_vision import transforms
        >>> normalize = transforms.Normalize(mean=(0.5,), std=(0.5,))
        >>> normalize
        Normalize(mean=(0.5,), std=(0.5,))
        >>> normalize(torch.tensor([[[0.0, 0.5, 1.0]]]))
        tensor([[[-1.,  0.,  1.]]])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.normalize(inpt, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        return f"mean={self.mean}, std={self.std}"


class LinearTransformation(Transform):
    """Flatten an image, subtract a vector, and multiply by a matrix, for example a whitening matrix.

    Args:
        transformation_matrix: the matrix, of shape `(D, D)` with `D = C * H * W`.
        mean_vector: the vector, of shape `(D,)`.

    Raises:
        ValueError: the matrix is not square, or its size differs from that of the vector.

    Example:
        >>> from flambeau_vision import transforms
        >>> whiten = transforms.LinearTransformation(2 * torch.eye(2), torch.tensor([1.0, 1.0]))
        >>> whiten(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[0., 4.]]])
    """

    def __init__(self, transformation_matrix: torch.Tensor, mean_vector: torch.Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(
                f"transformation_matrix should be square. Got {tuple(transformation_matrix.shape)} rectangular matrix."
            )
        if mean_vector.shape[0] != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.shape[0]} as any one of the dimensions of the "
                f"transformation_matrix [{tuple(transformation_matrix.shape)}]"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        values = inpt.shape[-3] * inpt.shape[-2] * inpt.shape[-1]
        if values != len(self.mean_vector):
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{inpt.shape[-3]} x {inpt.shape[-2]} x {inpt.shape[-1]}] != {len(self.mean_vector)}"
            )
        flat = inpt.reshape(-1, values) - self.mean_vector.to(inpt.device)
        return (flat @ self.transformation_matrix.to(inpt.device)).reshape(inpt.shape)

    def __repr__(self) -> str:
        matrix, mean = self.transformation_matrix.tolist(), self.mean_vector.tolist()
        return f"{type(self).__name__}(transformation_matrix={matrix}, mean_vector={mean})"

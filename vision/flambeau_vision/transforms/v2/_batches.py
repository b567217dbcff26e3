"""MixUp and CutMix: transforms that mix the samples of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F

from ._samples import Transform, find_labels, get_leaves, map_sample
from ._typed import keep_type

__all__ = ["CutMix", "MixUp"]


class _MixBatch(Transform):
    """Base class of transforms that mix the image and label of each sample of a batch with those of the previous sample."""

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Callable | str = "default") -> None:
        super().__init__()
        self.alpha = alpha
        self.num_classes = num_classes
        self.labels_getter = labels_getter

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        alpha = torch.tensor([self.alpha])
        share = torch.distributions.Beta(alpha, alpha).sample().item()
        return self.make_mix(share, *flat_inputs[0].shape[-2:])

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self.labels_getter(sample) if callable(self.labels_getter) else find_labels(sample)
        images = [leaf for leaf in get_leaves(sample) if isinstance(leaf, torch.Tensor) and leaf.ndim >= 4]
        if not images:
            raise ValueError(f"{type(self).__name__}() expects a batch of images of shape (B, C, H, W)")
        params = self.make_params(images)

        def mix(leaf: Any) -> Any:
            if leaf is labels:
                return self._mix_labels(leaf, params["labels_share"])
            is_image = any(leaf is image for image in images)
            return keep_type(leaf, self.transform(leaf, params)) if is_image else leaf

        return map_sample(mix, sample)

    def _mix_labels(self, labels: torch.Tensor, share: float) -> torch.Tensor:
        if labels.ndim == 1:
            if self.num_classes is None:
                raise ValueError("num_classes must be passed if the labels are index-based (1D)")
            labels = F.one_hot(labels, num_classes=self.num_classes)
        labels = labels if labels.is_floating_point() else labels.float()
        return labels.roll(1, 0) * (1.0 - share) + labels * share


class MixUp(_MixBatch):
    """Replace each sample of a batch by a weighted mean of it and the previous sample. Images and labels are mixed.

    Zhang, Cisse, Dauphin and Lopez-Paz, [mixup: Beyond Empirical Risk Minimization](https://arxiv.org/abs/1710.09412), 2017.

    Args:
        alpha: the weight is drawn from `Beta(alpha, alpha)`: near 0 or 1 if `alpha` is small, near 0.5 if it is large.
        num_classes: the number of classes; required if labels are class indices.
        labels_getter: a function that returns the labels of a sample. `"default"`: the labels are the second element of a
            tuple, or the first value of a dict whose key contains "label".

    Shape:
        - Input: images `(B, C, H, W)` and labels, class indices `(B,)` or class weights `(B, num_classes)`.
        - Output: images of the same shape, and class weights `(B, num_classes)`.

    Raises:
        ValueError: from calls, if the sample has no batch of images, the labels are not found, or `num_classes` is missing.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> images, labels = v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
        >>> images.shape, labels.shape, labels.sum(1)
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]), tensor([1., 1., 1., 1.]))
    """

    def make_mix(self, share: float, height: int, width: int) -> dict[str, Any]:
        return {"labels_share": share}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        share = params["labels_share"]
        return inpt.roll(1, 0) * (1.0 - share) + inpt * share


class CutMix(_MixBatch):
    """Paste a rectangle of the previous sample into each sample of a batch, and mix the labels in proportion to the area.

    Yun et al., [CutMix: Regularization Strategy to Train Strong Classifiers](https://arxiv.org/abs/1905.04899), 2019.

    Args:
        alpha: the fraction of each image that is kept is drawn from `Beta(alpha, alpha)`.
        num_classes: the number of classes; required if labels are class indices.
        labels_getter: a function that returns the labels of a sample. `"default"`: the labels are the second element of a
            tuple, or the first value of a dict whose key contains "label".

    Shape:
        - Input: images `(B, C, H, W)` and labels, class indices `(B,)` or class weights `(B, num_classes)`.
        - Output: images of the same shape, and class weights `(B, num_classes)`.

    Raises:
        ValueError: from calls, if the sample has no batch of images, the labels are not found, or `num_classes` is missing.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> images, labels = v2.CutMix(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
        >>> images.shape, labels.shape
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]))
    """

    def make_mix(self, share: float, height: int, width: int) -> dict[str, Any]:
        x, y = int(torch.randint(width, ())), int(torch.randint(height, ()))
        radius = 0.5 * (1.0 - share) ** 0.5
        half_width, half_height = int(radius * width), int(radius * height)
        left, right = max(x - half_width, 0), min(x + half_width, width)
        top, bottom = max(y - half_height, 0), min(y + half_height, height)
        own_share = 1.0 - (right - left) * (bottom - top) / (width * height)
        return {"box": (top, bottom, left, right), "labels_share": own_share}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        top, bottom, left, right = params["box"]
        result = inpt.clone()
        result[..., top:bottom, left:right] = inpt.roll(1, 0)[..., top:bottom, left:right]
        return result

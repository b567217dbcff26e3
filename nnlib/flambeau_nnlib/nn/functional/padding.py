"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.extension import functions as ops

__all__ = ["pad"]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Puts elements around the last dimensions; see `nn.ConstantPad2d`, `nn.ReflectionPad2d` and their kin.

    Args:
        input: a tensor; of any shape for mode "constant", else one that has a dimension or two in front of the padded
            ones.
        pad: how many elements to add before and after: a pair for the last dimension, then one for the one before it,
            and so on. Negative numbers crop.
        mode: what they hold: "constant", "reflect" (the mirror image, without the edge), "replicate" (the edge) or
            "circular" (the other end). All but "constant" pad the last 1, 2 or 3 dimensions.
        value: what they hold in mode "constant"; None for 0.

    Raises:
        RuntimeError: numbers and dimensions do not fit, a mode that takes no `value` is given one, or a dimension is
            too small to be reflected or to go around.
        NotImplementedError: the mode does not exist, or not for so many dimensions.

    Example:
        >>> F.pad(torch.ones(2), (1, 0))
        tensor([0., 1., 1.])
        >>> F.pad(torch.tensor([[0.0, 1.0, 2.0]]), (2, 2), mode="reflect")
        tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """
    return ops.pad(input, pad, mode, value)

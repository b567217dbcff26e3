"""Padding of the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau import Tensor
from flambeau.extension import functions as ops

__all__ = ["pad"]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions of a tensor; see `nn.ConstantPad2d`, `nn.ReflectionPad2d`, `nn.ReplicationPad2d`.

    Args:
        input: a tensor; of any shape for mode "constant", else with one or two dimensions before the padded ones.
        pad: the numbers of elements to add before and after: a pair for the last dimension, then a pair for the
            second-to-last dimension, and so on. Negative numbers crop.
        mode: the padding values: "constant", "reflect" (the mirror image, without the edge), "replicate" (the edge) or
            "circular" (the other end). All but "constant" pad the last 1, 2 or 3 dimensions.
        value: the padding value in mode "constant"; None for 0.

    Raises:
        RuntimeError: `pad` and the dimensions do not fit, `value` is given in another mode than "constant", or a dimension
            is too small for "reflect" or "circular".
        NotImplementedError: the mode is unknown, or not available for this number of dimensions.

    Example:
        >>> F.pad(torch.ones(2), (1, 0))
        tensor([0., 1., 1.])
        >>> F.pad(torch.tensor([[0.0, 1.0, 2.0]]), (2, 2), mode="reflect")
        tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """
    return ops.pad(input, pad, mode, value)

"""A layer that mixes groups of channels."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Interleaves the channels of `groups` groups: the first channel of each group, then the second of each, and so on.

    After a grouped convolution, the next grouped convolution then combines channels of different groups.

    Zhang et al., *ShuffleNet: an extremely efficient convolutional neural network for mobile devices*, 2017.

    Args:
        groups: the number of groups; the call raises RuntimeError unless it divides the number of channels.

    Shape:
        - Input: `(N, C, *)`.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    __constants__ = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"

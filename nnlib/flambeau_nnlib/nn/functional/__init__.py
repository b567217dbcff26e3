"""Neural-network operations as functions.

>>> import flambeau as torch
>>> import flambeau.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from __future__ import annotations

from flambeau import bilinear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from flambeau.ops.linear import linear

from . import activation, distance, loss, margin_loss, normalization, padding, pooling
from . import dropout as dropping
from .activation import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .loss import *  # noqa: F403
from .margin_loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403

__all__ = ["bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear"]
for _module in (activation, distance, dropping, loss, margin_loss, normalization, padding, pooling):
    __all__ += _module.__all__

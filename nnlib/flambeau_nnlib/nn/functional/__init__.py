"""Neural-network operations as functions.

>>> F.relu(torch.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from __future__ import annotations

from flambeau import bilinear, conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d
from flambeau.extension import COMPILED, declared, is_inplace, open_to_overrides, private_names
from flambeau.extension.functions import linear

from . import activation, attention, distance, loss, margin_loss, matrix, normalization, padding, pooling, vision, warping
from . import dropout as dropping
from . import embedding as embeddings
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .loss import *  # noqa: F403
from .margin_loss import *  # noqa: F403
from .matrix import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
from .vision import *  # noqa: F403
from .warping import *  # noqa: F403

__all__ = [
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
]
for _module in (
    activation,
    attention,
    distance,
    dropping,
    embeddings,
    loss,
    margin_loss,
    matrix,
    normalization,
    padding,
    pooling,
    vision,
    warping,
):
    __all__ += _module.__all__

__getattr__ = private_names(__name__)

# These are compiled (built-in) functions in PyTorch, which do not become methods when they are class attributes.
NATIVE = {name for name, home in declared("home").items() if home in COMPILED} | {"native_channel_shuffle"}
NATIVE |= set(filter(is_inplace, __all__))
open_to_overrides(globals(), __all__, NATIVE)

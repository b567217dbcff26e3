"""`torch.utils.tensorboard` for editors.  `import flambeau.utils.tensorboard` imports `flambeau_nnlib.tensorboard`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.tensorboard import *  # noqa: F403

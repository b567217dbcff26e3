"""`torch.optim.lr_scheduler` for editors.  `import flambeau.optim.lr_scheduler` imports `flambeau_nnlib.optim.lr_scheduler`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.optim.lr_scheduler import *  # noqa: F403

"""`torch.optim` for editors.  `import flambeau.optim` imports `flambeau_nnlib.optim`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.optim import *  # noqa: F403

"""`torch.optim.swa_utils` for editors.  `import flambeau.optim.swa_utils` imports `flambeau_nnlib.optim.swa_utils`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.optim.swa_utils import *  # noqa: F403

"""`torch.utils.checkpoint` for editors.  `import flambeau.utils.checkpoint` imports `flambeau_nnlib.checkpoint`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.checkpoint import *  # noqa: F403

"""`torch.hub` for editors.  `import flambeau.hub` imports `flambeau_nnlib.hub`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.hub import *  # noqa: F403

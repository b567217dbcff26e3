"""`torch.amp` for editors.  `import flambeau.amp` imports `flambeau_nnlib.amp`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.amp import *  # noqa: F403

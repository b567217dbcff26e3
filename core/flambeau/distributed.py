"""`torch.distributed` for editors.  `import flambeau.distributed` imports `flambeau_nnlib.distributed`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.distributed import *  # noqa: F403

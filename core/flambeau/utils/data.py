"""`torch.utils.data` for editors.  `import flambeau.utils.data` imports `flambeau_nnlib.data`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.data import *  # noqa: F403

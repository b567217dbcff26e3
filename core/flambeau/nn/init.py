"""`torch.nn.init` for editors.  `import flambeau.nn.init` imports `flambeau_nnlib.nn.init`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.init import *  # noqa: F403

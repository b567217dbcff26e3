"""`torch.nn.modules` for editors.  `import flambeau.nn.modules` imports `flambeau_nnlib.nn.modules`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.modules import *  # noqa: F403

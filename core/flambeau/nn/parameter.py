"""`torch.nn.parameter` for editors.  `import flambeau.nn.parameter` imports `flambeau_nnlib.nn.parameter`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.parameter import *  # noqa: F403

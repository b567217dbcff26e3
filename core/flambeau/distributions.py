"""`torch.distributions` for editors.  `import flambeau.distributions` imports `flambeau_nnlib.distributions`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.distributions import *  # noqa: F403

"""`torch.nn.functional` for editors.  `import flambeau.nn.functional` imports `flambeau_nnlib.nn.functional`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.functional import *  # noqa: F403

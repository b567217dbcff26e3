"""`torch.nn` for editors.  `import flambeau.nn` imports `flambeau_nnlib.nn`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn import *  # noqa: F403

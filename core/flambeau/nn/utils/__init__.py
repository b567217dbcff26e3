"""`torch.nn.utils` for editors.  `import flambeau.nn.utils` imports `flambeau_nnlib.nn.utils`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.utils import *  # noqa: F403

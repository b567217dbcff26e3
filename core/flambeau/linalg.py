"""`torch.linalg` for editors.  `import flambeau.linalg` imports `flambeau.operations.linalg.namespace`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.operations.linalg.namespace import *  # noqa: F403

"""`torch.special` for editors.  `import flambeau.special` imports `flambeau.operations.special.namespace`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.operations.special.namespace import *  # noqa: F403

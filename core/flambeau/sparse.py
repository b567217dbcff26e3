"""`torch.sparse` for editors.  `import flambeau.sparse` imports `flambeau.layouts.sparse`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.layouts.sparse import *  # noqa: F403

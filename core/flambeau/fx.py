"""`torch.fx` for editors.  `import flambeau.fx` imports `flambeau_nnlib.compile.fx`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.compile.fx import *  # noqa: F403

"""`torch.export` for editors.  `import flambeau.export` imports `flambeau_nnlib.compile.export`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.compile.export import *  # noqa: F403

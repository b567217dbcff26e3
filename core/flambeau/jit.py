"""`torch.jit` for editors.  `import flambeau.jit` imports `flambeau_nnlib.compile.jit`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.compile.jit import *  # noqa: F403

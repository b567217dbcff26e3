"""`torch.cuda.amp` for editors.  `import flambeau.cuda.amp` imports `flambeau_nnlib.amp.cuda`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.amp.cuda import *  # noqa: F403

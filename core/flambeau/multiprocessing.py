"""`torch.multiprocessing` for editors.  `import flambeau.multiprocessing` imports `flambeau_nnlib.multiprocessing`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.multiprocessing import *  # noqa: F403

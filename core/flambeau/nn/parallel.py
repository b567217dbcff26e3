"""`torch.nn.parallel` for editors.  `import flambeau.nn.parallel` imports `flambeau_nnlib.nn.parallel`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.parallel import *  # noqa: F403

"""`torch.fft` for editors.  `import flambeau.fft` imports `flambeau.operations.fft.namespace`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.operations.fft.namespace import *  # noqa: F403

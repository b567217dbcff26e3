"""`torch.nn.utils.rnn` for editors.  `import flambeau.nn.utils.rnn` imports `flambeau_nnlib.nn.utils.rnn`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.nn.utils.rnn import *  # noqa: F403

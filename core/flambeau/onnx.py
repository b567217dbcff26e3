"""`torch.onnx` for editors.  `import flambeau.onnx` imports `flambeau_nnlib.compile.onnx`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau_nnlib.compile.onnx import *  # noqa: F403

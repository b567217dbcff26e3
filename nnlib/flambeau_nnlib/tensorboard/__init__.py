"""Writing event files for TensorBoard: `flambeau.utils.tensorboard`. It requires the package tensorboard.

- `writer`: `SummaryWriter`, the user interface, and `FileWriter`, which writes one file;
- `summary`: the data of each kind as protocol buffers;
- `images`: conversion of arrays to images;
- `graph`: recording the graph of a model;
- `embedding`: the files of the embedding projector.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

if find_spec("tensorboard") is None:  # libraries import this module to find out whether they can write event files
    raise ModuleNotFoundError(
        "TensorBoard logging requires the package tensorboard: pip install tensorboard pillow", name="tensorboard"
    )

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


def __getattr__(name: str) -> Any:
    if name == "RecordWriter":
        from tensorboard.summary.writer.record_writer import RecordWriter

        return RecordWriter
    raise AttributeError(f"module 'flambeau.utils.tensorboard' has no attribute '{name}'")

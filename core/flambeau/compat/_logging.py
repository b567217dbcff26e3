"""`torch._logging`: levels of PyTorch's loggers."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["set_logs"]


def set_logs(*, all: int | None = None, modules: dict[str, int] | None = None, **levels: Any) -> None:
    """Set the levels of loggers.

    Args:
        all: the level of the logger "torch".
        modules: levels by the name of a logger.
        levels: levels by the name of a part, such as `dynamo`.  Artifacts, which are switched by a bool, are ignored.
    """
    if all is not None:
        logging.getLogger("torch").setLevel(all)
    wanted = {f"torch._{part}": level for part, level in levels.items() if not isinstance(level, (bool, type(None)))}
    for name, level in {**wanted, **(modules or {})}.items():
        logging.getLogger(name).setLevel(level)

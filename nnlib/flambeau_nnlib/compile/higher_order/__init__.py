"""Higher-order operators: control flow that is preserved in exported graphs, and scans."""

from __future__ import annotations

from .associative_scan import associative_scan
from .control_flow import cond
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "while_loop"]

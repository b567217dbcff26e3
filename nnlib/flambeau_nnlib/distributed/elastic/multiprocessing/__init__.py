"""Where the output of started processes goes, and how their errors are told."""

from __future__ import annotations

from .errors import ChildFailedError, ProcessFailure, record
from .logs import DefaultLogsSpecs, LogsSpecs, Std

__all__ = ["ChildFailedError", "DefaultLogsSpecs", "LogsSpecs", "ProcessFailure", "Std", "record"]

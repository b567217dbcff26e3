"""Log files and error reports of the processes that a launcher starts."""

from __future__ import annotations

from .errors import ChildFailedError, ProcessFailure, record
from .logs import DefaultLogsSpecs, LogsSpecs, Std

__all__ = ["ChildFailedError", "DefaultLogsSpecs", "LogsSpecs", "ProcessFailure", "Std", "record"]

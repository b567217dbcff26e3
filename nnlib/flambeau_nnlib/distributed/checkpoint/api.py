"""The exception of failed checkpoints."""

from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Saving or loading failed in at least one process; all processes raise this.

    Args:
        msg: the step that failed.
        failures: the exceptions by rank.
    """

    def __init__(self, msg: str, failures: dict[int, BaseException]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, BaseException]:
        """Return the exceptions by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{set(self._failures)}"]
        for rank, error in self._failures.items():
            trace = "".join(traceback.format_exception(error))
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n{trace}")
        return "\n".join(lines)

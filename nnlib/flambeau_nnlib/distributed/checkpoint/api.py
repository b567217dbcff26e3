"""What is raised if a checkpoint fails."""

from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Something failed in one or several processes; all raise this.

    Args:
        msg: while doing what.
        failures: the exceptions, by rank.
    """

    def __init__(self, msg: str, failures: dict[int, BaseException]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, BaseException]:
        """The exceptions, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{set(self._failures)}"]
        for rank, error in self._failures.items():
            trace = "".join(traceback.format_exception(error))
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n{trace}")
        return "\n".join(lines)

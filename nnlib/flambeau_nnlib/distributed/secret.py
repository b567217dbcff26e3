"""The secret of a job. Processes without it cannot connect to the job.

Processes prove to each other that they have the secret before any other data is read: by HMAC challenges of
`multiprocessing.connection` on one host, by CURVE keys of ZeroMQ between hosts.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["VARIABLE", "job_secret"]

VARIABLE = "FLAMBEAU_JOB_SECRET"


def job_secret() -> bytes:
    """Return the secret that all processes of this job share.

    The environment variable `FLAMBEAU_JOB_SECRET` sets it; it must be the same on all hosts of a job. The launcher sets
    it for the processes that it starts. Without the variable, the secret is read from a file that only this user can
    read; the file is created when first needed. That suffices on one host, and on hosts that share home directories.
    """
    given = os.environ.get(VARIABLE)
    return hashlib.sha256(given.encode() if given else _user_secret()).digest()


def _user_secret() -> bytes:
    errors = []
    for folder in _folders():
        try:
            return _read_or_create(folder / "job-secret")
        except OSError as error:
            errors.append(str(error))
    raise RuntimeError(f"cannot store the secret of the job: {'; '.join(errors)}. Set {VARIABLE} to one value for all processes")


def _folders() -> list[Path]:
    """Return the folders to try for the secret file: the user's state directory, then a private temporary directory."""
    state = os.environ.get("XDG_STATE_HOME")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    temporary = Path(tempfile.gettempdir()) / f"flambeau-{user}"
    try:
        home = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError:  # the user has no home directory
        return [temporary]
    return [home / "flambeau", temporary]


def _read_or_create(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        descriptor, name = tempfile.mkstemp(dir=path.parent)  # readable by this user only
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        with suppress(FileExistsError):  # another process has created the file
            os.link(name, path)
        os.unlink(name)
    status = path.stat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise PermissionError(f"{path} must be owned by this user and not readable by others: remove it or run chmod 600")
    return path.read_bytes()

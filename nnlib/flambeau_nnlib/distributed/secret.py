"""The secret of a job: who does not hold it cannot talk to its processes.

Processes prove to each other that they hold it (HMAC challenges of `multiprocessing.connection` on one host, CURVE keys of
ZeroMQ between hosts) before anything else that they send is looked at.
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
    """The secret that all processes of this job share.

    It is what the environment variable `FLAMBEAU_JOB_SECRET` says, which the launcher sets for the processes that it starts
    and which has to be the same on all hosts of a job. Without it, it is a file that only this user can read, which is written
    when first needed: enough for jobs on one host, and for hosts that share their home directories.
    """
    given = os.environ.get(VARIABLE)
    return hashlib.sha256(given.encode() if given else _of_this_user()).digest()


def _of_this_user() -> bytes:
    errors = []
    for folder in _folders():
        try:
            return _read_or_create(folder / "job-secret")
        except OSError as error:
            errors.append(str(error))
    raise RuntimeError(f"cannot keep a secret for this job: {'; '.join(errors)}. Set {VARIABLE}, the same for all its processes")


def _folders() -> list[Path]:
    """Where the file may be: the user's state directory, or a private one among the temporary files."""
    state = os.environ.get("XDG_STATE_HOME")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    temporary = Path(tempfile.gettempdir()) / f"flambeau-{user}"
    try:
        home = Path(state) if state else Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home
        return [temporary]
    return [home / "flambeau", temporary]


def _read_or_create(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        descriptor, name = tempfile.mkstemp(dir=path.parent)  # which only this user may read
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
        with suppress(FileExistsError):  # another process was faster
            os.link(name, path)
        os.unlink(name)
    status = path.stat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise PermissionError(f"{path} is not this user's alone")
    return path.read_bytes()

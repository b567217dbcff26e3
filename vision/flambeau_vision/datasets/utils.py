"""Download, verify and unpack dataset files."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import os
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from .._extras import progress_bar

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_file_from_google_drive",
    "download_url",
    "extract_archive",
    "iterable_to_str",
    "list_dir",
    "list_files",
    "verify_str_arg",
]

_CHUNK = 1 << 20


def _open_xz(path: Any, mode: Any) -> Any:
    import lzma  # missing from some Python builds, such as Pyodide's

    return lzma.open(path, mode)


_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": _open_xz}
_SHORT_TAR_SUFFIXES = {".tgz": ".tar.gz", ".tbz": ".tar.bz2", ".tbz2": ".tar.bz2"}


def calculate_md5(fpath: str | Path, chunk_size: int = _CHUNK) -> str:
    """Return the MD5 checksum of a file as a hexadecimal string."""
    digest = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def check_md5(fpath: str | Path, md5: str, **kwargs: Any) -> bool:
    """Whether the MD5 checksum of the file equals `md5`."""
    return calculate_md5(fpath, **kwargs) == md5


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Whether the file exists and, if `md5` is given, has that checksum."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def _drive_file_id(url: str) -> str | None:
    """Return the file id of a Google Drive URL, or None for other URLs."""
    parts = urlparse(url)
    match = re.match(r"/file/d/([^/]*)", parts.path)
    return match[1] if match and parts.netloc in ("drive.google.com", "docs.google.com") else None


def _open_url(url: str, start: int, max_redirect_hops: int) -> Any:
    redirects = urllib.request.HTTPRedirectHandler()
    redirects.max_redirections = max_redirect_hops
    headers = {"User-Agent": "flambeau-vision"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.build_opener(redirects).open(urllib.request.Request(url, headers=headers))


def _fetch(url: str, part: Path, max_redirect_hops: int) -> None:
    """Download into the file `part`. If it exists, download only the missing rest, if the server supports that."""
    start = part.stat().st_size if part.exists() else 0
    try:
        response = _open_url(url, start, max_redirect_hops)
    except urllib.error.HTTPError as error:
        if not start or error.code != 416:  # HTTP 416: `part` is as long as the file, or longer
            raise
        part.unlink()
        return _fetch(url, part, max_redirect_hops)
    with response:
        resumed = start > 0 and response.status == 206
        start = start if resumed else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        with part.open("ab" if resumed else "wb") as file, progress_bar(total, start) as bar:
            while chunk := response.read(_CHUNK >> 4):
                file.write(chunk)
                bar.update(len(chunk))
    received = part.stat().st_size
    if total is not None and received < total:
        message = f"Download of {url} stopped after {received} of {total} bytes; call again to resume it."
        raise urllib.error.ContentTooShortError(message, None)


def download_url(
    url: str,
    root: str | Path,
    filename: str | Path | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Download `url` to `root/filename`, unless a file with the right checksum already exists.

    Bytes go to `filename.part`, which is renamed after it is complete and its checksum is verified, so a file under its final
    name is never partial. An interrupted download is resumed if `md5` is given, which verifies the joined file.

    Raises:
        RuntimeError: if the checksum of the downloaded file differs from `md5`.
        urllib.error.URLError: if the address cannot be reached or the connection ends early.
    """
    path = Path(root).expanduser() / (filename or os.path.basename(urlparse(url).path))
    if check_integrity(path, md5):
        return
    drive_file = _drive_file_id(url)
    if drive_file is not None:
        url = f"https://drive.usercontent.google.com/download?id={drive_file}&export=download&confirm=t"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    if md5 is None:
        part.unlink(missing_ok=True)
    _fetch(url, part, max_redirect_hops)
    if not check_integrity(part, md5):
        actual = calculate_md5(part)
        part.unlink()
        raise RuntimeError(f"File not found or corrupted: {url} has MD5 {actual}, expected {md5}.")
    os.replace(part, path)


def download_file_from_google_drive(
    file_id: str, root: str | Path, filename: str | Path | None = None, md5: str | None = None
) -> None:
    """Download a file from Google Drive, as `download_url` does. By default, it is named after its `file_id`."""
    download_url(f"https://drive.google.com/file/d/{file_id}/view", root, filename or file_id, md5)


def _split_archive_name(path: Path) -> tuple[str, str | None]:
    """Return `(archive suffix, compression suffix)`, such as `(".tar", ".gz")`, `(".zip", None)` or `("", ".gz")`."""
    if not path.suffix:
        raise RuntimeError(f"File '{path}' has no suffixes that could be used to detect the archive type and compression.")
    name = Path(path.stem + _SHORT_TAR_SUFFIXES.get(path.suffix, path.suffix))
    if name.suffix in (".tar", ".zip"):
        return name.suffix, None
    if name.suffix in _OPENERS:
        return (".tar" if Path(name.stem).suffix == ".tar" else ""), name.suffix
    known = sorted([".tar", ".zip", *_OPENERS, *_SHORT_TAR_SUFFIXES])
    raise RuntimeError(f"Unknown compression or archive type: '{path.suffix}'.\nKnown suffixes are: '{known}'.")


def _extract_tar(tar: tarfile.TarFile, target: Path) -> None:
    """Unpack into the folder `target`. Raise TarError for a member with a path outside of this folder."""
    if hasattr(tarfile, "data_filter"):
        tar.extractall(target, filter="data")
        return
    root = target.resolve()  # Python before 3.11.4 has no filters
    for member in tar:
        inside = (root / member.name).resolve().is_relative_to(root)
        if not inside or not (member.isfile() or member.isdir()):
            raise tarfile.ExtractError(f"{member.name!r} is not a file or folder below {str(root)!r}")
    tar.extractall(target)


def _move_contents(source: Path, target: Path) -> None:
    """Move the contents of `source` into `target`, merging folders of the same name."""
    for entry in list(os.scandir(source)):
        place = target / entry.name
        if entry.is_dir(follow_symlinks=False) and place.is_dir():
            _move_contents(Path(entry.path), place)
            continue
        try:
            os.replace(entry.path, place)
        except OSError as error:
            if error.errno != errno.EXDEV:  # `target` is a link to another file system, where files must be copied
                raise
            shutil.move(entry.path, place)


def extract_archive(from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False) -> str | Path:
    """Unpack a `.tar`, `.zip` or compressed (`.gz .bz2 .xz`) file into the folder `to_path`.

    Tar archives with members outside of the folder are rejected. Files are unpacked into the folder `.NAME.unfinished`, and
    moved to `to_path` when all are complete. A killed process leaves `.NAME.unfinished`, which the next call removes.

    Returns:
        The path of the folder, or of the unpacked file if `from_path` is not an archive but a single compressed file. It is a
        string if `from_path` is a string.

    Raises:
        RuntimeError: if the suffix is not a known archive or compression.
    """
    source = Path(from_path)
    target = Path(to_path) if to_path is not None else source.parent
    archive, compression = _split_archive_name(source)
    unfinished = target / f".{source.name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        if archive == ".tar":
            with tarfile.open(source) as tar:
                _extract_tar(tar, unfinished)
        elif archive == ".zip":
            with zipfile.ZipFile(source) as zipped:
                zipped.extractall(unfinished)
        else:
            with _OPENERS[compression](source, "rb") as packed, open(unfinished / source.stem, "wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        _move_contents(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if not archive:
        target = target / source.stem
    if remove_finished:
        source.unlink()
    return str(target) if isinstance(from_path, str) else target


def download_and_extract_archive(
    url: str,
    download_root: str | Path,
    extract_root: str | Path | None = None,
    filename: str | Path | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """`download_url` followed by `extract_archive`."""
    folder = Path(download_root).expanduser()
    filename = filename or os.path.basename(urlparse(url).path)
    download_url(url, folder, filename, md5)
    extract_archive(folder / filename, extract_root or folder, remove_finished)


def list_dir(root: str | Path, prefix: bool = False) -> list[str]:
    """Return the names of the folders in `root`, or their paths if `prefix` is True."""
    folders = [entry for entry in os.scandir(os.path.expanduser(root)) if entry.is_dir()]
    return [entry.path if prefix else entry.name for entry in folders]


def list_files(root: str | Path, suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """Return the names of the files in `root` that end with `suffix`, or their paths if `prefix` is True."""
    files = [entry for entry in os.scandir(os.path.expanduser(root)) if entry.is_file() and entry.name.endswith(suffix)]
    return [entry.path if prefix else entry.name for entry in files]


def iterable_to_str(iterable: Iterable) -> str:
    """Join the items into a comma-separated string, each in quotes."""
    return ", ".join(f"'{item}'" for item in iterable)


def verify_str_arg(
    value: Any,
    arg: str | None = None,
    valid_values: Iterable[str] | None = None,
    custom_msg: str | None = None,
) -> str:
    """Return `value` if it is one of `valid_values`.

    Raises:
        ValueError: if `value` is not valid.
    """
    if not isinstance(value, str):
        argument = f" for argument {arg}" if arg is not None else ""
        raise ValueError(f"Expected type str{argument}, but got type {type(value)}.")
    if valid_values is not None and value not in valid_values:
        accepted = iterable_to_str(valid_values)
        raise ValueError(custom_msg or f"Unknown value '{value}' for argument {arg}. Valid values are {{{accepted}}}.")
    return value

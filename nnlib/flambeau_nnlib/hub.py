"""`torch.hub`: download of checkpoints from URLs, and loading of models that GitHub repositories provide.

A repository defines its entry points, functions that return a model, in a file `hubconf.py`. Loading an entry point runs
code of the repository, so the user is asked to trust it first. Loading a checkpoint runs no code.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import flambeau as torch
from flambeau.extension import warn
from flambeau.extension.files import open_archive

try:
    from tqdm import tqdm as tqdm
except ImportError:
    tqdm = None
try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # matches bfd8deac in resnet18-bfd8deac.pth
TRUSTED_OWNERS = {"facebookresearch", "facebookincubator", "pytorch", "fairinternal"}
HUBCONF = "hubconf.py"
CHUNK_SIZE = 128 * 1024  # bytes
GITHUB = "https://github.com"
GITHUB_API = "https://api.github.com"

_directory: str | None = None


def get_dir() -> str:
    """Return the download directory: set by `set_dir`, else `$TORCH_HOME/hub`, else a directory in the user's cache."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    if _directory is not None:
        return _directory
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """Return `$TORCH_HOME`, or by default a directory in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the download directory."""
    global _directory
    _directory = os.path.expanduser(d)


# --- Files ---


def download_url_to_file(url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download `url` to the file `dst`. The file appears only when the download is complete.

    An interrupted download leaves a file `dst.NAME.partial`. The next call resumes it if the server's ETag or modification
    time shows that the remote file is unchanged, or if `hash_prefix` can verify the result.

    Args:
        url: the URL to download.
        dst: the path of the downloaded file.
        hash_prefix: the first digits of the file's SHA-256 digest. None disables the check.
        progress: whether to show a progress bar on standard error, if that is a terminal.

    Raises:
        RuntimeError: the digest does not start with `hash_prefix`.
    """
    target = Path(dst).expanduser()
    with _open_url(url) as response:
        version = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if version is not None and version.startswith("W/"):  # a weak ETag, which files with different bytes may share
            version = None
        can_resume = version is not None or hash_prefix is not None
        with _partial_file(target, f"{url} {version}", can_resume) as partial:
            start = partial.seek(0, os.SEEK_END)
            if start:
                response.close()
                was_resumed = _resume(url, version, partial, start, progress)
            else:
                was_resumed = False
                _receive(url, response, partial, 0, progress)
            partial.flush()
            digest = _digest(partial)
    path = Path(partial.name)
    if hash_prefix is None or digest.startswith(hash_prefix):
        with contextlib.suppress(FileNotFoundError):  # another process has already renamed this partial file
            path.replace(target)
        return
    path.unlink()
    if not was_resumed or version is not None:
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    download_url_to_file(url, dst, hash_prefix, progress)  # retry: the part that was resumed may be of another file


def _open_url(url: str, **headers: str) -> Any:
    return urlopen(Request(url, headers={"User-Agent": "torch.hub", **headers}))


@contextlib.contextmanager
def _partial_file(target: Path, identity: str, can_resume: bool) -> Iterator[IO[bytes]]:
    """Open the partial file of a download to `target`. If an error occurs, delete it, unless the download can be resumed."""
    file: IO[bytes] | None = None
    if can_resume:
        path = target.with_name(f"{target.name}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}.partial")
        file = path.open("a+b")
        if not _lock_file(file):  # another process is writing to the file
            file.close()
            file, can_resume = None, False
    if file is None:
        path = target.with_name(f"{target.name}.{uuid.uuid4().hex}.partial")
        file = path.open("x+b")
    try:
        with file:
            yield file
    except BaseException:
        if not can_resume:
            path.unlink(missing_ok=True)
        raise


def _lock_file(file: IO[bytes]) -> bool:
    """Lock a file until it is closed or the process ends. Return False if another process has locked it or completed it."""
    if sys.platform != "win32" and fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(file.name))
    except FileNotFoundError:  # another process has completed the download and renamed the file
        return False


def _resume(url: str, version: str | None, partial: IO[bytes], start: int, progress: bool) -> bool:
    """Resume a download after `start` bytes. Return False if the server sends the whole file again."""
    headers = {"Range": f"bytes={start}-", **({"If-Range": version} if version else {})}
    try:
        response = _open_url(url, **headers)
    except HTTPError as error:
        if error.code != 416:  # 416 is the answer if the partial file is already complete
            raise
        return True
    with response:
        was_resumed: bool = response.status == 206
        if not was_resumed:
            partial.truncate(0)
        _receive(url, response, partial, start if was_resumed else 0, progress)
    return was_resumed


def _receive(url: str, response: Any, partial: IO[bytes], start: int, progress: bool) -> None:
    length = response.headers.get("Content-Length")
    total = start + int(length) if length else None
    with _progress_bar(total, start, progress) as advance:
        while chunk := response.read(CHUNK_SIZE):
            partial.write(chunk)
            advance(len(chunk))
    received = partial.tell()
    if total is not None and received != total:
        raise RuntimeError(f"the download of {url} was incomplete: received {received} of {total} bytes; call again to retry")


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a file that can be read


@contextlib.contextmanager
def _progress_bar(total: int | None, start: int, visible: bool) -> Iterator[Callable[[int], Any]]:
    visible = visible and sys.stderr.isatty()
    if tqdm is not None:
        with tqdm(total=total, initial=start, disable=not visible, unit="B", unit_scale=True, unit_divisor=1024) as bar:
            yield bar.update
        return
    done = start

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if visible:
            sys.stderr.write(f"\r{100 * done / total:.1f}%" if total else f"\r{done} bytes")
            sys.stderr.flush()

    yield advance
    if visible:
        sys.stderr.write("\n")


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Download the file at `url`, unless it already exists in `model_dir`, and load it with `torch.load`.

    Args:
        url: the URL of the file.
        model_dir: the directory of the downloaded file. None uses `checkpoints` in `get_dir()`.
        map_location: see `torch.load`.
        progress: whether to show a progress bar on standard error, if that is a terminal.
        check_hash: whether to check the SHA-256 digest against the prefix in the file name, as in `name-bfd8deac.pth`.
        file_name: the name of the downloaded file. None uses the name in the URL.
        weights_only: see `torch.load`. False runs code from the downloaded file, and warns. PyTorch's default is False.

    Raises:
        RuntimeError: the digest does not match the file name.
        pickle.UnpicklingError: the file contains objects of classes that `weights_only` does not allow.
    """
    if not weights_only:
        warn(f"weights_only=False runs any code in the file that is downloaded from {url}. Do it only if you trust its source.")
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    directory = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / (file_name or os.path.basename(urlparse(url).path))
    if not file.exists():
        sys.stdout.write(f'Downloading: "{url}" to {file}\n')
        match = HASH_REGEX.search(file.name) if check_hash else None
        download_url_to_file(url, file, match[1] if match else None, progress=progress)
    result: dict[str, Any] = torch.load(_unpack_legacy_zip(file), map_location=map_location, weights_only=weights_only)
    return result


def _unpack_legacy_zip(file: Path) -> Path:
    """Unpack a zip archive that contains a single file, a legacy format of checkpoints. Return any other file unchanged."""
    try:
        opened = open_archive(file)
    except zipfile.BadZipFile:  # `torch.load` reports the damage, if it is not a file in another format
        return file
    with opened as archive:
        members = archive.infolist()
        if len(members) != 1 or members[0].is_dir():
            return file
        warnings.warn(
            "Falling back to the old format < 1.6. This support will be deprecated in favor of default "
            "zipfile format introduced in 1.6. Please redo torch.save() to save it in the new zipfile "
            "format.",
            FutureWarning,
            stacklevel=3,
        )
        _extract(archive, file.parent)
        return file.parent / members[0].filename


def _extract(archive: zipfile.ZipFile, directory: Path) -> None:
    """Extract all members. Raise ValueError if a member would be written outside `directory`."""
    directory = directory.resolve()
    for member in archive.infolist():
        if not (directory / member.filename).resolve().is_relative_to(directory):
            raise ValueError(f"Archive entry escapes target directory: {member.filename}")
    archive.extractall(directory)


# --- Repositories ---


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
    verbose: bool = True,
) -> builtins.list[str]:
    """Return the names of a repository's entry points. See `load` for the arguments."""
    module = _import_hubconf(_get_repository(github, force_reload, trust_repo, verbose, skip_validation))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str = "check",
) -> str | None:
    """Return the docstring of the entry point `model` of a repository. See `load` for the arguments."""
    module = _import_hubconf(_get_repository(github, force_reload, trust_repo, True, skip_validation))
    return _entry_point(module, model).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call the entry point `model` of a repository with `*args` and `**kwargs`, and return its result.

    Args:
        repo_or_dir: `"owner/name"` or `"owner/name:ref"`, where `ref` is a branch or tag. A directory if `source="local"`.
        model: the name of the entry point.
        *args: positional arguments of the entry point.
        source: `"github"` or `"local"`.
        trust_repo: True trusts the repository, False always asks the user, and `"check"` asks unless it is trusted already.
        force_reload: whether to download the repository again even if it is in the cache.
        verbose: whether to print a message if the cached files are used.
        skip_validation: whether to skip checking on GitHub that the ref belongs to the repository.
        **kwargs: keyword arguments of the entry point.

    Raises:
        ValueError: `source` is unknown.
        RuntimeError: the entry point does not exist, or one of its dependencies is missing.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _get_repository(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    with _importable(repo_or_dir):
        return _entry_point(_import_hubconf(repo_or_dir), model)(*args, **kwargs)


@contextlib.contextmanager
def _importable(directory: str) -> Iterator[None]:
    sys.path.insert(0, directory)
    try:
        yield
    finally:
        sys.path.remove(directory)


def _import_hubconf(directory: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(HUBCONF, os.path.join(directory, HUBCONF))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _importable(directory):
        spec.loader.exec_module(module)
    return module


def _entry_point(module: ModuleType, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    packages = getattr(module, "dependencies", None) or []
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    result: Callable[..., Any] = function
    return result


def _get_repository(github: str, force_reload: bool, trust_repo: bool | str, verbose: bool, skip_validation: bool) -> str:
    """Return the directory of the repository's files, after downloading them if necessary."""
    hub = Path(get_dir())
    hub.mkdir(parents=True, exist_ok=True)
    owner, name, ref = _parse_repository(github)
    repository = hub / "_".join([owner, name, ref.replace("/", "_")])
    _check_trust(owner, name, repository, trust_repo)
    if repository.exists() and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {repository}\n")
        return str(repository)
    if not skip_validation:
        _check_ref(owner, name, ref)
    _download_repository(owner, name, ref, repository)
    return str(repository)


def _parse_repository(github: str) -> tuple[str, str, str]:
    """Parse `owner/name:ref`. Without a ref, use the branch `main` if it exists, else `master`."""
    repository, _, ref = github.partition(":")
    owner, name = repository.split("/")
    if ref:
        return owner, name, ref
    try:
        with urlopen(f"{GITHUB}/{owner}/{name}/tree/main/"):
            return owner, name, "main"
    except HTTPError as error:
        if error.code == 404:
            return owner, name, "master"
        raise
    except URLError as error:
        for branch in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{branch}"):
                return owner, name, branch
        raise RuntimeError(
            f"It looks like there is no internet connection and the repo could not be found in the cache ({get_dir()})"
        ) from error


def _check_trust(owner: str, name: str, repository: Path, trust_repo: bool | str) -> None:
    """Ask the user to trust a repository if necessary, and add trusted repositories to the list."""
    trusted_list = repository.parent / "trusted_list"
    trusted_list.touch()
    full_name = f"{owner}_{name}"
    trusted = full_name in trusted_list.read_text().split() or repository.is_dir() or owner in TRUSTED_OWNERS
    if trust_repo is False or (trust_repo == "check" and not trusted):
        answer = input(
            f"The repository {full_name} does not belong to the list of trusted repositories and as such "
            "cannot be downloaded. Do you trust this repository and wish to add it to the trusted list of "
            "repositories (y/N)?"
        ).lower()
        if answer in ("n", "no", ""):
            raise PermissionError("Untrusted repository.")
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        if trusted:
            print("The repository is already trusted.")
    if not trusted:
        with trusted_list.open("a") as file:
            file.write(f"{full_name}\n")


def _check_ref(owner: str, name: str, ref: str) -> None:
    """Raise ValueError unless `ref` is a branch or tag of the repository itself. Commits of forks are rejected."""
    for kind in ("branches", "tags"):
        page = 1
        while entries := _query_github(f"{GITHUB_API}/repos/{owner}/{name}/{kind}?per_page=100&page={page}"):
            if any(entry["name"] == ref or entry["commit"]["sha"].startswith(ref) for entry in entries):
                return
            page += 1
    raise ValueError(
        f"Cannot find {ref} in {GITHUB}/{owner}/{name}. If it's a commit from a forked repo, please call "
        "hub.load() with forked repo directly."
    )


def _query_github(url: str) -> Any:
    headers = {"Accept": "application/vnd.github.v3+json"}
    token = os.environ.get("GITHUB_TOKEN")
    try:
        with urlopen(Request(url, headers=headers | ({"Authorization": f"token {token}"} if token else {}))) as reply:
            return json.load(reply)
    except HTTPError:
        if not token:
            raise
        with urlopen(Request(url, headers=headers)) as reply:  # retry without the access token, which may lack permissions
            return json.load(reply)


def _download_repository(owner: str, name: str, ref: str, repository: Path) -> None:
    archive_file = repository.parent / f"{ref.replace('/', '_')}.zip"
    url = f"{GITHUB}/{owner}/{name}/zipball/"
    sys.stdout.write(f'Downloading: "{url}{ref}" to {archive_file}\n')
    try:
        download_url_to_file(url + ref, archive_file, progress=False)
    except HTTPError as error:
        if error.code != 300:
            raise
        warnings.warn(
            f"The ref {ref} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub will "
            "now assume that it's a branch. You can disambiguate tags and branches by explicitly passing "
            "refs/heads/branch_name or refs/tags/tag_name as the ref. That might require using "
            "skip_validation=True.",
            stacklevel=2,
        )
        download_url_to_file(f"{url}refs/heads/{ref}", archive_file, progress=False)
    try:
        with open_archive(archive_file) as archive:
            extracted = repository.parent / archive.infolist()[0].filename
            shutil.rmtree(extracted, ignore_errors=True)
            _extract(archive, repository.parent)
        shutil.rmtree(repository, ignore_errors=True)
        shutil.move(extracted, repository)
    finally:
        archive_file.unlink()

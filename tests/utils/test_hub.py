"""`torch.hub`: downloads from a local server, and entry points of repositories."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import http.server
import io
import json
import os
import sys
import threading
import zipfile

import pytest
from flambeau.utils.ffi import create_extension

import flambeau as torch
from flambeau import hub
from flambeau.utils import model_zoo

HUBCONF = '''
import helper_of_the_hub
dependencies = ["json"]

def tiny(size, bias=False):
    """A tiny model."""
    return "tiny", size, bias, helper_of_the_hub.VALUE

def _private():
    pass
'''


class Server(http.server.ThreadingHTTPServer):
    """An HTTP server of `pages` (path -> content or status code) that records the requested paths in `asked`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = {}
        self.asked = []
        self.version = None  # ETag header
        self.has_ranges = True
        self.ranges = []  # start offsets of range requests
        self.breaks_after = None  # number of bytes after which a response ends
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path, 404)
        if isinstance(page, int):
            self.send_error(page)
            return
        start, wanted = 0, self.headers.get("Range")
        if wanted and self.server.has_ranges and self.headers.get("If-Range", self.server.version) == self.server.version:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.server.ranges.append(start)
            if start >= len(page):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if self.server.version:
            self.send_header("ETag", self.server.version)
        self.send_header("Content-Length", str(len(page) - start + 10 * self.path.endswith("truncated")))
        self.end_headers()
        end = None if self.server.breaks_after is None else start + self.server.breaks_after
        with contextlib.suppress(ConnectionError):  # the client may close the connection early
            self.wfile.write(page[start:end])
        self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_directory", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "hub"


def saved(value) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


# --- Files ---


def test_the_directory_follows_the_environment(monkeypatch, tmp_path):
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert hub.get_dir() == str(tmp_path / "cache" / "torch" / "hub")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert hub.get_dir() == os.path.expanduser("~/.cache/torch/hub")
    hub.set_dir("~/models")
    assert hub.get_dir() == os.path.expanduser("~/models")
    monkeypatch.setenv("TORCH_HUB", "x")
    with pytest.warns(UserWarning, match="TORCH_HUB is deprecated"):
        hub.get_dir()


@pytest.mark.parametrize("size", [0, 1, 300_000])
def test_a_file_arrives_completely(server, tmp_path, size, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    content = os.urandom(size)
    server.pages["/file"] = content
    hub.download_url_to_file(f"{server.url}/file", str(tmp_path / "copy"), hashlib.sha256(content).hexdigest()[:8])
    assert (tmp_path / "copy").read_bytes() == content
    assert os.listdir(tmp_path) == ["copy"]
    shown = capsys.readouterr().err
    assert ("100" in shown) == (size > 0)
    hub.download_url_to_file(f"{server.url}/file", tmp_path / "copy", progress=False)
    assert capsys.readouterr().err == ""


def test_progress_without_tqdm(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(hub, "tqdm", None)
    server.pages["/file"] = b"x" * 200_000
    hub.download_url_to_file(f"{server.url}/file", tmp_path / "copy")
    assert capsys.readouterr().err == ""  # no progress bar without a terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    hub.download_url_to_file(f"{server.url}/file", tmp_path / "copy")
    assert capsys.readouterr().err.endswith("100.0%\n")


CONTENT = os.urandom(300_000)


def assert_download_breaks(server, target, **options):
    """Break off a download after 100,000 bytes, and assert that it raises and leaves no file `target`."""
    server.pages["/file"], server.breaks_after = CONTENT, 100_000
    with pytest.raises(RuntimeError, match="received 100000 of 300000 bytes"):
        hub.download_url_to_file(f"{server.url}/file", target, progress=False, **options)
    server.breaks_after = None
    assert not target.exists()


@pytest.mark.parametrize(("version", "hashed"), [('"1"', False), ('"1"', True), (None, True)])
def test_a_download_is_resumed(server, tmp_path, version, hashed):
    server.version, target = version, tmp_path / "copy"
    options = {"hash_prefix": hashlib.sha256(CONTENT).hexdigest()} if hashed else {}
    assert_download_breaks(server, target, **options)
    (partial,) = tmp_path.iterdir()
    assert partial.read_bytes() == CONTENT[:100_000]
    hub.download_url_to_file(f"{server.url}/file", target, progress=False, **options)
    assert target.read_bytes() == CONTENT and server.ranges == [100_000] and os.listdir(tmp_path) == ["copy"]


def test_a_download_that_only_has_to_be_renamed(server, tmp_path):
    server.version, target = '"1"', tmp_path / "copy"
    assert_download_breaks(server, target)
    (partial,) = tmp_path.iterdir()
    partial.write_bytes(CONTENT)  # as if killed after the last byte, before renaming the file
    hub.download_url_to_file(f"{server.url}/file", target, progress=False)
    assert target.read_bytes() == CONTENT and server.ranges == [300_000]


@pytest.mark.parametrize("change", ["version", "content", "ranges"])
def test_a_part_of_another_file_is_not_used(server, tmp_path, change):
    target, other = tmp_path / "copy", CONTENT[::-1]
    server.version = None if change == "content" else '"1"'
    options = {"hash_prefix": hashlib.sha256(other).hexdigest()} if change == "content" else {}
    assert_download_breaks(server, target, **options)
    server.version = '"2"' if change == "version" else server.version
    server.has_ranges = change != "ranges"
    server.pages["/file"] = CONTENT if change == "ranges" else other
    target.write_bytes(b"what was there before")
    hub.download_url_to_file(f"{server.url}/file", target, progress=False, **options)
    assert target.read_bytes() == server.pages["/file"]
    assert server.ranges == ([100_000] if change == "content" else [])


@pytest.mark.parametrize("version", [None, 'W/"1"'])
def test_without_a_version_or_a_hash_nothing_is_kept(server, tmp_path, version):
    server.version = version
    assert_download_breaks(server, tmp_path / "copy")
    assert os.listdir(tmp_path) == []


def test_two_downloads_of_one_file_do_not_mix(server, tmp_path):
    server.version, target = '"1"', tmp_path / "copy"
    assert_download_breaks(server, target)
    fcntl = pytest.importorskip("fcntl")
    (partial,) = tmp_path.iterdir()
    with partial.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the lock of another process that is downloading
        hub.download_url_to_file(f"{server.url}/file", target, progress=False)
    assert target.read_bytes() == CONTENT and partial.read_bytes() == CONTENT[:100_000] and server.ranges == []


FAILURES = {
    "wrong hash": ("/file", {"hash_prefix": "12345678"}, RuntimeError, 'invalid hash value \\(expected "12345678", got'),
    "missing": ("/nothing", {}, OSError, "404"),
    "truncated": ("/truncated", {}, RuntimeError, "received 7 of 17 bytes"),
    "no directory": ("/file", {"to": "no/such/directory/file"}, FileNotFoundError, "directory"),
}


@pytest.mark.parametrize(("path", "options", "error", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_nothing_is_left_of_a_failed_download(server, tmp_path, path, options, error, message):
    server.pages["/file"] = server.pages["/truncated"] = b"content"
    target = tmp_path / options.pop("to", "copy")
    if target.parent == tmp_path:
        target.write_bytes(b"what was there before")
    before = {path: path.read_bytes() for path in tmp_path.glob("*")}
    with pytest.raises(error, match=message):
        hub.download_url_to_file(server.url + path, str(target), progress=False, **options)
    assert {path: path.read_bytes() for path in tmp_path.glob("*")} == before


def test_a_checkpoint_is_downloaded_once(server, directory, capsys):
    state = collections.OrderedDict(weight=torch.arange(3.0))
    content = saved(state)
    name = f"model-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    server.pages[f"/{name}"] = content
    url = f"{server.url}/{name}?version=1"
    server.pages[f"/{name}?version=1"] = content
    for load in (hub.load_state_dict_from_url, model_zoo.load_url):
        loaded = load(url, progress=False, check_hash=True)
        assert loaded["weight"].tolist() == [0, 1, 2]
    file = directory / "checkpoints" / name
    assert capsys.readouterr().out == f'Downloading: "{url}" to {file}\n'
    assert len(server.asked) == 1 and file.read_bytes() == content


def test_where_a_checkpoint_goes(server, tmp_path, monkeypatch):
    server.pages["/a.pth"] = saved({"x": 1})
    monkeypatch.setenv("TORCH_MODEL_ZOO", "x")
    with pytest.warns(UserWarning, match="TORCH_MODEL_ZOO is deprecated"):
        loaded = hub.load_state_dict_from_url(
            f"{server.url}/a.pth",
            model_dir=str(tmp_path / "here"),
            file_name="b.pth",
            map_location="cpu",
            weights_only=True,
            progress=False,
        )
    assert loaded == {"x": 1}
    assert os.listdir(tmp_path / "here") == ["b.pth"]


def test_a_checkpoint_with_the_wrong_hash_is_not_kept(server, directory):
    server.pages["/model-00000000.pth"] = saved({})
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(f"{server.url}/model-00000000.pth", progress=False, check_hash=True)
    assert os.listdir(directory / "checkpoints") == []


def zip_of(files: dict) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_zipped_checkpoints(server, directory):
    server.pages["/old.zip"] = zip_of({"inner.pth": saved({"x": 2})})
    with pytest.warns(FutureWarning, match="Falling back to the old format"):
        assert hub.load_state_dict_from_url(f"{server.url}/old.zip", progress=False) == {"x": 2}
    server.pages["/bad.zip"] = zip_of({"../../outside.pth": saved({})})
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="escapes target directory"):
        hub.load_state_dict_from_url(f"{server.url}/bad.zip", progress=False)


# --- Repositories ---


@pytest.fixture
def repository(server, monkeypatch):
    """Serve a repository owner/models with the branch `main`."""
    monkeypatch.setattr(hub, "GITHUB", server.url)
    monkeypatch.setattr(hub, "GITHUB_API", f"{server.url}/api")
    prefix = "owner-models-abc123/"
    server.pages["/owner/models/tree/main/"] = b""
    server.pages["/owner/models/zipball/main"] = zip_of(
        {prefix: "", f"{prefix}hubconf.py": HUBCONF, f"{prefix}helper_of_the_hub.py": "VALUE = 42"}
    )
    branches = [{"name": "main", "commit": {"sha": "abc123"}}]
    server.pages["/api/repos/owner/models/branches?per_page=100&page=1"] = json.dumps(branches).encode()
    for page in ("branches?per_page=100&page=2", "tags?per_page=100&page=1"):
        server.pages[f"/api/repos/owner/models/{page}"] = b"[]"
    return server


def test_a_repository(repository, directory, capsys):
    assert hub.load("owner/models", "tiny", 3, bias=True, trust_repo=True) == ("tiny", 3, True, 42)
    assert sorted(os.listdir(directory)) == ["owner_models_main", "trusted_list"]
    assert (directory / "trusted_list").read_text() == "owner_models\n"
    count = len(repository.asked)
    assert hub.list("owner/models:main") == ["tiny"]
    assert hub.help("owner/models:main", "tiny") == "A tiny model."
    assert len(repository.asked) == count
    assert f"Using cache found in {directory / 'owner_models_main'}" in capsys.readouterr().err
    assert hub.list("owner/models:main", force_reload=True, verbose=False) == ["tiny"]
    assert len(repository.asked) > count


def test_the_user_is_asked(repository, monkeypatch, directory):
    answers = {"n": PermissionError, "": PermissionError, "what?": ValueError}
    for answer, error in answers.items():
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: answer)
        with pytest.raises(error):
            hub.list("owner/models")
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert hub.list("owner/models") == ["tiny"]
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail("asked again"))
    assert hub.list("owner/models") == ["tiny"]


def test_refs(repository, directory, monkeypatch):
    with pytest.raises(ValueError, match=r"Cannot find dev in .*owner/models\. If it's a commit from a forked repo"):
        hub.list("owner/models:dev", trust_repo=True)
    repository.pages["/owner/models/zipball/dev/x"] = repository.pages["/owner/models/zipball/main"]
    assert hub.list("owner/models:dev/x", trust_repo=True, skip_validation=True) == ["tiny"]
    assert (directory / "owner_models_dev_x").is_dir()
    del repository.pages["/owner/models/tree/main/"]
    with pytest.raises(ValueError, match="Cannot find master"):
        hub.list("owner/models", trust_repo=True)
    monkeypatch.setattr(hub, "GITHUB", "http://127.0.0.1:9")
    assert hub.list("owner/models:dev/x") == ["tiny"]
    with pytest.raises(RuntimeError, match="no internet connection and the repo could not be found in the cache"):
        hub.list("owner/models", trust_repo=True)


def test_an_ambiguous_ref_is_a_branch(repository):
    repository.pages["/owner/models/zipball/refs/heads/main"] = repository.pages["/owner/models/zipball/main"]
    repository.pages["/owner/models/zipball/main"] = 300
    with pytest.warns(UserWarning, match="The ref main is ambiguous"):
        assert hub.list("owner/models:main", trust_repo=True) == ["tiny"]


def test_local_directories(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF.replace('["json"]', '["json", "no_such_package"]'))
    (tmp_path / "helper_of_the_hub.py").write_text("VALUE = 42")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(str(tmp_path), "tiny", 1, source="local")
    (tmp_path / "hubconf.py").write_text("def one():\n    return 1\n\nvalue = 2\n")
    assert hub.load(str(tmp_path), "one", source="LOCAL") == 1
    for name in ("two", "value"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {name} in hubconf"):
            hub.load(str(tmp_path), name, source="local")
    with pytest.raises(ValueError, match="model should be a string of function name"):
        hub.load(str(tmp_path), 3, source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(str(tmp_path), "one", source="web")


# --- Extensions in C ---


def write_extension(directory):
    (directory / "scale.h").write_text(
        """
        int scale(float *data, int count, float factor);
        long total(const long *data, int count);
        """
    )
    (directory / "scale.c").write_text(
        """
        int scale(float *data, int count, float factor) {
            for (int i = 0; i < count; i++) data[i] *= factor;
            return count;
        }
        long total(const long *data, int count) {
            long sum = 0;
            for (int i = 0; i < count; i++) sum += data[i];
            return sum;
        }
        """
    )
    return create_extension(
        "extensions.scaling", headers="scale.h", sources=["scale.c"], verbose=False, relative_to=str(directory / "build.py")
    )


def test_an_extension_in_c_works_on_tensors(tmp_path, monkeypatch):
    pytest.importorskip("cffi")
    write_extension(tmp_path).build()
    monkeypatch.syspath_prepend(tmp_path)
    from extensions import scaling

    tensor = torch.arange(4.0)
    assert scaling.scale(tensor[1:], 3, 10.0) == 3
    assert tensor.tolist() == [0, 10, 20, 30]
    assert scaling.total(torch.arange(5), 5) == 10
    with pytest.raises(TypeError, match=r"expected a tensor that fits 'float \*', but got one of torch.float64"):
        scaling.scale(tensor.double(), 4, 1.0)
    with pytest.raises(TypeError, match=r"expected a contiguous CPU tensor for 'float \*'"):
        scaling.scale(tensor[::2], 2, 1.0)
    with pytest.raises(TypeError, match="3 arguments"):
        scaling.scale(tensor)


def test_extensions_need_cffi(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cffi", None)
    with pytest.raises(ImportError, match="requires the cffi package: python -m pip install cffi"):
        write_extension(tmp_path)

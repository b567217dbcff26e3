"""Downloads, checksums and archives of dataset files."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import ContentTooShortError, HTTPError

import pytest
from PIL import Image

from flambeau_vision import datasets
from flambeau_vision.datasets import utils

# Downloads


class Server(SimpleHTTPRequestHandler):
    """An HTTP server of `content` that supports range requests, and can break off responses and redirect requests."""

    content = bytes(range(256)) * 1000
    requests: list[str | None]
    break_after: int | None = None
    redirects = 0

    def log_message(self, *args):
        pass

    def do_GET(self):
        cls = type(self)
        if cls.redirects > 0:
            cls.redirects -= 1
            self.send_response(302)
            self.send_header("Location", f"/again{cls.redirects}")
            return self.end_headers()
        wanted = self.headers.get("Range")
        cls.requests.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(self.content):
            return self.send_error(416)
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.end_headers()
        end = None if cls.break_after is None else start + cls.break_after
        self.wfile.write(self.content[start:end])
        self.close_connection = True


@pytest.fixture
def server():
    handler = type("Handler", (Server,), {"requests": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        handler.url = f"http://127.0.0.1:{http.server_address[1]}/file.bin"
        handler.md5 = hashlib.md5(handler.content).hexdigest()
        yield handler
        http.shutdown()


def test_download_and_skip(tmp_path, server, capsys, monkeypatch):
    utils.download_url(server.url, tmp_path / "piped", md5=server.md5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    server.requests.clear()
    utils.download_url(server.url, tmp_path, md5=server.md5)
    assert (tmp_path / "file.bin").read_bytes() == server.content
    assert "100%" in capsys.readouterr().err  # the progress bar, shown only on a terminal
    utils.download_url(server.url, tmp_path, md5=server.md5)
    assert len(server.requests) == 1


def test_download_resumes(tmp_path, server):
    server.break_after = 100_000
    with pytest.raises(ContentTooShortError, match="stopped after 100000 of 256000 bytes"):
        utils.download_url(server.url, tmp_path, md5=server.md5)
    assert not (tmp_path / "file.bin").exists()  # no partial file under the final name
    server.break_after = None
    utils.download_url(server.url, tmp_path, md5=server.md5)
    assert (tmp_path / "file.bin").read_bytes() == server.content
    assert server.requests == [None, "bytes=100000-"]


def test_download_without_checksum_starts_anew(tmp_path, server):
    (tmp_path / "file.bin.part").write_bytes(b"of something else")
    utils.download_url(server.url, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == server.content and server.requests == [None]


def test_complete_part_is_taken(tmp_path, server):
    (tmp_path / "file.bin.part").write_bytes(server.content + b"and more")
    utils.download_url(server.url, tmp_path, md5=server.md5)
    assert (tmp_path / "file.bin").read_bytes() == server.content


def test_wrong_checksum(tmp_path, server):
    with pytest.raises(RuntimeError, match=f"has MD5 {server.md5}, expected 0000"):
        utils.download_url(server.url, tmp_path, "renamed", md5="0" * 32)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("redirects", "allowed"), [(2, True), (5, False)])
def test_redirects_are_limited(tmp_path, server, redirects, allowed):
    server.redirects = redirects
    download = partial(utils.download_url, server.url, tmp_path, md5=server.md5)
    if allowed:
        download()
        assert (tmp_path / "file.bin").exists()
    else:
        with pytest.raises(HTTPError):
            download()


def test_google_drive_address(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(utils, "_fetch", lambda url, part, hops: (asked.append(url), part.write_bytes(b"x")))
    utils.download_file_from_google_drive("some-id", tmp_path)
    assert "drive.usercontent.google.com" in asked[0] and "id=some-id" in asked[0]
    assert (tmp_path / "some-id").read_bytes() == b"x"


# Archives


def make_tar(path: Path, mode: str, name: str = "inside/a.txt") -> None:
    with tarfile.open(path, mode) as tar:
        member = tarfile.TarInfo(name)
        member.size = 5
        tar.addfile(member, io.BytesIO(b"hello"))


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2"), ("a.tar.xz", "w:xz")]
)
def test_extract_tar(tmp_path, name, mode):
    make_tar(tmp_path / name, mode)
    result = utils.extract_archive(str(tmp_path / name), tmp_path / "out", remove_finished=True)
    assert (tmp_path / "out/inside/a.txt").read_bytes() == b"hello" and result == str(tmp_path / "out")
    assert not (tmp_path / name).exists()


def test_extract_zip_and_single_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.writestr("b.txt", "zip")
    utils.extract_archive(tmp_path / "a.zip")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"single"))
    assert utils.extract_archive(tmp_path / "c.txt.gz") == tmp_path / "c.txt"
    assert (tmp_path / "b.txt").read_text() == "zip" and (tmp_path / "c.txt").read_text() == "single"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills a process")
def test_a_half_extracted_dataset_is_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "check_integrity", lambda path, md5=None: Path(path).is_file())
    with zipfile.ZipFile(tmp_path / "EuroSAT.zip", "w") as zipped:
        for name in ("a/1", "a/2", "b/1"):
            picture = io.BytesIO()
            Image.new("RGB", (2, 2)).save(picture, "PNG")
            zipped.writestr(f"2750/{name}.png", picture.getvalue())
    (tmp_path / "data" / "eurosat").mkdir(parents=True)
    (tmp_path / "EuroSAT.zip").rename(tmp_path / "data" / "eurosat" / "EuroSAT.zip")
    program = f"""
import os, signal, zipfile
from flambeau_vision.datasets import EuroSAT, utils
original, written = zipfile.ZipFile._extract_member, []
def extract(self, member, *args):
    written.append(member)
    if len(written) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, member, *args)
zipfile.ZipFile._extract_member = extract
utils.check_integrity = lambda path, md5=None: os.path.isfile(path)
EuroSAT({str(tmp_path / "data")!r}, download=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False, env=os.environ
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with pytest.raises(RuntimeError, match="Dataset not found"):
        datasets.EuroSAT(tmp_path / "data")
    assert len(datasets.EuroSAT(tmp_path / "data", download=True)) == 3
    assert sorted(os.listdir(tmp_path / "data" / "eurosat")) == ["2750", "EuroSAT.zip"]


def test_archives_in_an_archive(tmp_path, monkeypatch):
    picture = io.BytesIO()
    Image.new("RGB", (2, 2)).save(picture, "JPEG")
    published = tmp_path / "caltech-101.zip"
    with zipfile.ZipFile(published, "w") as zipped:
        for name, mode, content in (
            ("101_ObjectCategories.tar.gz", "w:gz", "101_ObjectCategories/ant/image_0001.jpg"),
            ("Annotations.tar", "w", "Annotations/ant/annotation_0001.mat"),
        ):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode=mode) as tar:
                member = tarfile.TarInfo(content)
                member.size = len(picture.getvalue())
                tar.addfile(member, io.BytesIO(picture.getvalue()))
            zipped.writestr(f"caltech-101/{name}", packed.getvalue())
    monkeypatch.setattr(datasets.Caltech101, "_archives", [(published.as_uri(), hashlib.md5(published.read_bytes()).hexdigest())])
    assert datasets.Caltech101(tmp_path / "data", download=True).categories == ["ant"]
    assert (tmp_path / "data/caltech101/Annotations/ant/annotation_0001.mat").is_file()


def test_archives_add_to_folders(tmp_path):
    (tmp_path / "real" / "inside").mkdir(parents=True)
    (tmp_path / "real" / "inside" / "before.txt").write_text("kept")
    (tmp_path / "real" / "inside" / "a.txt").write_text("replaced")
    os.symlink(tmp_path / "real", tmp_path / "out")
    make_tar(tmp_path / "a.tar", "w")
    utils.extract_archive(tmp_path / "a.tar", tmp_path / "out")
    assert {path.name: path.read_text() for path in (tmp_path / "real" / "inside").iterdir()} == {
        "before.txt": "kept",
        "a.txt": "hello",
    }
    assert os.listdir(tmp_path / "real") == ["inside"]


@pytest.mark.parametrize("filters", [True, False])
def test_archive_may_not_write_elsewhere(tmp_path, monkeypatch, filters):
    if not filters:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    make_tar(tmp_path / "a.tar", "w", "../outside.txt")
    with pytest.raises(tarfile.TarError):
        utils.extract_archive(tmp_path / "a.tar", tmp_path / "out")
    assert not (tmp_path / "outside.txt").exists() and os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize(("name", "message"), [("plain", "has no suffixes"), ("a.rar", r"archive type: '\.rar'")])
def test_unknown_archives(tmp_path, name, message):
    with pytest.raises(RuntimeError, match=message):
        utils.extract_archive(tmp_path / name)


def test_listing_and_integrity(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_bytes(b"abc")
    assert utils.list_dir(tmp_path) == ["folder"] and utils.list_files(tmp_path, ".txt") == ["a.txt"]
    assert utils.list_files(str(tmp_path), (".txt",), prefix=True) == [str(tmp_path / "a.txt")]
    assert utils.check_integrity(tmp_path / "a.txt", "900150983cd24fb0d6963f7d28e17f72")
    assert not utils.check_integrity(tmp_path / "a.txt", "0" * 32) and not utils.check_integrity(tmp_path / "b")


def test_verify_str_arg():
    assert utils.verify_str_arg("a", "letter", ["a", "b"]) == "a"
    with pytest.raises(ValueError, match=r"Unknown value 'c' for argument letter\. Valid values are \{'a', 'b'\}\."):
        utils.verify_str_arg("c", "letter", ["a", "b"])
    with pytest.raises(ValueError, match="Expected type str for argument letter, but got type <class 'int'>"):
        utils.verify_str_arg(1, "letter")

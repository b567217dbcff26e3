"""The Flickr8k and Flickr30k datasets: photographs with five captions each."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from .folder import default_loader
from .vision import VisionDataset

__all__ = ["Flickr8k", "Flickr30k"]


class _CaptionTable(HTMLParser):
    """Parse the HTML table of captions: a link to a photograph, followed by list items with its captions."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._photos = folder
        self._in_table = False
        self._tag = ""
        self._photo: str | None = None
        self.captions: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._tag = tag
        self._in_table = self._in_table or tag == "table"

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""
        self._in_table = self._in_table and tag != "table"

    def handle_data(self, data: str) -> None:
        if not self._in_table:
            return
        if data == "Image Not Found":
            self._photo = None
        elif self._tag == "a":
            number = data.split("/")[-2]
            self._photo = str(next(self._photos.glob(f"{number}_*.jpg")))
            self.captions[self._photo] = []
        elif self._tag == "li" and self._photo is not None:
            self.captions[self._photo].append(data.strip())


class _Flickr(VisionDataset):
    def __init__(
        self,
        root: str | Path,
        ann_file: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = Path(ann_file).expanduser()
        self.loader = loader
        self.annotations = self._read_annotations()
        self.ids = sorted(self.annotations)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name = self.ids[index]
        return self._transformed(self.loader(str(self._folder / name)), self.annotations[name])


class Flickr8k(_Flickr):
    """[Flickr8k](http://hockenmaier.cs.illinois.edu/8k-pictures.html): 8,000 photographs with five captions each.

    Hodosh, Young and Hockenmaier, "Framing Image Description as a Ranking Task", 2013.

    Args:
        root: the folder of the photographs.
        ann_file: the HTML page of the captions.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a list of captions).
        loader: a function that reads a file.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (6, 4)).save(Path(root, "12_ab.jpg"))
        ...     row = "<a>http://flickr/12/</a><ul><li>A dog.</li><li>An animal.</li></ul>"
        ...     _ = Path(root, "captions.html").write_text(f"<table>{row}</table>")
        ...     photos = datasets.Flickr8k(root, Path(root, "captions.html"))
        ...     photos[0][0].size, photos[0][1]
        ((6, 4), ['A dog.', 'An animal.'])
    """

    def _read_annotations(self) -> dict[str, list[str]]:
        table = _CaptionTable(self._folder)
        table.feed(self.ann_file.read_text(encoding="utf-8"))
        return table.captions


class Flickr30k(_Flickr):
    r"""[Flickr30k](https://shannon.cs.illinois.edu/DenotationGraph/): 31,783 photographs with five captions each.

    Young, Lai, Hodosh and Hockenmaier, "From image descriptions to visual denotations", 2014.

    Args:
        root: the folder of the photographs.
        ann_file: the file of the captions, with lines `name.jpg#number<tab>caption`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a list of captions).
        loader: a function that reads a file.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (6, 4)).save(Path(root, "1.jpg"))
        ...     _ = Path(root, "all.token").write_text("1.jpg#0\tA dog.\n1.jpg#1\tAn animal.\n")
        ...     photos = datasets.Flickr30k(root, Path(root, "all.token"))
        ...     photos[0][0].size, photos[0][1]
        ((6, 4), ['A dog.', 'An animal.'])
    """

    def _read_annotations(self) -> dict[str, list[str]]:
        captions: dict[str, list[str]] = {}
        for line in self.ann_file.read_text(encoding="utf-8").splitlines():
            name, _, caption = line.strip().partition("\t")
            captions.setdefault(name[:-2], []).append(caption)
        return captions

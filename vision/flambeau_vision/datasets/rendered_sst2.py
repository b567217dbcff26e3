"""Rendered SST2: images of 9,613 sentences from film reviews, classified as positive or negative."""

from __future__ import annotations

from pathlib import Path

from .folder import make_dataset
from .published import ImageList

__all__ = ["RenderedSST2"]

_FOLDERS = {"train": "train", "val": "valid", "test": "test"}


class RenderedSST2(ImageList):
    """[Rendered SST2](https://github.com/openai/CLIP/blob/main/data/rendered-sst2.md): sentences of film reviews, rendered as
    images.

    Args:
        root: the folder that holds `rendered-sst2`.
        split: `train`, `val` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (0 for negative, 1 for positive).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("negative", "positive"):
        ...         (folder := Path(root, "rendered-sst2/train", name)).mkdir(parents=True)
        ...         Image.new("RGB", (6, 4)).save(folder / "1.png")
        ...     sentences = datasets.RenderedSST2(root)
        ...     len(sentences), sentences[1][0].size, sentences.classes[sentences[1][1]]
        (2, (6, 4), 'positive')
    """

    _splits = _FOLDERS
    _archives = (("https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz", "2384d08e9dcfa4bd55b324e610496ee5"),)

    @property
    def _images(self) -> Path:
        return self._files / "rendered-sst2" / _FOLDERS[self._split]

    def _check_exists(self) -> bool:
        return all((self._images / name).is_dir() for name in ("negative", "positive"))

    def _list_samples(self) -> list[tuple[str, int]]:
        self._number_classes(["negative", "positive"])
        return make_dataset(str(self._images), extensions=(".png",))

    def extra_repr(self) -> str:
        return f"split={self._split}"

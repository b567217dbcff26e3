"""WIDER FACE: 32,203 photographs with the boxes of 393,703 faces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import flambeau as torch

from .folder import open_image
from .published import PublishedDataset
from .utils import verify_str_arg

__all__ = ["WIDERFace"]

_COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")  # columns after the four box coordinates


class WIDERFace(PublishedDataset):
    r"""[WIDER FACE](http://shuoyang1213.me/WIDERFACE/): 32,203 images with 393,703 faces.

    Yang, Luo, Loy and Tang, [WIDER FACE: A Face Detection Benchmark](https://arxiv.org/abs/1511.06523), 2016. The target is a
    dict of int64 tensors: `bbox` of shape `(N, 4)` (left, top, width, height), and `blur`, `expression`, `illumination`,
    `occlusion`, `pose` and `invalid` of shape `(N,)`.

    Args:
        root: the folder that holds `widerface`.
        split: `train`, `val` or `test`. The test split has no targets (None).
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the archives into `root` if they are missing.

    Raises:
        RuntimeError: the files are missing, or an annotation file cannot be parsed.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("WIDER_train", "WIDER_test", "wider_face_split", "WIDER_val/images/0--Parade"):
        ...         (folder := Path(root, "widerface", name)).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "a.jpg")
        ...     table = Path(root, "widerface/wider_face_split/wider_face_val_bbx_gt.txt")
        ...     _ = table.write_text("0--Parade/a.jpg\n1\n2 1 3 2 0 0 0 1 0 0 \n")
        ...     image, target = datasets.WIDERFace(root, split="val")[0]
        ...     target["bbox"].tolist(), target["occlusion"].tolist()
        ([[2, 1, 3, 2]], [1])
    """

    BASE_FOLDER = "widerface"
    FILE_LIST: ClassVar[list[tuple[str, str, str]]] = [
        ("15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M", "3fedf70df600953d25982bcd13d91ba2", "WIDER_train.zip"),
        ("1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q", "dfa7d7e790efa35df3788964cf0bbaea", "WIDER_val.zip"),
        ("1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T", "e5d8f4248ed24c334bbd12f49c29dd40", "WIDER_test.zip"),
    ]
    ANNOTATIONS_FILE = (
        "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
        "0e3767bcf0e326556d407bf5bff5d27c",
        "wider_face_split.zip",
    )
    _needed = ("WIDER_train", "WIDER_val", "WIDER_test", "wider_face_split")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        folder = str(Path(root).expanduser() / self.BASE_FOLDER)
        super().__init__(folder, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._ensure_files(download)
        self.img_info = self._read_list() if split == "test" else self._read_table()

    @property
    def _archives(self) -> list[tuple[str, str, str]]:
        drive = [(f"https://drive.google.com/file/d/{file_id}/view", md5, name) for file_id, md5, name in self.FILE_LIST]
        return [*drive, self.ANNOTATIONS_FILE]

    def _lines(self, name: str) -> list[str]:
        return [line.rstrip() for line in (self._folder / "wider_face_split" / name).read_text().splitlines()]

    def _image(self, name: str) -> str:
        return str((self._folder / f"WIDER_{self.split}" / "images" / name).absolute())

    def _read_list(self) -> list[dict[str, Any]]:
        return [{"img_path": self._image(name)} for name in self._lines("wider_face_test_filelist.txt")]

    def _read_table(self) -> list[dict[str, Any]]:
        """Read the table: for each image its file name, the number of faces, and a line per face (one of zeros without faces)."""
        name = f"wider_face_{self.split}_bbx_gt.txt"
        lines, images = iter(self._lines(name)), []
        try:
            for image in lines:
                rows = list(islice(lines, max(int(next(lines)), 1)))
                numbers = torch.tensor([[int(value) for value in row.split()] for row in rows])
                target = {"bbox": numbers[:, :4].clone()}
                target.update({column: numbers[:, index].clone() for index, column in enumerate(_COLUMNS, 4)})
                images.append({"img_path": self._image(image), "annotations": target})
        except (ValueError, IndexError, StopIteration) as error:
            raise RuntimeError(f"Error parsing annotation file {name}: {error}") from error
        return images

    def __len__(self) -> int:
        return len(self.img_info)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        sample = self.img_info[index]
        return self._transformed(open_image(sample["img_path"]), sample.get("annotations"))

    def extra_repr(self) -> str:
        return f"Split: {self.split}"

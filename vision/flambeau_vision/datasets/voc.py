"""Pascal VOC: photographs with a segmentation mask, or with the boxes of objects, of 20 classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .folder import open_image, pil_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = ["VOCDetection", "VOCSegmentation"]

_SITE = "https://thor.robots.ox.ac.uk/pascal/VOC/"

# Year -> (URL relative to `_SITE`, MD5 checksum, folder in the archive).
_ARCHIVES = {
    "2012": ("voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", "VOCdevkit/VOC2012"),
    "2011": (
        "voc2011/VOCtrainval_25-May-2011.tar",
        "6c3384ef61512963050cb5d687e5bf1e",
        "TrainVal/VOCdevkit/VOC2011",
    ),
    "2010": ("voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb", "VOCdevkit/VOC2010"),
    "2009": ("voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1", "VOCdevkit/VOC2009"),
    "2008": ("voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a", "VOCdevkit/VOC2008"),
    "2007": ("voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", "VOCdevkit/VOC2007"),
    "2007-test": ("voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", "VOCdevkit/VOC2007"),
}


class _VOC(VisionDataset):
    """Base of both datasets. Each image has one target file. Files below `ImageSets` list the images."""

    _lists: str  # folder below `ImageSets` with the lists of images
    _targets: tuple[str, str]  # folder and extension of the target files

    def __init__(
        self,
        root: str | Path,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        years = [str(number) for number in range(2007, 2013)]
        self.year = verify_str_arg(year, "year", years)
        allowed = ("train", "trainval", "val", *(("test",) if year == "2007" else ()))
        self.image_set = verify_str_arg(image_set, "image_set", allowed)
        self._archive = _ARCHIVES["2007-test" if image_set == "test" else year]
        self._ensure_files(download)
        base = self._base
        names = (base / "ImageSets" / self._lists / f"{image_set}.txt").read_text().split("\n")
        names = [name.strip() for name in names if name.strip()]
        folder, extension = self._targets
        self.images = [str(base / "JPEGImages" / f"{name}.jpg") for name in names]
        self.targets = [str(base / folder / f"{name}{extension}") for name in names]

    @property
    def _base(self) -> Path:
        return self._folder / self._archive[2]

    def _check_exists(self) -> bool:
        return (self._base / "ImageSets" / self._lists / f"{self.image_set}.txt").is_file()

    def download(self) -> None:
        """Download the archive of the year and unpack it into `root`."""
        address, md5, _ = self._archive
        download_and_extract_archive(_SITE + address, self._folder, md5=md5)

    def __len__(self) -> int:
        return len(self.images)


class VOCSegmentation(_VOC):
    r"""[Pascal VOC](http://host.robots.ox.ac.uk/pascal/VOC/): images with a segmentation mask each.

    Everingham, Van Gool, Williams, Winn and Zisserman, "The Pascal Visual Object Classes (VOC) Challenge", 2010.

    Args:
        root: the folder that holds `VOCdevkit`.
        year: `2007` to `2012`.
        image_set: `train`, `trainval` or `val`; for 2007 also `test`.
        download: fetch the archive into `root` if it is missing.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a PIL image of class indices).
        transforms: a function of `(image, target)` that returns both.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `year` or `image_set` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     base = Path(root, "VOCdevkit/VOC2012")
        ...     for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        ...         (base / name).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(base / "JPEGImages/x.jpg")
        ...     Image.new("L", (6, 4), 3).save(base / "SegmentationClass/x.png")
        ...     _ = (base / "ImageSets/Segmentation/val.txt").write_text("x\n")
        ...     image, target = datasets.VOCSegmentation(root, image_set="val")[0]
        ...     image.size, target.getpixel((0, 0))
        ((6, 4), 3)
    """

    _lists = "Segmentation"
    _targets = ("SegmentationClass", ".png")

    @property
    def masks(self) -> list[str]:
        """Paths of the mask files."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(pil_loader(self.images[index]), open_image(self.targets[index]))


class VOCDetection(_VOC):
    r"""[Pascal VOC](http://host.robots.ox.ac.uk/pascal/VOC/): images with annotated objects.

    The target is the annotation XML as a nested dict, with the objects as a list. Everingham, Van Gool, Williams, Winn
    and Zisserman, "The Pascal Visual Object Classes (VOC) Challenge", 2010.

    Args:
        root: the folder that holds `VOCdevkit`.
        year: `2007` to `2012`.
        image_set: `train`, `trainval` or `val`; for 2007 also `test`.
        download: fetch the archive into `root` if it is missing.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a dict).
        transforms: a function of `(image, target)` that returns both.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `year` or `image_set` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     base = Path(root, "VOCdevkit/VOC2012")
        ...     for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        ...         (base / name).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(base / "JPEGImages/x.jpg")
        ...     _ = (base / "Annotations/x.xml").write_text("<annotation><object><name>dog</name></object></annotation>")
        ...     _ = (base / "ImageSets/Main/val.txt").write_text("x\n")
        ...     image, target = datasets.VOCDetection(root, image_set="val")[0]
        ...     image.size, target
        ((6, 4), {'annotation': {'object': [{'name': 'dog'}]}})
    """

    _lists = "Main"
    _targets = ("Annotations", ".xml")

    @property
    def annotations(self) -> list[str]:
        """Paths of the annotation files."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = self.parse_voc_xml(ElementTree.parse(self.targets[index]).getroot())
        return self._transformed(pil_loader(self.images[index]), target)

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """Convert an XML node to `{tag: text}`, or to `{tag: {...}}` if it has children. Children with the same tag become a
        list, and those with the tag `object` always do.
        """
        children: dict[str, list[Any]] = {}
        for child in node:
            for tag, value in VOCDetection.parse_voc_xml(child).items():
                children.setdefault(tag, []).append(value)
        if not children:
            return {node.tag: (node.text or "").strip()}
        single = {tag: values[0] if len(values) == 1 else values for tag, values in children.items()}
        if node.tag == "annotation" and "object" in children:
            single["object"] = children["object"]
        return {node.tag: single}

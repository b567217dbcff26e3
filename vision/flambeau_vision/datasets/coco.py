"""COCO (Common Objects in Context): photographs with the boxes and masks of objects of 80 classes, or with captions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .._extras import optional
from .folder import pil_loader
from .vision import VisionDataset

__all__ = ["CocoCaptions", "CocoDetection"]


def _listed(ids: int | Iterable[int]) -> list[int]:
    return [ids] if isinstance(ids, int) else list(ids)


class CocoIndex:
    """The contents of a COCO annotation file, with the attribute and method names of `pycocotools.coco.COCO`.

    Attributes:
        imgs: dict from image id to image entry.
        anns: dict from annotation id to annotation.
        cats: dict from category id to category.
        imgToAnns: dict from image id to the list of its annotations.
    """

    def __init__(self, annotation_file: str | Path) -> None:
        self.dataset = json.loads(Path(annotation_file).expanduser().read_text(encoding="utf-8"))
        self.imgs = {image["id"]: image for image in self.dataset.get("images", ())}
        self.anns = {annotation["id"]: annotation for annotation in self.dataset.get("annotations", ())}
        self.cats = {category["id"]: category for category in self.dataset.get("categories", ())}
        self.imgToAnns: dict[int, list[dict]] = defaultdict(list)
        for annotation in self.anns.values():
            self.imgToAnns[annotation["image_id"]].append(annotation)

    def getAnnIds(self, imgIds: int | Iterable[int]) -> list[int]:
        """Return the annotation ids of the given images."""
        return [annotation["id"] for image in _listed(imgIds) for annotation in self.imgToAnns.get(image, ())]

    def loadAnns(self, ids: int | Iterable[int]) -> list[dict]:
        """Return the annotations with the given ids."""
        return [self.anns[number] for number in _listed(ids)]

    def loadImgs(self, ids: int | Iterable[int]) -> list[dict]:
        """Return the image entries with the given ids."""
        return [self.imgs[number] for number in _listed(ids)]

    def loadCats(self, ids: int | Iterable[int]) -> list[dict]:
        """Return the categories with the given ids."""
        return [self.cats[number] for number in _listed(ids)]

    def annToRLE(self, ann: dict) -> dict:
        """Return the mask of an annotation as a run-length encoding. Polygons are converted by `pycocotools`.

        Raises:
            ModuleNotFoundError: `pycocotools` is not installed.
        """
        masks = optional("pycocotools.mask", "pycocotools", "reading COCO masks")
        image, segmentation = self.imgs[ann["image_id"]], ann["segmentation"]
        size = image["height"], image["width"]
        if isinstance(segmentation, list):
            return masks.merge(masks.frPyObjects(segmentation, *size))
        return masks.frPyObjects(segmentation, *size) if isinstance(segmentation["counts"], list) else segmentation

    def annToMask(self, ann: dict) -> Any:
        """Return the mask of an annotation as a uint8 NumPy array of 0 and 1 with the height and width of its image.

        Raises:
            ModuleNotFoundError: `pycocotools` is not installed.
        """
        return optional("pycocotools.mask", "pycocotools", "reading COCO masks").decode(self.annToRLE(ann))


class CocoDetection(VisionDataset):
    """[COCO](https://cocodataset.org/#detection-2016): images, each with a list of annotated objects.

    Lin et al., [Microsoft COCO: Common Objects in Context](https://arxiv.org/abs/1405.0312), 2014.

    Args:
        root: the folder of the images.
        annFile: the annotation file.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a list of dicts).
        transforms: a function of `(image, target)` that returns both.

    Attributes:
        ids: the sorted image ids.
        coco: the annotations, as a `CocoIndex`.

    Example:
        >>> import json
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (6, 4)).save(Path(root, "a.jpg"))
        ...     content = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": []}
        ...     content["annotations"] = [{"id": 7, "image_id": 1, "bbox": [1, 2, 3, 1]}]
        ...     _ = Path(root, "annotations.json").write_text(json.dumps(content))
        ...     coco = datasets.CocoDetection(root, Path(root, "annotations.json"))
        ...     image, target = coco[0]
        ...     image.size, target
        ((6, 4), [{'id': 7, 'image_id': 1, 'bbox': [1, 2, 3, 1]}])
    """

    def __init__(
        self,
        root: str | Path,
        annFile: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = CocoIndex(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_target(self, id: int) -> list[Any]:
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        id = self.ids[index]
        image = pil_loader(self._folder / self.coco.imgs[id]["file_name"])
        return self._transformed(image, self._load_target(id))


class CocoCaptions(CocoDetection):
    """[COCO captions](https://cocodataset.org/#captions-2015): images, each with a list of captions.

    Chen et al., [Microsoft COCO Captions: Data Collection and Evaluation Server](https://arxiv.org/abs/1504.00325), 2015.

    Args:
        root: the folder of the images.
        annFile: the annotation file.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (a list of strings).
        transforms: a function of `(image, target)` that returns both.

    Example:
        >>> import json
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (6, 4)).save(Path(root, "a.jpg"))
        ...     content = {"images": [{"id": 1, "file_name": "a.jpg"}], "categories": []}
        ...     content["annotations"] = [{"id": 7, "image_id": 1, "caption": "A dog."}]
        ...     _ = Path(root, "annotations.json").write_text(json.dumps(content))
        ...     coco = datasets.CocoCaptions(root, Path(root, "annotations.json"))
        ...     image, target = coco[0]
        ...     image.size, target
        ((6, 4), ['A dog.'])
    """

    def _load_target(self, id: int) -> list[str]:
        return [annotation["caption"] for annotation in super()._load_target(id)]

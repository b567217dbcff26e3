"""Wrap datasets so that their items contain `tv_tensors`, as expected by `transforms.v2`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from copy import copy
from typing import Any

import flambeau as torch

from .. import tv_tensors
from .caltech import Caltech101, Caltech256
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .cityscapes import Cityscapes
from .coco import CocoCaptions, CocoDetection
from .folder import DatasetFolder, ImageFolder
from .gtsrb import GTSRB
from .imagenet import ImageNet
from .imagenette import Imagenette
from .kitti import Kitti
from .mnist import MNIST, FashionMNIST
from .oxford_iiit_pet import OxfordIIITPet
from .sbd import SBDataset
from .video_classification import HMDB51, UCF101, Kinetics
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation
from .widerface import WIDERFace

__all__ = ["wrap_dataset_for_transforms_v2"]

# Dataset class -> factory `(dataset, target_keys) -> wrap`, where `wrap(index, item)` returns the wrapped item.
Item = tuple[Any, ...]
_WRAPPERS: dict[type, Callable[[Any, Any], Callable[[int, Item], Item]]] = {}


def wrap_dataset_for_transforms_v2(dataset: Any, target_keys: Collection[str] | str | None = None) -> Any:
    """Wrap a dataset so that `transforms.v2` transforms its targets together with its images.

    Boxes become `tv_tensors.BoundingBoxes` in `XYXY` format, masks become `tv_tensors.Mask`, videos become `tv_tensors.Video`
    and class labels become tensors. A list of detected objects becomes one dict. Images stay unchanged. The
    dataset's own transforms are applied to the wrapped items.

    Args:
        dataset: one of this package's datasets, or an instance of a subclass.
        target_keys: the keys of the target dict: a collection of names, `"all"`, or None for the keys needed to train a
            detector. Only for `CocoDetection`, `VOCDetection`, `Kitti` and `WIDERFace`.

    Returns:
        A dataset whose class is a subclass of the class of `dataset`.

    Raises:
        TypeError: `dataset` is not a supported dataset.
        ValueError: a key is unknown, or the dataset does not support `target_keys`.
        RuntimeError: no `tv_tensors` type represents the targets of the dataset.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("image_2", "label_2"):
        ...         (folder := Path(root, "Kitti/raw/training", name)).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder.parent / "image_2/000000.png")
        ...     _ = (folder / "000000.txt").write_text("Van 0.00 0 1.55 1 1 4 3 1.57 1.73 4.15 1.0 1.75 13.22 1.62")
        ...     image, target = datasets.wrap_dataset_for_transforms_v2(datasets.Kitti(root))[0]
        ...     target["boxes"].canvas_size, target["labels"].tolist()
        ((4, 6), [1])
    """
    names = isinstance(target_keys, Collection) and all(isinstance(key, str) for key in target_keys)
    if not (target_keys is None or target_keys == "all" or (names and not isinstance(target_keys, str))):
        raise ValueError(
            "`target_keys` can be None, 'all', or a collection of strings denoting the keys to be returned, "
            f"but got {target_keys}"
        )
    kind = type(dataset)
    return type(f"Wrapped{kind.__name__}", (_WrappedDataset, kind), {})(dataset, target_keys)


class _WrappedDataset:
    """Base class of wrapped datasets, next to the class of the dataset. Attributes are looked up in the dataset."""

    def __init__(self, dataset: Any, target_keys: Any) -> None:
        kind = type(dataset)
        if not isinstance(dataset, VisionDataset):
            raise TypeError(
                "This wrapper is meant for subclasses of `flambeau_vision.datasets.VisionDataset`, "
                f"but got a '{kind.__name__}' instead."
            )
        known = next((parent for parent in kind.mro() if parent in _WRAPPERS), None)
        if known is None:
            raise TypeError(f"No wrapper exists for dataset class {kind.__name__}. Please wrap the output yourself.")
        if target_keys is not None and known not in _SUPPORT_TARGET_KEYS:
            supported = ", ".join(f"`{keyed.__name__}`" for keyed in _SUPPORT_TARGET_KEYS)
            raise ValueError(f"`target_keys` is currently only supported for {supported}, but got {known.__name__}.")
        self._dataset = dataset
        self._target_keys = target_keys
        self._wrapper = _WRAPPERS[known](dataset, target_keys)
        # The transforms are moved from the dataset to the wrapper, which applies them to wrapped items.
        for name in ("transform", "target_transform", "transforms"):
            setattr(self, name, getattr(dataset, name))
            setattr(dataset, name, None)

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":  # while a wrapper is copied, `_dataset` is not set yet
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitem__(self, index: int) -> Item:
        item = self._wrapper(index, self._dataset[index])
        if self.transforms is not None:
            return self.transforms(*item)
        # Video datasets have only `transform`, which is applied to the video.
        return item if self.transform is None else (self.transform(item[0]), *item[1:])

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> tuple[Any, ...]:
        dataset = copy(self._dataset)
        for name in ("transform", "target_transform", "transforms"):
            setattr(dataset, name, getattr(self, name))
        return wrap_dataset_for_transforms_v2, (dataset, self._target_keys)


def _wrapper_factory(*kinds: type) -> Callable:
    def register(factory: Callable) -> Callable:
        _WRAPPERS.update(dict.fromkeys(kinds, factory))
        return factory

    return register


def _select_keys(chosen: Any, available: Iterable[str], default: Iterable[str] | str) -> set[str]:
    chosen = default if chosen is None else chosen
    if chosen == "all":
        return set(available)
    if extra := set(chosen) - set(available):
        raise ValueError(f"Target keys {sorted(extra)} are not available")
    return set(chosen)


def _dict_of_lists(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return columns


def _image_size(image: Any) -> tuple[int, int]:
    return tuple(image.shape[-2:]) if isinstance(image, torch.Tensor) else (image.height, image.width)


def _boxes(data: Any, image: Any, format: str = "XYXY") -> tv_tensors.BoundingBoxes:
    from ..transforms.v2.functional import convert_bounding_box_format

    boxes = tv_tensors.BoundingBoxes(data, format=format, canvas_size=_image_size(image))
    return boxes if format == "XYXY" else convert_bounding_box_format(boxes, new_format="XYXY")


def _apply_by_type(target: Any, types: list[str], functions: dict[str, Callable]) -> Any:
    """Apply `functions[type]` to the target, or to each item of a tuple of targets, given the `types` of the items."""
    parts = target if isinstance(target, tuple | list) else [target]
    wrapped = tuple(functions.get(kind, lambda part: part)(part) for kind, part in zip(types, parts, strict=True))
    return wrapped if len(wrapped) > 1 else wrapped[0]


def _reject_target_types(dataset: Any, attribute: str, *types: str) -> None:
    if refused := set(types) & set(getattr(dataset, attribute)):
        raise RuntimeError(f"{type(dataset).__name__} with {attribute}={sorted(refused)} is not supported by this wrapper.")


@_wrapper_factory(
    Caltech256, CIFAR10, CIFAR100, ImageNet, MNIST, FashionMNIST, GTSRB, DatasetFolder, ImageFolder, Imagenette, CocoCaptions
)
def _leave_unchanged(dataset: Any, keys: Any) -> Any:
    return lambda index, item: item


@_wrapper_factory(Caltech101)
def _categories(dataset: Caltech101, keys: Any) -> Any:
    _reject_target_types(dataset, "target_type", "annotation")
    return _leave_unchanged(dataset, keys)


@_wrapper_factory(VOCSegmentation)
def _segmentation(dataset: Any, keys: Any) -> Any:
    return lambda index, item: (item[0], tv_tensors.Mask(item[1]))


@_wrapper_factory(SBDataset)
def _semantic_boundaries(dataset: SBDataset, keys: Any) -> Any:
    if dataset.mode == "boundaries":
        raise RuntimeError("SBDataset with mode='boundaries' is not supported by this wrapper.")
    return _segmentation(dataset, keys)


@_wrapper_factory(HMDB51, Kinetics, UCF101)
def _video(dataset: Any, keys: Any) -> Any:
    if dataset.video_clips.output_format == "THWC":
        raise RuntimeError(
            f"{type(dataset).__name__} with `output_format='THWC'` is not supported by this wrapper, "
            "since it is not compatible with the transformations. Please use `output_format='TCHW'` instead."
        )
    return lambda index, item: (tv_tensors.Video(item[0]), *item[1:])


@_wrapper_factory(CocoDetection)
def _coco(dataset: CocoDetection, keys: Any) -> Any:
    available = "segmentation", "area", "iscrowd", "image_id", "bbox", "category_id", "boxes", "masks", "labels"
    chosen = _select_keys(keys, available, ("image_id", "boxes", "labels"))

    def wrap(index: int, item: Item) -> Item:
        image, annotations = item
        target: dict[str, Any] = {}
        columns = _dict_of_lists(annotations)
        if "image_id" in chosen or not annotations:
            target["image_id"] = dataset.ids[index]
        if annotations and "boxes" in chosen:
            target["boxes"] = _boxes(columns["bbox"], image, "XYWH")
        if annotations and "masks" in chosen:
            masks = [torch.from_numpy(dataset.coco.annToMask(annotation)) for annotation in annotations]
            target["masks"] = tv_tensors.Mask(torch.stack(masks))
        if annotations and "labels" in chosen:
            target["labels"] = torch.tensor(columns["category_id"])
        others = chosen - {"image_id", "boxes", "masks", "labels"} if annotations else ()
        return image, {**target, **{key: columns[key] for key in others}}

    return wrap


_VOC_CLASSES = [
    "__background__",
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]


@_wrapper_factory(VOCDetection)
def _voc(dataset: VOCDetection, keys: Any) -> Any:
    chosen = _select_keys(keys, ("annotation", "boxes", "labels"), ("boxes", "labels"))

    def wrap(index: int, item: Item) -> Item:
        image, target = item
        objects = target["annotation"]["object"]
        target = target if "annotation" in chosen else {}
        if "boxes" in chosen:
            sides = "xmin", "ymin", "xmax", "ymax"
            target["boxes"] = _boxes([[int(found["bndbox"][side]) for side in sides] for found in objects], image)
        if "labels" in chosen:
            target["labels"] = torch.tensor([_VOC_CLASSES.index(found["name"]) for found in objects])
        return image, target

    return wrap


@_wrapper_factory(CelebA)
def _faces(dataset: CelebA, keys: Any) -> Any:
    _reject_target_types(dataset, "target_type", "attr", "landmarks")

    def wrap(index: int, item: Item) -> Item:
        image, target = item
        functions = {"bbox": lambda box: _boxes(box, image, "XYWH")}
        return image, target if target is None else _apply_by_type(target, dataset.target_type, functions)

    return wrap


_KITTI_CLASSES = ["Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", "DontCare"]


@_wrapper_factory(Kitti)
def _kitti(dataset: Kitti, keys: Any) -> Any:
    stored = "type", "truncated", "occluded", "alpha", "bbox", "dimensions", "location", "rotation_y"
    chosen = _select_keys(keys, (*stored, "boxes", "labels"), ("boxes", "labels"))

    def wrap(index: int, item: Item) -> Item:
        image, objects = item
        if objects is None:
            return item
        columns = _dict_of_lists(objects)
        target = {key: columns[key] for key in chosen & set(stored)}
        if "boxes" in chosen:
            target["boxes"] = _boxes(columns["bbox"], image)
        if "labels" in chosen:
            target["labels"] = torch.tensor([_KITTI_CLASSES.index(name) for name in columns["type"]])
        return image, target

    return wrap


@_wrapper_factory(OxfordIIITPet)
def _pets(dataset: OxfordIIITPet, keys: Any) -> Any:
    def wrap(index: int, item: Item) -> Item:
        image, target = item
        functions = {"segmentation": tv_tensors.Mask}
        return image, target if target is None else _apply_by_type(target, dataset._target_types, functions)

    return wrap


def _instances(picture: Any) -> dict[str, torch.Tensor]:
    """Return a mask and a label for each pixel value. The value is the class, or from 1000 on 1000 * class + instance."""
    numbers = tv_tensors.Mask(picture)
    found = numbers.unique()
    masks = tv_tensors.Mask(torch.stack([numbers == number for number in found]))
    return {"masks": masks, "labels": torch.where(found >= 1000, found // 1000, found)}


@_wrapper_factory(Cityscapes)
def _cities(dataset: Cityscapes, keys: Any) -> Any:
    _reject_target_types(dataset, "target_type", "polygon", "color")
    functions = {"instance": _instances, "semantic": tv_tensors.Mask}
    return lambda index, item: (item[0], _apply_by_type(item[1], dataset.target_type, functions))


@_wrapper_factory(WIDERFace)
def _crowds(dataset: WIDERFace, keys: Any) -> Any:
    available = "bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid"
    chosen = _select_keys(keys, available, "all")

    def wrap(index: int, item: Item) -> Item:
        image, target = item
        if target is None:
            return item
        target = {key: target[key] for key in chosen}
        if "bbox" in chosen:
            target["bbox"] = _boxes(target["bbox"], image, "XYWH")
        return image, target

    return wrap


_SUPPORT_TARGET_KEYS = (CocoDetection, VOCDetection, Kitti, WIDERFace)

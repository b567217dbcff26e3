"""Stereo matching datasets: left and right images with disparity maps."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ._rasters import read_numbers, read_pfm
from .folder import pil_loader
from .utils import download_and_extract_archive, verify_str_arg
from .vision import VisionDataset

__all__ = [
    "CREStereo",
    "CarlaStereo",
    "ETH3DStereo",
    "FallingThingsStereo",
    "InStereo2k",
    "Kitti2012Stereo",
    "Kitti2015Stereo",
    "Middlebury2014Stereo",
    "SceneFlowStereo",
    "SintelStereo",
    "StereoMatchingDataset",
]


class StereoMatchingDataset(VisionDataset):
    """Base of the stereo datasets: image pairs with the disparity map of the left image. A subclass lists the files with
    `_add` and implements `_read_disparity`.

    Each item is `(left, right, disparity)`: two PIL images in mode `RGB` and a NumPy array of shape `(1, H, W)`. Splits
    published without disparities have None instead. If the files mark valid pixels, or `transforms` returns a mask, the item
    has a fourth element: a bool array of shape `(H, W)`, or None.

    Args:
        root: the folder that holds the folder of the dataset.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.
    """

    _has_mask = False

    def __init__(self, root: str | Path, transforms: Callable | None = None) -> None:
        super().__init__(root)
        self.transforms = transforms
        self._images: list[tuple[str, str]] = []
        self._disparities: list[tuple[str | None, str | None]] = []

    @staticmethod
    def _pairs(folder: Path, left: str, right: str | None) -> list[tuple[Any, Any]]:
        """Return sorted pairs of files that match `left` and `right`. If `right` is None, so is the second item of each pair."""
        lefts, rights = (sorted(map(str, folder.glob(pattern))) if pattern else None for pattern in (left, right))
        for pattern, files in ((left, lefts), (right, rights)):
            if files == []:
                raise FileNotFoundError(f"Could not find any files matching the patterns: {folder / str(pattern)}")
        rights = [None] * len(lefts) if rights is None else rights
        if len(lefts) != len(rights):
            raise ValueError(
                f"Found {len(lefts)} left files but {len(rights)} right files using:\n"
                f" left pattern: {folder / left}\nright pattern: {folder / str(right)}\n"
            )
        return list(zip(lefts, rights, strict=True))

    def _add(self, folder: Path, images: tuple[str, str], disparities: tuple[str, str | None] | None) -> None:
        """Add the files that match the patterns. For a split without disparities, pass `disparities=None`."""
        pairs = self._pairs(folder, *images)
        self._images += pairs
        self._disparities += [(None, None)] * len(pairs) if disparities is None else self._pairs(folder, *disparities)

    def _read_image(self, path: str) -> Any:
        return pil_loader(path)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        """Return `(disparity map, mask of valid pixels)`. The mask is None if the dataset has no masks."""
        raise NotImplementedError(f"{type(self).__name__} must implement _read_disparity")

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        images = tuple(self._read_image(path) for path in self._images[index])
        read = [(None, None) if path is None else self._read_disparity(path) for path in self._disparities[index]]
        maps, masks = zip(*read, strict=True)
        if self.transforms is not None:
            images, maps, masks = self.transforms(images, maps, masks)
        with_mask = self._has_mask or masks[0] is not None
        return (*images, maps[0], masks[0]) if with_mask else (*images, maps[0])


def _absolute(path: str) -> Any:
    return abs(read_pfm(path, channels=1))


class CarlaStereo(StereoMatchingDataset):
    """[Carla](https://github.com/megvii-research/CREStereo): rendered street scenes.

    Args:
        root: the folder that holds `carla-highres`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.CarlaStereo("data")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: Could not find any files matching the patterns: ...im0.png
    """

    def __init__(self, root: str | Path, transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        folder = self._folder / "carla-highres" / "trainingF"
        self._add(folder, ("*/im0.png", "*/im1.png"), ("*/disp0GT.pfm", "*/disp1GT.pfm"))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return _absolute(path), None


class Kitti2012Stereo(StereoMatchingDataset):
    """[KITTI 2012](http://www.cvlibs.net/datasets/kitti/eval_stereo_flow.php?benchmark=stereo): 389 pairs taken from a car.

    Geiger, Lenz and Urtasun, "Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite", 2012. Disparities are 0
    where they are unknown. The mask in each item is always None.

    Args:
        root: the folder that holds `Kitti2012`.
        split: `train` or `test`. The test split has no disparity (None).
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("colored_0", "colored_1"):
        ...         (folder := Path(root, "Kitti2012/testing", name)).mkdir(parents=True)
        ...         Image.new("RGB", (6, 4)).save(folder / "000000_10.png")
        ...     left, right, disparity, mask = datasets.Kitti2012Stereo(root, split="test")[0]
        ...     left.size, disparity, mask
        ((6, 4), None, None)
    """

    _has_mask = True
    _NAMES = ("Kitti2012", ("colored_0/*_10.png", "colored_1/*_10.png"), ("disp_noc/*.png", None))

    def __init__(self, root: str | Path, split: str = "train", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        name, images, disparities = self._NAMES
        self._add(self._folder / name / f"{split}ing", images, disparities if split == "train" else None)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_numbers(path)[None] / 256.0, None


class Kitti2015Stereo(Kitti2012Stereo):
    """[KITTI 2015](http://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo): 400 pairs taken from a car.

    Menze and Geiger, "Object Scene Flow for Autonomous Vehicles", 2015. Disparities are 0 where they are unknown. The mask in
    each item is always None.

    Args:
        root: the folder that holds `Kitti2015`.
        split: `train` or `test`. The test split has no disparity (None).
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("image_2", "image_3"):
        ...         (folder := Path(root, "Kitti2015/testing", name)).mkdir(parents=True)
        ...         Image.new("RGB", (6, 4)).save(folder / "000000_10.png")
        ...     left, right, disparity, mask = datasets.Kitti2015Stereo(root, split="test")[0]
        ...     left.size, disparity, mask
        ((6, 4), None, None)
    """

    _NAMES = ("Kitti2015", ("image_2/*.png", "image_3/*.png"), ("disp_occ_0/*.png", "disp_occ_1/*.png"))


class Middlebury2014Stereo(StereoMatchingDataset):
    """[Middlebury 2014](https://vision.middlebury.edu/stereo/data/scenes2014/): high-resolution still lifes.

    Scharstein et al., "High-Resolution Stereo Datasets with Subpixel-Accurate Ground Truth", 2014.

    Args:
        root: the folder that holds `Middlebury2014`.
        split: `train`, `test` or `additional`.
        calibration: `perfect`, `imperfect` or `both`; None for the test split, for which only one calibration was published.
        use_ambient_views: pick the right image at random among views under different lighting.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.
        download: download the scenes that are missing in `root`.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` or `calibration` is unknown, or the two cannot be combined.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.Middlebury2014Stereo("data", split="test")
        Traceback (most recent call last):
        ...
        ValueError: Split 'test' has only no calibration settings, please set `calibration=None`.
    """

    _has_mask = True
    _SITE = "https://vision.middlebury.edu/stereo/"
    splits: ClassVar[dict[str, list[str]]] = {
        "train": [
            "Adirondack",
            "Jadeplant",
            "Motorcycle",
            "Piano",
            "Pipes",
            "Playroom",
            "Playtable",
            "Recycle",
            "Shelves",
            "Vintage",
        ],
        "additional": [
            "Backpack",
            "Bicycle1",
            "Cable",
            "Classroom1",
            "Couch",
            "Flowers",
            "Mask",
            "Shopvac",
            "Sticks",
            "Storage",
            "Sword1",
            "Sword2",
            "Umbrella",
        ],
        "test": [
            "Plants",
            "Classroom2E",
            "Classroom2",
            "Australia",
            "DjembeL",
            "CrusadeP",
            "Crusade",
            "Hoops",
            "Bicycle2",
            "Staircase",
            "Newkuba",
            "AustraliaP",
            "Djembe",
            "Livingroom",
            "Computer",
        ],
    }

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        calibration: str | None = "perfect",
        use_ambient_views: bool = False,
        transforms: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms)
        self.split = verify_str_arg(split, "split", ("train", "test", "additional"))
        if calibration is not None:
            verify_str_arg(calibration, "calibration", ("perfect", "imperfect", "both"))
            if split == "test":
                raise ValueError("Split 'test' has only no calibration settings, please set `calibration=None`.")
        elif split != "test":
            raise ValueError(
                f"Split '{split}' has calibration settings, however None was provided as an argument. "
                "Available calibration settings are: 'perfect', 'imperfect', 'both'."
            )
        self.use_ambient_views = use_ambient_views
        if download:
            self.download()
        folder = self._scenes
        if not folder.exists():
            raise FileNotFoundError(f"The {split} directory was not found in the provided root directory")
        if not any(scene.name.startswith(tuple(self.splits[split])) for scene in folder.iterdir()):
            raise FileNotFoundError(f"Provided root folder does not contain any scenes from the {split} split.")
        kinds = {None: ("",), "both": ("-perfect", "-imperfect")}.get(calibration, (f"-{calibration}",))
        for kind in kinds:
            disparities = None if split == "test" else (f"*{kind}/disp0.pfm", f"*{kind}/disp1.pfm")
            self._add(folder, (f"*{kind}/im0.png", f"*{kind}/im1.png"), disparities)

    @property
    def _scenes(self) -> Path:
        return self._folder / "Middlebury2014" / self.split

    def download(self) -> None:
        """Download and unpack those scenes of the split that are missing in `root`."""
        if self.split == "test":
            if all((self._scenes / scene).exists() for scene in self.splits["test"]):
                return
            unpacked = self._scenes.parent / "MiddEval3"
            url = f"{self._SITE}submit3/zip/MiddEval3-data-F.zip"
            download_and_extract_archive(url, self._scenes.parent, remove_finished=True)
            self._scenes.mkdir(exist_ok=True)
            for scene in (unpacked / "testF").iterdir():
                if not (self._scenes / scene.name).exists():
                    scene.rename(self._scenes / scene.name)
            shutil.rmtree(unpacked)
            return
        for scene in (f"{name}-{kind}" for name in self.splits[self.split] for kind in ("perfect", "imperfect")):
            if not (self._scenes / scene).exists():
                url = f"{self._SITE}data/scenes2014/zip/{scene}.zip"
                download_and_extract_archive(url, self._scenes, remove_finished=True)

    def _read_image(self, path: str) -> Any:
        views = [Path(path)]
        if self.use_ambient_views and views[0].name == "im1.png":
            others = (views[0].with_name(name) for name in ("im1E.png", "im1L.png"))
            views = [view for view in others if view.exists()] + views
        return super()._read_image(str(random.choice(views) if len(views) > 1 else views[0]))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        disparity = _absolute(path)
        disparity[disparity == float("inf")] = 0  # unknown
        return disparity, disparity[0] > 0


class CREStereo(StereoMatchingDataset):
    """[CREStereo](https://github.com/megvii-research/CREStereo): rendered image pairs of four kinds of scenes.

    Li et al., [Practical Stereo Matching via Cascaded Recurrent Network with Adaptive
    Correlation](https://arxiv.org/abs/2203.11483), 2022. The mask in each item is always None.

    Args:
        root: the folder that holds `CREStereo`, with `tree`, `shapenet`, `reflective` and `hole`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.CREStereo("data")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: Could not find any files matching the patterns: ..._left.jpg
    """

    _has_mask = True

    def __init__(self, root: str | Path, transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        for kind in ("shapenet", "reflective", "tree", "hole"):
            folder = self._folder / "CREStereo" / kind
            self._add(folder, ("*_left.jpg", "*_right.jpg"), ("*_left.disp.png", "*_right.disp.png"))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_numbers(path, "float32")[None] / 32.0, None


class FallingThingsStereo(StereoMatchingDataset):
    """[Falling Things](https://research.nvidia.com/publication/2018-06_falling-things-synthetic-dataset): rendered objects.

    Tremblay, To and Birchfield, [Falling Things: A Synthetic Dataset for 3D Object Detection and Pose
    Estimation](https://arxiv.org/abs/1804.06534), 2018. Disparities are computed from the depth and the camera's settings.

    Args:
        root: the folder that holds `FallingThings`.
        variant: scenes with a `single` object, with `mixed` objects, or `both`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `variant` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.FallingThingsStereo("data", variant="three")
        Traceback (most recent call last):
        ...
        ValueError: Unknown value 'three' for argument variant. Valid values are {'single', 'mixed', 'both'}.
    """

    _BASELINE, _UNITS = 6, 100  # distance of the cameras in cm, depth units per cm

    def __init__(self, root: str | Path, variant: str = "single", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(variant, "variant", ("single", "mixed", "both"))
        for kind in ("single", "mixed") if variant == "both" else (variant,):
            scenes = {"single": "*/*", "mixed": "*"}[kind]
            left, right = (f"{scenes}/*.{side}" for side in ("left", "right"))
            folder = self._folder / "FallingThings" / kind
            self._add(folder, (f"{left}.jpg", f"{right}.jpg"), (f"{left}.depth.png", f"{right}.depth.png"))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        settings = json.loads((Path(path).parent / "_camera_settings.json").read_text())
        focal = settings["camera_settings"][0]["intrinsic_settings"]["fx"]
        return self._BASELINE * focal * self._UNITS / read_numbers(path).astype("float32")[None], None


class SceneFlowStereo(StereoMatchingDataset):
    """[Scene Flow](https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html): rendered scenes.

    Mayer et al., [A Large Dataset to Train Convolutional Networks for Disparity, Optical Flow, and Scene Flow
    Estimation](https://arxiv.org/abs/1512.02134), 2016.

    Args:
        root: the folder that holds `SceneFlow`.
        variant: `FlyingThings3D`, `Driving` or `Monkaa`.
        pass_name: `clean`, `final` (with blur) or `both`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `variant` or `pass_name` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SceneFlowStereo("data", variant="Monkaa", pass_name="final")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: Could not find any files matching the patterns: ...
    """

    def __init__(
        self,
        root: str | Path,
        variant: str = "FlyingThings3D",
        pass_name: str = "clean",
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(variant, "variant", ("FlyingThings3D", "Driving", "Monkaa"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        scenes = "*" if variant == "Monkaa" else "*/*/*"
        for name in ("clean", "final") if pass_name == "both" else (pass_name,):
            images = f"frames_{name}pass/{scenes}/left/*.png", f"frames_{name}pass/{scenes}/right/*.png"
            disparities = f"disparity/{scenes}/left/*.pfm", f"disparity/{scenes}/right/*.pfm"
            self._add(self._folder / "SceneFlow" / variant, images, disparities)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return _absolute(path), None


class SintelStereo(StereoMatchingDataset):
    """[Sintel](http://sintel.is.tue.mpg.de/stereo): scenes of an animated film.

    Butler, Wulff, Stanley and Black, "A naturalistic open source movie for optical flow evaluation", 2012. The mask is False
    for pixels that are hidden in the right image or outside of it.

    Args:
        root: the folder that holds `Sintel`.
        pass_name: `final` (with blur and atmosphere), `clean` or `both`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: files are missing. Mask files are checked when an item is read.
        ValueError: `pass_name` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.SintelStereo("data", pass_name="raw")
        Traceback (most recent call last):
        ...
        ValueError: Unknown value 'raw' for argument pass_name. Valid values are {'final', 'clean', 'both'}.
    """

    _has_mask = True

    def __init__(self, root: str | Path, pass_name: str = "final", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(pass_name, "pass_name", ("final", "clean", "both"))
        for name in ("final", "clean") if pass_name == "both" else (pass_name,):
            images = f"{name}_left/*/*.png", f"{name}_right/*/*.png"
            self._add(self._folder / "Sintel" / "training", images, ("disparities/*/*.png", None))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        # disparity = 4 * red + green / 2**6 + blue / 2**14
        red, green, blue = read_numbers(path, "float32").transpose(2, 0, 1)
        disparity = (red * 4 + green / 2**6 + blue / 2**14)[None]
        scene = Path(path).parent
        hidden, outside = (scene.parents[1] / name / scene.name / Path(path).name for name in ("occlusions", "outofframe"))
        for file, what in ((hidden, "Occlusion mask"), (outside, "Out of frame mask")):
            if not file.exists():
                raise FileNotFoundError(f"{what} {file} does not exist")
        return disparity, (read_numbers(hidden) == 0) & (read_numbers(outside) == 0)


class InStereo2k(StereoMatchingDataset):
    """[InStereo2k](https://github.com/YuhuaXu/StereoDataset): 2,060 pairs taken indoors.

    Bao et al., "InStereo2K: a large real dataset for stereo matching in indoor scenes", 2020.

    Args:
        root: the folder that holds `InStereo2k`.
        split: `train` or `test`.
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.InStereo2k("data", split="val")
        Traceback (most recent call last):
        ...
        ValueError: Unknown value 'val' for argument split. Valid values are {'train', 'test'}.
    """

    def __init__(self, root: str | Path, split: str = "train", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        folder = self._folder / "InStereo2k" / split
        self._add(folder, ("*/left.png", "*/right.png"), ("*/left_disp.png", "*/right_disp.png"))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_numbers(path, "float32")[None] / 1024.0, None


class ETH3DStereo(StereoMatchingDataset):
    """[ETH3D](https://www.eth3d.net/): 27 training and 20 test pairs of grey images, indoors and outdoors.

    Schöps et al., "A Multi-View Stereo Benchmark with High-Resolution Images and Multi-Camera Videos", 2017.

    Args:
        root: the folder that holds `ETH3D`.
        split: `train` or `test`. The test split has neither disparity nor mask (both None).
        transforms: a function of `(images, disparities, masks)`, each a pair `(left, right)`, that returns all three.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "ETH3D/two_view_test/lakeside")).mkdir(parents=True)
        ...     for name in ("im0.png", "im1.png"):
        ...         Image.new("L", (6, 4)).save(folder / name)
        ...     left, right, disparity, mask = datasets.ETH3DStereo(root, split="test")[0]
        ...     left.mode, right.size, disparity
        ('RGB', (6, 4), None)
    """

    _has_mask = True

    def __init__(self, root: str | Path, split: str = "train", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        images = "two_view_training" if split == "train" else "two_view_test"
        disparities = ("two_view_training_gt/*/disp0GT.pfm", None) if split == "train" else None
        self._add(self._folder / "ETH3D", (f"{images}/*/im0.png", f"{images}/*/im1.png"), disparities)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return _absolute(path), read_numbers(Path(path).with_name("mask0nocc.png")).astype(bool)

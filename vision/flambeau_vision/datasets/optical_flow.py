"""Optical flow datasets: pairs of images with the motion of each pixel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from flambeau.utils.data import ConcatDataset

from ._rasters import read_flo, read_flow_png, read_pfm
from .folder import default_loader
from .utils import verify_str_arg
from .vision import VisionDataset

__all__ = ["HD1K", "FlowDataset", "FlyingChairs", "FlyingThings3D", "KittiFlow", "Sintel"]


class FlowDataset(VisionDataset):
    """Base of the optical flow datasets: pairs of images with the flow between them. A subclass lists the files with `_add`
    and implements `_read_flow`.

    Each item is `(first, second, flow)`: two images and a NumPy array of shape `(2, H, W)` with the displacement of each
    pixel to the right and down. Splits published without flow have None instead. If the files mark valid pixels, or
    `transforms` returns a mask, the item has a fourth element: a bool array of shape `(H, W)`, or None.

    `3 * dataset` repeats the dataset three times.

    Args:
        root: the folder that holds the folder of the dataset.
        transforms: a function of `(first, second, flow, mask)` that returns all four.
        loader: a function that reads an image file.
    """

    _has_mask = False

    def __init__(
        self, root: str | Path, transforms: Callable | None = None, loader: Callable[[str], Any] = default_loader
    ) -> None:
        super().__init__(root)
        self.transforms = transforms
        self._loader = loader
        self._image_list: list[tuple[str, str]] = []
        self._flow_list: list[str] = []

    def _add(self, first: Iterable[Path], second: Iterable[Path], flow: Iterable[Path] = ()) -> None:
        self._image_list += [(str(a), str(b)) for a, b in zip(first, second, strict=False)]
        self._flow_list += [str(path) for path in flow]

    def _require_images(self) -> None:
        if not self._image_list:
            raise FileNotFoundError(
                f"Could not find the {type(self).__name__} images. Please make sure the directory structure is correct."
            )

    def _read_flow(self, path: str) -> Any:
        return read_flo(path)

    def __len__(self) -> int:
        return len(self._image_list)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        first, second = (self._loader(path) for path in self._image_list[index])
        flow, mask = None, None
        if self._flow_list:
            flow = self._read_flow(self._flow_list[index])
            if self._has_mask:
                flow, mask = flow
        if self.transforms is not None:
            first, second, flow, mask = self.transforms(first, second, flow, mask)
        return (first, second, flow, mask) if self._has_mask or mask is not None else (first, second, flow)

    def __rmul__(self, times: int) -> ConcatDataset:
        return ConcatDataset([self] * times)


class Sintel(FlowDataset):
    r"""[Sintel](http://sintel.is.tue.mpg.de/): scenes of an animated film, with the flow from each image to the next.

    Butler, Wulff, Stanley and Black, "A naturalistic open source movie for optical flow evaluation", 2012.

    Args:
        root: the folder that holds `Sintel`.
        split: `train` or `test`. The test split has no flow (None).
        pass_name: `clean`, `final` (with blur and atmosphere) or `both`.
        transforms: a function of `(first, second, flow, mask)` that returns all four.
        loader: a function that reads an image file.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` or `pass_name` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "Sintel/test/clean/cave")).mkdir(parents=True)
        ...     for number in range(3):
        ...         Image.new("RGB", (6, 4)).save(folder / f"frame_{number:04d}.png")
        ...     scenes = datasets.Sintel(root, split="test")
        ...     first, second, flow = scenes[0]
        ...     len(scenes), first.size, flow
        (2, (6, 4), None)
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        pass_name: str = "clean",
        transforms: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        folder = self._folder / "Sintel"
        part = folder / ("training" if split == "train" else "test")
        for name in ("clean", "final") if pass_name == "both" else (pass_name,):
            for scene in sorted((part / name).iterdir()):
                images = sorted(scene.glob("*.png"))
                flow = sorted((part / "flow" / scene.name).glob("*.flo")) if split == "train" else []
                self._add(images, images[1:], flow)


class KittiFlow(FlowDataset):
    """[KITTI 2015](http://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=flow): 400 pairs taken from a car.

    Menze and Geiger, "Object Scene Flow for Autonomous Vehicles", 2015. Flow files are 16-bit PNG images, read by PyAV.

    Args:
        root: the folder that holds `KittiFlow`.
        split: `train` or `test`. The test split has neither flow nor mask (both None).
        transforms: a function of `(first, second, flow, mask)` that returns all four.
        loader: a function that reads an image file.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "KittiFlow/testing/image_2")).mkdir(parents=True)
        ...     for name in ("000000_10.png", "000000_11.png"):
        ...         Image.new("RGB", (6, 4)).save(folder / name)
        ...     pairs = datasets.KittiFlow(root, split="test")
        ...     len(pairs), pairs[0][1].size, pairs[0][2:]
        (1, (6, 4), (None, None))
    """

    _has_mask = True

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transforms: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        part = self._folder / "KittiFlow" / f"{split}ing"
        flow = sorted((part / "flow_occ").glob("*_10.png")) if split == "train" else []
        self._add(sorted((part / "image_2").glob("*_10.png")), sorted((part / "image_2").glob("*_11.png")), flow)
        self._require_images()

    def _read_flow(self, path: str) -> tuple[Any, Any]:
        return read_flow_png(path)


class FlyingChairs(FlowDataset):
    r"""[Flying Chairs](https://lmb.informatik.uni-freiburg.de/resources/datasets/FlyingChairs.en.html): 22,872 rendered pairs.

    Dosovitskiy et al., [FlowNet: Learning Optical Flow with Convolutional Networks](https://arxiv.org/abs/1504.06852), 2015.

    Args:
        root: the folder that holds `FlyingChairs`, with `data` and `FlyingChairs_train_val.txt`.
        split: `train` or `val`.
        transforms: a function of `(first, second, flow, mask)` that returns all four.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import struct
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "FlyingChairs/data")).mkdir(parents=True)
        ...     for name in ("00001_img1.ppm", "00001_img2.ppm"):
        ...         Image.new("RGB", (6, 4)).save(folder / name)
        ...     _ = (folder / "00001_flow.flo").write_bytes(b"PIEH" + struct.pack("<2i48f", 6, 4, *range(48)))
        ...     _ = (folder.parent / "FlyingChairs_train_val.txt").write_text("1\n")
        ...     first, second, flow = datasets.FlyingChairs(root)[0]
        ...     flow[:, 0, 1].tolist()
        [2.0, 3.0]
    """

    def __init__(self, root: str | Path, split: str = "train", transforms: Callable | None = None) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "val"))
        folder = self._folder / "FlyingChairs"
        numbers = folder / "FlyingChairs_train_val.txt"
        if not numbers.exists():
            raise FileNotFoundError(f"{numbers} was not found: please download it from the page of the dataset")
        images, flow = (sorted((folder / "data").glob(pattern)) for pattern in ("*.ppm", "*.flo"))
        wanted = "1" if split == "train" else "2"
        chosen = [index for index, number in enumerate(numbers.read_text().split()) if number == wanted and index < len(flow)]
        self._add([images[2 * i] for i in chosen], [images[2 * i + 1] for i in chosen], [flow[i] for i in chosen])


class FlyingThings3D(FlowDataset):
    """[FlyingThings3D](https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html): rendered scenes.

    Mayer et al., [A Large Dataset to Train Convolutional Networks for Disparity, Optical Flow, and Scene Flow
    Estimation](https://arxiv.org/abs/1512.02134), 2016. Flow is published from each image to the next and to the previous one.

    Args:
        root: the folder that holds `FlyingThings3D`.
        split: `train` or `test`.
        pass_name: `clean`, `final` (with blur) or `both`.
        camera: `left`, `right` or `both`.
        transforms: a function of `(first, second, flow, mask)` that returns all four.
        loader: a function that reads an image file.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split`, `pass_name` or `camera` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.FlyingThings3D("data", camera="both")
        Traceback (most recent call last):
        ...
        FileNotFoundError: Could not find the FlyingThings3D images. Please make sure the directory structure is correct.
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        pass_name: str = "clean",
        camera: str = "left",
        transforms: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        verify_str_arg(camera, "camera", ("left", "right", "both"))
        folder = self._folder / "FlyingThings3D"
        passes = ("clean", "final") if pass_name == "both" else (pass_name,)
        cameras = ("left", "right") if camera == "both" else (camera,)
        for name, side, direction in product(passes, cameras, ("into_future", "into_past")):
            image_scenes = sorted((folder / f"frames_{name}pass" / split.upper()).glob("*/*"))
            flow_scenes = sorted((folder / "optical_flow" / split.upper()).glob("*/*"))
            for image_scene, flow_scene in zip(image_scenes, flow_scenes, strict=False):
                images = list(pairwise(sorted((image_scene / side).glob("*.png"))))
                flow = sorted((flow_scene / direction / side).glob("*.pfm"))
                images = images[: max(len(flow) - 1, 0)]
                if direction == "into_future":
                    self._add([now for now, _ in images], [after for _, after in images], flow[:-1])
                else:
                    self._add([after for _, after in images], [now for now, _ in images], flow[1:])
        self._require_images()

    def _read_flow(self, path: str) -> Any:
        return read_pfm(path, channels=2)


class HD1K(FlowDataset):
    """[HD1K](http://hci-benchmark.iwr.uni-heidelberg.de/): pairs of 2560 x 1080 pixels, taken from a car.

    Kondermann et al., "The HCI Benchmark Suite: Stereo and Flow Ground Truth with Uncertainties for Urban Autonomous Driving",
    2016. Flow files are 16-bit PNG images, read by PyAV.

    Args:
        root: the folder that holds `hd1k`.
        split: `train` or `test`. The test split has neither flow nor mask (both None).
        transforms: a function of `(first, second, flow, mask)` that returns all four.
        loader: a function that reads an image file.

    Raises:
        FileNotFoundError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.HD1K("data")
        Traceback (most recent call last):
        ...
        FileNotFoundError: Could not find the HD1K images. Please make sure the directory structure is correct.
    """

    _has_mask = True
    _SEQUENCES = 36

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transforms: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        folder = self._folder / "hd1k"
        if split == "test":
            images = folder / "hd1k_challenge" / "image_2"
            self._add(sorted(images.glob("*10.png")), sorted(images.glob("*11.png")))
        else:
            for sequence in range(self._SEQUENCES):  # both images of a pair are from the same sequence
                flow = sorted((folder / "hd1k_flow_gt" / "flow_occ").glob(f"{sequence:06d}_*.png"))
                images = sorted((folder / "hd1k_input" / "image_2").glob(f"{sequence:06d}_*.png"))
                self._add(images[: max(len(flow) - 1, 0)], images[1:], flow[:-1])
        self._require_images()

    def _read_flow(self, path: str) -> tuple[Any, Any]:
        return read_flow_png(path)

"""Datasets in small folders: flambeau reads the same samples as torchvision."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

theirs = pytest.importorskip("torchvision.datasets")
from vision_trees import TREES  # noqa: E402

import flambeau as torch  # noqa: E402
from flambeau_vision import datasets as ours  # noqa: E402


def pictures(root: Path, *names: str) -> None:
    rng = np.random.default_rng(0)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)).save(root / name)


def lines(root: Path, name: str, *values: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("".join(f"{value}\n" for value in values))


def country211(root: Path) -> list[dict]:
    pictures(root / "country211", "train/FR/1.jpg", "train/IT/1.jpg", "train/IT/2.jpg", "valid/FR/1.jpg")
    return [{}, {"split": "valid"}]


def rendered_sst2(root: Path) -> list[dict]:
    for split in ("train", "valid", "test"):
        pictures(root / "rendered-sst2" / split, "negative/1.png", "positive/1.png", "positive/2.png")
    return [{}, {"split": "val"}, {"split": "test"}]


def imagenette(root: Path) -> list[dict]:
    pictures(root / "imagenette2-160", "train/n01440764/a.JPEG", "train/n03394916/a.JPEG", "val/n03888257/a.JPEG")
    return [{"size": "160px"}, {"size": "160px", "split": "val"}]


def sun397(root: Path) -> list[dict]:
    pictures(root / "SUN397", "a/abbey/sun_1.jpg", "w/wave/big/sun_2.jpg")
    lines(root, "SUN397/ClassName.txt", "/a/abbey", "/w/wave/big")
    return [{}]


def aircraft(root: Path) -> list[dict]:
    data = root / "fgvc-aircraft-2013b" / "data"
    pictures(data / "images", "1.jpg", "2.jpg")
    lines(data, "variants.txt", "A320", "737-200")
    lines(data, "manufacturers.txt", "Airbus", "Boeing")
    lines(data, "images_variant_trainval.txt", "1 737-200", "2 A320")
    lines(data, "images_manufacturer_test.txt", "2 Boeing")
    return [{}, {"split": "test", "annotation_level": "manufacturer"}]


def clevr(root: Path) -> list[dict]:
    data = root / "clevr" / "CLEVR_v1.0"
    pictures(data / "images", "train/a.png", "train/b.png", "test/a.png")
    scenes = [{"image_filename": "b.png", "objects": [1, 2]}, {"image_filename": "a.png", "objects": [1]}]
    lines(data, "scenes/CLEVR_train_scenes.json", json.dumps({"scenes": scenes}))
    return [{}, {"split": "test"}]


CASES = {
    "Country211": country211,
    "RenderedSST2": rendered_sst2,
    "Imagenette": imagenette,
    "SUN397": sun397,
    "FGVCAircraft": aircraft,
    "CLEVRClassification": clevr,
}


@pytest.mark.parametrize("name", CASES)
def test_same_samples(name, tmp_path):
    for kwargs in CASES[name](tmp_path):
        their, our = (getattr(module, name)(str(tmp_path), **kwargs) for module in (theirs, ours))
        assert len(our) == len(their) > 0
        key = lambda sample: (str(sample[1]), sample[0].tobytes())  # noqa: E731
        assert sorted(map(key, our)) == sorted(map(key, their))
        assert getattr(our, "classes", None) == getattr(their, "classes", None)
        assert getattr(our, "class_to_idx", None) == getattr(their, "class_to_idx", None)
        assert repr(our) == repr(their)
    with pytest.raises(RuntimeError):
        getattr(ours, name)(str(tmp_path / "empty"))


def plain(value):
    """Replace images, arrays and tensors in a sample by their type and contents."""
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, Image.Image):
        return "image", value.mode, value.size, value.tobytes()
    if hasattr(value, "numpy"):
        return "tensor", str(value.dtype), value.numpy().tolist()
    return ("array", str(value.dtype), value.tolist()) if isinstance(value, np.ndarray) else value


@pytest.fixture
def unchecked(monkeypatch):
    """Do not verify checksums, because the test files are not the published ones."""
    for package in ("torchvision", "flambeau_vision"):
        for name in ("lfw", "fer2013"):
            module = __import__(f"{package}.datasets.{name}", fromlist=["x"])
            monkeypatch.setattr(module, "check_integrity", lambda path, md5=None: Path(path).is_file())


@pytest.mark.parametrize("name", TREES)
def test_same_items(name, tmp_path, unchecked):
    for kwargs in TREES[name](tmp_path):
        their, our = (getattr(module, name)(str(tmp_path), **kwargs) for module in (theirs, ours))
        assert len(our) == len(their) > 0
        found = [plain(our[index]) for index in range(len(our))]
        expected = [plain(their[index]) for index in range(len(their))]
        assert sorted(found, key=str) == sorted(expected, key=str)  # torchvision's order is that of the folder
        assert repr(our) == repr(their)


@pytest.mark.filterwarnings("ignore:There aren't enough frames")
@pytest.mark.parametrize("rate", [None, 10.0, 7.5, 40.0])
def test_same_clips(rate):
    from torchvision.datasets.samplers import UniformClipSampler as TheirSampler
    from torchvision.datasets.video_utils import VideoClips as Theirs

    from flambeau_vision.datasets.samplers import UniformClipSampler
    from flambeau_vision.datasets.video_utils import VideoClips

    their_torch = pytest.importorskip("torch")
    lengths, rates = [13, 30, 4], [20.0, 10.0, 30.0]
    clips = []
    for cls, lib in ((VideoClips, torch), (Theirs, their_torch)):
        pts = [lib.arange(length) for length in lengths]
        found = {"video_paths": ["a", "b", "c"], "video_pts": pts, "video_fps": rates}
        clips.append(cls([], 5, 3, rate, found))
    our, their = clips
    assert [part.tolist() for part in our.clips] == [part.tolist() for part in their.clips]
    assert our.cumulative_sizes == their.cumulative_sizes
    assert all(our.get_clip_location(index) == their.get_clip_location(index) for index in range(len(our)))
    chosen = [[part.tolist() if hasattr(part, "tolist") else part for part in side.resampling_idxs] for side in clips]
    assert chosen[0] == chosen[1]
    assert list(UniformClipSampler(our, 4)) == list(TheirSampler(their, 4))


WRAPPED = {
    "Kitti": [{}, {"train": False}],
    "WIDERFace": [{}, {"split": "test"}],
    "SBDataset": [{"mode": "segmentation"}],
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("keys", [None, "all"])
def test_same_wrapped_items(name, keys, tmp_path):
    if keys is not None and name == "SBDataset":
        with pytest.raises(ValueError, match="target_keys"):
            ours.wrap_dataset_for_transforms_v2(getattr(ours, name)(root_of(name, tmp_path), **WRAPPED[name][0]), keys)
        return
    root = root_of(name, tmp_path)
    for kwargs in WRAPPED[name]:
        their, our = (
            module.wrap_dataset_for_transforms_v2(getattr(module, name)(root, **kwargs), keys) for module in (theirs, ours)
        )
        assert type(our).__name__ == type(their).__name__ and isinstance(our, getattr(ours, name))
        found, expected = ([plain(side[index]) for index in range(len(side))] for side in (our, their))
        assert sorted(found, key=by_content) == sorted(expected, key=by_content)


def root_of(name, tmp_path):
    TREES[name](tmp_path)
    return str(tmp_path)


def by_content(item):
    return str(item[0])

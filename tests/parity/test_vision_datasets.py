"""Data sets in small folders: what torchvision reads there, flambeau reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

theirs = pytest.importorskip("torchvision.datasets")
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

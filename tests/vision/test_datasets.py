"""Vision datasets, read from small files in the published formats."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import flambeau as torch
from flambeau_vision import datasets
from flambeau_vision.transforms import ToTensor

pytestmark = pytest.mark.slow


def md5_of(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def write_image(path: Path, value: int, size: tuple[int, int] = (6, 4), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = value if mode == "L" else (value,) * 3
    Image.new(mode, size, colour).save(path)


def first_pixel(image: Image.Image) -> int:
    pixel = image.getpixel((0, 0))
    return pixel[0] if isinstance(pixel, tuple) else pixel


# Digits, included in the package


def test_uci_digits_are_scikit_learns():
    original = pytest.importorskip("sklearn.datasets").load_digits()
    train, test = datasets.UCIDigits(train=True), datasets.UCIDigits(train=False)
    assert len(train) == 1348 and len(test) == 449
    held_out = np.arange(1797) % 4 == 3
    for part, chosen in ((train, ~held_out), (test, held_out)):
        assert np.array_equal(part.data.numpy(), np.rint(original.images[chosen] * 255 / 16).astype(np.uint8))
        assert part.targets.tolist() == original.target[chosen].tolist()


def test_uci_digits_samples():
    digits = datasets.UCIDigits()
    image, target = digits[3]
    assert image.mode == "L" and image.size == (8, 8) and isinstance(target, int)
    assert digits.classes[target].startswith(str(target)) and digits.class_to_idx[digits.classes[target]] == target
    assert digits.data.dtype == torch.uint8 and digits.targets.dtype == torch.int64
    scaled, shifted = datasets.UCIDigits(transform=ToTensor(), target_transform=lambda t: t + 100)[3]
    assert torch.equal(scaled, digits.data[3].float().unsqueeze(0) / 255) and shifted == target + 100


def test_loader_over_digits():
    digits = datasets.UCIDigits(train=False, transform=ToTensor())
    batches = list(torch.utils.data.DataLoader(digits, batch_size=100))
    assert [len(targets) for _, targets in batches] == [100, 100, 100, 100, 49]
    assert torch.equal(torch.cat([images for images, _ in batches]), digits.data.unsqueeze(1).float() / 255)


# VisionDataset


class Numbers(datasets.VisionDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self._transformed(index, -index)


def test_separate_and_joint_transforms():
    assert Numbers(transform=lambda x: x + 10, target_transform=lambda y: y - 10)[2] == (12, -12)
    assert Numbers(transforms=lambda x, y: (y, x))[2] == (-2, 2)
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform"):
        Numbers(transforms=lambda x, y: (y, x), transform=abs)


def test_transform_may_be_assigned_later():
    numbers = Numbers(transform=lambda x: x)
    numbers.transform = lambda x: x * 100
    assert numbers[2] == (200, -2)


def test_printed_form():
    numbers = Numbers("somewhere", transform=ToTensor(), target_transform=ToTensor())
    assert repr(numbers) == (
        "Dataset Numbers\n    Number of datapoints: 3\n    Root location: somewhere\n"
        "    StandardTransform\nTransform: ToTensor()\nTarget transform: ToTensor()"
    )


# MNIST and datasets in its format


def idx_bytes(array: np.ndarray) -> bytes:
    codes = {"uint8": 8, "int32": 12}
    header = bytes([0, 0, codes[array.dtype.name], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def mnist_mirror(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    content = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (5, 28, 28), dtype=np.uint8),
        "train-labels-idx1-ubyte": rng.integers(0, 10, 5, dtype=np.uint8),
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (3, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte": rng.integers(0, 10, 3, dtype=np.uint8),
    }
    resources = []
    for name, array in content.items():
        path = mirror / f"{name}.gz"
        path.write_bytes(gzip.compress(idx_bytes(array)))
        resources.append((path.name, md5_of(path)))
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"file://{tmp_path}/nowhere/", f"file://{mirror}/"])
    return content


@pytest.mark.parametrize("train", [True, False])
def test_mnist_downloads_and_reads(tmp_path, mnist_mirror, train):
    mnist = datasets.MNIST(tmp_path / "data", train=train, download=True)
    prefix = "train" if train else "t10k"
    images, labels = mnist_mirror[f"{prefix}-images-idx3-ubyte"], mnist_mirror[f"{prefix}-labels-idx1-ubyte"]
    assert np.array_equal(mnist.data.numpy(), images) and mnist.targets.tolist() == labels.tolist()
    image, target = mnist[1]
    assert np.array_equal(np.asarray(image), images[1]) and target == labels[1]
    assert f"Split: {'Train' if train else 'Test'}" in repr(mnist)
    assert len(datasets.MNIST(tmp_path / "data", train=train)) == len(images)  # the files exist, so no download is needed
    assert torch.equal(mnist.train_data, mnist.data) and torch.equal(mnist.test_labels, mnist.targets)


def test_mnist_is_missing(tmp_path):
    with pytest.raises(RuntimeError, match="Dataset not found"):
        datasets.MNIST(tmp_path)


def test_mnist_from_no_mirror(tmp_path, mnist_mirror, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"file://{tmp_path}/nowhere/", f"file://{tmp_path}/neither/"])
    with pytest.raises(
        RuntimeError, match=r"Error downloading train-images-idx3-ubyte\.gz:\nTried .*nowhere/, got:\n.*\nTried .*neither/"
    ):
        datasets.MNIST(tmp_path / "data", download=True)


def test_mnist_from_the_mirror_whose_files_are_whole(tmp_path, mnist_mirror, monkeypatch):
    broken = tmp_path / "broken"
    broken.mkdir()
    for name, _ in datasets.MNIST.resources:
        (broken / name).write_bytes(b"half of it")
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"file://{broken}/", *datasets.MNIST.mirrors])
    assert len(datasets.MNIST(tmp_path / "data", download=True)) == len(mnist_mirror["train-images-idx3-ubyte"])


def test_not_an_idx_file(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (raw / name).write_bytes(b"\x80\x04pickle?")
    with pytest.raises(ValueError, match="is not an IDX file"):
        datasets.MNIST(tmp_path)


def test_emnist_splits(tmp_path, monkeypatch):
    images, labels = np.zeros((2, 28, 28), np.uint8), np.array([3, 26], np.uint8)
    archive = tmp_path / "gzip.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("gzip/emnist-letters-train-images-idx3-ubyte.gz", gzip.compress(idx_bytes(images)))
        zipped.writestr("gzip/emnist-letters-train-labels-idx1-ubyte.gz", gzip.compress(idx_bytes(labels)))
    monkeypatch.setattr(datasets.EMNIST, "url", f"file://{archive}")
    monkeypatch.setattr(datasets.EMNIST, "md5", md5_of(archive))
    emnist = datasets.EMNIST(tmp_path / "data", split="letters", download=True)
    assert [emnist.classes[target] for target in emnist.targets] == ["c", "z"]
    sizes = {split: len(classes) for split, classes in datasets.EMNIST.classes_split_dict.items()}
    assert sizes == {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 27, "digits": 10, "mnist": 10}
    with pytest.raises(ValueError, match=r"Unknown value 'words' for argument split\. Valid values are \{'byclass'"):
        datasets.EMNIST(tmp_path, split="words")


def test_qmnist_full_labels(tmp_path):
    raw = tmp_path / "QMNIST" / "raw"
    raw.mkdir(parents=True)
    labels = np.arange(16, dtype=np.int32).reshape(2, 8) * 1000
    (raw / "qmnist-test-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((2, 28, 28), np.uint8)))
    (raw / "qmnist-test-labels-idx2-int").write_bytes(idx_bytes(labels))
    assert [target for _, target in (datasets.QMNIST(tmp_path, "test")[i] for i in range(2))] == [0, 8000]
    assert datasets.QMNIST(tmp_path, train=False, compat=False)[1][1].tolist() == labels[1].tolist()
    assert len(datasets.QMNIST(tmp_path, "test50k")) == 0


# CIFAR


def cifar_batch(count: int, key: str, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
    return {"batch_label": "x", key: rng.integers(0, 10, count).tolist(), "data": pixels, "filenames": ["a.png"] * count}


@pytest.fixture
def cifar_archive(tmp_path, monkeypatch):
    """Write a CIFAR-10 archive as published, with pickles of protocol 2."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    batches = {name: cifar_batch(4, "labels", seed) for seed, name in enumerate(names)}
    stored = {**batches, "batches.meta": {"label_names": [f"class {n}" for n in range(10)], "num_vis": 3072}}
    archive = tmp_path / "cifar-10-python.tar.gz"
    md5 = {}
    with tarfile.open(archive, "w:gz") as tar:
        for name, value in stored.items():
            content = pickle.dumps(value, protocol=2)
            md5[name] = hashlib.md5(content).hexdigest()
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    cifar = datasets.CIFAR10
    monkeypatch.setattr(cifar, "url", f"file://{archive}")
    monkeypatch.setattr(cifar, "tgz_md5", md5_of(archive))
    monkeypatch.setattr(cifar, "train_list", [[name, md5[name]] for name in names[:5]])
    monkeypatch.setattr(cifar, "test_list", [["test_batch", md5["test_batch"]]])
    monkeypatch.setattr(cifar, "meta", {**cifar.meta, "md5": md5["batches.meta"]})
    return batches


def test_cifar10_reads_the_published_format(tmp_path, cifar_archive):
    train = datasets.CIFAR10(tmp_path / "data", download=True)
    test = datasets.CIFAR10(tmp_path / "data", train=False)
    expected = np.concatenate([cifar_archive[f"data_batch_{n}"]["data"] for n in range(1, 6)])
    assert np.array_equal(train.data.transpose(0, 3, 1, 2).reshape(20, -1), expected)
    assert test.targets == cifar_archive["test_batch"]["labels"] and len(test) == 4
    image, target = train[7]
    assert np.array_equal(np.asarray(image), train.data[7]) and train.classes[target] == f"class {target}"
    assert train.class_to_idx["class 4"] == 4


def test_cifar10_runs_no_code(tmp_path, cifar_archive, monkeypatch):
    datasets.CIFAR10(tmp_path, download=True)

    class RunsCode:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    batch = tmp_path / "cifar-10-batches-py" / "test_batch"
    batch.write_bytes(pickle.dumps({"data": RunsCode(), "labels": []}, protocol=2))
    monkeypatch.setattr(datasets.CIFAR10, "test_list", [["test_batch", md5_of(batch)]])
    with pytest.raises(pickle.UnpicklingError, match="mkdir is not allowed"):
        datasets.CIFAR10(tmp_path, train=False)
    assert not (tmp_path / "run").exists()


def test_cifar10_notices_damage(tmp_path, cifar_archive):
    datasets.CIFAR10(tmp_path, download=True)
    (tmp_path / "cifar-10-batches-py" / "data_batch_3").write_bytes(b"damaged")
    with pytest.raises(RuntimeError, match="not found or corrupted"):
        datasets.CIFAR10(tmp_path)


# Folders


def test_image_folder(tmp_path):
    for value, name in enumerate(["dog/b.png", "dog/a.JPG", "cat/deep/er/c.png", "cat/notes.txt"]):
        if name.endswith("txt"):
            (tmp_path / name).write_text("no image")
        else:
            write_image(tmp_path / name, value * 50)
    folder = datasets.ImageFolder(tmp_path)
    assert folder.classes == ["cat", "dog"] and folder.class_to_idx == {"cat": 0, "dog": 1}
    assert [Path(path).name for path, _ in folder.imgs] == ["c.png", "a.JPG", "b.png"] and folder.targets == [0, 1, 1]
    assert first_pixel(folder[0][0]) == 100 and folder[0][0].mode == "RGB"
    only_b = datasets.ImageFolder(tmp_path, is_valid_file=lambda path: path.endswith("b.png"), allow_empty=True)
    assert len(only_b) == 1 and only_b.classes == ["cat", "dog"]


def test_image_folder_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in"):
        datasets.ImageFolder(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no valid file for the classes empty\. Supported extensions are: \.jpg"):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(ValueError, match="cannot be None or not None at the same time"):
        datasets.DatasetFolder(tmp_path, loader=str)


def test_dataset_folder_of_other_files(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "one.json").write_text("[1]")
    folder = datasets.DatasetFolder(
        tmp_path, lambda path: json.loads(Path(path).read_text(encoding="utf-8")), extensions=(".json",)
    )
    assert folder[0] == ([1], 0)


def test_fake_data_repeats_itself_and_disturbs_nothing():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fake = datasets.FakeData(size=4, image_size=(3, 5, 7), num_classes=6, transform=ToTensor())
    first, second = fake[2], fake[2]
    assert torch.equal(first[0], second[0]) and first[1] == second[1]
    assert first[0].shape == (3, 5, 7) and 0 <= first[1] < 6
    assert not torch.equal(first[0], fake[1][0])
    assert torch.equal(torch.rand(3), expected)
    with pytest.raises(IndexError):
        fake[4]


# Other published formats: each test writes a few samples and reads them


@pytest.fixture
def unchecked(monkeypatch):
    """Only check that files exist, not their checksums, because they are not the published files."""
    for name in ("celeba", "flowers102", "places365", "sbu", "semeion", "stl10", "svhn", "usps", "omniglot", "imagenet"):
        module = __import__(f"flambeau_vision.datasets.{name}", fromlist=["x"])
        monkeypatch.setattr(module, "check_integrity", lambda path, md5=None: Path(path).is_file())


def test_stl10(tmp_path, unchecked):
    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 96, 96), dtype=np.uint8)
    for name, count in (("train", 4), ("test", 2), ("unlabeled", 3)):
        images[[0] * count].tofile(folder / f"{name}_X.bin") if name != "train" else images.tofile(folder / "train_X.bin")
        if name != "unlabeled":
            np.arange(1, count + 1, dtype=np.uint8).tofile(folder / f"{name}_y.bin")
    (folder / "class_names.txt").write_text("airplane\nbird\n")
    (folder / "fold_indices.txt").write_text("0 2\n1 3\n" + "0\n" * 8)
    train = datasets.STL10(tmp_path)
    assert train.labels.tolist() == [0, 1, 2, 3] and train.classes == ["airplane", "bird"]
    assert np.array_equal(np.asarray(train[1][0]), images[1].transpose(2, 1, 0))  # pixels are stored in column-major order
    assert datasets.STL10(tmp_path, folds=1).labels.tolist() == [1, 3]
    assert datasets.STL10(tmp_path, "train+unlabeled", folds=1).labels.tolist() == [1, 3, -1, -1, -1]
    assert len(datasets.STL10(tmp_path, "test")) == 2
    with pytest.raises(ValueError, match=r"range \[0, 10\), but got 10"):
        datasets.STL10(tmp_path, folds=10)


def test_svhn(tmp_path, unchecked):
    scipy_io = pytest.importorskip("scipy.io")
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 2), dtype=np.uint8)
    scipy_io.savemat(tmp_path / "test_32x32.mat", {"X": pixels, "y": np.array([[10], [3]], np.uint8)})
    svhn = datasets.SVHN(tmp_path, split="test")
    assert [svhn[i][1] for i in range(2)] == [0, 3]
    assert np.array_equal(np.asarray(svhn[1][0]), pixels[..., 1])


def test_usps(tmp_path, unchecked):
    import bz2

    line = " ".join(f"{i + 1}:{-1 + 2 * (i % 2)}" for i in range(256))
    (tmp_path / "usps.t.bz2").write_bytes(bz2.compress(f"7 {line}\n1 {line}\n".encode()))
    usps = datasets.USPS(tmp_path, train=False)
    assert usps.targets == [6, 0] and np.asarray(usps[0][0])[0, :4].tolist() == [0, 255, 0, 255]


def test_semeion(tmp_path, unchecked):
    rows = [[*([1.0] * 128), *([0.0] * 128), *np.eye(10, dtype=int)[digit]] for digit in (4, 9)]
    (tmp_path / "semeion.data").write_text("\n".join(" ".join(map(str, row)) for row in rows))
    semeion = datasets.SEMEION(tmp_path, download=False)
    image, target = semeion[1]
    assert target == 9 and np.asarray(image).sum() == 128 * 255 and image.size == (16, 16)


def test_omniglot(tmp_path, unchecked):
    base = tmp_path / "omniglot-py"
    for index, name in enumerate(["Greek/character01/1.png", "Greek/character02/2.png", "Latin/character01/3.png"]):
        write_image(base / "images_background" / name, index, mode="L")
    (base / "images_background.zip").write_bytes(b"there")
    omniglot = datasets.Omniglot(tmp_path)
    assert [(first_pixel(image), target) for image, target in (omniglot[i] for i in range(3))] == [(0, 0), (1, 1), (2, 2)]


def test_caltech(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    base = tmp_path / "caltech101"
    for index, name in enumerate(["BACKGROUND_Google/image_0001.jpg", "Faces/image_0007.jpg", "ant/image_0001.jpg"]):
        write_image(base / "101_ObjectCategories" / name, index * 100)
    (base / "Annotations" / "Faces_2").mkdir(parents=True)
    outline = np.array([[1.0, 2.0], [3.0, 4.0]])
    scipy_io.savemat(base / "Annotations" / "Faces_2" / "annotation_0007.mat", {"obj_contour": outline})
    caltech = datasets.Caltech101(tmp_path, target_type=["category", "annotation"])
    assert caltech.categories == ["Faces", "ant"] and len(caltech) == 2
    image, (category, contour) = caltech[0]
    assert abs(first_pixel(image) - 100) < 4 and category == 0 and np.array_equal(contour, outline)
    write_image(tmp_path / "caltech256/256_ObjectCategories/001.ak47/001_0001.jpg", 5)
    assert datasets.Caltech256(tmp_path)[0][1] == 0


def test_coco(tmp_path):
    for name in ("a.png", "b.png"):
        write_image(tmp_path / name, ord(name[0]))
    annotations = [
        {"id": 5, "image_id": 2, "bbox": [1, 2, 3, 4], "category_id": 7, "caption": "first"},
        {"id": 6, "image_id": 2, "bbox": [0, 0, 1, 1], "category_id": 8, "caption": "second"},
    ]
    images = [{"id": 2, "file_name": "b.png"}, {"id": 1, "file_name": "a.png"}]
    content = {"images": images, "annotations": annotations, "categories": [{"id": 7, "name": "cat"}]}
    (tmp_path / "ann.json").write_text(json.dumps(content))
    coco = datasets.CocoDetection(tmp_path, tmp_path / "ann.json")
    assert coco.ids == [1, 2] and coco[0][1] == [] and [a["id"] for a in coco[1][1]] == [5, 6]
    assert first_pixel(coco[1][0]) == ord("b") and coco.coco.loadCats(7)[0]["name"] == "cat"
    assert datasets.CocoCaptions(tmp_path, tmp_path / "ann.json")[1][1] == ["first", "second"]


def test_coco_masks(tmp_path):
    pytest.importorskip("pycocotools")
    polygon = [[1, 1, 5, 1, 5, 3, 1, 3]]
    run_lengths = {"size": [4, 6], "counts": [0, 4, 16, 4]}  # runs of 0, 1, 0, 1 in column-major order
    annotations = [
        {"id": 1, "image_id": 1, "segmentation": polygon},
        {"id": 2, "image_id": 1, "segmentation": run_lengths},
    ]
    content = {"images": [{"id": 1, "file_name": "a.jpg", "height": 4, "width": 6}], "annotations": annotations}
    (tmp_path / "ann.json").write_text(json.dumps(content))
    coco = datasets.CocoDetection(tmp_path, tmp_path / "ann.json").coco
    mask = coco.annToMask(annotations[0])
    assert mask.shape == (4, 6) and mask.sum() == 8 and mask[1:3, 1:5].all()
    for annotation in (annotations[1], {**annotations[1], "segmentation": coco.annToRLE(annotations[1])}):
        assert coco.annToMask(annotation).tolist() == [[1, 0, 0, 0, 0, 1]] * 4


def test_voc(tmp_path):
    base = tmp_path / "VOCdevkit" / "VOC2012"
    write_image(base / "JPEGImages" / "x.jpg", 9)
    write_image(base / "SegmentationClass" / "x.png", 3, mode="L")
    for lists in ("Segmentation", "Main"):
        (base / "ImageSets" / lists).mkdir(parents=True)
        (base / "ImageSets" / lists / "val.txt").write_text("x\n")
    (base / "Annotations").mkdir()
    box = "<bndbox><xmin>1</xmin></bndbox>"
    (base / "Annotations" / "x.xml").write_text(
        f"<annotation><folder>VOC</folder><object><name>dog</name>{box}</object></annotation>"
    )
    segmentation = datasets.VOCSegmentation(tmp_path, image_set="val")
    assert first_pixel(segmentation[0][1]) == 3 and segmentation.masks[0].endswith("SegmentationClass/x.png")
    _, target = datasets.VOCDetection(tmp_path, image_set="val")[0]
    assert target == {"annotation": {"folder": "VOC", "object": [{"name": "dog", "bndbox": {"xmin": "1"}}]}}
    with pytest.raises(ValueError, match="Unknown value 'test' for argument image_set"):
        datasets.VOCDetection(tmp_path, image_set="test")


def test_celeba(tmp_path, unchecked):
    base = tmp_path / "celeba"
    names = ["1.jpg", "2.jpg", "3.jpg"]
    for index, name in enumerate(names):
        write_image(base / "img_align_celeba" / name, index)
    tables = {
        "list_eval_partition.txt": "{} {i}",
        "identity_CelebA.txt": "{} 77{i}",
        "list_attr_celeba.txt": "{}  1 -1",
        "list_bbox_celeba.txt": "{} 1 2 3 {i}",
        "list_landmarks_align_celeba.txt": "{} 9 8",
    }
    for name, row in tables.items():
        lines = [row.format(image, i=index) for index, image in enumerate(names)]
        header = ["3", "Bald Young"] if name.startswith("list_") and "partition" not in name else []
        (base / name).write_text("\n".join([*header, *lines]) + "\n")
    celeba = datasets.CelebA(tmp_path, split="test", target_type=["attr", "identity", "bbox"])
    attributes, identity, box = celeba[0][1]
    assert len(celeba) == 1 and attributes.tolist() == [1, 0] and identity == 772 and box.tolist() == [1, 2, 3, 2]
    assert celeba.attr_names == ["Bald", "Young"] and len(datasets.CelebA(tmp_path, split="all")) == 3
    assert datasets.CelebA(tmp_path, target_type=[])[0][1] is None


def test_places365(tmp_path, unchecked):
    (tmp_path / "categories_places365.txt").write_text("/a/airfield 0\n/b/bar 1\n")
    (tmp_path / "places365_val.txt").write_text("x.jpg 1\n")
    write_image(tmp_path / "val_256" / "x.jpg", 1)
    places = datasets.Places365(tmp_path, "val", small=True)
    assert places.classes == ["/a/airfield", "/b/bar"] and places[0][1] == 1
    (tmp_path / "places365_test.txt").write_text("y.jpg\n")
    write_image(tmp_path / "test_large" / "y.jpg", 1)
    assert datasets.Places365(tmp_path, "test")[0][1] is None


def test_flickr(tmp_path):
    write_image(tmp_path / "12_ab.jpg", 1)
    (tmp_path / "30k.token").write_text("12_ab.jpg#0\tA dog.\n12_ab.jpg#1\tA cat.\n")
    assert datasets.Flickr30k(tmp_path, tmp_path / "30k.token")[0][1] == ["A dog.", "A cat."]
    page = "<table><tr><td><a href='x'>http://flickr/12/</a></td><td><ul><li>A dog. </li><li>A cat.</li></ul></td></tr></table>"
    (tmp_path / "8k.html").write_text(page)
    assert datasets.Flickr8k(tmp_path, tmp_path / "8k.html")[0][1] == ["A dog.", "A cat."]


def test_food101(tmp_path):
    base = tmp_path / "food-101"
    (base / "meta").mkdir(parents=True)
    (base / "meta" / "test.json").write_text(json.dumps({"waffles": ["waffles/2"], "apple_pie": ["apple_pie/1"]}))
    for name in ("waffles/2", "apple_pie/1"):
        write_image(base / "images" / f"{name}.jpg", 1)
    food = datasets.Food101(tmp_path, split="test")
    assert food.classes == ["apple_pie", "waffles"] and sorted(food[i][1] for i in range(2)) == [0, 1]


def test_flowers102(tmp_path, unchecked):
    scipy_io = pytest.importorskip("scipy.io")
    base = tmp_path / "flowers-102"
    write_image(base / "jpg" / "image_00002.jpg", 1)
    scipy_io.savemat(base / "setid.mat", {"trnid": [[1]], "valid": [[2]], "tstid": [[3]]})
    scipy_io.savemat(base / "imagelabels.mat", {"labels": [[10, 20, 30]]})
    assert datasets.Flowers102(tmp_path, split="val")[0][1] == 19


def test_oxford_pets(tmp_path):
    base = tmp_path / "oxford-iiit-pet"
    (base / "annotations").mkdir(parents=True)
    (base / "annotations" / "test.txt").write_text("great_dane_5 2 2 1\nAbyssinian_1 1 1 1\n")
    for name in ("great_dane_5", "Abyssinian_1"):
        write_image(base / "images" / f"{name}.jpg", 1)
        write_image(base / "annotations" / "trimaps" / f"{name}.png", 2, mode="L")
    pets = datasets.OxfordIIITPet(tmp_path, "test", ["category", "binary-category", "segmentation"])
    category, species, mask = pets[0][1]
    assert pets.classes == ["Abyssinian", "Great Dane"] and (category, species, first_pixel(mask)) == (1, 1, 2)


def test_stanford_cars(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    base = tmp_path / "stanford_cars"
    write_image(base / "cars_train" / "1.jpg", 1)
    write_image(base / "cars_train" / "2.jpg", 1)
    (base / "devkit").mkdir()
    rows = np.array([("1.jpg", 2), ("2.jpg", 1)], dtype=[("fname", "O"), ("class", "i4")])
    scipy_io.savemat(base / "devkit" / "cars_train_annos.mat", {"annotations": rows})
    scipy_io.savemat(base / "devkit" / "cars_meta.mat", {"class_names": np.array(["A", "B"], dtype=object)})
    cars = datasets.StanfordCars(tmp_path)
    assert [cars[i][1] for i in range(2)] == [1, 0] and cars.classes == ["A", "B"]
    with pytest.raises(ValueError, match="original URL of Stanford Cars is broken"):
        datasets.StanfordCars(tmp_path, split="test", download=True)


def test_gtsrb(tmp_path):
    base = tmp_path / "gtsrb"
    write_image(base / "GTSRB/Training/00000/a.ppm", 1)
    write_image(base / "GTSRB/Training/00001/b.ppm", 1)
    write_image(base / "GTSRB/Final_Test/Images/c.ppm", 1)
    (base / "GT-final_test.csv").write_text("Filename;Width;ClassId\nc.ppm;5;16\n")
    assert [target for _, target in (datasets.GTSRB(tmp_path)[i] for i in range(2))] == [0, 1]
    assert datasets.GTSRB(tmp_path, split="test")[0][1] == 16


def test_dtd(tmp_path):
    base = tmp_path / "dtd" / "dtd"
    (base / "labels").mkdir(parents=True)
    (base / "labels" / "val3.txt").write_text("zigzagged/z.jpg\nbanded/b.jpg\n")
    for name in ("zigzagged/z.jpg", "banded/b.jpg"):
        write_image(base / "images" / name, 1)
    assert [target for _, target in (datasets.DTD(tmp_path, "val", 3)[i] for i in range(2))] == [1, 0]
    with pytest.raises(ValueError, match="1 <= partition <= 10`, but got 11"):
        datasets.DTD(tmp_path, partition=11)


def test_eurosat(tmp_path):
    write_image(tmp_path / "eurosat/2750/Forest/1.jpg", 1)
    assert datasets.EuroSAT(tmp_path).classes == ["Forest"]


def test_phototour(tmp_path):
    base = tmp_path / "liberty"
    base.mkdir()
    sheet = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16), 64, axis=0).repeat(64, axis=1)
    Image.fromarray(sheet).save(base / "patches0000.bmp")
    (base / "info.txt").write_text("".join(f"{index // 2} 0\n" for index in range(200)))
    (base / "m50_100000_100000_0.txt").write_text("0 5 0 1 5 0\n0 5 0 9 6 0\n")
    patches = datasets.PhotoTour(tmp_path, "liberty")
    assert len(patches) == 200 and patches[17].shape == (64, 64) and int(patches[17].min()) == int(patches[17].max()) == 17
    first, second, match = datasets.PhotoTour(tmp_path, "liberty", train=False)[1]
    assert int(first[0, 0]) == 0 and int(second[0, 0]) == 9 and match == 0


def test_sbu(tmp_path, unchecked):
    (tmp_path / "SBUCaptionedPhotoDataset.tar.gz").write_bytes(b"there")
    write_image(tmp_path / "dataset" / "b.jpg", 1)
    (tmp_path / "dataset" / "SBU_captioned_photo_dataset_urls.txt").write_text("http://x/a.jpg\nhttp://x/b.jpg\n")
    (tmp_path / "dataset" / "SBU_captioned_photo_dataset_captions.txt").write_text("gone \nthere \n")
    sbu = datasets.SBU(tmp_path, download=False)
    assert len(sbu) == 1 and sbu[0][1] == "there"


def test_imagenet(tmp_path, unchecked):
    (tmp_path / "meta.json").write_text(json.dumps({"classes": {"n1": ["tench", "Tinca"], "n2": ["eel"]}, "validation": []}))
    write_image(tmp_path / "val/n2/x.JPEG", 1)
    write_image(tmp_path / "val/n1/y.JPEG", 1)
    imagenet = datasets.ImageNet(tmp_path, split="val")
    assert imagenet.classes == [("tench", "Tinca"), ("eel",)] and imagenet.wnids == ["n1", "n2"]
    assert imagenet.class_to_idx == {"tench": 0, "Tinca": 0, "eel": 1} and [t for _, t in imagenet.samples] == [0, 1]
    with pytest.raises(RuntimeError, match=r"The archive ILSVRC2012_img_train\.tar is not present"):
        datasets.ImageNet(tmp_path, split="train")


def test_imagenet_validation_archive(tmp_path, unchecked):
    images = io.BytesIO()
    Image.new("RGB", (2, 2)).save(images, "JPEG")
    with tarfile.open(tmp_path / "ILSVRC2012_img_val.tar", "w") as tar:
        for name in ("ILSVRC2012_val_1.JPEG", "ILSVRC2012_val_2.JPEG"):
            member = tarfile.TarInfo(name)
            member.size = len(images.getvalue())
            tar.addfile(member, io.BytesIO(images.getvalue()))
    meta = {"classes": {"n1": ["a"], "n2": ["b"]}, "validation": ["n2", "n1"]}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    imagenet = datasets.ImageNet(tmp_path, split="val")
    assert [Path(path).parts[-2:] for path, _ in imagenet.imgs] == [
        ("n1", "ILSVRC2012_val_2.JPEG"),
        ("n2", "ILSVRC2012_val_1.JPEG"),
    ]


def test_lsun_classes(tmp_path):
    with pytest.raises(ValueError, match="Unknown value 'garden' for argument LSUN class"):
        datasets.LSUN(tmp_path, classes=["garden_train"])
    with pytest.raises(ValueError, match="Unknown value 'night' for argument postfix"):
        datasets.LSUN(tmp_path, classes=["kitchen_night"])

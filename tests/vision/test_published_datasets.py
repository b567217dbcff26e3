"""Datasets of optical flow, stereo pairs, objects and videos, read from small copies in the published layout."""

from __future__ import annotations

import gzip
import pickle
import tarfile
import zipfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from PIL import Image
from vision_trees import SIZE, TREES, deep_png, lines, pictures, random

import flambeau as torch
from flambeau_vision import datasets, io, tv_tensors
from flambeau_vision.datasets import samplers
from flambeau_vision.datasets.video_utils import VideoClips
from flambeau_vision.transforms import v2

pytestmark = pytest.mark.slow


@pytest.fixture
def unchecked(monkeypatch):
    """Do not verify checksums, because the test files are not the published ones."""
    for name in ("lfw", "fer2013", "utils"):
        module = __import__(f"flambeau_vision.datasets.{name}", fromlist=["x"])
        monkeypatch.setattr(module, "check_integrity", lambda path, md5=None: Path(path).is_file())


# Common behaviour

CHOICES = {
    "Cityscapes": {"split": "all", "mode": "fine"},
    "FallingThingsStereo": {"variant": "all"},
    "INaturalist": {"version": "2020"},
    "Middlebury2014Stereo": {"split": "all"},
    "SBDataset": {"image_set": "all"},
    "SceneFlowStereo": {"pass_name": "all"},
    "SintelStereo": {"pass_name": "all"},
}


@pytest.mark.parametrize("name", [*sorted(set(TREES) - {"CREStereo", "CarlaStereo", "Kitti"}), "PCAM"])
def test_choices_are_named(name, tmp_path):
    kwargs = CHOICES.get(name, {"split": "all"})
    with pytest.raises(ValueError, match=r"Unknown value '(all|2020)' .*Valid values are \{'\w+', '\w+'"):
        getattr(datasets, name)(tmp_path, **kwargs)


@pytest.mark.parametrize("name", [*TREES, "PCAM"])
def test_missing_files_are_said(name, tmp_path):
    with pytest.raises((FileNotFoundError, RuntimeError), match=r"ot found|Could not find|No such file"):
        getattr(datasets, name)(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TREES)
def test_all_items_are_read(name, tmp_path, unchecked):
    if name in ("KittiFlow", "HD1K"):
        pytest.importorskip("av")
    for kwargs in TREES[name](tmp_path):
        dataset = getattr(datasets, name)(tmp_path, **kwargs)
        items = [dataset[index] for index in range(len(dataset))]
        assert items and all(len(item) == len(items[0]) for item in items)


# Optical flow


def test_flow_of_kitti(tmp_path):
    pytest.importorskip("av")
    TREES["KittiFlow"](tmp_path)
    first, second, flow, mask = datasets.KittiFlow(tmp_path)[1]
    stored = random(*SIZE, 3, high=65536, dtype="u2", seed=1)
    assert first.size == second.size == (6, 4)
    np.testing.assert_array_equal(flow, (stored[..., :2].transpose(2, 0, 1).astype("f4") - 2**15) / 64)
    assert flow.dtype == np.float32 and mask.dtype == bool
    np.testing.assert_array_equal(mask, stored[..., 2] > 30000)


def test_flow_of_hd1k_stays_in_a_sequence(tmp_path):
    TREES["HD1K"](tmp_path)
    dataset = datasets.HD1K(tmp_path)
    names = [[Path(path).name for path in pair] for pair in dataset._image_list]
    assert names == [[f"{s:06d}_{n:04d}.png", f"{s:06d}_{n + 1:04d}.png"] for s in (0, 1) for n in (0, 1)]
    assert [Path(path).name for path in dataset._flow_list] == [first for first, _ in names]


def test_flow_goes_both_ways(tmp_path):
    TREES["FlyingThings3D"](tmp_path)
    dataset = datasets.FlyingThings3D(tmp_path)
    assert len(dataset) == 2 * 2 * 2  # scenes * pairs * directions
    for pair, flow in zip(dataset._image_list, dataset._flow_list, strict=True):
        first, second = (int(Path(path).stem) for path in pair)
        assert second - first == (1 if "into_future" in flow else -1) and int(Path(flow).stem) == first
    _, _, flow = dataset[0]
    np.testing.assert_array_equal(flow, (random(*SIZE, 3, dtype="f4") - 100)[..., :2].transpose(2, 0, 1))


def test_flow_is_transformed(tmp_path):
    TREES["FlyingChairs"](tmp_path)

    def mark(first, second, flow, mask):
        assert mask is None
        return first, second, -flow, flow[0] > 100

    dataset = datasets.FlyingChairs(tmp_path, transforms=mark)
    _, _, flow, mask = dataset[1]
    stored = random(*SIZE, 2, dtype="f4", seed=2).transpose(2, 0, 1)
    np.testing.assert_array_equal(flow, -stored)
    np.testing.assert_array_equal(mask, stored[0] > 100)
    assert len(3 * dataset) == 6 and (3 * dataset)[5][2] is not None


@pytest.mark.parametrize(("name", "content"), [("x.flo", b"PIEF"), ("x.pfm", b"P6\n1 1\n-1\n0000"), ("x.pfm", b"Pf\n1\n-1\n")])
def test_damaged_numbers(tmp_path, name, content):
    from flambeau_vision.datasets import _rasters

    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"nvalid (\.flo|PFM) file"):
        _rasters.read_flo(tmp_path / name) if name == "x.flo" else _rasters.read_pfm(tmp_path / name, 1)


@pytest.mark.parametrize("channels", [3, 4])
def test_deep_png(tmp_path, channels):
    pytest.importorskip("av")
    pixels = random(*SIZE, channels, high=65536, dtype="u2")
    deep_png(tmp_path, "deep.png", pixels)
    decoded = io.decode_image(tmp_path / "deep.png")
    assert decoded.dtype == torch.uint16 and np.array_equal(decoded.numpy(), pixels.transpose(2, 0, 1))
    assert io.decode_image(tmp_path / "deep.png", "RGB_ALPHA").shape == (4, *SIZE)
    assert io.decode_image(tmp_path / "deep.png", "GRAY").shape == (1, *SIZE)


# Stereo matching


def test_disparities_and_masks(tmp_path):
    for name in ("SintelStereo", "FallingThingsStereo", "Middlebury2014Stereo", "CarlaStereo", "Kitti2012Stereo"):
        TREES[name](tmp_path)
    _, _, disparity, mask = datasets.SintelStereo(tmp_path)[1]
    folder = tmp_path / "Sintel/training"
    read = lambda kind: np.asarray(Image.open(folder / kind / "alley/1.png"), dtype="f8")  # noqa: E731
    np.testing.assert_allclose(disparity[0], read("disparities") @ [4, 1 / 64, 1 / 16384], rtol=1e-6)
    np.testing.assert_array_equal(mask, (read("occlusions") == 0) & (read("outofframe") == 0))
    depth = random(*SIZE, high=60000, dtype="u2") + 1
    np.testing.assert_allclose(datasets.FallingThingsStereo(tmp_path)[0][2][0], 768.5 * 600 / depth, rtol=1e-6)
    _, _, disparity, mask = datasets.Middlebury2014Stereo(tmp_path)[0]
    assert disparity[0, 0, 0] == 0 and not mask[0, 0] and not mask[1, 2] and mask.any()
    assert (datasets.CarlaStereo(tmp_path)[0][2] == abs(random(*SIZE, 1, dtype="f4") - 100).transpose(2, 0, 1)).all()
    _, _, disparity, mask = datasets.Kitti2012Stereo(tmp_path)[0]
    assert mask is None and (disparity[0] * 256 == random(*SIZE, high=65536, dtype="u2")).all()


def test_pairs_have_to_match(tmp_path):
    TREES["Kitti2015Stereo"](tmp_path)
    (tmp_path / "Kitti2015/training/image_3/1.png").unlink()
    with pytest.raises(ValueError, match="Found 2 left files but 1 right files"):
        datasets.Kitti2015Stereo(tmp_path)


def test_ambient_views(tmp_path):
    TREES["Middlebury2014Stereo"](tmp_path)
    scene = tmp_path / "Middlebury2014/train/Piano-perfect"
    dataset = datasets.Middlebury2014Stereo(tmp_path, use_ambient_views=True)
    seen = {dataset[0][1].tobytes() for _ in range(40)}
    assert seen == {Image.open(scene / name).tobytes() for name in ("im1.png", "im1E.png")}
    with pytest.raises(ValueError, match="available|Available"):
        datasets.Middlebury2014Stereo(tmp_path, calibration=None)


# Downloads


def zipped(path: Path, folder: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.write(folder / name, name)


def test_middlebury_goes_on(tmp_path, monkeypatch):
    pictures(tmp_path / "site/Piano-perfect", "im0.png", "im1.png")
    TREES["Middlebury2014Stereo"](tmp_path / "source")
    scene = tmp_path / "source/Middlebury2014/train"
    archives = tmp_path / "site/data/scenes2014/zip"
    archives.mkdir(parents=True)
    names = [f"Piano-perfect/{name}" for name in ("im0.png", "im1.png", "disp0.pfm", "disp1.pfm")]
    zipped(archives / "Piano-perfect.zip", scene, names)
    monkeypatch.setattr(datasets.Middlebury2014Stereo, "_SITE", f"file://{tmp_path}/site/")
    monkeypatch.setattr(datasets.Middlebury2014Stereo, "splits", {"train": ["Piano"], "test": ["Hoops"]})
    with pytest.raises(URLError):  # the server lacks Piano-imperfect.zip
        datasets.Middlebury2014Stereo(tmp_path / "data", download=True)
    assert [path.name for path in (tmp_path / "data/Middlebury2014/train").iterdir()] == ["Piano-perfect"]
    zipped(archives / "Piano-imperfect.zip", scene, [name.replace("-", "-im") for name in names])
    assert len(datasets.Middlebury2014Stereo(tmp_path / "data", calibration="both", download=True)) == 2


def test_sbd_goes_on(tmp_path, monkeypatch, unchecked):
    TREES["SBDataset"](tmp_path / "benchmark_RELEASE/dataset")
    lines(tmp_path / "benchmark_RELEASE/dataset/inst", "one.txt", "objects")
    with tarfile.open(tmp_path / "benchmark.tgz", "w:gz") as archive:
        archive.add(tmp_path / "benchmark_RELEASE", "benchmark_RELEASE")
    monkeypatch.setattr(datasets.SBDataset, "url", f"file://{tmp_path}/benchmark.tgz")
    moved, rename = [], Path.rename

    def broken_off(self, target):
        moved.append(self.name)
        if len(moved) == 3:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", broken_off)
        datasets.SBDataset(tmp_path / "data", download=True)
    with pytest.raises(RuntimeError, match="Dataset not found"):
        datasets.SBDataset(tmp_path / "data")
    assert len(datasets.SBDataset(tmp_path / "data", download=True)) == 2
    assert not (tmp_path / "data/benchmark_RELEASE").exists()


def test_inaturalist_is_renamed(tmp_path, monkeypatch, unchecked):
    from flambeau_vision.datasets import inaturalist

    pictures(tmp_path / "val", "00000_A_B_C_D_E_F_g/1.jpg")
    (tmp_path / "2021").mkdir()
    with tarfile.open(tmp_path / "2021/val.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "val", "val")
    monkeypatch.setattr(inaturalist, "_SITE", f"file://{tmp_path}/")
    species = datasets.INaturalist(tmp_path / "data", "2021_valid", "order", download=True)
    assert species[0][1] == 0 and species.category_name("order", 0) == "D" and species.category_name("full", 0).endswith("g")
    with pytest.raises(ValueError, match="Invalid category id 7 for order"):
        species.category_name("order", 7)


def test_kinetics_is_sorted(tmp_path, monkeypatch):
    site = tmp_path / "site/400"
    (site / "val").mkdir(parents=True)
    (site / "annotations").mkdir()
    for name in ("abc_000001_000011.mp4", "xyz_000005_000015.mp4"):
        (tmp_path / name).write_bytes(b"a video")
        with tarfile.open(site / f"val/{name}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / name, name)
    lines(site, "val/k400_val_path.txt", *(f"file://{path}" for path in sorted((site / "val").glob("*.gz"))))
    rows = "playing cards,abc,1,11,val", "clapping (hands),xyz,5,15,val", "clapping (hands),gone,0,10,val"
    lines(site, "annotations/val.csv", "label,youtube_id,time_start,time_end,split", *rows)
    monkeypatch.setattr(datasets.Kinetics, "_SITE", f"file://{tmp_path}/site/")
    found = {"video_paths": ["a", "b"], "video_pts": [torch.arange(4), torch.arange(5)], "video_fps": [25.0, 25.0]}
    data = datasets.Kinetics(tmp_path / "data", 3, split="val", download=True, _precomputed_metadata=found)
    assert data.classes == ["clapping_hands", "playing_cards"] and len(data) == 2 + 3
    assert [Path(path).name for path, _ in data.samples] == ["xyz_000005_000015.mp4", "abc_000001_000011.mp4"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["annotations", "files", "tars", "val"]


def test_pcam(tmp_path):
    h5py = pytest.importorskip("h5py")
    folder = tmp_path / "pcam"
    folder.mkdir()
    images, targets = random(3, 96, 96, 3), np.array([0, 1, 1], "u1").reshape(3, 1, 1, 1)
    for name, key, values in (("x", "x", images), ("y", "y", targets)):
        with h5py.File(folder / f"camelyonpatch_level_2_split_valid_{name}.h5", "w") as file:
            file[key] = values
    tissue = datasets.PCAM(tmp_path, split="val")
    assert len(tissue) == 3 and [target for _, target in tissue] == [0, 1, 1]
    np.testing.assert_array_equal(np.asarray(tissue[2][0]), images[2])


def test_pcam_is_unpacked(tmp_path, monkeypatch):
    from flambeau_vision.datasets import pcam

    def fetch(file_id, root, filename, md5):
        root.mkdir(parents=True, exist_ok=True)
        (root / filename).write_bytes(gzip.compress(b"numbers"))

    monkeypatch.setattr(pcam, "download_file_from_google_drive", fetch)
    datasets.PCAM(tmp_path, split="test", download=True)
    assert (tmp_path / "pcam/camelyonpatch_level_2_split_test_y.h5").read_bytes() == b"numbers"


# Objects


def test_damaged_wider_face(tmp_path):
    TREES["WIDERFace"](tmp_path)
    lines(tmp_path / "widerface/wider_face_split", "wider_face_val_bbx_gt.txt", "0--Parade/a.jpg", "two", "1 1 3 2")
    with pytest.raises(RuntimeError, match=r"Error parsing annotation file wider_face_val_bbx_gt\.txt"):
        datasets.WIDERFace(tmp_path, split="val")


def test_cityscapes_is_unpacked(tmp_path):
    TREES["Cityscapes"](tmp_path / "source")
    names = [str(path.relative_to(tmp_path / "source")) for path in (tmp_path / "source").rglob("*.*")]
    (tmp_path / "data").mkdir()
    for kind, archive in (("leftImg8bit", "leftImg8bit_trainvaltest.zip"), ("gtFine", "gtFine_trainvaltest.zip")):
        zipped(tmp_path / "data" / archive, tmp_path / "source", [name for name in names if name.startswith(kind)])
    assert len(datasets.Cityscapes(tmp_path / "data", target_type="polygon")) == 2
    with pytest.raises(ValueError, match="if mode is 'coarse'"):
        datasets.Cityscapes(tmp_path, split="test", mode="coarse")


# Videos


@pytest.fixture
def videos(tmp_path):
    """Write the split lists, and videos whose frames have the brightness 20 + 10 * frame number."""
    pytest.importorskip("av")
    for name, count in (("jump/a.avi", 20), ("run/b.avi", 12), ("run/c.avi", 8)):
        bright = (torch.arange(count) * 10 + 20).to(torch.uint8).reshape(count, 1, 1, 1).expand(count, 32, 48, 3)
        (tmp_path / "videos" / name).parent.mkdir(parents=True, exist_ok=True)
        io.write_video(tmp_path / "videos" / name, bright.contiguous(), fps=10, video_codec="mpeg4", options={"g": "5"})
    lines(tmp_path / "lists", "trainlist02.txt", "jump/a.avi 1", "run/c.avi 2")
    lines(tmp_path / "lists", "testlist02.txt", "run/b.avi")
    lines(tmp_path / "lists", "jump_test_split3.txt", "a.avi 1")
    lines(tmp_path / "lists", "run_test_split3.txt", "b.avi 2", "c.avi 0")
    return tmp_path


def numbers(pictures: torch.Tensor) -> list[int]:
    return ((pictures.float().mean(dim=(1, 2, 3)) - 20) / 10).round().int().tolist()


def test_clips_are_read(videos):
    paths = [str(videos / "videos" / name) for name in ("jump/a.avi", "run/b.avi")]
    clips = VideoClips(paths, clip_length_in_frames=4, frames_between_clips=3)
    assert len(clips) == 6 + 3 and clips.num_videos() == 2 and clips.metadata["video_fps"] == [10.0, 10.0]
    for index in (0, 3, 5, 7):
        pictures, sound, info, video = clips.get_clip(index)
        first = 3 * (index - 6 if video else index)
        assert numbers(pictures) == [first, first + 1, first + 2, first + 3]
        assert pictures.shape == (4, 32, 48, 3) and sound.shape == (1, 0) and info == {"video_fps": 10.0}
    with pytest.raises(IndexError, match="9 number of clips"):
        clips.get_clip(9)
    clips.compute_clips(3, 3, frame_rate=5)
    assert numbers(clips.get_clip(1)[0]) == [6, 8, 10]
    clips.compute_clips(3, 1, frame_rate=4)
    assert numbers(clips.get_clip(1)[0]) == [2, 5, 7] and clips.get_clip(1)[2] == {"video_fps": 4}
    again = pickle.loads(pickle.dumps(clips))
    assert again.cumulative_sizes == clips.cumulative_sizes and numbers(again.get_clip(1)[0]) == [2, 5, 7]


def test_sound_of_a_clip(tmp_path):
    pytest.importorskip("av")
    wave = torch.sin(torch.arange(8000) * (2 * np.pi * 440 / 8000))[None] * 0.5
    black = torch.zeros(10, 32, 48, 3, dtype=torch.uint8)
    io.write_video(tmp_path / "a.mkv", black, 10, "mpeg4", audio_array=wave, audio_fps=8000, audio_codec="pcm_s16le")
    clips = VideoClips([str(tmp_path / "a.mkv")], 4, 2)
    _, sound, _, _ = clips.get_clip(1)
    assert sound.shape == (1, 3200) and (sound - wave[:, 1600:4800]).abs().max() < 1e-3


def test_folds_of_videos(videos):
    ucf = {train: datasets.UCF101(videos / "videos", videos / "lists", 4, fold=2, train=train) for train in (True, False)}
    assert ucf[True].classes == ["jump", "run"] and len(ucf[True]) == 17 + 5 and len(ucf[False]) == 9
    assert [ucf[True][index][2] for index in (0, 16, 17)] == [0, 0, 1] and ucf[False][8][2] == 1
    assert numbers(ucf[False][8][0]) == [8, 9, 10, 11]
    known = ucf[True].metadata
    hmdb = datasets.HMDB51(videos / "videos", videos / "lists", 4, 4, fold=3, train=False, _precomputed_metadata=known)
    assert len(hmdb) == 3 and [Path(path).name for path in hmdb.video_clips.video_paths] == ["b.avi"]
    with pytest.raises(RuntimeError, match="Please use `output_format='TCHW'`"):
        datasets.wrap_dataset_for_transforms_v2(hmdb)
    (videos / "videos").rename(videos / "val")
    kinetics = datasets.Kinetics(videos, 4, split="val", transform=v2.RandomHorizontalFlip(1.0))
    wrapped = datasets.wrap_dataset_for_transforms_v2(kinetics)
    assert wrapped[0][0].shape == (4, 3, 32, 48) and isinstance(wrapped._wrapper(0, kinetics[0])[0], tv_tensors.Video)


def found(*lengths: int) -> VideoClips:
    metadata = {
        "video_paths": [str(length) for length in lengths],
        "video_pts": [torch.arange(length) for length in lengths],
        "video_fps": [25.0] * len(lengths),
    }
    return VideoClips([], 5, 5, _precomputed_metadata=metadata)


@pytest.mark.filterwarnings("ignore:There aren't enough frames")
def test_samplers_of_clips():
    clips = found(25, 25, 3, 10)
    torch.manual_seed(0)
    uniform, some = samplers.UniformClipSampler(clips, 3), samplers.RandomClipSampler(clips, 3)
    assert list(uniform) == [0, 2, 4, 5, 7, 9, 10, 10, 11] and len(uniform) == 9
    chosen = list(some)
    assert len(chosen) == len(some) == 8 and sorted(index // 5 for index in chosen) == [0] * 3 + [1] * 3 + [2] * 2
    assert list(some) != chosen
    for sampler in (samplers.UniformClipSampler, samplers.RandomClipSampler):
        with pytest.raises(TypeError, match="Expected video_clips to be an instance of VideoClips"):
            sampler([1, 2], 3)


def test_groups_among_processes():
    clips = samplers.UniformClipSampler(found(25, 25, 25), 5)
    parts = [list(samplers.DistributedSampler(clips, 2, rank, group_size=5)) for rank in range(2)]
    assert parts == [[*range(5), *range(10, 15)], [*range(5, 10), *range(5)]]
    shuffled = [samplers.DistributedSampler(range(12), 3, rank, shuffle=True, group_size=2) for rank in range(3)]
    before = [list(sampler) for sampler in shuffled]
    assert sorted(index for part in before for index in part) == list(range(12)) and all(
        len(sampler) == 4 for sampler in shuffled
    )
    for sampler in shuffled:
        sampler.set_epoch(1)
    assert [list(sampler) for sampler in shuffled] != before
    with pytest.raises(ValueError, match="multiplier of group size"):
        samplers.DistributedSampler(range(7), 2, 0, group_size=2)


# Datasets wrapped by `wrap_dataset_for_transforms_v2`


def test_wrapped_cityscapes(tmp_path):
    TREES["Cityscapes"](tmp_path)
    both = datasets.Cityscapes(tmp_path, target_type=["instance", "semantic"])
    image, (instances, semantic) = datasets.wrap_dataset_for_transforms_v2(both)[0]
    assert instances["labels"].tolist() == [0, 7, 26, 24, 24] and instances["masks"].shape == (5, 1, *SIZE)
    assert instances["masks"].sum(dim=(1, 2, 3)).tolist() == [4, 8, 4, 4, 4]
    assert isinstance(instances["masks"], tv_tensors.Mask) and isinstance(semantic, tv_tensors.Mask)
    with pytest.raises(RuntimeError, match="target_type=\\['color'\\] is not supported"):
        datasets.wrap_dataset_for_transforms_v2(datasets.Cityscapes(tmp_path, target_type="color"))


def test_wrapped_items_are_transformed(tmp_path):
    TREES["WIDERFace"](tmp_path)
    flipped = datasets.WIDERFace(tmp_path, split="val")
    flipped.transforms = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0)])
    wrapped = datasets.wrap_dataset_for_transforms_v2(flipped, target_keys=("bbox", "pose"))
    image, target = wrapped[0]
    assert isinstance(image, tv_tensors.Image) and sorted(target) == ["bbox", "pose"]
    assert target["bbox"].tolist() == [[2, 1, 5, 3], [2, 1, 4, 3]] and target["bbox"].canvas_size == SIZE
    again = pickle.loads(pickle.dumps(datasets.wrap_dataset_for_transforms_v2(datasets.WIDERFace(tmp_path, split="val"))))
    assert len(again) == 2 and again.split == "val" and type(again).__name__ == "WrappedWIDERFace"
    for wrong in ("bbox", 3):
        with pytest.raises(ValueError, match="can be None, 'all', or a collection"):
            datasets.wrap_dataset_for_transforms_v2(flipped, target_keys=wrong)
    with pytest.raises(ValueError, match=r"Target keys \['age'\] are not available"):
        datasets.wrap_dataset_for_transforms_v2(flipped, target_keys=["age"])


def test_what_cannot_be_wrapped(tmp_path):
    with pytest.raises(TypeError, match="No wrapper exists for dataset class UCIDigits"):
        datasets.wrap_dataset_for_transforms_v2(datasets.UCIDigits())
    with pytest.raises(TypeError, match="got a 'list' instead"):
        datasets.wrap_dataset_for_transforms_v2([1, 2])
    TREES["SBDataset"](tmp_path)
    with pytest.raises(RuntimeError, match="mode='boundaries'"):
        datasets.wrap_dataset_for_transforms_v2(datasets.SBDataset(tmp_path))

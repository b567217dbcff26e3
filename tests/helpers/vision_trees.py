"""Write small datasets in their published file layout, for the tests of `flambeau_vision.datasets`.

Each function in `TREES` writes one dataset below a folder, and returns the arguments of datasets that read it.
"""

from __future__ import annotations

import csv
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (4, 6)  # height and width of all images


def random(*shape: int, high: int = 256, dtype: str = "uint8", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def place(root: Path, name: str) -> Path:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    return root / name


def pictures(root: Path, *names: str, channels: int = 3) -> None:
    for seed, name in enumerate(names):
        pixels = random(*SIZE, channels, seed=seed + len(str(name)))
        Image.fromarray(pixels if channels == 3 else pixels[..., 0]).save(place(root, name))


def lines(root: Path, name: str, *values: str) -> None:
    place(root, name).write_text("".join(f"{value}\n" for value in values))


def flo(root: Path, *names: str) -> None:
    for seed, name in enumerate(names):
        values = random(*SIZE, 2, dtype="<f4", seed=seed)
        place(root, name).write_bytes(b"PIEH" + struct.pack("<2i", SIZE[1], SIZE[0]) + values.tobytes())


def pfm(root: Path, *names: str, channels: int = 1, order: str = "<", values: np.ndarray | None = None) -> None:
    for seed, name in enumerate(names):
        rows = random(*SIZE, channels, dtype="f4", seed=seed) - 100 if values is None else values
        kind = b"PF" if channels == 3 else b"Pf"
        header = kind + b"\n%d %d\n" % (SIZE[1], SIZE[0]) + (b"-1.0\n" if order == "<" else b"1\n")
        place(root, name).write_bytes(header + rows[::-1].astype(f"{order}f4").tobytes())


def deep_png(root: Path, name: str, pixels: np.ndarray) -> None:
    """Write a PNG with 16 bits per channel. Pillow writes 16 bits only for one channel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    kind = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 16, kind, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    place(root, name).write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def deep(root: Path, *names: str) -> None:
    for seed, name in enumerate(names):
        deep_png(root, name, random(*SIZE, high=65536, dtype="u2", seed=seed))


# Optical flow


def sintel(root: Path) -> list[dict]:
    frames = [f"frame_{number:04d}" for number in range(3)]
    for part in ("training/clean", "training/final", "test/clean", "test/final"):
        pictures(root / "Sintel" / part, *(f"{scene}/{frame}.png" for scene in ("alley", "cave") for frame in frames))
    flo(root / "Sintel/training/flow", *(f"{scene}/{frame}.flo" for scene in ("alley", "cave") for frame in frames[:-1]))
    return [{}, {"pass_name": "both"}, {"split": "test", "pass_name": "final"}]


def flying_chairs(root: Path) -> list[dict]:
    folder = root / "FlyingChairs"
    pictures(folder / "data", *(f"{number:05d}_img{which}.ppm" for number in range(3) for which in (1, 2)))
    flo(folder / "data", *(f"{number:05d}_flow.flo" for number in range(3)))
    lines(folder, "FlyingChairs_train_val.txt", "1", "2", "1")
    return [{}, {"split": "val"}]


def flying_things(root: Path) -> list[dict]:
    folder = root / "FlyingThings3D"
    for part in ("TRAIN", "TEST"):
        scenes = [f"{part}/A/0000", f"{part}/B/0001"]
        for name in ("frames_cleanpass", "frames_finalpass"):
            names = [f"{scene}/{side}/{n:04d}.png" for scene in scenes for side in ("left", "right") for n in range(3)]
            pictures(folder / name, *names)
        for way in ("into_future", "into_past"):
            names = [f"{scene}/{way}/{side}/{n:04d}.pfm" for scene in scenes for side in ("left", "right") for n in range(3)]
            pfm(folder / "optical_flow", *names, channels=3)
    return [{}, {"split": "test", "pass_name": "both", "camera": "both"}, {"camera": "right"}]


def kitti_flow(root: Path) -> list[dict]:
    for part in ("training", "testing"):
        pictures(root / "KittiFlow" / part / "image_2", *(f"{n:06d}_{time}.png" for n in range(2) for time in (10, 11)))
    for number in range(2):
        pixels = random(*SIZE, 3, high=65536, dtype="u2", seed=number)
        pixels[..., 2] = pixels[..., 2] > 30000
        deep_png(root / "KittiFlow/training/flow_occ", f"{number:06d}_10.png", pixels)
    return [{}, {"split": "test"}]


def hd1k(root: Path) -> list[dict]:
    pictures(root / "hd1k/hd1k_challenge/image_2", "000000_10.png", "000000_11.png")
    for sequence in range(2):
        names = [f"{sequence:06d}_{number:04d}.png" for number in range(3)]
        pictures(root / "hd1k/hd1k_input/image_2", *names)
        for seed, name in enumerate(names):
            deep_png(root / "hd1k/hd1k_flow_gt/flow_occ", name, random(*SIZE, 3, high=65536, dtype="u2", seed=seed))
    return [{}, {"split": "test"}]


# Stereo matching


def carla(root: Path) -> list[dict]:
    folder = root / "carla-highres/trainingF"
    pictures(folder, "scene1/im0.png", "scene1/im1.png", "scene2/im0.png", "scene2/im1.png")
    pfm(folder, "scene1/disp0GT.pfm", "scene1/disp1GT.pfm", "scene2/disp0GT.pfm", "scene2/disp1GT.pfm")
    return [{}]


def kitti_2012(root: Path) -> list[dict]:
    for part in ("training", "testing"):
        pictures(root / "Kitti2012" / part, "colored_0/0_10.png", "colored_0/0_11.png", "colored_1/0_10.png")
    deep(root / "Kitti2012/training", "disp_noc/0_10.png")
    return [{}, {"split": "test"}]


def kitti_2015(root: Path) -> list[dict]:
    for part in ("training", "testing"):
        pictures(root / "Kitti2015" / part, "image_2/0.png", "image_2/1.png", "image_3/0.png", "image_3/1.png")
    deep(root / "Kitti2015/training", "disp_occ_0/0.png", "disp_occ_0/1.png", "disp_occ_1/0.png", "disp_occ_1/1.png")
    return [{}, {"split": "test"}]


def middlebury(root: Path) -> list[dict]:
    folder = root / "Middlebury2014"
    for scene in ("train/Piano-perfect", "train/Piano-imperfect", "additional/Mask-perfect", "test/Hoops"):
        pictures(folder / scene, "im0.png", "im1.png", "im1E.png")
        values = random(*SIZE, dtype="f4").astype("f4")
        values[0, 0] = np.inf
        values[1, 2] = 0
        pfm(folder / scene, "disp0.pfm", "disp1.pfm", values=values)
    return [{}, {"calibration": "both"}, {"split": "additional"}, {"split": "test", "calibration": None}]


def cre(root: Path) -> list[dict]:
    for kind in ("shapenet", "reflective", "tree", "hole"):
        pictures(root / "CREStereo" / kind, "0_left.jpg", "0_right.jpg")
        deep(root / "CREStereo" / kind, "0_left.disp.png", "0_right.disp.png")
    return [{}]


def falling_things(root: Path) -> list[dict]:
    for scene in ("single/bottle/kitchen", "mixed/forest"):
        folder = root / "FallingThings" / scene
        pictures(folder, "0.left.jpg", "0.right.jpg")
        for seed, side in enumerate(("left", "right")):
            deep_png(folder, f"0.{side}.depth.png", random(*SIZE, high=60000, dtype="u2", seed=seed) + 1)
        lines(folder, "_camera_settings.json", json.dumps({"camera_settings": [{"intrinsic_settings": {"fx": 768.5}}]}))
    return [{}, {"variant": "mixed"}, {"variant": "both"}]


def scene_flow(root: Path) -> list[dict]:
    for variant, scene in (("FlyingThings3D", "TRAIN/A/0000"), ("Driving", "15mm/forwards/fast"), ("Monkaa", "a_rain")):
        for name in ("frames_cleanpass", "frames_finalpass"):
            pictures(root / "SceneFlow" / variant / name / scene, "left/0.png", "right/0.png", "left/1.png", "right/1.png")
        names = "left/0.pfm", "right/0.pfm", "left/1.pfm", "right/1.pfm"
        pfm(root / "SceneFlow" / variant / "disparity" / scene, *names, order=">")
    return [{}, {"variant": "Driving", "pass_name": "final"}, {"variant": "Monkaa", "pass_name": "both"}]


def sintel_stereo(root: Path) -> list[dict]:
    folder = root / "Sintel/training"
    for kind in ("final_left", "final_right", "clean_left", "clean_right", "disparities"):
        pictures(folder / kind, "alley/0.png", "alley/1.png")
    for kind in ("occlusions", "outofframe"):
        for number in range(2):
            pixels = (random(*SIZE, high=2, seed=number + len(kind)) * 255).astype("u1")
            Image.fromarray(pixels).save(place(folder, f"{kind}/alley/{number}.png"))
    return [{}, {"pass_name": "both"}]


def instereo(root: Path) -> list[dict]:
    for part in ("train", "test"):
        pictures(root / "InStereo2k" / part, "0/left.png", "0/right.png")
        deep(root / "InStereo2k" / part, "0/left_disp.png", "0/right_disp.png")
    return [{}, {"split": "test"}]


def eth3d(root: Path) -> list[dict]:
    for part in ("two_view_training", "two_view_test"):
        pictures(root / "ETH3D" / part, "lake/im0.png", "lake/im1.png", channels=1)
    folder = root / "ETH3D/two_view_training_gt/lake"
    pfm(folder, "disp0GT.pfm")
    Image.fromarray(random(*SIZE, high=2) * 255).save(folder / "mask0nocc.png")
    return [{}, {"split": "test"}]


# Objects, classes, faces


def cityscapes(root: Path) -> list[dict]:
    for mode, part in (("gtFine", "train"), ("gtFine", "val"), ("gtCoarse", "train_extra")):
        for city in ("ulm", "bonn"):
            pictures(root / "leftImg8bit" / part, f"{city}/{city}_000000_000019_leftImg8bit.png")
            target = f"{city}/{city}_000000_000019_{mode}"
            pictures(root / mode / part, f"{target}_color.png", channels=3)
            numbers = np.array([[7, 24001, 24002, 7, 26, 0]] * SIZE[0], dtype="u2")
            deep_png(root, f"{mode}/{part}/{target}_instanceIds.png", numbers)
            Image.fromarray((numbers // 1000).astype("u1")).save(place(root, f"{mode}/{part}/{target}_labelIds.png"))
            lines(root / mode / part, f"{target}_polygons.json", '{"objects": [{"label": "car"}]}')
    every = ["instance", "semantic", "polygon", "color"]
    return [{}, {"split": "val", "target_type": every}, {"split": "train_extra", "mode": "coarse", "target_type": "semantic"}]


def fer2013(root: Path) -> list[dict]:
    faces = [" ".join(map(str, random(48 * 48, seed=number))) for number in range(4)]
    usages = "Training", "PublicTest", "PrivateTest", "Training"
    with place(root, "fer2013/icml_face_data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["emotion", " Usage", " pixels"])
        writer.writerows((number, usage, face) for number, (usage, face) in enumerate(zip(usages, faces, strict=True)))
    return [{}, {"split": "test"}]


def inaturalist(root: Path) -> list[dict]:
    names = ["Animalia_Chordata_Aves_A_B_C_d", "Animalia_Chordata_Mammalia_A_E_F_g", "Plantae_H_I_J_K_L_m"]
    for number, name in enumerate(names):
        pictures(root / "2021_valid", f"{number:05d}_{name}/1.jpg", f"{number:05d}_{name}/2.jpg")
    pictures(root / "2018", "Birds/1/a.jpg", "Birds/2/a.jpg", "Plants/0/a.jpg")
    pictures(root / "2017", "Birds/Corvus corax/a.jpg", "Plants/Rosa/b.jpg")
    return [
        {"version": "2021_valid", "target_type": ["full", "kingdom", "class", "family"]},
        {"version": "2018", "target_type": ["full", "super"]},
        {"version": "2017"},
    ]


def kitti(root: Path) -> list[dict]:
    pictures(root / "Kitti/raw/training/image_2", "000000.png", "000001.png")
    pictures(root / "Kitti/raw/testing/image_2", "000000.png")
    first = "Car 0.25 1 -1.55 1 1 4 3 1.57 1.73 4.15 1.0 1.75 13.22 1.62"
    second = "DontCare -1 -1 -10 5.5 1.7 6.9 2.8 -1 -1 -1 -1000 -1000 -1000 -10"
    lines(root / "Kitti/raw/training/label_2", "000000.txt", first, second)
    lines(root / "Kitti/raw/training/label_2", "000001.txt", second)
    return [{}, {"train": False}]


def lfw(root: Path) -> list[dict]:
    folder = root / "lfw-py"
    for name in ("lfw_funneled", "lfw"):
        pictures(folder / name, *(f"{who}/{who}_{n:04d}.jpg" for who in ("Ada", "Bob", "Eve") for n in (1, 2)))
    for name in ("lfw-funneled.tgz", "lfw.tgz"):
        lines(folder, name, "an archive")
    lines(folder, "lfw-names.txt", "Ada\t2", "Bob\t2", "Eve\t2")
    lines(folder, "people.txt", "2", "1", "Bob\t2", "2", "Ada\t1", "Eve\t2")
    lines(folder, "peopleDevTrain.txt", "2", "Eve\t1", "Ada\t2")
    lines(folder, "pairs.txt", "2\t1", "Ada\t1\t2", "Ada\t1\tBob\t2", "Bob\t2\t1", "Eve\t1\tBob\t1")
    lines(folder, "pairsDevTest.txt", "1", "Eve\t1\t2", "Eve\t2\tAda\t1")
    return [{}, {"split": "train", "image_set": "original"}]


def lfw_pairs(root: Path) -> list[dict]:
    lfw(root)
    return [{}, {"split": "test"}]


def moving_mnist(root: Path) -> list[dict]:
    np.save(place(root, "MovingMNIST/mnist_test_seq.npy"), random(20, 3, 8, 8))
    return [{}, {"split": "train", "split_ratio": 15}, {"split": "test"}]


def sbd(root: Path) -> list[dict]:
    from scipy.io import savemat
    from scipy.sparse import csc_matrix

    pictures(root, "img/one.jpg", "img/two.jpg")
    for seed, name in enumerate(("one", "two")):
        outlines = np.empty((20, 1), dtype=object)
        outlines[:, 0] = [csc_matrix(random(*SIZE, high=2, seed=20 * seed + index)) for index in range(20)]
        stored = {"Segmentation": random(*SIZE, high=21, seed=seed), "Boundaries": outlines}
        place(root, f"cls/{name}.mat")
        savemat(root / f"cls/{name}.mat", {"GTcls": stored})
    lines(root, "train.txt", "two", "one")
    lines(root, "val.txt", "one")
    return [{}, {"image_set": "val", "mode": "segmentation"}]


def wider_face(root: Path) -> list[dict]:
    folder = root / "widerface"
    for part in ("train", "val", "test"):
        pictures(folder / f"WIDER_{part}/images", "0--Parade/a.jpg", "1--Handshaking/b.jpg")
    no_face = "0 0 0 0 0 0 0 0 0 0 "
    faces = "1 1 3 2 0 0 0 1 0 0 ", "2 1 2 2 2 0 1 0 0 1 "
    for part in ("train", "val"):
        table = "0--Parade/a.jpg", "2", *faces, "1--Handshaking/b.jpg", "0", no_face
        lines(folder / "wider_face_split", f"wider_face_{part}_bbx_gt.txt", *table)
    lines(folder / "wider_face_split", "wider_face_test_filelist.txt", "1--Handshaking/b.jpg", "0--Parade/a.jpg")
    return [{}, {"split": "val"}, {"split": "test"}]


TREES = {
    "CREStereo": cre,
    "CarlaStereo": carla,
    "Cityscapes": cityscapes,
    "ETH3DStereo": eth3d,
    "FER2013": fer2013,
    "FallingThingsStereo": falling_things,
    "FlyingChairs": flying_chairs,
    "FlyingThings3D": flying_things,
    "HD1K": hd1k,
    "INaturalist": inaturalist,
    "InStereo2k": instereo,
    "Kitti": kitti,
    "Kitti2012Stereo": kitti_2012,
    "Kitti2015Stereo": kitti_2015,
    "KittiFlow": kitti_flow,
    "LFWPairs": lfw_pairs,
    "LFWPeople": lfw,
    "Middlebury2014Stereo": middlebury,
    "MovingMNIST": moving_mnist,
    "SBDataset": sbd,
    "SceneFlowStereo": scene_flow,
    "Sintel": sintel,
    "SintelStereo": sintel_stereo,
    "WIDERFace": wider_face,
}

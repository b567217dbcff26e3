"""`utils.tensorboard` writes the same events as PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")
from torch.utils.tensorboard import SummaryWriter as Theirs  # noqa: E402

from flambeau.utils.tensorboard import SummaryWriter as Ours  # noqa: E402

VALUES = np.random.default_rng(0).standard_normal(500)
LABELS = np.random.default_rng(1).integers(0, 2, 100)
SCORES = np.random.default_rng(2).uniform(size=100)
IMAGES = np.random.default_rng(3).integers(0, 256, (11, 3, 5, 6)).astype(np.uint8)


def figures():
    from matplotlib import pyplot

    made = [pyplot.figure(figsize=(2, 1)) for _ in range(2)]
    for i, figure in enumerate(made):
        figure.add_subplot().plot([0, i])
    return made


# Calls with a SummaryWriter `w` and a library `t`. With a fixed `walltime`, both libraries write equal files.
CALLS = {
    "scalar": lambda w, t: w.add_scalar("a/loss", t.tensor(1.25), 3, walltime=5),
    "scalar of NumPy": lambda w, t: w.add_scalar("loss", np.float64(0.1), np.int64(4), walltime=5),
    "scalar, new": lambda w, t: w.add_scalar("loss", 0.1, 3, walltime=5, new_style=True),
    "scalar, double": lambda w, t: w.add_scalar("loss", 0.1, 3, 5, True, double_precision=True),
    "scalars": lambda w, t: w.add_scalars("run/14", {"sin": 0.5, "cos": t.tensor([2.0])}, 7, walltime=5),
    "tensors": lambda w, t: [
        w.add_tensor(str(dtype), t.arange(6).reshape(2, 3).to(getattr(t, dtype)), 2, walltime=5)
        for dtype in ("float32", "float64", "float16", "bfloat16", "uint8", "int64", "bool", "complex64", "complex128")
    ],
    "histogram": lambda w, t: w.add_histogram("h", t.tensor(VALUES), 1, walltime=5),
    "histogram by number": lambda w, t: w.add_histogram("h", VALUES.astype(np.float32), 1, bins=10, walltime=5),
    "histogram auto": lambda w, t: w.add_histogram("h", t.tensor(VALUES).to(t.bfloat16), 1, bins="auto", walltime=5),
    "histogram, most bins": lambda w, t: w.add_histogram("h", VALUES, 1, bins=50, max_bins=7, walltime=5),
    "histogram of one": lambda w, t: w.add_histogram("h", t.zeros(3), 1, walltime=5),
    "histogram raw": lambda w, t: w.add_histogram_raw("h", 0, 2, 3, 4.0, 6.0, [1, 2.5], [1, 2], 1, walltime=5),
    "image": lambda w, t: w.add_image("i", t.tensor(IMAGES[0]), 1, walltime=5),
    "image of floats": lambda w, t: w.add_image("i", t.tensor(IMAGES[0] / 200), 1, walltime=5),
    "image HW": lambda w, t: w.add_image("i", IMAGES[0, 0], 1, walltime=5, dataformats="HW"),
    "image HWC": lambda w, t: w.add_image("i", IMAGES[0].transpose(1, 2, 0)[:, :, :1], 1, walltime=5, dataformats="HWC"),
    "images": lambda w, t: w.add_images("i", t.tensor(IMAGES), 1, walltime=5),
    "images NHWC": lambda w, t: w.add_images("i", IMAGES.transpose(0, 2, 3, 1), 1, walltime=5, dataformats="NHWC"),
    "gray images": lambda w, t: w.add_images("i", t.tensor(IMAGES[:, :1]), 1, walltime=5),
    "boxes": lambda w, t: w.add_image_with_boxes(
        "b", t.tensor(np.kron(IMAGES[0], np.ones((1, 9, 9), np.uint8))), t.tensor([[1.0, 2, 20, 30], [5, 5, 40, 40]]), 1, walltime=5,
        rescale=2, labels=["one", "two"],
    ),
    "figure": lambda w, t: w.add_figure("f", figures()[0], 1, walltime=5),
    "figures": lambda w, t: w.add_figure("f", figures(), 1, walltime=5),
    "audio": lambda w, t: w.add_audio("s", t.tensor(VALUES[:50] / 4), 1, sample_rate=8000, walltime=5),
    "text": lambda w, t: w.add_text("note", "caf\u00e9 *au lait*", 1, walltime=5),
    "curve": lambda w, t: w.add_pr_curve("pr", t.tensor(LABELS), t.tensor(SCORES), 1, walltime=5),
    "curve, weights": lambda w, t: w.add_pr_curve("pr", LABELS, SCORES, 1, num_thresholds=9, weights=SCORES, walltime=5),
    "curve raw": lambda w, t: w.add_pr_curve_raw("pr", *(np.arange(5) + i for i in range(6)), 1, num_thresholds=5, walltime=5),
    "multiline": lambda w, t: w.add_custom_scalars_multilinechart(["a", "b"], "c", "d"),
    "margin": lambda w, t: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "layout": lambda w, t: w.add_custom_scalars({"k": {"x": ["Multiline", ["a", "b"]], "y": ["Margin", ["v", "l", "u"]]}}),
    "mesh": lambda w, t: w.add_mesh(
        "m", t.arange(12.0).reshape(1, 4, 3), t.arange(12).reshape(1, 4, 3), t.tensor([[[0, 1, 2]]]), {"lights": [1]}, 1, walltime=5
    ),
    "points": lambda w, t: w.add_mesh("m", t.arange(12.0).reshape(1, 4, 3), walltime=5),
    "hparams": lambda w, t: w.add_hparams(
        {"lr": 0.1, "n": 3, "name": "x", "on": True, "none": None, "t": t.tensor([2.5])}, {"acc": 0.5, "loss": t.tensor(2.0)},
        {"lr": [0.1, 0.2], "name": ["x", "y"]}, "trial", 4,
    ),
    "embedding": lambda w, t: [
        w.add_embedding(t.arange(6.0).reshape(3, 2) / 7, ["a", "b", "c"], t.tensor(IMAGES[:3] / 255), 2, "dir/50%"),
        w.add_embedding(t.eye(3), [["a", 1], ["b", 2], ["c", 3]], metadata_header=["name", "number"]),
    ],
}  # fmt: skip


def written(make, folder: Path) -> dict[str, list]:
    """Return the events of each file, without times and host names."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    with make(folder) as writer:
        library = flambeau if make is Ours else torch
        CALLS[folder.name](writer, library)
    contents = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        name = str(path.parent.relative_to(folder)) + "/" + ("events" if "tfevents" in path.name else path.name)
        if not name.endswith("events"):
            contents[name] = path.read_bytes()
            continue
        events = [Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load()]
        for event in events:
            if event.wall_time != 5:
                event.wall_time = 0
            if event.HasField("source_metadata"):
                event.source_metadata.Clear()
        contents[name] = [str(event) for event in events]
    return contents


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_written(name, tmp_path):
    a, b = tmp_path / "ours" / name, tmp_path / "theirs" / name
    a, b = written(Ours, a), written(Theirs, b)
    assert a == b and sum(len(each) for each in a.values()) >= 2


@pytest.mark.parametrize(
    "call",
    [
        lambda w, t: w.add_scalar("a", t.ones(2)),
        lambda w, t: w.add_histogram("a", t.ones(0)),
        lambda w, t: w.add_image("a", t.ones(2, 2, 2), dataformats="CCH"),
        lambda w, t: w.add_image("a", t.ones(2, 2), dataformats="CHW"),
        lambda w, t: w.add_audio("a", t.zeros(2, 2)),
        lambda w, t: w.add_hparams([], {}),
        lambda w, t: w.add_hparams({"a": [1]}, {}),
        lambda w, t: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
        lambda w, t: w.add_embedding(t.ones(2, 2), ["one"]),
        lambda w, t: w.add_embedding(t.ones(2)),
        lambda w, t: w.add_embedding(t.ones(2, 2), [["a"], ["b"]], metadata_header=["x", "y"]),
        lambda w, t: w.add_scalar("a", "text"),
        lambda w, t: w.add_scalar("a", None),
        lambda w, t: w.add_custom_scalars_marginchart(["a"]),
        lambda w, t: w.add_histogram_raw("h", 0, 2, 3, 4.0, 6.0, [1, 2.5], [1], 1),
    ],
)  # fmt: skip
def test_what_is_refused(call, tmp_path):
    errors = []
    for make, library in ((Ours, flambeau), (Theirs, torch)):
        with make(tmp_path) as writer:
            try:
                call(writer, library)
            except Exception as error:
                errors.append(type(error))
    assert len(errors) == 2 and errors[0] is errors[1]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9])
def test_videos_side_by_side(count):
    from flambeau.utils.tensorboard.images import _make_video_grid
    from torch.utils.tensorboard._utils import _prepare_video

    video = np.random.default_rng(count).integers(0, 256, (count, 2, 3, 4, 5)).astype(np.uint8)
    assert np.array_equal(_make_video_grid(video), _prepare_video(video))

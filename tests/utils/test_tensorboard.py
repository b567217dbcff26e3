"""`utils.tensorboard`: TensorBoard reads the written files."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

from flambeau.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter


def read(folder) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}).Reload()


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def test_scalars(writer, tmp_path):
    for step in range(5):
        writer.add_scalar("loss", torch.tensor(1 / (step + 1)), step, walltime=100 + step)
    writer.add_scalar("precise", 0.1, 0, new_style=True, double_precision=True)
    writer.add_scalars("both", {"train": 1.0, "test": 2.0}, 7)
    writer.flush()
    events = read(tmp_path)
    assert [(e.step, e.wall_time) for e in events.Scalars("loss")] == [(step, 100.0 + step) for step in range(5)]
    assert [e.value for e in events.Scalars("loss")] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert tensor_util.make_ndarray(events.Tensors("precise")[0].tensor_proto) == 0.1
    for name, value in (("train", 1.0), ("test", 2.0)):
        assert [(e.step, e.value) for e in read(tmp_path / f"both_{name}").Scalars("both")] == [(7, value)]


@pytest.mark.parametrize(("bins", "max_bins"), [("tensorflow", None), (20, None), (20, 6), ("auto", None)])
def test_histograms(writer, tmp_path, bins, max_bins):
    values = np.random.default_rng(0).standard_normal(1000)
    writer.add_histogram("h", torch.tensor(values), 3, bins=bins, max_bins=max_bins)
    writer.flush()
    (event,) = read(tmp_path).Histograms("h")
    histogram, limits = event.histogram_value, np.array(event.histogram_value.bucket_limit)
    assert event.step == 3 and histogram.num == 1000 and (histogram.min, histogram.max) == (values.min(), values.max())
    assert histogram.sum == pytest.approx(values.sum()) and histogram.sum_squares == pytest.approx((values**2).sum())
    expected = [np.sum((values >= low) & (values < high)) for low, high in itertools.pairwise(limits[:-1])]
    assert histogram.bucket[0] == 0 and list(histogram.bucket[1:-1]) == expected and sum(histogram.bucket) == 1000
    assert max_bins is None or len(limits) <= max_bins + 2


def pixels(event):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(event.encoded_image_string)))


def test_images(writer, tmp_path):
    image = torch.rand(3, 4, 5)
    writer.add_image("one", image, 1)
    writer.add_images("several", torch.stack([image] * 9), 1)
    writer.add_image_with_boxes("boxes", torch.zeros(3, 20, 20), torch.tensor([[2, 3, 10, 12]]), labels="x")
    writer.flush()
    events = read(tmp_path)
    expected = (image.numpy().transpose(1, 2, 0) * 255).astype(np.uint8)
    assert np.array_equal(pixels(events.Images("one")[0]), expected)
    grid = pixels(events.Images("several")[0])
    assert grid.shape == (8, 40, 3) and np.array_equal(grid[4:, :5], expected) and not grid[4:, 5:].any()
    assert pixels(events.Images("boxes")[0])[3, 5].tolist() == [255, 0, 0]


def test_figures(writer, tmp_path):
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(2, 1), dpi=50, facecolor="red")
    writer.add_figure("f", figure, 2)
    writer.flush()
    (event,) = read(tmp_path).Images("f")
    assert (event.height, event.width) == (50, 100) and pixels(event)[0, 0].tolist() == [255, 0, 0]
    assert not pyplot.fignum_exists(figure.number)


def test_videos(writer, tmp_path):
    pytest.importorskip("moviepy")
    from PIL import Image

    video = torch.zeros(3, 2, 3, 4, 6, dtype=torch.uint8)
    video[0, 1] = 255
    writer.add_video("v", video, fps=2)
    writer.flush()
    (event,) = read(tmp_path).Images("v")
    gif = Image.open(io.BytesIO(event.encoded_image_string))
    assert (event.height, event.width) == (4, 24) and gif.n_frames == 2  # the number of videos is padded to a power of two
    gif.seek(1)
    frame = np.asarray(gif.convert("RGB"))
    assert frame[:, :6].min() > 200 and frame[:, 6:].max() < 50


def test_videos_need_moviepy(writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "moviepy", None)
    monkeypatch.setitem(sys.modules, "moviepy.editor", None)
    with pytest.raises(ImportError, match="add_video needs package moviepy"):
        writer.add_video("v", torch.zeros(1, 1, 3, 2, 2))


def test_sound_and_text(writer, tmp_path):
    import wave

    sound = torch.linspace(-1, 1, 11)
    writer.add_audio("sound", sound, sample_rate=100)
    writer.add_text("note", "caf\u00e9", 5)
    writer.flush()
    events = read(tmp_path)
    with wave.open(io.BytesIO(events.Audio("sound")[0].encoded_audio_string)) as file:
        assert file.getframerate() == 100
        assert np.array_equal(np.frombuffer(file.readframes(11), "<i2"), (sound.numpy() * 32767).astype(np.int16))
    assert tensor_util.make_ndarray(events.Tensors("note/text_summary")[0].tensor_proto) == "caf\u00e9".encode()


def test_curves(writer, tmp_path):
    labels, scores = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.2, 0.6, 0.7, 0.9])
    writer.add_pr_curve("pr", labels, scores, num_thresholds=5)
    writer.flush()
    written = tensor_util.make_ndarray(read(tmp_path).Tensors("pr")[0].tensor_proto)
    truth = labels.numpy().astype(bool)
    for column, threshold in zip(written.T, [0, 0.25, 0.5, 0.75, 1.0], strict=True):
        chosen = scores.numpy() >= threshold
        tp, fp, fn = (chosen & truth).sum(), (chosen & ~truth).sum(), (~chosen & truth).sum()
        expected = [tp, fp, (~chosen & ~truth).sum(), fn, tp / max(tp + fp, 1), tp / (tp + fn)]
        assert column == pytest.approx(expected)


def test_hyperparameters(writer, tmp_path):
    from tensorboard.plugins.hparams import metadata

    writer.add_hparams({"lr": 0.1, "name": "x"}, {"accuracy": 0.5}, {"lr": [0.1, 0.2]}, "trial", 3)
    events = read(tmp_path / "trial")
    assert [(e.step, e.value) for e in events.Scalars("accuracy")] == [(3, 0.5)]
    plugin = events.PluginTagToContent("hparams")
    experiment = metadata.parse_experiment_plugin_data(plugin[metadata.EXPERIMENT_TAG])
    assert [info.name for info in experiment.hparam_infos] == ["lr", "name"]
    assert [v.number_value for v in experiment.hparam_infos[0].domain_discrete.values] == [0.1, 0.2]
    start = metadata.parse_session_start_info_plugin_data(plugin[metadata.SESSION_START_INFO_TAG])
    assert start.hparams["lr"].number_value == 0.1 and start.hparams["name"].string_value == "x"


def test_points(writer, tmp_path):
    points = torch.tensor([[1.0, 2.5], [3.0, -4.0]])
    writer.add_embedding(points, ["a", "b"], torch.rand(2, 3, 4, 4), 7, "set/one")
    writer.add_embedding(points.numpy(), [["a", 1], ["b", 2]], metadata_header=["name", "number"])
    folder = tmp_path / "00007" / "set%2fone"
    assert (folder / "tensors.tsv").read_text() == "1.0\t2.5\n3.0\t-4.0\n" and (folder / "metadata.tsv").read_text() == "a\nb\n"
    assert (folder / "sprite.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "00000" / "default" / "metadata.tsv").read_text() == "name\tnumber\na\t1\nb\t2\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2 and 'tensor_path: "00007/set%2fone/tensors.tsv"' in config


def test_meshes(writer, tmp_path):
    writer.add_mesh("m", torch.rand(1, 4, 3), faces=torch.tensor([[[0, 1, 2]]]))
    writer.flush()
    events = read(tmp_path)
    assert {tag: events.Tensors(tag)[0].tensor_proto.tensor_shape.dim[1].size for tag in events.Tags()["tensors"]} == {
        "m_VERTEX": 4, "m_FACE": 1,
    }  # fmt: skip


# --- graphs ---


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return x + self.linear(x).relu() if x.sum() > 0 else x - 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x, mask):
        return {"out": self.blocks(x) * self.scale * mask}


def nodes_of(folder):
    return {node.name: node for node in read(folder).Graph().node}


def test_a_graph_shows_the_calls_inside_their_modules(writer, tmp_path):
    net = Net().train()
    writer.add_graph(net, (torch.ones(2, 3), torch.ones(3)))
    writer.flush()
    nodes = nodes_of(tmp_path)
    linear = nodes["Net/Sequential[blocks]/Block[0]/Linear[linear]/linear"]
    scope = "Net/Sequential[blocks]/Block[0]/Linear[linear]"
    assert list(linear.input) == ["input/x", f"{scope}/weight", f"{scope}/bias"] and linear.op == "aten::linear"
    assert [d.size for d in linear.attr["_output_shapes"].list.shape[0].dim] == [2, 3]
    assert nodes[f"{scope}/weight"].op == "prim::GetAttr"
    assert list(nodes["Net/Sequential[blocks]/Block[0]/add"].input) == ["input/x", "Net/Sequential[blocks]/Block[0]/relu"]
    assert list(nodes["Net/mul"].input) == ["Net/Sequential[blocks]/Block[1]/add", "Net/scale"]
    assert list(nodes["Net/mul_1"].input) == ["Net/mul", "input/mask"]
    assert list(nodes["output/output.1"].input) == ["Net/mul_1"]
    assert all(source in nodes for node in nodes.values() for source in node.input)
    assert net.training and net.blocks[0].training and not net.blocks[0]._forward_hooks


def test_a_graph_shows_what_is_done_with_this_input(writer, tmp_path):
    writer.add_graph(Block(), -torch.ones(2, 3))
    writer.flush()
    nodes = nodes_of(tmp_path)
    assert "Block/sub" in nodes and "Block/Linear[linear]/linear" not in nodes


def test_nothing_stays_behind_when_a_model_fails(writer):
    net = Net()
    with pytest.raises(RuntimeError):
        writer.add_graph(net, (torch.ones(2, 4), torch.ones(3)))
    assert net.training and not net.blocks[0]._forward_hooks and not net.blocks[0]._forward_pre_hooks


# --- files ---


def test_closing_and_going_on(tmp_path):
    writer = SummaryWriter(tmp_path, filename_suffix=".one")
    writer.close()
    writer.close()
    writer.add_scalar("a", 1.0, 1)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2 and all(path.name.endswith(".one") for path in tmp_path.iterdir())
    assert [e.value for e in read(tmp_path).Scalars("a")] == [1.0]
    assert writer.get_logdir() == tmp_path


def test_what_a_crashed_run_wrote_is_hidden(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".0") as writer:
        for step in range(10):
            writer.add_scalar("a", 0.0, step)
    with SummaryWriter(tmp_path, purge_step=5, filename_suffix=".1") as writer:
        writer.add_scalar("a", 1.0, 5)
    files = sorted(tmp_path.iterdir(), key=lambda path: path.suffix)
    for i, path in enumerate(files):
        path.rename(tmp_path / f"events.out.tfevents.{i}")
    assert [e.step for e in read(tmp_path).Scalars("a")] == [0, 1, 2, 3, 4, 5]


def test_the_default_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_mine") as writer:
        assert str(writer.get_logdir()).startswith("runs") and str(writer.get_logdir()).endswith("_mine")
    assert len(list(Path(writer.get_logdir()).iterdir())) == 1


def test_the_other_writers(tmp_path):
    writer = FileWriter(tmp_path)
    assert writer.get_logdir() == str(tmp_path)
    writer.close()
    assert RecordWriter.__module__.startswith("tensorboard")
    with SummaryWriter(tmp_path) as summary_writer, pytest.raises(RuntimeError, match=r"does not read ONNX files.*net\.onnx"):
        summary_writer.add_onnx_graph("net.onnx")


@pytest.mark.slow
def test_without_tensorboard_the_import_fails():
    code = """
import sys
sys.modules["tensorboard"] = None
try:
    from flambeau.utils.tensorboard import SummaryWriter
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=os.environ, check=True)
    assert done.stdout == "TensorBoard logging requires the package tensorboard: pip install tensorboard pillow\n"

"""`flambeau_vision.utils`: image grids, drawings and image files."""

from __future__ import annotations

import importlib
import inspect
import io as stdio
import math

import numpy as np
import pytest
from PIL import Image

import flambeau as torch
from flambeau_vision import get_image_backend, io, set_image_backend, utils
from flambeau_vision.transforms import functional


def picture(height: int = 6, width: int = 8, channels: int = 3) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (channels, height, width), dtype=np.uint8))


# Grids


def test_grid_places_images():
    images = torch.rand(5, 3, 4, 6)
    grid = utils.make_grid(images, nrow=3, padding=1, pad_value=0.5)
    assert grid.shape == (3, 2 * 5 + 1, 3 * 7 + 1)
    for index in range(5):
        top, left = index // 3 * 5 + 1, index % 3 * 7 + 1
        assert torch.equal(grid[:, top : top + 4, left : left + 6], images[index])
    assert (grid[:, 0] == 0.5).all() and (grid[:, 6:10, 15:21] == 0.5).all()


@pytest.mark.parametrize("shape", [(4, 6), (1, 4, 6), (3, 4, 6), (1, 1, 4, 6)])
def test_grid_of_one_image(shape):
    image = torch.rand(shape)
    grid = utils.make_grid(image)
    assert grid.shape == (3, 4, 6) and torch.equal(grid, image.reshape(-1, 4, 6).expand(3, 4, 6))


def test_grid_of_a_list_normalized():
    low, high = torch.full((1, 2, 2), -3.0), torch.tensor([[[0.0, 1.0], [2.0, 5.0]]])
    together = utils.make_grid([low, high], padding=0, normalize=True)
    assert np.allclose(together[0].numpy(), (np.array([[-3, -3, 0, 1], [-3, -3, 2, 5]]) + 3) / 8)
    each = utils.make_grid([low, high], padding=0, normalize=True, scale_each=True)
    assert np.allclose(each[0, :, 2:].numpy(), np.array([[0, 1], [2, 5]]) / 5)
    ranged = utils.make_grid([low, high], padding=0, normalize=True, value_range=(0, 2))
    assert ranged[0].tolist() == [[0, 0, 0, 0.5], [0, 0, 1, 1]]
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got <class 'str'>"):
        utils.make_grid("images")


def test_save_image(tmp_path):
    images = torch.rand(3, 3, 4, 5)
    utils.save_image(images, tmp_path / "a.png", nrow=2)
    expected = np.floor(utils.make_grid(images, nrow=2).numpy() * 255 + 0.5)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")).transpose(2, 0, 1), expected)
    buffer = stdio.BytesIO()
    utils.save_image(images[0], buffer, format="PNG")
    assert Image.open(stdio.BytesIO(buffer.getvalue())).size == (5, 4)


# Drawings


def test_boxes_are_drawn():
    image = torch.zeros(3, 20, 30, dtype=torch.uint8)
    boxes = torch.tensor([[2, 3, 10, 12], [15, 5, 25, 15]])
    drawn = utils.draw_bounding_boxes(image, boxes, colors=["red", (0, 0, 255)])
    assert drawn[:, 3, 5].tolist() == [255, 0, 0] and drawn[:, 10, 15].tolist() == [0, 0, 255]
    assert drawn[:, 7, 6].sum() == 0 and image.sum() == 0
    filled = utils.draw_bounding_boxes(image, boxes[:1], colors="#00ff00", fill=True)
    assert 50 < filled[1, 7, 6] < 200
    labelled = utils.draw_bounding_boxes(image, boxes, labels=["A", None], colors="white")
    assert (labelled != utils.draw_bounding_boxes(image, boxes, colors="white")).any()


def test_rotated_boxes_are_drawn():
    image = torch.zeros(3, 20, 30, dtype=torch.uint8)
    drawn = utils.draw_bounding_boxes(image, torch.tensor([[2, 3, 22, 3, 22, 12, 2, 12]]), colors="red")[0] == 255
    assert drawn[12, 2:23].all() and drawn[3:13, 22].all() and drawn[3:13, 2].all()
    assert drawn[3, 3:6].all() and not drawn[3, 8:12].any() and drawn[3, 13:16].all()  # the upper edge is dashed
    filled = utils.draw_bounding_boxes(image, torch.tensor([[15, 2, 22, 9, 15, 16, 8, 9]]), colors="red", fill=True)
    assert 50 < filled[0, 9, 15] < 200 and filled[0, 3, 9] == 0


def test_texts_have_a_background():
    image, boxes = torch.zeros(3, 30, 60, dtype=torch.uint8), torch.tensor([[2, 3, 50, 25]])
    outline = utils.draw_bounding_boxes(image, boxes, colors="red")[0] == 255
    drawn = utils.draw_bounding_boxes(image, boxes, labels=["AB"], colors="red", fill_labels=True)
    background = (drawn[0] == 255) & ~outline
    rows, columns = torch.where(background)
    letters = ~background[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert background.sum() > 50 and 10 < letters.sum() < background.sum()  # black text on a red background
    drawn = utils.draw_bounding_boxes(
        image, boxes, ["AB"], colors="red", fill_labels=True, label_colors="lime", label_background_colors=[(0, 0, 255)]
    )
    assert torch.equal(drawn[2] == 255, background) and drawn[1][~outline].max() > 150


def test_boxes_on_other_images():
    grey, floating = torch.zeros(1, 9, 9, dtype=torch.uint8), torch.full((3, 9, 9), 0.2)
    assert utils.draw_bounding_boxes(grey, torch.tensor([[1, 1, 5, 5]])).shape == (3, 9, 9)
    drawn = utils.draw_bounding_boxes(floating, torch.tensor([[1, 1, 5, 5]]), colors="white")
    assert drawn.dtype == torch.float32 and drawn[0, 1, 1] == 1.0 and drawn[0, 8, 8].item() == pytest.approx(0.2)
    assert torch.equal(utils.draw_bounding_boxes(grey, torch.zeros(0, 4)), torch.zeros(3, 9, 9, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda img, box: utils.draw_bounding_boxes(img, box, labels=["a", "b"]), ValueError, r"boxes \(1\) and labels \(2\)"),
        (lambda img, box: utils.draw_bounding_boxes(img, box, colors=[]), ValueError, "but got 0 < 1"),
        (lambda img, box: utils.draw_bounding_boxes(img, box.flip(1)), ValueError, "xmin, ymin, xmax, ymax"),
        (lambda img, box: utils.draw_bounding_boxes(img[None], box), ValueError, "individual images, not batches"),
        (lambda img, box: utils.draw_bounding_boxes(img.int(), box), ValueError, "must be uint8 or float, got"),
        (lambda img, box: utils.draw_segmentation_masks(img, img), ValueError, "masks must be of dtype bool. Got"),
        (lambda img, box: utils.draw_segmentation_masks(img, img[..., 1:] > 0), ValueError, "same height and width"),
        (lambda img, box: utils.draw_keypoints(img, box), ValueError, r"must be of shape \(num_instances, K, 2\)"),
    ],
)
def test_drawing_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.zeros(3, 20, 20, dtype=torch.uint8), torch.tensor([[1, 2, 5, 6]]))


@pytest.mark.parametrize("floating", [False, True])
def test_masks_are_drawn(floating):
    image = picture()
    image = image.float() / 255 if floating else image
    masks = torch.zeros(2, 6, 8, dtype=torch.bool)
    masks[0, :3], masks[1, 2:5] = True, True
    drawn = utils.draw_segmentation_masks(image, masks, alpha=0.25, colors=["red", "blue"])
    white = 1.0 if floating else 255
    red, blue = (torch.tensor(colour).reshape(3, 1, 1) * white for colour in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    assert np.allclose(drawn[:, :2].numpy(), (0.75 * image[:, :2] + 0.25 * red).numpy(), atol=0.01 if floating else 1)
    assert np.allclose(drawn[:, 3:5].numpy(), (0.75 * image[:, 3:5] + 0.25 * blue).numpy(), atol=0.01 if floating else 1)
    # blended with black where the masks overlap
    assert np.allclose(drawn[:, 2].numpy(), 0.75 * image[:, 2].numpy(), atol=0.01 if floating else 1)
    assert torch.equal(drawn[:, 5], image[:, 5])


def test_keypoints_are_drawn():
    image = torch.zeros(3, 30, 30, dtype=torch.uint8)
    points = torch.tensor([[[5.0, 5.0], [25.0, 5.0], [25.0, 25.0]]])
    drawn = utils.draw_keypoints(image, points, colors="red", radius=1)
    assert drawn[:, 5, 25].tolist() == [255, 0, 0] and drawn[:, 5, 15].sum() == 0
    joined = utils.draw_keypoints(image, points, connectivity=[(0, 1), (1, 2)])
    assert joined[:, 5, 15].sum() > 0 and joined[:, 15, 25].sum() > 0
    hidden = utils.draw_keypoints(image, points, [(0, 1)], "red", visibility=torch.tensor([[True, False, True]]))
    assert hidden[:, 5, 25].sum() == 0 and hidden[:, 5, 15].sum() == 0 and hidden[0, 25, 25] == 255


def test_flow_colours():
    still = utils.flow_to_image(torch.zeros(2, 3, 4))
    assert still.dtype == torch.uint8 and (still == 255).all()
    angles = torch.arange(8) * (2 * math.pi / 8)
    around = utils.flow_to_image(torch.stack([angles.cos(), angles.sin()])[:, None])
    colours = {tuple(colour) for colour in around[:, 0].T.tolist()}
    assert len(colours) == 8 and around.min(0).values.max() < 100  # saturated, distinct colors
    assert utils.flow_to_image(torch.rand(5, 2, 3, 4)).shape == (5, 3, 3, 4)
    with pytest.raises(ValueError, match=r"\(2, H, W\) or \(N, 2, H, W\), got \(3, 4, 4\)"):
        utils.flow_to_image(torch.zeros(3, 4, 4))


# Image files


@pytest.mark.parametrize("channels", [1, 3])
def test_png_is_lossless(tmp_path, channels):
    image = picture(channels=channels)
    assert torch.equal(io.decode_png(io.encode_png(image)), image)
    io.write_png(image, tmp_path / "a.png", compression_level=1)
    assert torch.equal(io.read_image(tmp_path / "a.png"), image)
    stored = np.asarray(Image.open(tmp_path / "a.png")).reshape(6, 8, channels)
    assert np.array_equal(stored.transpose(2, 0, 1), image.numpy())


def test_jpeg_is_close(tmp_path):
    smooth = torch.arange(64 * 64).reshape(1, 64, 64).float().div(16).to(torch.uint8).expand(3, -1, -1).contiguous()
    io.write_jpeg(smooth, str(tmp_path / "a.jpg"), quality=95)
    decoded = io.decode_jpeg(io.read_file(tmp_path / "a.jpg"))
    assert np.abs(decoded.numpy().astype(int) - smooth.numpy()).max() < 6
    several = io.decode_jpeg(io.encode_jpeg([smooth, smooth], quality=95))
    assert torch.equal(several[0], decoded) and len(several) == 2


@pytest.mark.parametrize(
    ("mode", "channels"), [("UNCHANGED", 3), ("GRAY", 1), ("GRAY_ALPHA", 2), (io.ImageReadMode.RGB, 3), ("rgb_alpha", 4)]
)
def test_read_modes(mode, channels):
    assert io.decode_image(io.encode_png(picture()), mode).shape == (channels, 6, 8)


def test_orientation_from_metadata(tmp_path):
    image = Image.fromarray(picture().permute(1, 2, 0).numpy())
    exif = Image.Exif()
    exif[0x0112] = 6  # EXIF orientation: rotated by 90 degrees
    image.save(tmp_path / "turned.png", exif=exif)
    assert io.read_image(tmp_path / "turned.png").shape == (3, 6, 8)
    assert io.read_image(tmp_path / "turned.png", apply_exif_orientation=True).shape == (3, 8, 6)


def test_gif_and_webp(tmp_path):
    frames = [Image.new("RGB", (4, 5), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    decoded = io.decode_gif(io.read_file(tmp_path / "a.gif"))
    assert decoded.shape == (2, 3, 5, 4) and decoded[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]
    frames[0].save(tmp_path / "a.webp", lossless=True)
    assert io.decode_webp(io.read_file(tmp_path / "a.webp"))[:, 2, 2].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: io.decode_png(io.encode_jpeg(picture())), RuntimeError, "The bytes are not PNG"),
        (lambda: io.decode_image(torch.zeros(10, dtype=torch.uint8)), RuntimeError, "not a known image format"),
        (lambda: io.decode_image(torch.zeros(10)), ValueError, "one-dimensional uint8"),
        (lambda: io.encode_png(picture().float()), RuntimeError, "should be uint8, got"),
        (lambda: io.encode_png(picture(channels=2)), RuntimeError, r"\(1 or 3, H, W\), got \(2, 6, 8\)"),
        (lambda: io.encode_png(picture(), compression_level=10), RuntimeError, "between 0 and 9, got 10"),
        (lambda: io.encode_jpeg(picture(), quality=0), ValueError, "between 1 and 100, got 0"),
    ],
)
def test_image_file_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bytes_of_files(tmp_path):
    data = torch.tensor([1, 2, 255], dtype=torch.uint8)
    io.write_file(tmp_path / "x", data)
    assert (tmp_path / "x").read_bytes() == b"\x01\x02\xff" and torch.equal(io.read_file(tmp_path / "x"), data)


def test_image_backend():
    assert get_image_backend() == "PIL"
    with pytest.raises(ValueError, match="Invalid backend 'magic'"):
        set_image_backend("magic")


# Public names


PUBLIC_MODULES = [
    "datasets",
    "datasets.utils",
    "io",
    "models",
    "models.detection",
    "models.segmentation",
    "ops",
    "transforms",
    "transforms.functional",
    "transforms.v2",
    "transforms.v2.functional",
    "tv_tensors",
    "utils",
]


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(f"flambeau_vision.{name}")
    assert len(set(module.__all__)) == len(module.__all__)
    undocumented = [each for each in module.__all__ if not inspect.getdoc(getattr(module, each))]
    assert inspect.getdoc(module) and not undocumented


@pytest.mark.parametrize(
    "call", [lambda: io.decode_image(torch.zeros(3, dtype=torch.uint8)), lambda: functional.to_pil_image(torch.zeros(3, 2, 2))]
)
def test_pillow_is_asked_for_by_name(call, monkeypatch):
    """Without Pillow, the error names the package to install."""
    from flambeau_vision import _extras

    def no_module(module):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    _extras.optional.cache_clear()
    monkeypatch.setattr(_extras.importlib, "import_module", no_module)
    with pytest.raises(ModuleNotFoundError, match=r"needs PIL\.Image: pip install pillow"):
        call()
    monkeypatch.undo()
    _extras.optional.cache_clear()


def test_masks_that_overlap_are_black_there():
    image = torch.full((3, 1, 3), 100, dtype=torch.uint8)
    masks = torch.tensor([[[True, True, False]], [[False, True, False]]])
    drawn = utils.draw_segmentation_masks(image, masks, alpha=0.5, colors=["white", "red"])
    assert drawn[:, 0].T.tolist() == [[177, 177, 177], [50, 50, 50], [100, 100, 100]]
    with pytest.warns(UserWarning, match="doesn't contain any mask"):
        assert utils.draw_segmentation_masks(image, masks[:0]) is image

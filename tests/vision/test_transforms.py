"""Image transforms: transforms of tensors match those of PIL images."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from PIL import Image

import flambeau as torch
from flambeau_vision import transforms as T
from flambeau_vision import tv_tensors
from flambeau_vision.transforms import functional as F
from flambeau_vision.transforms import v2

NEAREST, BILINEAR, BICUBIC = T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC


def pixels(height: int = 20, width: int = 24, channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (channels, height, width), dtype=np.uint8)


@pytest.fixture
def image() -> torch.Tensor:
    return torch.from_numpy(pixels())


SAME_ON_PIL_AND_TENSORS = {
    "hflip": F.hflip,
    "vflip": F.vflip,
    "crop": lambda img: F.crop(img, 2, 3, 10, 11),
    "crop beyond the border": lambda img: F.crop(img, -2, 3, 15, 30),
    "crop outside": lambda img: F.crop(img, 30, -20, 5, 8),
    "center_crop": lambda img: F.center_crop(img, [10, 12]),
    "center_crop larger": lambda img: F.center_crop(img, [9, 40]),
    "resize": lambda img: F.resize(img, [10, 13]),
    "resize shorter side": lambda img: F.resize(img, 10),
    "resize with maximum": lambda img: F.resize(img, 30, max_size=33),
    "resize nearest": lambda img: F.resize(img, [31, 13], T.InterpolationMode.NEAREST_EXACT),
    "resized_crop": lambda img: F.resized_crop(img, 2, 3, 10, 11, [7, 8]),
    "pad": lambda img: F.pad(img, [1, 2, 3, 4]),
    "pad with colour": lambda img: F.pad(img, [1, 2], fill=(1, 2, 3)),
    "pad edge": lambda img: F.pad(img, 2, padding_mode="edge"),
    "pad reflect": lambda img: F.pad(img, [1, 2, 3, 4], padding_mode="reflect"),
    "pad symmetric": lambda img: F.pad(img, [1, 2, 3, 4], padding_mode="symmetric"),
    "pad negative": lambda img: F.pad(img, [-1, 2, -3, 4]),
    "affine": lambda img: F.affine(img, 20, [2, 3], 1.2, [5, 10]),
    "affine about a point": lambda img: F.affine(img, -20, [2, 3], 0.7, 5, center=(3, 4), fill=(10, 20, 30)),
    "rotate": lambda img: F.rotate(img, 33),
    "rotate and expand": lambda img: F.rotate(img, 33, expand=True),
    "quarter turn": lambda img: F.rotate(img, 90, expand=True),
    "rotate about a point": lambda img: F.rotate(img, 33, center=[2, 3], fill=[1, 2, 3]),
    "brightness": lambda img: F.adjust_brightness(img, 1.3),
    "contrast": lambda img: F.adjust_contrast(img, 0.6),
    "saturation": lambda img: F.adjust_saturation(img, 1.7),
    "gamma": lambda img: F.adjust_gamma(img, 1.5, 0.9),
    "sharpness": lambda img: F.adjust_sharpness(img, 1.5),
    "blurring sharpness": lambda img: F.adjust_sharpness(img, 0.0),
    "grayscale": lambda img: F.rgb_to_grayscale(img, 3),
    "one grey channel": lambda img: F.to_grayscale(img),
    "invert": F.invert,
    "posterize": lambda img: F.posterize(img, 3),
    "solarize": lambda img: F.solarize(img, 100),
    "autocontrast": F.autocontrast,
    "equalize": F.equalize,
    "gaussian_blur": lambda img: F.gaussian_blur(img, [3, 5]),
}


@pytest.mark.parametrize("name", SAME_ON_PIL_AND_TENSORS)
def test_same_on_pil_and_tensor(name, image):
    function = SAME_ON_PIL_AND_TENSORS[name]
    on_tensor, on_pil = function(image), F.pil_to_tensor(function(F.to_pil_image(image)))
    assert on_tensor.shape == on_pil.shape and on_tensor.dtype == torch.uint8
    difference = np.abs(on_tensor.numpy().astype(int) - on_pil.numpy())
    assert difference.max() <= 1


@pytest.mark.parametrize("name", ["perspective", "hue", "affine bilinear", "resize bicubic"])
def test_nearly_the_same_on_pil_and_tensor(name, image):
    """Results for PIL images and tensors differ: Pillow rounds intermediate results to 8 bits, and computes borders otherwise."""
    function = {
        "perspective": lambda img: F.perspective(
            img, [[0, 0], [23, 0], [23, 19], [0, 19]], [[2, 1], [20, 3], [22, 17], [1, 18]], NEAREST
        ),
        "hue": lambda img: F.adjust_hue(img, 0.2),
        "resize bicubic": lambda img: F.resize(img, [30, 13], BICUBIC),
        "affine bilinear": lambda img: F.affine(img, 20, [2, 3], 1.2, [5, 10], BILINEAR),
    }[name]
    on_tensor, on_pil = function(image), F.pil_to_tensor(function(F.to_pil_image(image)))
    difference = np.abs(on_tensor.numpy().astype(int) - on_pil.numpy())
    assert (difference <= 4).mean() > 0.9


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(20, 70), (50, 24), (11, 9), (7, 24)])
def test_samples_are_resized_in_whole_numbers_as_pillow_does(mode, size, image):
    """v2.resize processes one dimension after the other and rounds to 8 bits in between, like Pillow."""
    got = v2.functional.resize(image, size, mode)
    wanted = F.pil_to_tensor(v2.functional.resize(F.to_pil_image(image), size, mode))
    difference = np.abs(got.numpy().astype(int) - wanted.numpy())
    assert difference.max() <= 1 and (difference > 0).mean() < 0.05
    assert torch.equal(v2.Resize(size, mode)(image), got)
    torch.manual_seed(0)
    cropped = v2.RandomResizedCrop(size, interpolation=mode)(image)
    torch.manual_seed(0)
    crop = v2.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3))
    assert torch.equal(cropped, v2.functional.resized_crop(image, *crop, size, mode))


def test_images_alone_are_resized_in_floats(image):
    """v1 functions resize uint8 images in floating point, so their results differ slightly from those of v2."""
    got, wanted = F.resize(image, (30, 13), "bicubic"), F.resize(image.float(), (30, 13), "bicubic")
    assert torch.equal(got, wanted.round().clamp(0, 255).byte())
    assert not torch.equal(v2.functional.resize(image, (30, 13), "bicubic"), got)


def test_what_resizing_makes_of_masks_and_booleans():
    labels = torch.arange(5).expand(1, 2, 5).contiguous()
    mask = tv_tensors.Mask(labels)
    assert v2.functional.resize(mask, (2, 3), "nearest-exact")[0, 0].tolist() == [0, 2, 4]
    assert v2.functional.resize(mask, (2, 3))[0, 0].tolist() == [0, 1, 3]
    assert F.resize(labels > 3, (2, 4), "bilinear")[0, 0].tolist() == [False, False, False, True]
    assert F.resize(labels > 0, (2, 3), "bilinear")[0, 0].tolist() == [True, True, True]  # every result above 0 becomes True


@pytest.mark.parametrize("name", ["hflip", "resize", "rotate", "brightness", "gaussian_blur", "autocontrast", "pad reflect"])
def test_batches_are_images_one_by_one(name):
    function = SAME_ON_PIL_AND_TENSORS[name]
    batch = torch.from_numpy(np.stack([pixels(seed=seed) for seed in range(6)]).reshape(2, 3, 3, 20, 24))
    together = function(batch)
    for i in range(2):
        for j in range(3):
            assert torch.equal(together[i, j], function(batch[i, j]))


@pytest.mark.parametrize(
    "name", ["brightness", "contrast", "saturation", "sharpness", "gamma", "solarize", "autocontrast", "resize"]
)
def test_floating_images_follow_integer_ones(name, image):
    if name == "solarize":
        whole, floating = F.solarize(image, 100), F.solarize(image.float() / 255, 100 / 255)
    else:
        function = SAME_ON_PIL_AND_TENSORS[name]
        whole, floating = function(image), function(image.float() / 255)
    assert np.abs(whole.numpy() - floating.numpy() * 255).max() <= 1.5


def test_hue_by_colorsys(image):
    import colorsys

    floating = image.double() / 255
    turned = F.adjust_hue(floating, -0.3).numpy()
    for y, x in ((0, 0), (5, 7), (19, 23)):
        h, s, v = colorsys.rgb_to_hsv(*floating[:, y, x].tolist())
        assert np.allclose(turned[:, y, x], colorsys.hsv_to_rgb((h - 0.3) % 1, s, v), atol=1e-6)


def test_colours_of_v2_mix_bytes_without_rounding_between(image):
    """v2 blends uint8 images without intermediate rounding, and converts to float by multiplying with 1 / 255."""
    greys = image[:1].expand(3, -1, -1)
    red, green, blue = (channel.astype(np.float64) for channel in greys.numpy())
    grey = np.floor(0.2989 * red + 0.587 * green + 0.114 * blue)
    mixed = np.float64(np.float32(0.5)) * red + np.float64(np.float32(0.5)) * grey
    np.testing.assert_array_equal(v2.functional.adjust_saturation(greys, 0.5)[0].numpy(), mixed.astype(np.uint8))
    floats = v2.functional.to_dtype(image, scale=True).numpy()
    np.testing.assert_array_equal(floats, image.numpy() * np.float32(1 / 255))


def test_equalize_needs_bytes(image):
    with pytest.raises(TypeError, match=r"Only torch\.uint8 image tensors are supported, but found"):
        F.equalize(image.float())


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (3, 0, 8), (2, 1, 5, 6)])
def test_empty_and_grey_images(shape):
    img = torch.zeros(shape)
    assert F.hflip(img).shape == shape
    assert F.crop(img, 1, 1, 2, 2).shape == (*shape[:-2], 2, 2)


def test_elastic_transform_shifts():
    img = torch.arange(48.0).reshape(1, 6, 8)
    displacement = torch.zeros(1, 6, 8, 2)
    displacement[..., 0] = 2 / 8  # shifts by one pixel to the right
    moved = F.elastic_transform(img, displacement)
    assert torch.allclose(moved[..., :-1], img[..., 1:])
    with pytest.raises(ValueError, match=r"displacement shape should be \(1, 6, 8, 2\), got"):
        F.elastic_transform(img, displacement[:, 1:])


def test_erase(image):
    erased = F.erase(image, 1, 2, 3, 4, torch.tensor([7, 8, 9]).reshape(3, 1, 1))
    assert erased[:, 1, 2].tolist() == erased[:, 3, 5].tolist() == [7, 8, 9]
    assert torch.equal(erased[:, :, 6:], image[:, :, 6:]) and not torch.equal(erased, image)
    assert F.erase(image, 0, 0, 1, 1, torch.tensor(0), inplace=True) is image and image[0, 0, 0] == 0


def test_five_and_ten_crop(image):
    top_left, top_right, bottom_left, bottom_right, center = F.five_crop(image, 6)
    assert torch.equal(top_left, image[:, :6, :6]) and torch.equal(top_right, image[:, :6, -6:])
    assert torch.equal(bottom_left, image[:, -6:, :6]) and torch.equal(bottom_right, image[:, -6:, -6:])
    assert torch.equal(center, image[:, 7:13, 9:15])
    assert torch.equal(F.ten_crop(image, 6)[5], image.flip(-1)[:, :6, :6])
    assert torch.equal(F.ten_crop(image, 6, vertical_flip=True)[5], image.flip(-2)[:, :6, :6])
    with pytest.raises(ValueError, match=r"crop size 30 is bigger than input size \(20, 24\)"):
        F.five_crop(image, 30)


# Conversion


@pytest.mark.parametrize(("mode", "shape"), [("L", (1, 4, 5)), ("RGB", (3, 4, 5)), ("RGBA", (4, 4, 5)), ("1", (1, 4, 5))])
def test_to_tensor_of_pil(mode, shape):
    array = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    picture = Image.fromarray(array).convert(mode)
    tensor = T.ToTensor()(picture)
    reference = np.asarray(picture.convert("L") if mode == "1" else picture).reshape(4, 5, -1).transpose(2, 0, 1)
    assert tuple(tensor.shape) == shape and tensor.dtype == torch.float32
    assert np.allclose(tensor.numpy(), reference / 255.0)


def test_to_tensor_of_wide_pixels():
    wide = Image.fromarray(np.arange(6, dtype=np.int32).reshape(2, 3) * 100000)
    assert T.ToTensor()(wide).dtype == torch.int32 and T.ToTensor()(wide)[0, 1, 2] == 500000
    floating = np.random.default_rng(0).random((2, 3, 1), dtype=np.float32)
    assert np.array_equal(T.ToTensor()(floating).numpy()[0], floating[..., 0])


@pytest.mark.parametrize(("value", "error"), [(torch.zeros(2, 2), TypeError), (np.zeros(3), ValueError), ("x", TypeError)])
def test_to_tensor_errors(value, error):
    with pytest.raises(error, match="pic should be"):
        T.ToTensor()(value)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA"), (3, "HSV"), (4, "CMYK")])
def test_to_pil_and_back(channels, mode):
    tensor = torch.from_numpy(pixels(channels=channels))
    picture = T.ToPILImage(mode)(tensor)
    assert picture.mode == mode and torch.equal(T.PILToTensor()(picture), tensor)
    assert torch.equal(T.PILToTensor()(T.ToPILImage(mode)(tensor.permute(1, 2, 0).numpy())), tensor)


def test_to_pil_of_other_dtypes():
    assert F.to_pil_image(torch.rand(3, 4, 5)).mode == "RGB"
    assert F.to_pil_image(torch.rand(4, 5), mode="F").mode == "F"
    assert F.to_pil_image(torch.ones(4, 5, dtype=torch.int32)).mode == "I"
    assert F.to_pil_image(torch.ones(4, 5, dtype=torch.int16)).mode == "I;16"


@pytest.mark.parametrize(
    ("value", "mode", "error", "message"),
    [
        (torch.zeros(5, 4, 4), None, ValueError, "> 4 channels. Got 5"),
        (torch.zeros(1, 3, 4, 4), None, ValueError, "should be 2/3 dimensional. Got 4"),
        (torch.zeros(3, 4, 4), "L", ValueError, "Only modes"),
        ("picture", None, TypeError, "Got <class 'str'>"),
        (torch.zeros(4, 4, dtype=torch.int64), None, TypeError, "Input type int64"),
    ],
)
def test_to_pil_errors(value, mode, error, message):
    with pytest.raises(error, match=message):
        F.to_pil_image(value, mode)


def test_convert_image_dtype():
    whole = torch.tensor([0, 1, 128, 255], dtype=torch.uint8)
    assert torch.allclose(F.convert_image_dtype(whole), whole.float() / 255)
    assert torch.equal(F.convert_image_dtype(F.convert_image_dtype(whole, torch.float64), torch.uint8), whole)
    assert F.convert_image_dtype(whole, torch.int16).tolist() == [0, 128, 16384, 32640]
    assert torch.equal(F.convert_image_dtype(F.convert_image_dtype(whole, torch.int32), torch.uint8), whole)
    assert F.convert_image_dtype(torch.tensor([0.0, 0.5, 1.0]), torch.uint8).tolist() == [0, 127, 255]
    with pytest.raises(RuntimeError, match=r"The cast from .*float32 to .*int32 cannot be performed safely"):
        F.convert_image_dtype(torch.zeros(1), torch.int32)


def test_normalize(image):
    mean, std = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
    floating = image.float() / 255
    expected = (floating.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    assert np.allclose(T.Normalize(mean, std)(floating).numpy(), expected, atol=1e-6)
    assert T.Normalize(mean, std, inplace=True)(floating) is floating and np.allclose(floating.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("value", "std", "error", "message"),
    [
        (torch.zeros(3, 2, 2, dtype=torch.uint8), [1.0], TypeError, "should be a float tensor. Got"),
        (torch.zeros(2, 2), [1.0], ValueError, r"Got tensor.size\(\) = torch.Size\(\[2, 2\]\)"),
        (torch.zeros(3, 2, 2), [0.0], ValueError, "leading to division by zero"),
        (np.zeros((3, 2, 2)), [1.0], TypeError, "img should be Tensor Image. Got"),
    ],
)
def test_normalize_errors(value, std, error, message):
    with pytest.raises(error, match=message):
        F.normalize(value, [0.0], std)


def test_linear_transformation(image):
    matrix, mean = torch.rand(27, 27), torch.rand(27)
    img = torch.rand(2, 3, 3, 3)
    expected = (img.numpy().reshape(2, 27) - mean.numpy()) @ matrix.numpy()
    assert np.allclose(T.LinearTransformation(matrix, mean)(img).numpy().reshape(2, 27), expected, atol=1e-5)
    with pytest.raises(ValueError, match="should be square"):
        T.LinearTransformation(matrix[1:], mean)


# Random transforms


def drawn(function):
    """Return `function()` evaluated with seed 3, and set the seed to 3 again, so that a transform draws the same numbers next."""
    torch.manual_seed(3)
    expected = function()
    torch.manual_seed(3)
    return expected


def test_random_crop_draws_rows_then_columns(image):
    top, left = drawn(lambda: (torch.randint(0, 20 - 8 + 1, (1,)).item(), torch.randint(0, 24 - 6 + 1, (1,)).item()))
    assert torch.equal(T.RandomCrop((8, 6))(image), image[:, top : top + 8, left : left + 6])
    assert T.RandomCrop.get_params(image, (20, 24)) == (0, 0, 20, 24)
    with pytest.raises(ValueError, match=r"crop size \(30, 30\) is larger than input image size \(20, 24\)"):
        T.RandomCrop(30)(image)


def test_random_crop_pads(image):
    assert T.RandomCrop(30, padding=2, pad_if_needed=True)(image).shape == (3, 30, 30)
    top, left = drawn(lambda: (torch.randint(0, 5, (1,)).item(), torch.randint(0, 5, (1,)).item()))
    padded = F.pad(image, 2, padding_mode="edge")
    result = T.RandomCrop((20, 24), padding=2, padding_mode="edge")(image)
    assert torch.equal(result, padded[:, top : top + 20, left : left + 24])


@pytest.mark.parametrize(("kind", "flip"), [(T.RandomHorizontalFlip, -1), (T.RandomVerticalFlip, -2)])
def test_random_flips(kind, flip, image):
    chances = drawn(lambda: [torch.rand(1).item() for _ in range(20)])
    for chance in chances:
        assert torch.equal(kind(0.3)(image), image.flip(flip) if chance < 0.3 else image)


def test_random_rotation_draws_one_angle(image):
    angle = drawn(lambda: torch.empty(1).uniform_(-30.0, 30.0).item())
    assert torch.equal(T.RandomRotation(30)(image), F.rotate(image, angle, fill=[0.0] * 3))


def test_random_affine_draws_in_order(image):
    def draw():
        angle = torch.empty(1).uniform_(-10.0, 20.0).item()
        shift = [round(torch.empty(1).uniform_(-limit, limit).item()) for limit in (0.25 * 24, 0.5 * 20)]
        scale = torch.empty(1).uniform_(0.8, 1.2).item()
        return angle, shift, scale, [torch.empty(1).uniform_(-5.0, 5.0).item(), 0.0]

    expected = F.affine(image, *drawn(draw), fill=[9.0] * 3)
    assert torch.equal(T.RandomAffine((-10, 20), (0.25, 0.5), (0.8, 1.2), 5, fill=9)(image), expected)


def test_random_resized_crop(image):
    def draw():
        while True:
            area = 20 * 24 * torch.empty(1).uniform_(0.2, 0.9).item()
            aspect = math.exp(torch.empty(1).uniform_(math.log(0.75), math.log(4 / 3)).item())
            width, height = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if width <= 24 and height <= 20:
                top = torch.randint(0, 20 - height + 1, (1,)).item()
                return top, torch.randint(0, 24 - width + 1, (1,)).item(), height, width

    expected = F.resized_crop(image, *drawn(draw), [8, 8])
    assert torch.equal(T.RandomResizedCrop(8, scale=(0.2, 0.9))(image), expected)
    impossible = T.RandomResizedCrop.get_params(torch.zeros(3, 10, 100), [1.0, 1.0], [0.9, 1.1])
    assert impossible == (0, 44, 10, 11)


def test_color_jitter_draws_order_then_factors(image):
    def draw():
        order = torch.randperm(4).tolist()
        limits = [(0.6, 1.4), (0.5, 1.5), (0.0, 2.0), (-0.1, 0.1)]
        return order, [torch.empty(1).uniform_(*pair).item() for pair in limits]

    order, factors = drawn(draw)
    changes = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    expected = image
    for index in order:
        expected = changes[index](expected, factors[index])
    assert torch.equal(T.ColorJitter(0.4, 0.5, (0.0, 2.0), 0.1)(image), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"brightness": -1}, "must be non negative"),
        ({"hue": 0.7}, "hue values should be between"),
        ({"contrast": [2, 1]}, "between"),
    ],
)
def test_color_jitter_errors(options, message):
    with pytest.raises(ValueError, match=message):
        T.ColorJitter(**options)


def test_gaussian_blur_draws_sigma(image):
    sigma = drawn(lambda: torch.empty(1).uniform_(0.5, 1.5).item())
    assert torch.equal(T.GaussianBlur(5, (0.5, 1.5))(image), F.gaussian_blur(image, 5, sigma))


def test_random_erasing(image):
    erased = T.RandomErasing(1.0, value=(1, 2, 3))(image.float())
    changed = (erased != image.float()).any(0).nonzero()
    (top, left), (bottom, right) = changed.amin(0).tolist(), changed.amax(0).tolist()
    area = (bottom - top + 1) * (right - left + 1)
    assert 0.015 * 480 < area < 0.34 * 480
    assert erased[:, top, left].tolist() == [1, 2, 3] == erased[:, bottom, right].tolist()
    noisy = T.RandomErasing(1.0, value="random")(torch.zeros(3, 40, 40))
    assert 0.5 < noisy[noisy != 0].std().item() < 1.5
    assert torch.equal(T.RandomErasing(0.0)(image), image)


def test_random_perspective_moves_corners_inwards():
    for _ in range(5):
        start, end = T.RandomPerspective.get_params(40, 30, 0.5)
        assert start == [[0, 0], [39, 0], [39, 29], [0, 29]]
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = end
        assert max(ax, dx) <= 10 and min(bx, cx) >= 29 and max(ay, by) <= 7 and min(cy, dy) >= 22


def test_containers(image):
    def double(img):
        return img * 2

    assert torch.equal(T.Compose([double, F.hflip])(image), (image * 2).flip(-1))
    chances = drawn(lambda: [torch.rand(1).item() for _ in range(10)])
    for chance in chances:
        assert torch.equal(T.RandomApply([double], p=0.4)(image), image if chance > 0.4 else image * 2)
    random.seed(0)
    results = {T.RandomChoice([lambda _: "a", lambda _: "b"], p=[0.5, 0.5])(image) for _ in range(30)}
    orders = {T.RandomOrder([lambda text: text + "a", lambda text: text + "b"])("") for _ in range(30)}
    assert results == {"a", "b"} and orders == {"ab", "ba"}
    assert T.Lambda(double)(3) == 6
    with pytest.raises(TypeError, match="Argument lambd should be callable, got 'int'"):
        T.Lambda(3)


@pytest.mark.parametrize("augment", [*map(T.AutoAugment, T.AutoAugmentPolicy), T.RandAugment(), T.TrivialAugmentWide()], ids=str)
def test_augmentations_keep_the_kind(augment, image):
    torch.manual_seed(0)
    changed = 0
    for _ in range(12):
        result, picture = augment(image), augment(F.to_pil_image(image))
        assert result.shape == image.shape and result.dtype == torch.uint8 and picture.size == (24, 20)
        changed += not torch.equal(result, image)
    assert changed > 3


def test_augmix_mixes(image):
    torch.manual_seed(0)
    result = T.AugMix()(image)
    assert result.shape == image.shape and result.dtype == torch.uint8 and not torch.equal(result, image)
    with pytest.raises(ValueError, match=r"between \[1, 10\]. Got 11"):
        T.AugMix(severity=11)


def test_policies_are_complete():
    for policy in T.AutoAugmentPolicy:
        pairs = T.AutoAugment(policy).policies
        assert len(pairs) == 25 and all(len(pair) == 2 for pair in pairs)


def test_printed_forms():
    shown = {
        T.Compose([T.Resize(10), T.ToTensor()]): (
            "Compose(\n    Resize(size=10, interpolation=bilinear, max_size=None, antialias=True)\n    ToTensor()\n)"
        ),
        T.RandomCrop(8, padding=2): "RandomCrop(size=(8, 8), padding=2)",
        T.RandomHorizontalFlip(): "RandomHorizontalFlip(p=0.5)",
        T.Normalize((0.5,), (0.5,)): "Normalize(mean=(0.5,), std=(0.5,))",
        T.RandomResizedCrop(8): (
            "RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, antialias=True)"
        ),
        T.ColorJitter(0.1, hue=0.2): "ColorJitter(brightness=(0.9, 1.1), contrast=None, saturation=None, hue=(-0.2, 0.2))",
        T.RandomRotation(10): "RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)",
        T.RandomAffine(10, scale=(0.9, 1.1)): "RandomAffine(degrees=[-10.0, 10.0], scale=(0.9, 1.1))",
        T.RandomApply([T.Grayscale()], 0.3): "RandomApply(\n    p=0.3\n    Grayscale(num_output_channels=1)\n)",
        T.AutoAugment(): "AutoAugment(policy=AutoAugmentPolicy.IMAGENET, fill=None)",
        T.ToPILImage("L"): "ToPILImage(mode=L)",
        T.Pad(3): "Pad(padding=3, fill=0, padding_mode=constant)",
        T.GaussianBlur(3): "GaussianBlur(kernel_size=(3, 3), sigma=(0.1, 2.0))",
        T.RandomErasing(): "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)",
    }
    for transform, text in shown.items():
        assert repr(transform) == text


def test_old_names_warn(image):
    with pytest.warns(UserWarning, match="use Resize instead"):
        assert T.Scale((5, 5))(image).shape == (3, 5, 5)
    with pytest.warns(UserWarning, match="use RandomResizedCrop instead"):
        assert T.RandomSizedCrop(5)(image).shape == (3, 5, 5)


def test_transforms_can_be_sent_to_workers(image):
    transform = T.Compose([T.RandomCrop(8), T.ColorJitter(0.2), T.ConvertImageDtype(torch.float32)])
    torch.manual_seed(0)
    expected = transform(image)
    torch.manual_seed(0)
    assert torch.equal(pickle.loads(pickle.dumps(transform))(image), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.hflip("x"), TypeError, "img should be PIL Image or Tensor. Got <class 'str'>"),
        (lambda: F.resize(torch.zeros(3, 4, 4), [1, 2, 3]), ValueError, "1 or 2 element tuple/list, not a 3"),
        (lambda: F.resize(torch.zeros(3, 4, 4), 5, max_size=4), ValueError, "max_size = 4 must be strictly greater"),
        (lambda: F.pad(torch.zeros(3, 4, 4), 1, padding_mode="wrap"), ValueError, "constant, edge, reflect or symmetric"),
        (lambda: F.pad(torch.zeros(3, 4, 4), [1, 2, 3]), ValueError, "1, 2, or 4 element tuple, not a 3"),
        (lambda: F.adjust_hue(torch.zeros(3, 4, 4), 0.6), ValueError, r"\(0.6\) is not in \[-0.5, 0.5\]"),
        (lambda: F.adjust_brightness(torch.zeros(2, 4, 4), 1.0), TypeError, r"values are \[1, 3\], but found 2"),
        (lambda: F.gaussian_blur(torch.zeros(3, 4, 4), 4), ValueError, "odd and positive integers"),
        (lambda: F.affine(torch.zeros(3, 4, 4), 0, [0, 0], 0.0, 0), ValueError, "scale should be positive"),
        (lambda: F.resize(torch.zeros(3, 4, 4), 2, T.InterpolationMode.LANCZOS), ValueError, "requires antialias=True"),
        (
            lambda: v2.functional.resize(torch.zeros(3, 4, 4), 2, "lanczos", antialias=False),
            ValueError,
            "requires antialias=True",
        ),
        (lambda: F.resize(torch.zeros(3, 4, 4), 2, T.InterpolationMode.BOX), NotImplementedError, "box"),
        (lambda: F.resize(torch.zeros(3, 4, 4), 2, "cubist"), ValueError, "'cubist' is not a valid InterpolationMode"),
    ],
)
def test_functional_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Samples: boxes and masks are transformed together with the image


def sample():
    img = torch.zeros(3, 60, 80)
    img[:, 20:30, 40:60] = 1
    boxes = tv_tensors.BoundingBoxes([[40.0, 20.0, 60.0, 30.0]], format="XYXY", canvas_size=(60, 80))
    labels = torch.tensor([3])
    return {"image": tv_tensors.Image(img), "boxes": boxes, "labels": labels, "mask": tv_tensors.Mask(img[:1] > 0), "name": "x"}


GEOMETRIC = {
    "flip": lambda: v2.RandomHorizontalFlip(1.0),
    "vertical flip": lambda: v2.RandomVerticalFlip(1.0),
    "resize": lambda: v2.Resize((30, 100)),
    "crop": lambda: v2.RandomCrop(55, padding=10),
    "pad": lambda: v2.Pad([1, 2, 3, 4]),
    "center crop": lambda: v2.CenterCrop(50),
    "quarter turn": lambda: v2.RandomRotation((90, 90), expand=True),
    "turn": lambda: v2.RandomRotation((30, 30)),
    "affine": lambda: v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 10),
    "perspective": lambda: v2.RandomPerspective(p=1.0),
    "zoom out": lambda: v2.RandomZoomOut(p=1.0),
    "elastic": lambda: v2.ElasticTransform(alpha=20.0, sigma=3.0),
    "IoU crop": lambda: v2.RandomIoUCrop(),
    "scale jitter": lambda: v2.ScaleJitter((60, 80)),
    "shortest size": lambda: v2.RandomShortestSize([30, 40], 60),
    "random resize": lambda: v2.RandomResize(20, 30),
}


@pytest.mark.parametrize("name", GEOMETRIC)
def test_boxes_and_masks_follow_the_image(name):
    torch.manual_seed(1)
    before = sample()
    after = GEOMETRIC[name]()(before)
    height, width = after["image"].shape[-2:]
    assert after["boxes"].canvas_size == (height, width) == tuple(after["mask"].shape[-2:])
    assert type(after["image"]) is tv_tensors.Image and type(after["mask"]) is tv_tensors.Mask
    assert after["labels"] is before["labels"] and after["name"] == "x"
    rows, columns = (after["mask"].as_subclass(torch.Tensor)[0] > 0).nonzero().unbind(1)
    around_mask = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert np.abs(after["boxes"].numpy()[0] - np.array([float(side) for side in around_mask])).max() <= 1.5
    bright = (after["image"].as_subclass(torch.Tensor)[0] > 0.5) != (after["mask"].as_subclass(torch.Tensor)[0] > 0)
    assert bright.float().mean().item() < 0.03


def test_colour_leaves_boxes_and_masks_alone():
    before = sample()
    for transform in (v2.ColorJitter(0.5, 0.5), v2.RandomErasing(1.0), v2.GaussianBlur(3), v2.RandomPhotometricDistort(p=1.0)):
        after = transform(before)
        assert torch.equal(after["boxes"], before["boxes"]) and torch.equal(after["mask"], before["mask"])


def test_one_draw_for_the_whole_sample():
    """Image and mask are cropped at the same random position."""
    values = torch.arange(400.0).reshape(1, 20, 20)
    for _ in range(5):
        img, mask = v2.RandomCrop(7)(tv_tensors.Image(values), tv_tensors.Mask(values[0]))
        assert torch.equal(img[0], mask.as_subclass(torch.Tensor))


@pytest.mark.parametrize("form", ["XYXY", "XYWH", "CXCYWH"])
def test_boxes_of_all_formats(form):
    boxes = v2.functional.convert_bounding_box_format(sample()["boxes"], new_format=form)
    assert boxes.format.value == form
    flipped = v2.ConvertBoundingBoxFormat("XYXY")(v2.RandomHorizontalFlip(1.0)(boxes))
    assert flipped.tolist() == [[20.0, 20.0, 40.0, 30.0]]


def test_pipeline_of_samples():
    pipeline = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomApply([v2.RandomHorizontalFlip(1.0)], p=1.0),
            v2.RandomOrder([v2.Identity(), v2.ToDtype(torch.uint8, scale=True)]),
            v2.RandomChoice([v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)]),
            v2.ClampBoundingBoxes(),
            v2.SanitizeBoundingBoxes(),
            v2.ToPureTensor(),
        ]
    )
    boxes = tv_tensors.BoundingBoxes([[0, 0, 5, 5], [3, 3, 3, 9]], format="XYXY", canvas_size=(20, 24))
    picture, target = pipeline(F.to_pil_image(torch.from_numpy(pixels())), {"boxes": boxes, "labels": torch.tensor([1, 2])})
    assert type(picture) is torch.Tensor and picture.dtype == torch.float32
    assert torch.allclose(picture, torch.from_numpy(pixels()).flip(-1).float() / 255)
    assert target["boxes"].tolist() == [[19, 0, 24, 5]] and target["labels"].tolist() == [1]


def test_plain_tensors_beside_an_image_pass():
    extra = torch.rand(3, 60, 80)
    _, passed = v2.RandomHorizontalFlip(1.0)(sample()["image"], extra)
    first, second = v2.RandomHorizontalFlip(1.0)(extra, extra.clone())
    assert passed is extra and torch.equal(first, extra.flip(-1)) and torch.equal(second, extra)


@pytest.mark.parametrize("kind", [v2.MixUp, v2.CutMix])
def test_mixing_batches(kind):
    torch.manual_seed(0)
    images = torch.arange(4.0).reshape(4, 1, 1, 1).expand(4, 3, 16, 16).clone()
    mixed, labels = kind(num_classes=4)(images, torch.arange(4))
    assert torch.allclose(labels.sum(1), torch.ones(4)) and labels.shape == (4, 4)
    for index in range(4):
        own, other = labels[index, index].item(), labels[index, index - 1].item()
        assert own + other == pytest.approx(1)
        assert mixed[index].mean().item() == pytest.approx(own * index + other * ((index - 1) % 4), abs=1e-4)
    with pytest.raises(ValueError, match="num_classes must be passed"):
        kind()(images, torch.arange(4))


def test_transform_of_ones_own():
    class AddRandom(v2.Transform):
        def make_params(self, flat_inputs):
            return {"value": torch.rand(1).item(), "inputs": len(flat_inputs)}

        def transform(self, inpt, params):
            return inpt + params["value"] + params["inputs"] if isinstance(inpt, tv_tensors.Image) else inpt

    value = drawn(lambda: torch.rand(1).item())
    before = sample()
    after = AddRandom()(before)
    assert torch.allclose(after["image"], before["image"] + value + 3) and type(after["image"]) is tv_tensors.Image


def test_tensors_with_a_meaning():
    boxes = sample()["boxes"]
    assert type(boxes + 1) is torch.Tensor and type(boxes.clone()) is tv_tensors.BoundingBoxes
    assert boxes.to(torch.float64).canvas_size == (60, 80) and boxes.clone().format == boxes.format
    assert "canvas_size=(60, 80)" in repr(boxes)
    assert tv_tensors.Image(F.to_pil_image(torch.from_numpy(pixels()))).shape == (3, 20, 24)
    with pytest.raises(ValueError, match=r"boxes of shape \(N, 4\), got \(2, 3\)"):
        tv_tensors.BoundingBoxes(torch.zeros(2, 3), format="XYXY", canvas_size=(1, 1))


# (version, transform, seed) -> (sum of pixels, next random number), recorded from torchvision 0.29.1 for a 16 x 16 ramp image.
AUGMENTED = {
    ("v1", "AugMix", 1): (94212, 0.23659128),
    ("v1", "AugMix", 2): (96936, 0.03670013),
    ("v1", "AugMix", 3): (97431, 0.26590621),
    ("v1", "AutoAugment", 1): (97920, 0.79985863),
    ("v1", "AutoAugment", 2): (96231, 0.61903638),
    ("v1", "AutoAugment", 3): (95508, 0.06011629),
    ("v1", "RandAugment", 1): (74259, 0.02928156),
    ("v1", "RandAugment", 2): (56436, 0.47446108),
    ("v1", "RandAugment", 3): (97536, 0.28584248),
    ("v1", "TrivialAugmentWide", 1): (97920, 0.73468447),
    ("v1", "TrivialAugmentWide", 2): (48822, 0.47446108),
    ("v1", "TrivialAugmentWide", 3): (97920, 0.10556936),
    ("v2", "AugMix", 1): (95871, 0.23659128),
    ("v2", "AugMix", 2): (96933, 0.03670013),
    ("v2", "AugMix", 3): (97386, 0.26590621),
    ("v2", "AutoAugment", 1): (97920, 0.73468447),
    ("v2", "AutoAugment", 2): (98007, 0.61903638),
    ("v2", "AutoAugment", 3): (95508, 0.47161436),
    ("v2", "RandAugment", 1): (74259, 0.02928156),
    ("v2", "RandAugment", 2): (56436, 0.47446108),
    ("v2", "RandAugment", 3): (97536, 0.28584248),
    ("v2", "TrivialAugmentWide", 1): (97155, 0.73468447),
    ("v2", "TrivialAugmentWide", 2): (84534, 0.47446108),
    ("v2", "TrivialAugmentWide", 3): (97920, 0.10556936),
}


@pytest.mark.parametrize(("version", "name", "seed"), AUGMENTED)
def test_augmentations_draw_the_numbers_of_torchvision(version, name, seed):
    ramp = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16).expand(3, -1, -1)
    torch.manual_seed(seed)
    augmented = getattr({"v1": T, "v2": v2}[version], name)()(ramp)
    total, number = AUGMENTED[version, name, seed]
    assert abs(augmented.sum(dtype=torch.int64).item() - total) <= 40  # roundings of blending and interpolation differ
    assert torch.rand(1).item() == pytest.approx(number, abs=1e-7)


def test_masks_are_cropped_and_resized_to_their_own_classes():
    mask = tv_tensors.Mask(torch.arange(5, dtype=torch.uint8).repeat_interleave(80).reshape(1, 20, 20) * 50)
    resized = v2.functional.resized_crop(mask, 2, 2, 15, 15, [7, 9])
    assert type(resized) is tv_tensors.Mask and set(resized.unique().tolist()) <= {0, 50, 100, 150, 200}
    wanted = F.resized_crop(torch.Tensor(mask.float()), 2, 2, 15, 15, [7, 9], NEAREST, antialias=None)
    assert torch.equal(resized.float(), wanted)
    _, cropped = v2.RandomResizedCrop(9)(torch.rand(3, 20, 20), mask)
    assert set(cropped.unique().tolist()) <= {0, 50, 100, 150, 200}


def test_elastic_moves_are_relative_to_the_side_they_go_along():
    for transforms in (T, v2):
        torch.manual_seed(0)
        wide = transforms.ElasticTransform.get_params([40.0, 40.0], [0.0, 0.0], [10, 40])
        # Without smoothing, displacements are uniform up to alpha / size: 40 / 40 along x, 40 / 10 along y.
        assert 0.95 < wide[..., 0].abs().max() <= 1 and 3.8 < wide[..., 1].abs().max() <= 4


def test_pictures_of_a_video_at_equal_distances():
    video = tv_tensors.Video(torch.arange(7).reshape(7, 1, 1, 1).expand(2, 7, 1, 1, 1))
    for count, places in ((4, [0, 2, 4, 6]), (3, [0, 3, 6]), (1, [0]), (9, [0, 0, 1, 2, 3, 3, 4, 5, 6])):
        sampled = v2.UniformTemporalSubsample(count)(video)
        assert type(sampled) is tv_tensors.Video and sampled[1].flatten().tolist() == places


def test_dtypes_of_images_alone_are_converted():
    image = tv_tensors.Image(torch.full((3, 2, 2), 51, dtype=torch.uint8))
    mask = tv_tensors.Mask(torch.ones(2, 2, dtype=torch.uint8))
    converted, same = v2.ConvertImageDtype(torch.float32)(image, mask)
    assert type(converted) is tv_tensors.Image and torch.allclose(converted, torch.full((3, 2, 2), 0.2)) and same is mask


@pytest.mark.parametrize("shape", [(1, 4, 5), (2, 1, 3, 4), (0, 1, 2, 2), (1, 0, 3)])
def test_images_that_are_grey_already(shape):
    """Grayscale of an image with one channel: v1 returns it unchanged for tensors; v2 and PIL return the requested channels."""
    grey = torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))
    tripled = torch.cat([grey] * 3, -3)
    for channels in (1, 3):
        for made in (F.rgb_to_grayscale(grey, channels), T.Grayscale(channels)(grey)):
            assert (made.equal(grey) and made.data_ptr() != grey.data_ptr()) or not grey.numel()
        for made in (v2.functional.rgb_to_grayscale(grey, channels), v2.Grayscale(channels)(grey)):
            assert made.equal(grey if channels == 1 else tripled)
    assert v2.functional.grayscale_to_rgb(grey).equal(tripled) and v2.RGB()(grey).equal(tripled)
    assert len(F.rgb_to_grayscale(Image.new("L", (4, 5)), 3).getbands()) == 3
    with pytest.raises(TypeError, match="at least 3 dimensions, but found 2"):
        F.rgb_to_grayscale(torch.zeros(4, 5))


def test_thresholds_above_white():
    for image, threshold in ((torch.zeros(3, 4, 4, dtype=torch.uint8), 256), (torch.zeros(1, 2, 2), 1.5)):
        with pytest.raises(TypeError, match=r"Threshold should be less than bound of img\."):
            F.solarize(image, threshold)
        for call in (v2.functional.solarize, lambda image, threshold: v2.RandomSolarize(threshold, p=1)(image)):
            with pytest.raises(TypeError, match=f"less or equal the maximum value of the dtype, but got {threshold}"):
                call(image, threshold)
        assert v2.functional.solarize(tv_tensors.Image(image), threshold - 1).equal(image)


def test_private_functions_on_tensors():
    image = torch.from_numpy(pixels()).float()
    resized = T._functional_tensor.resize(image, size=[5, 7], interpolation="bicubic", antialias=False)
    assert torch.equal(resized, F.resize(image, [5, 7], BICUBIC, antialias=False))
    assert torch.equal(T._functional_tensor.rgb_to_grayscale(image), F.rgb_to_grayscale(image))

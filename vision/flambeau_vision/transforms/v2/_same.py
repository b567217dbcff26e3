"""The transforms of images, each for whole samples."""

from __future__ import annotations

from collections.abc import Sequence

from .. import transforms
from ._samples import SampleTransform, WithoutBoxes

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "LinearTransformation",
    "Normalize",
    "Pad",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutocontrast",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
]


class _ImagesOnly(SampleTransform):
    """Transforms that pass boxes and masks through."""

    kinds = ()


class CenterCrop(SampleTransform, transforms.CenterCrop):
    """Cut out the middle of images, boxes and masks; what is smaller is first padded with black.

    Args:
        size: `(height, width)`, or an int for both.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.CenterCrop((4, 8))(image, boxes)
        >>> image.shape, boxes.tolist()
        (torch.Size([3, 4, 8]), [[1, 1, 4, 4]])
    """


class ElasticTransform(SampleTransform, transforms.ElasticTransform):
    """Move every pixel of images, boxes and masks a little, neighbours together.

    Args:
        alpha: strength along x and y, or one number for both: pixels move by up to half as many pixels, before smoothing.
        sigma: smoothness: the standard deviation along x and y, in pixels, of the blur of the moves, or one number for both.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.

    Raises:
        TypeError: `alpha` or `sigma` is no number or sequence.
        ValueError: one has more than two numbers.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.ElasticTransform(alpha=5.0, sigma=2.0)(torch.rand(3, 24, 24)).shape
        torch.Size([3, 24, 24])
    """


class Pad(SampleTransform, transforms.Pad):
    """Add a border to images and masks, and move boxes with them.

    Args:
        padding: pixels on each side: an int for all, `(left and right, top and bottom)`, or `(left, top, right, bottom)`.
        fill: the value of a constant border, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.
        padding_mode: `"constant"`; `"edge"` repeats the last pixel; `"reflect"` mirrors without the last pixel;
            `"symmetric"` mirrors with it.

    Raises:
        TypeError: `padding` or `fill` is no number or sequence.
        ValueError: `padding` has another length, or the mode is unknown.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.Pad([3, 0, 0, 0])(image, boxes)
        >>> image.shape, boxes.tolist()
        (torch.Size([3, 4, 13]), [[5, 1, 8, 4]])
    """


class RandomAffine(SampleTransform, transforms.RandomAffine):
    """Turn, shift, scale and shear images, boxes and masks at random, about the centre.

    Args:
        degrees: smallest and largest angle, clockwise, or a number for `(-degrees, degrees)`; 0 for no turn.
        translate: largest shift to each side and up or down, as shares of the width and height; None for none.
        scale: smallest and largest factor; None for none.
        shear: smallest and largest angle along x, in degrees; with four numbers also along y; a number for
            `(-shear, shear)` along x; None for none.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.
        center: `(x, y)` in pixels from the upper left corner; None for the middle of the image.

    Raises:
        ValueError: a range is of another length, a share not from 0 to 1, or a factor not positive.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomAffine(10, translate=(0.1, 0.1))(image, boxes)
        >>> image.shape, boxes.canvas_size
        (torch.Size([3, 4, 10]), (4, 10))
    """


class RandomCrop(SampleTransform, transforms.RandomCrop):
    """Cut out a rectangle at a random place, the same of images, boxes and masks.

    Args:
        size: `(height, width)`, or an int for both.
        padding: a border to add first, in pixels: an int for all sides, `(left and right, top and bottom)`, or
            `(left, top, right, bottom)`; None for none.
        pad_if_needed: pad an image that is smaller than `size`; otherwise that is an error.
        fill: the value of a constant border, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.
        padding_mode: `"constant"`; `"edge"` repeats the last pixel; `"reflect"` mirrors without the last pixel;
            `"symmetric"` mirrors with it.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomCrop((4, 6))(image, boxes)
        >>> image.shape, boxes.canvas_size
        (torch.Size([3, 4, 6]), (4, 6))
    """


class RandomHorizontalFlip(SampleTransform, transforms.RandomHorizontalFlip):
    """Swap left and right at random, of images, boxes and masks.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomHorizontalFlip(p=1.0)(image, boxes)
        >>> boxes.tolist()
        [[5, 1, 8, 4]]
    """


class RandomPerspective(SampleTransform, transforms.RandomPerspective):
    """Tilt images, boxes and masks at random: the corners move inwards.

    Args:
        distortion_scale: how far corners move at most, from 0 to 1 for half of the image.
        p: the probability with which it happens, from 0 to 1.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: the value of what lies outside the image, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomPerspective(distortion_scale=0.3, p=1.0)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """


class RandomResizedCrop(SampleTransform, transforms.RandomResizedCrop):
    """Cut out a rectangle of random size and shape at a random place, and scale it; of images, boxes and masks.

    Szegedy et al., [Going Deeper with Convolutions](https://arxiv.org/abs/1409.4842), 2014.

    Args:
        size: the size to scale to, `(height, width)`, or an int for both.
        scale: smallest and largest area of the rectangle, as shares of the image.
        ratio: smallest and largest width divided by height.
        interpolation: how values between pixels are found; tensors know `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`, PIL images others too.
        antialias: average over the pixels that shrink into one, for tensors and `BILINEAR` or `BICUBIC`; PIL images always do.

    Raises:
        TypeError: `scale` or `ratio` is no sequence.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomResizedCrop(16)(image, boxes)
        >>> image.shape, boxes.canvas_size
        (torch.Size([3, 16, 16]), (16, 16))
    """


class RandomRotation(SampleTransform, transforms.RandomRotation):
    """Turn images, boxes and masks by a random angle; boxes become those around the turned ones.

    Args:
        degrees: smallest and largest angle, counter-clockwise, or a number for `(-degrees, degrees)`.
        interpolation: how values between pixels are found: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        expand: enlarge the canvas so that the whole turned image fits.
        center: `(x, y)` in pixels from the upper left corner; None for the middle of the image.
        fill: the value of what lies outside the image, a number or one for each channel;
            or a dict from type to such a value, with `"others"` for the rest.

    Raises:
        ValueError: `degrees` is one negative number, or not two.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomRotation((90, 90), expand=True)(image, boxes)
        >>> image.shape, boxes.tolist()
        (torch.Size([3, 10, 4]), [[1, 5, 4, 8]])
    """


class RandomVerticalFlip(SampleTransform, transforms.RandomVerticalFlip):
    """Swap top and bottom at random, of images, boxes and masks.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.RandomVerticalFlip(p=1.0)(image, boxes)
        >>> boxes.tolist()
        [[2, 0, 5, 3]]
    """


class Resize(SampleTransform, transforms.Resize):
    """Scale images, boxes and masks.

    Args:
        size: `(height, width)`, or an int for the length of the shorter side, which keeps the ratio; None to make the longer
            side `max_size` long.
        interpolation: how values between pixels are found; tensors know `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`, PIL images others too.
        max_size: where only the shorter side is given: the longer side becomes at most this long.
        antialias: average over the pixels that shrink into one, for tensors and `BILINEAR` or `BICUBIC`; PIL images always do.

    Raises:
        TypeError: `size` is no int or sequence.
        ValueError: `size` has more than two numbers.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.rand(3, 4, 10)
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 4]], format="XYXY", canvas_size=(4, 10))
        >>> image, boxes = v2.Resize((8, 20))(image, boxes)
        >>> image.shape, boxes.tolist()
        (torch.Size([3, 8, 20]), [[4, 2, 10, 8]])
    """


class ColorJitter(_ImagesOnly, transforms.ColorJitter):
    """Change brightness, contrast, saturation and hue of images at random, in random order.

    Args:
        brightness: the factor is drawn from `[max(0, 1 - brightness), 1 + brightness]`, or from `(min, max)`; 0 or
            None for no change.
        contrast: the same.
        saturation: the same.
        hue: drawn from `[-hue, hue]`, or from `(min, max)`, as a share of the circle of colours: from -0.5 to 0.5.

    Raises:
        TypeError: a value is no number or pair.
        ValueError: a value is negative, or a range is out of bounds.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.ColorJitter(brightness=0.2, hue=0.1)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(*(0 if value is None else value for value in (brightness, contrast, saturation, hue)))


class GaussianBlur(_ImagesOnly, transforms.GaussianBlur):
    """Blur images by a Gaussian of random strength.

    Args:
        kernel_size: odd width and height of the window in pixels, or an int for both.
        sigma: smallest and largest standard deviation in pixels, or a number that is always taken.

    Raises:
        ValueError: a size is not odd and positive, or `sigma` not positive and rising.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.GaussianBlur(kernel_size=3)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """


class Grayscale(_ImagesOnly, transforms.Grayscale):
    """The brightness of images as grey: `0.2989 * red + 0.587 * green + 0.114 * blue`.

    Args:
        num_output_channels: 1, or 3 for three equal channels.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.Grayscale()(torch.rand(3, 8, 8)).shape
        torch.Size([1, 8, 8])
    """


class LinearTransformation(_ImagesOnly, transforms.LinearTransformation):
    """Flatten images, subtract a vector and multiply by a matrix: whitening, for example.

    Args:
        transformation_matrix: the matrix, of shape `(D, D)` with `D = C * H * W`.
        mean_vector: the vector, of shape `(D,)`.

    Raises:
        ValueError: the matrix is not square, or the sizes do not fit.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> whiten = v2.LinearTransformation(2 * torch.eye(2), torch.tensor([1.0, 1.0]))
        >>> whiten(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[0., 4.]]])
    """


class Normalize(_ImagesOnly, transforms.Normalize):
    """`(image - mean) / std`, channel by channel, of floating images.

    Args:
        mean: what to subtract, one value for each channel.
        std: what to divide by then, one value for each channel, not 0.
        inplace: write into the image.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.Normalize(mean=(0.5,), std=(0.5,))(torch.tensor([[[0.0, 0.5, 1.0]]]))
        tensor([[[-1.,  0.,  1.]]])
    """


class RandomAdjustSharpness(_ImagesOnly, transforms.RandomAdjustSharpness):
    """Blur or sharpen images at random.

    Args:
        sharpness_factor: how much of the difference from the neighbours to keep, not negative: 0 gives a blurred image, 1
            the image itself, more than 1 a sharper one.
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomAdjustSharpness(sharpness_factor=2, p=1.0)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """


class RandomAutocontrast(_ImagesOnly, transforms.RandomAutocontrast):
    """Stretch each channel of images at random, so that its darkest value is black and its lightest white.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomAutocontrast(p=1.0)(torch.tensor([[[0.25, 0.5, 0.75]]]))
        tensor([[[0.0000, 0.5000, 1.0000]]])
    """


class RandomEqualize(_ImagesOnly, transforms.RandomEqualize):
    """Spread the values of each channel evenly over their range, at random.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> dark = (torch.arange(1024) // 8).reshape(1, 32, 32).to(torch.uint8)
        >>> dark.max().item(), v2.RandomEqualize(p=1.0)(dark).max().item()
        (127, 255)
    """


class RandomErasing(_ImagesOnly, transforms.RandomErasing):
    """Overwrite a random rectangle of images, at random.

    Zhong, Zheng, Kang, Li and Yang, [Random Erasing Data Augmentation](https://arxiv.org/abs/1708.04896), 2017.

    Args:
        p: the probability with which it happens, from 0 to 1.
        scale: smallest and largest area of the rectangle, as shares of the image.
        ratio: smallest and largest height divided by width.
        value: what to write: a number, one for each channel, or `"random"` for normal noise.
        inplace: write into the image.

    Raises:
        TypeError: an argument is no number or sequence where it has to be.
        ValueError: a probability or share is not from 0 to 1, or `value` another string.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> erased = v2.RandomErasing(p=1.0, scale=(0.1, 0.2))(torch.ones(1, 10, 10))
        >>> 8 <= int((erased == 0).sum()) <= 25
        True
    """


class RandomGrayscale(_ImagesOnly, transforms.RandomGrayscale):
    """Make images grey at random, in as many channels as there were.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> red, green, blue = v2.RandomGrayscale(p=1.0)(torch.rand(3, 4, 4))
        >>> torch.equal(red, green), torch.equal(green, blue)
        (True, True)
    """


class RandomInvert(_ImagesOnly, transforms.RandomInvert):
    """Make the negative of images at random.

    Args:
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomInvert(p=1.0)(torch.tensor([[[0, 55, 255]]], dtype=torch.uint8))
        tensor([[[255, 200,   0]]], dtype=torch.uint8)
    """


class RandomPosterize(_ImagesOnly, transforms.RandomPosterize):
    """Keep only the highest bits of each value, at random.

    Args:
        bits: how many bits to keep, from 0 to 8.
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomPosterize(bits=2, p=1.0)(torch.tensor([[[3, 100, 255]]], dtype=torch.uint8))
        tensor([[[  0,  64, 192]]], dtype=torch.uint8)
    """


class RandomSolarize(_ImagesOnly, transforms.RandomSolarize):
    """Invert the values of images from a threshold on, at random.

    Args:
        threshold: the least value to invert, in the units of the image: 128 for half of uint8, 0.5 for half of floats.
        p: the probability with which it happens, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomSolarize(threshold=128, p=1.0)(torch.tensor([[[0, 100, 255]]], dtype=torch.uint8))
        tensor([[[  0, 100,   0]]], dtype=torch.uint8)
    """


class FiveCrop(WithoutBoxes, transforms.FiveCrop):
    """The four corners and the middle of an image, as a tuple of five; boxes and masks are refused.

    Args:
        size: `(height, width)`, or an int for both.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> [part.item() for part in v2.FiveCrop(1)(torch.arange(9).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4]
    """


class TenCrop(WithoutBoxes, transforms.TenCrop):
    """`FiveCrop` of an image and then of its mirror image, as a tuple of ten; boxes and masks are refused.

    Args:
        size: `(height, width)`, or an int for both.
        vertical_flip: swap top and bottom for the mirror image, not left and right.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> [part.item() for part in v2.TenCrop(1)(torch.arange(9).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """

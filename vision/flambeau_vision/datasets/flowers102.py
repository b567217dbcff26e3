"""Oxford Flowers 102: 8,189 photographs of flowers of 102 species."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from .._extras import optional
from .published import ImageList
from .utils import check_integrity, download_url

__all__ = ["Flowers102"]

_SITE = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
_TABLES = (
    ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
    ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
)
# Class names, in the order of the labels.
_CLASSES = """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger lily, moon orchid, bird
of paradise, monkshood, globe thistle, snapdragon, colt's foot, king protea, spear thistle, yellow iris, globe-flower,
purple coneflower, peruvian lily, balloon flower, giant white arum lily, fire lily, pincushion flower, fritillary, red
ginger, grape hyacinth, corn poppy, prince of wales feathers, stemless gentian, artichoke, sweet william, carnation,
garden phlox, love in the mist, mexican aster, alpine sea holly, ruby-lipped cattleya, cape flower, great masterwort,
siam tulip, lenten rose, barbeton daisy, daffodil, sword lily, poinsettia, bolero deep blue, wallflower, marigold,
buttercup, oxeye daisy, common dandelion, petunia, wild pansy, primula, sunflower, pelargonium, bishop of llandaff,
gaura, geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, black-eyed susan, silverbush,
californian poppy, osteospermum, spring crocus, bearded iris, windflower, tree poppy, gazania, azalea, water lily,
rose, thorn apple, morning glory, passion flower, lotus, toad lily, anthurium, frangipani, clematis, hibiscus,
columbine, desert-rose, tree mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, ball moss,
foxglove, bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower, trumpet creeper, blackberry lily
"""
_SPLITS = {"train": "trnid", "val": "valid", "test": "tstid"}


class Flowers102(ImageList):
    """[Oxford Flowers 102](https://www.robots.ox.ac.uk/~vgg/data/flowers/102/): 8,189 photographs of 102 flowers.

    SciPy reads the labels.

    Nilsback and Zisserman, "Automated flower classification over a large number of classes", 2008.

    Args:
        root: the folder that holds `flowers-102`.
        split: `train`, `val` or `test`.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the files into `root` if they are missing.
        loader: a function that reads a file.

    Attributes:
        classes: the names of the flowers; `class_to_idx` is a dict from name to target.

    Raises:
        RuntimeError: files are missing, or their checksums are wrong.
        ValueError: `split` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.Flowers102("data", split="val")
        Traceback (most recent call last):
        ...
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it
    """

    classes: ClassVar[list[str]] = " ".join(_CLASSES.split()).split(", ")
    class_to_idx: ClassVar[dict[str, int]] = {name: index for index, name in enumerate(classes)}

    _splits = _SPLITS
    _base = "flowers-102"
    _archives = ((f"{_SITE}102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),)
    _needed = ("jpg",)

    def _check_exists(self) -> bool:
        return super()._check_exists() and all(check_integrity(self._files / name, md5) for name, md5 in _TABLES)

    def download(self) -> None:
        """Download the archive of images and unpack it. Download the tables of labels and of splits."""
        super().download()
        for name, md5 in _TABLES:
            download_url(_SITE + name, self._files, md5=md5)

    def _table(self, name: str) -> Any:
        return optional("scipy.io", "scipy", "reading the labels of Flowers102").loadmat(str(self._files / name))

    def _list_samples(self) -> list[tuple[Path, int]]:
        numbers = self._table("setid.mat")[_SPLITS[self._split]].flatten().tolist()
        labels = self._table("imagelabels.mat")["labels"].flatten().tolist()
        return [(self._files / "jpg" / f"image_{number:05d}.jpg", labels[number - 1] - 1) for number in numbers]

    def extra_repr(self) -> str:
        return f"split={self._split}"

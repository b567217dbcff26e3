"""Oxford-IIIT Pet: 7,349 photographs of cats and dogs of 37 breeds, with segmentation masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .folder import default_loader, open_image
from .published import PublishedDataset
from .utils import verify_str_arg

__all__ = ["OxfordIIITPet"]


class OxfordIIITPet(PublishedDataset):
    r"""[Oxford-IIIT Pet](https://www.robots.ox.ac.uk/~vgg/data/pets/): 7,349 photographs of 37 breeds.

    Parkhi, Vedaldi, Zisserman and Jawahar, "Cats and Dogs", 2012.

    Args:
        root: the folder that holds `oxford-iiit-pet`.
        split: `trainval` or `test`.
        target_types: `category` (the breed), `binary-category` (0 for cats, 1 for dogs) or `segmentation` (a PIL image). A
            list of these makes the target a tuple, an empty list makes it None.
        transforms: a function of `(image, target)` that returns both.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target.
        download: fetch the archives into `root` if they are missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` or `target_types` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "oxford-iiit-pet/images")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "great_dane_5.jpg")
        ...     (folder.parent / "annotations").mkdir()
        ...     _ = (folder.parent / "annotations/test.txt").write_text("great_dane_5 1 2 1\n")
        ...     pets = datasets.OxfordIIITPet(root, split="test")
        ...     pets.classes, pets[0][0].size, pets[0][1]
        (['Great Dane'], (6, 4), 0)
    """

    _base = "oxford-iiit-pet"
    _archives = (
        ("https://www.robots.ox.ac.uk/~vgg/data/pets/data/images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        ("https://www.robots.ox.ac.uk/~vgg/data/pets/data/annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )
    _needed = ("images", "annotations")

    def __init__(
        self,
        root: str | Path,
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Path], Any] = default_loader,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        types = [target_types] if isinstance(target_types, str) else target_types
        allowed = ("category", "binary-category", "segmentation")
        self._target_types = [verify_str_arg(kind, "target_types", allowed) for kind in types]
        self.loader = loader
        self._ensure_files(download)
        # A line is "Abyssinian_100 1 1 1": file name, and the numbers of the breed, the species and the breed in its species,
        # from 1.
        lines = (self._files / "annotations" / f"{split}.txt").read_text().splitlines()
        rows = [line.split() for line in lines]
        self._samples = [(name, int(breed) - 1, int(species) - 1) for name, breed, species, _ in rows]
        breeds = sorted({(label, name.rpartition("_")[0]) for name, label, _ in self._samples})
        self.classes = [name.replace("_", " ").title() for _, name in breeds]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def _target(self, kind: str, index: int) -> Any:
        name, breed, species = self._samples[index]
        if kind == "segmentation":
            return open_image(self._files / "annotations" / "trimaps" / f"{name}.png")
        return breed if kind == "category" else species

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.loader(self._files / "images" / f"{self._samples[index][0]}.jpg")
        targets = tuple(self._target(kind, index) for kind in self._target_types)
        target = (targets if len(targets) > 1 else targets[0]) if targets else None
        return self._transformed(image, target)

"""iNaturalist: photographs of plants, animals and fungi, of up to 10,000 species."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .folder import open_image
from .published import PublishedDataset
from .utils import download_and_extract_archive, verify_str_arg

__all__ = ["INaturalist"]

_RANKS = ("kingdom", "phylum", "class", "order", "family", "genus")
_SITE = "https://ml-inat-competition-datasets.s3.amazonaws.com/"
_ARCHIVES = {
    "2017": ("2017/train_val_images.tar.gz", "7c784ea5e424efaec655bd392f87301f"),
    "2018": ("2018/train_val2018.tar.gz", "b1c6952ce38f31868cc50ea72d066cc3"),
    "2019": ("2019/train_val2019.tar.gz", "c60a6e2962c9b8ccbd458d12c8582644"),
    "2021_train": ("2021/train.tar.gz", "e0526d53c7f7b2e3167b2b43bb2690ed"),
    "2021_train_mini": ("2021/train_mini.tar.gz", "db6ed8330e634445efc8fec83ae81442"),
    "2021_valid": ("2021/val.tar.gz", "f6f6e0e242e3d4c9569ba56400938afc"),
}


class INaturalist(PublishedDataset):
    """[iNaturalist](https://github.com/visipedia/inat_comp): photographs of up to 10,000 species, taken by volunteers.

    Van Horn et al., [The iNaturalist Species Classification and Detection Dataset](https://arxiv.org/abs/1707.06642), 2018.

    Args:
        root: the folder that holds one folder per version.
        version: `2017`, `2018`, `2019`, `2021_train`, `2021_train_mini` or `2021_valid`.
        target_type: `full` (the species). Also `super` for versions before 2021; and `kingdom`, `phylum`, `class`, `order`,
            `family` or `genus` for 2021. A list of these makes the target a tuple.
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer, or several).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file; by default Pillow.

    Attributes:
        all_categories: the folder of each species.
        categories_index: for each rank, a dict from name to number.

    Raises:
        RuntimeError: the files are missing, or a folder does not have its published name.
        ValueError: `version` or `target_type` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     name = "00000_Animalia_Chordata_Aves_Passeriformes_Corvidae_Corvus_corax"
        ...     (folder := Path(root, "2021_valid", name)).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "a.jpg")
        ...     species = datasets.INaturalist(root, "2021_valid", target_type=["full", "family"])
        ...     species[0][1], species.category_name("family", 0)
        ((0, 0), 'Corvidae')
    """

    def __init__(
        self,
        root: str | Path,
        version: str = "2021_train",
        target_type: list[str] | str = "full",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[str], Any] | None = None,
    ) -> None:
        self.version = verify_str_arg(version, "version", _ARCHIVES)
        super().__init__(str(Path(root).expanduser() / version), transform=transform, target_transform=target_transform)
        ranks = _RANKS if version.startswith("2021") else ("super",)
        types = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(kind, "target_type", ("full", *ranks)) for kind in types]
        self._ensure_files(download)
        self.all_categories: list[str] = []
        self.categories_index: dict[str, dict[str, int]] = {rank: {} for rank in ranks}
        self.categories_map: list[dict[str, int]] = []
        self._find_ranks() if version.startswith("2021") else self._find_groups()
        self.index = [
            (number, file.name)
            for number, name in enumerate(self.all_categories)
            for file in sorted((self._folder / name).iterdir())
        ]
        self.loader = loader

    def _find_ranks(self) -> None:
        """Index the folders of version 2021, named `NUMBER_kingdom_phylum_class_order_family_genus_species`."""
        self.all_categories = sorted(folder.name for folder in self._folder.iterdir())
        for number, name in enumerate(self.all_categories):
            first, *names = name.split("_")
            if len(names) != 7:
                raise RuntimeError(f"Unexpected category name {name}, wrong number of pieces")
            if first != f"{number:05d}":
                raise RuntimeError(f"Unexpected category id {first}, expecting {number:05d}")
            indices = [self.categories_index[rank] for rank in _RANKS]
            numbers = [index.setdefault(part, len(index)) for index, part in zip(indices, names, strict=False)]
            self.categories_map.append(dict(zip(_RANKS, numbers, strict=True)))

    def _find_groups(self) -> None:
        """Index the folders of versions before 2021: `group/species name` in 2017, `group/species number` in 2018 and 2019."""
        species: dict[int, tuple[str, int]] = {}
        for group_number, group in enumerate(sorted(self._folder.iterdir())):
            self.categories_index["super"][group.name] = group_number
            for folder in sorted(group.iterdir()):
                if self.version != "2017" and not folder.name.isdecimal():
                    raise RuntimeError(f"Unexpected non-numeric dir name: {folder.name}")
                number = len(species) if self.version == "2017" else int(folder.name)
                if number in species:
                    raise RuntimeError(f"Duplicate category {folder.name}")
                species[number] = str(folder.relative_to(self._folder)), group_number
        for number in range(max(species, default=-1) + 1):
            if number not in species:
                raise RuntimeError(f"Missing category {number}")
            name, group_number = species[number]
            self.all_categories.append(name)
            self.categories_map.append({"super": group_number})

    def category_name(self, category_type: str, category_id: int) -> str:
        """Return the name of a category: of a species if `category_type` is `full`, otherwise of the rank `category_type`.

        Raises:
            ValueError: the rank, or the number in this rank, does not exist.
        """
        if category_type == "full":
            return self.all_categories[category_id]
        if category_type not in self.categories_index:
            raise ValueError(f"Invalid category type '{category_type}'")
        for name, number in self.categories_index[category_type].items():
            if number == category_id:
                return name
        raise ValueError(f"Invalid category id {category_id} for {category_type}")

    def _check_exists(self) -> bool:
        return self._folder.is_dir() and any(self._folder.iterdir())

    def download(self) -> None:
        """Download the archive of the version, and unpack it into the folder of that name."""
        name, md5 = _ARCHIVES[self.version]
        unpacked = self._folder.parent / Path(name).name.removesuffix(".tar.gz")
        download_and_extract_archive(_SITE + name, unpacked.parent, filename=f"{self.version}.tgz", md5=md5)
        if not unpacked.exists():
            raise RuntimeError(f"Unable to find downloaded files at {unpacked}")
        unpacked.rename(self._folder)

    def _target(self, kind: str, number: int) -> int:
        return number if kind == "full" else self.categories_map[number][kind]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        number, name = self.index[index]
        path = self._folder / self.all_categories[number] / name
        image = open_image(path) if self.loader is None else self.loader(str(path))
        targets = tuple(self._target(kind, number) for kind in self.target_type)
        return self._transformed(image, targets if len(targets) > 1 else targets[0])

"""CLEVR: 100,000 rendered scenes, classified by the number of objects."""

from __future__ import annotations

import json

from .published import ImageList

__all__ = ["CLEVRClassification"]


class CLEVRClassification(ImageList):
    """[CLEVR](https://cs.stanford.edu/people/jcjohns/clevr/): 100,000 rendered scenes. The target is the number of objects.

    Args:
        root: the folder that holds `clevr`.
        split: `train`, `val` or `test`. The test split has no targets (None).
        transform: a function of the image (a PIL image).
        target_transform: a function of the target (an integer).
        download: fetch the archive into `root` if it is missing.
        loader: a function that reads a file.

    Raises:
        RuntimeError: the files are missing.
        ValueError: `split` is unknown.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from flambeau_vision import datasets
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (folder := Path(root, "clevr/CLEVR_v1.0/images/test")).mkdir(parents=True)
        ...     Image.new("RGB", (6, 4)).save(folder / "CLEVR_test_000000.png")
        ...     solids = datasets.CLEVRClassification(root, split="test")
        ...     len(solids), solids[0][0].size, solids[0][1]
        (1, (6, 4), None)
    """

    _splits = ("train", "val", "test")
    _base = "clevr"
    _archives = (("https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip", "b11922020e72d0cd9154779b2d3d07d2"),)
    _needed = ("CLEVR_v1.0",)

    def _list_samples(self) -> list[tuple[str, int | None]]:
        data = self._files / "CLEVR_v1.0"
        files = sorted((data / "images" / self._split).glob("*"))
        if self._split == "test":
            return [(str(file), None) for file in files]
        scenes = json.loads((data / "scenes" / f"CLEVR_{self._split}_scenes.json").read_text())["scenes"]
        counts = {scene["image_filename"]: len(scene["objects"]) for scene in scenes}
        return [(str(file), counts[file.name]) for file in files]

    def extra_repr(self) -> str:
        return f"split={self._split}"

"""The files of TensorBoard's embedding projector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flambeau as torch

from .images import as_array, make_grid

__all__ = ["embedding_info", "write_embedding"]


def write_embedding(folder: Path, mat: torch.Tensor, metadata: Any, label_img: Any, metadata_header: Any) -> None:
    """Write points of shape (N, D) to a TSV file, and their labels and images if given.

    Raises:
        AssertionError: `mat` is not 2-D, or the number of labels or images is not N.
    """
    if metadata is not None and mat.shape[0] != len(metadata):
        raise AssertionError("#labels should equal with #data points")
    if label_img is not None and mat.shape[0] != label_img.shape[0]:
        raise AssertionError("#images should equal with #data points")
    if mat.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if metadata is not None:
        _write_lines(folder / "metadata.tsv", _format_labels(metadata, metadata_header))
    if label_img is not None:
        _write_sprite(folder / "sprite.png", label_img)
    _write_lines(folder / "tensors.tsv", ["\t".join(map(str, point)) for point in mat.tolist()])


def embedding_info(folder: str, tag: str, metadata: Any, label_img: Any, global_step: Any) -> Any:
    """Return the entry of the projector's configuration for one set of points, with the paths of its files."""
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

    info = EmbeddingInfo(tensor_name=f"{tag}:{str(global_step).zfill(5)}", tensor_path=f"{folder}/tensors.tsv")
    if metadata is not None:
        info.metadata_path = f"{folder}/metadata.tsv"
    if label_img is not None:
        info.sprite.image_path = f"{folder}/sprite.png"
        info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
    return info


def _format_labels(metadata: Sequence[Any], header: Sequence[str] | None) -> list[str]:
    if not header:
        return [str(label) for label in metadata]
    if len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return ["\t".join(map(str, row)) for row in [header, *metadata]]


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _write_sprite(path: Path, images: Any) -> None:
    """Write all images as one square grid."""
    import numpy as np
    from PIL import Image

    grid = make_grid(as_array(images), ncols=math.ceil(images.shape[0] ** 0.5)).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    Image.fromarray((square * 255).clip(0, 255).astype(np.uint8)).save(path, format="PNG")

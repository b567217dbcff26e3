"""Drawing functions produce the same pixels as torchvision."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import flambeau as torch

theirs = pytest.importorskip("torchvision.utils")

from flambeau_vision import utils as ours  # noqa: E402

IMAGE = np.random.default_rng(0).integers(0, 256, (3, 60, 80)).astype("u1")
UPRIGHT = [[5, 4, 40, 30], [20, 10, 70, 55]]
ROTATED = [[20, 5, 60, 15, 55, 40, 15, 30], [70, 50, 30, 55, 28, 40, 68, 35]]


@pytest.mark.parametrize("boxes", [UPRIGHT, ROTATED], ids=["upright", "rotated"])
@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"width": 3},
        {"labels": ["cat", None]},
        {"labels": ["cat", "dog"], "fill_labels": True},
        {"labels": ["cat", "dog"], "fill_labels": True, "label_background_colors": "white", "label_colors": ["red", "blue"]},
    ],
    ids=["plain", "wide", "labels", "filled labels", "colours of labels"],
)
def test_boxes(boxes, fill, options):
    options = {"colors": ["lime", (9, 30, 200)], "fill": fill, **options}
    ours_drawn = ours.draw_bounding_boxes(torch.from_numpy(IMAGE), torch.tensor(boxes), **options)
    theirs_drawn = theirs.draw_bounding_boxes(pytorch.from_numpy(IMAGE), pytorch.tensor(boxes), **options)
    np.testing.assert_array_equal(ours_drawn.numpy(), theirs_drawn.numpy())

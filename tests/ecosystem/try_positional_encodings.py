"""positional-encodings: sines of positions in one, two and three dimensions."""

import torch
from positional_encodings.torch_encodings import (
    PositionalEncoding1D,
    PositionalEncoding2D,
    PositionalEncoding3D,
    PositionalEncodingPermute2D,
    Summer,
)

torch.manual_seed(0)
for layer, shape in (
    (PositionalEncoding1D(10), (2, 6, 10)),
    (PositionalEncoding2D(8), (2, 3, 4, 8)),
    (PositionalEncoding3D(11), (1, 2, 3, 4, 11)),
    (PositionalEncodingPermute2D(8), (2, 8, 3, 4)),
    (Summer(PositionalEncoding1D(10)), (2, 6, 10)),
):
    result = layer(torch.randn(shape))
    print(type(layer).__name__, tuple(result.shape), f"{result.sum():.4f}", [f"{x:.4f}" for x in result.flatten()[-4:].tolist()])

"""Elements added around the edges."""

from __future__ import annotations

from .pooling import bad_pooling
from .sample import NUMBERS, functional, real, torch_function

__all__ = ["BAD", "SAMPLES"]


SAMPLES = [
    torch_function("constant_pad_nd", lambda f, x: f(x, (1, 2, 0, -1), 7), lambda np, x: np.pad(x, ((0, 0), (1, 2)),
        constant_values=7)[:-1],
        real(3, 4), dtypes=NUMBERS),
    functional("pad", lambda F, x: F.pad(x, (1, 2)), lambda np, x: np.pad(x, ((0, 0), (1, 2))), real(2, 3),
        dtypes=("float64", "float32", "float16", "int64")),
    functional("pad", lambda F, x: F.pad(x, (1, 0, 2, -1), value=2.5),
        lambda np, x: np.pad(x, ((2, 0), (1, 0)), constant_values=2.5)[:-1], real(2, 3)),
    functional("pad", lambda F, x: F.pad(x, (-1, -1)), lambda np, x: x[:, 1:-1], real(2, 5)),
    functional("pad", lambda F, x: F.pad(x, (2, 1, 0, 1), mode="reflect"), lambda np, x: np.pad(x, ((0, 0), (0, 1), (2, 1)),
        "reflect"),
        real(2, 3, 4)),
    functional("pad", lambda F, x: F.pad(x, (2, 1, 0, 1), mode="replicate"), lambda np, x: np.pad(x, ((0, 0), (0, 1), (2, 1)),
        "edge"),
        real(2, 3, 4)),
    functional("pad", lambda F, x: F.pad(x, (2, 1, 0, 1), mode="circular"), lambda np, x: np.pad(x, ((0, 0), (0, 1), (2, 1)),
        "wrap"),
        real(2, 3, 4)),
    functional("pad", lambda F, x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="reflect"),
        lambda np, x: np.pad(x, ((0, 0), (1, 1), (1, 1), (1, 1)), "reflect"),
        real(1, 2, 2, 3)),
]  # fmt: skip


BAD = [
    bad_pooling("pad", lambda F, x: F.pad(x, (1,))),
    bad_pooling("pad", lambda F, x: F.pad(x, (1,) * 10)),
    bad_pooling("pad", lambda F, x: F.pad(x, (-3, -3))),
    bad_pooling("pad", lambda F, x: F.pad(x, (4, 1), mode="reflect"), real(1, 2, 4)),
    bad_pooling("pad", lambda F, x: F.pad(x, (5, 1), mode="circular"), real(1, 2, 4)),
    bad_pooling("pad", lambda F, x: F.pad(x, (1, 1), mode="mirror"), error="NotImplementedError"),
    bad_pooling("pad", lambda F, x: F.pad(x, (1, 1), mode="reflect"), error="NotImplementedError"),
]  # fmt: skip

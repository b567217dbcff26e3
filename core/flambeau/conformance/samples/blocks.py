"""`hstack` and `hsplit` and their siblings, grids, and matrices from diagonals."""

from __future__ import annotations

from typing import Any

from .conversion import method
from .sample import NUMBERS, Input, Sample, fixed, real

__all__ = ["SAMPLES"]


def _stack(name: str, np_name: str, *inputs: Input) -> Sample:
    return Sample(
        name,
        lambda torch, *x: getattr(torch, name)(x),
        inputs or [real(2, 3), real(2, 3)],
        lambda np, *x: getattr(np, np_name)(x),
        NUMBERS,
    )


def _split(name: str, sections: Any, *shape: int) -> Sample:
    return Sample(
        name,
        lambda torch, x: getattr(torch, name)(x, sections),
        [real(*shape)],
        lambda np, x: getattr(np, name)(x, sections),
        NUMBERS,
        view=True,
    )


def _pairs(count: int) -> Any:
    return [[i, j] for i in range(count) for j in range(i + 1, count)]


def _filled_diagonal(np: Any, x: Any) -> Any:
    x = x.copy()
    np.fill_diagonal(x, 7)
    return x


SAMPLES = [
    *(Sample(f"atleast_{n}d", lambda torch, x, y, n=n: getattr(torch, f"atleast_{n}d")(x, y), [real(), real(3)],
             lambda np, x, y, n=n: getattr(np, f"atleast_{n}d")(x, y), NUMBERS) for n in (1, 2, 3)),
    *(_stack(name, np_name) for name, np_name in (
        ("hstack", "hstack"), ("vstack", "vstack"), ("row_stack", "vstack"), ("dstack", "dstack"),
        ("column_stack", "column_stack"))),
    _stack("hstack", "hstack", real(), real(3)),
    _stack("vstack", "vstack", real(3), real(2, 3)),
    _stack("dstack", "dstack", real(3), real(3)),
    _stack("column_stack", "column_stack", real(2), real(2, 3)),
    Sample("tensor_split", lambda torch, x: torch.tensor_split(x, 3, 1), [real(2, 4)], lambda np, x: np.array_split(x, 3, 1),
           NUMBERS, view=True),
    Sample("tensor_split", lambda torch, x: torch.tensor_split(x, (1, 3), 1), [real(2, 4)], lambda np, x: np.split(x, (1, 3), 1),
           NUMBERS, view=True),
    _split("hsplit", 2, 2, 4),
    _split("vsplit", 2, 4, 3),
    _split("dsplit", (1,), 2, 2, 3),
    _split("hsplit", (1, 2), 4),
    Sample("unsafe_chunk", lambda torch, x: torch.unsafe_chunk(x, 2), [real(4, 2)], lambda np, x: np.split(x, 2)),
    Sample("unsafe_split", lambda torch, x: torch.unsafe_split(x, 3), [real(4, 2)], lambda np, x: [x[:3], x[3:]]),
    Sample("unsafe_split_with_sizes", lambda torch, x: torch.unsafe_split_with_sizes(x, [1, 2], 1), [real(2, 3)],
           lambda np, x: [x[:, :1], x[:, 1:]]),
    Sample("meshgrid", lambda torch, x, y: torch.meshgrid(x, y, indexing="ij"), [real(2), real(3)],
           lambda np, x, y: np.meshgrid(x, y, indexing="ij"), NUMBERS),
    Sample("meshgrid", lambda torch, x, y: torch.meshgrid(x, y, indexing="xy"), [real(2), real(3)],
           lambda np, x, y: np.meshgrid(x, y), NUMBERS),
    Sample("cartesian_prod", lambda torch, x, y: torch.cartesian_prod(x, y), [real(2), real(3)],
           lambda np, x, y: np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2), NUMBERS),
    Sample("combinations", lambda torch, x: torch.combinations(x, 2), [real(4)], lambda np, x: x[_pairs(4)], NUMBERS),
    Sample("block_diag", lambda torch, x, y: torch.block_diag(x, y), [real(2, 3), real(2)],
           lambda np, x, y: np.block([[x, np.zeros((2, 2))], [np.zeros((1, 3)), y[None]]]), NUMBERS),
    Sample("diag_embed", lambda torch, x: torch.diag_embed(x, 1), [real(2, 2)],
           lambda np, x: np.stack([np.diag(row, 1) for row in x]), NUMBERS),
    Sample("diag", lambda torch, x: torch.diag(x, 1), [real(3)], lambda np, x: np.diag(x, 1), NUMBERS),
    Sample("diag", lambda torch, x: torch.diag(x), [real(3, 4)], lambda np, x: np.diag(x), NUMBERS),
    Sample("diagflat", lambda torch, x: torch.diagflat(x, -1), [real(2, 2)], lambda np, x: np.diagflat(x, -1), NUMBERS),
    Sample("trace", lambda torch, x: torch.trace(x), [real(3, 4)], lambda np, x: np.trace(x), NUMBERS, "sum"),
    Sample("vander", lambda torch, x: torch.vander(x, 4), [real(3)], lambda np, x: np.vander(x, 4), NUMBERS, "sum"),
    Sample("fliplr", lambda torch, x: torch.fliplr(x), [real(2, 3)], lambda np, x: x[:, ::-1], NUMBERS),
    Sample("flipud", lambda torch, x: torch.flipud(x), [real(2, 3)], lambda np, x: x[::-1], NUMBERS),
    *(Sample("rot90", lambda torch, x, k=k: torch.rot90(x, k), [real(2, 3)], lambda np, x, k=k: np.rot90(x, k), NUMBERS)
      for k in (-1, 0, 2, 3)),
    *(Sample(f"{name}_indices", lambda torch, name=name: getattr(torch, f"{name}_indices")(3, 4, 1), [],
             lambda np, name=name: np.stack(getattr(np, f"{name}_indices")(3, 1, 4)), ("int64",), grad=False)
             for name in ("tril", "triu")),
    *(Sample(name, lambda torch, x, name=name, k=k: getattr(torch, name)(x, k), [real(2, 3, 4)],
             lambda np, x, name=name, k=k: getattr(np, name)(x, k), NUMBERS) for name in ("tril", "triu") for k in (-1, 0, 2)),
    Sample("unravel_index", lambda torch, i: torch.unravel_index(i, (2, 3)), [fixed([0, 5, 4], "int64")],
           lambda np, i: np.unravel_index(i, (2, 3)), ("int64",), grad=False),
    method("fill_diagonal_", _filled_diagonal, 7),
]  # fmt: skip

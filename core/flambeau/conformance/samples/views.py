"""Views of the same memory."""

from __future__ import annotations

from typing import Any

from .conversion import method
from .sample import NUMBERS, Bad, Input, Sample, fixed, real

__all__ = ["BAD", "SAMPLES", "view"]


def view(name: str, call: Any, formula: Any, *inputs: Input, **options: Any) -> Sample:
    return Sample(name, call, inputs or [real(2, 3, 4)], formula, (*NUMBERS, "bool"), view=True, inplace=False, **options)


def copy_of(name: str, call: Any, formula: Any, *inputs: Input, **options: Any) -> Sample:
    return Sample(f"{name}_copy", call, inputs or [real(2, 3, 4)], formula, NUMBERS, inplace=False, **options)


SAMPLES = [
    view("Tensor.view", lambda torch, x: torch.Tensor.view(x, 6, -1), lambda np, x: x.reshape(6, 4), layouts=False),
    view("Tensor.view", lambda torch, x: torch.Tensor.view(x, (2, 0)), lambda np, x: x.reshape(2, 0), real(0, 3)),
    view("Tensor.view", lambda torch, x: torch.Tensor.view(x, -1), lambda np, x: x.reshape(1), real()),
    view("reshape", lambda torch, x: torch.reshape(x, (4, -1)), lambda np, x: x.reshape(4, 6)),
    view("Tensor.reshape", lambda torch, x: torch.Tensor.reshape(x, 2, 12), lambda np, x: x.reshape(2, 12)),
    Sample("reshape", lambda torch, x: torch.reshape(x.transpose(0, 1), (6,)), [real(2, 3)], lambda np, x: x.T.reshape(6),
           NUMBERS),
    view("Tensor.view_as", lambda torch, x: torch.Tensor.view_as(x, x[0].expand(2, 3, 4)), lambda np, x: x),
    view("Tensor.reshape_as", lambda torch, x: torch.Tensor.reshape_as(x, torch.empty(24)), lambda np, x: x.reshape(24)),
    view("Tensor.expand", lambda torch, x: torch.Tensor.expand(x, 4, -1, 2), lambda np, x: np.broadcast_to(x, (4, 3, 2)),
          real(3, 1),
          ),
    view("Tensor.expand_as", lambda torch, x: torch.Tensor.expand_as(x, torch.empty(2, 3)),
          lambda np, x: np.broadcast_to(x, (2, 3)), real(3)),
    view("broadcast_to", lambda torch, x: torch.broadcast_to(x, (2, 3)), lambda np, x: np.broadcast_to(x, (2, 3)), real(2, 1)),
    Sample("broadcast_tensors", lambda torch, x, y: torch.broadcast_tensors(x, y), [real(3, 1), real(2)],
           lambda np, x, y: np.broadcast_arrays(x, y)),
    view("squeeze", lambda torch, x: torch.squeeze(x), lambda np, x: x.squeeze(), real(1, 3, 1)),
    view("squeeze", lambda torch, x: torch.squeeze(x, -1), lambda np, x: x.squeeze(-1), real(1, 3, 1)),
    view("squeeze", lambda torch, x: torch.squeeze(x, 1), lambda np, x: x, real(1, 3, 1)),
    view("squeeze", lambda torch, x: torch.squeeze(x, (0, 2)), lambda np, x: x.squeeze(), real(1, 3, 1)),
    view("unsqueeze", lambda torch, x: torch.unsqueeze(x, 1), lambda np, x: x[:, None]),
    view("unsqueeze", lambda torch, x: torch.unsqueeze(x, -1), lambda np, x: x[..., None], real()),
    view("flatten", lambda torch, x: torch.flatten(x), lambda np, x: x.reshape(-1)),
    view("flatten", lambda torch, x: torch.flatten(x, 1), lambda np, x: x.reshape(2, 12)),
    view("flatten", lambda torch, x: torch.flatten(x), lambda np, x: x.reshape(1), real()),
    view("unflatten", lambda torch, x: torch.unflatten(x, -1, (2, -1)), lambda np, x: x.reshape(2, 3, 2, 2)),
    view("ravel", lambda torch, x: torch.ravel(x), lambda np, x: x.reshape(-1)),
    view("permute", lambda torch, x: torch.permute(x, (2, 0, -2)), lambda np, x: x.transpose(2, 0, 1)),
    *(view(name, lambda torch, x, name=name: getattr(torch, name)(x, 0, -1), lambda np, x: x.swapaxes(0, -1))
      for name in ("transpose", "swapaxes", "swapdims")),
    view("t", lambda torch, x: torch.t(x), lambda np, x: x.T, real(2, 3)),
    view("t", lambda torch, x: torch.t(x), lambda np, x: x, real(3)),
    Sample("adjoint", lambda torch, x: torch.adjoint(x), [real(2, 3)], lambda np, x: x.conj().T, NUMBERS),
    *(view(name, lambda torch, x, name=name: getattr(torch, name)(x, (0, 1), (1, 2)),
            lambda np, x: np.moveaxis(x, (0, 1), (1, 2)))
      for name in ("movedim", "moveaxis")),
    view("select", lambda torch, x: torch.select(x, 1, -1), lambda np, x: x[:, -1]),
    view("narrow", lambda torch, x: torch.narrow(x, 2, 1, 2), lambda np, x: x[:, :, 1:3]),
    Sample("narrow_copy", lambda torch, x: torch.narrow_copy(x, 2, 1, 2), [real(2, 3, 4)], lambda np, x: x[:, :, 1:3]),
    view("split", lambda torch, x: torch.split(x, 2, 2), lambda np, x: [x[..., :2], x[..., 2:]]),
    view("split", lambda torch, x: torch.split(x, [1, 0, 3], -1), lambda np, x: [x[..., :1], x[..., 1:1], x[..., 1:]]),
    view("split_with_sizes", lambda torch, x: torch.split_with_sizes(x, [1, 2], 1), lambda np, x: [x[:, :1], x[:, 1:]]),
    view("chunk", lambda torch, x: torch.chunk(x, 3, 2), lambda np, x: [x[..., :2], x[..., 2:]]),
    view("unbind", lambda torch, x: torch.unbind(x, 1), lambda np, x: list(x.swapaxes(0, 1))),
    view("diagonal", lambda torch, x: torch.diagonal(x, 1, 0, 2), lambda np, x: x.diagonal(1, 0, 2), real(3, 2, 4)),
    view("diagonal", lambda torch, x: torch.diagonal(x, -2), lambda np, x: x.diagonal(-2), real(3, 4)),
    copy_of("alias", lambda torch, x: torch.alias_copy(x), lambda np, x: x),
    copy_of("as_strided", lambda torch, x: torch.as_strided_copy(x, (2, 2), (1, 1)), lambda np, x: x[[[0, 1], [1, 2]]],
            fixed([1.0, 2.0, 3.0]), layouts=False),
    copy_of("detach", lambda torch, x: torch.detach_copy(x), lambda np, x: x, grad=False),
    copy_of("diagonal", lambda torch, x: torch.diagonal_copy(x, 1, 0, 2), lambda np, x: x.diagonal(1, 0, 2)),
    copy_of("expand", lambda torch, x: torch.expand_copy(x, (2, 2, 3)), lambda np, x: np.broadcast_to(x, (2, 2, 3)), real(2, 3)),
    copy_of("permute", lambda torch, x: torch.permute_copy(x, (2, 0, 1)), lambda np, x: x.transpose(2, 0, 1)),
    copy_of("select", lambda torch, x: torch.select_copy(x, 1, -1), lambda np, x: x[:, -1]),
    copy_of("slice", lambda torch, x: torch.slice_copy(x, 2, 0, 4, 2), lambda np, x: x[:, :, 0:4:2]),
    copy_of("split", lambda torch, x: torch.split_copy(x, 2, 2), lambda np, x: [x[..., :2], x[..., 2:]]),
    copy_of("split_with_sizes", lambda torch, x: torch.split_with_sizes_copy(x, [1, 2], 1),
            lambda np, x: [x[:, :1], x[:, 1:]]),
    copy_of("squeeze", lambda torch, x: torch.squeeze_copy(x, 0), lambda np, x: x[0], real(1, 3)),
    copy_of("t", lambda torch, x: torch.t_copy(x), lambda np, x: x.T, real(2, 3)),
    copy_of("transpose", lambda torch, x: torch.transpose_copy(x, 0, 2), lambda np, x: x.transpose(2, 1, 0)),
    copy_of("unbind", lambda torch, x: torch.unbind_copy(x, 1), lambda np, x: list(x.swapaxes(0, 1))),
    copy_of("unfold", lambda torch, x: torch.unfold_copy(x, 0, 2, 1), lambda np, x: x[[[0, 1], [1, 2]]],
            fixed([1.0, 2.0, 3.0])),
    copy_of("unsqueeze", lambda torch, x: torch.unsqueeze_copy(x, 1), lambda np, x: x[:, None]),
    copy_of("view", lambda torch, x: torch.view_copy(x, (6, 4)), lambda np, x: x.reshape(6, 4), layouts=False),
    Sample("Tensor.sum_to_size", lambda torch, x: torch.Tensor.sum_to_size(x, 1, 4), [real(2, 3, 4)],
           lambda np, x: x.sum((0, 1))[None]),
    method("resize_", lambda np, x: x.reshape(3, 2), (3, 2), grad=False,
            vmap=False, layouts=False),
    method("resize_as_", lambda np, x, y: x.reshape(6), inputs=(fixed([0] * 6),), grad=False, vmap=False, layouts=False),
]  # fmt: skip


BAD = [
    Bad("Tensor.view", lambda torch, x: x.view(4), [real(2, 3)], "RuntimeError"),
    Bad("Tensor.view", lambda torch, x: x.t().view(6), [real(2, 3)], "RuntimeError", strides=True),
    Bad("Tensor.expand", lambda torch, x: x.expand(4), [real(3)], "RuntimeError"),
    Bad("transpose", lambda torch, x: torch.transpose(x, 0, 2), [real(2, 3)], "IndexError"),
    Bad("permute", lambda torch, x: torch.permute(x, (0, 0)), [real(2, 3)], "RuntimeError"),
    Bad("unsqueeze", lambda torch, x: torch.unsqueeze(x, 4), [real(2, 3)], "IndexError"),
    Bad("narrow", lambda torch, x: torch.narrow(x, 0, 1, 3), [real(2, 3)], "RuntimeError"),
    Bad("split", lambda torch, x: torch.split(x, [1, 3]), [real(2, 3)], "RuntimeError"),
    Bad("t", lambda torch, x: torch.t(x), [real(2, 3, 4)], "RuntimeError"),
    Bad("select", lambda torch, x: torch.select(x, 0, 5), [real(2, 3)], "IndexError"),
    Bad("diagonal", lambda torch, x: torch.diagonal(x), [fixed([1.0])], "IndexError"),
]  # fmt: skip

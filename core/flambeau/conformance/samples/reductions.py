"""Sums, products, extremes, `all` and `any` over dimensions."""

from __future__ import annotations

from typing import Any

from .sample import FLOATS, NUMBERS, REALS, Bad, Sample, distinct, fixed, real

__all__ = ["BAD", "SAMPLES", "over"]


def over(name: str, formula: str, make: Any = real, *, empty: bool = True, **options: Any) -> list[Sample]:
    """Return samples of a reduction over all, one or several dimensions, with and without keepdim, of 0-d and empty tensors."""

    def of(torch: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(torch, name)(x, *args, **kwargs)

    def expected(np: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(np, formula)(x, axis=axis, keepdims=keepdims)

    samples = [
        Sample(name, lambda torch, x: of(torch, x), [make(3, 4)], lambda np, x: expected(np, x), **options),
        Sample(name, lambda torch, x: of(torch, x), [make()], lambda np, x: expected(np, x), **options),
        Sample(name, lambda torch, x: of(torch, x, 1), [make(2, 3, 2)], lambda np, x: expected(np, x, 1), **options),
        Sample(
            name,
            lambda torch, x: of(torch, x, -1, keepdim=True),
            [make(2, 3)],
            lambda np, x: expected(np, x, -1, True),
            **options,
        ),
        Sample(
            name, lambda torch, x: of(torch, x, dim=(0, 2)), [make(2, 3, 2)], lambda np, x: expected(np, x, (0, 2)), **options
        ),
        Sample(name, lambda torch, x: of(torch, x, 1), [make(0, 3)], lambda np, x: expected(np, x, 1), **options),
    ]
    if empty:
        options = {**options, "grad": False}
        samples.append(Sample(name, lambda torch, x: of(torch, x, 1), [make(2, 0)], lambda np, x: expected(np, x, 1), **options))
    return samples


def _at(np: Any, x: Any, axis: int, arg: str) -> Any:
    indices = getattr(np, arg)(x, axis=axis)
    return np.take_along_axis(x, np.expand_dims(indices, axis), axis).squeeze(axis), indices


def _extreme(name: str, np_name: str) -> list[Sample]:
    arg = f"arg{name}"
    return [
        Sample(
            name,
            lambda torch, x: getattr(torch, name)(x),
            [distinct(3, 4)],
            lambda np, x: getattr(np, np_name)(x),
            (*FLOATS, "int64"),
        ),
        Sample(
            name,
            lambda torch, x: getattr(torch, name)(x, 1),
            [distinct(3, 4)],
            lambda np, x: _at(np, x, 1, arg),
            (*FLOATS, "int64"),
            ("same", "int64"),
        ),
        Sample(
            name,
            lambda torch, x: getattr(torch, name)(x, 0),
            [distinct()],
            lambda np, x: (x, np.zeros((), int)),
            FLOATS,
            ("same", "int64"),
        ),
        Sample(
            name,
            lambda torch, x, y: getattr(torch, name)(x, y),
            [real(3, 4), real(4)],
            lambda np, x, y: getattr(np, f"{name}imum")(x, y),
            REALS,
        ),
        Sample(
            arg,
            lambda torch, x: getattr(torch, arg)(x),
            [distinct(3, 4)],
            lambda np, x: getattr(np, arg)(x),
            (*FLOATS, "int64"),
            "int64",
            grad=False,
        ),
        Sample(
            arg,
            lambda torch, x: getattr(torch, arg)(x, 0, keepdim=True),
            [distinct(3, 4)],
            lambda np, x: getattr(np, arg)(x, 0, keepdims=True),
            FLOATS,
            "int64",
            grad=False,
        ),
        Sample(
            arg,
            lambda torch, x: getattr(torch, arg)(x, -1),
            [fixed([[1, 3, 3], [2, 2, 1]])],
            lambda np, x: getattr(np, arg)(x, -1),
            REALS,
            "int64",
            grad=False,
        ),
    ]


SAMPLES = [
    *over("sum", "sum", dtypes=(*NUMBERS, "bool"), result="sum"),
    Sample("sum", lambda torch, x: torch.sum(x, 0, dtype=torch.float64), [real(3, 2)], lambda np, x: x.sum(0), REALS, "float64"),
    *over("mean", "mean"),
    *over("amax", "amax", distinct, empty=False),
    *over("amin", "amin", distinct, empty=False),
    Sample("amax", lambda torch, x: torch.amax(x, 1), [fixed([[1.0, 2, 2], [3, 3, 3]])], lambda np, x: x.max(1),
           ("float64", "int64"), grad=False),
    Sample("prod", lambda torch, x: torch.prod(x), [real(2, 3)], lambda np, x: x.prod(), NUMBERS, "sum"),
    Sample("prod", lambda torch, x: torch.prod(x, 1), [real(2, 3)], lambda np, x: x.prod(1), NUMBERS, "sum"),
    Sample("prod", lambda torch, x: torch.prod(x, 1, keepdim=True), [fixed([[0.0, 2, 3], [0, 0, 4]])],
           lambda np, x: x.prod(1, keepdims=True)),
    Sample("prod", lambda torch, x: torch.prod(x), [real(0)], lambda np, x: x.prod()),
    *_extreme("max", "max"),
    *_extreme("min", "min"),
    *(Sample(name, lambda torch, x, name=name: getattr(torch, name)(x), [real(2, 3, low=-1, high=1)],
             lambda np, x, name=name: getattr(np, name)(x != 0), (*FLOATS, "int64", "bool"), "bool", grad=False)
             for name in ("all", "any")),
    *(Sample(name, lambda torch, x, name=name: getattr(torch, name)(x, 1), [real(4, 2, low=-1, high=1)],
             lambda np, x, name=name: getattr(np, name)(x != 0, 1), (*FLOATS, "int64", "bool"), "bool", grad=False)
             for name in ("all", "any")),
    *(Sample(name, lambda torch, x, name=name: getattr(torch, name)(x), [real(0)], lambda np, x, name=name: name == "all",
             FLOATS, "bool", grad=False) for name in ("all", "any")),
    Sample("logsumexp", lambda torch, x: torch.logsumexp(x, 1), [real(3, 4)], lambda np, x: np.log(np.exp(x).sum(1))),
    Sample("logsumexp", lambda torch, x: torch.logsumexp(x, (0, 1), keepdim=True), [real(3, 4)],
           lambda np, x: np.log(np.exp(x).sum((0, 1), keepdims=True))),
    Sample("logsumexp", lambda torch, x: torch.logsumexp(x, 1), [real(2, 0)], lambda np, x: np.full(2, -np.inf), grad=False),
    Sample("logsumexp", lambda torch, x: torch.logsumexp(x, 0), [fixed([1000.0, 1000.0])], lambda np, x: 1000 + np.log(2.0)),
]  # fmt: skip


BAD = [
    Bad("sum", lambda torch, x: torch.sum(x, 2), [real(2, 3)], "IndexError"),
    Bad("sum", lambda torch, x: torch.sum(x, (0, 0)), [real(2, 3)], "RuntimeError"),
    Bad("mean", lambda torch, x: torch.mean(x), [fixed([1, 2], "int64")], "RuntimeError"),
    Bad("amax", lambda torch, x: torch.amax(x, 1), [real(2, 0)], "IndexError"),
    Bad("max", lambda torch, x: torch.max(x), [real(0)], "RuntimeError"),
    Bad("argmax", lambda torch, x: torch.argmax(x), [real(0)], "IndexError"),
]  # fmt: skip

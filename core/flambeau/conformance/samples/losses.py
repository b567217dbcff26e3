"""Losses."""

from __future__ import annotations

import itertools
from typing import Any

from .sample import FLOATS, Bad, Input, Sample, distinct, fixed, index, positive, real

__all__ = ["BAD", "SAMPLES"]

_WIDE = ("float64", "float32")


def _share(*shape: int) -> Input:
    """Random values between 0.05 and 0.95."""
    return Input(shape, 0.05, 0.95)


def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def _log_softmax(np: Any, x: Any) -> Any:
    shifted = x - x.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def _picked(np: Any, x: Any, target: Any) -> Any:
    return np.take_along_axis(x, np.expand_dims(target, 1), 1).squeeze(1)


def _nll(np: Any, log_probs: Any, target: Any, reduction: str, weight: Any = None, ignored: int = -100) -> Any:
    counted = target != ignored
    safe = np.where(counted, target, 0)
    weights = counted * (1.0 if weight is None else weight[safe])
    losses = -_picked(np, log_probs, safe) * weights
    return losses.sum() / weights.sum() if reduction == "mean" else _reduced(losses, reduction)


def _ctc(np: Any, log_probs: Any, labels: Any, blank: int = 0) -> Any:
    """The negative log-likelihood of labels, summed over all alignments."""
    time, classes = log_probs.shape
    total = 0.0
    for walk in itertools.product(range(classes), repeat=time):
        merged = [label for i, label in enumerate(walk) if i == 0 or label != walk[i - 1]]
        if [label for label in merged if label != blank] == list(labels):
            total += np.exp(sum(log_probs[t, label] for t, label in enumerate(walk)))
    return -np.log(total)


def _multi_margin(np: Any, x: Any, target: Any, p: int, margin: float) -> Any:
    excess = np.maximum(0, margin - _picked(np, x, target)[:, None] + x) ** p
    np.put_along_axis(excess, target[:, None], 0, 1)
    return excess.sum(1) / x.shape[1]


def _multilabel_margin(np: Any, x: Any, target: Any) -> Any:
    losses = []
    for scores, labels in zip(x, target.tolist(), strict=True):
        positives = labels[: labels.index(-1)] if -1 in labels else labels
        negatives = [i for i in range(len(scores)) if i not in positives]
        losses.append(sum(max(0.0, 1 - scores[i] + scores[j]) for i in positives for j in negatives) / len(scores))
    return np.array(losses)


def _of(
    name: str, call: Any, reference: Any, *inputs: Any, reductions: tuple[str, ...] = ("mean", "sum", "none"), **options: Any
) -> list[Sample]:
    """A sample for each reduction."""

    def sample(reduction: str) -> Sample:
        return Sample(
            f"nn.functional.{name}",
            lambda torch, *x: call(torch.nn.functional, *x, reduction=reduction),
            inputs,
            lambda np, *x: _reduced(reference(np, *x), reduction),
            **{"dtypes": FLOATS, "atol": 2e-3, **options},
        )

    return [sample(reduction) for reduction in reductions]


def _classes(name: str, log_probs: Any, *inputs: Any, **options: Any) -> list[Sample]:
    """Samples of `nll_loss` or `cross_entropy`, without and with all options."""

    def sample(reduction: str) -> list[Sample]:
        def plain(torch: Any, x: Any, t: Any) -> Any:
            return getattr(torch.nn.functional, name)(x, t, reduction=reduction)

        def weighted(torch: Any, x: Any, t: Any, w: Any) -> Any:
            return getattr(torch.nn.functional, name)(x, t, w.detach(), ignore_index=1, reduction=reduction)

        full = f"nn.functional.{name}"
        return [
            Sample(full, plain, inputs, lambda np, x, t: _nll(np, log_probs(np, x), t, reduction), FLOATS, atol=2e-3),
            Sample(
                full,
                weighted,
                [*inputs, fixed([0.5, 1.0, 2.0], "float64")],
                lambda np, x, t, w: _nll(np, log_probs(np, x), t, reduction, w, 1),
                ("float64",),
            ),
        ]

    return [s for reduction in ("mean", "sum", "none") for s in sample(reduction)]


_PAIR = (real(3, 4), real(3, 4))
_SIGNS = fixed([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])

SAMPLES = [
    *_of("l1_loss", lambda F, x, y, **k: F.l1_loss(x, y, **k), lambda np, x, y: abs(x - y), *_PAIR),
    *_of("mse_loss", lambda F, x, y, **k: F.mse_loss(x, y, **k), lambda np, x, y: (x - y) ** 2, *_PAIR),
    *_of("mse_loss", lambda F, x, y, **k: F.mse_loss(x, y, **k), lambda np, x, y: (x - y) ** 2, real(0, 3), real(0, 3),
         reductions=("sum", "none")),
    *_of("smooth_l1_loss", lambda F, x, y, **k: F.smooth_l1_loss(x, y, beta=0.5, **k),
         lambda np, x, y: np.where(abs(x - y) < 0.5, (x - y) ** 2, abs(x - y) - 0.25), *_PAIR),
    *_of("huber_loss", lambda F, x, y, **k: F.huber_loss(x, y, delta=0.5, **k),
         lambda np, x, y: np.where(abs(x - y) < 0.5, 0.5 * (x - y) ** 2, 0.5 * (abs(x - y) - 0.25)), *_PAIR),
    *_of("poisson_nll_loss", lambda F, x, y, **k: F.poisson_nll_loss(x, y, **k), lambda np, x, y: np.exp(x) - y * x, real(3, 4),
         positive(3, 4)),
    *_of("poisson_nll_loss", lambda F, x, y, **k: F.poisson_nll_loss(x, y, log_input=False, full=True, **k),
         lambda np, x, y: x - y * np.log(x + 1e-8) + np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0),
         positive(3, 4),
         positive(3, 4), dtypes=_WIDE),
    *_of("gaussian_nll_loss", lambda F, x, y, v, **k: F.gaussian_nll_loss(x, y, v, **k),
         lambda np, x, y, v: 0.5 * (np.log(v) + (x - y) ** 2 / v),
         *_PAIR, positive(3, 1)),
    *_of("kl_div", lambda F, x, y, **k: F.kl_div(x, y, **k), lambda np, x, y: y * (np.log(y) - x), real(3, 4), _share(3, 4)),
    *_of("kl_div", lambda F, x, y, **k: F.kl_div(x, y, log_target=True, **k), lambda np, x, y: np.exp(y) * (y - x), *_PAIR),
    Sample("nn.functional.kl_div", lambda torch, x, y: torch.nn.functional.kl_div(x, y, reduction="batchmean"),
           [real(3, 4), _share(3, 4)],
           lambda np, x, y: (y * (np.log(y) - x)).sum() / 3, _WIDE),
    *_of("binary_cross_entropy", lambda F, x, y, **k: F.binary_cross_entropy(x, y, **k),
         lambda np, x, y: -y * np.log(x) - (1 - y) * np.log(1 - x), _share(3, 4), _share(3, 4)),
    *_of("binary_cross_entropy_with_logits", lambda F, x, y, **k: F.binary_cross_entropy_with_logits(x, y, **k),
         lambda np, x, y: np.log1p(np.exp(x)) - x * y, real(3, 4), _share(3, 4)),
    *_of("binary_cross_entropy_with_logits",
         lambda F, x, y, w, p, **k: F.binary_cross_entropy_with_logits(x, y, w.detach(), pos_weight=p.detach(), **k),
         lambda np, x, y, w, p: w * ((1 - y) * x + ((p - 1) * y + 1) * np.log1p(np.exp(-x))), real(2, 3), _share(2, 3),
         fixed([[1.0, 2.0, 0.5]], "float64"), fixed([3.0, 1.0, 2.0], "float64"), dtypes=("float64",)),
    *_classes("nll_loss", lambda np, x: x, real(4, 3), index(4, high=3)),
    *_classes("nll_loss", lambda np, x: x, real(2, 3, 2, 2), index(2, 2, 2, high=3)),
    *_classes("cross_entropy", _log_softmax, real(4, 3), index(4, high=3)),
    *_classes("cross_entropy", _log_softmax, real(2, 3, 2, 2), index(2, 2, 2, high=3)),
    Sample("nn.functional.cross_entropy", lambda torch, x, t: torch.nn.functional.cross_entropy(x, t),
           [real(3), fixed(1, "int64")],
           lambda np, x, t: np.log(np.exp(x).sum()) - x[1]),
    Sample("nn.functional.cross_entropy", lambda torch, x, t: torch.nn.functional.cross_entropy(x, t, label_smoothing=0.2),
           [real(4, 3), index(4, high=3)],
           lambda np, x, t: -(_log_softmax(np, x) * (0.8 * np.eye(3)[t] + 0.2 / 3)).sum(1).mean(), atol=2e-3),
    *_of("cross_entropy", lambda F, x, y, **k: F.cross_entropy(x, y, **k), lambda np, x, y: -(_log_softmax(np, x) * y).sum(1),
         real(3, 4), _share(3, 4)),
    Sample("nn.functional.linear_cross_entropy",
           lambda torch, x, w, t, b: torch.nn.functional.linear_cross_entropy(x, w, t, linear_bias=b),
           [real(4, 5), real(3, 5), index(4, high=3), real(3)],
           lambda np, x, w, t, b: _nll(np, _log_softmax(np, x @ w.T + b), t, "mean"), _WIDE),
    *_of("hinge_embedding_loss", lambda F, x, y, **k: F.hinge_embedding_loss(x, y.detach(), margin=0.7, **k),
         lambda np, x, y: np.where(y > 0, x, np.maximum(0, 0.7 - x)), real(2, 3), _SIGNS, dtypes=_WIDE, grad=False),
    *_of("margin_ranking_loss", lambda F, x, y, t, **k: F.margin_ranking_loss(x, y, t, margin=0.1, **k),
         lambda np, x, y, t: np.maximum(0, -t * (x - y) + 0.1), real(2, 3), real(2, 3), _SIGNS, dtypes=_WIDE),
    *_of("soft_margin_loss", lambda F, x, **k: F.soft_margin_loss(x, x.new_tensor([[1.0], [-1.0]]), **k),
         lambda np, x: np.log1p(np.exp([[-1.0], [1.0]] * x)), real(2, 3), dtypes=_WIDE),
    *_of("cosine_embedding_loss", lambda F, x, y, t, **k: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1, **k),
         lambda np, x, y, t: [1 - c if s > 0 else max(0, c - 0.1) for c, s in zip(
             (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)), t, strict=True)] * np.ones(2),
         positive(2, 3), positive(2, 3), fixed([1.0, -1.0]), dtypes=_WIDE, grad=False),
    *_of("triplet_margin_loss", lambda F, a, p, n, **k: F.triplet_margin_loss(a, p, n, **k),
         lambda np, a, p, n: np.maximum(0, 1 + np.sqrt(((a - p + 1e-6) ** 2).sum(-1)) - np.sqrt(((a - n + 1e-6) ** 2).sum(-1))),
         real(4, 3), real(4, 3), real(4, 3)),
    *_of("triplet_margin_with_distance_loss",
         lambda F, a, p, n, **k: F.triplet_margin_with_distance_loss(
             a, p, n, distance_function=lambda x, y: abs(x - y).sum(-1), swap=True, **k),
         lambda np, a, p, n: np.maximum(0, 1 + abs(a - p).sum(-1) - np.minimum(abs(a - n).sum(-1), abs(p - n).sum(-1))),
         real(4, 3), real(4, 3), real(4, 3), dtypes=_WIDE),
    *_of("multi_margin_loss", lambda F, x, t, **k: F.multi_margin_loss(x, t, p=2, margin=0.8, **k),
         lambda np, x, t: _multi_margin(np, x, t, 2, 0.8), distinct(3, 4), index(3, high=4), dtypes=_WIDE),
    *_of("multilabel_margin_loss", lambda F, x, t, **k: F.multilabel_margin_loss(x, t, **k), _multilabel_margin, real(3, 4),
         fixed([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 2, 1, 0]], "int64"), dtypes=_WIDE),
    *_of("multilabel_soft_margin_loss", lambda F, x, y, **k: F.multilabel_soft_margin_loss(x, y, **k),
         lambda np, x, y: (np.log1p(np.exp(x)) - x * y).mean(-1), real(3, 4), _share(3, 4), dtypes=_WIDE),
    Sample("nn.functional.ctc_loss",
           lambda torch, x: torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 1], [2, 0]]), (4, 3), (2, 1),
                                                         reduction="none"),
           [real(4, 2, 3)],
           lambda np, x: np.array([_ctc(np, _log_softmax(np, x[:, 0]), [1, 1]), _ctc(np, _log_softmax(np, x[:3, 1]), [2])]),
           _WIDE,
           grad=False),
    Sample("nn.functional.ctc_loss",
           lambda torch, x: torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([0, 1]), torch.tensor(3),
                                                         torch.tensor(2), blank=2),
           [real(3, 3)], lambda np, x: _ctc(np, _log_softmax(np, x), [0, 1], 2) / 2, _WIDE, grad=False),
]  # fmt: skip


def _bad(name: str, call: Any, *inputs: Any, error: str = "RuntimeError", values: bool = False) -> Bad:
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs, error, values=values)


_CLASSES = fixed([0, 1, 2], "int64")
BAD = [
    _bad("mse_loss", lambda F, x: F.mse_loss(x, x, reduction="median"), real(3), error="ValueError"),
    _bad("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(3, 2), _CLASSES, error="IndexError", values=True),
    _bad("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(2, 3), _CLASSES, error="ValueError"),
    _bad("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(3, 3), real(3)),
    _bad("cross_entropy", lambda F, x, t: F.cross_entropy(x, t), real(3, 2), _CLASSES, error="IndexError", values=True),
    _bad("cross_entropy", lambda F, x, t, w: F.cross_entropy(x, t, w), real(3, 3), _CLASSES, real(2)),
    _bad("cross_entropy", lambda F, x, t: F.cross_entropy(x, t, label_smoothing=2.0), real(3, 3), _CLASSES),
    _bad("binary_cross_entropy", lambda F, x, y: F.binary_cross_entropy(x, y), fixed([1.5]), fixed([1.0])),
    _bad("binary_cross_entropy", lambda F, x, y: F.binary_cross_entropy(x, y), real(3), real(2), error="ValueError"),
    _bad(
        "binary_cross_entropy_with_logits",
        lambda F, x, y: F.binary_cross_entropy_with_logits(x, y),
        real(3),
        real(2),
        error="ValueError",
    ),
    _bad("huber_loss", lambda F, x: F.huber_loss(x, x, delta=0.0), real(3)),
    _bad("smooth_l1_loss", lambda F, x: F.smooth_l1_loss(x, x, beta=-1.0), real(3)),
    _bad("gaussian_nll_loss", lambda F, x: F.gaussian_nll_loss(x, x, -1.0), real(3), error="ValueError"),
    _bad("multi_margin_loss", lambda F, x, t: F.multi_margin_loss(x, t, p=3), real(3, 3), _CLASSES, error="ValueError"),
    _bad("triplet_margin_loss", lambda F, x: F.triplet_margin_loss(x, x, x, margin=-1.0), real(3, 2), error="ValueError"),
    _bad("margin_ranking_loss", lambda F, x, y: F.margin_ranking_loss(x, y, x), real(3, 2), real(3)),
    _bad("ctc_loss", lambda F, x, t: F.ctc_loss(x, t, (9,), (2,)), real(4, 1, 3), fixed([[1, 2]], "int64")),
    _bad("ctc_loss", lambda F, x, t: F.ctc_loss(x, t, (4,), (2,), blank=3), real(4, 1, 3), fixed([[1, 2]], "int64")),
]

"""Differences between predictions and targets."""

from __future__ import annotations

from typing import Any

from .activation import sigmoid
from .sample import FLOATS, WIDE, Input, Sample, bad_functional, distinct, fixed, index, positive, real, torch_function, unit

__all__ = ["BAD", "SAMPLES", "log_softmax"]


def _share(*shape: int) -> Input:
    """Random values between 0.05 and 0.95."""
    return Input(shape, 0.05, 0.95)


def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def log_softmax(np: Any, x: Any) -> Any:
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
    """Return samples of a loss, one for each value of `reduction`."""

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
    """Return samples of `nll_loss` or `cross_entropy`, without and with all options."""

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
_CLASSES = fixed([0, 1, 2], "int64")


def _cosines(np: Any, x: Any, y: Any) -> Any:
    return (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))


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
         positive(3, 4), dtypes=WIDE),
    *_of("gaussian_nll_loss", lambda F, x, y, v, **k: F.gaussian_nll_loss(x, y, v, **k),
         lambda np, x, y, v: 0.5 * (np.log(v) + (x - y) ** 2 / v),
         *_PAIR, positive(3, 1)),
    *_of("kl_div", lambda F, x, y, **k: F.kl_div(x, y, **k), lambda np, x, y: y * (np.log(y) - x), real(3, 4), _share(3, 4)),
    *_of("kl_div", lambda F, x, y, **k: F.kl_div(x, y, log_target=True, **k), lambda np, x, y: np.exp(y) * (y - x), *_PAIR),
    Sample("nn.functional.kl_div", lambda torch, x, y: torch.nn.functional.kl_div(x, y, reduction="batchmean"),
           [real(3, 4), _share(3, 4)],
           lambda np, x, y: (y * (np.log(y) - x)).sum() / 3, WIDE),
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
    *_classes("cross_entropy", log_softmax, real(4, 3), index(4, high=3)),
    *_classes("cross_entropy", log_softmax, real(2, 3, 2, 2), index(2, 2, 2, high=3)),
    Sample("nn.functional.cross_entropy", lambda torch, x, t: torch.nn.functional.cross_entropy(x, t),
           [real(3), fixed(1, "int64")],
           lambda np, x, t: np.log(np.exp(x).sum()) - x[1]),
    Sample("nn.functional.cross_entropy", lambda torch, x, t: torch.nn.functional.cross_entropy(x, t, label_smoothing=0.2),
           [real(4, 3), index(4, high=3)],
           lambda np, x, t: -(log_softmax(np, x) * (0.8 * np.eye(3)[t] + 0.2 / 3)).sum(1).mean(), atol=2e-3),
    *_of("cross_entropy", lambda F, x, y, **k: F.cross_entropy(x, y, **k), lambda np, x, y: -(log_softmax(np, x) * y).sum(1),
         real(3, 4), _share(3, 4)),
    Sample("nn.functional.linear_cross_entropy",
           lambda torch, x, w, t, b: torch.nn.functional.linear_cross_entropy(x, w, t, linear_bias=b),
           [real(4, 5), real(3, 5), index(4, high=3), real(3)],
           lambda np, x, w, t, b: _nll(np, log_softmax(np, x @ w.T + b), t, "mean"), WIDE),
    *_of("hinge_embedding_loss", lambda F, x, y, **k: F.hinge_embedding_loss(x, y.detach(), margin=0.7, **k),
         lambda np, x, y: np.where(y > 0, x, np.maximum(0, 0.7 - x)), real(2, 3), _SIGNS, dtypes=WIDE, grad=False),
    *_of("margin_ranking_loss", lambda F, x, y, t, **k: F.margin_ranking_loss(x, y, t, margin=0.1, **k),
         lambda np, x, y, t: np.maximum(0, -t * (x - y) + 0.1), real(2, 3), real(2, 3), _SIGNS, dtypes=WIDE),
    *_of("soft_margin_loss", lambda F, x, **k: F.soft_margin_loss(x, x.new_tensor([[1.0], [-1.0]]), **k),
         lambda np, x: np.log1p(np.exp([[-1.0], [1.0]] * x)), real(2, 3), dtypes=WIDE),
    *_of("cosine_embedding_loss", lambda F, x, y, t, **k: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1, **k),
         lambda np, x, y, t: [1 - c if s > 0 else max(0, c - 0.1) for c, s in zip(
             (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)), t, strict=True)] * np.ones(2),
         positive(2, 3), positive(2, 3), fixed([1.0, -1.0]), dtypes=WIDE, grad=False),
    *_of("triplet_margin_loss", lambda F, a, p, n, **k: F.triplet_margin_loss(a, p, n, **k),
         lambda np, a, p, n: np.maximum(0, 1 + np.sqrt(((a - p + 1e-6) ** 2).sum(-1)) - np.sqrt(((a - n + 1e-6) ** 2).sum(-1))),
         real(4, 3), real(4, 3), real(4, 3)),
    *_of("triplet_margin_with_distance_loss",
         lambda F, a, p, n, **k: F.triplet_margin_with_distance_loss(
             a, p, n, distance_function=lambda x, y: abs(x - y).sum(-1), swap=True, **k),
         lambda np, a, p, n: np.maximum(0, 1 + abs(a - p).sum(-1) - np.minimum(abs(a - n).sum(-1), abs(p - n).sum(-1))),
         real(4, 3), real(4, 3), real(4, 3), dtypes=WIDE),
    *_of("multi_margin_loss", lambda F, x, t, **k: F.multi_margin_loss(x, t, p=2, margin=0.8, **k),
         lambda np, x, t: _multi_margin(np, x, t, 2, 0.8), distinct(3, 4), index(3, high=4), dtypes=WIDE),
    *_of("multilabel_margin_loss", lambda F, x, t, **k: F.multilabel_margin_loss(x, t, **k), _multilabel_margin, real(3, 4),
         fixed([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 2, 1, 0]], "int64"), dtypes=WIDE),
    *_of("multilabel_soft_margin_loss", lambda F, x, y, **k: F.multilabel_soft_margin_loss(x, y, **k),
         lambda np, x, y: (np.log1p(np.exp(x)) - x * y).mean(-1), real(3, 4), _share(3, 4), dtypes=WIDE),
    torch_function("binary_cross_entropy_with_logits", lambda f, x, y: f(x, y, None, None, 1),
        lambda np, x, y: -(y * np.log(sigmoid(np, x)) + (1 - y) * np.log(1 - sigmoid(np, x))).mean(), real(3, 4), unit(3, 4)),
    torch_function("kl_div", lambda f, x, y: f(x, y, 2), lambda np, x, y: (y * (np.log(y) - x)).sum(), real(3, 4), positive(3,
        4)),
    torch_function("poisson_nll_loss", lambda f, x, y: f(x, y, True, False, 1e-8, 1), lambda np, x, y: (np.exp(x) - y * x).mean(),
        real(3, 4), positive(3, 4)),
    torch_function("hinge_embedding_loss", lambda f, x, y: f(x, y, 3.0), lambda np, x, y: np.where(y == 1, x, np.maximum(0,
        3 - x)),
        real(4), fixed([1.0, -1, 1, -1])),
    torch_function("margin_ranking_loss", lambda f, x, y, z: f(x, y, z, 9.0, 1), lambda np, x, y, z: (9 - z * (x - y)).mean(),
        real(4), real(4), fixed([1.0, -1, 1, -1])),
    torch_function("cosine_embedding_loss", lambda f, x, y, z: f(x, y, z, -2.0),
        lambda np, x, y, z: np.where(z == 1, 1 - _cosines(np, x, y), 2 + _cosines(np, x, y)),
        real(4, 3), real(4, 3), fixed([1.0, -1, 1, -1])),
    torch_function("triplet_margin_loss", lambda f, a, p, n: f(a, p, n, 9.0), lambda np, a, p, n: (
        9 + np.sqrt(((a - p) ** 2).sum(1)) - np.sqrt(((a - n) ** 2).sum(1))), real(4, 3), real(4, 3), real(4, 3), atol=1e-4),
]  # fmt: skip


BAD = [
    bad_functional("mse_loss", lambda F, x: F.mse_loss(x, x, reduction="median"), real(3), error="ValueError"),
    bad_functional("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(3, 2), _CLASSES, error="IndexError", values=True),
    bad_functional("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(2, 3), _CLASSES, error="ValueError"),
    bad_functional("nll_loss", lambda F, x, t: F.nll_loss(x, t), real(3, 3), real(3)),
    bad_functional("cross_entropy", lambda F, x, t: F.cross_entropy(x, t), real(3, 2), _CLASSES, error="IndexError", values=True),
    bad_functional("cross_entropy", lambda F, x, t, w: F.cross_entropy(x, t, w), real(3, 3), _CLASSES, real(2)),
    bad_functional("cross_entropy", lambda F, x, t: F.cross_entropy(x, t, label_smoothing=2.0), real(3, 3), _CLASSES),
    bad_functional("binary_cross_entropy", lambda F, x, y: F.binary_cross_entropy(x, y), fixed([1.5]), fixed([1.0])),
    bad_functional("binary_cross_entropy", lambda F, x, y: F.binary_cross_entropy(x, y), real(3), real(2), error="ValueError"),
    bad_functional(
        "binary_cross_entropy_with_logits",
        lambda F, x, y: F.binary_cross_entropy_with_logits(x, y),
        real(3),
        real(2),
        error="ValueError",
    ),
    bad_functional("huber_loss", lambda F, x: F.huber_loss(x, x, delta=0.0), real(3)),
    bad_functional("smooth_l1_loss", lambda F, x: F.smooth_l1_loss(x, x, beta=-1.0), real(3)),
    bad_functional("gaussian_nll_loss", lambda F, x: F.gaussian_nll_loss(x, x, -1.0), real(3), error="ValueError"),
    bad_functional("multi_margin_loss", lambda F, x, t: F.multi_margin_loss(x, t, p=3), real(3, 3), _CLASSES, error="ValueError"),
    bad_functional("triplet_margin_loss", lambda F, x: F.triplet_margin_loss(x, x, x, margin=-1.0), real(3, 2),
        error="ValueError"),
    bad_functional("margin_ranking_loss", lambda F, x, y: F.margin_ranking_loss(x, y, x), real(3, 2), real(3)),
]  # fmt: skip

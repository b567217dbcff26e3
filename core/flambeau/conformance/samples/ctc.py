"""Connectionist temporal classification."""

from __future__ import annotations

import itertools
from typing import Any

from .loss import log_softmax
from .sample import WIDE, Sample, bad_functional, fixed, real, torch_function

__all__ = ["BAD", "SAMPLES"]


def _ctc(np: Any, log_probs: Any, labels: Any, blank: int = 0) -> Any:
    """Return the negative log-likelihood of labels, with probabilities summed over all alignments."""
    time, classes = log_probs.shape
    total = 0.0
    for walk in itertools.product(range(classes), repeat=time):
        merged = [label for i, label in enumerate(walk) if i == 0 or label != walk[i - 1]]
        if [label for label in merged if label != blank] == list(labels):
            total += np.exp(sum(log_probs[t, label] for t, label in enumerate(walk)))
    return -np.log(total)


SAMPLES = [
    Sample("nn.functional.ctc_loss",
           lambda torch, x: torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 1], [2, 0]]), (4, 3), (2, 1),
                                                         reduction="none"),
           [real(4, 2, 3)],
           lambda np, x: np.array([_ctc(np, log_softmax(np, x[:, 0]), [1, 1]), _ctc(np, log_softmax(np, x[:3, 1]), [2])]),
           WIDE,
           grad=False),
    Sample("nn.functional.ctc_loss",
           lambda torch, x: torch.nn.functional.ctc_loss(x.log_softmax(-1), torch.tensor([0, 1]), torch.tensor(3),
                                                         torch.tensor(2), blank=2),
           [real(3, 3)], lambda np, x: _ctc(np, log_softmax(np, x), [0, 1], 2) / 2, WIDE, grad=False),
    torch_function("ctc_loss", lambda f, x, y: f(x.log_softmax(2), y, (1,), (1,)),
        lambda np, x, y: np.log(np.exp(x).sum(2))[0] - x[0, :, 1], real(1, 1, 3), fixed([[1]], "int64"), vmap=False, grad=False),
]  # fmt: skip


BAD = [
    bad_functional("ctc_loss", lambda F, x, t: F.ctc_loss(x, t, (9,), (2,)), real(4, 1, 3), fixed([[1, 2]], "int64")),
    bad_functional("ctc_loss", lambda F, x, t: F.ctc_loss(x, t, (4,), (2,), blank=3), real(4, 1, 3), fixed([[1, 2]], "int64")),
]  # fmt: skip

"""Adaptive softmax, for large numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax over many classes and its loss; cheap for frequent classes, which must have the lowest numbers.

    The classes from one cutoff to the next form a cluster. The head has one output for each class below `cutoffs[0]` and
    one for each cluster. The smaller layer of a cluster is computed only for targets in that cluster.

    Grave et al., *Efficient softmax approximation for GPUs*, 2016.

    Args:
        in_features: the size of the last dimension of the input.
        n_classes: the number of classes. Number them by frequency: class 0 is the most frequent.
        cutoffs: the first class of each cluster, ascending, from 1 to `n_classes - 1`; ValueError for others.
        div_value: the layer of cluster i (from 1) goes through a projection to `in_features // div_value ** i`
            features.
        head_bias: whether the head has a learned bias.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(N, in_features)` or `(in_features,)`.
        - Target: `(N,)` or `()`, classes from 0 to `n_classes - 1`; RuntimeError for others.
        - Output: `(N,)` or `()`, the log-probability of each target. It is the first of two results; the second,
          `loss`, is minus the mean of the first. `log_prob(input)` gives the log-probabilities `(N, n_classes)` of all
          classes, `predict(input)` the most likely class of each row, `(N,)`.

    Example:
        >>> softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 1000, cutoffs=[20, 200])
        >>> output, loss = softmax(torch.randn(8, 16), torch.randint(1000, (8,)))
        >>> output.shape, loss.shape, softmax.log_prob(torch.randn(8, 16)).shape
        (torch.Size([8]), torch.Size([]), torch.Size([8, 1000]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        are_integers = all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not are_integers or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(pairwise(self.cutoffs), start=1):
            hidden = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new initial values for all parameters."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for linear in cluster.children():
                linear.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        is_batched = target_.dim() == 1
        input, target = (input_, target_) if is_batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        head = F.log_softmax(self.head(input), dim=1)
        head_target = target.clone()  # index of the head's output: the class if below cutoffs[0], or its cluster
        cluster_log_prob = torch.zeros_like(head[:, 0])
        for number, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            head_target[rows] = self.shortlist_size + number
            cluster = F.log_softmax(self.tail[number](input[rows]), dim=1)
            cluster_log_prob = cluster_log_prob.index_add(
                0, rows, cluster.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            )
        output = head.gather(1, head_target.unsqueeze(1)).squeeze(1) + cluster_log_prob
        return _ASMoutput(output if is_batched else output.squeeze(0), (-output).mean())

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, "
                f"but found inputs with size {input.size()}"
            )
        if ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, of shape `(N, n_classes)`."""
        return self._full_log_prob(input, self.head(input))

    def _full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, projection in enumerate(self.tail):
            cluster_log_prob = head[:, self.shortlist_size + number].unsqueeze(1)
            parts.append(F.log_softmax(projection(input), dim=1) + cluster_log_prob)
        return torch.cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """Return `log_prob(input).argmax(dim=1)`; clusters are computed only for rows in which the head chooses a cluster."""
        head_output: Tensor = self.head(input)
        output = head_output.argmax(dim=1)
        undecided = output >= self.shortlist_size
        if undecided.any():
            output[undecided] = self._full_log_prob(input[undecided], head_output[undecided]).argmax(dim=1)
        return output

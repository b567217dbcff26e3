"""L-BFGS, the limited-memory quasi-Newton method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names

from . import check
from .first_order import Scalar, real_view
from .line_search import Point, StrongWolfe
from .optimizer import Optimizer, Params, State

__all__ = ["LBFGS"]
__getattr__ = private_names(__name__)


class LBFGS(Optimizer):
    """L-BFGS, a quasi-Newton method: past updates give an estimate of the curvature, so it needs few, long steps.

    It is for smooth losses computed on all the data. One `step` makes up to `max_iter` iterations and calls the closure
    several times. It needs `2 * history_size` times the memory of the parameters. Only one parameter group on one
    device is supported.

    The algorithm is that of Schmidt's [minFunc](https://www.cs.ubc.ca/~schmidtm/Software/minFunc.html).

    Args:
        params: the tensors or named tensors to optimize.
        lr: step length, or with a line search the first length to try.
        max_iter: maximum number of iterations in a step.
        max_eval: maximum number of closure calls in a step; None for `max_iter * 5 // 4`.
        tolerance_grad: the step ends when the largest absolute gradient element is at most this.
        tolerance_change: the step ends when the loss or all parameters change by less than this.
        history_size: number of past updates from which the curvature is estimated.
        line_search_fn: `"strong_wolfe"` for a line search, None for steps of a fixed length.

    Raises:
        ValueError: an option is out of range, or there are several parameter groups.
        RuntimeError: from `step`, for another line search.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
        >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - torch.tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        20.0
        >>> [round(x, 3) for x in w.tolist()]
        [1.0, 2.0]
    """

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check.lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        check.that(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Do up to `max_iter` iterations.

        Args:
            closure: computes the loss, with its gradients, and returns it.

        Returns:
            The loss of the first closure call.
        """
        closure = torch.enable_grad()(closure)
        group = self.param_groups[0]
        lr, max_iter, max_eval = group["lr"], group["max_iter"], group["max_eval"]
        lr = lr.squeeze() if isinstance(lr, Tensor) else lr
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]  # for all parameters; loading a checkpoint casts it to the first one's dtype
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, grad, evals = float(first_loss), self._flat_grad(), 1
        state["func_evals"] += 1
        if _largest(grad) <= tolerance_grad:
            return first_loss
        memory = {name: state.get(name) for name in _PERSISTENT}
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            direction = _next_direction(state, memory, grad, group["history_size"])
            last_loss = loss
            t = lr if state["n_iter"] > 1 else min(1.0, 1.0 / grad.abs().sum()) * lr  # type: ignore[operator]
            memory.update(d=direction, t=t, prev_flat_grad=grad, prev_loss=loss)
            slope = grad.dot(direction)
            if slope > -tolerance_change:
                break
            new_evals = 0
            if group["line_search_fn"] is not None:
                search = self._line_search(closure, Point(0.0, loss, grad, slope), direction, max_eval - evals)
                t, loss, grad, _ = search.search(t)
                new_evals = search.evals
                self._move(direction, t)
            else:
                self._move(direction, t)
                if iteration < max_iter:
                    loss, grad, new_evals = float(closure()), self._flat_grad(), 1
            memory["t"] = t
            state["func_evals"] += new_evals
            evals += new_evals
            if (
                evals >= max_eval
                or _largest(grad) <= tolerance_grad
                or _largest(direction * t) <= tolerance_change
                or abs(loss - last_loss) < tolerance_change
            ):
                break
        state.update(memory)
        return first_loss

    def _flat_grad(self) -> Tensor:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._params]
        return torch.cat([real_view(grad.to_dense() if grad.is_sparse else grad).reshape(-1) for grad in grads])

    def _move(self, direction: Tensor, t: Scalar) -> None:
        params = [real_view(p) for p in self._params]
        for p, piece in zip(params, direction.split([p.numel() for p in params]), strict=True):
            p.add_(piece.view_as(p), alpha=t)

    def _line_search(self, closure: Callable[[], Any], start: Point, direction: Tensor, max_evals: int) -> StrongWolfe:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [p.clone() for p in self._params]

        def evaluate(t: Scalar) -> Point:
            self._move(direction, t)
            loss, grad = float(closure()), self._flat_grad()
            for p, value in zip(self._params, origin, strict=True):
                p.copy_(value)
            return Point(t, loss, grad, grad.dot(direction))

        return StrongWolfe(evaluate, start, _largest(direction), max_evals)


def _largest(x: Tensor) -> Tensor:
    largest: Tensor = x.abs().max()
    return largest


_PERSISTENT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")  # state kept between steps


def _next_direction(state: State, memory: State, grad: Tensor, history_size: int) -> Tensor:
    """Return minus the gradient times the estimated inverse Hessian, by the two-loop recursion."""
    if state["n_iter"] == 1:
        memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -grad
    changes, steps, ro = memory["old_dirs"], memory["old_stps"], memory["ro"]
    change, step = grad - memory["prev_flat_grad"], memory["d"] * memory["t"]
    curvature = change.dot(step)
    if curvature > 1e-10:
        if len(changes) == history_size:
            for history in (changes, steps, ro):
                history.pop(0)
        changes.append(change)
        steps.append(step)
        ro.append(1.0 / curvature)
        memory["H_diag"] = curvature / change.dot(change)
    coefficients = state.setdefault("al", [None] * history_size)
    direction: Tensor = -grad
    for i in reversed(range(len(changes))):
        coefficients[i] = steps[i].dot(direction) * ro[i]
        direction.add_(changes[i], alpha=-coefficients[i])
    direction = direction * memory["H_diag"]
    for i in range(len(changes)):
        direction.add_(steps[i], alpha=coefficients[i] - changes[i].dot(direction) * ro[i])
    return direction

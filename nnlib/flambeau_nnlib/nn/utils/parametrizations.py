"""Orthogonal, weight-normalized and spectrally normalized parameters, as parametrizations."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, output_dim
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Maps matrices `(*, n, m)` to matrices with orthonormal columns (rows if n < m).

    "matrix_exp" and "cayley" map skew-symmetric matrices to square orthogonal ones, "householder" uses the lower
    triangle as Householder reflectors. With `use_trivialization`, the result is multiplied by `base`, so that any
    orthogonal value can be assigned.
    """

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        if is_wide:
            X = X.mT
        Q = self._householder(X) if self.orthogonal_map == "householder" else self._from_skew(X)
        if self.use_trivialization:
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _from_skew(self, X: Tensor) -> Tensor:
        rows, columns = X.shape[-2:]
        lower = X.tril()
        if rows != columns:
            lower = torch.cat([lower, lower.new_zeros(*X.shape[:-1], rows - columns)], dim=-1)
        A = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            Q = torch.matrix_exp(A)
        else:
            identity = torch.eye(rows, dtype=A.dtype, device=A.device)
            Q = torch.linalg.solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :columns]

    def _householder(self, X: Tensor) -> Tensor:
        reflectors = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (reflectors * reflectors).sum(dim=-2))
        signs = X.diagonal(dim1=-2, dim2=-1).detach().trunc()
        return torch.linalg.householder_product(reflectors, tau) * signs.unsqueeze(-2)

    @torch.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return a tensor that maps to Q, or to an orthogonal matrix near Q; with `use_trivialization`, `base` becomes Q."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        is_wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if is_wide else Q
        if not self.use_trivialization:
            X = self._reflectors_of(tall)
            return X.mT if is_wide else X
        self.base = self._square_base(tall)
        negative_identity = torch.zeros_like(Q)
        negative_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative_identity

    def _reflectors_of(self, Q: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                "when use_trivialization=False."
            )
        X: Tensor
        X, tau = torch.geqrf(Q)
        diagonal = X.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return X

    def _square_base(self, Q: Tensor) -> Tensor:
        rows, columns = Q.shape[-2:]
        if rows == columns and is_orthogonal(Q):
            return Q.clone()
        if rows != columns:
            random_columns = torch.randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
            Q = torch.cat([Q, random_columns], dim=-1)
        Q, R = torch.linalg.qr(Q)
        base: Tensor = Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        return base


def is_orthogonal(Q: Tensor) -> bool:
    identity = torch.eye(Q.size(-1), dtype=Q.dtype, device=Q.device)
    return torch.allclose(Q.mH @ Q, identity, atol=10.0 * Q.size(-2) * torch.finfo(Q.dtype).eps)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix, or a batch of matrices, orthogonal: its columns, or its rows if these are fewer, are orthonormal.

    Lezcano-Casado and Martinez-Rubio, [Cheap Orthogonal Constraints in Neural Networks](https://arxiv.org/abs/1901.08428),
    2019; for `use_trivialization` Lezcano-Casado, [Trivializations for Gradient-Based Optimization on
    Manifolds](https://arxiv.org/abs/1909.09501), 2019.

    Args:
        module: the module that has the tensor; it is changed, and returned.
        name: the name of the parameter or buffer, of shape `(*, n, m)`.
        orthogonal_map: how learned elements become an orthogonal matrix: `"matrix_exp"` and `"cayley"` map a
            skew-symmetric matrix, `"householder"` multiplies reflections (real tensors only). None for
            `"matrix_exp"` if the matrices are square or complex, and `"householder"` otherwise.
        use_trivialization: multiply by a fixed orthogonal matrix, so that any orthogonal value can be assigned and
            the map starts from zero. It costs a second matrix, kept as a buffer.

    Raises:
        ValueError: the module has no such tensor, it has fewer than two dimensions, the map is unknown, or the tensor is
            complex and the map is `"householder"`.

    Example:
        >>> layer = orthogonal(torch.nn.Linear(20, 40))
        >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(20), atol=1e-5)
        True
    """
    weight = get_tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the magnitude g and the direction v of a weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Learn the magnitude and the direction of a parameter separately: `weight = g * v / |v|`.

    The learned tensors are `parametrizations.<name>.original0`, the magnitude g, and `original1`, the direction v.
    Checkpoints of the older `nn.utils.weight_norm` can be loaded.

    Salimans and Kingma, [Weight Normalization: A Simple Reparameterization to Accelerate Training of Deep Neural
    Networks](https://arxiv.org/abs/1602.07868), 2016.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        dim: each slice along this dimension has a separate magnitude; None for one magnitude of the whole tensor.

    Raises:
        ValueError: the module has no such parameter.

    Example:
        >>> weight_norm(torch.nn.Linear(20, 40)).parametrizations.weight.original0.shape
        torch.Size([40, 1])
    """

    def rename_legacy_keys(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        legacy_keys = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in legacy_keys):
            for number, key in enumerate(legacy_keys):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(rename_legacy_keys)
    return module


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value; each forward in training refines the singular vectors `_u` and `_v`."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for name, length in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(length).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    @torch.no_grad()
    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        for _ in range(iterations):
            self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(torch.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:  # the singular value of a vector is its norm
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # copies for the backward: the next forward changes the buffers in place
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return `value` unchanged: it is normalized when it is read."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Normalize a parameter so that its largest singular value is 1; the rows of the matrix are the slices along `dim`.

    The singular value is estimated by power iterations: 15 at first, and more whenever the parameter is computed in
    training. A vector is divided by its norm.

    Miyato, Kataoka, Koyama and Yoshida, [Spectral Normalization for Generative Adversarial
    Networks](https://arxiv.org/abs/1802.05957), 2018.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        n_power_iterations: the number of power iterations of each computation in training, at least 1.
        eps: lower bound of the norms by which vectors are divided.
        dim: the dimension of the outputs; None for 1 with transposed convolutions and 0 otherwise.

    Raises:
        ValueError: the module has no such parameter, or `n_power_iterations` is less than 1.
        IndexError: the parameter has no such dimension.

    Example:
        >>> layer = spectral_norm(torch.nn.Linear(20, 40))
        >>> abs(torch.linalg.matrix_norm(layer.weight, 2).item() - 1.0) < 0.1
        True
    """
    weight = get_tensor(module, name)
    dim = output_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def get_tensor(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor

"""Random sparse tensors for measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .fuzzer import FuzzedTensor

__all__ = ["FuzzedSparseTensor"]


class FuzzedSparseTensor(FuzzedTensor):
    """A random sparse COO tensor. The parameters `density`, `coalesced` and `sparse_dim` determine its structure.

    Args:
        name: the name of the tensor.
        size: the sizes: ints or names of parameters.
        min_elements: the minimum number of elements. Parameters that violate a limit are drawn again.
        max_elements: the maximum number of elements.
        dim_parameter: the name of a parameter that gives the number of dimensions.
        sparse_dim: if given, the parameter `sparse_dim` is the number of sparse dimensions; otherwise all are sparse.
        nnz: unused, as in PyTorch.
        density: the name of the parameter that gives the fraction of specified elements.
        coalesced: the name of the parameter that determines whether indices are unique.
        dtype: the dtype of the tensor.
        cuda: whether to create the tensor on the CUDA device.

    Example:
        >>> from flambeau.utils.benchmark import FuzzedParameter, Fuzzer
        >>> parameters = [
        ...     FuzzedParameter("density", distribution={0.5: 1.0}),
        ...     FuzzedParameter("coalesced", distribution={True: 1.0}),
        ... ]
        >>> fuzzer = Fuzzer(parameters, [FuzzedSparseTensor("x", (4, 6), density="density", coalesced="coalesced")], seed=0)
        >>> [properties["x"]["is_coalesced"] for _, properties, _ in fuzzer.take(1)]
        [True]
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | None = None,
        nnz: str | None = None,
        density: str | None = None,
        coalesced: str | None = None,
        dtype: torch.dtype = torch.float32,
        cuda: bool = False,
    ) -> None:
        super().__init__(
            name, size, min_elements=min_elements, max_elements=max_elements, dim_parameter=dim_parameter, dtype=dtype, cuda=cuda
        )
        self._density, self._coalesced, self._sparse_dim = density, coalesced, sparse_dim

    @staticmethod
    def sparse_tensor_constructor(
        size: Sequence[int] | int, dtype: torch.dtype, sparse_dim: int, nnz: int, is_coalesced: bool
    ) -> torch.Tensor:
        """Create a tensor with `nnz` random indices. Unless `is_coalesced`, each index occurs twice."""
        size = [size] * sparse_dim if isinstance(size, int) else size
        if all(size[dim] <= 0 for dim in range(sparse_dim)) and nnz:
            raise AssertionError("invalid arguments")
        values = FuzzedTensor.default_tensor_constructor([nnz, *size[sparse_dim:]], dtype)
        positions = torch.rand(sparse_dim, nnz, device="cpu")
        positions.mul_(torch.tensor(size[:sparse_dim]).unsqueeze(1).to(positions))
        indices = positions.to(torch.long)
        if not is_coalesced:
            values, indices = torch.cat([values, torch.randn_like(values)], 0), torch.cat([indices, indices], 1)
        tensor: torch.Tensor = torch.sparse_coo_tensor(indices, values, torch.Size(size))
        return tensor.coalesce() if is_coalesced else tensor

    def _make_tensor(self, params: dict[str, Any], state: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        size, _, _ = self._get_size_and_steps(params)
        density = params["density"]
        nnz = math.ceil(sum(size) * density)
        if nnz > sum(size):
            raise AssertionError("nnz cannot exceed total number of elements")
        sparse_dim = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        tensor = self.sparse_tensor_constructor(size, self._dtype, sparse_dim, nnz, params["coalesced"])
        if self._cuda:
            tensor = tensor.cuda()
        return tensor, {
            "numel": int(tensor.numel()),
            "shape": tensor.size(),
            "is_coalesced": tensor.is_coalesced(),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": tensor.sparse_dim(),
            "dense_dim": tensor.dense_dim(),
            "is_hybrid": len(size[sparse_dim:]) > 0,
            "dtype": str(self._dtype),
        }

"""Translate `torch.nn.functional.interpolate` in scripted code to operator calls."""

from __future__ import annotations

__all__ = ["interpolation"]

_SMOOTH = {"linear": (1, "upsample_linear1d"), "bilinear": (2, "upsample_bilinear2d"), "bicubic": (2, "upsample_bicubic2d"),
           "trilinear": (3, "upsample_trilinear3d")}  # fmt: skip
# Code for "nearest", "nearest-exact" and "area": these have one operator per number of dimensions, and the number of
# dimensions is unknown until the code runs.
_HEAD = """def {name}(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]]) -> Tensor:
  dims = torch.dim(input) - 2
  if size is not None:
    if torch.len(size) == 1:
      size = size * dims
  if factors is not None:
    if torch.len(factors) == 1:
      factors = factors * dims
"""
_BRANCHES = """  if dims == 1:
    result = torch.{operator}1d(input, {arguments})
  elif dims == 2:
    result = torch.{operator}2d(input, {arguments})
  else:
    result = torch.{operator}3d(input, {arguments})
  return result"""
_AREA = """  sizes = annotate(List[int], [])
  for dim in range(dims):
    if size is not None:
      torch.append(sizes, size[dim])
    elif factors is not None:
      torch.append(sizes, int(torch.size(input, dim + 2) * factors[dim]))
"""
_OPERATORS = {
    "nearest": _BRANCHES.format(operator="upsample_nearest", arguments="size, factors"),
    "nearest-exact": _BRANCHES.format(operator="_upsample_nearest_exact", arguments="size, factors"),
    "area": _AREA + _BRANCHES.format(operator="adaptive_avg_pool", arguments="sizes"),
}


def interpolation(
    mode: str, input: str, size: list[str] | str, factors: list[str] | str, align: str, antialias: bool = False
) -> tuple[str, str]:
    """Return the code of a call of `interpolate`, and the definition of its helper function, or "" if it needs none.

    Args:
        mode: the interpolation mode.
        input, align: the code of the arguments `input` and `align_corners`.
        size, factors: a list with the code of one element per dimension, or of one element for all dimensions; or the code
            of an entire list, as a string; or `"None"`.
        antialias: whether to apply antialiasing when downsampling.

    Raises:
        TypeError: the mode has no operator.
    """
    if mode in _SMOOTH:
        dims, operator = _SMOOTH[mode]
        size, factors = (part * dims if isinstance(part, list) and len(part) == 1 else part for part in (size, factors))
        operator = f"_{operator}_aa" if antialias else operator
        return f"torch.{operator}({input}, {_code(size)}, {align}, {_code(factors)})", ""
    if mode not in _OPERATORS or antialias:
        raise TypeError(f"torch.nn.functional.interpolate with the mode {mode!r} cannot be written as TorchScript")
    name = "interpolate_" + mode.replace("-", "_")
    return f"{name}({input}, {_code(size)}, {_code(factors)})", _HEAD.format(name=name) + _OPERATORS[mode]


def _code(part: list[str] | str) -> str:
    return part if isinstance(part, str) else f"[{', '.join(part)}]"

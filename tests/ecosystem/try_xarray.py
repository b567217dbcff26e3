"""xarray: tensors become NumPy arrays."""

import torch
import xarray as xr

x = xr.DataArray(torch.arange(6.0).reshape(3, 2), dims=("time", "space"))
print(type(x.data).__name__, x.mean("space").values, float(x[2, 1]), x.shape, x.sizes)
print(xr.Dataset({"a": x}).sum()["a"].item(), x.transpose("space", "time").values.tolist())

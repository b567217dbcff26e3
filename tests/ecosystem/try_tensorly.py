"""tensorly: decompositions of tensors with the PyTorch backend."""

import numpy as np
import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker
from tensorly.regression import CPRegressor

tl.set_backend("pytorch")
x = tl.tensor(np.random.RandomState(0).rand(4, 5, 6), requires_grad=True)
print(type(x).__module__.split(".")[0] in ("torch", "flambeau"), tl.get_backend())
factors = parafac(x.detach(), rank=3, init="svd", n_iter_max=20, random_state=0)
print(f"{tl.norm(tl.cp_to_tensor(factors) - x.detach()).item():.4f}", [tuple(f.shape) for f in factors.factors])
core, parts = tucker(x.detach(), rank=[2, 3, 3], n_iter_max=10, random_state=0)
print(tuple(core.shape), f"{tl.norm(tl.tucker_to_tensor((core, parts)) - x.detach()).item():.4f}")
print([tuple(part.shape) for part in tensor_train(x.detach(), rank=[1, 3, 2, 1])])
positive = non_negative_parafac(x.detach(), rank=2, init="svd", n_iter_max=10, random_state=0)
print(f"{tl.norm(tl.cp_to_tensor(positive)).item():.4f}", all(bool((f >= 0).all()) for f in positive.factors))
tl.norm(tl.tenalg.mode_dot(x, tl.ones((2, 5), dtype=x.dtype), 1)).backward()
print(
    f"{x.grad.sum().item():.4f}",
    tuple(tl.unfold(x, 1).shape),
    tuple(tl.tenalg.khatri_rao([torch.ones(2, 3), torch.ones(4, 3)]).shape),
)
print(CPRegressor(weight_rank=1, n_iter_max=2, random_state=0, verbose=0).get_params()["weight_rank"])

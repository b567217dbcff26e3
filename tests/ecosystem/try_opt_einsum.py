"""opt_einsum: contraction paths, and contraction with torch functions."""

import opt_einsum
import torch

a, b, c = (torch.arange(float(n * m)).reshape(n, m) for n, m in ((3, 4), (4, 5), (5, 2)))
print(opt_einsum.contract("ij,jk,kl->il", a, b, c).tolist())
print(opt_einsum.contract_expression("ij,jk->ik", (3, 4), (4, 5))(a, b).sum().item())
print(torch.einsum("ij,jk,kl->il", a, b, c).sum().item(), opt_einsum.contract_path("ij,jk,kl->il", a, b, c)[0])

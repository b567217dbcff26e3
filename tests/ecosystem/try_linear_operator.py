"""linear_operator: structured matrices, their solves and derivatives."""

import linear_operator
import torch

torch.manual_seed(0)
root = torch.randn(5, 2, requires_grad=True)
A = linear_operator.operators.RootLinearOperator(root).add_diagonal(torch.full((5,), 0.5))
b = torch.arange(5.0)
print(type(A).__name__, tuple(A.shape), type(A @ A).__name__)
print([round(value, 4) for value in torch.linalg.solve(A, b.unsqueeze(-1)).flatten().tolist()])
print(f"{A.logdet().item():.4f} {(b @ (A @ b)).item():.4f} {torch.ones(3, 5).matmul(A.to_dense()).sum().item():.4f}")
A.inv_quad(b.unsqueeze(-1)).backward()
print(f"{root.grad.norm().item():.4f}")
K = linear_operator.operators.KroneckerProductLinearOperator(
    linear_operator.to_linear_operator(torch.eye(2) * 2), linear_operator.to_linear_operator(torch.ones(2, 2) + torch.eye(2))
)
print(K.to_dense().sum().item(), (torch.ones(4) @ K).tolist(), (2 * K + K).diagonal().tolist())

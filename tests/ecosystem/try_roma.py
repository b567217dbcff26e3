"""roma: rotations in three dimensions."""

import roma
import torch

torch.manual_seed(0)
vectors = torch.randn(4, 3, requires_grad=True)
matrices = roma.rotvec_to_rotmat(vectors)
quaternions = roma.rotmat_to_unitquat(matrices)
print(f"{matrices.abs().sum().item():.4f} {quaternions.abs().sum().item():.4f}")
matrices[:, 0].sum().backward()
print(f"{vectors.grad.norm().item():.4f}", torch.allclose(roma.unitquat_to_rotmat(quaternions), matrices, atol=1e-5))
print(f"{roma.special_procrustes(torch.randn(2, 3, 3)).abs().sum().item():.4f}")
print(f"{roma.rotmat_geodesic_distance(matrices[:2], matrices[2:]).sum().item():.4f}")
print(f"{roma.unitquat_slerp(quaternions[0], quaternions[1], torch.tensor([0.3, 0.6])).abs().sum().item():.4f}")
print([f"{angle:.4f}" for angle in roma.rotmat_to_euler("xyz", matrices[0].detach())])

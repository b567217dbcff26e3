"""denoising-diffusion-pytorch: the loss of a small diffusion model, and a few steps of sampling."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D

torch.manual_seed(0)
diffusion = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), flash_attn=False), image_size=16, timesteps=20, sampling_timesteps=3)
loss = diffusion(torch.rand(2, 3, 16, 16))
loss.backward()
print(f"{loss.item():.5f} {sum(p.grad.norm().item() for p in diffusion.parameters() if p.grad is not None):.4f}")
images = diffusion.sample(batch_size=2)
print(tuple(images.shape), f"{images.mean().item():.5f}")
sequence = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=10)
print(f"{sequence(torch.rand(2, 4, 16)).item():.5f}")

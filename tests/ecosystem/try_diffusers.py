"""diffusers: a denoising pipeline with a small UNet, schedulers, a training step, an autoencoder, saving and loading."""

import tempfile

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    PNDMScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel

torch.manual_seed(0)
blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
unet = UNet2DModel(
    sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64), norm_num_groups=8, **blocks
)
print(sum(p.numel() for p in unet.parameters()), type(unet.mid_block.attentions[0]).__name__)

scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
rate = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=10)
averaged = EMAModel(unet.parameters(), decay=0.9)
images = torch.rand(4, 3, 16, 16) * 2 - 1
for _ in range(3):
    noise, steps = torch.randn(images.shape), torch.randint(0, 100, (4,))
    predicted = unet(scheduler.add_noise(images, noise, steps), steps).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    rate.step()
    optimizer.zero_grad()
    averaged.step(unet.parameters())
    print(f"{loss.item():.5f} {norm.item():.5f} {rate.get_last_lr()[0]:.6f}")

pipeline = DDPMPipeline(unet, scheduler)
pipeline.set_progress_bar_config(disable=True)
image = pipeline(generator=torch.Generator().manual_seed(1), num_inference_steps=5, output_type="np").images
print(image.shape, f"{image.mean():.5f} {image.std():.5f}")
for kind in (DDIMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler, PNDMScheduler):
    solver = kind.from_config(scheduler.config)
    solver.set_timesteps(6)
    x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(2)) * solver.init_noise_sigma
    with torch.no_grad():
        for step in solver.timesteps:
            x = solver.step(unet(solver.scale_model_input(x, step), step).sample, step, x).prev_sample
    print(kind.__name__, f"{x.mean().item():.5f} {x.abs().mean().item():.5f}")

vae = AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=8,
)
code = vae.encode(images).latent_dist
print(tuple(code.mean.shape), f"{code.kl().mean().item():.4f}", f"{vae.decode(code.mode()).sample.abs().mean().item():.5f}")
conditional = UNet2DConditionModel(
    sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=16, attention_head_dim=8, norm_num_groups=8,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
)  # fmt: skip
print(f"{conditional(torch.randn(2, 4, 8, 8), 7, torch.randn(2, 5, 16)).sample.abs().mean().item():.5f}")
with tempfile.TemporaryDirectory() as folder:
    pipeline.save_pretrained(folder)
    again = DDPMPipeline.from_pretrained(folder)
    print(
        all(torch.equal(a, b) for a, b in zip(unet.parameters(), again.unet.parameters(), strict=True)),
        again.scheduler.config.num_train_timesteps,
    )

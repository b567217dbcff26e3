"""torchkbnufft: non-uniform Fourier transforms, adjoints, gradients, coil sensitivities and Toeplitz products."""

import torch
import torchkbnufft

torch.manual_seed(0)
size = (16, 16)
image = torch.randn(2, 3, *size, dtype=torch.complex64, requires_grad=True)
places = torch.rand(2, 50) * 6.28 - 3.14
transform, adjoint = torchkbnufft.KbNufft(im_size=size), torchkbnufft.KbNufftAdjoint(im_size=size)
measured = transform(image, places)
back = adjoint(measured, places)
back.abs().sum().backward()
print(
    tuple(measured.shape), f"{measured.abs().sum().item():.3f} {back.abs().sum().item():.2f} {image.grad.abs().sum().item():.2f}"
)
print(f"{torchkbnufft.calc_density_compensation_function(places, im_size=size).abs().sum().item():.4f}")
kernel = torchkbnufft.calc_toeplitz_kernel(places, im_size=size)
print(f"{torchkbnufft.ToepNufft()(image, kernel).abs().sum().item():.2f}")
coils = torch.randn(1, 3, *size, dtype=torch.complex64)
print(f"{transform(image[:, :1], places, smaps=coils).abs().sum().item():.3f}")
matrices = torchkbnufft.calc_tensor_spmatrix(places, im_size=size)
print(f"{transform(image, places, interp_mats=matrices).abs().sum().item():.3f}")

"""torchani: environment vectors of atoms, and energies and forces of a network potential with random weights."""

import warnings

warnings.simplefilter("ignore")

import torch  # noqa: E402
import torchani  # noqa: E402

torch.manual_seed(0)
symbols = ("H", "C", "O")
converter = torchani.nn.SpeciesConverter(symbols)
species = torch.tensor([[6, 1, 1, 8], [8, 1, 1, -1]])
coordinates = torch.randn(2, 4, 3, requires_grad=True)
indices, _ = converter((species, coordinates))
print(indices.tolist())
computer = torchani.AEVComputer.like_1x(num_species=3)
found = computer((indices, coordinates))
vectors = found.aevs if hasattr(found, "aevs") else found
print(tuple(vectors.shape), f"{vectors.sum().item():.4f}")
print(f"{torch.autograd.grad(vectors.square().sum(), coordinates)[0].abs().sum().item():.3f}")

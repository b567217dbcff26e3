"""facenet-pytorch: embeddings of faces with random weights."""

import torch
from facenet_pytorch import InceptionResnetV1, fixed_image_standardization

torch.manual_seed(0)
net = InceptionResnetV1(pretrained=None, classify=False).eval()
found = net(fixed_image_standardization(torch.rand(2, 3, 80, 80) * 255))
print(tuple(found.shape), f"{found.norm(dim=1).sum().item():.4f} {(found[0] @ found[1]).item():.3f}", len(list(net.parameters())))

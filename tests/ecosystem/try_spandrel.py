"""spandrel: the architecture of a network recognized from its weights."""

import torch
from spandrel import ModelLoader
from spandrel.architectures.Compact.__arch.SRVGG import SRVGGNetCompact
from spandrel.architectures.ESRGAN.__arch.RRDB import RRDBNet

for make in (lambda: SRVGGNetCompact(num_feat=8, num_conv=2, upscale=2), lambda: RRDBNet(num_filters=8, num_blocks=1, scale=2)):
    torch.manual_seed(0)
    found = ModelLoader().load_from_state_dict(make().state_dict())
    image = found(torch.rand(1, 3, 16, 16))
    print(found.architecture.name, found.scale, tuple(image.shape), f"{image.sum().item():.3f}")

"""segmentation-models-pytorch: decoders with ResNet and MobileNet encoders, and losses."""

import segmentation_models_pytorch as smp
import torch

DECODERS = ("Unet", "FPN", "Linknet", "PSPNet", "DeepLabV3Plus", "UnetPlusPlus", "MAnet", "Segformer", "UPerNet")
for name, encoder in [(name, "resnet18") for name in DECODERS] + [("Unet", "mobilenet_v2")]:
    torch.manual_seed(0)
    model = getattr(smp, name)(encoder, encoder_weights=None, classes=2).eval()
    found = model(torch.rand(1, 3, 64, 64))
    print(name, encoder, tuple(found.shape), f"{found.abs().sum().item():.3f}", sum(p.numel() for p in model.parameters()))
torch.manual_seed(0)
logits, wanted = torch.randn(2, 1, 8, 8, requires_grad=True), torch.randint(0, 2, (2, 1, 8, 8))
for name in ("DiceLoss", "JaccardLoss", "LovaszLoss", "FocalLoss", "TverskyLoss"):
    value = getattr(smp.losses, name)("binary")(logits, wanted)
    print(name, f"{value.item():.5f} {torch.autograd.grad(value, logits)[0].norm().item():.5f}")
counts = smp.metrics.get_stats((logits > 0).long(), wanted, mode="binary")
print([int(count.sum()) for count in counts], f"{smp.metrics.iou_score(*counts, reduction='micro').item():.5f}")

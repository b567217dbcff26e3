"""timm: architectures, their outputs and gradients, optimizers and schedulers."""

import timm
import timm.optim
import timm.scheduler
import torch

SIZES = {
    "resnet18": 64, "mobilenetv3_small_050": 64, "efficientnet_lite0": 64, "convnext_atto": 64, "regnetx_002": 64, "densenet121": 64,
    "ghostnet_050": 64, "lcnet_050": 64, "tinynet_e": 64, "repvgg_a0": 64, "mobileone_s0": 64, "fastvit_t8": 64, "efficientvit_b0": 64,
    "mobilevit_xxs": 64, "edgenext_xx_small": 64, "poolformer_s12": 64, "vit_tiny_patch16_224": 224, "deit_tiny_patch16_224": 224,
    "mixer_s32_224": 224, "resmlp_12_224": 224, "gmlp_ti16_224": 224, "levit_128s": 224, "pit_ti_224": 224, "xcit_nano_12_p16_224": 224,
    "coat_lite_tiny": 224, "eva02_tiny_patch14_224": 224, "test_nfnet": 64, "test_byobnet": 64, "test_mambaout": 64, "test_maxvit": 64,
}  # fmt: skip
for name, size in SIZES.items():
    torch.manual_seed(0)
    net = timm.create_model(name, pretrained=False, num_classes=5)
    net.eval()
    y = net(torch.linspace(-1, 1, 3 * size * size).reshape(1, 3, size, size))
    y.square().sum().backward()
    norm = sum(p.grad.double().square().sum() for p in net.parameters() if p.grad is not None).sqrt()
    print(name, sum(p.numel() for p in net.parameters()), [f"{v:.3e}" for v in y[0].tolist()], f"{norm.item():.3e}")
torch.manual_seed(0)
net = timm.create_model("resnet18", num_classes=2, features_only=True)
print([list(level.shape) for level in net(torch.ones(1, 3, 64, 64))], net.feature_info.channels())
model = torch.nn.Linear(4, 2)
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=0.1, weight_decay=0.05)
scheduler = timm.scheduler.CosineLRScheduler(optimizer, t_initial=10, warmup_t=2, warmup_lr_init=0.01)
for epoch in range(4):
    model(torch.ones(3, 4)).square().sum().backward()
    optimizer.step()
    scheduler.step(epoch + 1)
print([round(group["lr"], 6) for group in optimizer.param_groups], round(model.weight.sum().item(), 4))

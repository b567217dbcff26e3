"""MONAI: segmentation networks, losses, metrics, image transforms and sliding-window inference."""

import numpy as np
import torch
from monai import transforms
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss, TverskyLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import UNETR, AttentionUnet, BasicUNet, SegResNet, UNet

torch.manual_seed(0)
net, images = UNet(2, 1, 2, (4, 8, 16), (2, 2), num_res_units=1), torch.randn(2, 1, 32, 32)
labels, logits = torch.randint(0, 2, (2, 1, 32, 32)), net(images)
losses = [DiceLoss(to_onehot_y=True, softmax=True), DiceCELoss(to_onehot_y=True, softmax=True)]
losses += [FocalLoss(to_onehot_y=True), TverskyLoss(to_onehot_y=True, softmax=True)]
for loss in losses:
    value = loss(logits, labels)
    print(type(loss).__name__, f"{value.item():.5f}")
value.backward()
print(f"{torch.stack([p.grad.norm() for p in net.parameters()]).norm().item():.4f}")
found = sliding_window_inference(torch.randn(1, 1, 48, 48), (32, 32), 2, net, overlap=0.5, mode="gaussian")
print(tuple(found.shape), f"{found.abs().sum().item():.3f}")
others = [SegResNet(spatial_dims=2, init_filters=8, in_channels=1, out_channels=2), AttentionUnet(2, 1, 2, (4, 8, 16), (2, 2))]
others += [BasicUNet(2, 1, 2, (8, 8, 8, 8, 16, 8), norm=("group", {"num_groups": 2}))]
others += [UNETR(1, 2, (32, 32), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=4, spatial_dims=2)]
for other in others:
    print(type(other).__name__, f"{other(images).abs().sum().item():.3f}", sum(p.numel() for p in other.parameters()))

steps = [transforms.EnsureChannelFirst(channel_dim="no_channel"), transforms.ScaleIntensity(), transforms.Rotate90()]
steps += [transforms.Resize((16, 16)), transforms.Spacing((2.0, 2.0)), transforms.RandFlip(1.0)]
steps += [transforms.RandAffine(1.0, rotate_range=0.3), transforms.RandGaussianNoise(1.0)]
composed = transforms.Compose(steps)
composed.set_random_state(0)
picture = composed(np.arange(400, dtype=np.float32).reshape(20, 20))
print(type(picture).__name__, tuple(picture.shape), f"{picture.as_tensor().sum().item():.4f} {picture.affine.sum().item():.4f}")
predicted = torch.nn.functional.one_hot(logits.argmax(1), 2).movedim(-1, 1)
wanted = torch.nn.functional.one_hot(labels[:, 0], 2).movedim(-1, 1)
for metric in (DiceMetric(), HausdorffDistanceMetric()):
    metric(predicted, wanted)
    print(type(metric).__name__, f"{metric.aggregate().item():.5f}")

"""ttach: predictions averaged over flipped, rotated and scaled images."""

import torch
import ttach

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(4, 1, 3, padding=1)).eval()
classifier = torch.nn.Sequential(net, torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
images = torch.rand(2, 3, 8, 8)
with torch.no_grad():
    for merge in ("mean", "gmean", "sum", "max", "min", "tsharpen"):
        print(
            merge, f"{ttach.SegmentationTTAWrapper(net, ttach.aliases.d4_transform(), merge_mode=merge)(images + 2).nansum():.4f}"
        )
    transforms = ttach.Compose([ttach.Rotate90([0, 90]), ttach.Scale([1, 2]), ttach.Multiply([0.9, 1.1]), ttach.Add([0, 0.1])])
    print(len(transforms), [f"{value:.4f}" for value in ttach.ClassificationTTAWrapper(classifier, transforms)(images)[0]])
    print(f"{ttach.ClassificationTTAWrapper(classifier, ttach.aliases.five_crop_transform(4, 4))(images).sum():.4f}")
    for transform in (ttach.FiveCrops(4, 4), ttach.Resize([(5, 5)])):
        print(
            type(transform).__name__, f"{transform.apply_aug_image(images, **{transform.pname: transform.params[-1]}).sum():.4f}"
        )

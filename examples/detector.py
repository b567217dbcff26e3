"""Detect squares, discs and triangles: Faster R-CNN (Ren et al., 2015) with a small custom backbone.

python -m flambeau examples/detector.py --plot boxes.png
python -m flambeau examples/detector.py --epochs 12 --save shapes.pt
python -m flambeau examples/detector.py --start shapes.pt --epochs 2 --dark --plot boxes.png

The last command fine-tunes the model saved by the second one on very dark pictures.
"""

import argparse

import torch
import torchvision
from torch import nn
from torchvision import tv_tensors
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.ops import Conv2dNormActivation, MultiScaleRoIAlign, box_iou
from torchvision.transforms import v2

NAMES = ["background", "square", "disc", "triangle"]
SIDE = 64


class Scenes(torch.utils.data.Dataset):
    """A dataset of random shapes in random colours on noise, with their boxes. An index always gives the same picture."""

    def __init__(self, count, seed=0, dark=False, transform=None):
        self.count, self.seed, self.dark, self.transform = count, seed, dark, transform

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        random = torch.Generator().manual_seed(self.seed * 100_000 + index)
        picture = torch.rand(3, SIDE, SIDE, generator=random) * 0.3
        y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
        boxes, labels = [], []
        for _ in range(int(torch.randint(1, 4, (), generator=random))):
            label = int(torch.randint(1, 4, (), generator=random))
            size = int(torch.randint(12, 25, (), generator=random))
            left, top = torch.randint(0, SIDE - size, (2,), generator=random).tolist()
            box = torch.tensor([[left, top, left + size, top + size]])
            if boxes and box_iou(box.float(), torch.cat(boxes).float()).max() > 0:
                continue  # shapes must not overlap
            column, row = x - left, y - top
            inside = (column >= 0) & (column < size) & (row >= 0) & (row < size)
            if label == 2:
                inside &= (column + 0.5 - size / 2) ** 2 + (row + 0.5 - size / 2) ** 2 <= size**2 / 4
            if label == 3:
                inside &= (column + 0.5 - size / 2).abs() <= (row + 1) / 2
            colour = 0.5 + 0.5 * torch.rand(3, 1, 1, generator=random)
            picture = torch.where(inside, colour, picture)
            boxes.append(box)
            labels.append(label)
        picture = (picture * (50 if self.dark else 255)).to(torch.uint8)
        target = {
            "boxes": tv_tensors.BoundingBoxes(torch.cat(boxes).float(), format="XYXY", canvas_size=(SIDE, SIDE)),
            "labels": torch.tensor(labels),
        }
        return self.transform(tv_tensors.Image(picture), target) if self.transform else (picture, target)


def collate_lists(samples):
    """Collate samples to a list of pictures and a list of targets, since the number of boxes varies."""
    pictures, targets = zip(*samples, strict=True)
    return list(pictures), list(targets)


def make_detector():
    def halve(before, after):
        return nn.Sequential(Conv2dNormActivation(before, after, stride=2), Conv2dNormActivation(after, after))

    backbone = nn.Sequential(halve(3, 16), halve(16, 32), halve(32, 48))
    backbone.out_channels = 48
    return FasterRCNN(
        backbone,
        rpn_anchor_generator=AnchorGenerator(sizes=((12, 18, 24),), aspect_ratios=((1.0,),)),
        box_roi_pool=MultiScaleRoIAlign(["0"], output_size=5, sampling_ratio=2),
        box_head=TwoMLPHead(48 * 25, 128),
        box_predictor=FastRCNNPredictor(128, len(NAMES)),
        min_size=SIDE,
        max_size=SIDE,
        rpn_pre_nms_top_n_train=100,
        rpn_post_nms_top_n_train=50,
        rpn_pre_nms_top_n_test=100,
        rpn_post_nms_top_n_test=50,
        box_batch_size_per_image=32,
        box_score_thresh=0.5,
    )


def evaluate(model, scenes):
    """Return the recall (correct label and IoU >= 0.5) and the number of predicted boxes per shape."""
    model.eval()
    hits = boxes = shapes = 0
    for picture, target in scenes:
        with torch.no_grad():
            (result,) = model([picture])
        overlaps = box_iou(target["boxes"].as_subclass(torch.Tensor), result["boxes"])
        right = (overlaps >= 0.5) & (target["labels"][:, None] == result["labels"])
        hits, boxes, shapes = hits + int(right.any(1).sum()), boxes + len(result["boxes"]), shapes + len(overlaps)
    return hits / shapes, boxes / shapes


def draw(model, scenes, file, count=8):
    model.eval()
    pictures = []
    for picture, _ in (scenes[index] for index in range(count)):
        with torch.no_grad():
            (result,) = model([picture])
        pairs = zip(result["labels"].tolist(), result["scores"].tolist(), strict=True)
        names = [f"{NAMES[label]} {score:.0%}" for label, score in pairs]
        large = v2.functional.resize(picture.as_subclass(torch.Tensor), [4 * SIDE, 4 * SIDE], v2.InterpolationMode.NEAREST)
        drawn = torchvision.utils.draw_bounding_boxes(
            large, 4 * result["boxes"], names, colors="yellow", width=2, fill_labels=True
        )
        pictures.append(drawn)
    torchvision.utils.save_image(torchvision.utils.make_grid(pictures, nrow=4, padding=4), file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--scenes", type=int, default=240)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--dark", action="store_true", help="use very dark pictures")
    parser.add_argument("--start", help="fine-tune the detector in this file")
    parser.add_argument("--save", help="write the detector to this file")
    parser.add_argument("--plot", help="write pictures with the predicted boxes to this file")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    as_floats = v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)
    augment = v2.Compose(
        [
            v2.RandomHorizontalFlip(),
            v2.RandomPhotometricDistort(p=0.3),
            v2.RandomIoUCrop(min_scale=0.6, sampler_options=[0.7, 0.9, 1.0]),
            v2.Resize((SIDE, SIDE)),
            v2.SanitizeBoundingBoxes(min_size=5),
            as_floats,
        ]
    )
    training = Scenes(args.scenes, dark=args.dark, transform=augment)
    held_out = Scenes(50, seed=1, dark=args.dark, transform=as_floats)
    loader = torch.utils.data.DataLoader(training, args.batch_size, shuffle=True, collate_fn=collate_lists)
    model = make_detector()
    if args.start:
        model.load_state_dict(torch.load(args.start))
        print(f"before fine-tuning: {evaluate(model, held_out)[0]:.1%} of the held-out shapes found")
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(loader))
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for pictures, targets in loader:
            loss = sum(model(pictures, targets).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch:2d}  loss {total / len(loader):.3f}", flush=True)
    share, boxes = evaluate(model, held_out)
    print(f"{share:.1%} of the held-out shapes found, by {boxes:.2f} boxes for each shape")
    if args.save:
        torch.save(model.state_dict(), args.save)
    if args.plot:
        draw(model, held_out, args.plot)


if __name__ == "__main__":
    main()

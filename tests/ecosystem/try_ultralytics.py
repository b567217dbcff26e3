"""ultralytics: a small detector with random weights: forward, loss, predictions, non-maximum suppression, fused layers."""

import torch
from ultralytics import YOLO
from ultralytics.nn.modules import C2f, Conv
from ultralytics.utils import IterableSimpleNamespace, ops
from ultralytics.utils.metrics import bbox_iou
from ultralytics.utils.nms import non_max_suppression

torch.manual_seed(0)
yolo = YOLO("yolov8n.yaml", verbose=False)
net = yolo.model
print(type(net).__name__, sum(p.numel() for p in net.parameters()), net.stride.tolist())
images = torch.rand(2, 3, 64, 64)
net.args = IterableSimpleNamespace(box=7.5, cls=0.5, dfl=1.5)
batch = {"img": images, "batch_idx": torch.tensor([0.0, 1.0]), "cls": torch.tensor([[1.0], [3.0]]),
         "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.6, 0.2, 0.5]])}  # fmt: skip
loss, parts = net.train()(batch)
loss.sum().backward()
print({name: f"{value.item():.4f}" for name, value in parts.items()}, f"{net.model[0].conv.weight.grad.norm().item():.3f}")
net.eval()
with torch.no_grad():
    found = net(images)[0]
    print(tuple(found.shape), f"{found[:, :4].mean().item():.4f}")
    fused = net.fuse(verbose=False)(images)[0]
    print(bool(torch.allclose(found, fused, rtol=1e-3, atol=1e-3)))
boxes = torch.cat([torch.rand(1, 4, 200) * 60, torch.rand(1, 3, 200)], 1)
kept = non_max_suppression(boxes, conf_thres=0.5, iou_thres=0.4)[0]
print(tuple(kept.shape), f"{kept.sum().item():.3f}")
print(f"{bbox_iou(kept[:1, :4], kept[1:4, :4], CIoU=True).sum().item():.5f} {ops.xyxy2xywh(kept[:, :4]).sum().item():.3f}")
block = torch.nn.Sequential(Conv(3, 16, 3, 2), C2f(16, 16, 1, True)).eval()
print(f"{block(images).mean().item():.6f}")
result = yolo.predict((images[0] * 255).byte().permute(1, 2, 0).numpy(), imgsz=64, conf=0.0001, verbose=False)[0]
print(result.orig_shape, type(result.boxes.xyxy).__name__, result.boxes.shape[1])

"""Models for the tests of export formats."""

from __future__ import annotations

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = torch.flatten(F.max_pool2d(torch.tanh(self.conv2(x)), 2), 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Sentences(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.embedding, self.positions = nn.Embedding(30, 16), nn.Parameter(torch.randn(1, 12, 16) / 10)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions[:, : ids.size(1)]
        x = self.encoder(x, src_key_padding_mask=ids == 0)
        mask = (ids != 0).unsqueeze(-1).float()
        return F.normalize((x * mask).sum(1) / mask.sum(1).clamp(min=1e-9), dim=-1)


class Detector(nn.Module):
    """A detector that returns the ten best boxes of each image; `suppresses` adds non-maximum suppression for the first image."""

    def __init__(self, suppresses=False):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.1)
        )
        self.scores, self.offsets = nn.Conv2d(16, 12, 3, padding=1), nn.Conv2d(16, 12, 3, padding=1)
        self.register_buffer("anchors", torch.rand(192, 4))
        self.suppresses = suppresses

    def forward(self, x):
        features, n = self.backbone(x), x.shape[0]
        scores = self.scores(features).permute(0, 2, 3, 1).reshape(n, -1, 4).softmax(-1)
        offsets = self.offsets(features).permute(0, 2, 3, 1).reshape(n, -1, 4)
        centers = self.anchors[:, :2] + offsets[..., :2] * self.anchors[:, 2:]
        sizes = self.anchors[:, 2:] * torch.exp(offsets[..., 2:].clamp(max=4))
        boxes = torch.cat([centers - sizes / 2, centers + sizes / 2], -1)
        best, index = scores[..., 1:].max(-1)[0].topk(10, dim=1)
        chosen = boxes.gather(1, index.unsqueeze(-1).expand(-1, -1, 4))
        if not self.suppresses:
            return chosen, best, index
        from flambeau_vision.ops import nms

        kept = nms(chosen[0], best[0], 0.3)
        return chosen[0][kept], best[0][kept]


def models():
    """Return a dict from name to a model and its example inputs."""
    from flambeau_vision.models import VisionTransformer, resnet18

    vit = VisionTransformer(32, 8, 2, 2, 16, 32)
    nn.init.normal_(vit.heads[-1].weight)  # the head is initialized to zero, which would hide errors in earlier layers
    return {
        "lenet": (LeNet(), torch.randn(2, 1, 28, 28)),
        "resnet18": (resnet18(), torch.randn(2, 3, 64, 64)),
        "lstm": (nn.LSTM(5, 7, 2, batch_first=True), torch.randn(2, 5, 5)),
        "gru": (nn.GRU(5, 7, 2, batch_first=True, bidirectional=True), torch.randn(2, 5, 5)),
        "sentences": (Sentences(), torch.randint(0, 30, (3, 12))),
        "vit": (vit, torch.randn(2, 3, 32, 32)),
        "detector": (Detector(), torch.randn(2, 3, 32, 32)),
        "detector with nms": (Detector(suppresses=True), torch.randn(2, 3, 32, 32)),
    }

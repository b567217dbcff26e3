"""fvcore: counts of operations and parameters, precise batch norm, focal loss, schedules, checkpoints."""

import tempfile
from pathlib import Path

import torch
from fvcore.common.checkpoint import Checkpointer
from fvcore.common.param_scheduler import CompositeParamScheduler, CosineParamScheduler, LinearParamScheduler
from fvcore.nn import (
    ActivationCountAnalysis,
    FlopCountAnalysis,
    flop_count_str,
    flop_count_table,
    giou_loss,
    parameter_count,
    parameter_count_table,
    sigmoid_focal_loss,
    smooth_l1_loss,
)
from fvcore.nn.precise_bn import get_bn_modules, update_bn_stats
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.blocks(self.stem(x)).flatten(2).transpose(1, 2)
        x, _ = self.attention(x, x, x)
        return self.head(torch.einsum("nlc->nc", x))


network, images = Network(), torch.randn(2, 3, 17, 17)
flops = FlopCountAnalysis(network, images).unsupported_ops_warnings(False)
print("operations", flops.total(), [flops.by_operator()[name] for name in ("conv", "linear", "batch_norm", "einsum")])
print("by module", sorted(flops.by_module().items()))
print("not called", sorted(flops.uncalled_modules()))
activations = ActivationCountAnalysis(network, images).unsupported_ops_warnings(False)
print("activations", activations.total(), sorted(activations.by_module().items()))
print("parameters", sorted(parameter_count(network).items()))
print(parameter_count_table(network, max_depth=2))
print(flop_count_table(flops, max_depth=2))
print(flop_count_str(flops))

loader = [torch.randn(4, 3, 17, 17) for _ in range(3)]
update_bn_stats(network.train(), loader, 3)
print("precise batch norm", [round(float(norm.running_var.mean()), 5) for norm in get_bn_modules(network)])

x, y = torch.randn(6, requires_grad=True), (torch.arange(6) % 2).float()
loss = sigmoid_focal_loss(x, y, alpha=0.25, gamma=2.0, reduction="mean") + smooth_l1_loss(x, y, 0.5, "sum")
loss.backward()
print("losses", loss.item(), x.grad.tolist())
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]])
print("generalized overlap", giou_loss(boxes, boxes.flip(0) + 0.5, reduction="none").tolist())
schedule = CompositeParamScheduler(
    [LinearParamScheduler(0.0, 1.0), CosineParamScheduler(1.0, 0.0)], [0.25, 0.75], ["rescaled", "rescaled"]
)
print("schedule", [round(schedule(i / 8), 6) for i in range(8)])

with tempfile.TemporaryDirectory() as folder:
    Checkpointer(network, folder, optimizer=torch.optim.SGD(network.parameters(), 0.1)).save("model", epoch=3)
    other = Network()
    rest = Checkpointer(other, folder).load(str(Path(folder) / "model.pth"))
    print(
        "checkpoint",
        rest["epoch"],
        all(torch.equal(value, other.state_dict()[name]) for name, value in network.state_dict().items()),
    )

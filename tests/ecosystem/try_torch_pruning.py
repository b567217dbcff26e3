"""torch-pruning: channels removed from a network with residuals."""

import torch
import torch_pruning as tp
from torchvision.models import resnet18

torch.manual_seed(0)
net, x = resnet18(num_classes=5).eval(), torch.randn(1, 3, 32, 32)
print(*tp.utils.count_ops_and_params(net, x))
graph = tp.DependencyGraph().build_dependency(net, example_inputs=x)
group = graph.get_pruning_group(net.conv1, tp.prune_conv_out_channels, idxs=[2, 6, 9])
print(len(group), graph.check_pruning_group(group))
group.prune()
print(net.conv1, f"{net(x).sum().item():.4f}")
pruner = tp.pruner.MagnitudePruner(
    net, x, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5, ignored_layers=[net.fc]
)
pruner.step()
print(*tp.utils.count_ops_and_params(net, x), net.layer4[0].conv1, f"{net(x).sum().item():.4f}")

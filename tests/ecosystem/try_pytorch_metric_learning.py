"""pytorch-metric-learning: embedding losses with and without class weights, and miners."""

import torch
from pytorch_metric_learning import losses, miners

PLAIN = ("TripletMarginLoss", "ContrastiveLoss", "NTXentLoss", "CircleLoss", "MultiSimilarityLoss", "SupConLoss", "FastAPLoss")
PLAIN += ("SignalToNoiseRatioContrastiveLoss", "LiftedStructureLoss", "GeneralizedLiftedStructureLoss", "NCALoss")
OF_CLASSES = ("ArcFaceLoss", "CosFaceLoss", "ProxyAnchorLoss", "ProxyNCALoss", "NormalizedSoftmaxLoss")
torch.manual_seed(0)
embeddings, labels = torch.randn(32, 8, requires_grad=True), torch.randint(0, 4, (32,))
for name in PLAIN:
    value = getattr(losses, name)()(embeddings, labels)
    print(name, f"{value.item():.5f} {torch.autograd.grad(value, embeddings)[0].norm().item():.5f}")
for name in OF_CLASSES:
    value = getattr(losses, name)(num_classes=4, embedding_size=8)(embeddings, labels)
    print(name, f"{value.item():.5f} {torch.autograd.grad(value, embeddings)[0].norm().item():.5f}")
picked = miners.MultiSimilarityMiner()(embeddings, labels)
print([len(part) for part in picked], f"{losses.TripletMarginLoss()(embeddings, labels, picked).item():.5f}")

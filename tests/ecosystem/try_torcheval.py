"""torcheval: metrics, streaming and functional."""

import torch
from torcheval import metrics
from torcheval.metrics import functional

torch.manual_seed(0)
scores, targets = torch.rand(20, 4), torch.randint(0, 4, (20,))
for metric in (
    metrics.MulticlassAccuracy(num_classes=4, average="macro"),
    metrics.MulticlassF1Score(num_classes=4),
    metrics.MulticlassConfusionMatrix(4),
):
    for rows in (slice(0, 12), slice(12, 20)):
        metric.update(scores[rows], targets[rows])
    print(type(metric).__name__, [f"{value:.4f}" for value in metric.compute().flatten().tolist()])
binary = (targets > 1).float()
for name in ("binary_auroc", "binary_auprc", "binary_accuracy", "binary_normalized_entropy", "mean_squared_error", "r2_score"):
    print(name, f"{float(getattr(functional, name)(scores[:, 0], binary)):.4f}")
merged = metrics.Mean().update(torch.ones(3)).merge_state([metrics.Mean().update(torch.zeros(1))])
print(f"{merged.compute().item():.4f}")

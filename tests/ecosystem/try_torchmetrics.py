"""torchmetrics: metric classes and functions over several batches."""

import torch
from torchmetrics import AUROC, Accuracy, ConfusionMatrix, F1Score, MeanMetric, MeanSquaredError, MetricCollection, R2Score
from torchmetrics.functional import pairwise_cosine_similarity, pearson_corrcoef
from torchmetrics.image import StructuralSimilarityIndexMeasure

torch.manual_seed(0)
scores, labels = torch.randn(40, 3).softmax(1), torch.randint(0, 3, (40,))
metrics = MetricCollection({
    "accuracy": Accuracy(task="multiclass", num_classes=3),
    "f1": F1Score(task="multiclass", num_classes=3, average="macro"),
    "auroc": AUROC(task="multiclass", num_classes=3),
    "confusion": ConfusionMatrix(task="multiclass", num_classes=3),
})  # fmt: skip
for part in range(4):
    metrics.update(scores[part * 10 : part * 10 + 10], labels[part * 10 : part * 10 + 10])
print({name: [round(value, 5) for value in found.double().flatten().tolist()] for name, found in metrics.compute().items()})
x, y = torch.randn(30), torch.randn(30)
for metric in (MeanSquaredError(), R2Score()):
    print(type(metric).__name__, round(metric(x, y).item(), 5))
mean = MeanMetric()
mean.update(x)
print(round(mean.compute().item(), 5), round(pearson_corrcoef(x, y).item(), 5))
print(round(pairwise_cosine_similarity(torch.randn(4, 5), torch.randn(3, 5)).sum().item(), 4))
images = torch.rand(2, 3, 32, 32)
print(round(StructuralSimilarityIndexMeasure(data_range=1.0)(images, images * 0.9).item(), 5), sorted(mean.state_dict()))

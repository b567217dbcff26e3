"""datasets: columns as tensors, and batches of a loader."""

import torch
from datasets import Dataset

data = Dataset.from_dict({"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [0, 1, 0]}).with_format("torch")
print(type(data[0]["x"]).__name__, data[0]["x"].dtype, data[1:]["y"].tolist(), data.features["y"].dtype)
for batch in torch.utils.data.DataLoader(data.map(lambda row: {"z": row["x"].sum()}), batch_size=2):
    print({name: (tuple(value.shape), value.sum().item()) for name, value in batch.items()})
print(
    data.train_test_split(test_size=1, seed=0)["test"]["y"][:].tolist(), [row["y"].item() for row in data.to_iterable_dataset()]
)

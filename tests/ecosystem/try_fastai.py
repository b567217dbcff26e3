"""fastai: a learner of tabular data and of images, with callbacks, and tensor types with metadata."""

import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from fastai.basics import DataLoaders, Learner, TensorBase, accuracy, set_seed  # noqa: E402
from fastai.tabular.all import Categorify, FillMissing, Normalize, TabularDataLoaders, tabular_learner  # noqa: E402
from fastai.torch_core import TensorImage  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

set_seed(0)
x = torch.randn(80, 4)
y = (x[:, 0] > 0).long()
data = DataLoaders.from_dsets(TensorDataset(x[:64], y[:64]), TensorDataset(x[64:], y[64:]), bs=16, device="cpu")
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
learner = Learner(data, net, loss_func=torch.nn.CrossEntropyLoss(), metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(3, 0.05)
print([f"{value:.4f}" for value in learner.recorder.values[-1]], len(learner.recorder.losses))
print([f"{rate:.5f}" for rate in learner.recorder.hps["lr"][:3]], type(learner.opt).__name__)
with learner.no_bar():
    predictions, targets = learner.get_preds()
print(predictions.shape, targets[:5].tolist(), f"{predictions.softmax(1)[0, 0]:.4f}")
image = TensorImage(torch.rand(3, 4, 4))
print(type(image * 2).__name__, type(image[0]).__name__, type(image.mean()).__name__, isinstance(image, TensorBase))
random = np.random.default_rng(0)
frame = pd.DataFrame(
    {"color": random.choice(["red", "blue"], 60), "size": random.normal(size=60), "price": random.normal(size=60)}
)
frame["price"] += frame["size"]
tables = TabularDataLoaders.from_df(
    frame, procs=[Categorify, FillMissing, Normalize], cat_names=["color"], cont_names=["size"], y_names="price", bs=16,
    valid_idx=list(range(12)), device="cpu",
)  # fmt: skip
set_seed(0)
model = tabular_learner(tables, layers=[8])
with model.no_bar(), model.no_logging():
    model.fit(2, 0.01)
print([f"{value:.4f}" for value in model.recorder.values[-1]], tables.xs.shape if hasattr(tables, "xs") else "")

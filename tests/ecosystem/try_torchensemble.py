"""torchensemble: ensembles of networks for classification and regression."""

import logging

import torch
from torch.utils.data import DataLoader, TensorDataset
from torchensemble import (
    BaggingClassifier,
    FusionClassifier,
    GradientBoostingRegressor,
    SnapshotEnsembleClassifier,
    VotingClassifier,
    VotingRegressor,
)

logging.disable(logging.CRITICAL)


class Network(torch.nn.Module):
    """A small network."""

    def __init__(self, outputs=3):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, outputs))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
x = torch.randn(96, 4)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32)
for cls in (VotingClassifier, FusionClassifier, BaggingClassifier, SnapshotEnsembleClassifier):
    torch.manual_seed(1)
    model = cls(estimator=Network, n_estimators=3, cuda=False)
    model.set_criterion(torch.nn.CrossEntropyLoss())
    model.set_optimizer("Adam", lr=1e-2)
    model.fit(loader, epochs=6, save_model=False)
    accuracy, loss = model.evaluate(loader, return_loss=True)
    print(cls.__name__, round(accuracy, 1), loss, model.predict(x[:2]).shape)
loader = DataLoader(TensorDataset(x, x[:, :1].square()), batch_size=32)
for cls in (VotingRegressor, GradientBoostingRegressor):
    torch.manual_seed(1)
    model = cls(estimator=Network, estimator_args={"outputs": 1}, n_estimators=3, cuda=False)
    model.set_criterion(torch.nn.MSELoss())
    model.set_optimizer("Adam", lr=1e-2)
    model.fit(loader, epochs=4, save_model=False)
    print(cls.__name__, model.evaluate(loader), len(model))

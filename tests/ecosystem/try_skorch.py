"""skorch: a network as a scikit-learn classifier, in a pipeline and a grid search."""

import numpy as np
import torch
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier

torch.manual_seed(0)
random = np.random.default_rng(0)
X = random.normal(size=(60, 4)).astype("float32")
y = (X[:, 0] + X[:, 1] > 0).astype("int64")


class Module(torch.nn.Module):
    def __init__(self, units=8):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, units), torch.nn.ReLU(), torch.nn.Linear(units, 2))

    def forward(self, x):
        return self.layers(x).softmax(-1)


net = NeuralNetClassifier(Module, max_epochs=20, lr=0.5, verbose=0, train_split=None, optimizer__momentum=0.9)
net.fit(X, y)
print([f"{epoch['train_loss']:.4f}" for epoch in net.history[:3]], f"{net.score(X, y):.3f}")
print(net.predict_proba(X[:2]).shape, net.predict(X[:6]).tolist())
pipeline = make_pipeline(StandardScaler(), NeuralNetClassifier(Module, max_epochs=10, lr=0.3, verbose=0, module__units=4))
print((cross_val_predict(pipeline, X, y, cv=3) == y).mean() > 0.7)
net.set_params(lr=0.1, module__units=5)
net.initialize()
print(net.module_.layers[0].weight.shape, sum(p.numel() for p in net.module_.parameters()))

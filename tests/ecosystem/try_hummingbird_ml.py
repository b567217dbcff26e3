"""hummingbird: models of scikit-learn compiled to tensor operations."""

import numpy as np
from hummingbird.ml import convert
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(0)
X = random.normal(size=(60, 5)).astype("float32")
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype("int64")
for model in (RandomForestClassifier(5, max_depth=4, random_state=0), make_pipeline(StandardScaler(), LogisticRegression())):
    model.fit(X, y)
    for kind in ("torch", "torch.jit"):
        compiled = convert(model, kind, X)
        print(kind, (compiled.predict(X) == model.predict(X)).all(), [f"{p:.4f}" for p in compiled.predict_proba(X[:3])[:, 0]])

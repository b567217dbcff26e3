"""Array-API functions of SciPy and scikit-learn accept and return tensors, with the values that they compute for NumPy.

SciPy reads `SCIPY_ARRAY_API` at import, so one subprocess makes all calls, and each test checks one result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# Each program defines `calls`: a dict from name to a function and its NumPy arguments.
SCIPY = """
from scipy import cluster, fft, integrate, ndimage, signal, special, stats
from scipy.optimize import elementwise
A, B = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
P = rng.uniform(0.1, 0.9, (4, 5))
calls = {
    "special.logsumexp": (lambda x: special.logsumexp(x, axis=1), A),
    "special.log_softmax": (lambda x: special.log_softmax(x, axis=1), A),
    "special.expit": (special.expit, A), "special.gammainc": (special.gammainc, P, P), "special.stdtrit": (special.stdtrit, P, P),
    "stats.zscore": (stats.zscore, A), "stats.ttest_ind": (stats.ttest_ind, A, B),
    "stats.pearsonr": (lambda x, y: stats.pearsonr(x, y, axis=0), A, B),
    "stats.mannwhitneyu": (stats.mannwhitneyu, A, B), "stats.rankdata": (stats.rankdata, A),
    "signal.fftconvolve": (signal.fftconvolve, A[:, 0], B[:, 0]), "signal.hilbert": (signal.hilbert, A[:, 0]),
    "signal.resample": (lambda x: signal.resample(x, 10), A[:, 0]), "signal.freqz": (lambda x: signal.freqz(x), A[:3, 0]),
    "fft.dct": (fft.dct, A), "fft.rfft": (fft.rfft, A),
    "cluster.vq.vq": (cluster.vq.vq, A, B[:4]), "cluster.vq.kmeans": (cluster.vq.kmeans, A, B[:4]),
    "cluster.hierarchy.linkage": (cluster.hierarchy.linkage, A),
    "ndimage.gaussian_filter": (lambda x: ndimage.gaussian_filter(x, 1.0), A),
    "integrate.cumulative_trapezoid": (integrate.cumulative_trapezoid, A),
    "integrate.tanhsinh": (lambda a, b: integrate.tanhsinh(lambda x: x**2, a, b).integral, np.zeros(2), np.full(2, 2.0)),
    "optimize.elementwise.find_root": (lambda a, b: elementwise.find_root(lambda x: x**3 - 2, (a, b)).x, np.zeros(2), np.full(2, 2.0)),
}
"""
SKLEARN = """
import sklearn
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, model_selection, naive_bayes, preprocessing
sklearn.set_config(array_api_dispatch=True)
X = rng.normal(size=(60, 5))
y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(np.int64)
r = X @ rng.normal(size=5) + 0.1 * rng.normal(size=60)
PCA, LDA, Ridge = decomposition.PCA, discriminant_analysis.LinearDiscriminantAnalysis, linear_model.Ridge
def of(*names):
    return lambda model: tuple(getattr(model, name) for name in names)
calls = {
    "PCA": (lambda X: of("mean_", "explained_variance_")(PCA(3, svd_solver="full").fit(X)) + (abs(PCA(3).fit_transform(X)),), X),
    "LinearDiscriminantAnalysis": (lambda X, y: (LDA().fit(X, y).predict(X), LDA().fit(X, y).predict_proba(X)), X, y),
    "Ridge": (lambda X, y: (*of("coef_", "intercept_")(Ridge(solver="svd").fit(X, y)), Ridge(solver="svd").fit(X, y).predict(X)), X, r),
    "RidgeClassifier": (lambda X, y: linear_model.RidgeClassifier(solver="svd").fit(X, y).predict(X), X, y),
    "StandardScaler": (lambda X: preprocessing.StandardScaler().fit_transform(X), X),
    "MinMaxScaler": (lambda X: preprocessing.MinMaxScaler().fit_transform(X), X),
    "PolynomialFeatures": (lambda X: preprocessing.PolynomialFeatures().fit_transform(X), X),
    "LabelEncoder": (lambda y: preprocessing.LabelEncoder().fit_transform(y), y),
    "GaussianNB": (lambda X, y: naive_bayes.GaussianNB().fit(X, y).predict_proba(X), X, y),
    "GaussianMixture": (lambda X: mixture.GaussianMixture(2, init_params="random", random_state=0, covariance_type="diag").fit(X).means_, X),
    "accuracy_score": (metrics.accuracy_score, y, np.roll(y, 3)), "r2_score": (metrics.r2_score, r, np.roll(r, 3)),
    "confusion_matrix": (metrics.confusion_matrix, y, np.roll(y, 3)),
    "rbf_kernel": (metrics.pairwise.rbf_kernel, X), "cosine_similarity": (metrics.pairwise.cosine_similarity, X),
    "cross_val_predict": (lambda X, y: model_selection.cross_val_predict(LDA(), X, y), X, y),
    "train_test_split": (lambda X, y: model_selection.train_test_split(X, y, random_state=0), X, y),
}
"""
COMPARE = """
import os
os.environ["SCIPY_ARRAY_API"] = "1"
import json, warnings
import numpy as np
import flambeau as torch
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
{calls}
def results(made):
    if hasattr(made, "pvalue"):
        return [made.statistic, made.pvalue]
    return [part for each in made for part in results(each)] if isinstance(made, (tuple, list)) else [made]
report = {{}}
for name, (call, *arrays) in calls.items():
    try:
        theirs = results(call(*arrays))
        ours = results(call(*(torch.asarray(each.copy()) for each in arrays)))
        close = len(ours) == len(theirs) and all(np.allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-7) for a, b in zip(ours, theirs))
        report[name] = [sorted({{type(each).__name__ for each in ours}}), close]
    except Exception as error:
        report[name] = [f"{{type(error).__name__}}: {{error}}", False]
print(json.dumps(report))
"""
NUMBERS = {"accuracy_score", "r2_score"}  # functions that return Python numbers instead of arrays


def report(calls: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", COMPARE.format(calls=calls)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FLAMBEAU_BACKEND": "numpy"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


# The first versions whose functions named above all support the array API.
@pytest.mark.parametrize(
    ("library", "version", "calls"), [("scipy", "1.17", SCIPY), ("sklearn", "1.8", SKLEARN)], ids=["scipy", "scikit-learn"]
)
def test_tensors_in_tensors_out(library: str, version: str, calls: str) -> None:
    pytest.importorskip(library, minversion=version)
    wrong = {name: found for name, found in report(calls).items() if found != [["float" if name in NUMBERS else "Tensor"], True]}
    assert not wrong


def test_a_tensor_with_a_history_keeps_it_where_all_is_array_api() -> None:
    pytest.importorskip("scipy", minversion="1.16")
    calls = """
from scipy import special
x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float64, requires_grad=True)
special.logsumexp(x, axis=1).sum().backward()
calls = {"gradient": (lambda g: x.grad if isinstance(g, torch.Tensor) else special.softmax(x.detach().numpy(), axis=1), np.ones(1))}
"""
    assert report(calls) == {"gradient": [["Tensor"], True]}

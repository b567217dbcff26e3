"""torchtuples and pycox: survival analysis with several losses."""

import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchtuples as tt  # noqa: E402
from pycox.models import MTLR, PMF, CoxPH, DeepHitSingle, LogisticHazard  # noqa: E402

np.random.seed(0)
x = np.random.randn(64, 4).astype("float32")
durations = np.random.exponential(1 + np.exp(x[:, 0])).astype("float32")
events = (np.random.rand(64) < 0.7).astype("float32")
for kind in (LogisticHazard, PMF, MTLR, DeepHitSingle, CoxPH):
    torch.manual_seed(0)
    np.random.seed(0)
    y = (durations, events)
    if kind is CoxPH:
        model = kind(tt.practical.MLPVanilla(4, [8], 1, True, 0.1), tt.optim.Adam(0.01))
    else:
        labels = kind.label_transform(6)
        y = labels.fit_transform(durations, events)
        model = kind(
            tt.practical.MLPVanilla(4, [8], labels.out_features, True, 0.1), tt.optim.AdamWR(0.01), duration_index=labels.cuts
        )
    log = model.fit(x, y, batch_size=16, epochs=3, verbose=False, val_data=(x, y), callbacks=[tt.callbacks.EarlyStopping()])
    if kind is CoxPH:
        model.compute_baseline_hazards()
    surv = model.predict_surv_df(x[:5])
    print(kind.__name__, surv.shape, [f"{value:.4f}" for value in log.to_pandas().iloc[-1]], f"{surv.iloc[3].mean():.4f}")

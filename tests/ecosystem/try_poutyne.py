"""poutyne: a training loop with metrics, callbacks and checkpoints."""

import contextlib
import io
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from poutyne import CSVLogger, EarlyStopping, Experiment, Lambda, Model, ModelCheckpoint, set_seeds  # noqa: E402

set_seeds(0)
x = np.random.randn(40, 4).astype("float32")
y = (x[:, 0] > 0).astype("int64")
net = torch.nn.Sequential(torch.nn.Linear(4, 8), Lambda(torch.tanh), torch.nn.Linear(8, 2))
model = Model(net, "adam", "cross_entropy", batch_metrics=["accuracy"], epoch_metrics=["f1"], device="cpu")
with tempfile.TemporaryDirectory() as folder:
    callbacks = [
        CSVLogger(f"{folder}/log.csv"),
        ModelCheckpoint(f"{folder}/best.pt", save_best_only=True),
        EarlyStopping(patience=2),
    ]
    history = model.fit(
        x[:32], y[:32], validation_data=(x[32:], y[32:]), epochs=3, batch_size=8, verbose=False, callbacks=callbacks
    )
    for entry in history:
        print({key: f"{value:.4f}" for key, value in entry.items() if key not in ("time", "epoch")})
    print(len(Path(f"{folder}/log.csv").read_text(encoding="utf-8").splitlines()), sorted(p.name for p in Path(folder).iterdir()))
print(model.evaluate(x, y, batch_size=8, verbose=False)[1].round(4), model.predict(x[:3], verbose=False).round(3).tolist())
data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
loader = torch.utils.data.DataLoader(data, 8)
with tempfile.TemporaryDirectory() as folder:
    experiment = Experiment(folder, net, optimizer="sgd", task="classif", device="cpu")
    with contextlib.redirect_stdout(io.StringIO()):  # it prints the names of checkpoints
        experiment.train(loader, loader, epochs=2, verbose=False)
    print({key: f"{value:.4f}" for key, value in experiment.test(loader, verbose=False).items() if key != "time"})

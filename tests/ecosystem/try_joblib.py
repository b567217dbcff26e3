"""joblib: files of tensors, modules and state dicts, the names that they contain, and a file that PyTorch has written."""

import base64
import io
import pickle
import tempfile
from pathlib import Path

import joblib
import torch
from torch import nn

# A file by joblib and PyTorch 2.13: {"x": a tensor, "layer": a linear layer, "format": torch.channels_last}
WRITTEN = """
eNrVlD1v00AYx+M4TaqkbzQCRIsqxrBEaVpKu0BVUBdDgbJ4QaeLfYlNnbv47twQpKIwtBQwYuixIYTEwndAYucj8A1gZkJCgsex2yZ9Ya+Vc+zn+d9z59/f
frqZd/VsqndsqVKoPVHhiGTccsookK4nVDiJOKkFrmcjSahgHG1W1R5IR2OZgD/cICqcQB7DNqpz1kS1jiQCVCtFLZXqpl/lvT/vV39fefz5/qVyN333pw7n
LT9VMidg3RZnklnMQ5uEC5dRXwOBOQoZz5XSI4hQ28XUT++aeQjKTosg4T4lwte3/EzJHIKgcBiX/pCRNnW4c6n0s0bGzEQ1GG34OSMTBLBmycxF4njLfsrq
PUJ+FTYuH8bBvK+ZY6BZmluqLMzOz1WrS4vVeT+ua7UCXzeya9LPPIBqj/zUSVoNlxOiydG9Cadl+MHowvi4rLbVujJSRtrQd5ShG9qOehkWgIFHLAkIAHvh
HrcJJ/Zt15JA8uq6kjAnHPJwh3AVXozpU1puMjvwiCh7LiUYMtk78QXMea4iT4clxy51aUPthgXUwhw3iQTUvWS2TdyGI5WT7jP6QANFnEzJya3kzrqPs9W5
a4uDPuqn+ZhowUc9cfDHpzdfinsfbjwzfn3d907r884ZT/zZ7V29iJzK1FwslDPTA3jr75mmd31hoVKpDNDTTqOXaIGeltD79vr7IbVtFY2TiAXhMKoF9Xr8
aobTiDKKWhENAZ1H7ueQIFK9VWER1bC10cYc3ldOkMPYBuCOioXjh6n+8AXkClQPPG8wrdbCMVRn/Jh+ajCK2q50UDSvsa+4fESBvTbuCGRh+JDtRDN5oDm6
zZnjmRPWOIeExJIgGxrBwPTz/YmjtafibvwfxfRxBRODKwyjpLlEfhRciuoEy4DDvaGHIyyQfQEtqIVZeJ4m7jWTYtyfLAdTSjyBPCyiNhaU/wETeSKJ
"""


class Names(pickle.Unpickler):
    """Reads a pickle, and collects the names of the classes and functions that it refers to."""

    def __init__(self, file):
        super().__init__(file)
        self.found = set()

    def find_class(self, module, name):
        self.found.add(f"{module}.{name}")
        return super().find_class(module, name)


def names_in(path):
    names = Names(io.BytesIO(path.read_bytes()))
    names.load()
    return sorted(names.found)


torch.manual_seed(0)
x = torch.arange(6.0).reshape(2, 3)
layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(layers.parameters())
layers(x).sum().backward()
optimizer.step()
values = {
    "tensors": (x, x.T[1:], x.bfloat16(), x > 2), "parameter": nn.Parameter(x.clone()), "modules": layers,
    "weights": layers.state_dict(), "optimizer": optimizer.state_dict(),
}  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    for name, value in values.items():
        for compress in (0, 3):
            path = Path(folder, f"{name}{compress}.joblib")
            joblib.dump(value, path, compress=compress)
            read = joblib.load(path)
        print(name, type(read).__name__, names_in(Path(folder, f"{name}0.joblib")))
    print(joblib.load(Path(folder, "modules3.joblib"))(x).flatten().tolist())
    print(joblib.load(Path(folder, "tensors0.joblib"))[1].tolist(), read["param_groups"][0]["lr"])
written = joblib.load(io.BytesIO(base64.b64decode(WRITTEN)))
print(written["x"].tolist(), written["layer"](written["x"]).tolist(), written["format"])
print(joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(torch.sum)(x[row]) for row in range(2)))
print(joblib.hash(x.numpy()) == joblib.hash(torch.arange(6.0).reshape(2, 3).numpy()))

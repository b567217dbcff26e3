"""torch-fidelity: distances between sets of features."""

import torch
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric
from torch_fidelity.metric_isc import isc_features_to_metric
from torch_fidelity.metric_kid import mmd2

torch.manual_seed(0)
a, b = torch.randn(60, 5), torch.randn(60, 5) + 0.5
statistics = [fid_features_to_statistics(each) for each in (a, b)]
print(f"{fid_statistics_to_metric(*statistics, False)['frechet_inception_distance']:.4f}")
print({name: f"{value:.4f}" for name, value in isc_features_to_metric(a, splits=2, shuffle=False).items()})
kernels = [(x.double().numpy() @ y.double().numpy().T / 5 + 1) ** 3 for x, y in ((a, a), (a, b), (b, b))]
print(f"{mmd2(*kernels):.4f}")

"""botorch: Bayesian optimization of a function of two variables."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective import qLogExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, ModelListGP, SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import BraninCurrin, Hartmann
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
unit = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
problem = BraninCurrin(negate=True)
sampler = SobolQMCNormalSampler(torch.Size([32]), seed=5)
options = {"num_restarts": 2, "raw_samples": 32, "options": {"seed": 3}}


def fitted(x, y):
    model = SingleTaskGP(x, y, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def show(*values):
    print(*([round(v, 4) for v in value.flatten().tolist()] for value in values))


x = draw_sobol_samples(unit, 8, 1, seed=1).squeeze(1)
y = problem(x)[:, :1]
show(x[:2], y[:2])
for _ in range(2):
    model = fitted(x, y)
    show(model.covar_module.lengthscale, model.posterior(unit).mean, model.posterior(unit).variance)
    one, value = optimize_acqf(LogExpectedImprovement(model, best_f=y.max()), unit, q=1, **options)
    two, gain = optimize_acqf(qExpectedImprovement(model, best_f=y.max(), sampler=sampler), unit, q=2, **options)
    show(one, value, two, gain)
    x = torch.cat([x, one, two])
    y = problem(x)[:, :1]
noisy = qLogNoisyExpectedImprovement(model, X_baseline=x, sampler=sampler, prune_baseline=True)
show(*optimize_acqf(noisy, unit, q=2, sequential=True, **options))
show(UpperConfidenceBound(model, beta=2.0)(x[:3].unsqueeze(1)))

outcomes = problem(x)
models = ModelListGP(*(fitted(x, outcomes[:, i : i + 1]) for i in (0, 1)))
front = FastNondominatedPartitioning(ref_point=problem.ref_point, Y=outcomes)
print(f"{front.compute_hypervolume().item():.4f}", tuple(front.pareto_Y.shape))
volume = qLogExpectedHypervolumeImprovement(models, problem.ref_point, front, sampler)
show(*optimize_acqf(volume, unit, q=1, **options))
print(type(SumMarginalLogLikelihood(models.likelihood, models)).__name__, models.num_outputs)

hartmann = Hartmann(dim=3)
points = torch.rand(10, 3)
scaled = SingleTaskGP(points * 4, hartmann(points).unsqueeze(-1), input_transform=Normalize(3))
fit_gpytorch_mll(ExactMarginalLogLikelihood(scaled.likelihood, scaled))
show(
    scaled.posterior(torch.full((1, 3), 2.0)).mean,
    scaled.condition_on_observations(torch.ones(1, 3), torch.ones(1, 1)).train_targets[-1],
)
kinds = torch.cat([points[:, :2], torch.randint(0, 3, (10, 1)).double()], -1)
mixed = MixedSingleTaskGP(kinds, points[:, 2:], cat_dims=[2])
show(mixed.posterior(kinds[:3]).variance)

"""`torch.legacy.nn`: gradients against finite differences, containers, training and parameters."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch

nn = torch.legacy.nn
optim = torch.legacy.optim


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def positive(*shape):
    return torch.rand(*shape, dtype=torch.float64) + 0.5


def tensors_of(table):
    return [t for part in table for t in tensors_of(part)] if isinstance(table, (list, tuple)) else [table]


def dot(table, weights):
    return sum((t * w).sum().item() for t, w in zip(tensors_of(table), weights, strict=True))


def after_forward(module, *size):
    """Run a module on a random input of the given size, and return the module."""
    module.forward(randn(*size))
    return module


# Name -> functions that build a module and its input.
MODULES = {
    "Abs": (lambda: nn.Abs(), lambda: randn(3)),
    "Add": (lambda: nn.Add(3), lambda: randn(2, 3)),
    "AddConstant": (lambda: nn.AddConstant(2), lambda: randn(3)),
    "BatchNormalization": (lambda: nn.BatchNormalization(3), lambda: randn(4, 3)),
    "Bilinear": (lambda: nn.Bilinear(2, 3, 4), lambda: [randn(5, 2), randn(5, 3)]),
    "CAddTable": (lambda: nn.CAddTable(), lambda: [randn(3), randn(3), randn(3)]),
    "CDivTable": (lambda: nn.CDivTable(), lambda: [randn(3), positive(3)]),
    "CMul": (lambda: nn.CMul(3), lambda: randn(2, 3)),
    "CMulTable": (lambda: nn.CMulTable(), lambda: [randn(3), randn(3), randn(3)]),
    "CSubTable": (lambda: nn.CSubTable(), lambda: [randn(3), randn(3)]),
    "Clamp": (lambda: nn.Clamp(-0.5, 0.5), lambda: randn(5)),
    "Contiguous": (lambda: nn.Contiguous(), lambda: randn(2, 3).t()),
    "Copy": (lambda: nn.Copy(), lambda: randn(3)),
    "CosineDistance": (lambda: nn.CosineDistance(), lambda: [randn(2, 3), randn(2, 3)]),
    "DotProduct": (lambda: nn.DotProduct(), lambda: [randn(2, 3), randn(2, 3)]),
    "ELU": (lambda: nn.ELU(0.7), lambda: randn(5)),
    "Euclidean": (lambda: nn.Euclidean(3, 2), lambda: randn(4, 3)),
    "Exp": (lambda: nn.Exp(), lambda: randn(3)),
    "FlattenTable": (lambda: nn.FlattenTable(), lambda: [randn(2), [randn(3), [randn(1)]]]),
    "HardShrink": (lambda: nn.HardShrink(), lambda: randn(5)),
    "HardTanh": (lambda: nn.HardTanh(), lambda: randn(5)),
    "Identity": (lambda: nn.Identity(), lambda: [randn(2), randn(3)]),
    "JoinTable": (lambda: nn.JoinTable(0, 1), lambda: [randn(2, 3), randn(2, 2)]),
    "LeakyReLU": (lambda: nn.LeakyReLU(), lambda: randn(5)),
    "Linear": (lambda: nn.Linear(3, 2), lambda: randn(4, 3)),
    "Linear of a vector": (lambda: nn.Linear(3, 2), lambda: randn(3)),
    "Linear without bias": (lambda: nn.Linear(3, 2, bias=False), lambda: randn(0, 3)),
    "Log": (lambda: nn.Log(), lambda: positive(3)),
    "LogSigmoid": (lambda: nn.LogSigmoid(), lambda: randn(3)),
    "LogSoftMax": (lambda: nn.LogSoftMax(), lambda: randn(2, 3)),
    "MM": (lambda: nn.MM(transA=True), lambda: [randn(3, 2), randn(3, 4)]),
    "MV": (lambda: nn.MV(), lambda: [randn(2, 3, 4), randn(2, 4)]),
    "Max": (lambda: nn.Max(1), lambda: randn(2, 3)),
    "Mean": (lambda: nn.Mean(0, 1), lambda: randn(2, 3)),
    "Min": (lambda: nn.Min(0), lambda: randn(2, 3)),
    "MixtureTable": (lambda: nn.MixtureTable(), lambda: [randn(2, 3), [randn(2, 4), randn(2, 4), randn(2, 4)]]),
    "Mul": (lambda: nn.Mul(), lambda: randn(3)),
    "MulConstant": (lambda: nn.MulConstant(2), lambda: randn(3)),
    "Narrow": (lambda: nn.Narrow(1, 1, 2), lambda: randn(2, 4)),
    "NarrowTable": (lambda: nn.NarrowTable(1, 2), lambda: [randn(1), randn(2), randn(3)]),
    "Normalize": (lambda: nn.Normalize(2), lambda: randn(2, 3)),
    "PReLU": (lambda: nn.PReLU(), lambda: randn(5)),
    "PReLU of channels": (lambda: nn.PReLU(3), lambda: randn(2, 3)),
    "Padding": (lambda: nn.Padding(1, -2, 3.0), lambda: randn(2, 3)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(2), lambda: [randn(2, 3), randn(2, 3)]),
    "Power": (lambda: nn.Power(1.5), lambda: positive(3)),
    "ReLU": (lambda: nn.ReLU(), lambda: randn(5)),
    "ReLU6": (lambda: nn.ReLU6(), lambda: randn(5) * 5),
    "Replicate": (lambda: nn.Replicate(3, 1), lambda: randn(2, 2)),
    "Reshape": (lambda: nn.Reshape(3, 2), lambda: randn(4, 6)),
    "Select": (lambda: nn.Select(1, -1), lambda: randn(2, 3)),
    "SelectTable": (lambda: nn.SelectTable(-1), lambda: [randn(2), randn(3)]),
    "Sigmoid": (lambda: nn.Sigmoid(), lambda: randn(3)),
    "SoftMax": (lambda: nn.SoftMax(), lambda: randn(3, 2, 2)),
    "SoftMin": (lambda: nn.SoftMin(), lambda: randn(2, 3)),
    "SoftPlus": (lambda: nn.SoftPlus(2), lambda: randn(3)),
    "SoftShrink": (lambda: nn.SoftShrink(), lambda: randn(5)),
    "SoftSign": (lambda: nn.SoftSign(), lambda: randn(3)),
    "SpatialAdaptiveMaxPooling": (lambda: nn.SpatialAdaptiveMaxPooling(3, 2), lambda: randn(1, 2, 4, 6)),
    "SpatialAveragePooling": (lambda: nn.SpatialAveragePooling(2, 3, 1, 2), lambda: randn(1, 2, 5, 6)),
    "SpatialBatchNormalization": (lambda: nn.SpatialBatchNormalization(2), lambda: randn(3, 2, 2, 2)),
    "SpatialConvolution": (lambda: nn.SpatialConvolution(2, 3, 3, 2, 1, 2, 1), lambda: randn(2, 2, 4, 5)),
    "SpatialCrossMapLRN": (lambda: nn.SpatialCrossMapLRN(3, 0.5), lambda: randn(1, 4, 2, 2)),
    "SpatialDilatedConvolution": (
        lambda: nn.SpatialDilatedConvolution(1, 2, 2, 2, dilationW=2),
        lambda: randn(1, 1, 4, 5),
    ),
    "SpatialFullConvolution": (lambda: nn.SpatialFullConvolution(2, 3, 2, 3, 2, 2), lambda: randn(1, 2, 2, 3)),
    "SpatialLPPooling": (lambda: nn.SpatialLPPooling(2, 2, 2, 2), lambda: positive(1, 2, 4, 4)),
    "SpatialMaxPooling": (lambda: nn.SpatialMaxPooling(2, 3).ceil(), lambda: randn(1, 2, 5, 5)),
    "SpatialReflectionPadding": (lambda: nn.SpatialReflectionPadding(1), lambda: randn(1, 1, 3, 3)),
    "SpatialReplicationPadding": (lambda: nn.SpatialReplicationPadding(1, 0, 2), lambda: randn(1, 1, 3, 3)),
    "SpatialSoftMax": (lambda: nn.SpatialSoftMax(), lambda: randn(1, 3, 2, 2)),
    "SpatialUpSamplingNearest": (lambda: nn.SpatialUpSamplingNearest(2), lambda: randn(1, 1, 2, 3)),
    "SpatialZeroPadding": (lambda: nn.SpatialZeroPadding(1, 2, 0, 1), lambda: randn(1, 1, 3, 3)),
    "SplitTable": (lambda: nn.SplitTable(0, 1), lambda: randn(2, 3)),
    "Sqrt": (lambda: nn.Sqrt(), lambda: positive(3)),
    "Square": (lambda: nn.Square(), lambda: randn(3)),
    "Squeeze": (lambda: nn.Squeeze(1), lambda: randn(2, 1, 3)),
    "Sum": (lambda: nn.Sum(1), lambda: randn(2, 3)),
    "Tanh": (lambda: nn.Tanh(), lambda: randn(3)),
    "TanhShrink": (lambda: nn.TanhShrink(), lambda: randn(3)),
    "TemporalConvolution": (lambda: nn.TemporalConvolution(2, 3, 2), lambda: randn(2, 5, 2)),
    "TemporalMaxPooling": (lambda: nn.TemporalMaxPooling(2), lambda: randn(2, 4, 3)),
    "Threshold": (lambda: nn.Threshold(0.1, -1), lambda: randn(5)),
    "Transpose": (lambda: nn.Transpose((0, 1), (1, 2)), lambda: randn(2, 3, 4)),
    "Unsqueeze": (lambda: nn.Unsqueeze(1), lambda: randn(2, 3)),
    "View": (lambda: nn.View(-1, 3), lambda: randn(2, 6)),
    "VolumetricAveragePooling": (lambda: nn.VolumetricAveragePooling(2, 1, 2), lambda: randn(1, 1, 4, 2, 4)),
    "VolumetricBatchNormalization": (lambda: nn.VolumetricBatchNormalization(2), lambda: randn(2, 2, 2, 1, 2)),
    "VolumetricConvolution": (lambda: nn.VolumetricConvolution(1, 2, 2, 2, 1), lambda: randn(1, 1, 3, 2, 3)),
    "VolumetricMaxPooling": (lambda: nn.VolumetricMaxPooling(2, 2, 1), lambda: randn(1, 1, 4, 2, 4)),
    "Cosine": (lambda: nn.Cosine(3, 2), lambda: randn(4, 3)),
    "Cosine of a vector": (lambda: nn.Cosine(3, 2), lambda: randn(3)),
    "PartialLinear": (lambda: nn.PartialLinear(3, 5).setPartition(torch.tensor([4, 1])), lambda: randn(2, 3)),
    "PartialLinear without bias": (lambda: nn.PartialLinear(3, 5, bias=False), lambda: randn(2, 3)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), lambda: randn(1, 8, 2, 3)),
    "SpatialContrastiveNormalization": (
        lambda: nn.SpatialContrastiveNormalization(2, torch.ones(3, 3)),
        lambda: randn(1, 2, 4, 5),
    ),
    "SpatialConvolutionLocal": (lambda: nn.SpatialConvolutionLocal(2, 3, 5, 4, 3, 2, 2, 1, 1), lambda: randn(2, 2, 4, 5)),
    "SpatialConvolutionLocal of an image": (lambda: nn.SpatialConvolutionLocal(2, 3, 3, 3, 2, 2), lambda: randn(2, 3, 3)),
    "SpatialConvolutionMap": (
        lambda: nn.SpatialConvolutionMap(torch.tensor([[0.0, 0], [1, 1], [2, 1], [0, 2]]), 2, 3, 2, 1),
        lambda: randn(1, 3, 5, 4),
    ),
    "SpatialDivisiveNormalization": (
        lambda: nn.SpatialDivisiveNormalization(2, torch.tensor([1.0, 2, 1])),
        lambda: randn(1, 2, 4, 5),
    ),
    "SpatialFractionalMaxPooling": (
        lambda: nn.SpatialFractionalMaxPooling(2, 2, 3, 2).fixPoolingRegions(),
        lambda: randn(1, 2, 5, 6),
    ),
    "SpatialFullConvolutionMap": (
        lambda: nn.SpatialFullConvolutionMap(torch.tensor([[0.0, 0], [1, 1], [2, 1], [0, 2]]), 2, 3, 2, 1),
        lambda: randn(1, 3, 2, 3),
    ),
    "SpatialMaxUnpooling": (
        lambda: nn.SpatialMaxUnpooling(after_forward(nn.SpatialMaxPooling(2, 2), 1, 2, 5, 4)),
        lambda: randn(1, 2, 2, 2),
    ),
    "SpatialSubSampling": (lambda: nn.SpatialSubSampling(2, 3, 2, 2, 1), lambda: randn(1, 2, 4, 5)),
    "SpatialSubtractiveNormalization": (
        lambda: nn.SpatialSubtractiveNormalization(2, torch.tensor([[1.0, 2, 1]])),
        lambda: randn(1, 2, 4, 5),
    ),
    "TemporalSubSampling": (lambda: nn.TemporalSubSampling(3, 2, 2), lambda: randn(2, 5, 3)),
    "VolumetricFullConvolution": (
        lambda: nn.VolumetricFullConvolution(2, 1, 2, 1, 2, 2, 2, 1, adjT=1),
        lambda: randn(1, 2, 2, 2, 2),
    ),
    "VolumetricMaxUnpooling": (
        lambda: nn.VolumetricMaxUnpooling(after_forward(nn.VolumetricMaxPooling(2, 1, 2), 1, 1, 4, 2, 3)),
        lambda: randn(1, 1, 2, 1, 3),
    ),
    "VolumetricReplicationPadding": (lambda: nn.VolumetricReplicationPadding(1, 0, 2), lambda: randn(1, 1, 2, 2, 2)),
    "WeightedEuclidean": (lambda: nn.WeightedEuclidean(3, 2), lambda: randn(4, 3)),
    "DepthConcat": (
        lambda: nn.DepthConcat(1).add(nn.SpatialConvolution(1, 2, 1, 1)).add(nn.SpatialConvolution(1, 1, 3, 2)),
        lambda: randn(2, 1, 4, 5),
    ),
    "Sequential": (
        lambda: nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2)),
        lambda: randn(5, 3),
    ),
    "Concat": (lambda: nn.Concat(1).add(nn.Linear(3, 2)).add(nn.Linear(3, 4)), lambda: randn(5, 3)),
    "ConcatTable": (
        lambda: nn.ConcatTable().add(nn.Identity()).add(nn.ParallelTable().add(nn.Linear(3, 2)).add(nn.Abs())),
        lambda: [randn(5, 3), randn(2)],
    ),
    "Parallel": (lambda: nn.Parallel(1, 0).add(nn.Linear(3, 2)).add(nn.Linear(3, 4)), lambda: randn(3, 2)),
    "ParallelTable": (
        lambda: nn.ParallelTable().add(nn.Linear(3, 2)).add(nn.Tanh()),
        lambda: [randn(5, 3), randn(2)],
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_gradients(name):
    """The gradients that `backward` returns and stores match finite differences of a randomly weighted sum of the output."""
    torch.manual_seed(0)
    build, make_input = MODULES[name]
    module, x = build().double(), make_input()
    output = module.forward(x)
    weights = [randn(*t.shape) for t in tensors_of(output)]
    gradients = iter(weights)
    module.zeroGradParameters()
    grad_output = like(output, gradients)
    grad_input = module.backward(x, grad_output)
    assert module.gradInput is grad_input
    assert module.output is output
    parameters, kept = module.parameters()
    for tensor, gradient in zip([*tensors_of(x), *parameters], [*tensors_of(grad_input), *kept], strict=True):
        assert gradient.shape == tensor.shape
        for index in np.ndindex(*tensor.shape):
            expected = finite_difference(lambda: dot(module.forward(x), weights), tensor, index)
            assert gradient[index].item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


def like(table, tensors):
    return [like(part, tensors) for part in table] if isinstance(table, (list, tuple)) else next(tensors)


def finite_difference(function, tensor, index, eps=1e-5):
    """Return the finite difference of `function()` with respect to one element of `tensor`."""
    before = tensor[index].item()
    values = []
    for shift in (eps, -eps):
        tensor[index] = before + shift
        values.append(function())
    tensor[index] = before
    return (values[0] - values[1]) / (2 * eps)


CRITERIONS = {
    "AbsCriterion": (lambda: nn.AbsCriterion(), lambda: (randn(3), randn(3))),
    "BCECriterion": (lambda: nn.BCECriterion(), lambda: (positive(3) / 2, torch.tensor([0.0, 1.0, 1.0]).double())),
    "ClassNLLCriterion": (lambda: nn.ClassNLLCriterion(positive(3)), lambda: (randn(2, 3), torch.tensor([0, 2]))),
    "ClassSimplexCriterion": (lambda: nn.ClassSimplexCriterion(3), lambda: (randn(4, 3), torch.tensor([0, 2, 1, 2]))),
    "CosineEmbeddingCriterion": (
        lambda: nn.CosineEmbeddingCriterion(),
        lambda: ([randn(2, 3), randn(2, 3)], torch.tensor([1.0, -1.0])),
    ),
    "CrossEntropyCriterion": (lambda: nn.CrossEntropyCriterion(), lambda: (randn(2, 3), torch.tensor([0, 2]))),
    "DistKLDivCriterion": (lambda: nn.DistKLDivCriterion(), lambda: (randn(3), positive(3))),
    "HingeEmbeddingCriterion": (
        lambda: nn.HingeEmbeddingCriterion(),
        lambda: (positive(3), torch.tensor([1.0, -1.0, 1.0])),
    ),
    "L1Cost": (lambda: nn.L1Cost(), lambda: (randn(3), None)),
    "L1HingeEmbeddingCriterion": (lambda: nn.L1HingeEmbeddingCriterion(), lambda: ([randn(3), randn(3)], 1)),
    "MSECriterion": (lambda: nn.MSECriterion(False), lambda: (randn(2, 3), randn(2, 3))),
    "MarginCriterion": (lambda: nn.MarginCriterion(), lambda: (randn(3), torch.tensor([1.0, -1.0, 1.0]))),
    "MarginRankingCriterion": (
        lambda: nn.MarginRankingCriterion(),
        lambda: ([randn(3), randn(3)], torch.tensor([1.0, -1.0, 1.0])),
    ),
    "MultiCriterion": (
        lambda: nn.MultiCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion()),
        lambda: (randn(3), randn(3)),
    ),
    "MultiLabelMarginCriterion": (
        lambda: nn.MultiLabelMarginCriterion(),
        lambda: (randn(2, 3), torch.tensor([[0, 2, -1], [1, -1, 0]])),
    ),
    "MultiLabelSoftMarginCriterion": (
        lambda: nn.MultiLabelSoftMarginCriterion(),
        lambda: (randn(1, 3), torch.tensor([[0.0, 1.0, 1.0]]).double()),
    ),
    "MultiMarginCriterion": (lambda: nn.MultiMarginCriterion(), lambda: (randn(2, 3), torch.tensor([0, 2]))),
    "ParallelCriterion": (
        lambda: nn.ParallelCriterion().add(nn.MSECriterion(), 0.5).add(nn.ClassNLLCriterion()),
        lambda: ([randn(3), randn(2, 3)], [randn(3), torch.tensor([0, 2])]),
    ),
    "ParallelCriterion of one target": (
        lambda: nn.ParallelCriterion(True).add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion()),
        lambda: ([randn(3), randn(3)], randn(3)),
    ),
    "SmoothL1Criterion": (lambda: nn.SmoothL1Criterion(), lambda: (randn(3), randn(3))),
    "SoftMarginCriterion": (
        lambda: nn.SoftMarginCriterion(),
        lambda: (randn(3), torch.tensor([1.0, -1.0, 1.0]).double()),
    ),
    "SpatialClassNLLCriterion": (
        lambda: nn.SpatialClassNLLCriterion(),
        lambda: (randn(1, 3, 1, 2), torch.tensor([[[0, 2]]])),
    ),
    "WeightedMSECriterion": (lambda: nn.WeightedMSECriterion(positive(3)), lambda: (randn(2, 3), randn(2, 3))),
}


@pytest.mark.parametrize("name", CRITERIONS)
def test_criterion_gradients(name):
    torch.manual_seed(0)
    build, make = CRITERIONS[name]
    criterion = build()
    x, target = make()
    loss = criterion.forward(x, target)
    assert isinstance(loss, float)
    assert criterion.output == loss
    grad_input = criterion.backward(x, target)
    for tensor, gradient in zip(tensors_of(x), tensors_of(grad_input), strict=True):
        for index in np.ndindex(*tensor.shape):
            expected = finite_difference(lambda: criterion.forward(x, target), tensor, index)
            assert gradient[index].item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_values_of_criterions():
    x, y = torch.tensor([0.5, 0.25]), torch.tensor([1.0, 0.0])
    assert nn.MSECriterion().forward(x, y) == pytest.approx((0.25 + 0.0625) / 2)
    assert nn.AbsCriterion(False).forward(x, y) == pytest.approx(0.75)
    assert nn.BCECriterion().forward(x, y) == pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2)
    assert nn.MarginCriterion(0.4).forward(x, torch.tensor([1.0, -1.0])) == pytest.approx(0.65 / 2)


def test_everything_of_0_2_is_there():
    names = [
        "Abs",
        "AbsCriterion",
        "Add",
        "AddConstant",
        "BCECriterion",
        "BatchNormalization",
        "Bilinear",
        "CAddTable",
        "CDivTable",
        "CMul",
        "CMulTable",
        "CSubTable",
        "Clamp",
        "ClassNLLCriterion",
        "ClassSimplexCriterion",
        "Concat",
        "ConcatTable",
        "Container",
        "Contiguous",
        "Copy",
        "Cosine",
        "CosineDistance",
        "CosineEmbeddingCriterion",
        "Criterion",
        "CriterionTable",
        "CrossEntropyCriterion",
        "DepthConcat",
        "DistKLDivCriterion",
        "DotProduct",
        "Dropout",
        "ELU",
        "Euclidean",
        "Exp",
        "FlattenTable",
        "GradientReversal",
        "HardShrink",
        "HardTanh",
        "HingeEmbeddingCriterion",
        "Identity",
        "Index",
        "JoinTable",
        "L1Cost",
        "L1HingeEmbeddingCriterion",
        "L1Penalty",
        "LeakyReLU",
        "Linear",
        "Log",
        "LogSigmoid",
        "LogSoftMax",
        "LookupTable",
        "MM",
        "MSECriterion",
        "MV",
        "MarginCriterion",
        "MarginRankingCriterion",
        "MaskedSelect",
        "Max",
        "Mean",
        "Min",
        "MixtureTable",
        "Module",
        "Mul",
        "MulConstant",
        "MultiCriterion",
        "MultiLabelMarginCriterion",
        "MultiLabelSoftMarginCriterion",
        "MultiMarginCriterion",
        "Narrow",
        "NarrowTable",
        "Normalize",
        "PReLU",
        "Padding",
        "PairwiseDistance",
        "Parallel",
        "ParallelCriterion",
        "ParallelTable",
        "PartialLinear",
        "PixelShuffle",
        "Power",
        "RReLU",
        "ReLU",
        "ReLU6",
        "Replicate",
        "Reshape",
        "Select",
        "SelectTable",
        "Sequential",
        "Sigmoid",
        "SmoothL1Criterion",
        "SoftMarginCriterion",
        "SoftMax",
        "SoftMin",
        "SoftPlus",
        "SoftShrink",
        "SoftSign",
        "SpatialAdaptiveMaxPooling",
        "SpatialAveragePooling",
        "SpatialBatchNormalization",
        "SpatialClassNLLCriterion",
        "SpatialContrastiveNormalization",
        "SpatialConvolution",
        "SpatialConvolutionLocal",
        "SpatialConvolutionMap",
        "SpatialCrossMapLRN",
        "SpatialDilatedConvolution",
        "SpatialDivisiveNormalization",
        "SpatialDropout",
        "SpatialFractionalMaxPooling",
        "SpatialFullConvolution",
        "SpatialFullConvolutionMap",
        "SpatialLPPooling",
        "SpatialMaxPooling",
        "SpatialMaxUnpooling",
        "SpatialReflectionPadding",
        "SpatialReplicationPadding",
        "SpatialSoftMax",
        "SpatialSubSampling",
        "SpatialSubtractiveNormalization",
        "SpatialUpSamplingNearest",
        "SpatialZeroPadding",
        "SplitTable",
        "Sqrt",
        "Square",
        "Squeeze",
        "Sum",
        "Tanh",
        "TanhShrink",
        "TemporalConvolution",
        "TemporalMaxPooling",
        "TemporalSubSampling",
        "Threshold",
        "Transpose",
        "Unsqueeze",
        "View",
        "VolumetricAveragePooling",
        "VolumetricBatchNormalization",
        "VolumetricConvolution",
        "VolumetricDropout",
        "VolumetricFullConvolution",
        "VolumetricMaxPooling",
        "VolumetricMaxUnpooling",
        "VolumetricReplicationPadding",
        "WeightedEuclidean",
        "WeightedMSECriterion",
    ]
    assert set(names) <= set(nn.__all__) and all(hasattr(nn, name) for name in nn.__all__)
    assert set(optim.__all__) >= {
        "adadelta",
        "adagrad",
        "adam",
        "adamax",
        "asgd",
        "cg",
        "lbfgs",
        "nag",
        "rmsprop",
        "rprop",
        "sgd",
    }


def test_convolutions_by_a_table_are_convolutions_with_zeros():
    table = nn.SpatialConvolutionMap.maps.full(2, 3)
    assert table.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]
    layer, x = nn.SpatialConvolutionMap(table, 3, 2), torch.randn(1, 2, 4, 5)
    full = nn.SpatialConvolution(2, 3, 3, 2)
    full.weight, full.bias = layer.weight.view(3, 2, 2, 3), layer.bias
    torch.testing.assert_close(layer.forward(x), full.forward(x))
    bound = 1 / np.sqrt(3 * 2 * 2)
    assert layer.weight.abs().max() <= bound and layer.weight.abs().max() > 0.8 * bound
    ours = nn.SpatialFullConvolutionMap(nn.SpatialConvolutionMap.maps.oneToOne(2), 2, 2)
    theirs = torch.nn.functional.conv_transpose2d(x, ours.weight.unsqueeze(1), ours.bias, groups=2)
    torch.testing.assert_close(ours.forward(x), theirs)
    torch.manual_seed(0)
    drawn = nn.SpatialConvolutionMap.maps.random(6, 5, 2).long()
    assert drawn[:, 1].tolist() == [j for j in range(5) for _ in range(2)]
    assert sorted(drawn[:6, 0].tolist()) == list(range(6)) and len(set(drawn[6:, 0].tolist())) == 4


def test_local_convolutions_have_kernels_of_each_place():
    layer, x = nn.SpatialConvolutionLocal(2, 3, 4, 5, 2, 3, 1, 2), torch.randn(2, 2, 5, 4)
    output = layer.forward(x)
    assert output.shape == (2, 3, 2, 3)
    for i, j in np.ndindex(2, 3):
        window = x[:, :, 2 * i : 2 * i + 3, j : j + 2]
        expected = torch.einsum("nchw,ochw->no", window, layer.weight[i, j]) + layer.bias[:, i, j]
        torch.testing.assert_close(output[:, :, i, j], expected)
    with pytest.raises(RuntimeError, match=r"Given input size: \(2x2x4x4\) inconsistent with expected input size: \(2x5x4\)"):
        layer.forward(torch.zeros(2, 2, 4, 4))


@pytest.mark.parametrize("kernel", [torch.tensor([1.0, 3, 1]), torch.tensor([[1.0, 2, 0], [0, 5, 1], [1, 1, 1]])])
def test_local_normalization(kernel):
    x = torch.randn(2, 3, 5, 6)
    weights = (kernel.outer(kernel) if kernel.dim() == 1 else kernel).numpy()

    def local_means(images):  # averages only over pixels inside the image
        result = np.empty((2, 1, 5, 6))
        for i, j in np.ndindex(5, 6):
            total = count = 0
            for (a, b), weight in np.ndenumerate(weights):
                if 0 <= i + a - 1 < 5 and 0 <= j + b - 1 < 6:
                    total = total + weight * images[:, :, i + a - 1, j + b - 1].mean(1)
                    count += weight
            result[:, 0, i, j] = total / count
        return result, count

    subtracted = x.numpy() - local_means(x.numpy())[0]
    np.testing.assert_allclose(nn.SpatialSubtractiveNormalization(3, kernel).forward(x).numpy(), subtracted, rtol=1e-4, atol=1e-5)
    divided = nn.SpatialDivisiveNormalization(3, kernel, 0.5, 9.0).forward(x)
    inside = np.sqrt(local_means(x.numpy() ** 2)[0])[:, :, 1:-1, 1:-1]  # positions where the kernel is fully inside the image
    expected = x.numpy()[:, :, 1:-1, 1:-1] / np.where(inside > 0.5, inside, 9.0)
    np.testing.assert_allclose(divided[:, :, 1:-1, 1:-1].numpy(), expected, rtol=1e-4)
    both = nn.SpatialContrastiveNormalization(3, kernel).forward(x)
    torch.testing.assert_close(both, nn.SpatialDivisiveNormalization(3, kernel).forward(torch.tensor(subtracted).float()))
    flat = nn.SpatialDivisiveNormalization(3, kernel)
    flat.forward(torch.zeros(1, 3, 5, 6))
    assert flat.backward(torch.zeros(1, 3, 5, 6), torch.ones(1, 3, 5, 6)).isfinite().all()
    for wrong, message in ((torch.ones(2), "ODD dimensions"), (torch.ones(3, 3, 3), "2D or 1D")):
        with pytest.raises(ValueError, match=message):
            nn.SpatialContrastiveNormalization(3, wrong)


def test_unpooling_puts_elements_back():
    pooling = nn.SpatialMaxPooling(2, 2)
    x = torch.arange(20.0).reshape(1, 1, 4, 5)
    pooled = pooling.forward(x)
    back = nn.SpatialMaxUnpooling(pooling).forward(pooled)
    assert (
        back.shape == x.shape
        and back.nonzero()[:, 2:].tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]
        and back.sum() == pooled.sum()
    )
    with pytest.raises(AssertionError, match="stride equal to the window size"):
        nn.SpatialMaxUnpooling(nn.SpatialMaxPooling(3, 3, 1, 1))
    with pytest.raises(AssertionError, match="expected a VolumetricMaxPooling"):
        nn.VolumetricMaxUnpooling(pooling)


def test_fractional_pooling_draws_windows_until_they_are_fixed():
    torch.manual_seed(0)
    layer, x = nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.7), torch.randn(2, 3, 20, 10)
    assert repr(layer) == "nn.SpatialFractionalMaxPooling(0.5x0.7, 2, 2)"
    first, second = layer.forward(x), layer.forward(x)
    assert first.shape == (2, 3, 14, 5) and not torch.equal(first, second)
    layer.fixPoolingRegions()
    assert torch.equal(layer.forward(x), second)
    with pytest.raises(AssertionError, match="between 0 and 1"):
        nn.SpatialFractionalMaxPooling(2, 2, 0.5, 3)


def test_volumes_grow_to_the_size_of_a_target():
    layer, target = nn.VolumetricFullConvolution(1, 2, 3, 3, 3, 2, 2, 2, 1, 1, 1), torch.zeros(1, 1, 6, 5, 6)
    assert layer.forward([torch.randn(1, 1, 3, 3, 3), target]).shape == (1, 2, 6, 5, 6)
    assert layer.forward(torch.randn(1, 1, 3, 3, 3)).shape == (1, 2, 5, 5, 5)
    with pytest.raises(RuntimeError, match="adjustments smaller than the strides"):
        nn.VolumetricFullConvolution(1, 1, 2, 2, 2, adjT=1)


def test_depth_concat_centres_what_is_smaller():
    layer = nn.DepthConcat(0).add(nn.Identity()).add(nn.Narrow(1, 0, 1))
    output = layer.forward(torch.ones(1, 4, 2))
    assert output.tolist() == [[[1, 1]] * 4, [[0, 0], [1, 1], [0, 0], [0, 0]]]


def test_a_criterion_as_a_module():
    layer, x, target = nn.CriterionTable(nn.MSECriterion()), torch.tensor([1.0, 3.0]), torch.zeros(2)
    assert layer.forward([x, target]) == 5.0
    assert layer.backward([x, target], None)[0].tolist() == [1.0, 3.0]


def test_corners_of_a_simplex_are_equally_far_from_each_other():
    simplex = nn.ClassSimplexCriterion(5).simplex.double()
    products = simplex @ simplex.t()
    expected = torch.eye(5, dtype=torch.float64) * 1.25 - 0.25
    torch.testing.assert_close(products, expected, atol=1e-6, rtol=0)


def test_a_part_of_a_linear_layer():
    layer, x = nn.PartialLinear(3, 5), torch.randn(2, 3)
    whole = layer.forward(x)
    layer.setPartition(torch.tensor([3, 0]))
    assert torch.equal(layer.forward(x), whole[:, [3, 0]])
    layer.zeroGradParameters()
    layer.backward(x, torch.ones(2, 2))
    assert layer.gradBias.tolist() == [[2, 0, 0, 2, 0]] and not layer.gradWeight[[1, 2, 4]].any()
    assert repr(layer) == "nn.PartialLinear(3 -> 5)"


def test_lookup_table():
    table = nn.LookupTable(4, 2, paddingValue=1)
    index = torch.tensor([[0, 1, 3], [0, 2, 3]])
    output = table.forward(index)
    assert output.tolist() == table.weight[index].tolist()
    table.backward(index, torch.ones(2, 3, 2))
    assert table.gradWeight.tolist() == [[2, 2], [0, 0], [1, 1], [2, 2]]
    bounded = nn.LookupTable(3, 2, maxNorm=0.1)
    bounded.forward(torch.tensor([0, 2]))
    norms = bounded.weight.norm(2, 1)
    assert norms[0] <= 0.1001 and norms[2] <= 0.1001


def test_dropout_and_batch_norm_know_their_mode():
    torch.manual_seed(0)
    x = torch.ones(1000)
    net = nn.Sequential().add(nn.Dropout(0.25))
    kept = net.forward(x)
    assert set(np.unique(np.round(kept.tolist(), 4))) == {0.0, 1.3333}
    assert net.backward(x, torch.ones(1000)).tolist() == kept.tolist()
    net.evaluate()
    assert net.forward(x).tolist() == x.tolist()
    net.training()
    assert net.modules[0].train
    with pytest.raises(ValueError, match="illegal percentage"):
        nn.Dropout(1.5)
    norm = nn.SpatialBatchNormalization(2)
    x = torch.randn(3, 2, 4, 4) * 3 + 1
    norm.forward(x)
    np.testing.assert_allclose(norm.running_mean.tolist(), (0.1 * x.mean((0, 2, 3))).tolist(), rtol=1e-5)
    with pytest.raises(RuntimeError, match="only mini-batch supported"):
        norm.forward(x[0])


def test_training():
    torch.manual_seed(0)
    net = nn.Sequential().add(nn.Linear(2, 8)).add(nn.Tanh()).add(nn.Linear(8, 2)).add(nn.LogSoftMax())
    criterion = nn.ClassNLLCriterion()
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([0, 1, 1, 0])
    losses = []
    for _ in range(300):
        losses.append(criterion.forward(net.forward(x), y))
        net.zeroGradParameters()
        net.backward(x, criterion.backward(net.output, y))
        net.updateParameters(1.0)
    assert losses[-1] < 0.05 < losses[0]


def test_flat_parameters_are_those_of_the_modules():
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.PReLU())
    twin = nn.Linear(3, 2).share(net.modules[0], "weight", "bias", "gradWeight", "gradBias")
    net.add(nn.Linear(2, 3)).add(twin)
    flat, gradient = net.flattenParameters()
    assert flat.numel() == gradient.numel() == 8 + 1 + 9
    flat.fill_(2.0)
    gradient.fill_(1.0)
    assert net.modules[0].weight.tolist() == [[2, 2, 2], [2, 2, 2]]
    net.modules[0].weight.zero_()
    assert twin.weight.tolist() == [[0, 0, 0], [0, 0, 0]]
    net.zeroGradParameters()
    assert gradient.sum() == 0


def test_scale_and_updates_in_backward():
    layer, x = nn.Linear(2, 1), torch.ones(1, 2)
    layer.forward(x)
    layer.backward(x, torch.ones(1, 1), scale=3)
    assert layer.gradWeight.tolist() == [[3, 3]]
    before = layer.weight.clone()
    layer.backwardUpdate(x, torch.ones(1, 1), 0.5)
    np.testing.assert_allclose((before - layer.weight).tolist(), [[0.5, 0.5]], rtol=1e-6)
    assert layer.gradWeight.tolist() == [[3, 3]]
    other = torch.full((1, 2), 5.0)
    layer.zeroGradParameters()
    layer.backward(other, torch.ones(1, 1))
    assert layer.gradWeight.tolist() == [[5, 5]]


def test_custom_modules_in_containers():
    class Doubled(nn.Module):
        def updateOutput(self, input):
            self.output = input * 2
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = gradOutput * 2
            return self.gradInput

        def accGradParameters(self, input, gradOutput, scale=1):
            self.calls = getattr(self, "calls", 0) + 1

    net = nn.Sequential().add(Doubled()).add(nn.Square())
    x = torch.tensor([3.0])
    assert net(x).tolist() == [36.0]
    assert net.backward(x, torch.ones(1)).tolist() == [24.0]
    assert net.updateGradInput(x, torch.ones(1)).tolist() == [24.0]
    net.accGradParameters(x, torch.ones(1))
    assert net.modules[0].calls == 2


def test_copies_share_what_they_are_told_to():
    net = nn.Sequential().add(nn.Linear(2, 2))
    x = torch.ones(1, 2)
    output = net.forward(x)
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), net.clone()):
        assert again.forward(x).tolist() == output.tolist()
        assert again.modules[0].weight is not net.modules[0].weight
    assert net.clone("weight").modules[0].weight is net.modules[0].weight


def test_structure():
    net = nn.Sequential().add(nn.Linear(2, 3)).add(nn.ConcatTable().add(nn.Tanh()).add(nn.Reshape(3, 1)))
    assert repr(net) == (
        "nn.Sequential {\n"
        "  [input -> (0) -> (1) -> output]\n"
        "  (0): nn.Linear(2 -> 3)\n"
        "  (1): nn.ConcatTable {\n"
        "    (0): nn.Tanh\n"
        "    (1): nn.Reshape(3x1)\n"
        "  }\n"
        "}"
    )
    assert repr(nn.SpatialConvolution(3, 8, 5, 5)) == "nn.SpatialConvolution(3 -> 8, 5x5)"
    assert [type(m).__name__ for m in net.listModules()] == ["Sequential", "Linear", "ConcatTable", "Tanh", "Reshape"]
    assert net.findModules(nn.Tanh) == [net.get(1).get(0)]
    net.replace(lambda module: nn.ReLU() if isinstance(module, nn.Tanh) else module)
    assert type(net.get(1).get(0)) is nn.ReLU
    net.insert(nn.Abs(), 0)
    net.remove(1)
    assert [type(m).__name__ for m in net.modules] == ["Abs", "ConcatTable"]
    assert (len(net), net.size()) == (2, 2)
    assert net.double().type() == net.get(1).type() == "torch.DoubleTensor"
    assert nn.Linear(1, 1).double().weight.dtype == torch.float64
    assert nn.Linear(1, 1).double().float().weight.dtype == torch.float32
    net.forward(torch.zeros(1, 3, dtype=torch.float64))
    assert net.clearState().output.numel() == 0


def test_initial_weights():
    torch.manual_seed(0)
    layer = nn.Linear(16, 200)
    assert layer.weight.abs().max() <= 0.25
    layer.reset(0.1)
    assert layer.weight.std().item() == pytest.approx(0.1, rel=0.1)
    convolution = nn.SpatialConvolution(4, 8, 2, 2).noBias()
    assert convolution.weight.abs().max() <= 0.25
    assert len(convolution.parameters()[0]) == 1
    assert nn.SpatialBatchNormalization(3).bias.tolist() == [0, 0, 0]


def test_modules_with_a_side_effect():
    x = torch.tensor([1.0, -2.0])
    penalty = nn.L1Penalty(0.5)
    assert penalty.forward(x).tolist() == [1, -2]
    assert penalty.loss == 1.5
    assert penalty.backward(x, torch.ones(2)).tolist() == [1.5, 0.5]
    reversal = nn.GradientReversal(0.5)
    assert reversal.forward(x).tolist() == [1, -2]
    assert reversal.backward(x, torch.ones(2)).tolist() == [-0.5, -0.5]
    rectified = nn.RReLU()
    slopes = (rectified.forward(-torch.ones(100)) * -1).tolist()
    assert 1 / 8 <= min(slopes) < max(slopes) <= 1 / 3
    index = nn.Index(0)
    assert index.forward([x, torch.tensor([1, 1])]).tolist() == [-2, -2]
    assert index.backward([x, torch.tensor([1, 1])], torch.ones(2))[0].tolist() == [0, 2]
    masked = nn.MaskedSelect()
    assert masked.forward([x, torch.tensor([True, False])]).tolist() == [1]
    assert masked.backward([x, torch.tensor([True, False])], torch.ones(1))[0].tolist() == [1, 0]

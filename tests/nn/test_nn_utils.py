"""nn.utils: gradient clipping, parameter vectors, parametrizations, pruning and fusion."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import utils
from flambeau.nn.utils import parametrizations, parametrize, prune

rng = np.random.default_rng(0)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def array(tensor):
    return tensor.detach().numpy()


def with_gradients():
    params = [nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), ())]
    grads = [floats(*param.shape) for param in params]
    for param, grad in zip(params, grads, strict=True):
        param.grad = torch.tensor(grad)
    return [*params, nn.Parameter(torch.zeros(2))], grads


# Clipping and vectors


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1000.0])
def test_clip_grad_norm(norm_type, max_norm):
    params, grads = with_gradients()
    norm = np.linalg.norm(np.concatenate([grad.ravel() for grad in grads]), norm_type)
    assert float(utils.clip_grad_norm_(iter(params), max_norm, norm_type)) == pytest.approx(norm, rel=1e-5)
    for param, grad in zip(params[:-1], grads, strict=True):
        np.testing.assert_allclose(array(param.grad), grad * min(1, max_norm / norm), rtol=1e-4)
    assert params[-1].grad is None


def test_norm_of_nothing_and_of_infinity():
    assert float(utils.get_total_norm([])) == 0.0
    assert float(utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0)) == 0.0
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        utils.get_total_norm(torch.tensor([float("inf")]), error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((param for param in []), 1.0)
    with pytest.warns(FutureWarning, match="now deprecated in favor of"):
        utils.clip_grad_norm(with_gradients()[0], 1.0)


def test_clip_grad_value():
    params, grads = with_gradients()
    utils.clip_grad_value_(params, 0.3)
    for param, grad in zip(params[:-1], grads, strict=True):
        np.testing.assert_allclose(array(param.grad), np.clip(grad, -0.3, 0.3), rtol=1e-6)


def test_parameters_to_vector_and_back():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = utils.parameters_to_vector(net.parameters())
    np.testing.assert_array_equal(array(vector), np.concatenate([array(param).ravel() for param in net.parameters()]))
    utils.vector_to_parameters(torch.arange(13.0), net.parameters())
    assert net[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]] and net[1].bias.tolist() == [12]
    with pytest.raises(TypeError, match=r"expected torch\.Tensor, but got: list"):
        utils.vector_to_parameters([1.0], net.parameters())


# Weight and spectral normalization


def make(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return function(*args, **kwargs)


@pytest.mark.parametrize("dim", [0, 1, None, -2])
@pytest.mark.parametrize("weight_norm", [utils.weight_norm, parametrizations.weight_norm])
def test_weight_norm(weight_norm, dim):
    layer = nn.Conv1d(2, 3, 4)
    original, x = array(layer.weight).copy(), torch.tensor(floats(1, 2, 6))
    before = array(layer(x))
    layer = make(weight_norm, layer, dim=dim)
    np.testing.assert_allclose(array(layer(x)), before, rtol=1e-4, atol=1e-5)
    magnitude, direction = [param for name, param in layer.named_parameters() if name != "bias"]
    magnitude.data *= 2
    direction.data *= 5
    layer(x).sum().backward()
    np.testing.assert_allclose(array(layer.weight), 2 * original, rtol=1e-4)
    assert magnitude.numel() == {0: 3, 1: 2, -2: 2, None: 1}[dim] and magnitude.grad is not None


@pytest.mark.parametrize("weight_norm", [utils.weight_norm, parametrizations.weight_norm])
def test_weight_norm_along_a_dimension_that_there_is_not(weight_norm):
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 5"):
        make(weight_norm, nn.Linear(3, 4), dim=5)


def test_old_weight_norm_can_be_removed_and_converted():
    layer = make(utils.weight_norm, nn.Linear(3, 4))
    value = array(layer.weight).copy()
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        make(utils.weight_norm, layer)
    newer = parametrizations.weight_norm(nn.Linear(3, 4))
    newer.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(array(newer.weight), value, rtol=1e-5)
    utils.remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and isinstance(layer.weight, nn.Parameter)
    np.testing.assert_allclose(array(layer.weight), value, rtol=1e-5)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(layer)


@pytest.mark.parametrize("spectral_norm", [utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm(spectral_norm):
    layer = nn.Linear(5, 4)
    expected = array(layer.weight) / np.linalg.svd(array(layer.weight), compute_uv=False)[0]
    layer, x = spectral_norm(layer, n_power_iterations=5), torch.tensor(floats(2, 5))
    for _ in range(30):
        layer(x)
    layer.eval()
    layer(x).sum().backward()
    np.testing.assert_allclose(array(layer.weight), expected, rtol=1e-3, atol=1e-4)
    assert [param.grad is not None for param in layer.parameters()] == [True, True]
    twin = spectral_norm(nn.Linear(5, 4)).eval()
    twin.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(array(twin(x)), array(layer(x)), rtol=1e-5, atol=1e-6)


def test_spectral_norm_loads_its_first_format():
    layer, x = utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=5), torch.tensor(floats(2, 5))
    layer(x)
    state = layer.eval().state_dict()
    first = {"bias": state["bias"], "weight_orig": state["weight_orig"], "weight_u": state["weight_u"], "weight": layer.weight}
    other = utils.spectral_norm(nn.Linear(5, 4)).eval()
    other.load_state_dict(first)
    torch.testing.assert_close(other(x), layer(x))
    torch.testing.assert_close(other.weight_v.dot(state["weight_v"]).abs(), other.weight_v.norm(), atol=1e-3, rtol=1e-3)
    other.load_state_dict(dict(state))  # without metadata
    torch.testing.assert_close(other.weight_v, state["weight_v"])
    with pytest.raises(RuntimeError, match='Missing key.*"weight_u"'):
        other.load_state_dict({"bias": state["bias"], "weight_orig": state["weight_orig"], "weight": layer.weight})


def test_old_spectral_norm_can_be_removed():
    layer = utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2))
    assert layer.weight_u.shape == (3,) and layer.weight_v.shape == (8,)
    value = array(layer.eval().weight).shape
    utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and layer.weight.shape == value
    assert not layer._forward_pre_hooks and not layer._state_dict_hooks


@pytest.mark.parametrize("spectral_norm", [utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm_of_a_vector(spectral_norm):
    layer = spectral_norm(nn.Linear(3, 4), "bias")
    layer(torch.ones(1, 3))
    assert float(layer.bias.detach().norm()) == pytest.approx(1.0, rel=1e-5)


# Parametrizations


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


def test_parametrization_of_a_parameter():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(layer) is nn.Linear
    value = np.array([[1, 2, 3], [2, 4, 5], [3, 5, 6]], np.float32)
    layer.weight = torch.tensor(value)
    np.testing.assert_array_equal(array(layer.weight), value)
    layer(torch.ones(1, 3)).sum().backward()
    np.testing.assert_array_equal(np.tril(array(layer.parametrizations.weight.original.grad), -1), np.zeros((3, 3)))
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_array_equal(array(layer.weight), value)


def test_several_parametrizations():
    layer = nn.Linear(3, 3)
    before = array(layer.weight).copy()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Doubled())
    expected = 2 * (np.triu(before) + np.triu(before, 1).T)
    np.testing.assert_allclose(array(layer.weight), expected, rtol=1e-6)
    with pytest.raises(RuntimeError, match="parametrization Doubled does not implement right_inverse"):
        layer.weight = torch.ones(3, 3)
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    np.testing.assert_allclose(array(layer.weight), np.triu(before), rtol=1e-6)


def test_parametrized_buffers_and_copies():
    norm = nn.BatchNorm1d(2)
    parametrize.register_parametrization(norm, "running_mean", Doubled())
    norm.parametrizations.running_mean.original.fill_(3.0)
    twin = copy.deepcopy(norm)
    norm.parametrizations.running_mean.original.fill_(4.0)
    assert norm.running_mean.tolist() == [8.0, 8.0] and twin.running_mean.tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(norm)


def test_cached_parametrizations():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            assert layer.weight is first
        assert layer.weight is first
    assert layer.weight is not first


def test_parametrizations_must_keep_the_form():
    class Wide(nn.Module):
        def forward(self, x):
            return x.repeat(2, 1)

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        parametrize.register_parametrization(layer, "weight", Wide())
    assert not parametrize.is_parametrized(layer)
    parametrize.register_parametrization(layer, "weight", Wide(), unsafe=True)
    assert layer.weight.shape == (4, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element"):
        parametrize.register_parametrization(layer, "missing", Wide())
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.remove_parametrizations(layer, "bias")


def test_transfer():
    source, target = parametrizations.weight_norm(nn.Linear(2, 3)), nn.Linear(2, 3)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert torch.equal(source.weight, target.weight) and parametrize.is_parametrized(target, "weight")


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3)])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("use_trivialization", [True, False])
def test_orthogonal(shape, orthogonal_map, use_trivialization):
    layer = nn.Linear(shape[1], shape[0]).double()
    parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization)
    identity = np.eye(min(shape))

    def product():
        weight = array(layer.weight)
        return weight @ weight.T if shape[0] <= shape[1] else weight.T @ weight

    np.testing.assert_allclose(product(), identity, atol=1e-6)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (layer(torch.ones(2, shape[1], dtype=torch.float64)) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(product(), identity, atol=1e-6)
    target = np.linalg.qr(rng.standard_normal((max(shape), max(shape))))[0][: shape[0], : shape[1]]
    if use_trivialization:
        layer.weight = torch.tensor(target)
        np.testing.assert_allclose(array(layer.weight), target, atol=1e-6)
    elif orthogonal_map != "householder":
        with pytest.raises(NotImplementedError, match="It is not possible to assign"):
            layer.weight = torch.tensor(target)


# Pruning


def test_l1_unstructured():
    layer = nn.Linear(4, 3)
    original = array(layer.weight).copy()
    prune.l1_unstructured(layer, "weight", amount=5)
    threshold = np.sort(np.abs(original).ravel())[5]
    np.testing.assert_array_equal(array(layer.weight), np.where(np.abs(original) < threshold, 0, original))
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"] and prune.is_pruned(nn.Sequential(layer))
    layer(torch.ones(1, 4)).sum().backward()
    np.testing.assert_array_equal(array(layer.weight_orig.grad), array(layer.weight_mask))
    prune.remove(layer, "weight")
    assert sorted(layer.state_dict()) == ["bias", "weight"] and not prune.is_pruned(layer)
    assert (array(layer.weight) == 0).sum() == 5 and isinstance(layer.weight, nn.Parameter)


def test_structured_pruning():
    conv = nn.Conv2d(4, 6, 3)
    norms = np.linalg.norm(array(conv.weight).reshape(6, -1), axis=1)
    prune.ln_structured(conv, "weight", amount=0.5, n=2, dim=0)
    pruned = np.abs(array(conv.weight)).sum((1, 2, 3)) == 0
    np.testing.assert_array_equal(np.flatnonzero(pruned), np.sort(np.argsort(norms)[:3]))
    prune.random_structured(conv, "weight", amount=2, dim=1)
    assert (np.abs(array(conv.weight)).sum((0, 2, 3)) == 0).sum() == 2


def test_repeated_pruning_combines_masks():
    layer = nn.Linear(4, 4)
    prune.random_unstructured(layer, "weight", amount=4)
    prune.l1_unstructured(layer, "weight", amount=0.5)
    assert int((layer.weight == 0).sum()) == 4 + 6
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2 and isinstance(hook[1], prune.L1Unstructured)
    prune.custom_from_mask(layer, "weight", torch.zeros(4, 4))
    assert int((layer.weight == 0).sum()) == 16 and len(hook) == 3


def test_global_pruning():
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    nn.init.constant_(net[0].weight, 0.1), nn.init.constant_(net[1].weight, 1.0)
    prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=0.5)
    assert int((net[0].weight == 0).sum()) == 10 and int((net[1].weight == 0).sum()) == 0
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported'):
        prune.global_unstructured([(net[0], "bias")], prune.LnStructured, amount=1, n=2)


def test_importance_scores_and_identity():
    layer = nn.Linear(2, 2)
    scores = torch.tensor([[4.0, 1.0], [2.0, 3.0]])
    prune.l1_unstructured(layer, "weight", amount=1, importance_scores=scores)
    assert layer.weight_mask.tolist() == [[1, 0], [1, 1]]
    assert prune.identity(nn.Linear(2, 2), "bias").bias_mask.tolist() == [1, 1]
    with pytest.raises(AssertionError, match="importance_scores should have the same shape"):
        prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=1, importance_scores=scores)


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda layer: prune.l1_unstructured(layer, "weight", 99), ValueError, "amount=99 should be smaller than"),
        (lambda layer: prune.l1_unstructured(layer, "weight", 1.5), ValueError, "should either be a float in the range"),
        (lambda layer: prune.l1_unstructured(layer, "weight", "x"), TypeError, "Invalid type for amount: x"),
        (lambda layer: prune.random_structured(layer, "bias", 1, 0), ValueError, "only be applied to multidimensional"),
        (lambda layer: prune.random_structured(layer, "weight", 1, 2), IndexError, "Invalid index 2 for tensor of size"),
        (lambda layer: prune.remove(layer, "weight"), ValueError, "has to be pruned before pruning can be removed"),
    ],
)
def test_pruning_errors(action, error, message):
    layer = nn.Linear(2, 3)
    with pytest.raises(error, match=message):
        action(layer)
    assert list(layer.state_dict()) == ["weight", "bias"]


# Fusion with batch norm, memory formats, skipped initialization


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_fusion_with_batch_norm(bias, affine):
    for layer, norm, x in [
        (nn.Conv2d(2, 3, 2, bias=bias), nn.BatchNorm2d(3, affine=affine), floats(4, 2, 5, 5)),
        (nn.ConvTranspose2d(2, 3, 2, bias=bias), nn.BatchNorm2d(3, affine=affine), floats(4, 2, 5, 5)),
        (nn.Linear(2, 3, bias=bias), nn.BatchNorm1d(3, affine=affine), floats(4, 2)),
    ]:
        x = torch.tensor(x)
        for param in norm.parameters():
            nn.init.normal_(param)
        norm(layer(x) * 3 + 1)
        with pytest.raises(AssertionError, match="Fusion only for eval!"):
            utils.fuse_linear_bn_eval(layer, norm)
        layer.eval(), norm.eval()
        if isinstance(layer, nn.Linear):
            fused = utils.fuse_linear_bn_eval(layer, norm)
        else:
            fused = utils.fuse_conv_bn_eval(layer, norm, transpose=isinstance(layer, nn.ConvTranspose2d))
        np.testing.assert_allclose(array(fused(x)), array(norm(layer(x))), rtol=1e-3, atol=1e-4)


def test_memory_format():
    net = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Linear(2, 2))
    before = array(net[0].weight).copy()
    assert utils.convert_conv2d_weight_memory_format(net, torch.channels_last) is net
    np.testing.assert_array_equal(array(net[0].weight), before)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_skip_init_draws_no_random_numbers():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    layer = utils.skip_init(nn.Linear, 5, 4, dtype=torch.float64)
    assert torch.equal(torch.rand(3), expected)
    assert layer.weight.shape == (4, 5) and layer.weight.dtype == torch.float64
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg"):
        utils.skip_init(nn.ReLU)

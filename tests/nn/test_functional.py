"""`nn.functional` beyond the sample table: randomness, state, deprecated arguments, warnings and composite functions."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F


def normal(*shape, seed=0, dtype=np.float64):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def assert_close(got, wanted, tolerance=1e-9):
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(wanted), rtol=tolerance, atol=tolerance)


# --- dropout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_scales_what_it_keeps(p):
    torch.manual_seed(0)
    result = F.dropout(torch.ones(20000), p)
    kept = result[result != 0]
    assert_close(kept, np.full(len(kept), 1 / (1 - p)), 1e-6)
    assert abs(len(kept) / 20000 - (1 - p)) < 0.02


def test_dropout_passes_the_gradient_of_what_it_keeps():
    x = torch.ones(100, requires_grad=True)
    result = F.dropout(x, 0.5)
    result.sum().backward()
    assert_close(x.grad, result.detach().numpy())


def test_dropout_in_place_changes_its_input():
    x = torch.ones(1000)
    result = F.dropout(x, 0.5, inplace=True)
    assert result is x and 300 < int((x == 0).sum()) < 700


@pytest.mark.parametrize(
    ("function", "shape"), [(F.dropout1d, (40, 30, 5)), (F.dropout2d, (40, 30, 2, 3)), (F.dropout3d, (40, 30, 2, 3, 2))]
)
def test_channel_dropout_drops_whole_channels(function, shape):
    torch.manual_seed(0)
    flat = function(torch.ones(shape), 0.4).reshape(1200, -1)
    assert (flat == flat[:, :1]).all()
    assert 0.55 < (flat[:, 0] != 0).float().mean() < 0.65


def test_channel_dropout_of_a_sample_without_batch():
    torch.manual_seed(0)
    result = F.dropout3d(torch.ones(50, 2, 2, 2), 0.5).flatten(1)
    assert result.shape == (50, 8) and (result == result[:, :1]).all()


@pytest.mark.parametrize("function", [F.alpha_dropout, F.feature_alpha_dropout])
def test_alpha_dropout_keeps_mean_and_variance(function):
    torch.manual_seed(0)
    x = normal(1000, 200, dtype=np.float32)
    result = function(x, 0.3, training=True)
    assert abs(float(result.mean())) < 0.02 and abs(float(result.var()) - 1) < 0.02


def test_dropout2d_warns_of_shapes_that_it_was_not_made_for():
    with pytest.warns(UserWarning, match="Received a 2-D input"):
        F.dropout2d(torch.ones(2, 3))
    with pytest.warns(UserWarning, match="3D input to dropout2d"):
        F.dropout2d(torch.ones(2, 3, 4))


# --- activations --------------------------------------------------------------------------------------------------

IN_PLACE = [F.relu, F.relu6, F.elu, F.selu, F.celu, F.leaky_relu, F.hardtanh, F.hardsigmoid, F.hardswish, F.silu, F.mish]


@pytest.mark.parametrize("function", IN_PLACE)
def test_activations_in_place(function):
    x = normal(3, 4)
    wanted = function(x)
    assert function(x, inplace=True) is x
    assert_close(x, wanted.numpy())


@pytest.mark.parametrize("function", IN_PLACE)
def test_activations_in_place_are_differentiable(function):
    x, y = normal(3, 4).requires_grad_(), normal(3, 4).requires_grad_()
    function(x * 2).sum().backward()
    function(y * 2, inplace=True).sum().backward()
    assert_close(y.grad, x.grad.numpy())


def test_rrelu_draws_a_slope_for_each_negative_element():
    torch.manual_seed(0)
    x = torch.linspace(-2, 2, 401)
    slopes = F.rrelu(x, 0.1, 0.3, training=True)[:200] / x[:200]
    assert ((slopes >= 0.1 - 1e-6) & (slopes <= 0.3 + 1e-6)).all() and len(set(slopes.tolist())) > 150
    assert_close(F.rrelu(x, 0.1, 0.3, training=True)[200:], x[200:].numpy())


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_samples_from_the_logits(hard):
    torch.manual_seed(0)
    logits = torch.tensor([0.1, 0.2, 0.7]).log().expand(20000, 3)
    result = F.gumbel_softmax(logits, tau=0.1, hard=hard)
    assert_close(result.sum(1), np.ones(20000), 1e-5)
    counts = result.argmax(1).bincount(minlength=3) if hasattr(torch.Tensor, "bincount") else F.one_hot(result.argmax(1)).sum(0)
    assert_close(counts / 20000, [0.1, 0.2, 0.7], 0.02)
    assert not hard or ((result == 0) | (result > 0.999)).all()


def test_gumbel_softmax_hard_has_the_gradient_of_the_relaxed_sample():
    found = []
    for hard in (False, True):
        logits = normal(4, 3).requires_grad_()
        torch.manual_seed(0)
        result = F.gumbel_softmax(logits, hard=hard)
        (result * torch.arange(3.0)).sum().backward()
        found.append(logits.grad.numpy())
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize(("ndim", "dim"), [(1, 0), (2, 1), (3, 0), (4, 1)])
@pytest.mark.parametrize("function", [F.softmax, F.log_softmax, F.softmin])
def test_softmax_without_dim_chooses_one_with_a_warning(function, ndim, dim):
    x = normal(*range(2, 2 + ndim))
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        result = function(x)
    assert_close(result, function(x, dim).numpy())


def test_softmax_in_another_dtype():
    assert F.softmax(torch.tensor([1, 2]), 0, dtype=torch.float64).dtype is torch.float64
    assert F.log_softmax(torch.tensor([1, 2]), 0, dtype=torch.float32).dtype is torch.float32


# --- losses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flags", "reduction"), [
    ({"size_average": True}, "mean"), ({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"reduce": True}, "mean"),
    ({"size_average": False, "reduce": True}, "sum"),
])  # fmt: skip
@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.soft_margin_loss])
def test_losses_take_the_flags_of_old(loss, flags, reduction):
    x, y = normal(3, 4), normal(3, 4, seed=1)
    with pytest.warns(UserWarning, match="size_average and reduce"):
        result = loss(x, y, **flags)
    assert_close(result, loss(x, y, reduction=reduction).numpy())


def test_losses_warn_where_shapes_differ():
    with pytest.warns(UserWarning, match="different to the input size"):
        result = F.mse_loss(torch.ones(3, 1), torch.zeros(3, 2), reduction="none")
    assert result.shape == (3, 2)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss])
def test_weighted_means_divide_by_the_sum_of_weights(loss):
    x, y, w = normal(3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2).abs()
    losses = loss(x, y, reduction="none")
    assert_close(loss(x, y, weight=w), float((losses * w).sum() / w.sum()))
    with pytest.raises(ValueError, match="same size"):
        loss(x, y, weight=w[0])


def test_nothing_to_average_is_not_a_number():
    assert math.isnan(F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100])))
    assert float(F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100]), reduction="sum")) == 0


def test_ignored_targets_receive_no_gradient():
    x = normal(3, 4).requires_grad_()
    F.cross_entropy(x, torch.tensor([1, 7, 2]), ignore_index=7).backward()
    assert not x.grad[1].any() and x.grad[0].any()
    assert_close(x.grad.sum(1), np.zeros(3))


def test_cross_entropy_of_large_logits():
    x = torch.tensor([[1000.0, 0.0], [0.0, -1000.0]], requires_grad=True)
    loss = F.cross_entropy(x, torch.tensor([1, 1]), reduction="none")
    assert_close(loss, [1000, 1000])
    loss.sum().backward()
    assert_close(x.grad, [[1, -1], [1, -1]])


@pytest.mark.parametrize("offset", [0.0, 30.0, -30.0, 1000.0, -1000.0, 2.0**20])
@pytest.mark.parametrize("space", [(), (2,)])
def test_cross_entropy_loses_no_digits_to_what_all_logits_have_in_common(offset, space):
    x = torch.tensor([[0.0, 1.0, 3.5]] * 4 * (space or (1,))[0]).reshape(4, *space, 3).movedim(-1, 1) + offset
    x.requires_grad_()
    losses = F.cross_entropy(x, torch.zeros(4, *space, dtype=torch.long), reduction="none")
    (slopes,) = torch.autograd.grad(losses.sum(), x)
    weights = np.exp([0.0, 1.0, 3.5])
    np.testing.assert_allclose(losses.detach().numpy(), np.full((4, *space), np.log(weights.sum())), 4e-7)
    expected = weights / weights.sum() - [1, 0, 0]
    np.testing.assert_allclose(slopes.movedim(1, -1).numpy(), np.broadcast_to(expected, (4, *space, 3)), 1e-6)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_second_derivative_of_soft_margin_loss_keeps_its_digits(label):
    values = np.array([-60.0, -30, -20, -10, -1, 0, 1, 10, 20, 60])
    x = torch.tensor(values, dtype=torch.float32, requires_grad=True)
    loss = F.soft_margin_loss(x, torch.full((10,), label), reduction="sum")
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    right, wrong = 1 / (1 + np.exp(-values)), 1 / (1 + np.exp(values))
    np.testing.assert_allclose(first.detach().numpy(), -label * (wrong if label > 0 else right), 1e-6)
    # the most extreme value is excluded, because the square of an exponential overflows
    inner = slice(1, None) if label > 0 else slice(None, -1)
    np.testing.assert_allclose(second.detach().numpy()[inner], (right * wrong)[inner], 2e-6, 1e-27)
    np.testing.assert_allclose(third.numpy()[inner], (right * wrong * (wrong - right))[inner], 2e-6, 1e-27)
    assert second.isfinite().all()


def test_soft_margin_loss_is_of_the_dtype_of_its_input():
    x = torch.zeros(2, dtype=torch.float16)
    assert F.soft_margin_loss(x, torch.ones(2)).dtype is torch.float16
    assert F.soft_margin_loss(x.float(), torch.ones(2, dtype=torch.double)).dtype is torch.float32


def test_cross_entropy_keeps_only_the_graph_of_its_input():
    x = normal(3, 4).requires_grad_()
    loss = F.cross_entropy(x, torch.tensor([0, 1, 2]))
    assert type(loss.grad_fn).__name__ == "NllLossBackward0"
    ((log_softmax, _),) = loss.grad_fn.next_functions
    assert log_softmax.name() == "LogSoftmaxBackward0" and log_softmax.next_functions[0][0].variable is x


def test_label_smoothing_of_classes_and_of_their_probabilities_agree():
    x, target, w = normal(5, 4), torch.tensor([0, 3, 1, 1, 2]), normal(4, seed=1).abs()
    for reduction in ("sum", "none"):
        classes = F.cross_entropy(x, target, w, reduction=reduction, label_smoothing=0.3)
        shares = F.cross_entropy(x, F.one_hot(target).double(), w, reduction=reduction, label_smoothing=0.3)
        assert_close(classes, shares.numpy())


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div"])
def test_losses_of_single_numbers(name):
    x, y, bit = torch.tensor(1.5, requires_grad=True), torch.tensor(4.0), 2.0**-10
    (grad,) = torch.autograd.grad(getattr(F, name)(x, y, reduction="sum"), x)
    slope = getattr(F, name)(x + bit, y, reduction="sum") - getattr(F, name)(x - bit, y, reduction="sum")
    assert grad.shape == () and float(grad) == pytest.approx(float(slope) / (2 * bit), rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_losses_sum_half_precision_in_single(dtype):
    x = torch.full((70000,), 1.0, dtype=dtype)
    assert_close(F.mse_loss(x, x * 0).float(), 1.0, 1e-3)


# --- warping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize(("batch", "channels"), [(0, 2), (1, 0)])
def test_no_images_sampled(mode, batch, channels):
    result = F.grid_sample(torch.ones(batch, channels, 4, 5), torch.zeros(batch, 3, 2, 2), mode=mode, align_corners=False)
    assert result.shape == (batch, channels, 3, 2)


# --- second derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [
    F.relu, F.relu6, F.leaky_relu, F.hardtanh, F.hardshrink, F.softshrink, F.hardsigmoid, lambda x: F.threshold(x, 0.1, 2.0),
    lambda x: F.prelu(x, torch.tensor([0.3], dtype=torch.float64)),
])  # fmt: skip
def test_piecewise_linear_functions_bend_nowhere(function):
    """The second derivative of piecewise linear functions is zero, but it is defined."""
    x, weight = normal(20).requires_grad_(), normal(20, seed=1).requires_grad_()
    slope = torch.autograd.grad((function(x) * weight).sum(), x, create_graph=True)[0]
    by_x, by_weight = torch.autograd.grad(slope.sum(), (x, weight), create_graph=True)
    assert not by_x.any()
    assert_close(by_weight * weight, slope.detach().numpy())


# --- CTC ----------------------------------------------------------------------------------------------------------


def test_ctc_gradient_is_that_of_finite_differences():
    logits = normal(5, 2, 3).requires_grad_()

    def loss(x):
        return F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2], [2, 0]]), (5, 4), (2, 1), reduction="sum")

    assert torch.autograd.gradcheck(loss, (logits,))


def test_ctc_of_concatenated_targets_and_of_one_sample():
    log_probs = normal(6, 2, 4).log_softmax(2)
    padded = F.ctc_loss(log_probs, torch.tensor([[1, 2, 3], [3, 0, 0]]), (6, 5), (3, 1), reduction="none")
    joined = F.ctc_loss(log_probs, torch.tensor([1, 2, 3, 3]), (6, 5), (3, 1), reduction="none")
    alone = F.ctc_loss(log_probs[:, 0], torch.tensor([1, 2, 3]), torch.tensor(6), torch.tensor(3), reduction="none")
    assert_close(joined, padded.numpy())
    assert_close(alone, padded[0].numpy())


def test_ctc_too_short_for_its_target():
    log_probs = normal(3, 1, 4).log_softmax(2).requires_grad_()
    arguments = torch.tensor([[1, 1, 2]]), (3,), (3,)
    impossible = F.ctc_loss(log_probs, *arguments)
    assert math.isinf(impossible) and torch.autograd.grad(impossible, log_probs)[0].isnan().all()
    loss = F.ctc_loss(log_probs, *arguments, zero_infinity=True)
    loss.backward()
    assert float(loss) == 0 and not log_probs.grad.any()


def test_ctc_refuses_labels_that_there_are_not():
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        F.ctc_loss(normal(3, 1, 4).log_softmax(2), torch.tensor([[1, 4]]), (3,), (2,))


# --- embedding ----------------------------------------------------------------------------------------------------


def test_embedding_padding_row_receives_no_gradient():
    weight = normal(5, 3).requires_grad_()
    F.embedding(torch.tensor([0, 1, 1, 4]), weight, padding_idx=1).sum().backward()
    assert_close(weight.grad.sum(1), [3, 0, 0, 0, 3])


def test_embedding_scales_gradients_by_frequency():
    weight = normal(5, 3).requires_grad_()
    F.embedding(torch.tensor([[0, 1], [1, 4]]), weight, scale_grad_by_freq=True).sum().backward()
    assert_close(weight.grad[:, 0], [1, 1, 0, 0, 1])


def test_embedding_with_short_rows_keeps_tangents():
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(weight, torch.ones(2, 2))
        output = F.embedding(torch.tensor([0, 1]), dual, max_norm=1.0)
        primal, tangent = torch.autograd.forward_ad.unpack_dual(output)
    torch.testing.assert_close(primal, torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
    assert tangent.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_embedding_shortens_long_rows_in_place():
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    F.embedding(torch.tensor([0, 1]), weight, max_norm=1.0)
    assert_close(weight, [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], 1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_without_padding_and_empty_ones(mode):
    weight = normal(6, 3)
    indices, offsets = torch.tensor([1, 5, 2, 5, 5]), torch.tensor([0, 3, 3, 4])
    result = F.embedding_bag(indices, weight, offsets, mode=mode, padding_idx=5)
    rows = weight.numpy()
    combined = getattr(np, mode)(rows[[1, 2]], 0)
    assert_close(result, [combined, [0] * 3, [0] * 3, [0] * 3])
    with_end = F.embedding_bag(indices, weight, torch.tensor([0, 3, 5]), mode=mode, include_last_offset=True)
    assert_close(with_end, [getattr(np, mode)(rows[[1, 5, 2]], 0), rows[5] * (2 if mode == "sum" else 1)])


def test_bags_scale_gradients_by_frequency():
    weight = normal(5, 3).requires_grad_()
    F.embedding_bag(torch.tensor([[0, 1], [1, 4]]), weight, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert_close(weight.grad[:, 0], [1, 1, 0, 0, 1])


def test_rows_of_indices_are_bags():
    weight = normal(6, 3)
    indices = torch.tensor([[1, 5], [2, 0]])
    assert_close(F.embedding_bag(indices, weight, mode="sum"), F.embedding(indices, weight).sum(1).numpy())


# --- normalization ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [F.batch_norm, F.instance_norm])
def test_running_statistics(function):
    x = normal(4, 3, 5) * 2 + 1
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    function(x, mean, variance, momentum=0.1, **{"training" if function is F.batch_norm else "use_input_stats": True})
    axes = (0, 2) if function is F.batch_norm else 2
    found_mean, found_variance = x.numpy().mean(axes), x.numpy().var(axes, ddof=1)
    if function is F.instance_norm:
        found_mean, found_variance = found_mean.mean(0), found_variance.mean(0)
    assert_close(mean, 0.1 * found_mean)
    assert_close(variance, 0.9 + 0.1 * found_variance)


def test_evaluation_uses_and_keeps_running_statistics():
    x, mean, variance = normal(4, 3), torch.tensor([1.0, 2.0, 3.0]).double(), torch.tensor([4.0, 1.0, 0.25]).double()
    result = F.batch_norm(x, mean, variance, eps=0.0)
    assert_close(result, (x.numpy() - [1, 2, 3]) / [2, 1, 0.5])
    assert_close(mean, [1, 2, 3])


def test_norms_of_half_precision_compute_in_single():
    x = (normal(4, 256, dtype=np.float32) * 100 + 1000).half()
    result = F.layer_norm(x, (256,))
    wide = x.float().numpy()
    assert result.dtype is torch.float16
    assert_close(result.float(), (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True), 5e-3)


@pytest.mark.parametrize("norm", [
    lambda x, w: F.layer_norm(x, (4, 2), w.reshape(4, 2)), lambda x, w: F.group_norm(x, 4, w), lambda x, w: F.instance_norm(x, weight=w),
    lambda x, w: F.batch_norm(x, None, None, w, training=True),
])  # fmt: skip
def test_norms_of_random_shapes_agree_with_their_formula(norm):
    for shape in ((1, 8, 4, 2), (3, 8, 4, 2)):
        x, w = normal(*shape).requires_grad_(), normal(8, seed=1).requires_grad_()
        assert torch.autograd.gradcheck(norm, (x, w))


# --- pooling ------------------------------------------------------------------------------------------------------


def test_max_pool_gives_ties_to_the_first():
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    assert_close(x.grad[0, 0], [[1, 0, 1, 0], [0] * 4, [1, 0, 1, 0], [0] * 4])


def test_pools_that_always_give_indices():
    x = normal(2, 3, 6, 6)
    for name, *args in (("max_pool2d", 2), ("max_pool2d", 3, 1, 1, 1, False, False), ("adaptive_max_pool2d", (2, 3))):
        result, indices = getattr(F, f"{name}_with_indices")(x, *args)
        assert result.equal(getattr(F, name)(x, *args)) and result.flatten().equal(
            x.flatten(2).gather(2, indices.flatten(2)).flatten()
        )
    torch.manual_seed(0)
    wanted = F.fractional_max_pool2d(x, 2, 3, return_indices=True)
    torch.manual_seed(0)
    assert all(map(torch.equal, F.fractional_max_pool2d_with_indices(x, 2, 3), wanted))


def test_max_pool_of_minus_infinity_and_of_nan():
    x = torch.full((1, 1, 4), -math.inf).requires_grad_()
    F.max_pool1d(x, 3, 2, 1).sum().backward()
    assert_close(x.grad[0, 0], [1, 1, 0, 0])
    y = torch.tensor([[[1.0, math.nan, 2.0, math.nan]]]).requires_grad_()
    result = F.max_pool1d(y, 4)
    result.sum().backward()
    assert math.isnan(result.item())
    assert_close(y.grad[0, 0], [0, 0, 0, 1])


@pytest.mark.parametrize(("n", "size"), [(1, 4), (2, 4), (3, 4), (1, 5), (2, 5)])
@pytest.mark.parametrize("pool", ["max_pool", "adaptive_max_pool"])
def test_pooling_saves_the_indices_that_it_returns(pool, n, size):
    x = torch.arange(float(size**n)).reshape(1, 1, *[size] * n).requires_grad_()
    output, indices = getattr(F, f"{pool}{n}d")(x, 2, return_indices=True)
    output.sum().backward(retain_graph=True)
    expected = torch.zeros(size**n)
    expected[indices.flatten()] = 1
    assert x.grad.flatten().tolist() == expected.tolist()
    indices.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_pools_refuse_empty_channels():
    for pool in (F.adaptive_max_pool2d, lambda x, size: F.fractional_max_pool2d(x, 2, size)):
        with pytest.raises(RuntimeError, match="Expected input to have non-zero size for non-batch dimensions"):
            pool(torch.ones(1, 0, 8, 8), 2)
    assert F.adaptive_max_pool2d(torch.ones(0, 8, 8), 2).shape == (0, 2, 2)
    with pytest.raises(RuntimeError, match="kernel_size must either be"):
        F.fractional_max_pool2d(torch.ones(1, 2, 8, 8), (2,), 2)


def test_unpooling_undoes_pooling():
    x = normal(2, 3, 6, 4)
    result, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(result, indices, 2)
    assert_close(F.max_pool2d(back, 2), result.clamp_min(0).numpy())
    assert int((back != 0).sum()) == result.numel()


@pytest.mark.parametrize(("pool", "shape"), [(F.fractional_max_pool2d, (2, 3, 9, 7)), (F.fractional_max_pool3d, (2, 3, 6, 9, 7))])
def test_fractional_pooling_takes_maxima_where_its_indices_say(pool, shape):
    x = normal(*shape)
    result, indices = pool(x, 2, output_ratio=(0.5,) * (len(shape) - 2), return_indices=True)
    assert result.shape[2:] == tuple(n // 2 for n in shape[2:])
    assert_close(x.flatten(2).gather(2, indices.flatten(2)), result.flatten(2).numpy())
    samples = torch.zeros(2, 3, len(shape) - 2, dtype=torch.float64)
    again = [pool(x, 2, output_size=(2,) * (len(shape) - 2), _random_samples=samples) for _ in range(2)]
    assert_close(again[0], again[1].numpy())


def test_fractional_windows_in_half_precision_round_at_each_step():
    half = np.float16
    sample, length, size, kernel = half(0.6875), 300, 101, 3
    alpha = half(length - kernel) / half(size - 1)
    starts = [int((half(i) + sample) * alpha) - int(sample * alpha) for i in range(size - 1)] + [length - kernel]
    samples = torch.full((1, 1, 2), float(sample), dtype=torch.float16)
    x = torch.arange(float(length)).reshape(1, 1, 1, length).half()
    _, indices = F.fractional_max_pool2d(x, (1, kernel), output_size=(1, size), return_indices=True, _random_samples=samples)
    assert_close(indices.flatten(), np.array(starts) + kernel - 1)


def test_a_window_with_nans_is_at_the_last_of_them():
    x = torch.tensor([[[[1.0, math.nan, 5.0], [math.nan, 2.0, 5.0], [0.0, 3.0, 4.0]]]])
    for pool in (lambda: F.fractional_max_pool2d(x, 2, 2, return_indices=True), lambda: F.adaptive_max_pool2d(x, 2, True)):
        assert_close(pool()[1].flatten(), [3, 1, 3, 5])


# --- resampling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "options"), [
    (F.upsample, {"mode": "nearest"}), (F.upsample_nearest, {"mode": "nearest"}),
    (F.upsample_bilinear, {"mode": "bilinear", "align_corners": True}),
])  # fmt: skip
def test_former_names_of_interpolate(function, options):
    x = normal(1, 2, 3, 4)
    with pytest.warns(UserWarning, match="deprecated"):
        result = function(x, scale_factor=2)
    assert_close(result, F.interpolate(x, scale_factor=2, **options).numpy())


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_constant_images_stay_constant(mode):
    x = torch.full((1, 1, 5, 7), 3.0)
    for options in ({}, {"align_corners": True}, {"antialias": True}):
        assert_close(F.interpolate(x, (3, 4), mode=mode, **options), np.full((1, 1, 3, 4), 3.0), 1e-5)
        assert_close(F.interpolate(x, (9, 8), mode=mode, **options), np.full((1, 1, 9, 8), 3.0), 1e-5)


def test_infinities_stay_where_they_are():
    x = torch.zeros(1, 1, 6)
    x[..., 0] = math.inf
    result = F.interpolate(x, 12, mode="linear")
    assert math.isinf(result[0, 0, 0]) and not result[0, 0, 3:].any()


def test_bytes_are_rounded_after_resampling():
    x = torch.tensor([[[[0, 255]]]], dtype=torch.uint8)
    result = F.interpolate(x, (1, 4), mode="bilinear")
    assert result.dtype is torch.uint8 and result.flatten().tolist() == [0, 64, 191, 255]


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_identity_grid_gives_the_image(mode, align_corners):
    x = normal(2, 3, 4, 5)
    identity = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]).double().expand(2, 2, 3)
    grid = F.affine_grid(identity, x.shape, align_corners=align_corners)
    assert_close(F.grid_sample(x, grid, mode=mode, align_corners=align_corners), x.numpy())


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_grid_sample_gradients(mode, padding_mode):
    x, grid = normal(1, 2, 3, 4).requires_grad_(), (normal(1, 2, 2, 2, seed=3) * 0.7).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, g: F.grid_sample(x, g, mode, padding_mode, align_corners=False), (x, grid))


@pytest.mark.parametrize("coordinate", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_grid_sample_at_points_without_an_index(coordinate, mode, padding_mode):
    """At coordinates too large for integers, the result is NaN if a weight is NaN, else the padding or the pixel at index 0."""
    grid = torch.zeros(1, 1, 2, 2)
    grid[0, 0, 0, 0] = coordinate
    result = F.grid_sample(torch.arange(16.0).reshape(1, 1, 4, 4), grid, mode, padding_mode, align_corners=False).flatten()
    far = coordinate == 1e30
    expected = {
        ("bilinear", "zeros"): 0.0 if far else math.nan,
        ("bilinear", "border"): 9.0 if coordinate > 0 else 6.0,
        ("bilinear", "reflection"): 6.0,
        ("nearest", "zeros"): 0.0,
        ("nearest", "border"): 11.0 if coordinate > 0 else 8.0,
        ("nearest", "reflection"): 8.0,
        ("bicubic", "zeros"): 0.0 if far else math.nan,
        ("bicubic", "border"): 9.0 if far else math.nan,
        ("bicubic", "reflection"): 6.0 if far else math.nan,
    }[mode, padding_mode]
    np.testing.assert_array_equal(result[0].item(), expected)
    assert result[1].item() == {"nearest": 10.0}.get(mode, 7.5)


def test_grid_sample_without_align_corners_warns():
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))


# --- convolution --------------------------------------------------------------------------------------------------


def test_view_after_convolution():
    """Results are contiguous, so that `view` can flatten them."""
    for layer in (
        F.conv2d(normal(2, 9, 6, 6), normal(4, 9, 3, 3), padding=1),
        F.max_pool2d(normal(2, 3, 4, 4), 2),
        F.conv_transpose2d(normal(2, 9, 3, 3), normal(9, 4, 2, 2)),
        F.interpolate(normal(1, 2, 3, 3), 5, mode="bilinear"),
    ):
        assert layer.is_contiguous() and layer.view(len(layer), -1).shape[0] == len(layer)


def test_gradients_of_convolution_come_in_the_dtype_of_their_arguments():
    x, w = normal(2, 3, 5, 5, dtype=np.float16).requires_grad_(), normal(4, 3, 3, 3, dtype=np.float16).requires_grad_()
    F.conv2d(x, w).sum().backward()
    assert x.grad.dtype is w.grad.dtype is torch.float16


def test_backward_through_a_convolution_twice():
    x, w = normal(2, 3, 5, 5).requires_grad_(), normal(4, 3, 3, 3).requires_grad_()
    result = F.conv2d(x, w).square().sum()
    first = torch.autograd.grad(result, w, retain_graph=True)[0]
    assert_close(torch.autograd.grad(result, w)[0], first.numpy())


# --- the surface --------------------------------------------------------------------------------------------------


def test_every_function_is_documented_and_listed():
    listed = set(F.__all__)
    assert len(F.__all__) == len(listed)
    for name in listed:
        assert getattr(F, name).__doc__, name


def test_nothing_warns_without_need():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.tensor([[1000.0, -1000.0, 0.0]])
        F.softmax(x, 1), F.log_softmax(x, 1), F.silu(x), F.gelu(x), F.sigmoid(x), F.cross_entropy(x, torch.tensor([0]))
        F.max_pool1d(x, 2), F.layer_norm(x, (3,))


@pytest.mark.parametrize("shape", [(2, 3), (3,), (2, 3, 4), (2, 3, 4, 4)])
def test_ignored_targets_have_no_gradient(shape):
    """Gradients are zero even if all targets are ignored and the mean loss is NaN."""
    target = torch.ones(shape[:1] + shape[2:] if len(shape) > 1 else (), dtype=torch.int64)
    for loss in (F.cross_entropy, F.nll_loss):
        x = torch.randn(shape, requires_grad=True)
        mean = loss(x, target, ignore_index=1)
        mean.backward()
        assert mean.isnan() and not x.grad.any()


def test_cross_entropy_of_halves_is_not_a_difference_of_rounded_numbers():
    x = torch.full((2, 3), 100.0, dtype=torch.float16)
    torch.testing.assert_close(F.cross_entropy(x, torch.tensor([0, 2])), torch.tensor(np.log(3), dtype=torch.float16))


def test_an_empty_batch_leaves_running_statistics_alone():
    norm = torch.nn.BatchNorm1d(3)
    assert norm(torch.zeros(0, 3)).shape == (0, 3)
    assert norm.running_mean.tolist() == [0, 0, 0] and norm.running_var.tolist() == [1, 1, 1] and norm.num_batches_tracked == 1


@pytest.mark.parametrize("target, error, message", [
    (torch.zeros(2, 3, dtype=torch.int64), RuntimeError, "floating point type for target"),
    (torch.zeros(2, 1, dtype=torch.int64), RuntimeError, "multi-target not supported"),
    (torch.zeros(3, dtype=torch.int64), ValueError, "batch_size"),
    (torch.zeros(2), RuntimeError, "Long or Byte, but got Float"),
])  # fmt: skip
def test_cross_entropy_says_what_is_wrong_with_targets(target, error, message):
    with pytest.raises(error, match=message):
        F.cross_entropy(torch.zeros(2, 3), target)


def test_smoothing_of_probabilities_is_checked():
    with pytest.raises(RuntimeError, match="label_smoothing must be between 0.0 and 1.0"):
        F.cross_entropy(torch.zeros(2, 3), torch.full((2, 3), 1 / 3), label_smoothing=1.2)


def test_threshold_of_an_expanded_tensor():
    x = torch.tensor([[1.0, -1.0]]).expand(3, 2)
    assert F.threshold_(x, 0.0, 5.0).tolist() == [[1.0, 5.0]] * 3


def test_affine_grids_of_one_pixel_warn():
    with pytest.warns(UserWarning, match="unit-size grids"):
        F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 1), align_corners=True)


def test_margin_loss_of_one_sample_keeps_the_shape_of_its_target():
    for target in (torch.tensor(1), torch.tensor([1])):
        assert F.multi_margin_loss(torch.zeros(3), target, reduction="none").shape == target.shape


def test_statistics_of_batch_norm_have_no_tangents():
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x, mean = (forward_ad.make_dual(tensor, torch.ones_like(tensor)) for tensor in (torch.zeros(2, 3), torch.zeros(3)))
        with pytest.raises(RuntimeError, match="not differentiable wrt running_mean and running_var"):
            F.batch_norm(x, mean, torch.ones(3))


def test_volumes_of_one_voxel_depend_on_their_grid():
    grid = torch.zeros(1, 1, 1, 2, 3, requires_grad=True)
    output = F.grid_sample(torch.ones(1, 1, 1, 1, 1), grid, padding_mode="reflection", align_corners=True)
    output.sum().backward()
    assert grid.grad.tolist() == torch.zeros_like(grid).tolist()

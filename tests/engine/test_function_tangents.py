"""`jvp` of an `autograd.Function` that returns a view or changes its input."""

from __future__ import annotations

import pytest

import flambeau as torch


class _Narrowed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, derive):
        ctx.derive = derive
        return x.narrow(0, 0, 2)

    @staticmethod
    def jvp(ctx, tangent, _):
        return ctx.derive(tangent.narrow(0, 0, 2))


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, derive):
        ctx.derive = derive
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, tangent, _):
        return ctx.derive(tangent)


class _Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, derive):
        ctx.derive = derive
        return x

    @staticmethod
    def jvp(ctx, tangent, _):
        return ctx.derive(tangent)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    ("function", "derive", "message"),
    [
        (_Narrowed, lambda t: t, None),
        (_Narrowed, lambda t: t.clone(), "jvp is not returning a view"),
        (_Narrowed, lambda t: t.clone().view(-1), "not returning a view of the given grad input"),
        (_Doubled, lambda t: t.mul_(2), None),
        (_Doubled, lambda t: t * 2, "not modifying the forward mode gradients inplace"),
        (_Same, lambda t: t.view_as(t), None),
        (_Same, lambda t: t, "jvp is not returning a view"),
        (_Same, lambda t: t * 2, "jvp is not returning a view"),
    ],
)
def test_the_tangent_of_a_view_is_a_view(function, derive, message, requires_grad):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3, requires_grad=requires_grad), torch.tensor([1.0, 2.0, 3.0])).clone()
        if message is not None:
            with pytest.raises(RuntimeError, match=message):
                function.apply(dual, derive)
            return
        expected = [2, 4, 6] if function is _Doubled else [1, 2, 3]
        tangent = forward_ad.unpack_dual(function.apply(dual, derive)).tangent
    assert tangent.tolist() == expected[: len(tangent)]

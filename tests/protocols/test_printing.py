"""Printed forms of tensors match PyTorch's exactly.

Each `>>>` below is printed by PyTorch 2.13 exactly as shown.
"""

from __future__ import annotations

import re

import pytest

import flambeau as torch

inf, nan = float("inf"), float("nan")

GOLDEN = """
# dtypes: shown unless it is int64, bool, or the default floating-point or complex dtype

>>> torch.tensor([1, 2, -3])
tensor([ 1,  2, -3])
>>> torch.tensor([True, False])
tensor([ True, False])
>>> torch.tensor([1, 2], dtype=torch.int32)
tensor([1, 2], dtype=torch.int32)
>>> torch.tensor([1, 255], dtype=torch.uint8)
tensor([  1, 255], dtype=torch.uint8)
>>> torch.tensor([1.5, -2], dtype=torch.float64)
tensor([ 1.5000, -2.0000], dtype=torch.float64)
>>> torch.tensor([0.1, 2.5], dtype=torch.float16)
tensor([0.1000, 2.5000], dtype=torch.float16)
>>> torch.tensor([0.1, 2.5], dtype=torch.bfloat16)
tensor([0.1001, 2.5000], dtype=torch.bfloat16)
>>> torch.tensor([0.1])
tensor([0.1000])
>>> torch.tensor([[1, 2], [3, 4]], dtype=torch.int16)
tensor([[1, 2],
        [3, 4]], dtype=torch.int16)
>>> torch.tensor([-100, 7], dtype=torch.int8)
tensor([-100,    7], dtype=torch.int8)
>>> torch.tensor([1 + 2j, -0.5 - 1j])
tensor([ 1.0000+2.j, -0.5000-1.j])
>>> torch.tensor([1.5 + 2j], dtype=torch.complex128)
tensor([1.5000+2.j], dtype=torch.complex128)
>>> torch.tensor([[1 + 2j], [1e5 - 3j]])
tensor([[1.0000e+00+2.j],
        [1.0000e+05-3.j]])
>>> torch.tensor([complex(nan, inf), complex(-0.0, -0.0)])
tensor([nan+infj, -0.-0.j])

# shapes: 0-d, empty, nested

>>> torch.tensor(5)
tensor(5)
>>> torch.tensor(3.14159)
tensor(3.1416)
>>> torch.tensor(2.0)
tensor(2.)
>>> torch.tensor(True)
tensor(True)
>>> torch.tensor(1 - 2j)
tensor(1.-2.j)
>>> torch.tensor(1e-7)
tensor(1.0000e-07)
>>> torch.tensor(7, dtype=torch.uint8)
tensor(7, dtype=torch.uint8)
>>> torch.tensor([])
tensor([])
>>> torch.tensor([], dtype=torch.int64)
tensor([], dtype=torch.int64)
>>> torch.zeros(0, 3)
tensor([], size=(0, 3))
>>> torch.zeros(2, 0, 3, dtype=torch.bool)
tensor([], size=(2, 0, 3), dtype=torch.bool)
>>> torch.zeros(0, dtype=torch.complex64)
tensor([], dtype=torch.complex64)
>>> torch.zeros(1, 1, 1)
tensor([[[0.]]])
>>> torch.arange(4).reshape(2, 2)
tensor([[0, 1],
        [2, 3]])
>>> torch.arange(8.0).reshape(2, 2, 2)
tensor([[[0., 1.],
         [2., 3.]],

        [[4., 5.],
         [6., 7.]]])
>>> torch.arange(4).reshape(2, 1, 2, 1)
tensor([[[[0],
          [1]]],


        [[[2],
          [3]]]])

# floating point: whole numbers, fixed point, scientific

>>> torch.tensor([1.0, 2.0, 30.0])
tensor([ 1.,  2., 30.])
>>> torch.tensor([1.0, 2.5])
tensor([1.0000, 2.5000])
>>> torch.tensor([1.0, nan, inf, -inf])
tensor([1., nan, inf, -inf])
>>> torch.tensor([1.5, nan, inf, -inf])
tensor([1.5000,    nan,    inf,   -inf])
>>> torch.tensor([nan, inf])
tensor([nan, inf])
>>> torch.tensor([0.0, -0.0])
tensor([0., -0.])
>>> torch.tensor([1e-5, 1.0])
tensor([1.0000e-05, 1.0000e+00])
>>> torch.tensor([1.0, 1000.0])
tensor([   1., 1000.])
>>> torch.tensor([1.0, 1001.0])
tensor([1.0000e+00, 1.0010e+03])
>>> torch.tensor([0.5, 501.0])
tensor([5.0000e-01, 5.0100e+02])
>>> torch.tensor([1e8, 2e8])
tensor([1.0000e+08, 2.0000e+08])
>>> torch.tensor([1.1e8, 2e8])
tensor([1.1000e+08, 2.0000e+08])
>>> torch.tensor([1e-4, 1e-4], dtype=torch.float64)
tensor([0.0001, 0.0001], dtype=torch.float64)
>>> torch.tensor([9.9e-5])
tensor([9.9000e-05])
>>> torch.tensor([1e30, nan, 0.0])
tensor([1.0000e+30,        nan, 0.0000e+00])
>>> torch.tensor([-1e-30, -12.5])
tensor([-1.0000e-30, -1.2500e+01])
>>> torch.tensor([0.99999, -0.00001])
tensor([ 9.9999e-01, -1.0000e-05])
>>> torch.tensor([65504.0], dtype=torch.float16)
tensor([65504.], dtype=torch.float16)
>>> torch.tensor([3.4e38, 1e-45])
tensor([3.4000e+38, 1.4013e-45])
>>> torch.tensor([1 / 3], dtype=torch.float64)
tensor([0.3333], dtype=torch.float64)

# more than 1000 elements: only the edges

>>> torch.arange(1001)
tensor([   0,    1,    2,  ...,  998,  999, 1000])
>>> torch.arange(2000.0).reshape(2, 1000)
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.9700e+02, 9.9800e+02,
         9.9900e+02],
        [1.0000e+03, 1.0010e+03, 1.0020e+03,  ..., 1.9970e+03, 1.9980e+03,
         1.9990e+03]])
>>> torch.arange(10000).reshape(100, 100)
tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])
>>> torch.full((1200,), 1e-6, dtype=torch.float64)
tensor([1.0000e-06, 1.0000e-06, 1.0000e-06,  ..., 1.0000e-06, 1.0000e-06,
        1.0000e-06], dtype=torch.float64)
>>> torch.cat([torch.tensor([1e6]), torch.full((1200,), 0.5), torch.tensor([1e-6])])
tensor([1.0000e+06, 5.0000e-01, 5.0000e-01,  ..., 5.0000e-01, 5.0000e-01,
        1.0000e-06])
>>> torch.arange(1200).reshape(6, 20, 10)[:, ::2].transpose(0, 2)[:, :8].repeat(1, 1, 2)[4:]
tensor([[[   4,  204,  404,  604,  804, 1004,    4,  204,  404,  604,  804,
          1004],
         [  24,  224,  424,  624,  824, 1024,   24,  224,  424,  624,  824,
          1024],
         [  44,  244,  444,  644,  844, 1044,   44,  244,  444,  644,  844,
          1044],
         [  64,  264,  464,  664,  864, 1064,   64,  264,  464,  664,  864,
          1064],
         [  84,  284,  484,  684,  884, 1084,   84,  284,  484,  684,  884,
          1084],
         [ 104,  304,  504,  704,  904, 1104,  104,  304,  504,  704,  904,
          1104],
         [ 124,  324,  524,  724,  924, 1124,  124,  324,  524,  724,  924,
          1124],
         [ 144,  344,  544,  744,  944, 1144,  144,  344,  544,  744,  944,
          1144]],

        [[   5,  205,  405,  605,  805, 1005,    5,  205,  405,  605,  805,
          1005],
         [  25,  225,  425,  625,  825, 1025,   25,  225,  425,  625,  825,
          1025],
         [  45,  245,  445,  645,  845, 1045,   45,  245,  445,  645,  845,
          1045],
         [  65,  265,  465,  665,  865, 1065,   65,  265,  465,  665,  865,
          1065],
         [  85,  285,  485,  685,  885, 1085,   85,  285,  485,  685,  885,
          1085],
         [ 105,  305,  505,  705,  905, 1105,  105,  305,  505,  705,  905,
          1105],
         [ 125,  325,  525,  725,  925, 1125,  125,  325,  525,  725,  925,
          1125],
         [ 145,  345,  545,  745,  945, 1145,  145,  345,  545,  745,  945,
          1145]],

        [[   6,  206,  406,  606,  806, 1006,    6,  206,  406,  606,  806,
          1006],
         [  26,  226,  426,  626,  826, 1026,   26,  226,  426,  626,  826,
          1026],
         [  46,  246,  446,  646,  846, 1046,   46,  246,  446,  646,  846,
          1046],
         [  66,  266,  466,  666,  866, 1066,   66,  266,  466,  666,  866,
          1066],
         [  86,  286,  486,  686,  886, 1086,   86,  286,  486,  686,  886,
          1086],
         [ 106,  306,  506,  706,  906, 1106,  106,  306,  506,  706,  906,
          1106],
         [ 126,  326,  526,  726,  926, 1126,  126,  326,  526,  726,  926,
          1126],
         [ 146,  346,  546,  746,  946, 1146,  146,  346,  546,  746,  946,
          1146]],

        [[   7,  207,  407,  607,  807, 1007,    7,  207,  407,  607,  807,
          1007],
         [  27,  227,  427,  627,  827, 1027,   27,  227,  427,  627,  827,
          1027],
         [  47,  247,  447,  647,  847, 1047,   47,  247,  447,  647,  847,
          1047],
         [  67,  267,  467,  667,  867, 1067,   67,  267,  467,  667,  867,
          1067],
         [  87,  287,  487,  687,  887, 1087,   87,  287,  487,  687,  887,
          1087],
         [ 107,  307,  507,  707,  907, 1107,  107,  307,  507,  707,  907,
          1107],
         [ 127,  327,  527,  727,  927, 1127,  127,  327,  527,  727,  927,
          1127],
         [ 147,  347,  547,  747,  947, 1147,  147,  347,  547,  747,  947,
          1147]],

        [[   8,  208,  408,  608,  808, 1008,    8,  208,  408,  608,  808,
          1008],
         [  28,  228,  428,  628,  828, 1028,   28,  228,  428,  628,  828,
          1028],
         [  48,  248,  448,  648,  848, 1048,   48,  248,  448,  648,  848,
          1048],
         [  68,  268,  468,  668,  868, 1068,   68,  268,  468,  668,  868,
          1068],
         [  88,  288,  488,  688,  888, 1088,   88,  288,  488,  688,  888,
          1088],
         [ 108,  308,  508,  708,  908, 1108,  108,  308,  508,  708,  908,
          1108],
         [ 128,  328,  528,  728,  928, 1128,  128,  328,  528,  728,  928,
          1128],
         [ 148,  348,  548,  748,  948, 1148,  148,  348,  548,  748,  948,
          1148]],

        [[   9,  209,  409,  609,  809, 1009,    9,  209,  409,  609,  809,
          1009],
         [  29,  229,  429,  629,  829, 1029,   29,  229,  429,  629,  829,
          1029],
         [  49,  249,  449,  649,  849, 1049,   49,  249,  449,  649,  849,
          1049],
         [  69,  269,  469,  669,  869, 1069,   69,  269,  469,  669,  869,
          1069],
         [  89,  289,  489,  689,  889, 1089,   89,  289,  489,  689,  889,
          1089],
         [ 109,  309,  509,  709,  909, 1109,  109,  309,  509,  709,  909,
          1109],
         [ 129,  329,  529,  729,  929, 1129,  129,  329,  529,  729,  929,
          1129],
         [ 149,  349,  549,  749,  949, 1149,  149,  349,  549,  749,  949,
          1149]]])

# lines of at most 80 characters

>>> torch.arange(30)
tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
>>> torch.linspace(0, 1, 21)
tensor([0.0000, 0.0500, 0.1000, 0.1500, 0.2000, 0.2500, 0.3000, 0.3500, 0.4000,
        0.4500, 0.5000, 0.5500, 0.6000, 0.6500, 0.7000, 0.7500, 0.8000, 0.8500,
        0.9000, 0.9500, 1.0000])
>>> torch.arange(60).reshape(2, 30)
tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
         18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        [30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
         48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]])
>>> torch.tensor([1 + 1j] * 7)
tensor([1.+1.j, 1.+1.j, 1.+1.j, 1.+1.j, 1.+1.j, 1.+1.j, 1.+1.j])
>>> torch.tensor([12345678901234567] * 5)
tensor([12345678901234567, 12345678901234567, 12345678901234567,
        12345678901234567, 12345678901234567])
>>> torch.zeros(9, dtype=torch.float64)
tensor([0., 0., 0., 0., 0., 0., 0., 0., 0.], dtype=torch.float64)
>>> torch.zeros(20, dtype=torch.float64)
tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
       dtype=torch.float64)
>>> torch.ones(22, dtype=torch.int32)
tensor([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
       dtype=torch.int32)
>>> torch.ones(23, dtype=torch.int32)
tensor([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
       dtype=torch.int32)

# autograd

>>> torch.ones(2, requires_grad=True)
tensor([1., 1.], requires_grad=True)
>>> torch.ones(2, requires_grad=True) + 1
tensor([2., 2.], grad_fn=<AddBackward0>)
>>> (torch.ones(2, requires_grad=True) * 2).sum()
tensor(4., grad_fn=<SumBackward0>)
>>> torch.ones(2, requires_grad=True).detach()
tensor([1., 1.])
>>> torch.zeros(0, requires_grad=True)
tensor([], requires_grad=True)
>>> torch.ones(17, dtype=torch.float64, requires_grad=True) * 3
tensor([3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3., 3.],
       dtype=torch.float64, grad_fn=<MulBackward0>)
>>> torch.ones(2, requires_grad=True, dtype=torch.float64).exp()
tensor([2.7183, 2.7183], dtype=torch.float64, grad_fn=<ExpBackward0>)
>>> torch.nn.Parameter(torch.tensor([1.0, 2.5]))
Parameter containing:
tensor([1.0000, 2.5000], requires_grad=True)
>>> torch.nn.Parameter(torch.tensor(2), requires_grad=False)
Parameter containing:
tensor(2)
"""


def examples(text):
    text = re.sub(r"(?m)^# .*\n\n", "", text)
    for example in text.split(">>> ")[1:]:
        source, _, printed = example.partition("\n")
        yield source, printed.rstrip()


@pytest.fixture(autouse=True)
def default_options():
    yield
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("source", "printed"), list(examples(GOLDEN)))
def test_golden(source, printed):
    tensor = eval(source)
    assert repr(tensor) == str(tensor) == printed


@pytest.mark.parametrize(
    ("options", "source", "printed"),
    [
        ({"precision": 2}, "torch.tensor([1.12345])", "tensor([1.12])"),
        ({"precision": 0}, "torch.tensor([1.6, 2.0])", "tensor([2, 2])"),
        ({"precision": 8}, "torch.tensor([0.1])", "tensor([0.10000000])"),
        ({"threshold": 5}, "torch.arange(10)", "tensor([0, 1, 2,  ..., 7, 8, 9])"),
        ({"threshold": 5, "edgeitems": 1}, "torch.arange(10)", "tensor([0,  ..., 9])"),
        (
            {"threshold": 5, "edgeitems": 1},
            "torch.arange(9).reshape(3, 3)",
            "tensor([[0,  ..., 2],\n        ...,\n        [6,  ..., 8]])",
        ),
        ({"threshold": 0}, "torch.tensor(1.5)", "tensor(1.5000)"),
        ({"edgeitems": 0}, "torch.arange(2)", "tensor([0, 1], size=(2,))"),
        ({"edgeitems": 0, "threshold": 0}, "torch.arange(4).reshape(2, 2)", "tensor([...], size=(2, 2))"),
        ({"linewidth": 20}, "torch.arange(10)", "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
        ({"linewidth": 1}, "torch.arange(3)", "tensor([0,\n        1,\n        2])"),
        (
            {"linewidth": 30},
            "torch.ones(4, dtype=torch.float64)",
            "tensor([1., 1., 1., 1.],\n       dtype=torch.float64)",
        ),
        ({"sci_mode": True}, "torch.tensor([1.0, 2.5])", "tensor([1.0000e+00, 2.5000e+00])"),
        ({"sci_mode": False}, "torch.tensor([1e-9, 1e9])", "tensor([         0.0000, 1000000000.0000])"),
        ({"sci_mode": True, "precision": 1}, "torch.tensor([10.0, nan])", "tensor([1.0e+01,     nan])"),
        ({"sci_mode": True}, "torch.tensor([1, 2])", "tensor([1, 2])"),
        ({"sci_mode": True}, "torch.tensor([0.0, inf])", "tensor([0., inf])"),
        ({"profile": "short"}, "torch.linspace(0, 1, 5)", "tensor([0.00, 0.25, 0.50, 0.75, 1.00])"),
        ({"profile": "short"}, "torch.arange(1001)", "tensor([   0,    1,  ...,  999, 1000])"),
        ({"profile": "short", "precision": 6}, "torch.tensor([0.5])", "tensor([0.500000])"),
        (
            {"profile": "full", "linewidth": 10000},
            "torch.arange(1001)",
            "tensor([" + ", ".join(f"{n:4}" for n in range(1001)) + "])",
        ),
    ],
)
def test_options(options, source, printed):
    torch.set_printoptions(**options)
    assert repr(eval(source)) == printed


def test_options_last_until_changed_but_sci_mode_does_not():
    torch.set_printoptions(precision=1, sci_mode=True)
    assert repr(torch.tensor([2.0])) == "tensor([2.0e+00])"
    torch.set_printoptions(edgeitems=2)
    assert repr(torch.tensor([0.25])) == "tensor([0.2])"
    torch.set_printoptions(profile="default")
    assert repr(torch.tensor([0.25])) == "tensor([0.2500])"


def test_default_dtype_decides_which_dtypes_are_shown():
    torch.set_default_dtype(torch.float64)
    assert repr(torch.tensor([0.5])) == "tensor([0.5000])"
    assert repr(torch.tensor([0.5j])) == "tensor([0.+0.5000j])"
    assert repr(torch.tensor([0.5], dtype=torch.float32)) == "tensor([0.5000], dtype=torch.float32)"
    assert repr(torch.tensor([0.5j], dtype=torch.complex64)) == "tensor([0.+0.5000j], dtype=torch.complex64)"


def test_views_and_slices_print_as_their_elements():
    matrix = torch.arange(6.0).reshape(2, 3)
    assert repr(matrix.t()) == "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])"
    assert repr(matrix[:, ::2]) == "tensor([[0., 2.],\n        [3., 5.]])"
    assert repr(matrix[1:, :0]) == "tensor([], size=(1, 0))"
    assert repr(torch.ones(1).expand(2, 3)) == "tensor([[1., 1., 1.],\n        [1., 1., 1.]])"


def test_subclasses_print_under_their_own_name():
    class Celsius(torch.Tensor):
        pass

    assert repr(torch.ones(2).as_subclass(Celsius)) == "Celsius([1., 1.])"


def test_dual_numbers_print_their_tangent():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.tensor([0.5, 2.0]))
        assert repr(dual) == "tensor([1., 1.], tangent=tensor([0.5000, 2.0000]))"


def test_a_huge_tensor_prints_at_once():
    rows = torch.ones(1).expand(10**6, 10**6)
    assert repr(rows).splitlines()[0] == "tensor([[1., 1., 1.,  ..., 1., 1., 1.],"


def test_format():
    x = torch.tensor(3.14159, requires_grad=True)
    assert f"{x:.2f}" == "3.14" and f"{x:10.3e}" == " 3.142e+00" and f"{x}" == str(x.item())
    assert f"{torch.tensor(7):03d}" == "007" and f"{torch.tensor(True)}" == "True"
    assert f"{torch.tensor([1.5])}" == "tensor([1.5000])"
    assert f"{torch.nn.Parameter(torch.tensor(1.0))}".startswith("Parameter containing:")
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        f"{torch.tensor([1.5]):.2f}"


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("x.mean()", "MeanBackward0"),
        ("x.mean(1)", "MeanBackward1"),
        ("x.sum(0, keepdim=True)", "SumBackward1"),
        ("x.max()", "MaxBackward1"),
        ("x.max(1)[0]", "MaxBackward0"),
        ("1 - x", "RsubBackward1"),
        ("1 / x", "MulBackward0"),
        ("x**2", "PowBackward0"),
        ("x**x", "PowBackward1"),
        ("2**x", "PowBackward2"),
        ("x.log1p()", "Log1PBackward0"),
        ("x[None].squeeze(0)", "SqueezeBackward1"),
        ("x[0] @ x[1]", "DotBackward0"),
        ("x @ x[1]", "MvBackward0"),
        ("x[None] @ x.T", "UnsafeViewBackward0"),
        ("x.repeat(2, 1)", "RepeatBackward0"),
        ("x.median()", "MedianBackward0"),
        ("torch.nn.functional.linear(x, x, x[:, 0])", "AddmmBackward0"),
        ("torch.nn.functional.linear(x[None], x, x[:, 0])", "ViewBackward0"),
    ],
)
def test_nodes_are_named_as_in_pytorch(expression, name):
    made = eval(expression, {"torch": torch, "x": torch.ones(2, 3, requires_grad=True)})
    assert f"grad_fn=<{name}>" in repr(made)
    assert made.grad_fn.name() == name

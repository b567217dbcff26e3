"""Bessel functions of orders 0 and 1, and the Airy function.

They are computed by Chebyshev series: near zero in the argument or its square, far from zero in a negative power of it
(Clenshaw, "Chebyshev series for mathematical functions", 1962).  The coefficients were computed to forty digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from ...engine.calls.facts import Kind
from ...engine.calls.op import op
from ...engine.calls.record import Out
from ...engine.tensors.tensor import Tensor
from ..indexing.standard import any_element, mapped
from .double_precision import chebyshev, in_double, product_and_rest

__all__: list[str] = []

# Each tuple holds the coefficients of a Chebyshev series in a variable u, which depends on the range of x.
# For x < 8, u is 2 (x/8)^2 - 1: _J0 gives J0(x), _J1 gives J1(x) / x, _Y0 gives Y0(x) - 2/pi log(x/2) J0(x), and _Y1 gives
# (Y1(x) - 2/pi log(x/2) J1(x) + 2/(pi x)) / x.
# For x >= 8, u is 2 (8/x)^2 - 1: _P gives P and _Q gives Q x/8, where J(x) = sqrt(2 / (pi x)) (P cos(a) - Q sin(a)) with
# a = x - (2 order + 1) pi/4.
# _I gives exp(-x) I(x) (I1 divided by x) for x < 8, in u = x/4 - 1; _I_FAR gives sqrt(x) exp(-x) I(x), in u = 16/x - 1.
# For x <= 2, u is x^2/2 - 1: _K0 gives K0(x) + log(x/2) I0(x), and _K1 gives (K1(x) - log(x/2) I1(x) - 1/x) / x.
# For x > 2, u is 4/x - 1: _K0_FAR and _K1_FAR give sqrt(x) exp(x) K(x).
_J0 = (
    0.15772797147489012, -0.0087234423528522211, 0.2651786132033368, -0.37009499387264977, 0.15806710233209725,
    -0.034893769411408884, 0.0048191800694676046, -0.00046062616620627504, 3.2460328821005083e-05, -1.7619469077621507e-06,
    7.6081635924187821e-08, -2.6792535305576728e-09, 7.8486963144794648e-11, -1.9438346867370164e-12,
    4.1253205956343741e-14, -7.5885081254475439e-16, 1.2218515873961362e-17,
)  # fmt: skip
_Y0 = (
    0.036454698091160441, -0.2783237094075825, 0.29604999902071483, 0.098255084081878635, -0.10755155280627783,
    0.031799074084414514, -0.0051613971058107151, 0.0005498525320039012, -4.1996983149420134e-05, 2.4290361107923793e-06,
    -1.1049969793472957e-07, 4.0665173659791104e-09, -1.2374148898289854e-10, 3.1685725528945945e-12,
    -6.9269560324310015e-14, 1.3086308625876683e-15, -2.1586201986914233e-17,
)  # fmt: skip
_P0 = (
    0.99946034934751871, -0.00053652204681321172, 3.0751847875194745e-06, -5.1705945376060975e-08, 1.6306464635151382e-09,
    -7.8640913772370698e-11, 5.1682623873491928e-12, -4.3045788699253914e-13, 4.3265957431549404e-14,
    -5.0690340959352359e-15, 6.7480722157338724e-16, -1.0011513723467785e-16, 1.630591923374406e-17,
)  # fmt: skip
_Q0 = (
    -0.015555854605337009, 6.8385199426116493e-05, -7.4144984110606469e-07, 1.7972457247968992e-08,
    -7.2719159368663201e-10, 4.2201219046687385e-11, -3.2067474209966348e-12, 3.0061451253517062e-13,
    -3.3363281853224254e-14, 4.2552250402454442e-15, -6.0999301316398938e-16, 9.6621289703018368e-17,
    -1.6686065214365318e-17, 3.1082440486623088e-18, -6.1911157872554405e-19,
)  # fmt: skip
_I0 = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.094901097048047639, 0.049305284239670712,
    -0.023737414805899471, 0.010546460394594998, -0.0043243099950505759, 0.0016394756169413357, -0.00057637557453858236,
    0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06,
    1.1173875391201037e-06, -2.6707938539406119e-07, 6.0469950225419186e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.1897956016352627e-10, 9.675809035373237e-11, -1.7268262914415559e-11,
    2.9550526631296399e-12, -4.856446783111929e-13, 7.6761854986049361e-14, -1.1685332877993451e-14,
    1.7153912855551323e-15, -2.4312798465479564e-16, 3.3307945188221866e-17, -4.4153416464787972e-18,
)  # fmt: skip
_I0_FAR = (
    0.40224520550705439, 0.0033691164782556943, 6.8897583469168245e-05, 2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08, 3.3962320257083865e-09, 4.9406023882249701e-10, 1.1889147107846424e-11, -3.1499165279632404e-11,
    -1.3215811840447726e-11, -1.794178531506793e-12, 7.1801244513835368e-13, 3.8527783827422708e-13,
    1.5400862175201393e-14, -4.1505693472859645e-14, -9.5548466988407413e-15, 3.8116806693649065e-15,
    1.7725601330443997e-15, -3.4254856195576129e-16, -2.8276239806344488e-16, 3.4612228688578978e-17,
    4.465621419155336e-17, -4.8305044747281321e-18, -7.2331804988857606e-18,
)  # fmt: skip
_K0 = (
    -0.26766369661695139, 0.3442898999246285, 0.035979936515361501, 0.001264615411446926, 2.2862121031194519e-05,
    2.5347910790261494e-07, 1.9045163772202091e-09, 1.0349695257633625e-11, 4.2598161427910826e-14, 1.3744654358807508e-16,
)  # fmt: skip
_K0_FAR = (
    1.2201515410329777, -0.031448101311964502, 0.0015698838857300533, -0.00012849549581627802, 1.39498137188765e-05,
    -1.8317555227191195e-06, 2.7668136394450149e-07, -4.6604898976879478e-08, 8.5740340174142253e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10, -7.9574892444773965e-11, 1.8559491149549264e-11,
    -4.5145978833745193e-12, 1.1403405882073441e-12, -2.9800969231481784e-13, 8.0328907750683746e-14,
    -2.2275133267462965e-14, 6.3400764762766461e-15, -1.8485933779209071e-15, 5.5120559994043335e-16,
    -1.6782311257549016e-16, 5.2103917776435592e-17, -1.6475805939843449e-17,
)  # fmt: skip
_J1 = (
    0.081044846325658115, -0.14897514506765211, 0.16099926235720971, -0.08268049176681791, 0.022213639654966037,
    -0.0036469406007692759, 0.0004050337728354822, -3.2555548668572587e-05, 1.9858774049915165e-06,
    -9.5219847567504361e-08, 3.6871337590971481e-09, -1.178026622695885e-10, 3.1601545803480032e-12,
    -7.2217552396517734e-14, 1.4232144003513941e-15, -2.4441972916190427e-17,
)  # fmt: skip
_Y1 = (
    0.038300769852423776, -0.081825614127328264, -0.024867707612196401, 0.047967452752746984, -0.018525884510898021,
    0.0036806076878235111, -0.00046272540602933687, 4.0694002695808698e-05, -2.6617695125295625e-06,
    1.3506026913254339e-07, -5.4835241103362762e-09, 1.8245086841229007e-10, -5.0706666365911288e-12,
    1.1956162517587948e-13, -2.423162442712473e-15, 4.2681265130729614e-17,
)  # fmt: skip
_P1 = (
    1.0009030408600137, 0.00089898983308594083, -3.9872843004889084e-06, 6.1776339606442988e-08, -1.8718907491063067e-09,
    8.8168986595823391e-11, -5.7048636403956448e-12, 4.699195515230542e-13, -4.6842237839904895e-14,
    5.4526748960447179e-15, -7.2211808422740199e-16, 1.066768911433541e-16, -1.7312313216116489e-17,
)  # fmt: skip
_Q1 = (
    0.046777787069535323, -9.6277235491570797e-05, 9.1386152579554545e-07, -2.0959781384083424e-08, 8.2291933276505541e-10,
    -4.6863636881769453e-11, 3.5152187949686082e-12, -3.2643156743279005e-13, 3.5967765829165332e-14,
    -4.56125239507734e-15, 6.5082829577838185e-16, -1.0269147531827631e-16, 1.7676355487808961e-17,
    -3.2834519873424743e-18, 6.5240811500322563e-19,
)  # fmt: skip
_I1 = (
    0.12629359322181682, -0.17641651835783406, 0.10264365868984709, -0.052945981208094989, 0.024726449030626516,
    -0.010564084894626197, 0.0041564229443128882, -0.0015135724506312532, 0.00051228595616857576, -0.00016176081582589674,
    4.7815651075500542e-05, -1.3273163656039436e-05, 3.4702513081376785e-06, -8.5687202646954547e-07,
    2.0032947535521353e-07, -4.4450591287963281e-08, 9.3815373864957726e-09, -1.8872497517228294e-09,
    3.6255902815521172e-10, -6.6634897235020271e-11, 1.1736186298890901e-11, -1.9839743977649436e-12,
    3.2237933659455748e-13, -5.0421855047279118e-14, 7.6006842947354061e-15, -1.1055969477353861e-15,
    1.5536319577361968e-16, -2.111421214358173e-17, 2.7779141127608203e-18,
)  # fmt: skip
_I1_FAR = (
    0.38928811750914005, -0.0097610974913614687, -0.00011058893876262371, -3.8825648088776906e-06, -2.5122362378702088e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.5897434621965838e-10, -1.8974958123505396e-11,
    3.2526035830154865e-11, 1.4125807436613798e-11, 2.0356285441470734e-12, -7.1985517762457498e-13,
    -4.0835511110923539e-13, -2.1015418427711115e-14, 4.2724400167104143e-14, 1.0420276984143999e-14,
    -3.8144030724520219e-15, -1.8803547754959614e-15, 3.3082023107747422e-16, 2.9626289977900084e-16,
    -3.2095259234117408e-17, -4.6503053670942797e-17, 4.414348309362614e-18, 7.5172963242992849e-18,
)  # fmt: skip
_K1 = (
    -0.064090345168662535, -0.10916919599320105, -0.0066368784528177136, -0.00016822792382067343, -2.3895591808036078e-06,
    -2.1853569024549695e-08, -1.3982271326113327e-10, -6.6185627529760411e-13, -2.4134516242987795e-15,
    -6.9908737312455904e-18,
)  # fmt: skip
_K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.0028578168596227792, 0.00019521551847135162, -1.936197974166083e-05,
    2.406484947837217e-06, -3.5019606030878126e-07, 5.7410841254500495e-08, -1.0345762465678097e-08,
    2.0150497551970347e-09, -4.1903547593419254e-10, 9.2183151876053146e-11, -2.1299678384277909e-11,
    5.1396396734823432e-12, -1.2891739609498229e-12, 3.3484196660522431e-13, -8.9767051820101463e-14,
    2.4771544242195985e-14, -7.0198370892147693e-15, 2.038703166239861e-15, -6.0570472706430177e-16,
    1.8380935752430443e-16, -5.6894628491936386e-17, 1.7940510478862647e-17,
)  # fmt: skip

# --- oscillating functions: J and Y -------------------------------------------------------------------------------


def _oscillating(xp: Any, x: Any, order: int, p: Any, q: Any) -> tuple[Any, Any]:
    """Return the Bessel functions J and Y for arguments of at least 8."""
    inverse = 8 / xp.clip(x, 8.0, math.inf)
    square = 2 * inverse * inverse - 1
    p, q = chebyshev(square, p), inverse * chebyshev(square, q)
    sine, cosine = xp.sin(x), xp.cos(x)
    # sqrt(2) times the cosine and the sine of x - (2 order + 1) pi / 4, without the rounding error of the subtraction
    c, s = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)
    size = xp.sqrt(inverse / (8 * math.pi))
    return size * (p * c - q * s), size * (p * s + q * c)


def _square(xp: Any, x: Any, edge: float) -> Any:
    near = xp.clip(x, 0.0, edge) / edge
    return 2 * near * near - 1


@in_double
def j0_forward(xp: Any, input: Any) -> Any:
    x = xp.abs(input)
    value = xp.where(x < 8, chebyshev(_square(xp, x, 8.0), _J0), _oscillating(xp, x, 0, _P0, _Q0)[0])
    return xp.where(x == math.inf, 0.0, value)


@in_double
def j1_forward(xp: Any, input: Any) -> Any:
    x = xp.abs(input)
    far = _signed(xp, input, _oscillating(xp, x, 1, _P1, _Q1)[0])
    return xp.where(x == math.inf, 0.0, xp.where(x < 8, input * chebyshev(_square(xp, x, 8.0), _J1), far))


def _second_kind(xp: Any, x: Any, near: Any, far: Any) -> Any:
    value = xp.where(x < 8, near, xp.where(x == math.inf, 0.0, far))
    return xp.where(x > 0, value, xp.where(x == 0, -math.inf, x * math.nan))


@in_double
def y0_forward(xp: Any, input: Any) -> Any:
    square = _square(xp, input, 8.0)
    near = 2 / math.pi * xp.log(0.5 * input) * chebyshev(square, _J0) + chebyshev(square, _Y0)
    return _second_kind(xp, input, near, _oscillating(xp, input, 0, _P0, _Q0)[1])


@in_double
def y1_forward(xp: Any, input: Any) -> Any:
    square = _square(xp, input, 8.0)
    smooth = 2 / math.pi * xp.log(0.5 * input) * chebyshev(square, _J1) + chebyshev(square, _Y1)
    near = xp.clip(input, -math.inf, 8.0) * smooth - 2 / (math.pi * input)
    return _second_kind(xp, input, near, _oscillating(xp, input, 1, _P1, _Q1)[1])


# --- growing and decaying functions: I and K ----------------------------------------------------------------------


def _far(xp: Any, x: Any, edge: float, coefficients: Any) -> Any:
    inverse = 1 / xp.clip(x, edge, math.inf)
    return xp.sqrt(inverse) * chebyshev(2 * edge * inverse - 1, coefficients)


@in_double
def i0e_forward(xp: Any, input: Any) -> Any:
    x = xp.abs(input)
    return xp.where(x < 8, chebyshev(xp.clip(x, 0.0, 8.0) / 4 - 1, _I0), _far(xp, x, 8.0, _I0_FAR))


@in_double
def i1e_forward(xp: Any, input: Any) -> Any:
    x = xp.abs(input)
    near = xp.clip(input, -8.0, 8.0) * chebyshev(xp.clip(x, 0.0, 8.0) / 4 - 1, _I1)
    return xp.where(x < 8, near, _signed(xp, input, _far(xp, x, 8.0, _I1_FAR)))


def _signed(xp: Any, input: Any, size: Any) -> Any:
    return xp.where(input < 0, -size, size)


def _unscaled(xp: Any, input: Any, scaled: Any) -> Any:
    half = xp.exp(0.5 * xp.abs(input))  # exp(|x|) may overflow where its product with `scaled` does not
    return xp.where(xp.isinf(half) & (scaled == 0), input, half * scaled * half)


@in_double
def i0_forward(xp: Any, input: Any) -> Any:
    return _unscaled(xp, xp.abs(input), i0e_forward(xp, input))


@in_double
def i1_forward(xp: Any, input: Any) -> Any:
    return _unscaled(xp, input, i1e_forward(xp, input))


def _k_near(xp: Any, x: Any, order: int) -> Any:
    """Return the Bessel function K for arguments of at most 2."""
    square, logarithm = _square(xp, x, 2.0), xp.log(0.5 * x)
    near = xp.clip(x, 0.0, 2.0)
    if order == 0:
        return chebyshev(square, _K0) - logarithm * xp.exp(near) * chebyshev(near / 4 - 1, _I0)
    return 1 / x + near * (chebyshev(square, _K1) + logarithm * xp.exp(near) * chebyshev(near / 4 - 1, _I1))


def _k(xp: Any, x: Any, order: int, scaled: bool) -> Any:
    near = _k_near(xp, x, order) * (xp.exp(xp.clip(x, 0.0, 2.0)) if scaled else 1.0)
    far = _far(xp, x, 2.0, _K1_FAR if order else _K0_FAR) * (1.0 if scaled else xp.exp(-x))
    return xp.where(x > 0, xp.where(x <= 2, near, far), xp.where(x == 0, math.inf, x * math.nan))


# --- Airy function ------------------------------------------------------------------------------------------------

# Chebyshev series for Ai(x), with z = 2/3 |x|^(3/2); the edge is z at the limit of the range:
# x > 2:        exp(-z) _AI_FAR(u) / (2 sqrt(pi) x^(1/4)), with u = 2 edge/z - 1
# -5 <= x <= 2: _AI(u), with u = (2x + 3) / 7
# x < -5:       (_AI_P(u) sin(z + pi/4) - _AI_Q(u) / z cos(z + pi/4)) / (sqrt(pi) |x|^(1/4)), with u = 2 (edge/z)^2 - 1
_AI = (
    0.15168947628223672, -0.005228692408472365, -0.0071830075633421232, -0.27500858251700784, 0.15267285652736612,
    0.11299722901833571, -0.12930163519980793, 0.021717950423082667, 0.024911850702736413, -0.01433585742189573,
    0.00069668945163959804, 0.001974398933529019, -0.00072303939722521993, -1.6112414526177466e-05, 8.1332736732499393e-05,
    -2.0775365813975461e-05, -1.6054762687164758e-06, 2.0560158255601388e-06, -3.825520517284178e-07, -4.9138705961841781e-08,
    3.5141686420518919e-08, -4.8463850108604963e-09, -8.897812059422213e-10, 4.3297862486488076e-10, -4.4147455974393014e-11,
    -1.1096862995764342e-11, 4.0248320287978321e-12, -2.9609936249846452e-13, -1.0257635127287476e-13, 2.920579876829024e-14,
    -1.4619955511486231e-15, -7.3550505309176696e-16, 1.6986548408182805e-16, -5.0563208224652942e-18,
)  # fmt: skip
_AI_FAR = (
    0.98440530491715517, -0.014792784850104199, 0.00073271774654267146, -6.1259542341782504e-05, 6.8347669755726903e-06,
    -9.2372297354039818e-07, 1.436225340438052e-07, -2.4893194223220961e-08, 4.7097934400543277e-09,
    -9.5838637081127331e-10, 2.0745855483677591e-10, -4.737267332192277e-11, 1.1336099808224236e-11,
    -2.8277067823193509e-12, 7.3207120951255979e-13, -1.9599793911089723e-13, 5.4101162570683925e-14,
    -1.5356466802223836e-14, 4.4723403933000248e-15, -1.3338094674756683e-15, 4.0665820464562313e-16,
    -1.2655832256452898e-16, 4.0151263340158802e-17, -1.2969972135961646e-17,
)  # fmt: skip
_AI_P = (
    0.99967234154610052, -0.00032554835610553221, 2.0697451559691191e-06, -3.8909617364744242e-08, 1.3645959446950337e-09,
    -7.2655634388666822e-11, 5.2346756290629072e-12, -4.749669415821452e-13, 5.172156139604189e-14,
    -6.5337252955452842e-15, 9.3392740727772074e-16, -1.4823330512580452e-16, 2.5745988399643835e-17,
)  # fmt: skip
_AI_Q = (
    0.069115280401605028, -0.0003251060364586695, 3.9459777438663227e-06, -1.0689290905143409e-07, 4.8003347189516169e-09,
    -3.0691067169997637e-10, 2.5517594369013931e-11, -2.6016067317524369e-12, 3.1236668551192165e-13,
    -4.2903251712842426e-14, 6.5967105959803062e-15, -1.1168332160444836e-15, 2.0551350159122136e-16,
    -4.0680056101072766e-17, 8.5891826339399957e-18, -1.9210188213551383e-18,
)  # fmt: skip
_AI_FAR_EDGE, _AI_WAVE_EDGE = 2 / 3 * 2**1.5, 2 / 3 * 5**1.5


_INEXACT_PHASE = 1e9  # for larger arguments, the phase is inexact even in twice double precision
_TAU_BITS = 1700  # number of bits that the phase of the largest float64 needs


@cache
def _tau() -> int:
    """Return `2 pi * 2**_TAU_BITS` as an integer, by Machin's formula."""
    one = 1 << (_TAU_BITS + 16)

    def arctan_of_inverse(n: int) -> int:
        power, total, k = one // n, 0, 1
        while power:
            total, power, k = total + power // k, -power // (n * n), k + 2
        return total

    return 8 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) >> 16


def _far_phase(size: float) -> float:
    """Return `2/3 size**1.5` modulo 2 pi, in integer arithmetic: a large phase has no correct digit in float64."""
    if not _INEXACT_PHASE < size < math.inf:
        return 0.0
    numerator, denominator = size.as_integer_ratio()
    bits = 80 + 3 * (numerator // denominator).bit_length() // 2
    phase = math.isqrt((4 * numerator**3 << 2 * bits) // (9 * denominator**3)) % (_tau() >> (_TAU_BITS - bits))
    return phase / (1 << bits)


_REST_OF_TWO_THIRDS = 3.700743415417188e-17  # 2/3 minus the nearest float64


def _phase_in_two_parts(xp: Any, size: Any) -> tuple[Any, Any]:
    """Return `2/3 size**1.5` in twice float64 precision: the rounded value and its rounding error."""
    root = xp.sqrt(size)
    square, rest = product_and_rest(root, root)
    root_rest = ((size - square) - rest) / (2 * root)
    cube, rest = product_and_rest(size, root)
    cube_rest = rest + size * root_rest
    phase, rest = product_and_rest(cube, 2 / 3)
    return phase, rest + 2 / 3 * cube_rest + _REST_OF_TWO_THIRDS * cube


@in_double
def airy_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    root = xp.sqrt(xp.sqrt(size))
    z, rest = _phase_in_two_parts(xp, xp.clip(size, 1.0, math.inf))
    turn, rest = z, xp.where(size > _INEXACT_PHASE, 0.0, rest)
    if any_element(xp, input < -_INEXACT_PHASE):
        turn = xp.where(size > _INEXACT_PHASE, mapped(xp, size, _far_phase), z)
    near = chebyshev((2 * xp.clip(input, -5.0, 2.0) + 3) / 7, _AI)
    above = xp.exp(-z) * (1 - rest) * chebyshev(2 * _AI_FAR_EDGE / xp.clip(z, _AI_FAR_EDGE, math.inf) - 1, _AI_FAR) / (2 * root)
    inverse = 1 / xp.clip(z, _AI_WAVE_EDGE, math.inf)
    square = 2 * (_AI_WAVE_EDGE * inverse) ** 2 - 1
    p, q = chebyshev(square, _AI_P), inverse * chebyshev(square, _AI_Q)
    sine, cosine, shift = xp.sin(turn), xp.cos(turn), rest + math.pi / 4
    s, c = xp.sin(shift), xp.cos(shift)
    below = (p * (sine * c + cosine * s) - q * (cosine * c - sine * s)) / root
    value = xp.where(input > 2, above, below) / math.sqrt(math.pi)
    return xp.where(size == math.inf, 0.0, xp.where((input > 2) | (input < -5), value, near))


# --- the operations -----------------------------------------------------------------------------------------------


def _special_op(
    name: str, forward: Any, doc: str, out: bool | Out = Out.UNKNOWN_TO_AUTOGRAD, **rules: Any
) -> Callable[..., Tensor]:
    return op(
        name,
        lambda xp, input: forward(xp, input),
        kind=Kind.POINTWISE,
        promote="float",
        dtypes="real",
        public=False,
        method=False,
        out=out,
        doc=doc,
        **rules,
    )


def _divide_or(F: Any, value: Any, input: Any, at_zero: float) -> Any:
    """Return `value / input`, or `at_zero` where `input` is 0."""
    return F.where(input == 0, at_zero, value / F.where(input == 0, 1.0, input))


i0 = op(
    "i0", lambda xp, input: i0_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="""Return the modified Bessel function of the first kind, of order 0.

    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """,
    input=lambda F, g, input: g * F.special_i1(input),
)  # fmt: skip
i0e = _special_op(
    "special_i0e", i0e_forward, "Return `exp(-|x|) * i0(x)`.",
    out=True,
    input=lambda F, g, input, out: g * (F.special_i1e(input) - F.sign(input) * out),
)  # fmt: skip
i1 = _special_op(
    "special_i1", i1_forward, "Return the modified Bessel function of the first kind, of order 1.",
    keeps_zero=True,
    out=True,
    input=lambda F, g, input, out: g * (F.i0(input) - _divide_or(F, out, input, 0.5)),
)  # fmt: skip
i1e = _special_op(
    "special_i1e", i1e_forward, "Return `exp(-|x|) * i1(x)`.",
    keeps_zero=True,
    out=True,
    input=lambda F, g, input, out: g * (F.special_i0e(input) - _divide_or(F, out, input, 0.5) - F.sign(input) * out),
)  # fmt: skip
j0 = _special_op(
    "special_bessel_j0",
    j0_forward,
    "Return the Bessel function of the first kind, of order 0.",
    input=lambda F, g, input: -g * F.special_bessel_j1(input),
)
j1 = _special_op(
    "special_bessel_j1",
    j1_forward,
    "Return the Bessel function of the first kind, of order 1.",
    keeps_zero=True,
    input=lambda F, g, input, out: g * (F.special_bessel_j0(input) - _divide_or(F, out, input, 0.5)),
)
y0 = _special_op(
    "special_bessel_y0",
    y0_forward,
    "Return the Bessel function of the second kind, of order 0.",
    input=lambda F, g, input: -g * F.special_bessel_y1(input),
)
y1 = _special_op(
    "special_bessel_y1",
    y1_forward,
    "Return the Bessel function of the second kind, of order 1.",
    input=lambda F, g, input, out: g * (F.special_bessel_y0(input) - out / input),
)
modified_i0 = _special_op(
    "special_modified_bessel_i0",
    i0_forward,
    "Return the modified Bessel function of the first kind, of order 0.",
    input=lambda F, g, input: g * F.special_i1(input),
)
modified_i1 = _special_op(
    "special_modified_bessel_i1",
    i1_forward,
    "Return the modified Bessel function of the first kind, of order 1.",
    keeps_zero=True,
    input=lambda F, g, input, out: g * (F.i0(input) - _divide_or(F, out, input, 0.5)),
)
k0 = _special_op(
    "special_modified_bessel_k0",
    in_double(lambda xp, x: _k(xp, x, 0, False)),
    "Return the modified Bessel function of the second kind, of order 0.",
    input=lambda F, g, input: -g * F.special_modified_bessel_k1(input),
)
k1 = _special_op(
    "special_modified_bessel_k1",
    in_double(lambda xp, x: _k(xp, x, 1, False)),
    "Return the modified Bessel function of the second kind, of order 1.",
    input=lambda F, g, input, out: -g * (F.special_modified_bessel_k0(input) + out / input),
)
scaled_k0 = _special_op(
    "special_scaled_modified_bessel_k0",
    in_double(lambda xp, x: _k(xp, x, 0, True)),
    "Return `exp(x) * modified_bessel_k0(x)`.",
    input=lambda F, g, input, out: g * (out - F.special_scaled_modified_bessel_k1(input)),
)
scaled_k1 = _special_op(
    "special_scaled_modified_bessel_k1", in_double(lambda xp, x: _k(xp, x, 1, True)), "`exp(x) * modified_bessel_k1(x)`.",
    input=lambda F, g, input, out: g * (out - F.special_scaled_modified_bessel_k0(input) - out / input),
)  # fmt: skip
airy = _special_op(
    "special_airy_ai",
    airy_forward,
    "Return the Airy function Ai.",
)


@in_double
def spherical_forward(xp: Any, input: Any) -> Any:
    ratio = xp.sin(input) / xp.where(input == 0, 1.0, input)
    return xp.where(input == 0, 1.0, xp.where(xp.isinf(input), 0.0, ratio))


spherical = _special_op(
    "special_spherical_bessel_j0",
    spherical_forward,
    "Return the spherical Bessel function of order 0: `sin(x) / x`.",
    input=lambda F, g, input, out: g * _divide_or(F, F.cos(input) - out, input, 0.0),
)

/* Scalar functions in a form that compilers vectorize: without branches and calls.

Polynomials are minimax or least-squares fits in single precision.  Errors are relative, or in units in the last place (ulp).
`loops/scalar.py` has bitwise equal functions for numba, which the loops of `torch.compile` use. */
#pragma once

#include <math.h>

#include "vector.h"

/* Compute a * b + c, rounded once if the processor can; compilers differ in whether they fuse this on their own. */
INLINE float product_and_sum(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

INLINE int32_t bits_of(float x) {
    union { float number; int32_t bits; } both = {.number = x};
    return both.bits;
}

INLINE float of_bits(int32_t bits) {
    union { int32_t bits; float number; } both = {.bits = bits};
    return both.number;
}

/* Return 2 ** k for a small integer k, by setting the exponent bits. */
INLINE float power_of_two(int32_t k) { return of_bits((int32_t)((uint32_t)(k + 127) << 23)); }

/* Compute exp(x - k log 2) for k such that the difference is small (polynomial from Moshier's Cephes). */
INLINE float exp_of_rest(float x, float k) {
    float r = x - k * 0.693359375f;
    r = r - k * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r + 1.0f;
}

#define LOG2_E 1.4426950408889634f
#define WHOLE_NUMBERS 12582912.0f /* 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits */
#define LEAST_LOG -87.0f /* exponentials of smaller numbers are denormal */
#define MOST_LOG 88.7228f /* exponentials of larger numbers are infinite */

/* Exponential with an error up to 1 ulp; correct for infinite and denormal results and NaN. */
INLINE float exponential(float x) {
    x = x > 128.0f ? 128.0f : x < -128.0f ? -128.0f : x;
    float k = floorf(x * LOG2_E + 0.5f);
    int32_t whole = (int32_t)k, half = whole >> 1;
    return exp_of_rest(x, k) * power_of_two(half) * power_of_two(whole - half);
}

/* Exponential for x <= 88 that returns 0 for denormal results: for rows after subtraction of the maximum. */
INLINE float exp_below(float x) {
    const float bounded = x < LEAST_LOG ? LEAST_LOG : x, shifted = bounded * LOG2_E + WHOLE_NUMBERS;
    const int32_t bits = bits_of(exp_of_rest(bounded, shifted - WHOLE_NUMBERS)) + (int32_t)((uint32_t)bits_of(shifted) << 23);
    return of_bits(bits & -(int32_t)!(x < LEAST_LOG));
}

/* Exponential that is infinite above the largest finite result, and at least exp(LEAST_LOG): for sums with larger numbers. */
INLINE float exp_above(float x) {
    const float bounded = x < LEAST_LOG ? LEAST_LOG : x, shifted = bounded * LOG2_E + WHOLE_NUMBERS;
    const int32_t bits = bits_of(exp_of_rest(bounded, shifted - WHOLE_NUMBERS)) + (int32_t)((uint32_t)bits_of(shifted) << 23);
    return bounded <= MOST_LOG ? of_bits(bits) : bounded + INFINITY; /* NaN for NaN */
}

INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp_above(-x)); }

/* tanh with an error up to 3 ulp: a rational approximation (from Eigen), constant 1 beyond 7.9. */
INLINE float hyperbolic_tangent(float x) {
    const float one = 7.90531110763549805f;
    float size = x > one ? one : x < -one ? -one : x;
    float s = size * size;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s + -8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return x > one ? 1.0f : x < -one ? -1.0f : size * p / q;
}

/* erf with an error up to 3e-7: x P(x^2) / Q(x^2) up to 4, constant 1 beyond. */
INLINE float error_function(float x) {
    x = x > 4.0f ? 4.0f : x < -4.0f ? -4.0f : x;
    float s = x * x;
    float p = -2.72614225801306e-10f;
    p = p * s + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * s + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    return x * p / q;
}

/* The cumulative distribution function of the standard normal distribution, and its density. */
INLINE float normal_share_below(float x) { return 0.5f + 0.5f * error_function(x * 0.7071067811865476f); }
INLINE float normal_density(float x) { return 0.3989422804014327f * exponential(-0.5f * x * x); }

/* --- activations and their gradients --- */

/* Return x for NaN, as PyTorch does. */
INLINE float bounded(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
INLINE float hardsigmoid(float x) { return bounded(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6); }

INLINE float silu(float x) { return x * sigmoid(x); }

INLINE float silu_backward(float g, float x) {
    float s = sigmoid(x);
    return g * s * product_and_sum(x, 1.0f - s, 1.0f);
}

INLINE float gelu(float x) { return x * normal_share_below(x); }
INLINE float gelu_backward(float g, float x) { return g * (normal_share_below(x) + x * normal_density(x)); }

#define GELU_SCALE 0.7978845608028654f /* sqrt(2 / pi) */
#define GELU_CUBE 0.044715f

INLINE float gelu_bend(float x) { return hyperbolic_tangent(GELU_SCALE * x * (1.0f + GELU_CUBE * x * x)); }
INLINE float gelu_tanh(float x) { return 0.5f * x * (1.0f + gelu_bend(x)); }

INLINE float gelu_tanh_backward(float g, float x) {
    float t = gelu_bend(x);
    float steep = GELU_SCALE * (1.0f + 3.0f * GELU_CUBE * x * x);
    return g * 0.5f * (1.0f + t + x * (1.0f - t * t) * steep);
}

/* --- order --- */

/* Return an integer with the order of x, largest for NaN, because vector instructions include a maximum of integers. */
INLINE int32_t ordered_bits(float x) {
    int32_t bits = bits_of(x);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

INLINE float from_ordered_bits(int32_t bits) { return of_bits(bits ^ ((bits >> 31) & 0x7fffffff)); }

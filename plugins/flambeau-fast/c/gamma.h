/* Derivatives of gamma and beta samples by their parameters, in float64.

Integrals are sums over nodes of Gauss-Legendre quadrature, as in `flambeau/operations/special/gamma.py`, which explains the formulas. */
#pragma once

#include <math.h>

#include "kernel.h"

#define GROUP 32    /* number of samples computed in one loop */
#define SORTED 1024 /* number of samples sorted at a time */

INLINE int64_t long_bits(double x) {
    union { double number; int64_t bits; } both = {.number = x};
    return both.bits;
}

INLINE double of_long_bits(int64_t bits) {
    union { int64_t bits; double number; } both = {.bits = bits};
    return both.number;
}

#define SHIFTED 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits */

/* exp(x) as `power * (1 + less_one)`, where `power` is a power of 2 and `less_one` has an error of 1e-14. */
typedef struct { double less_one, power; } Exponential;

/* x is limited to [-708, 708], whose exponentials are normal numbers. */
INLINE Exponential exponential_parts(double x) {
    x = x < -708 ? -708 : x > 708 ? 708 : x;
    const double shifted = x * 1.4426950408889634 + SHIFTED, k = shifted - SHIFTED;
    const double r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10;
    double p = 1. / 39916800; /* Taylor's series of (exp(r) - 1 - r) / r^2 */
    p = p * r + 1. / 3628800;
    p = p * r + 1. / 362880;
    p = p * r + 1. / 40320;
    p = p * r + 1. / 5040;
    p = p * r + 1. / 720;
    p = p * r + 1. / 120;
    p = p * r + 1. / 24;
    p = p * r + 1. / 6;
    p = p * r + 1. / 2;
    const double power = of_long_bits((int64_t)(((uint64_t)long_bits(shifted) + 1023) << 52));
    return (Exponential){p * (r * r) + r, power};
}

INLINE double double_exp(double x) {
    const Exponential e = exponential_parts(x);
    return e.power * e.less_one + e.power;
}

INLINE double double_expm1(double x) {
    const Exponential e = exponential_parts(x);
    return e.power * e.less_one + (e.power - 1);
}

/* Compute log(1 + rest), where `x` is 1 + rest, rounded, and a normal number. */
INLINE double log_of_sum(double x, double rest) {
    const uint64_t root = 0x3fe6a09e667f3bcd; /* the bits of sqrt(1/2) */
    const uint64_t bits = (uint64_t)long_bits(x), exponent = (bits - root + (UINT64_C(1023) << 52)) >> 52; /* biased by 1023 */
    const double k = of_long_bits((int64_t)(exponent | 0x4330000000000000)) - (4503599627370496.0 + 1023);
    const double mantissa = of_long_bits((int64_t)(bits - ((exponent - 1023) << 52))); /* >= sqrt(1/2), < sqrt(2) */
    const double above_one = exponent == 1023 ? rest : mantissa - 1, f = above_one / (above_one + 2), s = f * f;
    double p = 1. / 19; /* the series of atanh(f) */
    p = p * s + 1. / 17;
    p = p * s + 1. / 15;
    p = p * s + 1. / 13;
    p = p * s + 1. / 11;
    p = p * s + 1. / 9;
    p = p * s + 1. / 7;
    p = p * s + 1. / 5;
    p = p * s + 1. / 3;
    return k * 0.6931471803691238 + (2 * f + (2 * f * s * p + k * 1.9082149292705877e-10));
}

INLINE double double_log(double x) { return log_of_sum(x, x - 1); }
INLINE double double_log1p(double x) { return log_of_sum(1 + x, x); }

/* Compute digamma of a positive number with an error of 1e-13; coefficients are those of the NumPy backend's kernels_gamma.py.
Numbers below 7 are increased by 7. */
INLINE double digamma(double x) {
    const bool is_small = x < 7;
    const double small = is_small ? x : 0, u = small * (small + 6), z = is_small ? x + 7 : x, inverse = 1 / z, square = inverse * inverse;
    const double slope = ((7 * u + 119) * u + 588) * u + 720, product = (((u + 13) * u + 40) * u) * (small + 3);
    double rest = 6.6229316352586845e-03;
    rest = rest * square - 4.150310239643316e-03;
    rest = rest * square + 3.968136831799828e-03;
    rest = rest * square - 8.333333036876717e-03;
    rest = rest * square + 8.333333333321251e-02;
    return double_log(z) - (is_small ? slope / product : 0) - (rest * inverse + 0.5) * inverse;
}

typedef struct {
    const double *nodes, *weights;
    int64_t points;
    double decay; /* the density at the end of the integral is lower by exp(-decay) */
} Rule;

/* --- gamma samples --- */

/* Samples up to 1: a power series. */
static void gamma_grad_by_series(double *out, const double *a, const double *x) {
    double total[GROUP], slope[GROUP], term[GROUP];
    for (int i = 0; i < GROUP; i++) total[i] = 1, slope[i] = 0, term[i] = 1;
    for (int k = 1; k < 20; k++) {
        const double inverse = 1. / k;
        SIMD() for (int i = 0; i < GROUP; i++) {
            const double reciprocal = 1 / (a[i] + k);
            term[i] *= -x[i] * inverse;
            total[i] += term[i] * a[i] * reciprocal;
            slope[i] += term[i] * k * (reciprocal * reciprocal);
        }
    }
    SIMD() for (int i = 0; i < GROUP; i++) {
        const double score = double_log(x[i]) - digamma(1 + a[i]);
        out[i] = -x[i] * double_exp(x[i]) / a[i] * (total[i] * score + slope[i]);
    }
}

/* Return the end of the integral over the change of log(x): `_path` in gamma.py. */
INLINE double path(double a, double x, double decay) {
    const double distance = fabs(a - x), normal = 2 * decay / (distance + sqrt(distance * distance + 2 * decay * x));
    const double up = double_log1p((decay + a * normal) / x), most = (decay + x) / a;
    double y = normal;
    for (int step = 0; step < 2; step++) {
        const double fall = x * double_expm1(-y);
        y = y - (a * y + fall - decay) / (a - x - fall);
    }
    return x < a ? -(most < y ? most : y) : up < normal ? up : normal;
}

static void gamma_grad_by_integral(double *out, const double *a, const double *x, const Rule *rule) {
    double score[GROUP], end[GROUP], total[GROUP];
    SIMD() for (int i = 0; i < GROUP; i++) {
        score[i] = double_log(x[i]) - digamma(a[i]);
        end[i] = path(a[i], x[i], rule->decay);
        total[i] = 0;
    }
    for (int64_t point = 0; point < rule->points; point++) {
        const double node = rule->nodes[point], weight = rule->weights[point];
        SIMD() for (int i = 0; i < GROUP; i++) {
            const double change = end[i] * node;
            total[i] += weight * double_exp(a[i] * change - x[i] * double_expm1(change)) * (score[i] + change);
        }
    }
    for (int i = 0; i < GROUP; i++) out[i] = x[i] * end[i] * total[i];
}

/* Arguments: out, a, x, nodes, weights, decay. */
static void gamma_grad(const Argument *arguments, int64_t first, int64_t last) {
    const Rule rule = {arguments[3].data, arguments[4].data, arguments[3].shape[0], arguments[5].number};
    const double *all_a = arguments[1].data, *all_x = arguments[2].data;
    double a[SORTED + GROUP], x[SORTED + GROUP], out[SORTED + GROUP];
    int order[SORTED];
    for (int64_t start = first; start < last; start += SORTED) {
        const int count = (int)smaller(SORTED, last - start);
        int near = 0, far = count; /* samples below 1 come first */
        for (int i = 0; i < count; i++) order[all_x[start + i] < 1 ? near++ : --far] = i;
        for (int i = 0; i < count; i++) a[i] = all_a[start + order[i]], x[i] = all_x[start + order[i]];
        for (int i = count; i < count + GROUP; i++) a[i] = x[i] = 1;
        for (int i = 0; i < near; i += GROUP) gamma_grad_by_series(out + i, a + i, x + i);
        for (int i = near; i < count; i += GROUP) gamma_grad_by_integral(out + i, a + i, x + i, &rule);
        for (int i = 0; i < count; i++) ((double *)arguments[0].data)[start + order[i]] = out[i];
    }
}

/* --- beta samples --- */

/* Return the end of the integral: `_beta_distance` in gamma.py. */
INLINE double beta_distance(double u, double near, double far, double decay) {
    const double power = far > 1 ? far - 1 : 0, log_rest = double_log1p(-u), slope = power * u / (1 - u), excess = near - slope;
    double s = 2 * decay / (excess + sqrt(excess * excess + 2 * decay * slope / (1 - u)));
    for (int step = 0; step < 2; step++) {
        const double v = u * double_exp(-s);
        s = s - (near * s - power * (double_log1p(-v) - log_rest) - decay) / (near - power * v / (1 - v));
    }
    return s;
}

static void beta_grad_group(double *out, const double *x, const double *a, const double *b, const Rule *rule) {
    double u[GROUP], near[GROUP], power[GROUP], low[GROUP], log_u[GROUP], log_rest[GROUP], mean[GROUP], end[GROUP], total[GROUP];
    SIMD() for (int i = 0; i < GROUP; i++) {
        const bool is_low = x[i] * (a[i] + b[i]) < a[i];
        low[i] = is_low ? 1 : 0;
        u[i] = is_low ? x[i] : 1 - x[i];
        near[i] = is_low ? a[i] : b[i];
        const double far = is_low ? b[i] : a[i];
        power[i] = far - 1;
        log_u[i] = double_log(u[i]);
        log_rest[i] = double_log1p(-u[i]);
        mean[i] = digamma(a[i]) - digamma(a[i] + b[i]);
        end[i] = double_log1p(-beta_distance(u[i], near[i], far, rule->decay) / log_u[i]);
        total[i] = 0;
    }
    for (int64_t point = 0; point < rule->points; point++) {
        const double node = rule->nodes[point], weight = rule->weights[point];
        SIMD() for (int i = 0; i < GROUP; i++) {
            const double stretch = double_expm1(end[i] * node), s = -log_u[i] * stretch;
            const double log_rest_of_v = double_log1p(-u[i] * double_exp(-s));
            const double density = double_exp(power[i] * (log_rest_of_v - log_rest[i]) - near[i] * s);
            total[i] += weight * density * ((low[i] ? log_u[i] - s : log_rest_of_v) - mean[i]) * (stretch + 1);
        }
    }
    for (int i = 0; i < GROUP; i++) {
        const double integral = -log_u[i] * end[i] * total[i];
        out[i] = low[i] ? -u[i] / (1 - u[i]) * integral : integral;
    }
}

/* Arguments: out, x, a, b, nodes, weights, decay. */
static void beta_grad(const Argument *arguments, int64_t first, int64_t last) {
    const Rule rule = {arguments[4].data, arguments[5].data, arguments[4].shape[0], arguments[6].number};
    for (int64_t start = first; start < last; start += GROUP) {
        double inputs[3][GROUP], out[GROUP];
        const int count = (int)smaller(GROUP, last - start);
        for (int input = 0; input < 3; input++)
            for (int i = 0; i < GROUP; i++) inputs[input][i] = i < count ? ((double *)arguments[1 + input].data)[start + i] : 0.5;
        beta_grad_group(out, inputs[0], inputs[1], inputs[2], &rule);
        for (int i = 0; i < count; i++) ((double *)arguments[0].data)[start + i] = out[i];
    }
}

#define GAMMA_KERNELS {"gamma_grad", "DDDDDf", gamma_grad, ITEMS}, {"beta_grad", "DDDDDDf", beta_grad, ITEMS}

/* Gamma, Poisson and binomial values by rejection, bitwise equal to those of the NumPy backend's rejection.py.

This file is compiled without fused multiply-adds and once for all variants, and it calls the C library's functions, as Python does.
Only `lgamma` may differ from Python's in its last bits; PyTorch calls the C library's. */

#include "rejection.h"

#include <math.h>

#include "mt19937.h"

typedef struct {
    uint32_t *key;
    int64_t used;
    uint32_t words[624]; /* the random words of the key */
    double *spare;       /* the second normal value of a pair: whether it is present, and its value */
} Stream;

static void temper(Stream *stream) {
    for (int i = 0; i < 624; i++) stream->words[i] = tempered(stream->key[i]);
}

static uint32_t next_word(Stream *stream) {
    if (stream->used == 624) {
        renew(stream->key);
        temper(stream);
        stream->used = 0;
    }
    return stream->words[stream->used++];
}

/* Draw from [0, 1): 53 bits of two words, the high one first. */
static double uniform(Stream *stream) {
    const uint64_t high = next_word(stream) & 0x1fffff, low = next_word(stream);
    return (double)(int64_t)(high << 32 | low) * 0x1p-53;
}

static double standard_normal(Stream *stream) {
    double *spare = stream->spare;
    if (spare[0]) {
        spare[0] = 0;
        return spare[1];
    }
    const double angle = 2 * 3.141592653589793 * uniform(stream), radius = sqrt(-2 * log1p(-uniform(stream)));
    spare[0] = 1;
    spare[1] = radius * sin(angle);
    return radius * cos(angle);
}

/* Marsaglia & Tsang (2000), "A simple method for generating gamma variables". */
static double gamma_value(Stream *stream, double d, double boost) {
    const double scale = boost ? pow(1 - uniform(stream), boost) * d : d, c = 1 / sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = standard_normal(stream);
            y = 1 + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - uniform(stream), square = x * x;
        if (u < 1 - 0.03310000151395798 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v))) return scale * v;
    }
}

/* Transformed rejection: PTRS (Hoermann 1993).  For small rates, count the uniform values whose product stays above exp(-rate). */
static double poisson_value(Stream *stream, double rate) {
    if (rate < 10) {
        const double limit = exp(-rate);
        double product = uniform(stream), k = 0;
        for (; product > limit; k++) product = product * uniform(stream);
        return k;
    }
    const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform(stream) - 0.5, v = uniform(stream), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= squeeze) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log(rate) - rate - lgamma(k + 1)) return k;
    }
}

/* The remainder of Stirling's formula for log(k!). */
static double stirling_tail(double k) {
    static const double small_tails[] = {0.08106146679532733,  0.04134069595540946, 0.027677925684997717, 0.02079067210376584,
                                         0.016644691189820815, 0.013876128823072431, 0.01189670994589287, 0.010411265261973224,
                                         0.009255462182709007, 0.008330563433359028};
    if (k < 10) return small_tails[(int)k];
    const double square = (k + 1) * (k + 1);
    return (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / (k + 1);
}

/* Rejection: BTRS (Hoermann 1993).  For small means, count the geometric waiting times that fit into n trials (Devroye 1986). */
static double binomial_value(Stream *stream, double n, double p, double mean, double deviation, double mode, double odds, double log_miss) {
    if (mean < 10) {
        double hits = -1, trials = 0;
        for (; trials <= n; hits++) {
            const double wait = log(uniform(stream)) / log_miss;
            trials += wait <= n ? ceil(wait) : INFINITY;
        }
        return hits;
    }
    const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double squeeze = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
    for (;;) {
        const double u = uniform(stream) - 0.5, v = uniform(stream), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + (mean + 0.5));
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= squeeze) return k;
        const double bound = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) + (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                             (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) + stirling_tail(n - mode) -
                             stirling_tail(k) - stirling_tail(n - k);
        if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
    }
}

/* Define a kernel that draws a value for each element of its parameters.
Arguments: values, the parameters, key, used (in and out), spare (in and out: whether it is present, and its value). */
#define SAMPLER(name, parameters, value)                                                                                           \
    void name##_values(const Argument *a, int64_t first, int64_t last) {                                                           \
        (void)first, (void)last;                                                                                                   \
        Stream drawn = {.key = a[parameters + 1].data, .used = LONGS(parameters + 2)[0], .spare = DOUBLES(parameters + 3)};        \
        Stream *stream = &drawn;                                                                                                   \
        temper(stream);                                                                                                            \
        for (int64_t i = 0; i < SIZE(0, 0); i++) DOUBLES(0)[i] = value;                                                            \
        LONGS(parameters + 2)[0] = stream->used;                                                                                   \
    }

#define PARAMETER(number) (DOUBLES(number)[i])

SAMPLER(gamma, 2, gamma_value(stream, PARAMETER(1), PARAMETER(2)))
SAMPLER(poisson, 1, poisson_value(stream, PARAMETER(1)))
SAMPLER(binomial, 7,
        binomial_value(stream, PARAMETER(1), PARAMETER(2), PARAMETER(3), PARAMETER(4), PARAMETER(5), PARAMETER(6), PARAMETER(7)))

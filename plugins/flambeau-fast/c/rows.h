/* Rows of a matrix: softmax and related functions, classification losses, layer normalization.  Each row stays in the cache. */
#pragma once

#include "kernel.h"
#include "scalar.h"

/* Return the maximum of a row, or NaN if any element is NaN. */
INLINE float largest_of(const float *row, int64_t length) {
    int32_t most = ordered_bits(row[0]);
    SIMD(reduction(max : most)) for (int64_t j = 0; j < length; j++) {
        int32_t bits = ordered_bits(row[j]);
        most = bits > most ? bits : most;
    }
    return from_ordered_bits(most);
}

INLINE float sum_of_exponentials(const float *row, int64_t length, float shift) {
    float total = 0.0f;
    SIMD(reduction(+ : total)) for (int64_t j = 0; j < length; j++) total += exp_below(row[j] - shift);
    return total;
}

static void softmax_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    for (int64_t i = first; i < last; i++) {
        float *out = FLOATS(0) + i * length, total = 0.0f;
        const float *row = FLOATS(1) + i * length, shift = largest_of(row, length);
        SIMD(reduction(+ : total)) for (int64_t j = 0; j < length; j++) {
            float power = exp_below(row[j] - shift);
            out[j] = power;
            total += power;
        }
        float scale = 1.0f / total;
        SIMD() for (int64_t j = 0; j < length; j++) out[j] *= scale;
    }
}

static void log_softmax_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    for (int64_t i = first; i < last; i++) {
        float *out = FLOATS(0) + i * length;
        const float *row = FLOATS(1) + i * length, shift = largest_of(row, length);
        const float log_total = logf(sum_of_exponentials(row, length, shift));
        SIMD() for (int64_t j = 0; j < length; j++) out[j] = row[j] - shift - log_total;
    }
}

/* Compute the log-sum-exp of rows in two parts: the maximum, and the logarithm of the sum after its subtraction. */
static void log_sum_exp_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(1, 1);
    for (int64_t i = first; i < last; i++) {
        const float *row = FLOATS(1) + i * length, shift = largest_of(row, length);
        FLOATS(0)[2 * i] = shift;
        FLOATS(0)[2 * i + 1] = logf(sum_of_exponentials(row, length, shift));
    }
}

static void softmax_backward_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    for (int64_t i = first; i < last; i++) {
        float *grad_input = FLOATS(0) + i * length;
        const float *g = FLOATS(1) + i * length, *out = FLOATS(2) + i * length;
        const float projection = sum_of_products(g, out, 0.0f, length);
        SIMD() for (int64_t j = 0; j < length; j++) grad_input[j] = (g[j] - projection) * out[j];
    }
}

static void log_softmax_backward_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    for (int64_t i = first; i < last; i++) {
        float *grad_input = FLOATS(0) + i * length;
        const float *g = FLOATS(1) + i * length, *out = FLOATS(2) + i * length, total = sum_of(g, length);
        SIMD() for (int64_t j = 0; j < length; j++) grad_input[j] = g[j] - exp_below(out[j]) * total;
    }
}

enum { OF_EACH, MEAN, TOTAL }; /* reductions */

/* Cross entropy.  Arguments: out, x, log-sum-exp `(row, 2)`, classes, reduction, ignored class. */
static void cross_entropy_rows(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t rows = SIZE(1, 0), length = SIZE(1, 1), row_step = a[2].strides[0] / 4, part_step = a[2].strides[1] / 4;
    double total = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t class = LONGS(3)[i];
        const float *parts = FLOATS(2) + i * row_step;
        float loss = 0.0f;
        if (class != INTEGER(5)) {
            if (class < 0 || class >= length) {
                decline();
                return;
            }
            loss = parts[0] - FLOATS(1)[i * length + class] + parts[part_step];
            count++;
        }
        if (INTEGER(4) == OF_EACH) FLOATS(0)[i] = loss;
        total += loss;
    }
    if (INTEGER(4) != OF_EACH) *FLOATS(0) = (float)(INTEGER(4) == MEAN ? total / (double)count : total);
}

typedef struct {
    const Argument *a;
    int64_t strips;
    float grad; /* gradient of each loss if all are equal */
} LossGradient;

static void cross_entropy_strip(void *context, int64_t strip) {
    const LossGradient *g = context;
    const Argument *a = g->a;
    const int64_t rows = SIZE(0, 0), length = SIZE(0, 1), row_step = a[2].strides[0] / 4, part_step = a[2].strides[1] / 4;
    for (int64_t i = strip * rows / g->strips; i < (strip + 1) * rows / g->strips; i++) {
        float *grad_input = FLOATS(0) + i * length;
        const float *x = FLOATS(1) + i * length, shift = FLOATS(2)[i * row_step], log_total = FLOATS(2)[i * row_step + part_step];
        const int64_t class = LONGS(3)[i];
        const float scale = class == INTEGER(6) ? 0.0f : INTEGER(5) == OF_EACH ? FLOATS(4)[i] : g->grad;
        SIMD() for (int64_t j = 0; j < length; j++) grad_input[j] = exp_below(x[j] - shift - log_total) * scale;
        if (class != INTEGER(6)) grad_input[class] -= scale;
    }
}

/* The gradient of cross entropy.  Arguments: grad_input, x, log-sum-exp, classes, gradient of the loss or losses, reduction,
ignored class. */
static void cross_entropy_backward_rows(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t rows = SIZE(0, 0), length = SIZE(0, 1), *classes = LONGS(3);
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (classes[i] == INTEGER(6)) continue;
        if (classes[i] < 0 || classes[i] >= length) {
            decline();
            return;
        }
        count++;
    }
    LossGradient g = {a, smaller(rows, pieces(rows * length, 1 << 14)), INTEGER(5) == MEAN ? *FLOATS(4) / (float)count : *FLOATS(4)};
    parallel(g.strips, cross_entropy_strip, &g);
}

/* --- variance --- */

/* Sum of squared deviations divided by `divisor`, in float64.  Arguments: out, x, divisor, whether to take the square root. */
static void variance_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(1, 1);
    for (int64_t i = first; i < last; i++) {
        const float *row = FLOATS(1) + i * length;
        double total = 0.0, squares = 0.0;
        SIMD(reduction(+ : total)) for (int64_t j = 0; j < length; j++) total += row[j];
        const double mean = total / (double)length;
        SIMD(reduction(+ : squares)) for (int64_t j = 0; j < length; j++) squares += (row[j] - mean) * (row[j] - mean);
        const float variance = (float)(squares / a[2].number);
        FLOATS(0)[i] = INTEGER(3) ? sqrtf(variance) : variance;
    }
}

/* --- layer normalization --- */

/* Compute 1 / sqrt(x); NaN, not 0, if the variance overflows. */
INLINE float inverse_root(float x) { return sqrtf(x) / x; }

/* Layer normalization.  Arguments: out, means, scales (both may be empty), x, weight, bias (either may be empty), eps. */
static void layer_norm_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    const float *weight = FLOATS(4), *bias = FLOATS(5), eps = NUMBER_OF(6);
    for (int64_t i = first; i < last; i++) {
        float *out = FLOATS(0) + i * length;
        const float *row = FLOATS(3) + i * length, mean = sum_of(row, length) / (float)length;
        const float scale = inverse_root(sum_of_squares(row, length, mean) / (float)length + eps);
        if (SIZE(1, 0)) {
            FLOATS(1)[i] = mean;
            FLOATS(2)[i] = scale;
        }
        if (SIZE(4, 1) && SIZE(5, 1)) {
            SIMD() for (int64_t j = 0; j < length; j++) out[j] = (row[j] - mean) * scale * weight[j] + bias[j];
            continue;
        }
        SIMD() for (int64_t j = 0; j < length; j++) out[j] = (row[j] - mean) * scale;
        if (SIZE(4, 1)) SIMD() for (int64_t j = 0; j < length; j++) out[j] *= weight[j];
        if (SIZE(5, 1)) SIMD() for (int64_t j = 0; j < length; j++) out[j] += bias[j];
    }
}

/* The gradient of layer normalization.  Arguments: grad_weights, grad_biases, grad_input, g, x, means, scales, weight.  The first
two receive partial sums, one row for each strip of rows, and must contain zeros. */
static void layer_norm_backward_strips(const Argument *a, int64_t first, int64_t last) {
    int64_t strips = SIZE(0, 0), length = SIZE(0, 1), rows = SIZE(4, 0), height = pieces(rows, strips);
    const float *weight = FLOATS(7);
    for (int64_t strip = first; strip < last; strip++) {
        float *to_weight = FLOATS(0) + strip * length, *to_bias = FLOATS(1) + strip * length;
        for (int64_t i = strip * height; i < smaller((strip + 1) * height, rows); i++) {
            float *out = FLOATS(2) + i * length, total = 0.0f, projection = 0.0f;
            const float *grad = FLOATS(3) + i * length, *row = FLOATS(4) + i * length, mean = FLOATS(5)[i], scale = FLOATS(6)[i];
            SIMD(reduction(+ : total, projection)) for (int64_t j = 0; j < length; j++) {
                float normalized = (row[j] - mean) * scale, scaled = grad[j] * weight[j];
                to_weight[j] += grad[j] * normalized;
                to_bias[j] += grad[j];
                total += scaled;
                projection += scaled * normalized;
            }
            total /= (float)length;
            projection /= (float)length;
            SIMD() for (int64_t j = 0; j < length; j++)
                out[j] = (grad[j] * weight[j] - total - (row[j] - mean) * scale * projection) * scale;
        }
    }
}

/* Divide rows by the root of their mean square.  Arguments: out, x, weight (may be empty), eps. */
static void rms_norm_rows(const Argument *a, int64_t first, int64_t last) {
    const int64_t length = SIZE(0, 1);
    const float *weight = SIZE(2, 0) ? FLOATS(2) : NULL;
    for (int64_t i = first; i < last; i++) {
        const float *row = FLOATS(1) + i * length;
        float *out = FLOATS(0) + i * length;
        const float scale = 1.0f / sqrtf(sum_of_squares(row, length, 0.0f) / (float)length + NUMBER_OF(3));
        if (weight) SIMD() for (int64_t j = 0; j < length; j++) out[j] = row[j] * scale * weight[j];
        else SIMD() for (int64_t j = 0; j < length; j++) out[j] = row[j] * scale;
    }
}

#define ROW_KERNELS                                                                                                                \
    {"softmax", "RR", softmax_rows, ITEMS}, {"log_softmax", "RR", log_softmax_rows, ITEMS},                                        \
        {"log_sum_exp", "RR", log_sum_exp_rows, ITEMS_OF_SECOND}, {"softmax_backward", "RRR", softmax_backward_rows, ITEMS},       \
        {"log_softmax_backward", "RRR", log_softmax_backward_rows, ITEMS},                                                         \
        {"cross_entropy", "CRFLii", cross_entropy_rows, WHOLE},                                                                    \
        {"cross_entropy_backward", "RRFLCii", cross_entropy_backward_rows, WHOLE},                                                 \
        {"variance", "CRfi", variance_rows, ITEMS_OF_SECOND}, {"layer_norm", "RFFRRRf", layer_norm_rows, ITEMS},                                                                         \
        {"layer_norm_backward", "FFFFFFFF", layer_norm_backward_strips, ITEMS}, {"rms_norm", "RRFf", rms_norm_rows, ITEMS}

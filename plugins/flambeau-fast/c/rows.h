/* Rows of a matrix: softmax and related functions, layer normalization.  A row stays in the cache. */
#pragma once

#include "kernel.h"
#include "scalar.h"

/* The largest element, or NaN if there is one. */
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

/* The logarithm of the sum of exponentials in two parts: the largest element, and the rest. */
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

/* --- layer normalization --- */

/* Arguments: out, means, scales, x, weight, bias, eps. */
static void layer_norm_rows(const Argument *a, int64_t first, int64_t last) {
    int64_t length = SIZE(0, 1);
    const float *weight = FLOATS(4), *bias = FLOATS(5), eps = NUMBER_OF(6);
    for (int64_t i = first; i < last; i++) {
        float *out = FLOATS(0) + i * length;
        const float *row = FLOATS(3) + i * length, mean = sum_of(row, length) / (float)length;
        const float scale = 1.0f / sqrtf(sum_of_squares(row, length, mean) / (float)length + eps);
        FLOATS(1)[i] = mean;
        FLOATS(2)[i] = scale;
        SIMD() for (int64_t j = 0; j < length; j++) out[j] = (row[j] - mean) * scale * weight[j] + bias[j];
    }
}

/* Arguments: grad_weights, grad_biases, grad_input, g, x, means, scales, weight.  The first two hold partial sums, one row for each
strip of rows; they must be zeros. */
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

#define ROW_KERNELS                                                                                                                \
    {"softmax", "FF", softmax_rows, ITEMS}, {"log_softmax", "FF", log_softmax_rows, ITEMS},                                        \
        {"log_sum_exp", "FF", log_sum_exp_rows, ITEMS_OF_SECOND}, {"softmax_backward", "FFF", softmax_backward_rows, ITEMS},       \
        {"log_softmax_backward", "FFF", log_softmax_backward_rows, ITEMS},                                                         \
        {"layer_norm", "FFFFFFf", layer_norm_rows, ITEMS},                                                                         \
        {"layer_norm_backward", "FFFFFFFF", layer_norm_backward_strips, ITEMS}

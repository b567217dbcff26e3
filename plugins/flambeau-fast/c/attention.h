/* Attention, a block of queries of one head at a time, so that its scores stay in the thread's cache.

Arrays are `(sample, head, position, feature)`, of any strides but contiguous features: queries, keys and values may be parts of one
projection, and a bias be broadcast. */
#pragma once

#include "matrix.h"
#include "rows.h"

#define QUERIES (3 * ROWS) /* in a block */

typedef struct {
    float *at;
    int64_t step;
} Rows;

/* The rows of a head from a certain position on. */
INLINE Rows rows_at(const Argument *a, int i, int64_t n, int64_t h, int64_t position) {
    return (Rows){FLOATS(i) + n * STEP(i, 0) + h * STEP(i, 1) + position * STEP(i, 2), STEP(i, 2)};
}

INLINE void multiply(int64_t rows, int64_t columns, int64_t depth, Rows a, bool a_transposed, Rows b, bool b_transposed, Rows out, bool add) {
    Product p = product(rows, columns, depth, a.at, a_transposed ? 1 : a.step, a_transposed ? a.step : 1, b.at, b_transposed ? 1 : b.step,
                        b_transposed ? b.step : 1, out.at, out.step, add);
    compute(&p, 1);
}

/* The softmax of the scores of a block whose first query is `start`; zeros where a row may see nothing. */
static void attention_weights(Rows scores, int64_t count, int64_t seen_by_all, int64_t features, Rows queries, Rows keys, Rows bias,
                              int64_t bias_step, int64_t start, bool causal, float scale) {
    multiply(count, seen_by_all, features, queries, false, keys, true, scores, false);
    for (int64_t i = 0; i < count; i++) {
        float *row = scores.at + i * scores.step, total = 0.0f;
        int64_t seen = causal ? smaller(seen_by_all, start + i + 1) : seen_by_all;
        if (bias.at && bias_step == 1) {
            const float *added = bias.at + i * bias.step;
            SIMD() for (int64_t j = 0; j < seen; j++) row[j] = row[j] * scale + added[j];
        } else {
            const float *added = bias.at + i * bias.step;
            SIMD() for (int64_t j = 0; j < seen; j++) row[j] *= scale;
            if (bias.at) for (int64_t j = 0; j < seen; j++) row[j] += added[j * bias_step];
        }
        float shift = seen ? largest_of(row, seen) : 0.0f;
        shift = shift == -INFINITY ? 0.0f : shift;
        SIMD(reduction(+ : total)) for (int64_t j = 0; j < seen; j++) {
            float power = exp_below(row[j] - shift);
            row[j] = power;
            total += power;
        }
        float share = total == 0.0f ? 1.0f : 1.0f / total;
        SIMD() for (int64_t j = 0; j < seen; j++) row[j] *= share;
        for (int64_t j = seen; j < seen_by_all; j++) row[j] = 0.0f;
    }
}

/* Context: out, query, key, value, bias, whether there is a bias, whether causal, scale. */
static void attention_block(void *context, int64_t number) {
    const Argument *a = context;
    int64_t heads = SIZE(1, 1), length = SIZE(1, 2), features = SIZE(1, 3), keys = SIZE(2, 2), blocks = pieces(length, QUERIES);
    int64_t n = number / (heads * blocks), h = number / blocks % heads, start = number % blocks * QUERIES;
    int64_t stop = smaller(start + QUERIES, length), seen = INTEGER(6) ? smaller(keys, stop) : keys;
    Rows scores = {scratch(1, QUERIES * seen * sizeof(float)), seen}, bias = {NULL, 0};
    if (INTEGER(5)) bias = rows_at(a, 4, n, h, start);
    attention_weights(scores, stop - start, seen, features, rows_at(a, 1, n, h, start), rows_at(a, 2, n, h, 0), bias, STEP(4, 3), start,
                      INTEGER(6), NUMBER_OF(7));
    multiply(stop - start, SIZE(3, 3), seen, scores, false, rows_at(a, 3, n, h, 0), false, rows_at(a, 0, n, h, start), false);
}

static void attention(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(1, 0) * SIZE(1, 1) * pieces(SIZE(1, 2), QUERIES), attention_block, (void *)a);
}

/* Context: grad_query, grad_key, grad_value (zeros before, as each block adds to the last two), g, query, key, value, bias, whether
there is a bias, whether causal, scale. */
static void attention_head_gradients(void *context, int64_t number) {
    const Argument *a = context;
    int64_t heads = SIZE(4, 1), length = SIZE(4, 2), features = SIZE(4, 3), keys = SIZE(5, 2), values = SIZE(6, 3);
    int64_t n = number / heads, h = number % heads;
    const float scale = NUMBER_OF(10);
    Rows key = rows_at(a, 5, n, h, 0), value = rows_at(a, 6, n, h, 0);
    for (int64_t start = 0; start < length; start += QUERIES) {
        int64_t count = smaller(QUERIES, length - start), seen = INTEGER(9) ? smaller(keys, start + count) : keys;
        Rows weights = {scratch(1, 2 * QUERIES * seen * sizeof(float)), seen}, slopes = {weights.at + QUERIES * seen, seen};
        Rows queries = rows_at(a, 4, n, h, start), g = rows_at(a, 3, n, h, start), bias = {NULL, 0};
        if (INTEGER(8)) bias = rows_at(a, 7, n, h, start);
        attention_weights(weights, count, seen, features, queries, key, bias, STEP(7, 3), start, INTEGER(9), scale);
        multiply(count, seen, values, g, false, value, true, slopes, false);
        for (int64_t i = 0; i < count; i++) {
            float *row = slopes.at + i * seen;
            const float *shares = weights.at + i * seen, mean = sum_of_products(row, shares, 0.0f, seen);
            SIMD() for (int64_t j = 0; j < seen; j++) row[j] = (row[j] - mean) * shares[j] * scale;
        }
        multiply(count, features, seen, slopes, false, key, false, rows_at(a, 0, n, h, start), false);
        multiply(seen, features, count, slopes, true, queries, false, rows_at(a, 1, n, h, 0), true);
        multiply(seen, values, count, weights, true, g, false, rows_at(a, 2, n, h, 0), true);
    }
}

static void attention_gradients(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(4, 0) * SIZE(4, 1), attention_head_gradients, (void *)a);
}

#define ATTENTION_KERNELS                                                                                                          \
    {"attention", "FFFFFiif", attention, WHOLE}, {"attention_gradients", "FFFFFFFFiif", attention_gradients, WHOLE}

/* Attention of few queries, as in decoding: keys and values are read once, row by row, in float32, float16 or bfloat16.

Scores are `(query, key)`.  If later keys have larger scores, previous sums are scaled down, as in `attention.h`. */
#pragma once

#include "half_matrix.h"

#define FEW_QUERIES 16 /* maximum number of queries per head */
#define SOME_KEYS 256  /* number of keys processed at a time */

#define HEAD_AT(i, n, h) ((const char *)a[i].data + (n) * a[i].strides[0] + (h) * a[i].strides[1])

/* Load `count` numbers, followed by zeros. */
INLINE Vector load_part(const char *from, int64_t count, const int mode) {
    char part[4 * LANES] = {0};
    memcpy(part, from, count * BYTES_OF(mode));
    return load_units(part, mode);
}

/* Add the weighted sum of values to sums of `rows` queries, for `vectors` vectors of features; the last has `part` numbers if not 0. */
INLINE void add_values(float *sums, int64_t sum_step, const float *weights, const char *values, int64_t value_step, int64_t keys, const int rows,
                       const int vectors, int64_t part, const int mode) {
    Vector totals[16];
    _Pragma("GCC unroll 16") for (int s = 0; s < rows * vectors; s++) totals[s] = load(sums + s / vectors * sum_step + s % vectors * LANES);
    for (int64_t k = 0; k < keys; k++) {
        const char *value = values + k * value_step;
        Vector row[4];
        _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)
            row[v] = part ? load_part(value, part, mode) : load_units(value + v * LANES * BYTES_OF(mode), mode);
        _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)
            _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++) totals[i * vectors + v] += weights[i * SOME_KEYS + k] * row[v];
    }
    _Pragma("GCC unroll 16") for (int s = 0; s < rows * vectors; s++) store(sums + s / vectors * sum_step + s % vectors * LANES, totals[s]);
}

/* Add weighted sums of values to the sums of all queries. */
INLINE void weighted_values(float *sums, int64_t sum_step, const float *weights, int64_t rows, const char *values, int64_t value_step, int64_t keys,
                            int64_t width, const int mode) {
    for (int64_t i = 0, some; i < rows; i += some) {
        some = LANES == 16 && i + 4 <= rows ? 4 : i + 2 <= rows ? 2 : 1;
        for (int64_t j = 0, vectors; j < width; j += vectors * LANES) {
            vectors = j + 4 * LANES <= width ? 4 : 1;
            const int64_t part = j + LANES > width ? width - j : 0;
#define ADD(rows, vectors, part)                                                                                                   \
    add_values(sums + i * sum_step + j, sum_step, weights + i * SOME_KEYS, values + j * BYTES_OF(mode), value_step, keys, rows, vectors, part, mode)
            if (part) {
                for (int64_t r = i; r < i + some; r++)
                    add_values(sums + r * sum_step + j, sum_step, weights + r * SOME_KEYS, values + j * BYTES_OF(mode), value_step, keys, 1, 1, part, mode);
            } else if (vectors == 4) {
                if (some == 4) ADD(4, 4, 0);
                else if (some == 2) ADD(2, 4, 0);
                else ADD(1, 4, 0);
            } else {
                if (some == 4) ADD(4, 1, 0);
                else if (some == 2) ADD(2, 1, 0);
                else ADD(1, 1, 0);
            }
#undef ADD
        }
    }
}

/* Context: out, query, key, value, bias, whether there is a bias, whether causal, scale. */
INLINE void attend(const Argument *a, int64_t number, const int mode) {
    const int product_mode = mode == BFLOAT16 ? MODE_OF_BFLOAT16 : mode;
    const int64_t heads = SIZE(1, 1), rows = SIZE(1, 2), keys = SIZE(2, 2), features = SIZE(1, 3), width = SIZE(3, 3);
    const int64_t n = number / heads, h = number % heads, sum_step = pieces(width, LANES) * LANES;
    const int64_t step = pieces(features, SPAN_OF(product_mode) * LANES) * LANES;
    float *queries = scratch(1, rows * (step + SOME_KEYS + sum_step) * sizeof(float));
    float *scores = queries + rows * step, *sums = scores + rows * SOME_KEYS, most[FEW_QUERIES], totals[FEW_QUERIES] = {0};
    const float scale = NUMBER_OF(7);
    for (int64_t i = 0; i < rows; i++) {
        copy_units(queries + i * step, HEAD_AT(1, n, h) + i * a[1].strides[2], features, product_mode);
        most[i] = -INFINITY;
    }
    memset(sums, 0, rows * sum_step * sizeof(float));
    const int64_t seen = INTEGER(6) ? smaller(keys, rows) : keys;
    for (int64_t first = 0; first < seen; first += SOME_KEYS) {
        const int64_t count = smaller(SOME_KEYS, seen - first), whole = pieces(count, LANES) * LANES;
        dot_products(scores, SOME_KEYS, HEAD_AT(2, n, h) + first * a[2].strides[2], a[2].strides[2], count, queries, step, rows, features, product_mode);
        for (int64_t i = 0; i < rows; i++) {
            float *row = scores + i * SOME_KEYS;
            SIMD() for (int64_t k = 0; k < count; k++) row[k] *= scale;
            if (INTEGER(5)) {
                const char *bias = HEAD_AT(4, n, h) + i * a[4].strides[2] + first * a[4].strides[3];
                for (int64_t k = 0; k < count; k++) row[k] += *(const float *)(bias + k * a[4].strides[3]);
            }
            for (int64_t k = INTEGER(6) ? larger(0, i + 1 - first) : count; k < count; k++) row[k] = -INFINITY;
            for (int64_t k = count; k < whole; k++) row[k] = -INFINITY;
            Vector largest = load(row);
            for (int64_t k = LANES; k < whole; k += LANES) largest = larger_lanes(largest, load(row + k));
            const float before = most[i];
            for (int lane = 0; lane < LANES; lane++) most[i] = largest[lane] > most[i] ? largest[lane] : most[i];
            if (before != most[i] && first) {
                const float share = exp_below(before - most[i]);
                totals[i] *= share;
                SIMD() for (int64_t j = 0; j < sum_step; j++) sums[i * sum_step + j] *= share;
            }
            const float shift = most[i] == -INFINITY ? 0.0f : most[i];
            float total = 0.0f;
            SIMD(reduction(+ : total)) for (int64_t k = 0; k < whole; k++) {
                const float power = exp_below(row[k] - shift);
                row[k] = power;
                total += power;
            }
            totals[i] += total;
        }
        weighted_values(sums, sum_step, scores, rows, HEAD_AT(3, n, h) + first * a[3].strides[2], a[3].strides[2], count, width, mode);
    }
    for (int64_t i = 0; i < rows; i++) {
        char *out = (char *)HEAD_AT(0, n, h) + i * a[0].strides[2];
        const float share = totals[i] == 0.0f ? 1.0f : 1.0f / totals[i];
        SIMD() for (int64_t j = 0; j < width; j++) sums[i * sum_step + j] *= share;
        if (mode == FLOAT32) memcpy(out, sums + i * sum_step, width * sizeof(float));
        else narrow((uint16_t *)out, sums + i * sum_step, width, mode);
    }
}

static void attend_float32(void *context, int64_t number) { attend(context, number, FLOAT32); }
static void attend_float16(void *context, int64_t number) { attend(context, number, FLOAT16); }
static void attend_bfloat16(void *context, int64_t number) { attend(context, number, BFLOAT16); }

/* Compute `softmax(query @ key.T * scale + bias) @ value` for each head. */
static void attend_all(const Argument *a, Task *task) {
    if (SIZE(1, 2) > FEW_QUERIES) decline();
    else parallel(SIZE(1, 0) * SIZE(1, 1), task, (void *)a);
}

static void few_queries(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    attend_all(a, attend_float32);
}

static void half_few_queries(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    attend_all(a, INTEGER(8) == FLOAT16 ? attend_float16 : attend_bfloat16);
}

#define FEW_QUERIES_KERNELS {"few_queries", "FFFFFiif", few_queries, WHOLE}, {"half_few_queries", "HHHHFiifi", half_few_queries, WHOLE}

/* Attention for a block of queries of one head and some keys at a time, so that scores stay in the thread's cache.

Arrays are `(sample, head, position, feature)` with contiguous features and any other strides: queries, keys and values may be
slices of one projection, and a bias may be broadcast.

Scores are `(key, query)`, with PIECE queries, and vectors contain queries.  So softmax needs no sums over lanes, and products can
read the scores in place, as rows or as columns. */
#pragma once

#include "matrix.h"
#include "scalar.h"

#define QUERIES PIECE    /* number of queries per block */
#define KEYS (8 * ROWS) /* number of keys processed at a time with a block of queries */

typedef struct {
    float *at;
    int64_t step;
} Rows;

/* Return the rows of a head from a position on. */
INLINE Rows rows_at(const Argument *a, int i, int64_t n, int64_t h, int64_t position) {
    return (Rows){FLOATS(i) + n * STEP(i, 0) + h * STEP(i, 1) + position * STEP(i, 2), STEP(i, 2)};
}

INLINE Rows rows_from(Rows rows, int64_t first) { return (Rows){rows.at + first * rows.step, rows.step}; }

INLINE int64_t whole_vectors(int64_t count) { return pieces(count, LANES) * LANES; }

/* Return rows padded to full vectors: in place if possible, or a copy with zeros at the end. */
static Rows of_whole_vectors(Rows rows, int64_t count, int64_t features, float *memory) {
    const int64_t width = whole_vectors(features);
    if (width == features) return rows;
    for (int64_t i = 0; i < count; i++) {
        memcpy(memory + i * width, rows.at + i * rows.step, features * sizeof(float));
        memset(memory + i * width + features, 0, (width - features) * sizeof(float));
    }
    return (Rows){memory, width};
}

/* Transpose to `(feature, query)` and multiply by a number. */
static void transpose_queries(float *to, Rows queries, int64_t count, int64_t features, float scale) {
    if (count < QUERIES) memset(to, 0, features * QUERIES * sizeof(float));
    transpose(to, QUERIES, queries.at, queries.step, count, features);
    if (scale != 1.0f)
        SIMD() for (int64_t i = 0; i < features * QUERIES; i++) to[i] *= scale;
}

/* Compute the products of `count` rows with `lanes` queries. */
static void products_with_queries(float *scores, Rows rows, int64_t count, int64_t features, const float *queries, int64_t lanes) {
    for (int64_t i = 0; i < count; i += ROWS) {
        const int64_t some = smaller(ROWS, count - i);
        for (int64_t j = 0; j < lanes; j += WIDTH) {
            Panels p = {.depth = features, .a = rows.at + i * rows.step, .a_row = rows.step, .b = queries + j, .b_step = QUERIES,
                        .out = scores + i * QUERIES + j, .out_row = QUERIES};
            micro_kernels[some - 1][lanes - j > LANES ? BY_ROWS : ROWS_NARROW](&p);
        }
    }
}

/* Compute products of scores with rows of width `width`: one result per key, summed over queries, or, if `across`, one per query,
summed over keys. */
static void products_of_scores(Rows out, const float *scores, bool across, int64_t rows, int64_t depth, Rows b, int64_t width, bool add) {
    const int64_t panels = pieces(rows, ROWS);
    const int wide = across ? COLUMNS_OF_PIECE : BY_ROWS, narrow = across ? COLUMNS_NARROW : ROWS_NARROW;
    for (int64_t panel = 0; panel < panels; panel++) {
        const int64_t start = panel * rows / panels, count = (panel + 1) * rows / panels - start;
        for (int64_t j = 0; j < width; j += WIDTH) {
            Panels p = {.depth = depth, .a = scores + start * (across ? 1 : QUERIES), .a_row = QUERIES, .b = b.at + j, .b_step = b.step,
                        .out = out.at + start * out.step + j, .out_row = out.step, .add = add};
            micro_kernels[count - 1][width - j > LANES ? wide : narrow](&p);
        }
    }
}

/* Add the bias of some keys and queries to scores; steps are the strides of queries and keys. */
static void add_bias(float *scores, int64_t keys, int64_t queries, const float *bias, int64_t query_step, int64_t key_step) {
    for (int64_t first = 0; first < keys; first += LANES) {
        const int64_t some = smaller(LANES, keys - first);
        const float *from = bias + first * key_step;
        float added[LANES * QUERIES];
        if (key_step == 1 && query_step) transpose(added, QUERIES, from, query_step, queries, some);
        else
            for (int64_t k = 0; k < some; k++)
                for (int64_t i = 0; i < queries; i++) added[k * QUERIES + i] = from[k * key_step + i * query_step];
        for (int64_t k = 0; k < some; k++) {
            float *row = scores + (first + k) * QUERIES;
            SIMD() for (int64_t i = 0; i < queries; i++) row[i] += added[k * QUERIES + i];
        }
    }
}

/* A block of queries of one head. */
typedef struct {
    Rows queries, keys, bias;
    int64_t start, count, lanes, features, seen; /* first query, number, number in full vectors; visible keys */
    int64_t bias_step;
    bool causal;
} Queries;

/* Read arguments from number `i` on: queries, keys, values, bias, whether there is a bias, whether causal. */
INLINE Queries queries_at(const Argument *a, int i, int64_t n, int64_t h, int64_t start) {
    const int64_t count = smaller(QUERIES, SIZE(i, 2) - start), keys = SIZE(i + 1, 2);
    return (Queries){rows_at(a, i, n, h, start), rows_at(a, i + 1, n, h, 0),
                     INTEGER(i + 4) ? rows_at(a, i + 3, n, h, start) : (Rows){NULL, 0}, start, count, whole_vectors(count), SIZE(i, 3),
                     INTEGER(i + 5) ? smaller(keys, start + count) : keys, STEP(i + 3, 3), INTEGER(i + 5)};
}

/* Compute the scores of some keys. */
static void scores_of(const Queries *q, float *scores, int64_t first, int64_t count, const float *queries) {
    products_with_queries(scores, rows_from(q->keys, first), count, q->features, queries, q->lanes);
    if (q->bias.at) add_bias(scores, count, q->count, q->bias.at + first * q->bias_step, q->bias.step, q->bias_step);
    if (q->causal)
        for (int64_t k = larger(0, q->start + 1 - first); k < count; k++)
            for (int64_t i = 0; i < smaller(first + k - q->start, q->lanes); i++) scores[k * QUERIES + i] = -INFINITY;
}

/* Update `most`, the maximum score of each query, ignoring NaN; `powers` returns NaN for these. */
static void raise_to_largest(float *most, const float *scores, int64_t keys, int64_t lanes) {
    for (int64_t j = 0; j < lanes; j += LANES) {
        const float *last = scores + (keys - 1) * QUERIES + j; /* the last key, which the loop may not reach */
        Vector even = larger_lanes(load(last), load(most + j)), odd = even;
        for (int64_t k = 0; k + 1 < keys; k += 2) {
            even = larger_lanes(load(scores + k * QUERIES + j), even);
            odd = larger_lanes(load(scores + (k + 1) * QUERIES + j), odd);
        }
        store(most + j, larger_lanes(even, odd));
    }
}

/* Return the number subtracted from a query's scores: their maximum, or 0 if it is fully masked. */
INLINE float shift_of(float most) { return most == -INFINITY ? 0.0f : most; }

/* Replace scores by exponentials and add them to `totals`; 0 for fully masked queries. */
static void powers(float *scores, int64_t keys, int64_t lanes, const float *most, float *totals) {
    for (int64_t j = 0; j < lanes; j += LANES) {
        float shifts[LANES], sums[LANES] = {0};
        for (int lane = 0; lane < LANES; lane++) shifts[lane] = shift_of(most[j + lane]);
        for (int64_t k = 0; k < keys; k++) {
            float *row = scores + k * QUERIES + j;
            SIMD() for (int lane = 0; lane < LANES; lane++) {
                const float power = exp_below(row[lane] - shifts[lane]);
                row[lane] = power;
                sums[lane] += power;
            }
        }
        for (int lane = 0; lane < LANES; lane++) totals[j + lane] += sums[lane];
    }
}

/* Values for the backward, if there is one: the maximum score of each query, and 1 / the sum of exponentials. */
typedef struct {
    float *most, *shares;
} Softmax;

INLINE Softmax softmax_at(const Argument *a, int i, int64_t n, int64_t h, int64_t position) {
    if (SIZE(i, 0) == 0) return (Softmax){NULL, NULL};
    float *most = FLOATS(i) + n * STEP(i, 1) + h * STEP(i, 2) + position;
    return (Softmax){most, most + STEP(i, 0)};
}

/* Context: out, softmax, query, key, value, bias, whether there is a bias, whether causal, scale.

If later keys have larger scores, previous sums are scaled down (online softmax: Milakov & Gimelshein 2018, Dao et al. 2022). */
static void attention_block(void *context, int64_t number) {
    const Argument *a = context;
    const int64_t heads = SIZE(2, 1), blocks = pieces(SIZE(2, 2), QUERIES), n = number / (heads * blocks), h = number / blocks % heads;
    const Queries q = queries_at(a, 2, n, h, number % blocks * QUERIES);
    const Rows values = rows_at(a, 4, n, h, 0), out = rows_at(a, 0, n, h, q.start);
    const Softmax softmax = softmax_at(a, 1, n, h, q.start);
    const int64_t features = SIZE(4, 3), width = whole_vectors(features);
    float *scores = scratch(1, (KEYS * QUERIES + q.features * QUERIES + QUERIES * width + KEYS * width) * sizeof(float));
    float *queries = scores + KEYS * QUERIES, *sums = queries + q.features * QUERIES, *some_values = sums + QUERIES * width;
    float most[QUERIES], totals[QUERIES] = {0};
    for (int i = 0; i < QUERIES; i++) most[i] = -INFINITY;
    transpose_queries(queries, q.queries, q.count, q.features, NUMBER_OF(8));
    for (int64_t first = 0; first < q.seen; first += KEYS) {
        const int64_t count = smaller(KEYS, q.seen - first);
        float before[QUERIES];
        scores_of(&q, scores, first, count, queries);
        memcpy(before, most, sizeof before);
        raise_to_largest(most, scores, count, q.lanes);
        for (int64_t i = 0; first && i < q.count; i++) {
            if (before[i] == most[i]) continue;
            const float share = exp_below(before[i] - most[i]);
            totals[i] *= share;
            SIMD() for (int64_t j = 0; j < width; j++) sums[i * width + j] *= share;
        }
        powers(scores, count, q.lanes, most, totals);
        products_of_scores((Rows){sums, width}, scores, true, q.count, count,
                           of_whole_vectors(rows_from(values, first), count, features, some_values), width, first > 0);
    }
    for (int64_t i = 0; i < q.count; i++) {
        const float share = totals[i] == 0.0f ? 1.0f : 1.0f / totals[i];
        SIMD() for (int64_t j = 0; j < features; j++) out.at[i * out.step + j] = sums[i * width + j] * share;
        if (softmax.most) softmax.most[i] = shift_of(most[i]), softmax.shares[i] = share;
    }
}

static void attention(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(2, 0) * SIZE(2, 1) * pieces(SIZE(2, 2), QUERIES), attention_block, (void *)a);
}

/* Replace scores by weights, and weight gradients by score gradients; `means` are the weighted means of the weight gradients. */
static void weights_and_slopes(float *scores, float *slopes, int64_t keys, int64_t lanes, Softmax softmax, const float *means, float scale) {
    for (int64_t j = 0; j < lanes; j += LANES) {
        float shifts[LANES], shares[LANES], mean[LANES];
        memcpy(shifts, softmax.most + j, sizeof shifts), memcpy(shares, softmax.shares + j, sizeof shares), memcpy(mean, means + j, sizeof mean);
        for (int64_t k = 0; k < keys; k++) {
            float *row = scores + k * QUERIES + j, *to = slopes + k * QUERIES + j;
            SIMD() for (int lane = 0; lane < LANES; lane++) {
                const float weight = exp_below(row[lane] - shifts[lane]) * shares[lane];
                row[lane] = weight;
                to[lane] = (to[lane] - mean[lane]) * weight * scale;
            }
        }
    }
}

/* Copy rows of full vectors back to the array. */
static void copy_rows(Rows to, const float *from, int64_t count, int64_t features) {
    const int64_t width = whole_vectors(features);
    for (int64_t i = 0; i < count; i++) memcpy(to.at + i * to.step, from + i * width, features * sizeof(float));
}

/* Context: grad_query, grad_key, grad_value, g, out, softmax, query, key, value, bias, whether there is a bias, whether
causal, scale.

The weights of some queries and keys at a time are recomputed (Dao et al. 2022).  The weighted mean of the gradients of a query's
weights equals the dot product of its output and the output's gradient. */
static void attention_head_gradients(void *context, int64_t number) {
    const Argument *a = context;
    const int64_t heads = SIZE(6, 1), length = SIZE(6, 2), features = SIZE(6, 3), keys = SIZE(7, 2), n = number / heads, h = number % heads;
    const int64_t of_values = SIZE(8, 3), width = whole_vectors(features), value_width = whole_vectors(of_values);
    float *weights = scratch(1, 2 * QUERIES * KEYS * sizeof(float)), *slopes = weights + QUERIES * KEYS;
    /* sums; copies of rows; transposed queries and their gradients */
    float *key_sums = scratch(2, ((2 * keys + 2 * QUERIES) * width + (keys + QUERIES) * value_width + QUERIES * (features + of_values)) * sizeof(float));
    float *value_sums = key_sums + keys * width, *copied_keys = value_sums + keys * value_width, *query_sums = copied_keys + keys * width;
    float *copied_queries = query_sums + QUERIES * width, *copied_grads = copied_queries + QUERIES * width;
    float *queries = copied_grads + QUERIES * value_width, *grads = queries + QUERIES * features;
    const Rows whole_keys = of_whole_vectors(rows_at(a, 7, n, h, 0), keys, features, copied_keys), values = rows_at(a, 8, n, h, 0);
    memset(key_sums, 0, keys * width * sizeof(float)), memset(value_sums, 0, keys * value_width * sizeof(float));
    for (int64_t start = 0; start < length; start += QUERIES) {
        const Queries q = queries_at(a, 6, n, h, start);
        const Rows g = rows_at(a, 3, n, h, start), out = rows_at(a, 4, n, h, start);
        const Rows some_queries = of_whole_vectors(q.queries, q.count, features, copied_queries), some_grads = of_whole_vectors(g, q.count, of_values, copied_grads);
        float most[QUERIES] = {0}, shares[QUERIES] = {0}, means[QUERIES] = {0};
        const Softmax softmax = {most, shares}, stored = softmax_at(a, 5, n, h, start);
        memcpy(most, stored.most, q.count * sizeof(float)), memcpy(shares, stored.shares, q.count * sizeof(float));
        for (int64_t i = 0; i < q.count; i++) means[i] = sum_of_products(g.at + i * g.step, out.at + i * out.step, 0.0f, of_values);
        transpose_queries(queries, q.queries, q.count, features, NUMBER_OF(12));
        transpose_queries(grads, g, q.count, of_values, 1.0f);
        for (int64_t first = 0; first < q.seen; first += KEYS) {
            const int64_t count = smaller(KEYS, q.seen - first);
            scores_of(&q, weights, first, count, queries);
            products_with_queries(slopes, rows_from(values, first), count, of_values, grads, q.lanes);
            weights_and_slopes(weights, slopes, count, q.lanes, softmax, means, NUMBER_OF(12));
            products_of_scores((Rows){query_sums, width}, slopes, true, q.count, count, rows_from(whole_keys, first), width, first > 0);
            products_of_scores((Rows){key_sums + first * width, width}, slopes, false, count, q.count, some_queries, width, true);
            products_of_scores((Rows){value_sums + first * value_width, value_width}, weights, false, count, q.count, some_grads, value_width, true);
        }
        copy_rows(rows_at(a, 0, n, h, start), query_sums, q.count, features);
    }
    copy_rows(rows_at(a, 1, n, h, 0), key_sums, keys, features);
    copy_rows(rows_at(a, 2, n, h, 0), value_sums, keys, of_values);
}

static void attention_gradients(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(6, 0) * SIZE(6, 1), attention_head_gradients, (void *)a);
}

#define ATTENTION_KERNELS                                                                                                          \
    {"attention", "FFFFFFiif", attention, WHOLE}, {"attention_gradients", "FFFFFFFFFFiif", attention_gradients, WHOLE}

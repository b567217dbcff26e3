/* Depthwise convolutions of images `(sample, channel, row, column)`: each channel of the output is computed from one of the input.

A plane is padded in a copy that stays in the L1 or L2 cache.  With a horizontal stride, columns of the copy are grouped by their
index modulo the stride, so that adjacent outputs read adjacent elements. */
#pragma once

#include "convolution.h"

#define ROWS_AT_ONCE 7 /* independent sums, because each waits for the one before; usual heights are multiples of 7 */

typedef struct {
    const Argument *a;
    Steps steps;
    int64_t part, line; /* lengths of a group of columns and of a row of the copy */
} Depthwise;

static void copy_plane(const Depthwise *d, const float *from, const float *end, float *to, int64_t rows) {
    const Argument *a = d->a;
    const int64_t height = SIZE(1, 2), width = SIZE(1, 3), step = d->steps.right, left = d->steps.left;
    for (int64_t r = -d->steps.top; r < rows - d->steps.top; r++)
        for (int64_t group = 0; group < step; group++, to += d->part) {
            const bool is_inside = r >= 0 && r < height;
            const int64_t first = larger(0, pieces(left - group, step)), last = is_inside ? smaller(d->part, pieces(width + left - group, step)) : 0;
            const float *row = from + r * width + first * step + group - left;
            if (step == 1 && first < last) memcpy(to + first, row, (last - first) * sizeof(float));
            else
                for (int64_t i = 0; i < last - first; i += LANES) store(to + first + i, every(row + i * step, step, end));
            const int64_t filled = larger(first, last);
            memset(to, 0, smaller(first, d->part) * sizeof(float));
            if (filled < d->part) memset(to + filled, 0, (d->part - filled) * sizeof(float));
        }
}

static void depthwise_plane(void *context, int64_t number) {
    const Depthwise *d = context;
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), tall = SIZE(2, 2), wide = SIZE(2, 3), outputs = SIZE(0, 1), channels = SIZE(1, 1);
    const int64_t output = number % outputs, input = number / outputs * channels + output / (outputs / channels);
    const int64_t copied = (rows - 1) * d->steps.down + (tall - 1) * d->steps.row_dilation + 1, plane = SIZE(1, 2) * SIZE(1, 3);
    const float *weight = FLOATS(2) + output * tall * wide, bias = SIZE(3, 0) ? FLOATS(3)[output] : 0.0f;
    float *copy = scratch(0, (copied * d->line + 2 * LANES) * sizeof(float)), *out = FLOATS(0) + number * rows * columns;
    copy_plane(d, FLOATS(1) + input * plane, FLOATS(1) + SIZE(1, 0) * channels * plane, copy, copied);
    for (int64_t i = 0; i < rows; i += ROWS_AT_ONCE)
        for (int64_t j = 0; j < columns; j += LANES) {
            Vector sums[ROWS_AT_ONCE];
            int64_t starts[ROWS_AT_ONCE];
            for (int n = 0; n < ROWS_AT_ONCE; n++) {
                sums[n] = (Vector){0} + bias;
                starts[n] = smaller(i + n, rows - 1) * d->steps.down * d->line + j;
            }
            for (int64_t r = 0; r < tall; r++)
                for (int64_t q = 0; q < wide; q++) {
                    const int64_t column = q * d->steps.column_dilation;
                    const float *from = copy + r * d->steps.row_dilation * d->line + column % d->steps.right * d->part + column / d->steps.right;
                    const float factor = weight[r * wide + q];
                    _Pragma("GCC unroll 7") for (int n = 0; n < ROWS_AT_ONCE; n++) sums[n] += factor * load(from + starts[n]);
                }
            for (int n = 0; n < ROWS_AT_ONCE && i + n < rows; n++) {
                float *to = out + (i + n) * columns + j;
                if (j + LANES <= columns) store(to, sums[n]);
                else memcpy(to, &sums[n], (columns - j) * sizeof(float));
            }
        }
}

/* --- the gradient of the weight --- */

#define MOST_TAPS 5

/* Add the products of the gradient with the elements under `count` adjacent taps in row r of the kernel. */
INLINE void add_tap_products(const Depthwise *d, const float *copy, const float *g, int64_t r, int64_t q, const int count, double *totals) {
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), width = pieces(columns, LANES) * LANES;
    const Bits inside = lane_numbers() < (int)(columns - width + LANES); /* lanes of the last vector of a row */
    Vector sums[MOST_TAPS];
    const float *from[MOST_TAPS];
    _Pragma("GCC unroll 5") for (int t = 0; t < count; t++) {
        const int64_t column = (q + t) * d->steps.column_dilation;
        from[t] = copy + r * d->steps.row_dilation * d->line + column % d->steps.right * d->part + column / d->steps.right;
        sums[t] = (Vector){0};
    }
    for (int64_t i = 0; i < rows; i++, g += width) {
        const int64_t row = i * d->steps.down * d->line, last = width - LANES;
        for (int64_t j = 0; j < last; j += LANES)
            _Pragma("GCC unroll 5") for (int t = 0; t < count; t++) sums[t] += load(g + j) * load(from[t] + row + j);
        _Pragma("GCC unroll 5") for (int t = 0; t < count; t++) sums[t] += load(g + last) * kept(load(from[t] + row + last), inside);
    }
    for (int t = 0; t < count; t++) totals[t] += sum_of_lanes(sums[t]);
}

static void depthwise_weight_of_channel(void *context, int64_t output) {
    const Depthwise *d = context;
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), tall = SIZE(2, 2), wide = SIZE(2, 3), outputs = SIZE(0, 1), channels = SIZE(1, 1);
    const int64_t copied = (rows - 1) * d->steps.down + (tall - 1) * d->steps.row_dilation + 1, plane = SIZE(1, 2) * SIZE(1, 3);
    const int64_t width = pieces(columns, LANES) * LANES;
    float *copy = scratch(0, (copied * d->line + 2 * LANES) * sizeof(float)), *padded = scratch(1, rows * width * sizeof(float));
    double *totals = scratch(2, tall * wide * sizeof(double));
    memset(totals, 0, tall * wide * sizeof(double));
    for (int64_t n = 0; n < SIZE(0, 0); n++) {
        const float *g = FLOATS(0) + (n * outputs + output) * rows * columns;
        copy_plane(d, FLOATS(1) + (n * channels + output / (outputs / channels)) * plane, FLOATS(1) + SIZE(1, 0) * channels * plane, copy, copied);
        for (int64_t i = 0; i < rows; i++) {
            memcpy(padded + i * width, g + i * columns, columns * sizeof(float));
            memset(padded + i * width + columns, 0, (width - columns) * sizeof(float));
        }
        for (int64_t r = 0; r < tall; r++)
            if (wide == 3) add_tap_products(d, copy, padded, r, 0, 3, totals + r * wide);
            else if (wide == 5) add_tap_products(d, copy, padded, r, 0, 5, totals + r * wide);
            else
                for (int64_t q = 0; q < wide; q++) add_tap_products(d, copy, padded, r, q, 1, totals + r * wide + q);
    }
    for (int64_t k = 0; k < tall * wide; k++) FLOATS(2)[output * tall * wide + k] = (float)totals[k];
}

/* --- calls --- */

static void share_depthwise(const Argument *a, int64_t count, void (*task)(void *, int64_t)) {
    Depthwise d = {.a = a, .steps = steps_at(a, 4)};
    d.part = SIZE(0, 3) + (SIZE(2, 3) - 1) * d.steps.column_dilation / d.steps.right + 1 + LANES;
    d.line = d.steps.right * d.part;
    if (SIZE(0, 0) * SIZE(0, 1) * SIZE(0, 2) * SIZE(0, 3) * SIZE(2, 2) * SIZE(2, 3) >= LEAST_SHARED) parallel(count, task, &d);
    else
        for (int64_t number = 0; number < count; number++) task(&d, number);
}

/* Depthwise convolution.  Arguments: out, input, weight, bias (may be empty), steps. */
static void depthwise(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    share_depthwise(a, SIZE(0, 0) * SIZE(0, 1), depthwise_plane);
}

/* The gradient of the weight.  Arguments: g, input, grad_weight, nothing, steps. */
static void depthwise_weight(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    share_depthwise(a, SIZE(0, 1), depthwise_weight_of_channel);
}

#define DEPTHWISE_KERNELS {"depthwise", "CCCCiiiiii", depthwise, WHOLE}, {"depthwise_weight", "CCCCiiiiii", depthwise_weight, WHOLE}

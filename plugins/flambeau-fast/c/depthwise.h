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

/* Depthwise convolution.  Arguments: out, input, weight, bias (may be empty), steps. */
static void depthwise(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    Depthwise d = {.a = a, .steps = steps_at(a, 4)};
    const int64_t planes = SIZE(0, 0) * SIZE(0, 1);
    d.part = SIZE(0, 3) + (SIZE(2, 3) - 1) * d.steps.column_dilation / d.steps.right + 1 + LANES;
    d.line = d.steps.right * d.part;
    if (planes * SIZE(0, 2) * SIZE(0, 3) * SIZE(2, 2) * SIZE(2, 3) >= LEAST_SHARED) parallel(planes, depthwise_plane, &d);
    else
        for (int64_t number = 0; number < planes; number++) depthwise_plane(&d, number);
}

#define DEPTHWISE_KERNELS {"depthwise", "CCCCiiiiii", depthwise, WHOLE}

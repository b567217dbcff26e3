/* Softmax, layer and RMS normalization of float16 and bfloat16: each row is computed in float32, and rounded once. */
#pragma once

#include "half.h"
#include "rows.h"

/* Compute a kernel `(out, x)` of rows.  Arguments: out, x, dtype.  It is not inlined, because
inlined loops were not vectorized. */
static __attribute__((noinline)) void rows_in_float32(const Argument *a, int64_t first, int64_t last, Range *range) {
    const int64_t length = SIZE(0, 1), shape[2] = {1, length};
    const int dtype = (int)INTEGER(2);
    float *row = scratch(1, (2 * length + 1) * sizeof(float)), *out = row + length;
    const Argument single[2] = {{{out, shape, NULL}}, {{row, shape, NULL}}};
    for (int64_t i = first; i < last; i++) {
        widen(row, HALVES(1) + i * length, length, dtype);
        range(single, 0, 1);
        narrow(HALVES(0) + i * length, out, length, dtype);
    }
}

static void half_softmax_rows(const Argument *a, int64_t first, int64_t last) { rows_in_float32(a, first, last, softmax_rows); }
static void half_log_softmax_rows(const Argument *a, int64_t first, int64_t last) { rows_in_float32(a, first, last, log_softmax_rows); }

/* Layer normalization.  Arguments: out, x, weight, bias (either may be empty), eps, dtype. */
static void half_layer_norm_rows(const Argument *a, int64_t first, int64_t last) {
    const int64_t length = SIZE(0, 1), shape[2] = {1, length}, none[2] = {0, 0};
    const int dtype = (int)INTEGER(5);
    float *row = scratch(1, (3 * length + 1) * sizeof(float)), *weight = row + length, *bias = weight + length, mean, factor;
    if (SIZE(2, 0)) widen(weight, HALVES(2), length, dtype);
    if (SIZE(3, 0)) widen(bias, HALVES(3), length, dtype);
    const Argument single[7] = {{{row, shape, NULL}}, {{&mean, shape, NULL}}, {{&factor, shape, NULL}}, {{row, shape, NULL}},
                                {{weight, SIZE(2, 0) ? shape : none, NULL}}, {{bias, SIZE(3, 0) ? shape : none, NULL}}, {.number = a[4].number}};
    for (int64_t i = first; i < last; i++) {
        widen(row, HALVES(1) + i * length, length, dtype);
        layer_norm_rows(single, 0, 1);
        narrow(HALVES(0) + i * length, row, length, dtype);
    }
}

/* Arguments: out, x, weight (may be empty), eps, dtype. */
static void half_rms_norm_rows(const Argument *a, int64_t first, int64_t last) {
    const int64_t length = SIZE(0, 1), shape[2] = {1, length}, count = SIZE(2, 0);
    const int dtype = (int)INTEGER(4);
    float *row = scratch(1, (2 * length + 1) * sizeof(float)), *weight = row + length;
    if (count) widen(weight, HALVES(2), length, dtype);
    const Argument single[4] = {{{row, shape, NULL}}, {{row, shape, NULL}}, {{weight, &count, NULL}}, {.number = a[3].number}};
    for (int64_t i = first; i < last; i++) {
        widen(row, HALVES(1) + i * length, length, dtype);
        rms_norm_rows(single, 0, 1);
        narrow(HALVES(0) + i * length, row, length, dtype);
    }
}

#define HALF_ROW_KERNELS                                                                                                           \
    {"half_softmax", "HHi", half_softmax_rows, ITEMS}, {"half_log_softmax", "HHi", half_log_softmax_rows, ITEMS},                  \
        {"half_layer_norm", "HHHHfi", half_layer_norm_rows, ITEMS}, {"half_rms_norm", "HHHfi", half_rms_norm_rows, ITEMS}

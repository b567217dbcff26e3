/* Sum rows by index: the gradient of an embedding. */
#pragma once

#include "kernel.h"

#define LINE 16 /* number of elements per cache line, which threads must not share */

/* Add row i of `rows` to row `places[i]` of `out`; each thread processes a strip of columns.  Context: out, rows, places. */
static void sum_strip(void *context, int64_t strip) {
    const Argument *a = context;
    int64_t width = SIZE(0, 1), strips = larger(1, smaller(thread_count(), width / LINE));
    int64_t start = strip * width / strips, stop = (strip + 1) * width / strips;
    for (int64_t i = 0; i < SIZE(1, 0); i++) {
        float *to = FLOATS(0) + LONGS(2)[i] * width;
        const float *row = FLOATS(1) + i * width;
        SIMD() for (int64_t j = start; j < stop; j++) to[j] += row[j];
    }
}

static void sum_rows(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(larger(1, smaller(thread_count(), SIZE(0, 1) / LINE)), sum_strip, (void *)a);
}

#define EMBEDDING_KERNELS {"sum_rows", "FFL", sum_rows, WHOLE}

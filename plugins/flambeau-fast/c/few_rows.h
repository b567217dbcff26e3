/* Products of few float32 rows with a matrix, which is read once, in place, by all threads. */
#pragma once

#include "half_matrix.h"

#define LEAST_IN_PLACE (1 << 20) /* elements of a row-major B that is read in place by several rows of A */

typedef struct {
    const Argument *a;
    const float *rows; /* rows of A, `step` apart, with zeros up to a multiple of LANES */
    int64_t step, chunk;
} RowProduct;

/* Compute `chunk` columns of C. */
static void few_rows_of_columns(void *context, int64_t number) {
    const RowProduct *few = context;
    const Argument *a = few->a;
    const int64_t rows = SIZE(1, 0), depth = SIZE(1, 1), first = number * few->chunk, columns = smaller(few->chunk, SIZE(2, 1) - first);
    const int64_t size = rows * few->chunk;
    const char *b = BYTES(2) + first * a[2].strides[1];
    float *sums = scratch(6, size * sizeof(float));
    if (STEP(2, 0) == 1) dot_products(sums, few->chunk, b, a[2].strides[1], columns, few->rows, few->step, rows, depth, FLOAT32);
    else {
        memset(sums, 0, size * sizeof(float));
        row_sums(sums, few->chunk, b, a[2].strides[0], few->rows, few->step, columns, rows, depth, FLOAT32);
    }
    for (int64_t i = 0; i < rows; i++) {
        float *out = FLOATS(0) + i * STEP(0, 0) + first, *sum = sums + i * few->chunk;
        const float *bias = FLOATS(3) + first;
        if (SIZE(3, 0)) SIMD() for (int64_t j = 0; j < columns; j++) out[j] = sum[j] + bias[j];
        else memcpy(out, sum, columns * sizeof(float));
    }
}

/* Whether to read B in place instead of copying it to panels.  The rows of a small B are copied in less time than they are added. */
INLINE bool suits_few_rows(const Argument *a) {
    const int64_t rows = SIZE(1, 0), most = LANES < 8 ? 2 : FEW_SUMS;
    return STEP(2, 0) == 1 ? rows <= most : STEP(2, 1) == 1 && (rows == 1 || (rows <= most && SIZE(2, 0) * SIZE(2, 1) >= LEAST_IN_PLACE));
}

/* Compute C = A B + bias.  Arguments: out (with contiguous rows), a, b, bias (may be empty). */
static void product_of_any_rows(const Argument *a, int64_t first, int64_t last) {
    if (!suits_few_rows(a)) {
        matrix_product(a, first, last);
        return;
    }
    const int64_t rows = SIZE(1, 0), depth = SIZE(1, 1), columns = SIZE(2, 1), step = pieces(depth, LANES) * LANES;
    const int64_t least = shared_blocks(rows * depth * columns);
    float *copy = scratch(4, (rows * step + LANES) * sizeof(float));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < depth; k++) copy[i * step + k] = FLOATS(1)[i * STEP(1, 0) + k * STEP(1, 1)];
        for (int64_t k = depth; k < step; k++) copy[i * step + k] = 0.0f;
    }
    RowProduct few = {a, copy, step, DOT_COLUMNS};
    if (STEP(2, 0) != 1) few.chunk = larger(256, smaller(2048, pieces(columns, least * LANES) * LANES));
    run_tasks(pieces(columns, few.chunk), few_rows_of_columns, &few, least);
}

#define FEW_ROWS_KERNELS {"product", "FFFF", product_of_any_rows, WHOLE}

/* Matrix products with any strides. */
#pragma once

#include "gemm.h"
#include "kernel.h"

#define STEP(i, dim) (a[i].strides[dim] / (int64_t)sizeof(float))
#define LEAST_SHARED (1 << 17) /* number of multiplications above which threads divide a product */

INLINE int64_t shared_blocks(int64_t multiplications) {
    return multiplications < LEAST_SHARED || thread_count() == 1 ? 1 : 2 * thread_count();
}

/* Write a block of the transpose of C. */
static void write_transposed(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, const float *block) {
    const Argument *a = p->context;
    transpose(FLOATS(0) + column * STEP(0, 0) + row, STEP(0, 0), block, columns, rows, columns);
}

/* Compute C = A B + bias.  Arguments: out (with contiguous rows), a, b, bias (may be empty). */
static void matrix_product(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    int64_t rows = SIZE(1, 0), depth = SIZE(1, 1), columns = SIZE(2, 1);
    if (STEP(1, 1) == 1 && STEP(2, 0) == 1 && better_transposed(rows, columns, depth)) {
        Product p = product(columns, rows, depth, FLOATS(2), STEP(2, 1), 1, FLOATS(1), 1, STEP(1, 0), NULL, 0, false);
        p.row_bias = SIZE(3, 0) ? FLOATS(3) : NULL;
        p.write = write_transposed, p.context = a;
        compute(&p, shared_blocks(rows * columns * depth));
        return;
    }
    Product p = product(rows, columns, depth, FLOATS(1), STEP(1, 0), STEP(1, 1), FLOATS(2), STEP(2, 0), STEP(2, 1), FLOATS(0), STEP(0, 0), false);
    p.column_bias = SIZE(3, 0) ? FLOATS(3) : NULL;
    compute(&p, shared_blocks(rows * columns * depth));
}

#define PANELS_AT_ONCE 4 /* of one row: more sums than one panel has, because each waits for the one before */

/* Multiply one row by up to PANELS_AT_ONCE panels, `step` apart. */
INLINE void multiply_few_panels(const float *a, int64_t depth, const float *b, int64_t step, int64_t count, float *line) {
    const float *panel[PANELS_AT_ONCE];
    for (int i = 0; i < PANELS_AT_ONCE; i++) panel[i] = b + smaller(i, count - 1) * step;
    Vector sums[2 * PANELS_AT_ONCE] = {{0}};
    for (int64_t k = 0; k < depth; k++)
        _Pragma("GCC unroll 4") for (int i = 0; i < PANELS_AT_ONCE; i++) {
            sums[2 * i] += a[k] * load(panel[i] + k * WIDTH);
            sums[2 * i + 1] += a[k] * load(panel[i] + k * WIDTH + LANES);
        }
    for (int i = 0; i < 2 * smaller(PANELS_AT_ONCE, count); i++) store(line + i * LANES, sums[i]);
}

/* Compute the product of the matrices at one index of the two batch dimensions. */
static void product_of_batch(const Argument *a, int64_t n, int64_t least) {
    int64_t outer = n / SIZE(0, 1), inner = n % SIZE(0, 1);
#define MATRIX_OF(i) (FLOATS(i) + outer * STEP(i, 0) + inner * STEP(i, 1))
    Product p = product(SIZE(1, 2), SIZE(2, 3), SIZE(1, 3), MATRIX_OF(1), STEP(1, 2), STEP(1, 3), MATRIX_OF(2), STEP(2, 2), STEP(2, 3),
                        MATRIX_OF(0), STEP(0, 2), false);
#undef MATRIX_OF
    compute(&p, least);
}

static void product_of_batch_alone(void *context, int64_t n) { product_of_batch(context, n, 1); }

/* Compute batched products with two batch dimensions.  Arguments: out (with contiguous rows), a, b. */
static void matrix_products(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    int64_t batch = SIZE(0, 0) * SIZE(0, 1), multiplications = SIZE(1, 2) * SIZE(1, 3) * SIZE(2, 3);
    if (batch >= 2 * thread_count() || multiplications < LEAST_SHARED)
        parallel(batch, product_of_batch_alone, (void *)a);
    else
        for (int64_t n = 0; n < batch; n++) product_of_batch(a, n, shared_blocks(multiplications));
}

#define MATRIX_KERNELS {"products", "FFF", matrix_products, WHOLE}

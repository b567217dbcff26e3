/* Matrix products with any strides. */
#pragma once

#include "gemm.h"
#include "kernel.h"

#define STEP(i, dim) (a[i].strides[dim] / (int64_t)sizeof(float))
#define LEAST_SHARED (1 << 17) /* number of multiplications above which threads divide a product */

INLINE int64_t shared_blocks(int64_t multiplications) {
    return multiplications < LEAST_SHARED || thread_count() == 1 ? 1 : 2 * thread_count();
}

/* Whether to compute the transpose of C from the transposes of A and B.  If B is column-major, like the weight of a linear layer, A
or B has to be transposed while it is copied, and A is smaller.  Vectors then consist of rows of A.  C must also be transposed, which
is cheap if C is small or the depth is large. */
INLINE bool better_transposed(const Argument *a, int64_t rows, int64_t columns, int64_t depth) {
    const bool is_less = 2 * rows <= columns || (4 * rows <= 3 * columns && depth >= 4 * columns);
    return STEP(1, 1) == 1 && STEP(2, 0) == 1 && is_less && 8 * pieces(rows, LANES) * LANES <= 9 * rows;
}

/* Compute C = A B + bias.  Arguments: out (with contiguous rows), a, b, bias (may be empty). */
static void matrix_product(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    int64_t rows = SIZE(1, 0), depth = SIZE(1, 1), columns = SIZE(2, 1);
    if (better_transposed(a, rows, columns, depth)) {
        float *out = scratch(4, rows * columns * sizeof(float));
        Product p = product(columns, rows, depth, FLOATS(2), STEP(2, 1), 1, FLOATS(1), 1, STEP(1, 0), out, rows, false);
        p.row_bias = SIZE(3, 0) ? FLOATS(3) : NULL;
        compute(&p, shared_blocks(rows * columns * depth));
        transpose(FLOATS(0), STEP(0, 0), out, rows, columns, rows);
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

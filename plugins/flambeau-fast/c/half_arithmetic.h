/* Arithmetic of float16 and bfloat16 arrays that broadcast or are not contiguous: computed in float32, and rounded once.

Each row of the last dimension is contiguous, or one number that is repeated. */
#pragma once

#include "half.h"

#define PART 512 /* number of elements of a row computed at a time */

enum { SUM_OF_HALVES, DIFFERENCE_OF_HALVES, PRODUCT_OF_HALVES, QUOTIENT_OF_HALVES, NEGATED_HALVES };

typedef struct {
    const Argument *a;
    int64_t rank, parts, count, task; /* parts per row, parts in total, parts per task */
} HalfArithmetic;

/* Return the address of element `first` of a row; dimensions of size 1 are repeated. */
INLINE uint16_t *row_of_halves(const Argument *a, const int64_t *shape, int64_t rank, int64_t row, int64_t first) {
    char *address = (char *)a->data + (a->shape[rank - 1] == 1 ? 0 : first * (int64_t)sizeof(uint16_t));
    for (int64_t dim = rank - 2; dim >= 0; dim--) {
        address += a->shape[dim] == 1 ? 0 : row % shape[dim] * a->strides[dim];
        row /= shape[dim];
    }
    return (uint16_t *)address;
}

/* Convert `count` numbers of a row, or repeat its only number. */
INLINE void widen_row(float *to, const uint16_t *from, int64_t count, bool is_repeated, const int dtype) {
    if (!is_repeated) widen_all(to, from, count, dtype);
    else {
        const float number = widened(*from, dtype);
        for (int64_t j = 0; j < count; j++) to[j] = number;
    }
}

INLINE void compute_parts(const HalfArithmetic *h, int64_t number, const int dtype) {
    const Argument *a = h->a;
    const int64_t *shape = a[0].shape, length = shape[h->rank - 1], kind = INTEGER(4);
    float x[PART], y[PART];
    for (int64_t part = number * h->task; part < smaller((number + 1) * h->task, h->count); part++) {
        const int64_t row = part / h->parts, first = part % h->parts * PART, count = smaller(PART, length - first);
        uint16_t *out = row_of_halves(&a[0], shape, h->rank, row, first);
        const uint16_t *from = row_of_halves(&a[1], shape, h->rank, row, first);
        if (kind == NEGATED_HALVES) {
            SIMD() for (int64_t j = 0; j < count; j++) out[j] = from[j] ^ 0x8000;
            continue;
        }
        widen_row(x, from, count, SIZE(1, h->rank - 1) == 1, dtype);
        widen_row(y, row_of_halves(&a[2], shape, h->rank, row, first), count, SIZE(2, h->rank - 1) == 1, dtype);
        if (kind == SUM_OF_HALVES) SIMD() for (int64_t j = 0; j < count; j++) x[j] += y[j];
        else if (kind == DIFFERENCE_OF_HALVES) SIMD() for (int64_t j = 0; j < count; j++) x[j] -= y[j];
        else if (kind == PRODUCT_OF_HALVES) SIMD() for (int64_t j = 0; j < count; j++) x[j] *= y[j];
        else SIMD() for (int64_t j = 0; j < count; j++) x[j] /= y[j];
        narrow_all(out, x, count, dtype);
    }
}

static void compute_float16(void *context, int64_t number) { compute_parts(context, number, FLOAT16); }
static void compute_bfloat16(void *context, int64_t number) { compute_parts(context, number, BFLOAT16); }

/* Arguments: out, x, y, rank of all three, operation, dtype.  Declines if a row is not contiguous. */
static void half_arithmetic(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    for (int i = 0; i < 3; i++)
        if (a[i].strides[INTEGER(3) - 1] != sizeof(uint16_t) && SIZE(i, INTEGER(3) - 1) != 1) {
            decline();
            return;
        }
    HalfArithmetic h = {.a = a, .rank = INTEGER(3), .parts = pieces(SIZE(0, INTEGER(3) - 1), PART)};
    h.count = h.parts;
    for (int64_t dim = 0; dim < h.rank - 1; dim++) h.count *= SIZE(0, dim);
    if (h.count == 0) return;
    h.task = larger(1, 8192 / smaller(PART, SIZE(0, h.rank - 1)));
    parallel(pieces(h.count, h.task), INTEGER(5) == FLOAT16 ? compute_float16 : compute_bfloat16, &h);
}

#define HALF_ARITHMETIC_KERNELS {"half_arithmetic", "HHHiii", half_arithmetic, WHOLE}

/* Products with quantized weights: int8 with a scale per output, 4-bit integers in groups with scales and zeros, and exact products of
int8 matrices.

Weights are read from memory once, and converted in registers or in the cache; sums are in float32, or in int32 where products are exact.  Rows are processed in
blocks of SOME_ROWS, so that their sums stay in the cache. */
#pragma once

#include "half_matrix.h"

#define SOME_ROWS 32

/* Return element `i` of an array of float32, float16 or bfloat16. */
INLINE float number_at(const Argument *array, int64_t i, int dtype) {
    return dtype == FLOAT32 ? ((const float *)array->data)[i] : widened(((const uint16_t *)array->data)[i], dtype);
}

/* Write a row of sums to columns of the result. */
INLINE void write_row(const Argument *out, int64_t i, int64_t column, const float *from, int64_t count, int dtype) {
    char *to = (char *)out->data + i * out->strides[0] + column * out->strides[1];
    if (dtype == FLOAT32) memcpy(to, from, count * sizeof(float));
    else narrow((uint16_t *)to, from, count, dtype);
}

/* A product whose columns are divided between threads; A is converted in advance, to rows of units `step` floats apart. */
typedef struct {
    const Argument *arguments;
    const float *a;
    int64_t step;
    int dtype, mode;
} Quantized;

/* Convert all rows of A to units of a mode, and call `task` for each piece of columns. */
INLINE void share_columns(const Argument *a, int dtype, const int mode, int64_t pieces_of_columns, void (*task)(void *, int64_t)) {
    const int64_t depth = SIZE(1, 1), step = pieces(depth, LANES) * LANES;
    float *rows = scratch(4, (SIZE(1, 0) * step + LANES) * sizeof(float));
    for (int64_t i = 0; i < SIZE(1, 0); i++) {
        const char *from = BYTES(1) + i * a[1].strides[0];
        if (dtype == FLOAT32) copy_units(rows + i * step, from, depth, FLOAT32);
        else if (mode == PAIRS) copy_units(rows + i * step, from, depth, PAIRS);
        else if (dtype == FLOAT16) copy_units(rows + i * step, from, depth, FLOAT16);
        else copy_units(rows + i * step, from, depth, BFLOAT16);
    }
    Quantized q = {a, rows, step, dtype, mode};
    if (shared_blocks(SIZE(0, 0) * SIZE(0, 1) * depth) > 1) parallel(pieces_of_columns, task, &q);
    else
        for (int64_t number = 0; number < pieces_of_columns; number++) task(&q, number);
}

/* --- int8 weights --- */

#define FEW_INT8 3 /* number of rows up to which int8 is converted in registers, for each row again */

/* Convert rows of int8 to float32, or to bfloat16, which represents them exactly. */
static void widen_int8(void *to, const char *from, int64_t rows, int64_t step, int64_t depth, int mode) {
    for (int64_t i = 0; i < rows; i++) {
        const int8_t *row = (const int8_t *)(from + i * step);
        float *floats = (float *)to + i * depth;
        uint16_t *halves = (uint16_t *)to + i * depth;
        if (mode == PAIRS) SIMD() for (int64_t k = 0; k < depth; k++) halves[k] = (uint16_t)((uint32_t)bits_of((float)row[k]) >> 16);
        else SIMD() for (int64_t k = 0; k < depth; k++) floats[k] = row[k];
    }
}

static void int8_columns(void *context, int64_t number) {
    const Quantized *q = context;
    const Argument *a = q->arguments;
    const int64_t first = number * DOT_COLUMNS, columns = smaller(DOT_COLUMNS, SIZE(0, 1) - first), depth = SIZE(1, 1);
    float sums[SOME_ROWS * DOT_COLUMNS], scales[DOT_COLUMNS];
    const char *weight = BYTES(2) + first * a[2].strides[0];
    if (q->dtype == FLOAT32) memcpy(scales, FLOATS(3) + first, columns * sizeof(float));
    else widen(scales, HALVES(3) + first, columns, q->dtype);
    if (q->mode != INT8) {
        char *copy = scratch(5, DOT_COLUMNS * depth * sizeof(float));
        widen_int8(copy, weight, columns, a[2].strides[0], depth, q->mode);
        weight = copy;
    }
    const float *panels = q->mode == PAIRS && suits_tiles(SIZE(0, 0)) ? tile_panels(weight, depth * 2, columns, depth * 2) : NULL;
    for (int64_t row = 0; row < SIZE(0, 0); row += SOME_ROWS) {
        const int64_t rows = smaller(SOME_ROWS, SIZE(0, 0) - row);
#define DOTS(distance, read) dot_products(sums, DOT_COLUMNS, weight, distance, columns, q->a + row * q->step, q->step, rows, depth, read)
        if (panels) tile_products(sums, DOT_COLUMNS, panels, columns, q->a + row * q->step, q->step, rows, depth * 2, false);
        else if (q->mode == INT8) DOTS(a[2].strides[0], INT8);
        else if (q->mode == FLOAT32) DOTS(depth * 4, FLOAT32);
        else DOTS(depth * 2, MODE_OF_BFLOAT16);
#undef DOTS
        for (int64_t i = 0; i < rows; i++) {
            SIMD() for (int64_t j = 0; j < columns; j++) sums[i * DOT_COLUMNS + j] *= scales[j];
            write_row(&a[0], row + i, first, sums + i * DOT_COLUMNS, columns, q->dtype);
        }
    }
}

static void multiply_int8(const Argument *a, int dtype) {
    const int mode = SIZE(1, 0) <= FEW_INT8 ? INT8 : dtype == BFLOAT16 && MODE_OF_BFLOAT16 == PAIRS ? PAIRS : FLOAT32;
    share_columns(a, dtype, mode, pieces(SIZE(0, 1), DOT_COLUMNS), int8_columns);
}

/* Compute (A W^T) * scales.  Arguments: out (M, N), a (M, K), weight (N, K), scales (N). */
static void int8_linear(const Argument *a, int64_t first, int64_t last) {
    multiply_int8(a, FLOAT32);
}

/* The same for float16 or bfloat16, with the dtype as the last argument. */
static void half_int8_linear(const Argument *a, int64_t first, int64_t last) {
    multiply_int8(a, (int)INTEGER(4));
}

/* --- exact products of int8 --- */

/* For unsigned bytes, 128 is added to A.  A row of ones in front of A computes the sums of the columns of B, of which 128 times are
subtracted again. */
#define OFFSET (SPAN_OF_INTEGERS == 4 ? 128 : 0)

INLINE void copy_integers(float *to, const int8_t *from, int64_t depth) {
    if (SPAN_OF_INTEGERS == 4) SIMD() for (int64_t k = 0; k < depth; k++) ((uint8_t *)to)[k] = (uint8_t)(from[k] ^ 0x80);
    else if (SPAN_OF_INTEGERS == 2) SIMD() for (int64_t k = 0; k < depth; k++) ((int16_t *)to)[k] = from[k];
    else
        for (int64_t k = 0; k < depth; k++) ((int32_t *)to)[k] = from[k];
}

static void integer_columns(void *context, int64_t number) {
    const Quantized *q = context;
    const Argument *a = q->arguments;
    const int64_t first = number * DOT_COLUMNS, columns = smaller(DOT_COLUMNS, SIZE(0, 1) - first), all = SIZE(0, 0) + (OFFSET > 0);
    float sums[SOME_ROWS * DOT_COLUMNS];
    uint32_t added[DOT_COLUMNS] = {0};
    const char *b = BYTES(2) + first * a[2].strides[0];
    const float *panels = suits_tiles(SIZE(0, 0)) ? tile_panels(b, a[2].strides[0], columns, SIZE(1, 1)) : NULL;
    /* The row of ones is the first. */
    for (int64_t row = 0; row < all; row += SOME_ROWS) {
        const int64_t rows = smaller(SOME_ROWS, all - row);
        const float *rows_of_a = q->a + row * q->step;
        if (panels) tile_products(sums, DOT_COLUMNS, panels, columns, rows_of_a, q->step, rows, SIZE(1, 1), true);
        else dot_products(sums, DOT_COLUMNS, b, a[2].strides[0], columns, rows_of_a, q->step, rows, SIZE(1, 1), INTEGERS);
        for (int64_t i = 0; i < rows; i++) {
            int32_t values[DOT_COLUMNS], *out = INTS(0) + (row + i - (OFFSET > 0)) * SIZE(0, 1) + first;
            memcpy(values, sums + i * DOT_COLUMNS, columns * sizeof(int32_t));
            if (OFFSET && row + i == 0)
                for (int64_t j = 0; j < columns; j++) added[j] = -(uint32_t)OFFSET * (uint32_t)values[j]; /* overflow wraps around */
            else
                for (int64_t j = 0; j < columns; j++) out[j] = (int32_t)((uint32_t)values[j] + added[j]);
        }
    }
}

/* Compute A B^T in int32.  Arguments: out (M, N), a (M, K), b (N, K), with contiguous rows. */
static void int8_product(const Argument *a, int64_t first, int64_t last) {
    const int64_t depth = SIZE(1, 1), rows = SIZE(0, 0) + (OFFSET > 0);
    const int64_t step = pieces(depth, SPAN_OF_INTEGERS * LANES) * LANES;
    float *copy = scratch(4, (rows * step + LANES) * sizeof(float));
    memset(copy, 0, rows * step * sizeof(float));
    if (OFFSET) memset(copy, 1, depth);
    for (int64_t i = OFFSET > 0; i < rows; i++)
        copy_integers(copy + i * step, (const int8_t *)a[1].data + (i - (OFFSET > 0)) * a[1].strides[0], depth);
    Quantized q = {a, copy, step, INTEGERS, INTEGERS};
    const int64_t count = pieces(SIZE(0, 1), DOT_COLUMNS);
    if (shared_blocks(SIZE(0, 0) * SIZE(0, 1) * depth) > 1) parallel(count, integer_columns, &q);
    else
        for (int64_t number = 0; number < count; number++) integer_columns(&q, number);
}

/* --- 4-bit weights --- */

#define PACKED_COLUMNS 64 /* columns whose numbers for one k are in 32 consecutive bytes: column j in the low bits, j + 32 in the high bits */

/* Add the products of `count` rows of A with columns of one group: 2 * LANES columns in the low, and as many in the high bits.  The sums
of products with integers, less 8, are multiplied by the scales at the end of the group. */
INLINE void add_group(float *sums, const float *a, int64_t step, const uint8_t *weight, int64_t depth, const float *scales, const float *zeros,
                      const int count) {
    Vector totals[4 * 4];
    float sums_of_a[4] = {0};
    _Pragma("GCC unroll 16") for (int s = 0; s < 4 * count; s++) totals[s] = (Vector){0};
    for (int64_t k = 0; k < depth; k++) {
        Vector columns[4];
        _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
            const Bits bytes = load_unsigned_bytes(weight + 32 * k + v * LANES);
            columns[v] = __builtin_convertvector((bytes & 15) - 8, Vector);
            columns[2 + v] = __builtin_convertvector((bytes >> 4) - 8, Vector);
        }
        _Pragma("GCC unroll 4") for (int i = 0; i < count; i++) {
            const float number = a[i * step + k];
            sums_of_a[i] += number;
            _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++) totals[4 * i + v] += number * columns[v];
        }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < count; i++)
        _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++) {
            const int64_t column = v % 2 * LANES + v / 2 * 32;
            float *to = sums + i * PACKED_COLUMNS + column;
            store(to, load(to) + totals[4 * i + v] * load(scales + column) + sums_of_a[i] * load(zeros + column));
        }
}

static void int4_columns(void *context, int64_t number) {
    const Quantized *q = context;
    const Argument *a = q->arguments;
    const int64_t depth = SIZE(1, 1), group = INTEGER(4), columns = SIZE(0, 1), first = number * PACKED_COLUMNS;
    const uint8_t *weight = (const uint8_t *)a[2].data + first * depth / 2;
    float sums[SOME_ROWS * PACKED_COLUMNS], scales[PACKED_COLUMNS], zeros[PACKED_COLUMNS];
    for (int64_t row = 0; row < SIZE(0, 0); row += SOME_ROWS) {
        const int64_t rows = smaller(SOME_ROWS, SIZE(0, 0) - row);
        memset(sums, 0, sizeof sums);
        for (int64_t k = 0; k < depth; k += group) {
            const int64_t place = (k / group * columns + first) * 2, some = smaller(group, depth - k);
            for (int64_t j = 0; j < PACKED_COLUMNS; j++) {
                scales[j] = number_at(&a[3], place + 2 * j, q->dtype);
                zeros[j] = number_at(&a[3], place + 2 * j + 1, q->dtype);
            }
            for (int64_t i = 0, count; i < rows; i += count) {
                count = LANES >= 8 && i + 4 <= rows ? 4 : 1;
                const float *from = q->a + (row + i) * q->step + k;
                for (int64_t part = 0; part < 32; part += 2 * LANES) {
#define ADD(count) add_group(sums + i * PACKED_COLUMNS + part, from, q->step, weight + 32 * k + part, some, scales + part, zeros + part, count)
                    if (count == 4) ADD(4);
                    else ADD(1);
#undef ADD
                }
            }
        }
        for (int64_t i = 0; i < rows; i++) write_row(&a[0], row + i, first, sums + i * PACKED_COLUMNS, PACKED_COLUMNS, q->dtype);
    }
}

/* Compute A times (numbers - 8) * scale + zero.  Arguments: out (M, N), a (M, K), weight (N, K / 2), scales and zeros (K / group, N, 2),
group. */
static void int4_linear(const Argument *a, int64_t first, int64_t last) { share_columns(a, FLOAT32, INT8, SIZE(0, 1) / PACKED_COLUMNS, int4_columns); }

/* The same for float16 or bfloat16, with the dtype as the last argument. */
static void half_int4_linear(const Argument *a, int64_t first, int64_t last) {
    share_columns(a, (int)INTEGER(5), INT8, SIZE(0, 1) / PACKED_COLUMNS, int4_columns);
}

#define QUANTIZED_KERNELS                                                                                                          \
    {"int8_linear", "FFbF", int8_linear, WHOLE}, {"half_int8_linear", "HHbHi", half_int8_linear, WHOLE},                           \
        {"int8_product", "Ibb", int8_product, WHOLE}, {"int4_linear", "FFYFi", int4_linear, WHOLE},                                \
        {"half_int4_linear", "HHYHii", half_int4_linear, WHOLE}

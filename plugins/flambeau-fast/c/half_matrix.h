/* Matrix products of float16 or bfloat16 arrays: C = A B + bias, accumulated in float32 and rounded once.

A product with few rows reads B once, from memory, and converts it in registers: `few_by_dots` if the columns of B are contiguous
(the weight of a linear layer, transposed), `few_by_rows` if its rows are.  Others use the algorithm of `gemm.h`, with panels
converted to float32, or kept in bfloat16 where the processor multiplies pairs of such numbers (`vdpbf16ps`, or `tdpbf16ps` of
`tiles.h`).

Each element is summed in an order that depends on the shapes alone, so results do not depend on the number of threads. */
#pragma once

#include "gemm.h"
#include "half.h"
#include "matrix.h"

/* The maximum number of rows of A for `few_by_dots` and `few_by_rows`. */
#define FEW_DOTS(mode) ((mode) == PAIRS ? (HAS_TILES ? LEAST_TILE_ROWS - 1 : 32) : LANES == 16 ? 24 : 12)
#define FEW_SUMS 8
#define DOT_COLUMNS 64 /* columns per task of `few_by_dots` */

#define DTYPE_OF(mode) ((mode) == FLOAT16 ? FLOAT16 : BFLOAT16)
/* Numbers per 32-bit unit. */
#define SPAN_OF(mode) ((mode) == PAIRS ? 2 : (mode) == INTEGERS ? SPAN_OF_INTEGERS : 1)
#ifdef __AVX512BF16__
#define MODE_OF_BFLOAT16 PAIRS
#else
#define MODE_OF_BFLOAT16 BFLOAT16
#endif
#define BYTES_OF(mode) ((mode) == FLOAT32 ? 4 : (mode) == INT8 || (mode) == INTEGERS ? 1 : 2)

/* The units of exact products of int8: four unsigned bytes of A and four signed bytes of B, or two 16-bit integers, or one integer. */
#ifdef __AVX512VNNI__
#define SPAN_OF_INTEGERS 4
#elif defined(__AVX2__)
#define SPAN_OF_INTEGERS 2
#else
#define SPAN_OF_INTEGERS 1
#endif

typedef int8_t LooseBytes __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef uint8_t LooseUnsigned __attribute__((vector_size(LANES), aligned(1), may_alias));

/* Convert LANES bytes to integers of 32 bits.  gcc splits the portable conversion into several. */
INLINE Bits load_bytes(const void *from) {
#if defined(__AVX512F__)
    return (Bits)_mm512_cvtepi8_epi32(_mm_loadu_si128(from));
#elif defined(__AVX2__)
    return (Bits)_mm256_cvtepi8_epi32(_mm_loadl_epi64(from));
#else
    return __builtin_convertvector(*(const LooseBytes *)from, Bits);
#endif
}

INLINE Bits load_unsigned_bytes(const void *from) {
#if defined(__AVX512F__)
    return (Bits)_mm512_cvtepu8_epi32(_mm_loadu_si128(from));
#elif defined(__AVX2__)
    return (Bits)_mm256_cvtepu8_epi32(_mm_loadl_epi64(from));
#else
    return __builtin_convertvector(*(const LooseUnsigned *)from, Bits);
#endif
}

INLINE Vector load_integers(const void *from) {
#if SPAN_OF_INTEGERS == 4
    return (Vector)_mm512_loadu_si512(from);
#elif SPAN_OF_INTEGERS == 2 && LANES == 16
    return (Vector)_mm512_cvtepi8_epi16(_mm256_loadu_si256(from));
#elif SPAN_OF_INTEGERS == 2
    return (Vector)_mm256_cvtepi8_epi16(_mm_loadu_si128(from));
#else
    return (Vector)load_bytes(from);
#endif
}

INLINE Vector add_integers(Vector sums, Vector a, Vector b) {
#if SPAN_OF_INTEGERS == 4
    return (Vector)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)a, (__m512i)b);
#elif SPAN_OF_INTEGERS == 2 && LANES == 16
    return (Vector)((Bits)sums + (Bits)_mm512_madd_epi16((__m512i)a, (__m512i)b));
#elif SPAN_OF_INTEGERS == 2
    return (Vector)((Bits)sums + (Bits)_mm256_madd_epi16((__m256i)a, (__m256i)b));
#else
    return (Vector)((Bits)sums + (Bits)a * (Bits)b);
#endif
}

/* A product: sizes, operands with strides in elements, and the result. */
typedef struct {
    int64_t rows, columns, depth;
    const uint16_t *a, *b, *bias;
    int64_t a_row, a_depth, b_depth, b_column;
    uint16_t *out;
    int64_t out_row, out_column;
    bool bias_of_rows; /* the bias has an element for each row, not column */
} HalfProduct;

/* Load LANES units: numbers as float32, or pairs. */
INLINE Vector load_units(const void *from, const int mode) {
    if (mode == FLOAT32) return load(from);
    if (mode == INT8) return __builtin_convertvector(load_bytes(from), Vector);
    if (mode == INTEGERS) return load_integers(from);
#ifdef __AVX512BF16__
    if (mode == PAIRS) return (Vector)_mm512_loadu_ps(from);
#endif
    return load_halves(from, DTYPE_OF(mode));
}

/* Return one unit; `left` is the number of elements left, and a missing second number of a pair is 0. */
INLINE float unit(const uint16_t *from, int64_t step, int64_t left, const int mode) {
    if (mode != PAIRS) return widened(*from, DTYPE_OF(mode));
    return of_bits((int32_t)(from[0] | (left > 1 ? (uint32_t)from[step] << 16 : 0)));
}

/* Copy a contiguous row of `depth` numbers as units, with zeros up to a multiple of LANES units. */
INLINE void copy_units(float *to, const void *from, int64_t depth, const int mode) {
    const int64_t count = pieces(depth, SPAN_OF(mode)), whole = pieces(count, LANES) * LANES;
    if (mode == PAIRS || mode == FLOAT32) {
        memcpy(to, from, depth * BYTES_OF(mode));
        memset((char *)to + depth * BYTES_OF(mode), 0, whole * 4 - depth * BYTES_OF(mode));
    } else {
        widen_all(to, from, depth, DTYPE_OF(mode));
        for (int64_t k = count; k < whole; k++) to[k] = 0.0f;
    }
}

/* Return the product whose result is the transpose of this one's. */
INLINE HalfProduct transposed(const HalfProduct *h) {
    return (HalfProduct){.rows = h->columns, .columns = h->rows, .depth = h->depth, .a = h->b, .b = h->a, .bias = h->bias, .a_row = h->b_column,
                         .a_depth = h->b_depth, .b_depth = h->a_depth, .b_column = h->a_row, .out = h->out, .out_row = h->out_column,
                         .out_column = h->out_row, .bias_of_rows = !h->bias_of_rows};
}

/* Write rows of sums to the result: add the bias, and round. */
static void write_sums(const HalfProduct *h, int64_t row, int64_t rows, int64_t column, int64_t columns, float *sums, int64_t step, const int dtype) {
    uint16_t halves[512];
    float bias[512];
    for (int64_t first = 0, count; first < columns; first += count) {
        count = smaller(512, columns - first);
        const bool by_columns = h->bias && !h->bias_of_rows;
        if (by_columns) widen(bias, h->bias + column + first, count, dtype);
        for (int64_t i = 0; i < rows; i++) {
            float *from = sums + i * step + first;
            uint16_t *to = h->out + (row + i) * h->out_row + (column + first) * h->out_column;
            if (by_columns) SIMD() for (int64_t j = 0; j < count; j++) from[j] += bias[j];
            if (h->bias && h->bias_of_rows) {
                const float added = widened(h->bias[row + i], dtype);
                SIMD() for (int64_t j = 0; j < count; j++) from[j] += added;
            }
            narrow(h->out_column == 1 ? to : halves, from, count, dtype);
            for (int64_t j = 0; h->out_column != 1 && j < count; j++) to[j * h->out_column] = halves[j];
        }
    }
}

/* --- few rows, contiguous columns of B: dot products --- */

typedef struct {
    const HalfProduct *product;
    const float *a; /* rows of A as units, `step` apart */
    int64_t step, chunk;
} Few;

/* Add the products of the units of A and B. */
INLINE Vector add_units(Vector sums, Vector a, Vector b, const int mode) {
    if (mode == INTEGERS) return add_integers(sums, a, b);
#ifdef __AVX512BF16__
    if (mode == PAIRS) return (Vector)_mm512_dpbf16_ps((__m512)sums, (__m512bh)a, (__m512bh)b);
#endif
    return sums + a * b;
}

/* Compute the dot products of `height` columns of B with `count` rows of A: element (i, j) at `to[j * to_step + i]`.
`height * count` is at most LANES, so that one transposition adds the lanes of all sums.  Numbers that are `ahead` bytes further are
prefetched: the processor does not recognize several rows as streams. */
INLINE void dots(const char *const *b, int64_t ahead, const int height, const float *a, int64_t step, const int count, int64_t depth, float *to,
                 int64_t to_step, const int mode) {
    Vector sums[LANES];
    char last[LANES * 4 * LANES];
    const int64_t size = LANES * SPAN_OF(mode), bytes = BYTES_OF(mode);
    int64_t k = 0;
    _Pragma("GCC unroll 16") for (int s = 0; s < LANES; s++) sums[s] = (Vector){0};
#define ADD(address)                                                                                                               \
    Vector rows[4];                                                                                                                \
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) rows[j] = load(a + j * step + k / SPAN_OF(mode));                       \
    _Pragma("GCC unroll 16") for (int i = 0; i < height; i++) {                                                                     \
        const Vector column = load_units(address, mode);                                                                           \
        __builtin_prefetch(address + ahead, 0, 2);                                                                                 \
        _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) sums[i * count + j] = add_units(sums[i * count + j], rows[j], column, mode); \
    }
    for (; k + size <= depth; k += size) {
        ADD(b[i] + k * bytes)
    }
    if (k < depth) {
        memset(last, 0, sizeof last);
        for (int i = 0; i < height; i++) memcpy(last + i * size * bytes, b[i] + k * bytes, (depth - k) * bytes);
        ADD(last + i * size * bytes)
    }
#undef ADD
    transpose_vectors(sums);
    Vector total = sums[0];
    _Pragma("GCC unroll 16") for (int s = 1; s < LANES; s++)
        total = mode == INTEGERS ? (Vector)((Bits)total + (Bits)sums[s]) : total + sums[s];
    for (int i = 0; i < height; i++)
        for (int j = 0; j < count; j++) to[j * to_step + i] = total[i * count + j];
}

/* Return the number of columns of B that `dot_products` takes for a number of rows of A. */
INLINE int dot_height(int64_t rows) { return LANES < 8 ? LANES : rows <= 2 ? LANES / 2 : LANES / 4; }

/* Compute the dot products of `columns` rows of numbers, `b_step` bytes apart, with all rows of A: product (i, j) at
`to[i * to_step + j]`. */
INLINE void dot_products(float *to, int64_t to_step, const char *b, int64_t b_step, int64_t columns, const float *a, int64_t step, int64_t rows,
                         int64_t depth, const int mode) {
    const int64_t tiles = pieces(rows, LANES >= 8 ? 4 : 1);
    const int height = dot_height(rows);
    const int64_t ahead = (depth > 256 ? 1 : 2) * height * b_step; /* to the L2 cache */
    const char *addresses[LANES];
    for (int64_t j = 0; j < columns; j += height) {
        float results[4 * LANES];
        const int64_t some = smaller(height, columns - j);
        for (int n = 0; n < height; n++) addresses[n] = b + (j + smaller(n, some - 1)) * b_step;
        for (int64_t tile = 0; tile < tiles; tile++) {
            const int64_t row = tile * rows / tiles, count = (tile + 1) * rows / tiles - row;
#define DOTS(height, count) dots(addresses, tile ? 0 : ahead, height, a + row * step, step, count, depth, results, LANES, mode)
            if (LANES < 8) DOTS(LANES, 1);
            else if (rows == 1) DOTS(LANES / 2, 1);
            else if (rows == 2) DOTS(LANES / 2, 2);
            else if (count == 2) DOTS(LANES / 4, 2);
            else if (count == 3) DOTS(LANES / 4, 3);
            else DOTS(LANES / 4, 4);
#undef DOTS
            for (int64_t i = 0; i < count; i++) memcpy(to + (row + i) * to_step + j, results + i * LANES, some * sizeof(float));
        }
    }
}

INLINE void few_by_dots(const Few *few, int64_t number, const int mode) {
    const HalfProduct *h = few->product;
    const int64_t first = number * few->chunk, columns = smaller(few->chunk, h->columns - first);
    float *sums = scratch(6, h->rows * few->chunk * sizeof(float));
    dot_products(sums, few->chunk, (const char *)(h->b + first * h->b_column), h->b_column * sizeof(uint16_t), columns, few->a, few->step,
                 h->rows, h->depth, mode);
    write_sums(h, 0, h->rows, first, columns, sums, few->chunk, DTYPE_OF(mode));
}

/* --- few rows, contiguous rows of B --- */

#define DEEP 4 /* rows of B that are added to sums at a time */

/* Add products of `deep` rows of B, `b_step` bytes apart, to sums of `count` rows of C; `a` and `sums` have rows of the given steps. */
INLINE void add_rows(float *sums, int64_t sum_step, const char *b, int64_t b_step, const float *a, int64_t a_step, int64_t columns,
                     const int deep, const int count, const int mode) {
    int64_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        Vector rows[DEEP];
        _Pragma("GCC unroll 4") for (int k = 0; k < deep; k++) rows[k] = load_units(b + k * b_step + j * BYTES_OF(mode), mode);
        _Pragma("GCC unroll 4") for (int i = 0; i < count; i++) {
            Vector total = load(sums + i * sum_step + j);
            _Pragma("GCC unroll 4") for (int k = 0; k < deep; k++) total += a[i * a_step + k] * rows[k];
            store(sums + i * sum_step + j, total);
        }
    }
    for (; j < columns; j++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < deep; k++) {
                const char *number = b + k * b_step + j * BYTES_OF(mode);
                sums[i * sum_step + j] += a[i * a_step + k] * (mode == FLOAT32 ? *(const float *)number : widened(*(const uint16_t *)number, mode));
            }
}

/* Add products of `depth` rows of B to sums of `rows` rows of C. */
INLINE void row_sums(float *sums, int64_t sum_step, const char *b, int64_t b_step, const float *a, int64_t a_step, int64_t columns, int64_t rows,
                     int64_t depth, const int mode) {
    for (int64_t k = 0, deep; k < depth; k += deep) {
        deep = k + DEEP <= depth ? DEEP : 1;
        for (int64_t i = 0, count; i < rows; i += count) {
            count = i + 4 <= rows ? 4 : 1;
#define ADD(deep, count) add_rows(sums + i * sum_step, sum_step, b + k * b_step, b_step, a + i * a_step + k, a_step, columns, deep, count, mode)
            if (deep == DEEP && count == 4) ADD(DEEP, 4);
            else if (deep == DEEP) ADD(DEEP, 1);
            else if (count == 4) ADD(1, 4);
            else ADD(1, 1);
#undef ADD
        }
    }
}

INLINE void few_by_rows(const Few *few, int64_t number, const int dtype) {
    const HalfProduct *h = few->product;
    const int64_t first = number * few->chunk, columns = smaller(few->chunk, h->columns - first);
    float *sums = scratch(6, h->rows * few->chunk * sizeof(float));
    memset(sums, 0, h->rows * few->chunk * sizeof(float));
    row_sums(sums, few->chunk, (const char *)(h->b + first), h->b_depth * sizeof(uint16_t), few->a, few->step, columns, h->rows, h->depth, dtype);
    write_sums(h, 0, h->rows, first, columns, sums, few->chunk, dtype);
}

/* --- panels --- */

INLINE const HalfProduct *halves_of(const Product *p) { return p->context; }

INLINE void rows_of_halves(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel, const int mode) {
    const HalfProduct *h = halves_of(p);
    const int64_t start = k * SPAN_OF(mode), left = h->depth - start, units = smaller(depth, pieces(left, SPAN_OF(mode)));
    const int64_t step = row_step(depth);
    const uint16_t *a = h->a + row * h->a_row + start * h->a_depth;
    if (h->a_depth == 1) {
        for (int64_t i = 0; i < rows; i++)
            copy_units(panel + i * step, a + i * h->a_row, smaller(left, depth * SPAN_OF(mode)), mode);
        return;
    }
    if (units < depth) memset(panel, 0, rows * step * sizeof(float));
    for (int64_t d = 0; d < units; d++)
        for (int64_t i = 0; i < rows; i++)
            panel[p->rows_of_a ? i * step + d : d * rows + i] =
                unit(a + i * h->a_row + d * SPAN_OF(mode) * h->a_depth, h->a_depth, left - d * SPAN_OF(mode), mode);
}

INLINE void columns_of_halves(const Product *p, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels, const int mode) {
    const HalfProduct *h = halves_of(p);
    const int64_t start = k * SPAN_OF(mode), left = h->depth - start, step = panel_step(depth);
    const int64_t units = smaller(depth, pieces(left, SPAN_OF(mode)));
    const uint16_t *b = h->b + column * h->b_column + start * h->b_depth;
    for (int64_t j = 0; j < columns; j += WIDTH) {
        const int64_t count = smaller(WIDTH, columns - j);
        float *panel = panels + j / WIDTH * step;
        const uint16_t *from = b + j * h->b_column;
        int64_t done = 0;
        if (count < WIDTH || units < depth) memset(panel, 0, depth * WIDTH * sizeof(float));
        if (h->b_depth == 1)
            for (; done + LANES <= depth && (done + LANES) * SPAN_OF(mode) <= left; done += LANES)
                for (int64_t part = 0; part < count; part += LANES) {
                    Vector square[LANES];
                    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++)
                        square[i] = load_units(from + smaller(part + i, count - 1) * h->b_column + done * SPAN_OF(mode), mode);
                    transpose_vectors(square);
                    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) store(panel + (done + i) * WIDTH + part, square[i]);
                }
        for (int64_t d = done; d < units; d++) {
            const uint16_t *line = from + d * SPAN_OF(mode) * h->b_depth;
            const int64_t step = h->b_depth, remaining = left - d * SPAN_OF(mode);
            float *to = panel + d * WIDTH;
            if (h->b_column == 1 && mode != PAIRS) widen_all(to, line, count, DTYPE_OF(mode));
            else if (h->b_column == 1) SIMD() for (int64_t c = 0; c < count; c++) to[c] = unit(line + c, step, remaining, mode);
            else
                for (int64_t c = 0; c < count; c++) to[c] = unit(line + c * h->b_column, step, remaining, mode);
        }
    }
}

#define SQUARE 64 /* rows and columns of a block that are transposed at a time */

INLINE void write_block(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, const float *block, const int dtype) {
    const HalfProduct *h = halves_of(p), turned = transposed(h);
    if (h->out_column == 1) {
        write_sums(h, row, rows, column, columns, (float *)block, columns, dtype);
        return;
    }
    float square[SQUARE * SQUARE];
    for (int64_t i = 0; i < rows; i += SQUARE)
        for (int64_t j = 0; j < columns; j += SQUARE) {
            const int64_t height = smaller(SQUARE, rows - i), width = smaller(SQUARE, columns - j);
            transpose(square, SQUARE, block + i * columns + j, columns, height, width);
            write_sums(&turned, column + j, width, row + i, height, square, SQUARE, dtype);
        }
}

/* --- complete products --- */

/* Define the functions of one mode, of which threads call the first two with a `Few` as context. */
#define FUNCTIONS_OF(name, mode)                                                                                                   \
    static void few_by_dots_##name(void *context, int64_t number) { few_by_dots(context, number, mode); }                          \
    static void few_by_rows_##name(void *context, int64_t number) { few_by_rows(context, number, DTYPE_OF(mode)); }                \
    static void rows_##name(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel) {                  \
        rows_of_halves(p, row, rows, k, depth, panel, mode);                                                                       \
    }                                                                                                                              \
    static void columns_##name(const Product *p, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels) {        \
        columns_of_halves(p, column, columns, k, depth, panels, mode);                                                             \
    }                                                                                                                              \
    static void write_##name(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, const float *block) {    \
        write_block(p, row, rows, column, columns, block, DTYPE_OF(mode));                                                         \
    }                                                                                                                              \
    INLINE void multiply_##name(const HalfProduct *h, int64_t least) { multiply_halves_by(h, least, mode, few_by_dots_##name, few_by_rows_##name, rows_##name, columns_##name, write_##name); }

typedef void Task(void *context, int64_t number);

INLINE void run_tasks(int64_t count, Task *task, void *context, int64_t least) {
    if (least > 1) parallel(count, task, context);
    else
        for (int64_t number = 0; number < count; number++) task(context, number);
}

INLINE void multiply_halves_by(const HalfProduct *h, int64_t least, const int mode, Task *by_dots, Task *by_rows,
                               void (*rows)(const Product *, int64_t, int64_t, int64_t, int64_t, float *),
                               void (*columns)(const Product *, int64_t, int64_t, int64_t, int64_t, float *),
                               void (*write)(const Product *, int64_t, int64_t, int64_t, int64_t, const float *)) {
    const bool are_dots = h->b_depth == 1 && h->rows <= FEW_DOTS(mode);
    const int few_mode = are_dots ? mode : DTYPE_OF(mode); /* sums of rows of B need no pairs */
    if (are_dots || (h->b_column == 1 && h->rows <= FEW_SUMS)) {
        const int64_t step = pieces(h->depth, SPAN_OF(few_mode) * LANES) * LANES;
        float *a = scratch(4, (h->rows * step + LANES) * sizeof(float));
        uint16_t *row = scratch(7, h->depth * sizeof(uint16_t) + 1);
        for (int64_t i = 0; i < h->rows; i++) {
            const uint16_t *from = h->a + i * h->a_row;
            for (int64_t k = 0; h->a_depth != 1 && k < h->depth; k++) row[k] = from[k * h->a_depth];
            copy_units(a + i * step, h->a_depth == 1 ? from : row, h->depth, few_mode);
        }
        int64_t chunk = DOT_COLUMNS;
        if (!are_dots) chunk = larger(256, smaller(2048, pieces(h->columns, larger(1, least) * LANES) * LANES));
        Few few = {h, a, step, chunk};
        run_tasks(pieces(h->columns, chunk), are_dots ? by_dots : by_rows, &few, least);
        return;
    }
    const bool by_tiles = HAS_TILES && mode == PAIRS; /* a depth of complete tiles: unused units are 0 */
    const int64_t units = by_tiles ? pieces(h->depth, 2 * LANES) * LANES : pieces(h->depth, SPAN_OF(mode));
    Product p = {.rows = h->rows, .columns = h->columns, .depth = units, .panel_of_a = rows, .panels_of_b = columns,
                 .rows_of_a = by_tiles || h->a_depth == 1, .pairs = mode == PAIRS, .write = write, .context = h, .out_column = 1,
                 .group = h->columns, .run = h->columns};
    const bool are_units = mode == PAIRS && !by_tiles && h->depth % 2 == 0 && h->a_row % 2 == 0 && (uintptr_t)h->a % sizeof(float) == 0;
    if (h->a_depth == 1 && are_units) set_rows_of_a(&p, h->a, h->a_row / 2);
    else if (h->a_depth == 1) p.lines = (Lines){(const char *)h->a, 0, h->a_row * (int64_t)sizeof(uint16_t), SPAN_OF(mode) * (int64_t)sizeof(uint16_t)};
    compute(&p, least);
}

FUNCTIONS_OF(float16, FLOAT16)
FUNCTIONS_OF(bfloat16, MODE_OF_BFLOAT16)

/* Compute the product or its transpose, if that has few rows or less to copy. */
static void multiply_halves(HalfProduct h, int dtype, int64_t least) {
    const int64_t few = FEW_DOTS(dtype == FLOAT16 ? FLOAT16 : MODE_OF_BFLOAT16);
    const bool becomes_few = h.columns < h.rows && h.columns <= few && (h.a_depth == 1 || (h.a_row == 1 && h.columns <= FEW_SUMS));
    const bool is_wide = h.rows > few && h.a_depth == 1 && h.b_depth == 1 && better_transposed(h.rows, h.columns, h.depth);
    if (becomes_few || is_wide) h = transposed(&h);
    if (dtype == FLOAT16) multiply_float16(&h, least);
    else multiply_bfloat16(&h, least);
}

#define HALF_STEP(i, dim) (a[i].strides[dim] / (int64_t)sizeof(uint16_t))

/* Compute C = A B + bias.  Arguments: out, a, b, bias (may be empty), dtype. */
static void half_product(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const HalfProduct h = {.rows = SIZE(1, 0), .columns = SIZE(2, 1), .depth = SIZE(1, 1), .a = HALVES(1), .b = HALVES(2),
                           .bias = SIZE(3, 0) ? HALVES(3) : NULL, .a_row = HALF_STEP(1, 0), .a_depth = HALF_STEP(1, 1),
                           .b_depth = HALF_STEP(2, 0), .b_column = HALF_STEP(2, 1), .out = HALVES(0), .out_row = HALF_STEP(0, 0),
                           .out_column = HALF_STEP(0, 1)};
    multiply_halves(h, (int)INTEGER(4), shared_blocks(h.rows * h.columns * h.depth));
}

/* Compute the product of the matrices at one index of the two batch dimensions. */
static void half_product_of_batch(const Argument *a, int64_t n, int64_t least) {
    const int64_t outer = n / SIZE(0, 1), inner = n % SIZE(0, 1);
#define MATRIX_OF(i) (HALVES(i) + outer * HALF_STEP(i, 0) + inner * HALF_STEP(i, 1))
    const HalfProduct h = {.rows = SIZE(1, 2), .columns = SIZE(2, 3), .depth = SIZE(1, 3), .a = MATRIX_OF(1), .b = MATRIX_OF(2),
                           .a_row = HALF_STEP(1, 2), .a_depth = HALF_STEP(1, 3), .b_depth = HALF_STEP(2, 2), .b_column = HALF_STEP(2, 3),
                           .out = MATRIX_OF(0), .out_row = HALF_STEP(0, 2), .out_column = HALF_STEP(0, 3)};
#undef MATRIX_OF
    multiply_halves(h, (int)INTEGER(3), least);
}

static void half_product_of_batch_alone(void *context, int64_t n) { half_product_of_batch(context, n, 1); }

/* Compute batched products with two batch dimensions.  Arguments: out, a, b, dtype. */
static void half_products(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t batch = SIZE(0, 0) * SIZE(0, 1), multiplications = SIZE(1, 2) * SIZE(1, 3) * SIZE(2, 3);
    if (batch >= 2 * thread_count() || multiplications < LEAST_SHARED) parallel(batch, half_product_of_batch_alone, (void *)a);
    else
        for (int64_t n = 0; n < batch; n++) half_product_of_batch(a, n, shared_blocks(multiplications));
}

#define HALF_MATRIX_KERNELS {"half_product", "HHHHi", half_product, WHOLE}, {"half_products", "HHHi", half_products, WHOLE}

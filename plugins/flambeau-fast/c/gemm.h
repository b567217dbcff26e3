/* Matrix products: C = A B, or C += A B, plus a bias.

Goto's algorithm (Goto & van de Geijn 2008): a task computes a block of C.  For each section of the depth it copies its part
of A to panels of up to ROWS rows and its part of B to panels of WIDTH columns.  The micro-kernel multiplies two panels with
all ROWS x WIDTH sums in registers.  Two functions copy panels of A and B.  A convolution supplies a function that copies
windows of images, so that B exists only as panels (`convolution.h`).  Contiguous rows of A are read in place, and prefetched while
the panel before them is multiplied.

Each element is summed over the depth in order, however the work is divided, so results do not depend on the number of threads. */
#pragma once

#include "pool.h"
#include "tiles.h"
#include "vector.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#if LANES == 16 || defined(__aarch64__)
#define ROWS 14 /* 28 vectors of sums and 2 of B, in 32 registers */
#else
#define ROWS 6 /* 12 vectors of sums, in 16 registers */
#endif
#define WIDTH (2 * LANES)
#define DEPTH 320 /* maximum depth of a section: a panel of A then stays in the L1 cache, and a block of B in L2 */
#define BLOCK_COLUMNS 512
#define BLOCK_ROWS (ROWS * 24)
#define MOST_ROWS (HAS_TILES ? TILE_ROWS : ROWS) /* maximum number of rows of a panel of A */

/* Contiguous rows that are prefetched: address, number, and the sizes of a row and of an element in bytes. */
typedef struct {
    const char *start;
    int64_t count, row, element;
} Lines;

typedef struct Product Product;
struct Product {
    int64_t rows, columns, depth;
    const void *a, *b;
    void (*panel_of_a)(const Product *, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel); /* to shape (depth, rows) */
    void (*panels_of_b)(const Product *, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels); /* to shape (depth, WIDTH) */
    int64_t a_row, a_depth, b_depth, b_column; /* strides */
    float *out;
    int64_t out_row, out_column;
    int64_t b_group_step; /* distance of groups if B is read in place and its columns are grouped like those of C; else 0 */
    int64_t group, group_step, run, run_step; /* groups of runs, such as images of rows, if columns of C are not evenly spaced */
    bool add;              /* add to `out` */
    bool rows_of_a;        /* `panel_of_a` copies to shape (rows, depth), with rows of full vectors */
    bool pairs;            /* elements of A and B are pairs of bfloat16 numbers, and their products are sums of two products */
    void (*write)(const Product *, int64_t row, int64_t rows, int64_t column, int64_t columns, const float *block); /* instead of `out` */
    const void *context;   /* for `panel_of_a`, `panels_of_b` and `write` */
    Lines lines;           /* the rows of A, if they are contiguous; `count` is not used */
    const float *row_bias, *column_bias;
};

/* --- the micro-kernel --- */

#define EACH_ROW_6(X) X(0) X(1) X(2) X(3) X(4) X(5)
#if ROWS == 14
#define EACH_ROW(X) EACH_ROW_6(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#else
#define EACH_ROW(X) EACH_ROW_6(X)
#endif

/* Rows of B, which are `b_step` apart or, for images of a convolution, at given offsets. */
typedef struct {
    int64_t depth;
    const float *a, *b;
    int64_t a_row, b_step; /* `a_row` if A is not copied */
    const int64_t *b_offsets;
    float *out;
    int64_t out_row;
    bool add;
    const float *row_bias, *column_bias;
    int64_t runs, run_step; /* if A is not copied: its rows may consist of several runs of `depth` elements, `run_step` apart */
    Lines next;             /* rows of A to prefetch meanwhile */
} Panels;

/* Add the product of a number with a vector, or, for pairs of bfloat16 numbers, the sum of both products. */
INLINE Vector add_product(Vector sums, const float *a, Vector b, const bool pairs) {
#ifdef __AVX512BF16__
    if (pairs) return (Vector)_mm512_dpbf16_ps((__m512)sums, (__m512bh)_mm512_set1_ps(*a), (__m512bh)b);
#endif
    return sums + *a * b;
}

/* Multiply two panels.  `const` arguments are known after inlining, so that unused sums are removed.  Element (i, k) of A is at
`i * a_row + k * a_depth`, or in one of several runs. */
INLINE void multiply_panels(const Panels *p, const int rows, const bool wide, const bool by_offsets, const int64_t a_row, const int64_t a_depth,
                            const bool pairs) {
    const bool has_runs = a_depth == 1 && !by_offsets && !pairs;
    const int64_t depth = p->depth, b_step = p->b_step, out_row = p->out_row, *b_offsets = p->b_offsets;
    const float *a = p->a, *b = p->b, *row_bias = p->row_bias, *column_bias = p->column_bias;
    const bool add = p->add;
    const Lines next = p->next;
    float *out = p->out;
#define ZERO(i) Vector left##i = {0}, right##i = {0};
#define STEP(i)                                                                                                                    \
    if (rows > i) {                                                                                                                \
        left##i = add_product(left##i, a + i * a_row, b_left, pairs);                                                              \
        if (wide) right##i = add_product(right##i, a + i * a_row, b_right, pairs);                                                 \
    }
#define FETCH(i)                                                                                                                   \
    if (rows > i) __builtin_prefetch(out + i * out_row, 1), __builtin_prefetch(out + i * out_row + WIDTH - 1, 1);
#define FINISH(i)                                                                                                                  \
    if (rows > i) {                                                                                                                \
        float *to = out + i * out_row;                                                                                             \
        if (add) left##i += load(to);                                                                                              \
        if (row_bias) left##i += row_bias[i];                                                                                      \
        if (column_bias) left##i += load(column_bias);                                                                             \
        store(to, left##i);                                                                                                        \
        if (wide) {                                                                                                                \
            if (add) right##i += load(to + LANES);                                                                                 \
            if (row_bias) right##i += row_bias[i];                                                                                 \
            if (column_bias) right##i += load(column_bias + LANES);                                                                \
            store(to + LANES, right##i);                                                                                           \
        }                                                                                                                          \
    }
    EACH_ROW(ZERO)
    if (depth > 2 * LANES) { /* prefetching does not pay for shorter products */
        EACH_ROW(FETCH)
    }
    int64_t runs = has_runs ? p->runs : 1;
    do {
        for (int64_t k = 0; k < depth; k++) {
            const float *line = by_offsets ? b + b_offsets[k] : b + k * b_step;
            Vector b_left = load(line), b_right = wide ? load(line + LANES) : b_left;
            if (k % LANES == 0)
                for (int64_t i = 0; i < next.count; i++) __builtin_prefetch(next.start + i * next.row + k * next.element);
            EACH_ROW(STEP)
            a += a_depth;
        }
        b += depth * b_step, a += p->run_step - depth * a_depth;
    } while (--runs > 0);
    EACH_ROW(FINISH)
#undef ZERO
#undef STEP
#undef FETCH
#undef FINISH
}

typedef void MicroKernel(const Panels *);

#define PIECE 64 /* distance of the columns of a column-major A that is not copied */

#if defined(__AVX512BF16__) && !HAS_TILES
#define PAIRS_OF_ROWS(i)                                                                                                           \
    static void multiply_pairs_##i(const Panels *p) { multiply_panels(p, i + 1, true, false, 1, i + 1, true); }                    \
    static void multiply_pairs_narrow_##i(const Panels *p) { multiply_panels(p, i + 1, false, false, 1, i + 1, true); }            \
    static void multiply_pairs_rows_##i(const Panels *p) { multiply_panels(p, i + 1, true, false, p->a_row, 1, true); }            \
    static void multiply_pairs_rows_narrow_##i(const Panels *p) { multiply_panels(p, i + 1, false, false, p->a_row, 1, true); }
#define PAIR_NAMES(i) multiply_pairs_##i, multiply_pairs_narrow_##i, multiply_pairs_rows_##i, multiply_pairs_rows_narrow_##i
#else
#define PAIRS_OF_ROWS(i)
#define PAIR_NAMES(i) NULL, NULL, NULL, NULL
#endif
#define KERNELS_OF_ROWS(i)                                                                                                         \
    static void multiply_wide_##i(const Panels *p) { multiply_panels(p, i + 1, true, false, 1, i + 1, false); }                    \
    static void multiply_narrow_##i(const Panels *p) { multiply_panels(p, i + 1, false, false, 1, i + 1, false); }                 \
    static void multiply_rows_##i(const Panels *p) { multiply_panels(p, i + 1, true, false, p->a_row, 1, false); }                  \
    static void multiply_rows_narrow_##i(const Panels *p) { multiply_panels(p, i + 1, false, false, p->a_row, 1, false); }          \
    static void multiply_offsets_##i(const Panels *p) { multiply_panels(p, i + 1, true, true, 1, i + 1, false); }                  \
    static void multiply_columns_##i(const Panels *p) { multiply_panels(p, i + 1, true, false, 1, PIECE, false); }                  \
    static void multiply_columns_narrow_##i(const Panels *p) { multiply_panels(p, i + 1, false, false, 1, PIECE, false); }          \
    PAIRS_OF_ROWS(i)
#define NAMES(i)                                                                                                                   \
    {multiply_wide_##i, multiply_narrow_##i, multiply_rows_##i, multiply_rows_narrow_##i, PAIR_NAMES(i),                            \
     multiply_offsets_##i, multiply_columns_##i, multiply_columns_narrow_##i},
enum { WIDE, NARROW, BY_ROWS, ROWS_NARROW, OF_PAIRS, BY_OFFSETS = OF_PAIRS + 4, COLUMNS_OF_PIECE, COLUMNS_NARROW };
EACH_ROW(KERNELS_OF_ROWS)
static MicroKernel *const micro_kernels[ROWS][COLUMNS_NARROW + 1] = {EACH_ROW(NAMES)};
#undef KERNELS_OF_ROWS
#undef NAMES

#if HAS_TILES
#define KERNEL_OF_TILES(name, tall, wide)                                                                                          \
    static void name(const Panels *p) {                                                                                            \
        multiply_by_tiles(p->a, p->a_row, p->b, p->b_step, p->depth, p->out, p->out_row, p->add, tall, wide, false);               \
    }
KERNEL_OF_TILES(multiply_by_low_tiles, false, true)
KERNEL_OF_TILES(multiply_by_low_tiles_narrow, false, false)
KERNEL_OF_TILES(multiply_by_tall_tiles, true, true)
KERNEL_OF_TILES(multiply_by_tall_tiles_narrow, true, false)
#undef KERNEL_OF_TILES
#endif

/* Return the micro-kernel for a panel of C, which is `wide` if it has more than LANES columns. */
INLINE MicroKernel *micro_kernel_of(const Product *p, int64_t rows, bool by_rows, bool wide) {
#if HAS_TILES
    if (p->pairs && rows > 16) return wide ? multiply_by_tall_tiles : multiply_by_tall_tiles_narrow;
    if (p->pairs) return wide ? multiply_by_low_tiles : multiply_by_low_tiles_narrow;
#endif
    return micro_kernels[rows - 1][(by_rows ? BY_ROWS : WIDE) + (wide ? 0 : NARROW) + (p->pairs ? OF_PAIRS : 0)];
}

/* --- panels --- */

/* Copy a panel of A.  It needs space for LANES more elements: writes beyond a row are overwritten by the next row or panel. */
static void matrix_panel_of_a(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel) {
    const float *a = (const float *)p->a + row * p->a_row + k * p->a_depth;
    int64_t done = 0;
#if LANES >= ROWS
    if (p->a_row == 1 && p->a_depth >= LANES) {
        for (; done < depth - 1; done++) store(panel + done * rows, load(a + done * p->a_depth));
    } else if (p->a_depth == 1)
        for (; done + LANES <= depth; done += LANES) {
            Vector square[LANES];
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) square[i] = load(a + smaller(i, rows - 1) * p->a_row + done);
            transpose_vectors(square);
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) store(panel + (done + i) * rows, square[i]);
        }
#endif
    for (; done < depth; done++)
        for (int64_t i = 0; i < rows; i++) panel[done * rows + i] = a[i * p->a_row + done * p->a_depth];
}

/* Return the distance of rows in a panel of A: not a multiple of 1024 bytes, since the rows would then compete for a few cache sets. */
INLINE int64_t row_step(int64_t depth) {
    const int64_t step = pieces(depth, LANES) * LANES;
    return step % 256 ? step : step + LANES;
}

/* Copy contiguous rows of A to a panel of shape (rows, depth), with rows of full vectors. */
static void matrix_rows_of_a(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel) {
    const int64_t step = row_step(depth);
    for (int64_t i = 0; i < rows; i++) memcpy(panel + i * step, (const float *)p->a + (row + i) * p->a_row + k, depth * sizeof(float));
}

/* Whether the rows of A are read in place. */
INLINE bool in_place(const Product *p) { return p->panel_of_a == matrix_panel_of_a && p->a_depth == 1; }

/* Set A to contiguous rows, which are read in place.  Rows at multiples of 4096 bytes are copied, since they would compete for a few cache
sets. */
INLINE void set_rows_of_a(Product *p, const void *a, int64_t a_row) {
    p->a = a, p->a_row = a_row, p->a_depth = 1;
    p->rows_of_a = a_row % 1024 == 0;
    p->panel_of_a = p->rows_of_a ? matrix_rows_of_a : matrix_panel_of_a;
    p->lines = (Lines){.start = a, .row = a_row * (int64_t)sizeof(float), .element = sizeof(float)};
}

/* Return the distance of panels of B, including space for writes beyond the last row. */
INLINE int64_t panel_step(int64_t depth) { return depth * WIDTH + LANES; }

static void matrix_panels_of_b(const Product *p, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels) {
    const float *b = (const float *)p->b + column * p->b_column + k * p->b_depth;
    const int64_t step = panel_step(depth), whole = p->b_column == 1 ? columns / WIDTH : 0;
    for (int64_t d = 0; d < depth; d++) /* row by row: rows of B are contiguous */
        for (int64_t j = 0; j < whole; j++) {
            const float *from = b + d * p->b_depth + j * WIDTH;
            store(panels + j * step + d * WIDTH, load(from));
            store(panels + j * step + d * WIDTH + LANES, load(from + LANES));
        }
    for (int64_t j = whole * WIDTH; j < columns; j += WIDTH) {
        int64_t count = smaller(WIDTH, columns - j);
        const float *from = b + j * p->b_column;
        float *panel = panels + j / WIDTH * step;
        if (count < WIDTH) memset(panel, 0, depth * WIDTH * sizeof(float));
        if (p->b_depth == 1) transpose(panel, WIDTH, from, p->b_column, count, depth);
        else
            for (int64_t d = 0; d < depth; d++)
                for (int64_t c = 0; c < count; c++) panel[d * WIDTH + c] = from[c * p->b_column + d * p->b_depth];
    }
}

/* --- blocks --- */

/* Return the maximum number of rows of a panel of A. */
INLINE int64_t panel_rows(const Product *p) { return p->pairs ? MOST_ROWS : ROWS; }

/* Return the address of a column of C. */
INLINE int64_t place_of(const Product *p, int64_t column) {
    return column / p->group * p->group_step + column % p->group / p->run * p->run_step + column % p->run * p->out_column;
}

/* Write a panel of C, through a buffer if it is narrower than its vectors or covers several runs. */
static void multiply_panel(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t depth,
                           const float *a, const float *b, int64_t b_step, bool first, Lines next) {
    const bool by_rows = p->rows_of_a || in_place(p);
    Panels panels = {.depth = depth, .a = a, .a_row = p->rows_of_a ? row_step(depth) : p->a_row, .b = b, .b_step = b_step, .out = p->out + row * p->out_row,
                     .out_row = p->out_row, .add = p->add || !first, .row_bias = first && p->row_bias ? p->row_bias + row : NULL,
                     .column_bias = first && p->column_bias ? p->column_bias + column : NULL, .next = next};
    const bool wide = columns > LANES;
    MicroKernel *const micro_kernel = micro_kernel_of(p, rows, by_rows, wide);
    const bool one_run = p->run == p->columns; /* as in all matrix products: avoids divisions */
    if (columns % LANES == 0 && p->out_column == 1 && (one_run || column % p->run + columns <= p->run)) {
        panels.out += one_run ? column : place_of(p, column);
        micro_kernel(&panels);
        return;
    }
    float sums[MOST_ROWS * WIDTH], bias[WIDTH], *out = panels.out;
    const bool add = panels.add;
    if (panels.column_bias) panels.column_bias = memcpy(bias, panels.column_bias, columns * sizeof(float));
    panels.out = sums, panels.out_row = WIDTH, panels.add = false;
    micro_kernel(&panels);
    for (int64_t j = 0, count; j < columns; j += count) {
        count = smaller(columns - j, p->run - (column + j) % p->run);
        for (int64_t i = 0; i < rows; i++) {
            float *to = out + i * p->out_row + place_of(p, column + j), *from = sums + i * WIDTH + j;
            for (int64_t c = 0; c < count; c++) to[c * p->out_column] = from[c] + (add ? to[c * p->out_column] : 0.0f);
        }
    }
}

/* Return the first row of B at a column, if B is not copied. */
INLINE const float *b_in_place(const Product *p, int64_t column) {
    return (const float *)p->b + (p->b_group_step ? column / p->group * p->b_group_step + column % p->group : column);
}

/* Return a share of the rows of A from (row, k) on, which one of several calls prefetches. */
INLINE Lines share_of_rows(Lines lines, int64_t row, int64_t rows, int64_t k, int64_t call, int64_t calls) {
    const int64_t first = call * rows / calls, last = (call + 1) * rows / calls;
    if (lines.start == NULL) return lines;
    return (Lines){lines.start + (row + first) * lines.row + k * lines.element, last - first, lines.row, lines.element};
}

static void multiply_block(const Product *p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t runs = larger(1, pieces(p->depth, DEPTH)), longest = pieces(p->depth, runs * LANES) * LANES; /* in full cache lines */
    const int64_t most = panel_rows(p);
    const int64_t height = pieces(rows, larger(1, pieces(rows, most))); /* height of panels of A: nearly equal numbers of rows */
    const int64_t slack = LANES * WIDTH; /* for writes beyond the last row */
    float *copy_of_a = scratch(0, (most * row_step(longest) + pieces(columns, WIDTH) * panel_step(longest) + 2 * slack) * sizeof(float));
    float *b_panels = copy_of_a + most * row_step(longest) + slack;
    const bool direct = p->panels_of_b == matrix_panels_of_b && p->b_column == 1 && rows <= 3 * ROWS; /* too few uses of B */
    const int64_t whole = p->b_group_step ? columns : direct ? (columns % LANES ? columns / WIDTH * WIDTH : columns) : 0;
    for (int64_t k = 0; k < p->depth || k == 0; k += longest) { /* with depth 0, C is zero plus the bias */
        const int64_t depth = smaller(longest, p->depth - k);
        float *panels = b_panels + whole / WIDTH * panel_step(depth);
        if (whole < columns) p->panels_of_b(p, column + whole, columns - whole, k, depth, panels);
        for (int64_t i = 0, some; i < rows; i += some) {
            some = smaller(height, rows - i);
            const float *a = in_place(p) ? (const float *)p->a + (row + i) * p->a_row + k : copy_of_a;
            if (a == copy_of_a) p->panel_of_a(p, row + i, some, k, depth, copy_of_a);
            const bool is_last = i + some == rows; /* the next panel is the first one of the next section */
            const int64_t next = is_last ? 0 : i + some, next_k = is_last ? k + longest : k;
            const int64_t next_rows = next_k < p->depth ? smaller(height, rows - next) : 0;
            if (p->pairs) configure_tiles(some);
            for (int64_t j = 0; j < columns; j += WIDTH) {
                const float *b = j < whole ? b_in_place(p, column + j) + k * p->b_depth : b_panels + j / WIDTH * panel_step(depth);
                multiply_panel(p, row + i, some, column + j, smaller(WIDTH, columns - j), depth, a, b, j < whole ? p->b_depth : WIDTH, k == 0,
                               share_of_rows(p->lines, row + next, next_rows, next_k, j / WIDTH, pieces(columns, WIDTH)));
            }
        }
        if (p->depth == 0) break;
    }
    if (p->pairs) release_tiles();
}

/* --- complete products --- */

typedef struct {
    const Product *product;
    int64_t rows, columns, across; /* the size of a block, and the number of blocks side by side */
} Blocks;

static void compute_block(void *context, int64_t number) {
    const Blocks *blocks = context;
    const Product *p = blocks->product;
    const int64_t row = number / blocks->across * blocks->rows, column = number % blocks->across * blocks->columns;
    const int64_t rows = smaller(blocks->rows, p->rows - row), columns = smaller(blocks->columns, p->columns - column);
    if (p->write == NULL) {
        multiply_block(p, row, rows, column, columns);
        return;
    }
    Product q = *p;
    float *block = scratch(5, rows * columns * sizeof(float));
    q.out = block - row * columns - column;
    q.out_row = columns;
    multiply_block(&q, row, rows, column, columns);
    p->write(p, row, rows, column, columns, block);
}

/* Whether to compute the transpose of C from the transposes of A and B, where the rows of A and the columns of B are contiguous, as in a
linear layer.  One operand must then be transposed while it is copied, and A is smaller.  Vectors consist of rows of A.  C must also be
transposed, which is cheap if C is small or the depth is large. */
INLINE bool better_transposed(int64_t rows, int64_t columns, int64_t depth) {
    const bool is_less = 2 * rows <= columns || (4 * rows <= 3 * columns && depth >= 4 * columns);
    return is_less && 8 * pieces(rows, LANES) * LANES <= 9 * rows;
}

/* Compute C in equal blocks, multiples of the panel size; use at least `least` blocks if there is enough work. */
static void compute(const Product *p, int64_t least) {
    int64_t rows = pieces(p->rows, ROWS), columns = pieces(p->columns, WIDTH);
    if (rows == 0 || columns == 0) return;
    int64_t across = pieces(columns, BLOCK_COLUMNS / WIDTH), down = pieces(rows * pieces(columns, across), BLOCK_ROWS / ROWS * (BLOCK_COLUMNS / WIDTH));
    while (down * across < least && (down < rows || across < columns)) {
        if (across < columns && (down == rows || p->columns / across >= p->rows / down)) across++;
        else down++;
    }
    if (least > 1) /* so that all threads compute the same number of blocks */
        while (down * across % thread_count() && down < rows) down++;
    Blocks blocks = {p, pieces(rows, down) * ROWS, pieces(columns, across) * WIDTH, 0};
    blocks.across = pieces(p->columns, blocks.columns);
    int64_t count = pieces(p->rows, blocks.rows) * blocks.across;
    if (least > 1) parallel(count, compute_block, &blocks);
    else
        for (int64_t number = 0; number < count; number++) compute_block(&blocks, number);
}

INLINE Product product(int64_t rows, int64_t columns, int64_t depth, const float *a, int64_t a_row, int64_t a_depth, const float *b,
                       int64_t b_depth, int64_t b_column, float *out, int64_t out_row, bool add) {
    Product p = {.rows = rows, .columns = columns, .depth = depth, .a = a, .b = b, .panel_of_a = matrix_panel_of_a,
                 .panels_of_b = matrix_panels_of_b, .a_row = a_row, .a_depth = a_depth, .b_depth = b_depth, .b_column = b_column,
                 .out = out, .out_row = out_row, .out_column = 1, .group = columns, .run = columns, .add = add};
    if (a_depth == 1) set_rows_of_a(&p, a, a_row);
    return p;
}

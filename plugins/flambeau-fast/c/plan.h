/* Inference plans: a list of steps on float32 arrays, run in one call.

Each step is a line of LINE_OF_PLAN integers: its kind, then its parameters.  An address is `buffer << 40 | offset in elements`, or -1 for
none.  Buffer 0 holds the packed weights, buffer 1 the arena for intermediate results, and the others the inputs and outputs.
Images are channels-last.  Weights of products are packed as panels of WIDTH columns, `(panel, depth, column)`, padded with zeros, except
weights `(column, depth)` of linear layers, which are read from the memory of the parameter.
`inference/plan.py` writes the lines. */
#pragma once

#include "half_matrix.h"
#include "matrix.h"
#include "scalar.h"

#define LINE_OF_PLAN 32
#define BUFFERS 10
#define ROWS_OF_BLOCK (4 * ROWS)
#define BLOCK_OF_A (1 << 17)      /* number of elements of a block of copied windows, to stay in the L2 cache */
#define LEAST_OF_LOOP (1 << 14)   /* number of elements from which an element-wise loop is shared between threads */
#define LEAST_OF_WEIGHTS (1 << 15) /* number of elements of the weight from which the product of one row is shared */

enum { PRODUCT, LINEAR, DEPTHWISE, MEAN_OF_SPACE, MAX_POOL, TO_LAST, TO_FIRST, UNARY, ADD, MULTIPLY, SCALE, LAYER_NORM, AVERAGE_POOL, STRIDED, SOFTMAX,
       BATCHED, ATTENTION, RECURRENT };
enum { IDENTITY, RELU, CLAMP, HARDSWISH, HARDSIGMOID, SILU, SIGMOID, TANH, GELU, GELU_TANH };

typedef struct {
    const int64_t *line;
    float *const *buffers;
} Step;

INLINE float *address(const Step *s, int i) {
    const int64_t at = s->line[i];
    return at < 0 ? NULL : s->buffers[at >> 40] + (at & ((INT64_C(1) << 40) - 1));
}

typedef struct {
    int64_t kind;
    float low, high;
} Activation;

INLINE Activation activation_at(const Step *s, int i) {
    return (Activation){s->line[i], of_bits((int32_t)s->line[i + 1]), of_bits((int32_t)s->line[i + 2])};
}

INLINE void activate(float *x, int64_t count, Activation by) {
#define APPLY(expression)                                                                                                          \
    SIMD() for (int64_t i = 0; i < count; i++) x[i] = expression;                                                                  \
    break;
    switch (by.kind) {
    case RELU: APPLY(x[i] < 0.0f ? 0.0f : x[i])
    case CLAMP: APPLY(bounded(x[i], by.low, by.high))
    case HARDSWISH: APPLY(x[i] * hardsigmoid(x[i]))
    case HARDSIGMOID: APPLY(hardsigmoid(x[i]))
    case SILU: APPLY(silu(x[i]))
    case SIGMOID: APPLY(sigmoid(x[i]))
    case TANH: APPLY(hyperbolic_tangent(x[i]))
    case GELU: APPLY(gelu(x[i]))
    case GELU_TANH: APPLY(gelu_tanh(x[i]))
    default: break;
    }
#undef APPLY
}

/* Whether `activated` computes it: cheap functions, which are applied to sums before they are stored. */
INLINE bool is_cheap(Activation by) { return by.kind <= HARDSIGMOID; }

INLINE Vector activated(Vector x, Activation by) {
    const Vector zero = {0}, six = zero + 6.0f;
    switch (by.kind) {
    case RELU: return larger_lanes(zero, x);
    case CLAMP: return smaller_lanes(zero + by.high, larger_lanes(zero + by.low, x));
    case HARDSWISH: return x * (smaller_lanes(six, larger_lanes(zero, x + 3.0f)) * (1.0f / 6));
    case HARDSIGMOID: return smaller_lanes(six, larger_lanes(zero, x + 3.0f)) * (1.0f / 6);
    default: return x;
    }
}

/* --- products and convolutions ---

A convolution is a product of its windows with the weight `(tap and channel, output)`.  Windows are read from rows of the image, which are
copied with their padding; or, if the columns of a window are not adjacent, the windows themselves are copied. */

typedef struct {
    const float *a, *b, *bias, *residual;
    float *out;
    int64_t rows, columns, depth;
    int64_t pixel, out_row; /* distances of pixels, or rows of A, and of rows of the output */
    Activation by;
    int64_t taps; /* 0: A is not copied as windows */
    int64_t height, width, channels, out_height, out_width, tall, wide, down, right, top, left, row_dilation, column_dilation;
    int64_t block_rows, block_columns, across;
    int64_t unit; /* number of rows that blocks do not divide: those of a row of the output, if windows are read from rows of the image */
} PackedProduct;

/* Copy whole vectors while they end before `end`; may write up to LANES - 1 elements more than `count`. */
INLINE void copy_few(float *to, const float *from, int64_t count, const float *end) {
    int64_t i = 0;
    for (; i < count && from + i + LANES <= end; i += LANES) store(to + i, load(from + i));
    for (; i < count; i++) to[i] = from[i];
}

/* Copy one row of a window whose columns are adjacent, with zeros outside the image. */
INLINE void copy_window_row(const PackedProduct *p, int64_t x, const float *from, float *to, const float *end) {
    const int64_t first = smaller(p->wide, larger(0, -x)), last = larger(first, smaller(p->wide, p->width - x));
    if (p->pixel != p->channels) { /* a group of the channels */
        memset(to, 0, p->wide * p->channels * sizeof(float));
        for (int64_t q = first; q < last; q++) memcpy(to + q * p->channels, from + (x + q) * p->pixel, p->channels * sizeof(float));
    } else if (last - first == p->wide) copy_few(to, from + x * p->channels, p->wide * p->channels, end);
    else {
        memset(to, 0, first * p->channels * sizeof(float));
        memcpy(to + first * p->channels, from + (x + first) * p->channels, (last - first) * p->channels * sizeof(float));
        memset(to + last * p->channels, 0, (p->wide - last) * p->channels * sizeof(float));
    }
}

/* Copy the windows of `rows` positions from position `row` on, `line` elements apart.  Elements after a window are undefined. */
static void copy_windows(const PackedProduct *p, int64_t row, int64_t rows, float *copy, int64_t line) {
    const int64_t size = p->height * p->width * p->pixel, width = p->wide * p->channels;
    int64_t column = row % p->out_width, place = row / p->out_width % p->out_height;
    const float *image = p->a + row / p->out_width / p->out_height * size;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t x = column * p->right - p->left, y = place * p->down - p->top;
        float *to = copy + i * line;
        for (int64_t r = 0; r < p->tall; r++, to += width) {
            const int64_t at = y + r * p->row_dilation;
            const float *from = image + at * p->width * p->pixel;
            if (at < 0 || at >= p->height) memset(to, 0, width * sizeof(float));
            else if (p->column_dilation == 1) copy_window_row(p, x, from, to, image + size);
            else
                for (int64_t q = 0; q < p->wide; q++) {
                    const int64_t other = x + q * p->column_dilation;
                    if (other < 0 || other >= p->width) memset(to + q * p->channels, 0, p->channels * sizeof(float));
                    else memcpy(to + q * p->channels, from + other * p->pixel, p->channels * sizeof(float));
                }
        }
        if (++column == p->out_width) {
            column = 0;
            if (++place == p->out_height) place = 0, image += size;
        }
    }
}

/* Write the sums of some rows: add the residual, and activate. */
INLINE void finish_rows(const PackedProduct *p, int64_t row, int64_t rows, int64_t column, int64_t columns, float *sums, int64_t step) {
    if (step == columns && p->out_row == columns) columns *= rows, rows = 1; /* contiguous: one long row */
    for (int64_t i = 0; i < rows; i++) {
        float *to = p->out + (row + i) * p->out_row + column, *from = sums + i * step;
        if (p->residual) {
            const float *other = p->residual + (row + i) * p->out_row + column;
            SIMD() for (int64_t c = 0; c < columns; c++) from[c] += other[c];
        }
        activate(from, columns, p->by);
        if (to != from) memcpy(to, from, columns * sizeof(float));
    }
}

static void multiply_row(const PackedProduct *p, int64_t row, int64_t column, int64_t columns, const float *a) {
    const int64_t count = pieces(columns, WIDTH);
    for (int64_t j = 0; j < count; j += PANELS_AT_ONCE) {
        float line[WIDTH * PANELS_AT_ONCE];
        multiply_few_panels(a, p->depth, p->b + (column + j * WIDTH) * p->depth, p->depth * WIDTH, count - j, line);
        const int64_t at = column + j * WIDTH, some = smaller(WIDTH * PANELS_AT_ONCE, columns - j * WIDTH);
        for (int64_t c = 0; c < some && p->bias; c++) line[c] += p->bias[at + c];
        finish_rows(p, row, 1, at, some, line, 0);
    }
}

/* Apply an activation that is not cheap to some columns of some rows. */
INLINE void activate_block(const PackedProduct *p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    if (is_cheap(p->by)) return;
    if (columns == p->out_row) columns *= rows, rows = 1; /* contiguous: one long row */
    for (int64_t i = 0; i < rows; i++) activate(p->out + (row + i) * p->out_row + column, columns, p->by);
}

/* Write the sums of a tile: add the residual, and apply the activation if it is cheap. */
INLINE void finish_tile(const PackedProduct *p, int64_t row, int64_t rows, int64_t column, int64_t columns, const float *sums, int64_t step) {
    const int64_t at = row * p->out_row + column;
#define FINISH(kind)                                                                                                               \
    case kind: {                                                                                                                   \
        const Activation by = {kind, p->by.low, p->by.high};                                                                       \
        for (int64_t i = 0; i < rows; i++)                                                                                         \
            for (int64_t c = 0; c < columns; c += LANES) {                                                                         \
                Vector x = load(sums + i * step + c);                                                                              \
                if (p->residual) x += load_some(p->residual + at + i * p->out_row + c, columns - c);                               \
                store_some(p->out + at + i * p->out_row + c, activated(x, by), columns - c, false);                                \
            }                                                                                                                      \
        break;                                                                                                                     \
    }
    switch (is_cheap(p->by) ? p->by.kind : IDENTITY) {
        FINISH(IDENTITY)
        FINISH(RELU)
        FINISH(CLAMP)
        FINISH(HARDSWISH)
        FINISH(HARDSIGMOID)
    }
#undef FINISH
}

/* Multiply some rows of A, which `panels` describes, with a panel of the weight. */
INLINE void multiply_tile(const PackedProduct *p, Panels panels, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    float sums[ROWS * WIDTH], bias[WIDTH];
    const bool direct = columns == WIDTH || columns == LANES;
    panels.b = p->b + column * p->depth, panels.b_step = WIDTH;
    panels.out = direct ? p->out + row * p->out_row + column : sums, panels.out_row = direct ? p->out_row : WIDTH;
    if (p->bias) panels.column_bias = direct ? p->bias + column : memcpy(bias, p->bias + column, columns * sizeof(float));
    micro_kernels[rows - 1][columns > LANES ? BY_ROWS : ROWS_NARROW](&panels);
    if (!direct || p->residual || (p->by.kind && is_cheap(p->by))) finish_tile(p, row, rows, column, columns, panels.out, panels.out_row);
}

/* Rows of an image with their padding: `pixel` is the distance of columns, `line` that of rows, from that of the first window on. */
typedef struct {
    const float *from;
    int64_t pixel, line;
} PaddedRows;

INLINE int64_t padded_width(const PackedProduct *p) { return (p->out_width - 1) * p->right + p->wide; }
INLINE int64_t padded_height(const PackedProduct *p, int64_t rows) { return (rows - 1) * p->down + (p->tall - 1) * p->row_dilation + 1; }

/* Copy the rows of the image that some rows of the output read; rows without padding are not copied if windows are contiguous. */
static PaddedRows padded_rows(const PackedProduct *p, int64_t row, int64_t rows) {
    const int64_t y = row % p->out_height * p->down - p->top, width = padded_width(p), height = padded_height(p, rows), channels = p->channels;
    const int64_t left = smaller(p->left, width), inside = smaller(p->width, width - left), line = width * channels;
    const float *image = p->a + row / p->out_height * p->height * p->width * p->pixel;
    if (!p->left && width <= p->width && y >= 0 && y + height <= p->height && (p->pixel == channels || p->wide == 1))
        return (PaddedRows){image + y * p->width * p->pixel, p->pixel, p->width * p->pixel};
    float *copy = scratch(6, height * line * sizeof(float));
    for (int64_t r = 0; r < height; r++) {
        float *to = copy + r * line;
        const float *from = image + (y + r) * p->width * p->pixel;
        if (y + r < 0 || y + r >= p->height) {
            memset(to, 0, line * sizeof(float));
            continue;
        }
        memset(to, 0, left * channels * sizeof(float));
        to += left * channels;
        if (p->pixel == channels) memcpy(to, from, inside * channels * sizeof(float));
        else
            for (int64_t x = 0; x < inside; x++) memcpy(to + x * channels, from + x * p->pixel, channels * sizeof(float));
        memset(to + inside * channels, 0, (width - left - inside) * channels * sizeof(float));
    }
    return (PaddedRows){copy, channels, line};
}

/* Compute some columns of `rows` rows of the output, of one image. */
static void rows_of_windows(const PackedProduct *p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const PaddedRows image = padded_rows(p, row, rows);
    const int64_t tile = pieces(p->out_width, pieces(p->out_width, ROWS)); /* nearly equal numbers of columns */
    Panels panels = {.depth = p->wide * p->channels, .a_row = p->right * image.pixel, .runs = p->tall, .run_step = p->row_dilation * image.line};
    for (int64_t j = 0; j < columns; j += WIDTH)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t x = 0; x < p->out_width; x += tile) {
                panels.a = image.from + r * p->down * image.line + x * panels.a_row;
                multiply_tile(p, panels, (row + r) * p->out_width + x, smaller(tile, p->out_width - x), column + j, smaller(WIDTH, columns - j));
            }
    activate_block(p, row * p->out_width, rows * p->out_width, column, columns);
}

static void packed_block(void *context, int64_t number) {
    const PackedProduct *p = context;
    const int64_t row = number / p->across * p->block_rows, column = number % p->across * p->block_columns;
    const int64_t rows = smaller(p->block_rows, p->rows - row), columns = smaller(p->block_columns, p->columns - column);
    if (p->unit > 1) {
        const int64_t first = row / p->unit, last = (row + rows) / p->unit;
        for (int64_t y = first, some; y < last; y += some) {
            some = smaller(last - y, p->out_height - y % p->out_height);
            rows_of_windows(p, y, some, column, columns);
        }
        return;
    }
    const int64_t line = pieces(p->depth, LANES) * LANES + (p->depth % 1024 ? 0 : LANES);
    const bool in_place = !p->taps && (p->pixel % 1024 || rows == 1);
    const float *a = p->a + row * p->pixel;
    int64_t a_row = p->pixel;
    if (!in_place) {
        float *copy = scratch(6, (rows * line + WIDTH) * sizeof(float));
        if (p->taps) copy_windows(p, row, rows, copy, line);
        else
            for (int64_t i = 0; i < rows; i++) memcpy(copy + i * line, a + i * p->pixel, p->depth * sizeof(float));
        a = copy, a_row = line;
    }
    if (rows == 1) {
        multiply_row(p, row, column, columns, a);
        return;
    }
    const int64_t height = pieces(rows, pieces(rows, ROWS)); /* nearly equal numbers of rows */
    for (int64_t j = 0; j < columns; j += WIDTH)
        for (int64_t i = 0, some; i < rows; i += some) {
            some = smaller(height, rows - i);
            const Panels panels = {.depth = p->depth, .a = a + i * a_row, .a_row = a_row};
            multiply_tile(p, panels, row + i, some, column + j, smaller(WIDTH, columns - j));
        }
    activate_block(p, row, rows, column, columns);
}

/* Choose the size of blocks so that threads finish at about the same time. */
static void divide(PackedProduct *p) {
    const int64_t threads = thread_count(), panels = pieces(p->columns, WIDTH);
    const int64_t largest = p->unit > 1 ? larger(1, ROWS_OF_BLOCK / p->unit) * p->unit
                                        : larger(ROWS, smaller(ROWS_OF_BLOCK, BLOCK_OF_A / larger(1, p->depth) / ROWS * ROWS));
    int64_t best = INT64_MAX;
    const bool reads_much = p->rows == 1 && p->columns * p->depth >= LEAST_OF_WEIGHTS; /* one thread would wait for the L3 cache */
    if (shared_blocks(p->rows * p->columns * p->depth) == 1 && !reads_much) {
        p->block_rows = largest, p->block_columns = panels * WIDTH;
        return;
    }
    for (int64_t across = 1; across <= smaller(panels, 2 * threads); across++)
        for (int64_t rounds = 1; rounds <= 3; rounds++) {
            const int64_t down = larger(pieces(p->rows, largest), smaller(p->rows, pieces(rounds * threads, across)));
            const int64_t rows = pieces(pieces(p->rows, down), p->unit) * p->unit, columns = pieces(panels, across);
            const int64_t blocks = pieces(p->rows, rows) * pieces(panels, columns);
            const int64_t copies = p->taps ? columns + 1 : columns; /* each block copies its windows */
            const int64_t time = pieces(blocks, threads) * (rows + pieces(rows, ROWS)) * copies;
            if (time < best) best = time, p->block_rows = rows, p->block_columns = columns * WIDTH;
        }
}

/* Return `unit`.  Columns of the image at multiples of 4096 bytes would compete for a few cache sets. */
static int64_t unit_of(const PackedProduct *p) {
    const bool are_adjacent = p->column_dilation == 1 || p->wide == 1;
    const bool suits = p->taps && are_adjacent && p->out_width > 1 && p->right * p->channels % 1024 && p->right * p->pixel % 1024;
    const int64_t rows = larger(1, ROWS_OF_BLOCK / larger(1, p->out_width));
    return suits && padded_width(p) * padded_height(p, rows) * p->channels <= BLOCK_OF_A ? p->out_width : 1;
}

/* Parameters: 1 out, 2 a, 3 b, 4 bias, 5 residual, 6 rows, 7 columns, 8 depth, 9-11 activation, 12 taps, 13-17 height, width, channels,
height and width of the output, 18-19 height and width of the kernel, 20-25 stride, padding, dilation, 26-27 distances of pixels and of rows of the output. */
static void run_product(const Step *s) {
    const int64_t *l = s->line;
    PackedProduct p = {address(s, 2), address(s, 3), address(s, 4), address(s, 5), address(s, 1), l[6], l[7], l[8], l[26], l[27], activation_at(s, 9), l[12],
                       l[13], l[14], l[15], l[16], l[17], l[18], l[19], l[20], l[21], l[22], l[23], l[24], l[25], 0, 0, 0, 1};
    p.unit = unit_of(&p);
    divide(&p);
    p.across = pieces(p.columns, p.block_columns);
    parallel(pieces(p.rows, p.block_rows) * p.across, packed_block, &p);
}

/* --- linear layers ---

The weight `(column, depth)` is read in place, so that it exists once.  Tiles are transposed: their rows are rows of the weight, and their
columns are rows of A, copied as panels. */

#define TILES_AT_ONCE 8
#define LINE_OF_CACHE 16 /* elements */
#define ELEMENTS_OF_PANELS (1 << 16) /* of a block of copied rows, to stay in the L2 cache */

#define MOST_IN_CACHE (1 << 19) /* elements of a weight that stays in the L2 caches between two calls */
#define DOTS_AT_ONCE 4

/* Compute dot products of a row with rows of a weight in the cache, where prefetching would take time.  Full vectors of the weight begin
with a line of the cache if those of all its rows can. */
static void dots_in_cache(float *to, const float *b, int64_t columns, const float *a, int64_t depth) {
    const Bits lane = lane_numbers();
    const int64_t start = depth % LANES ? 0 : -(int64_t)((uintptr_t)b / sizeof(float)) & (LANES - 1), end = start + (depth - start) / LANES * LANES;
    float *row = (float *)scratch(6, (depth + LANES) * sizeof(float)) + LANES - start;
    memcpy(row, a, depth * sizeof(float));
    for (int64_t j = 0; j < columns; j += DOTS_AT_ONCE) {
        const float *from[DOTS_AT_ONCE];
        Vector sums[2 * DOTS_AT_ONCE];
        float totals[DOTS_AT_ONCE];
        _Pragma("GCC unroll 8") for (int i = 0; i < 2 * DOTS_AT_ONCE; i++) sums[i] = (Vector){0};
        for (int i = 0; i < DOTS_AT_ONCE; i++) from[i] = b + smaller(j + i, columns - 1) * depth;
#define ADD(k, half, kept)                                                                                                         \
    _Pragma("GCC unroll 4") for (int i = 0; i < DOTS_AT_ONCE; i++) sums[2 * i + half] += kept(load(row + (k))) * kept(load(from[i] + (k)));
#define ALL(value) value
#define FIRST(value) kept(value, lane < (int)start)
#define LAST(value) kept(value, lane >= (int)(end - depth + LANES))
        int64_t k = start;
        for (; k + 2 * LANES <= end; k += 2 * LANES) {
            ADD(k, 0, ALL)
            ADD(k + LANES, 1, ALL)
        }
        if (k < end) ADD(k, 0, ALL)
        if (start) ADD(0, 1, FIRST)
        if (end < depth) ADD(depth - LANES, 0, LAST)
#undef ADD
        _Pragma("GCC unroll 4") for (int i = 0; i < DOTS_AT_ONCE; i++) totals[i] = sum_of_lanes(sums[2 * i] + sums[2 * i + 1]);
        memcpy(to + j, totals, smaller(DOTS_AT_ONCE, columns - j) * sizeof(float));
    }
}

/* Compute some columns of the only row. */
static void linear_row(const PackedProduct *p, int64_t column, int64_t columns) {
    const int64_t padded = pieces(p->depth, LANES) * LANES, bytes = p->depth * sizeof(float);
    const float *b = p->b + column * p->depth;
    float *to = p->out + column;
    if (p->depth >= LANES && p->columns * p->depth <= MOST_IN_CACHE) dots_in_cache(to, b, columns, p->a, p->depth);
    else {
        float *row = scratch(6, padded * sizeof(float));
        memcpy(row, p->a, bytes);
        for (int64_t k = p->depth; k < padded; k++) row[k] = 0.0f;
        dot_products(to, columns, (const char *)b, bytes, columns, row, padded, 1, p->depth, FLOAT32);
    }
    for (int64_t c = 0; c < columns && p->bias; c++) to[c] += p->bias[column + c];
    finish_rows(p, 0, 1, column, columns, to, 0);
}

static void linear_block(void *context, int64_t number) {
    const PackedProduct *p = context;
    const int64_t row = number / p->across * p->block_rows, column = number % p->across * p->block_columns;
    const int64_t rows = smaller(p->block_rows, p->rows - row), columns = smaller(p->block_columns, p->columns - column);
    if (p->rows == 1) {
        linear_row(p, column, columns);
        return;
    }
    const int64_t depth = p->depth, step = panel_step(depth);
    float *panels = scratch(6, pieces(rows, WIDTH) * step * sizeof(float));
    const Product copied = {.depth = depth, .b = p->a + row * p->pixel, .b_depth = 1, .b_column = p->pixel};
    matrix_panels_of_b(&copied, 0, rows, 0, depth, panels);
    for (int64_t j = 0, some; j < columns; j += some) {
        some = smaller(TILES_AT_ONCE * ROWS, columns - j);
        const float *next = p->b + (column + j + some) * depth; /* fetched in parts, while these rows of the weight are used */
        const int64_t ahead = smaller(TILES_AT_ONCE * ROWS, columns - j - some) * depth, part = pieces(ahead, pieces(rows, WIDTH));
        for (int64_t i = 0; i < rows; i += WIDTH) {
            for (int64_t k = i / WIDTH * part; k < smaller(ahead, (i / WIDTH + 1) * part); k += LINE_OF_CACHE) __builtin_prefetch(next + k);
            float sums[TILES_AT_ONCE * ROWS * WIDTH];
            const int64_t few = smaller(WIDTH, rows - i), height = pieces(some, pieces(some, ROWS));
            for (int64_t c = 0, tile; c < some; c += tile) {
                const int64_t at = column + j + c;
                tile = smaller(height, some - c);
                const Panels tile_of = {.depth = depth, .a = p->b + at * depth, .a_row = depth, .b = panels + i / WIDTH * step, .b_step = WIDTH,
                                        .out = sums + c * WIDTH, .out_row = WIDTH, .row_bias = p->bias ? p->bias + at : NULL};
                micro_kernels[tile - 1][few > LANES ? BY_ROWS : ROWS_NARROW](&tile_of);
            }
            float *to = p->out + (row + i) * p->out_row + column + j;
            transpose(to, p->out_row, sums, WIDTH, some, few);
            if (p->residual || p->by.kind) finish_rows(p, row + i, few, column + j, some, to, p->out_row);
        }
    }
}

/* Choose blocks so that threads finish at about the same time; each block copies its rows. */
static void divide_linear(PackedProduct *p) {
    const int64_t threads = thread_count(), panels = pieces(p->rows, WIDTH), tiles = pieces(p->columns, ROWS), copying = 2 * WIDTH;
    const int64_t largest = larger(1, smaller(panels, ELEMENTS_OF_PANELS / WIDTH / larger(1, p->depth)));
    const bool is_shared = shared_blocks(p->rows * p->columns * p->depth) > 1;
    int64_t best = INT64_MAX;
    for (int64_t across = 1; across <= (is_shared ? smaller(tiles, 2 * threads) : 1); across++)
        for (int64_t down = pieces(panels, largest); down <= smaller(panels, pieces(panels, largest) + (is_shared ? 2 * threads : 0)); down++) {
            const int64_t rows = pieces(panels, down), columns = pieces(tiles, across) * ROWS;
            const int64_t blocks = pieces(panels, rows) * pieces(p->columns, columns), time = pieces(blocks, is_shared ? threads : 1) * rows * (columns + copying);
            if (time < best) best = time, p->block_rows = rows * WIDTH, p->block_columns = columns;
        }
}

/* Parameters as for PRODUCT, without windows. */
static void run_linear(const Step *s) {
    const int64_t *l = s->line;
    PackedProduct p = {.a = address(s, 2), .b = (const float *)(intptr_t)l[3], .bias = address(s, 4), .residual = address(s, 5), .out = address(s, 1),
                       .rows = l[6], .columns = l[7], .depth = l[8], .pixel = l[8], .out_row = l[7], .by = activation_at(s, 9)};
    divide_linear(&p);
    p.across = pieces(p.columns, p.block_columns);
    parallel(pieces(p.rows, p.block_rows) * p.across, linear_block, &p);
}

/* --- pooling --- */

/* Sums of some vectors of channels over positions, as sums of even and of odd positions, times `scale`. */
INLINE void mean_of_vectors(float *to, const float *from, int64_t positions, int64_t channels, float scale, const int vectors) {
    Vector even[4] = {{0}}, odd[4] = {{0}};
    int64_t i = 0;
    for (; i + 2 <= positions; i += 2, from += 2 * channels)
        for (int v = 0; v < vectors; v++) even[v] += load(from + v * LANES), odd[v] += load(from + channels + v * LANES);
    for (int v = 0; v < vectors; v++) store(to + v * LANES, ((i < positions ? even[v] + load(from + v * LANES) : even[v]) + odd[v]) * scale);
}

/* Means over space.  Parameters: 1 out, 2 input, 3 batch, 4 positions, 5 channels. */
static void mean_of_image(void *context, int64_t n) {
    const Step *s = context;
    const int64_t positions = s->line[4], channels = s->line[5];
    const float *from = address(s, 2) + n * positions * channels, scale = 1.0f / (float)positions;
    float *to = address(s, 1) + n * channels;
    int64_t c = 0;
    for (; c + 4 * LANES <= channels; c += 4 * LANES) mean_of_vectors(to + c, from + c, positions, channels, scale, 4);
    for (; c + LANES <= channels; c += LANES) mean_of_vectors(to + c, from + c, positions, channels, scale, 1);
    for (; c < channels; c++) {
        float sum = 0.0f;
        for (int64_t i = 0; i < positions; i++) sum += from[i * channels + c];
        to[c] = sum * scale;
    }
}

/* Parameters as for DEPTHWISE, without a weight. */
static void max_pool_row(void *context, int64_t number) {
    const Step *s = context;
    const int64_t *l = s->line, height = l[6], width = l[7], channels = l[8], out_height = l[9], out_width = l[10];
    const int64_t y = number % out_height * l[13] - l[15];
    const float *image = address(s, 2) + number / out_height * height * width * channels;
    float *to = address(s, 1) + number * out_width * channels;
    for (int64_t column = 0; column < out_width; column++, to += channels) {
        for (int64_t c = 0; c < channels; c++) to[c] = -INFINITY;
        for (int64_t r = 0; r < l[11]; r++)
            for (int64_t q = 0; q < l[12]; q++) {
                const int64_t down = y + r * l[17], across = column * l[14] - l[16] + q * l[18];
                if (down < 0 || down >= height || across < 0 || across >= width) continue;
                const float *from = image + (down * width + across) * channels;
                SIMD() for (int64_t c = 0; c < channels; c++) to[c] = to[c] >= from[c] || to[c] != to[c] ? to[c] : from[c];
            }
    }
}

/* Parameters as for DEPTHWISE, without a weight, and 19 whether padding counts, 20 the divisor, or 0 for the number of elements. */
static void average_pool_row(void *context, int64_t number) {
    const Step *s = context;
    const int64_t *l = s->line, height = l[6], width = l[7], channels = l[8], out_height = l[9], out_width = l[10];
    const int64_t y = number % out_height * l[13] - l[15], first = larger(0, y), last = smaller(height, y + l[11]);
    const float *image = address(s, 2) + number / out_height * height * width * channels;
    float *to = address(s, 1) + number * out_width * channels;
    for (int64_t column = 0; column < out_width; column++, to += channels) {
        const int64_t x = column * l[14] - l[16], left = larger(0, x), right = smaller(width, x + l[12]);
        const int64_t all = (smaller(height + l[15], y + l[11]) - y) * (smaller(width + l[16], x + l[12]) - x);
        const int64_t count = l[20] ? l[20] : l[19] ? all : (last - first) * (right - left);
        memset(to, 0, channels * sizeof(float));
        for (int64_t r = first; r < last; r++)
            for (int64_t q = left; q < right; q++) {
                const float *from = image + (r * width + q) * channels;
                SIMD() for (int64_t c = 0; c < channels; c++) to[c] += from[c];
            }
        for (int64_t c = 0; c < channels; c++) to[c] /= (float)count;
    }
}

/* --- the rest --- */

#define COLUMNS_OF_TASK 1024

/* Transpose `(batch, rows, columns)`.  Parameters: 1 out, 2 input, 3 batch, 4 rows, 5 columns. */
static void transpose_columns(void *context, int64_t number) {
    const Step *s = context;
    const int64_t rows = s->line[4], columns = s->line[5], tasks = pieces(columns, COLUMNS_OF_TASK);
    const int64_t n = number / tasks, column = number % tasks * COLUMNS_OF_TASK;
    if (rows == 3) { /* images with channels last, without vectors of which most lanes are unused */
        const float *from = address(s, 2) + n * rows * columns;
        float *restrict to = address(s, 1) + n * rows * columns;
        SIMD() for (int64_t i = column; i < smaller(columns, column + COLUMNS_OF_TASK); i++)
            to[3 * i] = from[i], to[3 * i + 1] = from[columns + i], to[3 * i + 2] = from[2 * columns + i];
        return;
    }
    transpose(address(s, 1) + n * rows * columns + column * rows, rows, address(s, 2) + n * rows * columns + column, columns, rows,
              smaller(COLUMNS_OF_TASK, columns - column));
}

/* Loops over elements.  Parameters: 1 out, 2 input, 3 other, 4 size, 6-8 activation. */
static void elements_of_task(void *context, int64_t number) {
    const Step *s = context;
    const int64_t step = LEAST_OF_LOOP / 4, first = number * step, count = smaller(step, s->line[4] - first);
    const float *from = address(s, 2) + first, *other = address(s, 3);
    float *to = address(s, 1) + first;
    if (s->line[0] == UNARY) memmove(to, from, count * sizeof(float));
    else if (s->line[0] == ADD) {
        SIMD() for (int64_t i = 0; i < count; i++) to[i] = from[i] + other[first + i];
    } else {
        SIMD() for (int64_t i = 0; i < count; i++) to[i] = from[i] * other[first + i];
    }
    activate(to, count, activation_at(s, 6));
}

/* Multiply `(image, position, channel)` by `(image, channel)`.  Parameters: 1 out, 2 input, 3 other, 4 positions of all images,
5 channels, 6-8 activation, 9 positions of an image. */
static void scale_rows(void *context, int64_t number) {
    const Step *s = context;
    const int64_t channels = s->line[5], step = larger(1, LEAST_OF_LOOP / 4 / channels), last = smaller((number + 1) * step, s->line[4]);
    for (int64_t i = number * step; i < last; i++) {
        const float *from = address(s, 2) + i * channels, *by = address(s, 3) + i / s->line[9] * channels;
        float *to = address(s, 1) + i * channels;
        SIMD() for (int64_t c = 0; c < channels; c++) to[c] = from[c] * by[c];
        activate(to, channels, activation_at(s, 6));
    }
}

/* Parameters: 1 out, 2 input, 3 weight, 4 rows, 5 length, 6 bias, 7 epsilon. */
static void normalize_row(void *context, int64_t row) {
    const Step *s = context;
    const int64_t length = s->line[5];
    const float *x = address(s, 2) + row * length, *weight = address(s, 3), *bias = address(s, 6);
    float *to = address(s, 1) + row * length;
    const float mean = sum_of(x, length) / (float)length, variance = sum_of_squares(x, length, mean) / (float)length;
    const float scale = inverse_root(variance + of_bits((int32_t)s->line[7]));
    SIMD() for (int64_t i = 0; i < length; i++) to[i] = (x[i] - mean) * scale * (weight ? weight[i] : 1.0f) + (bias ? bias[i] : 0.0f);
}

#include "plan_depthwise.h"
#include "plan_sequences.h"

/* Run tasks on several threads if they process many elements together. */
static void share(int64_t tasks, int64_t elements, void (*task)(void *, int64_t), Step *s) {
    if (elements >= LEAST_OF_LOOP) parallel(tasks, task, s);
    else
        for (int64_t number = 0; number < tasks; number++) task(s, number);
}

static void run_step(Step *s) {
    const int64_t *l = s->line;
    switch (l[0]) {
    case PRODUCT: run_product(s); break;
    case LINEAR: run_linear(s); break;
    case DEPTHWISE: share(l[5] * pieces(l[9], rows_of_band(l)) * parts_of_channels(l), l[5] * l[9] * l[10] * l[8], depthwise_band, s); break;
    case MAX_POOL: share(l[5] * l[9], l[5] * l[9] * l[10] * l[8], max_pool_row, s); break;
    case MEAN_OF_SPACE: share(l[3], l[3] * l[4] * l[5], mean_of_image, s); break;
    case TO_LAST: case TO_FIRST: share(l[3] * pieces(l[5], COLUMNS_OF_TASK), l[3] * l[4] * l[5], transpose_columns, s); break;
    case UNARY: case ADD: case MULTIPLY: share(pieces(l[4], LEAST_OF_LOOP / 4), l[4], elements_of_task, s); break;
    case SCALE: share(pieces(l[4], larger(1, LEAST_OF_LOOP / 4 / l[5])), l[4] * l[5], scale_rows, s); break;
    case LAYER_NORM: share(l[4], l[4] * l[5], normalize_row, s); break;
    case AVERAGE_POOL: share(l[5] * l[9], l[5] * l[9] * l[10] * l[8], average_pool_row, s); break;
    case STRIDED: share(pieces(rows_of_strided(l), larger(1, LEAST_OF_LOOP / 4 / l[10])), rows_of_strided(l) * l[10], strided_rows, s); break;
    case SOFTMAX: share(pieces(l[3], larger(1, LEAST_OF_LOOP / 4 / l[4])), l[3] * l[4], softmax_of_rows, s); break;
    case BATCHED: run_batched(s); break;
    case ATTENTION: run_attention(s); break;
    case RECURRENT: run_recurrent(s); break;
    }
}

/* Run a plan.  Arguments: lines, pairs (address, bits) of elements of the original weights, packed weights, arena, eight inputs and
outputs (empty if unused).  Declines if a weight has changed. */
static void run_plan(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    float *buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) buffers[i] = FLOATS(i + 2);
    for (int64_t i = 0; i < SIZE(1, 0); i++)
        if (*(const int32_t *)(intptr_t)LONGS(1)[2 * i] != (int32_t)LONGS(1)[2 * i + 1]) {
            decline();
            return;
        }
    for (int64_t i = 0; i < SIZE(0, 0); i++) {
        Step step = {LONGS(0) + i * LINE_OF_PLAN, buffers};
        run_step(&step);
    }
}

/* Pack a weight as panels.  Arguments: panels, matrix `(depth, column)` with any strides. */
static void pack_panels(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t depth = SIZE(1, 0), columns = SIZE(1, 1), down = a[1].strides[0] / 4, across = a[1].strides[1] / 4;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < depth; k++)
            FLOATS(0)[j / WIDTH * depth * WIDTH + k * WIDTH + j % WIDTH] = FLOATS(1)[k * down + j * across];
}

#define PLAN_KERNELS {"plan", "LLFFCCCCCCCC", run_plan, WHOLE}, {"pack_panels", "FF", pack_panels, WHOLE}

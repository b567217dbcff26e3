/* Depthwise convolutions of images `(sample, channel, row, column)`: each channel of the output is computed from one of the input.

A plane is copied with its padding; the copy stays in the L1 or L2 cache.  With a horizontal stride, columns of the copy are grouped by
their index modulo the stride, so that adjacent outputs read adjacent elements.  A task computes several planes: the padding, which is
the same for all, is cleared once. */
#pragma once

#include "convolution.h"

#define ROWS_AT_ONCE 7 /* independent sums, because each waits for the one before; usual heights are multiples of 7 */
#define MOST_TALL 7    /* rows of windows whose weights are loaded once for several rows of the output */

/* A group of columns in the copy. */
typedef struct {
    int64_t at;           /* place of its first column, which may be padding, in a row of the copy */
    int64_t first, count; /* place of the first column of the input in the group, and the number of places from it to the last one */
    int64_t column;       /* the column of the input at that place */
} Group;

typedef struct {
    const Argument *a;
    Steps steps;
    int64_t down, right;   /* distances of the input's rows and columns in the copy: more than 1 for a transposed convolution */
    int64_t rows, line;    /* number and length of rows of the copy */
    const Group *groups;   /* one for each column modulo the stride */
    int64_t planes, tasks; /* number of planes, or of channels for the weight's gradient, and of the tasks that compute them */
} Depthwise;

/* Load `count` elements; the other lanes are zero.  `end` is the end of the memory. */
INLINE Vector load_columns(const float *from, int64_t count, const float *end) {
#if LANES < 16
    if (from + LANES <= end) return count < LANES ? kept(load(from), lane_numbers() < (int)count) : load(from);
#endif
    return load_some(from, count);
}

/* Copy `count` elements to every second place, with zeros between and after them. */
INLINE void copy_apart(float *to, const float *from, int64_t count, const float *end) {
    const Vector none = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        const Vector x = load_columns(from + i, count - i, end);
#if LANES == 16
        store(to + 2 * i, __builtin_shufflevector(x, none, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
        store(to + 2 * i + LANES, __builtin_shufflevector(x, none, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
#elif LANES == 8
        store(to + 2 * i, __builtin_shufflevector(x, none, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 2 * i + LANES, __builtin_shufflevector(x, none, 4, 12, 5, 13, 6, 14, 7, 15));
#else
        store(to + 2 * i, __builtin_shufflevector(x, none, 0, 4, 1, 5));
        store(to + 2 * i + LANES, __builtin_shufflevector(x, none, 2, 6, 3, 7));
#endif
    }
}

INLINE void copy_every(float *to, const float *from, int64_t count, const int64_t step, const float *end) {
    for (int64_t i = 0; i < count; i += LANES) {
        const Vector x = every(from + i * step, step, end);
        store(to + i, count - i < LANES ? kept(x, lane_numbers() < (int)(count - i)) : x);
    }
}

/* Copy the columns of a row of the input that belong to a group. */
INLINE void copy_row(const Depthwise *d, const Group *g, const float *row, const float *end, float *to) {
    const int64_t step = d->steps.right;
    const float *from = row + g->column;
    to += g->at + g->first;
    if (d->right == 2) copy_apart(to, from, pieces(g->count, 2), end);
    else if (d->right > 2)
        for (int64_t i = 0; i * d->right < g->count; i++) to[i * d->right] = from[i];
    else if (step == 1)
        for (int64_t i = 0; i < g->count; i += LANES) store(to + i, load_columns(from + i, g->count - i, end));
    else if (step == 2) copy_every(to, from, g->count, 2, end);
    else copy_every(to, from, g->count, step, end);
}

static float *cleared_copy(const Depthwise *d) {
    float *copy = scratch(0, d->rows * d->line * sizeof(float));
    memset(copy, 0, d->rows * d->line * sizeof(float));
    return copy;
}

/* Copy a plane of the input between its padding. */
static void copy_plane(const Depthwise *d, const float *from, float *to) {
    const Argument *a = d->a;
    const int64_t height = SIZE(1, 2), width = SIZE(1, 3);
    const float *end = FLOATS(1) + SIZE(1, 0) * SIZE(1, 1) * height * width;
    for (int64_t y = 0, row = d->steps.top; y < height && row < d->rows; y++, row += d->down)
        for (int64_t i = 0; i < d->steps.right; i++) copy_row(d, d->groups + i, from + y * width, end, to + row * d->line);
}

/* Return the place of a column of the padded input in a row of the copy. */
INLINE int64_t place_in_copy(const Depthwise *d, int64_t column, const int64_t step) { return d->groups[column % step].at + column / step; }

/* Compute `count` rows of the output from windows of `size` x `size`, whose vertical and horizontal distance is `step`. */
INLINE void rows_of_outputs(const Depthwise *d, const float *copy, const float *weight, float bias, float *out, int64_t columns, const int count,
                            const int size, const int step) {
    for (int64_t j = 0; j < columns; j += LANES) {
        Vector sums[ROWS_AT_ONCE], by[MOST_TALL];
        for (int n = 0; n < count; n++) sums[n] = (Vector){0} + bias;
        for (int q = 0; q < size; q++) {
            const float *from = copy + place_in_copy(d, q, step) + j;
            for (int r = 0; r < size; r++) by[r] = (Vector){0} + weight[r * size + q];
            _Pragma("GCC unroll 20") for (int y = 0; y < (count - 1) * step + size; y++) {
                const Vector x = load(from + y * d->line);
                _Pragma("GCC unroll 7") for (int n = 0; n < count; n++)
                    if (y >= n * step && y < n * step + size) sums[n] += by[y - n * step] * x;
            }
        }
        for (int n = 0; n < count; n++) store_some(out + n * columns + j, sums[n], columns - j, false);
    }
}

INLINE void plane_of_outputs(const Depthwise *d, const float *copy, const float *weight, float bias, float *out, const int size, const int step) {
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), down = step * d->line;
    int64_t i = 0;
    for (; i + 7 <= rows; i += 7) rows_of_outputs(d, copy + i * down, weight, bias, out + i * columns, columns, 7, size, step);
    for (; i + 4 <= rows; i += 4) rows_of_outputs(d, copy + i * down, weight, bias, out + i * columns, columns, 4, size, step);
    for (; i < rows; i++) rows_of_outputs(d, copy + i * down, weight, bias, out + i * columns, columns, 1, size, step);
}

/* The same for windows of any size, distance and dilation. */
static void plane_of_any_windows(const Depthwise *d, const float *copy, const float *weight, float bias, float *out) {
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), tall = SIZE(2, 2), wide = SIZE(2, 3);
    for (int64_t i = 0; i < rows; i += ROWS_AT_ONCE)
        for (int64_t j = 0; j < columns; j += LANES) {
            Vector sums[ROWS_AT_ONCE];
            int64_t starts[ROWS_AT_ONCE];
            for (int n = 0; n < ROWS_AT_ONCE; n++) {
                sums[n] = (Vector){0} + bias;
                starts[n] = smaller(i + n, rows - 1) * d->steps.down * d->line + j;
            }
            for (int64_t r = 0; r < tall; r++)
                for (int64_t q = 0; q < wide; q++) {
                    const float *from = copy + r * d->steps.row_dilation * d->line + place_in_copy(d, q * d->steps.column_dilation, d->steps.right);
                    const float factor = weight[r * wide + q];
                    _Pragma("GCC unroll 7") for (int n = 0; n < ROWS_AT_ONCE; n++) sums[n] += factor * load(from + starts[n]);
                }
            for (int n = 0; n < ROWS_AT_ONCE && i + n < rows; n++) store_some(out + (i + n) * columns + j, sums[n], columns - j, false);
        }
}

/* Return 10 times the distance of the windows plus their size; 0 for windows that are dilated or not square. */
static int64_t usual_windows(const Depthwise *d) {
    const Argument *a = d->a;
    const bool is_square = SIZE(2, 2) == SIZE(2, 3) && d->steps.down == d->steps.right;
    return is_square && d->steps.row_dilation == 1 && d->steps.column_dilation == 1 ? d->steps.down * 10 + SIZE(2, 3) : 0;
}

static void depthwise_plane(const Depthwise *d, int64_t number, float *copy) {
    const Argument *a = d->a;
    const int64_t outputs = SIZE(0, 1), channels = SIZE(1, 1), output = number % outputs, plane = SIZE(1, 2) * SIZE(1, 3);
    const float *weight = FLOATS(2) + output * SIZE(2, 2) * SIZE(2, 3), bias = SIZE(3, 0) ? FLOATS(3)[output] : 0.0f;
    float *out = FLOATS(0) + number * SIZE(0, 2) * SIZE(0, 3);
    copy_plane(d, FLOATS(1) + (number / outputs * channels + output / (outputs / channels)) * plane, copy);
    switch (usual_windows(d)) {
    case 13: plane_of_outputs(d, copy, weight, bias, out, 3, 1); break;
    case 15: plane_of_outputs(d, copy, weight, bias, out, 5, 1); break;
    case 17: plane_of_outputs(d, copy, weight, bias, out, 7, 1); break;
    case 23: plane_of_outputs(d, copy, weight, bias, out, 3, 2); break;
    case 25: plane_of_outputs(d, copy, weight, bias, out, 5, 2); break;
    default: plane_of_any_windows(d, copy, weight, bias, out);
    }
}

static void some_planes(void *context, int64_t task) {
    const Depthwise *d = context;
    float *copy = cleared_copy(d);
    for (int64_t number = task * d->planes / d->tasks; number < (task + 1) * d->planes / d->tasks; number++) depthwise_plane(d, number, copy);
}

/* --- the gradient of the weight --- */

#define MOST_TAPS 9

/* Add the products of the gradient with the elements under `tall` x `wide` adjacent taps, from row r and column q of the kernel on, to `totals`. */
INLINE void add_tap_products(const Depthwise *d, const float *copy, const float *g, int64_t r, int64_t q, const int tall, const int wide,
                             double *totals) {
    const Argument *a = d->a;
    const int64_t rows = SIZE(0, 2), columns = SIZE(0, 3), last = (pieces(columns, LANES) - 1) * LANES, next = d->steps.row_dilation * d->line;
    const Bits inside = lane_numbers() < (int)(columns - last); /* lanes of the last vector of a row */
    const float *end = FLOATS(0) + SIZE(0, 0) * SIZE(0, 1) * rows * columns, *from[MOST_TAPS];
    Vector sums[MOST_TAPS];
    for (int c = 0; c < wide; c++)
        from[c] = copy + r * next + place_in_copy(d, (q + c) * d->steps.column_dilation, d->steps.right);
    for (int t = 0; t < tall * wide; t++) sums[t] = (Vector){0};
    for (int64_t i = 0; i < rows; i++, g += columns) {
        const int64_t row = i * d->steps.down * d->line;
        for (int64_t j = 0; j < last; j += LANES) {
            const Vector y = load(g + j);
            _Pragma("GCC unroll 9") for (int t = 0; t < tall * wide; t++) sums[t] += y * load(from[t % wide] + row + j + t / wide * next);
        }
        const Vector y = load_columns(g + last, columns - last, end);
        _Pragma("GCC unroll 9") for (int t = 0; t < tall * wide; t++)
            sums[t] += y * kept(load(from[t % wide] + row + last + t / wide * next), inside);
    }
    for (int t = 0; t < tall * wide; t++) totals[t] += sum_of_lanes(sums[t]);
}

static void weight_of_channel(const Depthwise *d, int64_t output, float *copy) {
    const Argument *a = d->a;
    const int64_t tall = SIZE(2, 2), wide = SIZE(2, 3), outputs = SIZE(0, 1), channels = SIZE(1, 1), plane = SIZE(1, 2) * SIZE(1, 3);
    double *totals = scratch(1, tall * wide * sizeof(double));
    memset(totals, 0, tall * wide * sizeof(double));
    for (int64_t n = 0; n < SIZE(0, 0); n++) {
        const float *g = FLOATS(0) + (n * outputs + output) * SIZE(0, 2) * SIZE(0, 3);
        copy_plane(d, FLOATS(1) + (n * channels + output / (outputs / channels)) * plane, copy);
        if (tall == 3 && wide == 3) add_tap_products(d, copy, g, 0, 0, 3, 3, totals);
        else
            for (int64_t r = 0; r < tall; r++)
                if (wide == 5) add_tap_products(d, copy, g, r, 0, 1, 5, totals + r * wide);
                else if (wide == 7) add_tap_products(d, copy, g, r, 0, 1, 7, totals + r * wide);
                else
                    for (int64_t q = 0; q < wide; q++) add_tap_products(d, copy, g, r, q, 1, 1, totals + r * wide + q);
    }
    for (int64_t k = 0; k < tall * wide; k++) FLOATS(2)[output * tall * wide + k] = (float)totals[k];
}

static void weight_of_some_channels(void *context, int64_t task) {
    const Depthwise *d = context;
    float *copy = cleared_copy(d);
    for (int64_t output = task * d->planes / d->tasks; output < (task + 1) * d->planes / d->tasks; output++) weight_of_channel(d, output, copy);
}

/* --- calls --- */

#define TASKS_PER_THREAD 4
#define MOST_STRIDE 16 /* horizontal */

static void share_depthwise(const Argument *a, int64_t planes, void (*some)(void *, int64_t)) {
    const Steps s = steps_at(a, 4);
    if (s.right > MOST_STRIDE) return decline();
    Group groups[MOST_STRIDE];
    Depthwise d = {.a = a, .steps = s, .down = INTEGER(10), .right = INTEGER(11), .groups = groups, .planes = planes};
    const int64_t read = SIZE(0, 3) + (SIZE(2, 3) - 1) * s.column_dilation / s.right + 1; /* number of columns of a group in windows */
    const int64_t width = (SIZE(1, 3) - 1) * d.right + 1, start = pieces(pieces(s.left, s.right), LANES) * LANES; /* aligned place of the input */
    const int64_t part = start + pieces(read, LANES) * LANES + 2 * LANES; /* vectors also read and write columns after those in windows */
    for (int64_t i = 0; i < s.right; i++) {
        const int64_t first = smaller(larger(0, pieces(s.left - i, s.right)), read), last = smaller(read, pieces(width + s.left - i, s.right));
        groups[i] = (Group){i * part + start - first, first, larger(0, last - first), first * s.right + i - s.left};
    }
    d.rows = (SIZE(0, 2) - 1) * s.down + (SIZE(2, 2) - 1) * s.row_dilation + 1;
    d.line = s.right * part;
    const bool is_large = SIZE(0, 0) * SIZE(0, 1) * SIZE(0, 2) * SIZE(0, 3) * SIZE(2, 2) * SIZE(2, 3) >= LEAST_SHARED;
    d.tasks = is_large ? smaller(planes, TASKS_PER_THREAD * thread_count()) : 1;
    parallel(d.tasks, some, &d);
}

/* Depthwise convolution.  Arguments: out, input, weight, bias (may be empty), steps, distances of the input's rows and columns. */
static void depthwise(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    share_depthwise(a, SIZE(0, 0) * SIZE(0, 1), some_planes);
}

/* The gradient of the weight.  Arguments: g, input, grad_weight, nothing, steps, 1, 1. */
static void depthwise_weight(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    share_depthwise(a, SIZE(0, 1), weight_of_some_channels);
}

#define DEPTHWISE_KERNELS {"depthwise", "CCCCiiiiiiii", depthwise, WHOLE}, {"depthwise_weight", "CCCCiiiiiiii", depthwise_weight, WHOLE}

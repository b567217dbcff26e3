/* Convolutions of images `(sample, channel, row, column)` as matrix products, in which one operand exists only as panels.

    forward           C = W B            (output, position)           B: windows of the images      (channel and tap, position)
    gradient of input C = W' B           (channel, position)          B: windows of the gradient    (output and tap, position)
    gradient of weight C = G B           (output, channel and tap)    B: windows, transposed        (position, channel and tap)

A tap is an element of the kernel.  In all windows, the element for a channel and tap has the same offset from the start of the
window.  Images are padded by copying, some at a time, so that this also holds at the edges.

With a stride, the input's elements are divided into phases by their index modulo the stride.  Each phase meets only some of the
taps; its gradient is a convolution with stride 1 of these. */
#pragma once

#include <stdlib.h>

#include "matrix.h"

#define PADDED_FLOATS (1 << 21) /* number of elements of padded images at a time */
#define MOST_IN_PLACE 256       /* maximum plane size for reading in place; larger planes compete for a few cache sets */

typedef struct {
    const float *images, *end;
    int64_t image_step, row_step, column_step; /* from one window to the next in each direction */
    int64_t rows, columns;                     /* number of windows */
    const int64_t *offsets;
    const float *grads; /* for the gradient of the weight */
} Windows;

/* Load LANES elements, `step` apart, from `from` on; `end` is the end of the memory. */
INLINE Vector every(const float *from, const int64_t step, const float *end) {
    if (step == 1 && from + LANES <= end) return load(from);
#if LANES == 16
    if (step == 2 && from + 2 * LANES <= end)
        return __builtin_shufflevector(load(from), load(from + LANES), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif LANES == 8
    if (step == 2 && from + 2 * LANES <= end)
        return __builtin_shufflevector(load(from), load(from + LANES), 0, 2, 4, 6, 8, 10, 12, 14);
#endif
    Vector result = {0};
    for (int i = 0; i < LANES; i++)
        if (from + i * step < end) result[i] = from[i * step];
    return result;
}

typedef struct {
    const float *at;
    int64_t place, count;
} Run; /* consecutive windows in one row of an image */

/* Yield the runs of windows from number `first` on, split at multiples of `piece`. */
INLINE int runs_of(const Windows *w, int64_t first, int64_t count, int64_t piece, Run *runs) {
    int found = 0;
    int64_t column = first % w->columns, row = first / w->columns % w->rows, image = first / w->columns / w->rows;
    for (int64_t done = 0, some; done < count; done += some) {
        some = smaller(smaller(count - done, w->columns - column), piece - done % piece);
        runs[found++] = (Run){w->images + image * w->image_step + row * w->row_step + column * w->column_step, done, some};
        column += some;
        if (column == w->columns) column = 0, row++;
        if (row == w->rows) row = 0, image++;
    }
    return found;
}

/* Copy runs row by row, as image rows are contiguous.  Writes beyond a run are overwritten by the next run or row. */
INLINE void copy_runs(const Windows *w, const Run *runs, int count, const int64_t *offsets, int64_t depth, float *panels, const int64_t step) {
    for (int64_t d = 0; d < depth; d++)
        for (int r = 0; r < count; r++) {
            float *to = panels + runs[r].place / WIDTH * panel_step(depth) + d * WIDTH + runs[r].place % WIDTH;
            for (int64_t i = 0; i < runs[r].count; i += LANES) store(to + i, every(runs[r].at + offsets[d] + i * step, step, w->end));
        }
}

static void panels_of_windows(const Product *p, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels) {
    const Windows *w = p->b;
    Run runs[BLOCK_COLUMNS];
    int count = runs_of(w, column, columns, WIDTH, runs);
    if (columns % WIDTH) memset(panels + columns / WIDTH * panel_step(depth), 0, depth * WIDTH * sizeof(float));
    if (w->column_step == 1) copy_runs(w, runs, count, w->offsets + k, depth, panels, 1);
    else if (w->column_step == 2) copy_runs(w, runs, count, w->offsets + k, depth, panels, 2);
    else copy_runs(w, runs, count, w->offsets + k, depth, panels, w->column_step);
}

INLINE void transpose_runs(const Windows *w, const Run *runs, int count, const int64_t *offsets, int64_t columns, float *panel, const int64_t step) {
    for (int r = 0; r < count; r++)
        for (int64_t i = 0; i < runs[r].count; i += LANES)
            for (int64_t j = 0; j < columns; j += LANES) {
                Vector row[LANES];
                _Pragma("GCC unroll 16") for (int c = 0; c < LANES; c++)
                    row[c] = every(runs[r].at + offsets[smaller(j + c, columns - 1)] + i * step, step, w->end);
                transpose_vectors(row);
                float *to = panel + (runs[r].place + i) * WIDTH + j;
                _Pragma("GCC unroll 16") for (int c = 0; c < LANES; c++) store(to + c * WIDTH, row[c]);
            }
}

static void panels_of_transposed_windows(const Product *p, int64_t column, int64_t columns, int64_t k, int64_t depth, float *panels) {
    const Windows *w = p->b;
    Run runs[DEPTH];
    int count = runs_of(w, k, depth, DEPTH, runs);
    for (int64_t j = 0; j < columns; j += WIDTH) {
        const int64_t *offsets = w->offsets + column + j, few = smaller(WIDTH, columns - j);
        float *panel = panels + j / WIDTH * panel_step(depth);
        if (few < WIDTH) memset(panel, 0, depth * WIDTH * sizeof(float));
        if (w->column_step == 1) transpose_runs(w, runs, count, offsets, few, panel, 1);
        else if (w->column_step == 2) transpose_runs(w, runs, count, offsets, few, panel, 2);
        else transpose_runs(w, runs, count, offsets, few, panel, w->column_step);
    }
}

/* Copy a panel of the output's gradient, `(output, sample and position)`. */
static void panel_of_grads(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel) {
    const Windows *w = p->b;
    Product image = *p;
    for (int64_t done = 0, some, places = w->rows * w->columns; done < depth; done += some) {
        int64_t n = (k + done) / places, place = (k + done) % places;
        some = smaller(depth - done, places - place);
        image.a = w->grads + n * p->rows * places;
        matrix_panel_of_a(&image, row, rows, place, some, panel + done * rows);
    }
}

/* Weights, transposed to `(output, tap, channel)`; the depth is the outputs and taps of a phase, at `a_offsets`. */
typedef struct {
    Product product;
    const int64_t *a_offsets;
} PhaseProduct;

static void panel_of_phase(const Product *p, int64_t row, int64_t rows, int64_t k, int64_t depth, float *panel) {
    const int64_t *offsets = ((const PhaseProduct *)p)->a_offsets + k;
    const float *a = (const float *)p->a + row;
    for (int64_t d = 0; d < depth; d++)
        for (int64_t i = 0; i < rows; i++) panel[d * rows + i] = a[offsets[d] + i];
}

typedef struct {
    float *to;
    const float *from, *end;
    int64_t channels, taps;
} Weights;

static void transpose_weights(void *context, int64_t output) {
    const Weights *w = context;
    int64_t size = w->channels * w->taps, c = 0;
    const float *from = w->from + output * size;
    float *to = w->to + output * size;
    for (; w->taps <= LANES && c + LANES <= w->channels && from + (c + LANES - 1) * w->taps + LANES <= w->end; c += LANES) {
        Vector row[LANES];
        _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) row[i] = load(from + (c + i) * w->taps);
        transpose_vectors(row);
        for (int64_t tap = 0; tap < w->taps; tap++) store(to + tap * w->channels + c, row[tap]);
    }
    for (; c < w->channels; c++)
        for (int64_t tap = 0; tap < w->taps; tap++) to[tap * w->channels + c] = from[c * w->taps + tap];
}

/* --- few rows ---

With few rows, a panel of B is used too rarely to be worth copying.  With stride 1 no copy is needed: the positions of a padded
plane are consecutive, so that a row of B is a part of the plane that starts at the row's offset.  Results for positions between
image rows are not written to C. */

typedef struct {
    const Product *product;
    int64_t line, positions, strips; /* of a padded plane; strips of positions per image */
    const float *a;                  /* all panels */
} FewRows;

#define STRIP_OF_POSITIONS (8 * WIDTH)

static void compute_few_rows(void *context, int64_t number) {
    const FewRows *few = context;
    const Product *p = few->product;
    const Windows *w = p->b;
    int64_t n = number / few->strips, start = number % few->strips * STRIP_OF_POSITIONS;
    for (int64_t at = start; at < smaller(start + STRIP_OF_POSITIONS, few->positions); at += WIDTH)
        for (int64_t i = 0; i < p->rows; i += ROWS) {
            float sums[ROWS * WIDTH];
            int64_t rows = smaller(ROWS, p->rows - i), stop = smaller(at + WIDTH, few->positions);
            Panels panels = {.depth = p->depth, .a = few->a + i * p->depth, .b = w->images + n * w->image_step + at,
                             .b_offsets = w->offsets, .out = sums, .out_row = WIDTH, .row_bias = p->row_bias ? p->row_bias + i : NULL};
            micro_kernels[rows - 1][BY_OFFSETS](&panels);
            for (int64_t row = at / few->line; row * few->line < stop; row++) {
                int64_t left = larger(row * few->line, at), right = smaller(row * few->line + w->columns, stop);
                if (left >= right) continue;
                float *to = p->out + n * p->group_step + i * p->out_row + row * w->columns + left - row * few->line;
                for (int64_t r = 0; r < rows; r++)
                    memcpy(to + r * p->out_row, sums + r * WIDTH + left - at, (right - left) * sizeof(float));
            }
        }
}

/* Compute C without copying B; return false if that is not possible.  `line` is the length of a padded row. */
static bool computed_with_few_rows(const Product *p, int64_t images, int64_t line) {
    const Windows *w = p->b;
    int64_t positions = (w->rows - 1) * line + w->columns;
    if (p->rows > 2 * ROWS || w->column_step != 1 || w->row_step != line || p->depth == 0) return false;
    float *a = scratch(4, (p->rows * p->depth + LANES) * sizeof(float));
    for (int64_t i = 0; i < p->rows; i += ROWS) p->panel_of_a(p, i, smaller(ROWS, p->rows - i), 0, p->depth, a + i * p->depth);
    FewRows few = {p, line, positions, pieces(positions, STRIP_OF_POSITIONS), a};
    parallel(images * few.strips, compute_few_rows, &few);
    return true;
}

/* --- padding --- */

typedef struct {
    const float *from;
    float *to;
    int64_t height, width, top, left, padded_height, padded_width;
} Padding;

static void pad_plane(void *context, int64_t number) {
    const Padding *p = context;
    const float *from = p->from + number * p->height * p->width;
    float *to = p->to + number * p->padded_height * p->padded_width;
    for (int64_t r = 0; r < p->padded_height; r++, to += p->padded_width) {
        int64_t row = r - p->top, width = smaller(p->width, p->padded_width - p->left);
        if (row < 0 || row >= p->height) {
            memset(to, 0, p->padded_width * sizeof(float));
            continue;
        }
        memset(to, 0, p->left * sizeof(float));
        memcpy(to + p->left, from + row * p->width, width * sizeof(float));
        memset(to + p->left + width, 0, (p->padded_width - p->left - width) * sizeof(float));
    }
}

/* Pad images with zeros, or return them unchanged if neither padding nor space after the last image is needed. */
static const float *padded(Padding p, int64_t planes, bool with_room) {
    if (p.height == p.padded_height && p.width == p.padded_width && !with_room) return p.from;
    p.to = scratch(2, (planes * p.padded_height * p.padded_width + WIDTH) * sizeof(float));
    parallel(planes, pad_plane, &p);
    return p.to;
}

INLINE int64_t images_at_a_time(int64_t batch, int64_t floats) {
    int64_t chunks = pieces(batch * floats, PADDED_FLOATS);
    return pieces(batch, smaller(chunks, batch));
}

/* --- the three convolutions --- */

typedef struct {
    int64_t down, right, top, left, row_dilation, column_dilation; /* stride, padding, dilation */
} Steps;

INLINE Steps steps_at(const Argument *a, int i) {
    return (Steps){INTEGER(i), INTEGER(i + 1), INTEGER(i + 2), INTEGER(i + 3), INTEGER(i + 4), INTEGER(i + 5)};
}

/* Compute the offsets of channels and taps in padded images. */
static int64_t *offsets_of(int64_t channels, int64_t height, int64_t width, Steps s, int64_t plane, int64_t padded_width) {
    int64_t *offsets = malloc(channels * height * width * sizeof(int64_t)), *offset = offsets;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < height; r++)
            for (int64_t q = 0; q < width; q++) *offset++ = c * plane + r * s.row_dilation * padded_width + q * s.column_dilation;
    return offsets;
}

/* For 1 x 1 kernels, planes are the rows of B: no copy is needed unless panels cross images. */
static void read_in_place(Product *p, const float *images, int64_t plane, int64_t image_step) {
    if (plane % WIDTH == 0 && plane <= MOST_IN_PLACE) p->b = images, p->b_depth = plane, p->b_group_step = image_step;
}

/* Convolution, or its weight's gradient.  Arguments: out or its gradient, input, weight or its gradient, bias (may be empty),
steps. */
static void with_windows(const Argument *a, bool forward) {
    const Steps s = steps_at(a, 4);
    int64_t batch = SIZE(1, 0), channels = SIZE(1, 1), height = SIZE(1, 2), width = SIZE(1, 3);
    int64_t outputs = SIZE(0, 1), rows = SIZE(0, 2), columns = SIZE(0, 3), taps = SIZE(2, 2) * SIZE(2, 3);
    Padding padding = {NULL, NULL, height, width, s.top, s.left, height + 2 * s.top, width + 2 * s.left};
    int64_t plane = padding.padded_height * padding.padded_width;
    int64_t *offsets = offsets_of(channels, SIZE(2, 2), SIZE(2, 3), s, plane, padding.padded_width);
    Windows w = {.image_step = channels * plane, .row_step = s.down * padding.padded_width, .column_step = s.right, .rows = rows,
                 .columns = columns, .offsets = offsets};
    const bool is_one_row = taps == 1 && s.down == 1 && s.right == 1 && plane == height * width;
    if (is_one_row) w.columns = rows * columns, w.rows = 1;
    const bool few = forward && outputs <= 2 * ROWS && taps > 1 && s.down == 1 && s.right == 1;
    int64_t at_a_time = images_at_a_time(batch, channels * plane);
    for (int64_t n = 0; n < batch; n += at_a_time) {
        int64_t count = smaller(at_a_time, batch - n);
        padding.from = FLOATS(1) + n * channels * height * width;
        w.images = padded(padding, count * channels, few);
        w.end = w.images + count * channels * plane;
        w.grads = FLOATS(0) + n * outputs * rows * columns;
        int64_t positions = rows * columns * count, depth = channels * taps;
        Product p = {.rows = outputs, .b = &w, .out_column = 1};
        if (forward) {
            set_rows_of_a(&p, FLOATS(2), depth);
            p.columns = positions, p.depth = depth, p.panels_of_b = panels_of_windows;
            p.out = (float *)w.grads, p.out_row = p.run = p.group = rows * columns, p.group_step = outputs * rows * columns;
            p.row_bias = SIZE(3, 0) ? FLOATS(3) : NULL;
            if (is_one_row) read_in_place(&p, w.images, plane, w.image_step);
        } else {
            p.columns = depth, p.depth = positions, p.a_row = rows * columns, p.a_depth = 1;
            p.panel_of_a = panel_of_grads, p.panels_of_b = panels_of_transposed_windows;
            p.out = FLOATS(2), p.out_row = p.run = p.group = depth, p.add = n > 0;
        }
        if (!few || !computed_with_few_rows(&p, count, padding.padded_width))
            compute(&p, pieces(shared_blocks(positions * depth * outputs), forward ? 1 : 2)); /* each block transposes the windows */
    }
    free(offsets);
}

static void convolution(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    with_windows(a, true);
}

static void convolution_weight(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    with_windows(a, false);
}

/* --- few channels ---

The gradient of the input tap by tap: the product of the tap's weights and the output's gradient is added at the tap's offset.
Rows of the gradient have the length of the rows of sums, so that all positions have the same offset. */

typedef struct {
    Padding grads;        /* `to`: zero-padded after each row and each plane */
    const float *weights; /* panels `(tap, output, channel)`, of up to ROWS channels */
    const float *bias;
    float *out;
    int64_t outputs, channels, height, width; /* of the input */
    int64_t tall, wide;
    Steps steps;
} TapByTap;

static void sum_of_taps(void *context, int64_t n) {
    const TapByTap *t = context;
    const int64_t line = t->grads.padded_width, grad_plane = t->grads.padded_height * line, taps = t->tall * t->wide;
    const int64_t positions = (t->grads.height - 1) * line + t->grads.width;
    const int64_t plane = (t->grads.height + (t->tall - 1) * t->steps.row_dilation) * line + WIDTH;
    float *sums = scratch(0, t->channels * plane * sizeof(float));
    memset(sums, 0, t->channels * plane * sizeof(float));
    for (int64_t at = 0; at < positions; at += WIDTH)
        for (int64_t c = 0; c < t->channels; c += ROWS) {
            const int64_t rows = smaller(ROWS, t->channels - c);
            Panels panels = {.depth = t->outputs, .b = t->grads.to + n * t->outputs * grad_plane + at, .b_step = grad_plane, .out_row = plane,
                             .add = true};
            for (int64_t tap = 0; tap < taps; tap++) {
                panels.a = t->weights + (c * taps + tap * rows) * t->outputs;
                panels.out = sums + c * plane + tap / t->wide * t->steps.row_dilation * line + tap % t->wide * t->steps.column_dilation + at;
                micro_kernels[rows - 1][WIDE](&panels);
            }
        }
    for (int64_t c = 0; c < t->channels; c++)
        for (int64_t y = 0; y < t->height; y++) {
            float *to = t->out + ((n * t->channels + c) * t->height + y) * t->width, bias = t->bias ? t->bias[c] : 0.0f;
            const float *from = sums + c * plane + (y + t->steps.top) * line + t->steps.left;
            for (int64_t x = 0; x < t->width; x++) to[x] = from[x] + bias;
        }
}

/* Compute the gradient tap by tap if that is less work than `positions`; arguments as for `convolution_input`. */
static bool computed_tap_by_tap(const Argument *a, Steps s, int64_t positions) {
    const int64_t batch = SIZE(0, 0), channels = SIZE(0, 1), height = SIZE(0, 2), width = SIZE(0, 3), outputs = SIZE(1, 1);
    const int64_t rows = SIZE(1, 2), columns = SIZE(1, 3), tall = SIZE(2, 2), wide = SIZE(2, 3), taps = tall * wide;
    const int64_t lines = rows + (tall - 1) * s.row_dilation, line = columns + (wide - 1) * s.column_dilation;
    if (s.down > 1 || s.right > 1 || channels > 2 * ROWS || s.top + height > lines || s.left + width > line) return false;
    if (3 * rows * line > 2 * positions) return false;
    float *weights = scratch(3, outputs * channels * taps * sizeof(float)), *to = weights;
    for (int64_t c = 0; c < channels; c += ROWS)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t o = 0; o < outputs; o++)
                for (int64_t i = c; i < smaller(c + ROWS, channels); i++) *to++ = FLOATS(2)[(o * channels + i) * taps + tap];
    TapByTap t = {{NULL, NULL, rows, columns, 0, 0, rows + pieces(WIDTH, line), line}, weights, SIZE(3, 0) ? FLOATS(3) : NULL, NULL, outputs,
                  channels, height, width, tall, wide, s};
    const int64_t at_a_time = images_at_a_time(batch, outputs * t.grads.padded_height * line);
    for (int64_t n = 0; n < batch; n += at_a_time) {
        const int64_t count = smaller(at_a_time, batch - n);
        t.grads.from = FLOATS(1) + n * outputs * rows * columns;
        t.grads.to = (float *)padded(t.grads, count * outputs, true);
        t.out = FLOATS(0) + n * channels * height * width;
        parallel(count, sum_of_taps, &t);
    }
    return true;
}

INLINE int64_t divided(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); } /* rounds down */

/* The input's gradient.  Arguments: gradient of the input, gradient of the output, weight, bias to add (may be empty), steps. */
static void convolution_input(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const Steps s = steps_at(a, 4);
    int64_t batch = SIZE(0, 0), channels = SIZE(0, 1), height = SIZE(0, 2), width = SIZE(0, 3);
    int64_t outputs = SIZE(1, 1), rows = SIZE(1, 2), columns = SIZE(1, 3), tall = SIZE(2, 2), wide = SIZE(2, 3), taps = tall * wide;
    /* Row y of the input meets tap r of the window in row (y + top - r * dilation) / stride; the gradient is padded to
    include all of them. */
    int64_t top = -divided(s.top - (tall - 1) * s.row_dilation, s.down), left = -divided(s.left - (wide - 1) * s.column_dilation, s.right);
    top = larger(top, 0), left = larger(left, 0);
    int64_t bottom = larger(divided(height - 1 + s.top, s.down) + 1, rows), right = larger(divided(width - 1 + s.left, s.right) + 1, columns);
    Padding padding = {NULL, NULL, rows, columns, top, left, top + bottom, left + right};
    if (computed_tap_by_tap(a, s, (height - 1) * padding.padded_width + width)) return;
    int64_t plane = padding.padded_height * padding.padded_width;
    int64_t *offsets = malloc(2 * outputs * taps * sizeof(int64_t)), *a_offsets = offsets + outputs * taps;
    int64_t at_a_time = images_at_a_time(batch, outputs * plane), size = outputs * channels * taps;
    Weights weights = {NULL, FLOATS(2), FLOATS(2) + size, channels, taps};
    if (taps > 1) {
        weights.to = scratch(3, size * sizeof(float));
        parallel(outputs, transpose_weights, &weights);
    }
    const bool is_one_row = taps == 1 && s.down == 1 && s.right == 1 && s.top == 0 && s.left == 0;
    bool all_meet = tall >= s.down && wide >= s.right && s.row_dilation == 1 && s.column_dilation == 1;
    if (!all_meet && !SIZE(3, 0)) memset(FLOATS(0), 0, batch * channels * height * width * sizeof(float));
    for (int64_t n = 0; n < batch; n += at_a_time) {
        int64_t count = smaller(at_a_time, batch - n);
        padding.from = FLOATS(1) + n * outputs * rows * columns;
        const float *grads = padded(padding, count * outputs, channels <= 2 * ROWS);
        for (int64_t phase = 0; phase < s.down * s.right; phase++) {
            int64_t y = phase / s.right, x = phase % s.right, depth = 0;
            if (y >= height || x >= width) continue;
            for (int64_t o = 0; o < outputs; o++)
                for (int64_t r = 0; r < tall; r++)
                    for (int64_t q = 0; q < wide; q++) {
                        int64_t down = y + s.top - r * s.row_dilation, across = x + s.left - q * s.column_dilation;
                        if (down % s.down || across % s.right) continue;
                        offsets[depth] = o * plane + (top + down / s.down) * padding.padded_width + left + across / s.right;
                        a_offsets[depth++] = (o * taps + r * wide + q) * channels;
                    }
            if (depth == 0 && !SIZE(3, 0)) continue; /* already zero */
            Windows w = {.images = grads, .end = grads + count * outputs * plane, .image_step = outputs * plane,
                         .row_step = padding.padded_width, .column_step = 1, .rows = pieces(height - y, s.down),
                         .columns = pieces(width - x, s.right), .offsets = offsets};
            PhaseProduct p = {{.rows = channels, .columns = count * w.rows * w.columns, .depth = depth, .a = weights.to, .b = &w,
                               .panel_of_a = panel_of_phase, .panels_of_b = panels_of_windows,
                               .out = FLOATS(0) + (n * channels * height + y) * width + x, .out_row = height * width,
                               .out_column = s.right, .group = w.rows * w.columns, .group_step = channels * height * width,
                               .run = w.columns, .run_step = s.down * width, .row_bias = SIZE(3, 0) ? FLOATS(3) : NULL},
                              a_offsets};
            if (taps == 1) { /* transpose the weight */
                p.product.a = weights.from, p.product.a_row = 1, p.product.a_depth = channels, p.product.panel_of_a = matrix_panel_of_a;
            }
            if (phase == 0 && s.down == 1 && s.right == 1) p.product.run = p.product.group; /* a single run */
            if (s.down > 1 || s.right > 1 || !computed_with_few_rows(&p.product, count, padding.padded_width)) {
                if (is_one_row) read_in_place(&p.product, grads, plane, outputs * plane);
                compute(&p.product, shared_blocks(p.product.columns * depth * channels));
            }
        }
    }
    free(offsets);
}

#define CONVOLUTION_KERNELS                                                                                                        \
    {"convolution", "CCCFiiiiii", convolution, WHOLE}, {"convolution_weight", "FFFFiiiiii", convolution_weight, WHOLE},            \
        {"convolution_input", "FFFFiiiiii", convolution_input, WHOLE}

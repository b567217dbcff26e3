/* Max and average pooling of images `(image, height, width)`, and their gradients.

The gradient of a maximum is added to the first element of the window that equals it, as in PyTorch; NaN is the largest value. */
#pragma once

#include "kernel.h"

INLINE bool is_more(float a, float b) { return (a > b) | (a != a); }

typedef struct {
    int64_t height, width, down, right, top, left; /* window size, stride, padding */
} Geometry;

INLINE Geometry geometry_at(const Argument *a, int i) {
    return (Geometry){INTEGER(i), INTEGER(i + 1), INTEGER(i + 2), INTEGER(i + 3), INTEGER(i + 4), INTEGER(i + 5)};
}

typedef struct {
    int64_t first, last, start, stop; /* rows and columns */
} Window;

INLINE Window window_at(Geometry g, int64_t i, int64_t j, int64_t rows, int64_t columns) {
    int64_t row = i * g.down - g.top, column = j * g.right - g.left;
    return (Window){larger(row, 0), smaller(row + g.height, rows), larger(column, 0), smaller(column + g.width, columns)};
}

/* The common case of 2 x 2 windows that do not overlap and cover all elements: LANES windows at a time, then four, then one. */

typedef float Four __attribute__((vector_size(16)));
typedef float LooseFour __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t FourBits __attribute__((vector_size(16)));

#if LANES == 16
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define EVEN EVEN_OF_FOUR
#define ODD ODD_OF_FOUR
#define LOW LOW_OF_FOUR
#define HIGH HIGH_OF_FOUR
#endif
#define EVEN_OF_FOUR(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD_OF_FOUR(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define LOW_OF_FOUR(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_OF_FOUR(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

#define IS_MORE(a, b) (((a) > (b)) | ((a) != (a)))
#define CHOOSE(V, B, mask, a, b) ((V)(((mask) & (B)(a)) | (~(mask) & (B)(b))))
#define LOAD(Loose, from) (*(const Loose *)(from))
#define STORE(Loose, to, value) (*(Loose *)(to) = (value))

#define MAX_OF_2x2(V, Loose, B, lanes, EVEN, ODD)                                                                                  \
    for (; j + lanes <= right; j += lanes) {                                                                                       \
        V up = LOAD(Loose, above + 2 * j), up_next = LOAD(Loose, above + 2 * j + lanes);                                           \
        V low = LOAD(Loose, below + 2 * j), low_next = LOAD(Loose, below + 2 * j + lanes);                                         \
        V p = EVEN(up, up_next), q = ODD(up, up_next), r = EVEN(low, low_next), s = ODD(low, low_next);                            \
        p = CHOOSE(V, B, IS_MORE(q, p), q, p);                                                                                     \
        r = CHOOSE(V, B, IS_MORE(s, r), s, r);                                                                                     \
        STORE(Loose, out + j, CHOOSE(V, B, IS_MORE(r, p), r, p));                                                                  \
    }

#define GRADIENT_OF_2x2(V, Loose, B, lanes, EVEN, ODD, LOW, HIGH)                                                                  \
    for (; j + lanes <= right; j += lanes) {                                                                                       \
        V up = LOAD(Loose, above + 2 * j), up_next = LOAD(Loose, above + 2 * j + lanes);                                           \
        V low = LOAD(Loose, below + 2 * j), low_next = LOAD(Loose, below + 2 * j + lanes);                                         \
        V p = EVEN(up, up_next), q = ODD(up, up_next), r = EVEN(low, low_next), s = ODD(low, low_next);                            \
        B second = IS_MORE(q, p), fourth = IS_MORE(s, r), grad = (B)LOAD(Loose, g + j);                                            \
        p = CHOOSE(V, B, second, q, p);                                                                                            \
        r = CHOOSE(V, B, fourth, s, r);                                                                                            \
        B under = IS_MORE(r, p);                                                                                                   \
        p = (V)(grad & ~under & ~second), q = (V)(grad & ~under & second);                                                         \
        r = (V)(grad & under & ~fourth), s = (V)(grad & under & fourth);                                                           \
        STORE(Loose, to_above + 2 * j, LOW(p, q));                                                                                 \
        STORE(Loose, to_above + 2 * j + lanes, HIGH(p, q));                                                                        \
        STORE(Loose, to_below + 2 * j, LOW(r, s));                                                                                 \
        STORE(Loose, to_below + 2 * j + lanes, HIGH(r, s));                                                                        \
    }

/* Max pooling with 2 x 2 windows.  Arguments: out, x. */
static void max_pool_2x2_images(const Argument *a, int64_t first, int64_t last) {
    int64_t right = SIZE(0, 2), windows = SIZE(0, 1);
    for (int64_t row = first * windows; row < last * windows; row++) {
        float *out = FLOATS(0) + row * right;
        const float *above = FLOATS(1) + row * 4 * right, *below = above + 2 * right;
        int64_t j = 0;
        MAX_OF_2x2(Vector, LooseVector, Bits, LANES, EVEN, ODD)
        MAX_OF_2x2(Four, LooseFour, FourBits, 4, EVEN_OF_FOUR, ODD_OF_FOUR)
        for (; j < right; j++) {
            float p = above[2 * j], q = above[2 * j + 1], r = below[2 * j], s = below[2 * j + 1];
            p = is_more(q, p) ? q : p;
            r = is_more(s, r) ? s : r;
            out[j] = is_more(r, p) ? r : p;
        }
    }
}

/* Other windows: first the maxima or sums of the rows of windows, then of these rows.  Both are computed for LANES windows at a time,
whose elements are adjacent in `phases`: phase p of a row holds its elements p, p + stride, p + 2 * stride, ..., counted from the
padding. */

typedef struct {
    float *phases, *result; /* `result[row * width + j]`: of the elements in a row of the windows in column j */
    int32_t *column;        /* of the maximum, in the window; -1 if no element is above minus infinity.  NULL if not wanted */
    int64_t width, length;  /* number of windows in a row, rounded up to LANES, and of elements in a phase */
} WindowRows;

static WindowRows window_rows_for(Geometry g, int64_t rows, int64_t right, bool with_columns) {
    WindowRows m = {.width = pieces(right, LANES) * LANES};
    m.length = m.width + (g.width - 1) / g.right;
    const int64_t phases = smaller(g.right, g.width) * m.length, size = rows * m.width;
    m.phases = scratch(6, (phases + (with_columns ? 2 : 1) * size) * sizeof(float));
    m.result = m.phases + phases;
    if (with_columns) m.column = (int32_t *)(m.result + size);
    return m;
}

INLINE void split_row(const WindowRows *m, Geometry g, const float *row, int64_t columns, const float outside) {
    for (int64_t p = 0; p < smaller(g.right, g.width); p++) {
        float *to = m->phases + p * m->length;
        const int64_t first = pieces(larger(0, g.left - p), g.right), last = smaller(m->length, pieces(larger(0, columns + g.left - p), g.right));
        const float *from = row + p - g.left;
        for (int64_t k = 0; k < smaller(first, m->length); k++) to[k] = outside;
#define COPY(stride) SIMD() for (int64_t k = first; k < last; k++) to[k] = from[(stride) * k]
        if (g.right == 1) COPY(1);
        else if (g.right == 2) COPY(2);
        else if (g.right == 3) COPY(3);
        else if (g.right == 4) COPY(4);
        else COPY(g.right);
#undef COPY
        for (int64_t k = larger(0, last); k < m->length; k++) to[k] = outside;
    }
}

INLINE void find_row_maxima(const WindowRows *m, Geometry g, const float *x, int64_t rows, int64_t columns, const bool with_columns) {
    for (int64_t row = 0; row < rows; row++) {
        split_row(m, g, x + row * columns, columns, -INFINITY);
        for (int64_t j = 0; j < m->width; j += LANES) {
            Vector most = (Vector){0} - INFINITY;
            Bits column = (Bits){0} - 1;
            for (int64_t c = 0, phase = 0, place = 0; c < g.width; c++) {
                const Vector next = load(m->phases + phase * m->length + place + j);
                const Bits more = IS_MORE(next, most);
                most = CHOOSE(Vector, Bits, more, next, most);
                if (with_columns) column = (more & (int32_t)c) | (~more & column);
                if (++phase == g.right) phase = 0, place++;
            }
            store(m->result + row * m->width + j, most);
            if (with_columns) memcpy(m->column + row * m->width + j, &column, sizeof column);
        }
    }
}

/* Max pooling.  Arguments: out, x, geometry. */
static void max_pool_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(0, 1), right = SIZE(0, 2), rows = SIZE(1, 1), columns = SIZE(1, 2);
    Geometry g = geometry_at(a, 2);
    if (g.height == 2 && g.width == 2 && g.down == 2 && g.right == 2 && rows == 2 * down && columns == 2 * right) {
        max_pool_2x2_images(a, first, last);
        return;
    }
    const WindowRows m = window_rows_for(g, rows, right, false);
    for (int64_t image = first; image < last; image++) {
        find_row_maxima(&m, g, FLOATS(1) + image * rows * columns, rows, columns, false);
        for (int64_t i = 0; i < down; i++) {
            const Window w = window_at(g, i, 0, rows, columns);
            for (int64_t j = 0; j < right; j += LANES) {
                Vector most = (Vector){0} - INFINITY;
                for (int64_t r = w.first; r < w.last; r++) {
                    const Vector next = load(m.result + r * m.width + j);
                    most = CHOOSE(Vector, Bits, IS_MORE(next, most), next, most);
                }
                float *out = FLOATS(0) + (image * down + i) * right + j;
                if (j + LANES <= right) store(out, most);
                else memcpy(out, &most, (right - j) * sizeof(float));
            }
        }
    }
}

/* Max pooling's gradient.  Arguments: grad_input (zeros), g, x, geometry. */
static void max_pool_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(1, 1), right = SIZE(1, 2), rows = SIZE(2, 1), columns = SIZE(2, 2);
    Geometry geometry = geometry_at(a, 3);
    const WindowRows m = window_rows_for(geometry, rows, right, true);
    for (int64_t image = first; image < last; image++) {
        float *grad_input = FLOATS(0) + image * rows * columns;
        find_row_maxima(&m, geometry, FLOATS(2) + image * rows * columns, rows, columns, true);
        for (int64_t i = 0; i < down; i++) {
            const Window w = window_at(geometry, i, 0, rows, columns);
            const float *g = FLOATS(1) + (image * down + i) * right;
            for (int64_t j = 0; j < right; j += LANES) {
                Vector most = (Vector){0} - INFINITY;
                Bits row = (Bits){0} + (int32_t)w.first;
                for (int64_t r = w.first; r < w.last; r++) {
                    const Vector next = load(m.result + r * m.width + j);
                    const Bits more = IS_MORE(next, most);
                    most = CHOOSE(Vector, Bits, more, next, most);
                    row = (more & (int32_t)r) | (~more & row);
                }
                for (int64_t lane = 0; lane < smaller(LANES, right - j); lane++) {
                    const int64_t left = (j + lane) * geometry.right - geometry.left, column = m.column[row[lane] * m.width + j + lane];
                    grad_input[row[lane] * columns + (column < 0 ? larger(0, left) : left + column)] += g[j + lane];
                }
            }
        }
    }
}

/* The gradient of max pooling with 2 x 2 windows.  Arguments: grad_input (uninitialized), g, x. */
static void max_pool_2x2_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t right = SIZE(1, 2), windows = SIZE(1, 1);
    for (int64_t row = first * windows; row < last * windows; row++) {
        float *to_above = FLOATS(0) + row * 4 * right, *to_below = to_above + 2 * right;
        const float *g = FLOATS(1) + row * right, *above = FLOATS(2) + row * 4 * right, *below = above + 2 * right;
        int64_t j = 0;
        GRADIENT_OF_2x2(Vector, LooseVector, Bits, LANES, EVEN, ODD, LOW, HIGH)
        GRADIENT_OF_2x2(Four, LooseFour, FourBits, 4, EVEN_OF_FOUR, ODD_OF_FOUR, LOW_OF_FOUR, HIGH_OF_FOUR)
        for (; j < right; j++) {
            float p = above[2 * j], q = above[2 * j + 1], r = below[2 * j], s = below[2 * j + 1];
            bool second = is_more(q, p), fourth = is_more(s, r), under = is_more(fourth ? s : r, second ? q : p);
            to_above[2 * j] = under || second ? 0.0f : g[j];
            to_above[2 * j + 1] = under || !second ? 0.0f : g[j];
            to_below[2 * j] = !under || fourth ? 0.0f : g[j];
            to_below[2 * j + 1] = !under || !fourth ? 0.0f : g[j];
        }
    }
}

/* Average pooling.  Arguments: out, x, shares (factor of each window's sum), geometry. */
static void avg_pool_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(0, 1), right = SIZE(0, 2), rows = SIZE(1, 1), columns = SIZE(1, 2);
    Geometry g = geometry_at(a, 3);
    const WindowRows m = window_rows_for(g, rows, right, false);
    for (int64_t image = first; image < last; image++) {
        for (int64_t row = 0; row < rows; row++) {
            split_row(&m, g, FLOATS(1) + (image * rows + row) * columns, columns, 0.0f);
            for (int64_t j = 0; j < m.width; j += LANES) {
                Vector total = {0};
                for (int64_t c = 0, phase = 0, place = 0; c < g.width; c++) {
                    total += load(m.phases + phase * m.length + place + j);
                    if (++phase == g.right) phase = 0, place++;
                }
                store(m.result + row * m.width + j, total);
            }
        }
        for (int64_t i = 0; i < down; i++) {
            const Window w = window_at(g, i, 0, rows, columns);
            float *out = FLOATS(0) + (image * down + i) * right;
            const float *shares = FLOATS(2) + i * right;
            for (int64_t j = 0; j < right; j += LANES) {
                Vector total = {0};
                for (int64_t r = w.first; r < w.last; r++) total += load(m.result + r * m.width + j);
                for (int64_t lane = 0; lane < smaller(LANES, right - j); lane++) out[j + lane] = total[lane] * shares[j + lane];
            }
        }
    }
}

/* Average pooling's gradient.  Arguments: grad_input (zeros), g, shares, geometry. */
static void avg_pool_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t rows = SIZE(0, 1), columns = SIZE(0, 2), down = SIZE(1, 1), right = SIZE(1, 2);
    Geometry g = geometry_at(a, 3);
    const int64_t length = right + (g.width - 1) / g.right, count = smaller(g.right, g.width);
    float *phases = scratch(6, (count * length + right + columns) * sizeof(float)), *given = phases + count * length, *row = given + right;
    for (int64_t image = first; image < last; image++)
        for (int64_t i = 0; i < down; i++) {
            const Window w = window_at(g, i, 0, rows, columns);
            const float *gradient = FLOATS(1) + (image * down + i) * right, *shares = FLOATS(2) + i * right;
            SIMD() for (int64_t j = 0; j < right; j++) given[j] = gradient[j] * shares[j];
            memset(phases, 0, count * length * sizeof(float));
            for (int64_t c = 0, phase = 0, place = 0; c < g.width; c++) {
                float *to = phases + phase * length + place;
                SIMD() for (int64_t j = 0; j < right; j++) to[j] += given[j];
                if (++phase == g.right) phase = 0, place++;
            }
            memset(row, 0, columns * sizeof(float));
            for (int64_t p = 0; p < count; p++) {
                const int64_t start = pieces(larger(0, g.left - p), g.right), stop = smaller(length, pieces(larger(0, columns + g.left - p), g.right));
                for (int64_t k = start; k < stop; k++) row[k * g.right + p - g.left] = phases[p * length + k];
            }
            for (int64_t r = w.first; r < w.last; r++) {
                float *to = FLOATS(0) + (image * rows + r) * columns;
                SIMD() for (int64_t c = 0; c < columns; c++) to[c] += row[c];
            }
        }
}

#define POOLING_KERNELS                                                                                                            \
    {"max_pool", "PPiiiiii", max_pool_images, ITEMS}, {"max_pool_backward", "FFFiiiiii", max_pool_backward_images, ITEMS},         \
        {"max_pool_2x2_backward", "FFF", max_pool_2x2_backward_images, ITEMS}, \
        {"avg_pool", "FFFiiiiii", avg_pool_images, ITEMS}, {"avg_pool_backward", "FFFiiiiii", avg_pool_backward_images, ITEMS}

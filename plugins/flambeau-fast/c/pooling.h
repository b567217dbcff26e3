/* Max and average pooling of images `(image, height, width)`, and their gradients.

The gradient of a maximum goes to the first of the window's elements that equals it, as in PyTorch; NaN is the largest. */
#pragma once

#include "kernel.h"

INLINE bool is_more(float a, float b) { return (a > b) | (a != a); }

typedef struct {
    int64_t height, width, down, right, top, left; /* of windows, their distance, and the padding */
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

/* Arguments: out, x, geometry. */
static void max_pool_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(0, 1), right = SIZE(0, 2), rows = SIZE(1, 1), columns = SIZE(1, 2);
    Geometry geometry = geometry_at(a, 2);
    for (int64_t image = first; image < last; image++) {
        float *out = FLOATS(0) + image * down * right;
        const float *x = FLOATS(1) + image * rows * columns;
        for (int64_t i = 0; i < down; i++)
            for (int64_t j = 0; j < right; j++) {
                Window w = window_at(geometry, i, j, rows, columns);
                float most = -INFINITY;
                for (int64_t r = w.first; r < w.last; r++)
                    for (int64_t c = w.start; c < w.stop; c++) most = is_more(x[r * columns + c], most) ? x[r * columns + c] : most;
                out[i * right + j] = most;
            }
    }
}

/* Arguments: grad_input, which must be zeros, g, x, geometry. */
static void max_pool_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(1, 1), right = SIZE(1, 2), rows = SIZE(2, 1), columns = SIZE(2, 2);
    Geometry geometry = geometry_at(a, 3);
    for (int64_t image = first; image < last; image++) {
        float *grad_input = FLOATS(0) + image * rows * columns;
        const float *g = FLOATS(1) + image * down * right, *x = FLOATS(2) + image * rows * columns;
        for (int64_t i = 0; i < down; i++)
            for (int64_t j = 0; j < right; j++) {
                Window w = window_at(geometry, i, j, rows, columns);
                float most = -INFINITY;
                int64_t place = w.first * columns + w.start;
                for (int64_t r = w.first; r < w.last; r++)
                    for (int64_t c = w.start; c < w.stop; c++)
                        if (is_more(x[r * columns + c], most)) most = x[r * columns + c], place = r * columns + c;
                grad_input[place] += g[i * right + j];
            }
    }
}

/* 2 x 2 windows that do not overlap and cover everything, the common case: out, x. */
static void max_pool_2x2_images(const Argument *a, int64_t first, int64_t last) {
    int64_t right = SIZE(0, 2), windows = SIZE(0, 1);
    for (int64_t row = first * windows; row < last * windows; row++) {
        float *out = FLOATS(0) + row * right;
        const float *above = FLOATS(1) + row * 4 * right, *below = above + 2 * right;
        SIMD() for (int64_t j = 0; j < right; j++) {
            float p = above[2 * j], q = above[2 * j + 1], r = below[2 * j], s = below[2 * j + 1];
            p = is_more(q, p) ? q : p;
            r = is_more(s, r) ? s : r;
            out[j] = is_more(r, p) ? r : p;
        }
    }
}

/* Arguments: grad_input, which need not be zeros, g, x. */
static void max_pool_2x2_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t right = SIZE(1, 2), windows = SIZE(1, 1);
    for (int64_t row = first * windows; row < last * windows; row++) {
        float *to_above = FLOATS(0) + row * 4 * right, *to_below = to_above + 2 * right;
        const float *g = FLOATS(1) + row * right, *above = FLOATS(2) + row * 4 * right, *below = above + 2 * right;
        SIMD() for (int64_t j = 0; j < right; j++) {
            float p = above[2 * j], q = above[2 * j + 1], r = below[2 * j], s = below[2 * j + 1];
            bool second = is_more(q, p), fourth = is_more(s, r);
            bool under = is_more(fourth ? s : r, second ? q : p);
            float up = under ? 0.0f : g[j], down = under ? g[j] : 0.0f;
            to_above[2 * j] = second ? 0.0f : up;
            to_above[2 * j + 1] = second ? up : 0.0f;
            to_below[2 * j] = fourth ? 0.0f : down;
            to_below[2 * j + 1] = fourth ? down : 0.0f;
        }
    }
}

/* Arguments: out, x, shares (the factor by which the sum of each window is multiplied), geometry. */
static void avg_pool_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(0, 1), right = SIZE(0, 2), rows = SIZE(1, 1), columns = SIZE(1, 2);
    Geometry geometry = geometry_at(a, 3);
    for (int64_t image = first; image < last; image++) {
        float *out = FLOATS(0) + image * down * right;
        const float *x = FLOATS(1) + image * rows * columns, *shares = FLOATS(2);
        for (int64_t i = 0; i < down; i++)
            for (int64_t j = 0; j < right; j++) {
                Window w = window_at(geometry, i, j, rows, columns);
                float total = 0.0f;
                for (int64_t r = w.first; r < w.last; r++)
                    for (int64_t c = w.start; c < w.stop; c++) total += x[r * columns + c];
                out[i * right + j] = total * shares[i * right + j];
            }
    }
}

/* Arguments: grad_input, which must be zeros, g, shares, geometry. */
static void avg_pool_backward_images(const Argument *a, int64_t first, int64_t last) {
    int64_t rows = SIZE(0, 1), columns = SIZE(0, 2), down = SIZE(1, 1), right = SIZE(1, 2);
    Geometry geometry = geometry_at(a, 3);
    for (int64_t image = first; image < last; image++) {
        float *grad_input = FLOATS(0) + image * rows * columns;
        const float *g = FLOATS(1) + image * down * right, *shares = FLOATS(2);
        for (int64_t i = 0; i < down; i++)
            for (int64_t j = 0; j < right; j++) {
                Window w = window_at(geometry, i, j, rows, columns);
                float share = g[i * right + j] * shares[i * right + j];
                for (int64_t r = w.first; r < w.last; r++)
                    for (int64_t c = w.start; c < w.stop; c++) grad_input[r * columns + c] += share;
            }
    }
}

#define POOLING_KERNELS                                                                                                            \
    {"max_pool", "FFiiiiii", max_pool_images, ITEMS}, {"max_pool_backward", "FFFiiiiii", max_pool_backward_images, ITEMS},         \
        {"max_pool_2x2", "FF", max_pool_2x2_images, ITEMS}, {"max_pool_2x2_backward", "FFF", max_pool_2x2_backward_images, ITEMS}, \
        {"avg_pool", "FFFiiiiii", avg_pool_images, ITEMS}, {"avg_pool_backward", "FFFiiiiii", avg_pool_backward_images, ITEMS}

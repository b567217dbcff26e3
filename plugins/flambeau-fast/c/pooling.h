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

/* Max pooling's gradient.  Arguments: grad_input (zeros), g, x, geometry. */
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

/* Max pooling.  Arguments: out, x, geometry. */
static void max_pool_images(const Argument *a, int64_t first, int64_t last) {
    int64_t down = SIZE(0, 1), right = SIZE(0, 2), rows = SIZE(1, 1), columns = SIZE(1, 2);
    Geometry geometry = geometry_at(a, 2);
    if (geometry.height == 2 && geometry.width == 2 && geometry.down == 2 && geometry.right == 2 && rows == 2 * down && columns == 2 * right) {
        max_pool_2x2_images(a, first, last);
        return;
    }
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

/* Average pooling's gradient.  Arguments: grad_input (zeros), g, shares, geometry. */
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
    {"max_pool", "PPiiiiii", max_pool_images, ITEMS}, {"max_pool_backward", "FFFiiiiii", max_pool_backward_images, ITEMS},         \
        {"max_pool_2x2_backward", "FFF", max_pool_2x2_backward_images, ITEMS}, \
        {"avg_pool", "FFFiiiiii", avg_pool_images, ITEMS}, {"avg_pool_backward", "FFFiiiiii", avg_pool_backward_images, ITEMS}

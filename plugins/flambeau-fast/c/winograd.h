/* The transforms of Winograd's convolution F(4 x 4, 3 x 3) (Lavin & Gray 2016): what lies between images and the products.

Tiles are `(place, tile, channel)`, of 36 places.  A row of tiles is computed at a time: its rows of the images are copied with
channels last, so that LANES channels of a place are one vector. */
#pragma once

#include "matrix.h"

/* Six numbers for six, by the transpose of matrix B of the paper; `step` apart in memory. */
INLINE void pass_input(Vector *to, int step, const Vector *d, int from_step) {
    Vector d0 = d[0], d1 = d[from_step], d2 = d[2 * from_step], d3 = d[3 * from_step], d4 = d[4 * from_step], d5 = d[5 * from_step];
    to[0] = 4.0f * d0 - 5.0f * d2 + d4;
    to[step] = (d4 - 4.0f * d2) + (d3 - 4.0f * d1);
    to[2 * step] = (d4 - 4.0f * d2) - (d3 - 4.0f * d1);
    to[3 * step] = (d4 - d2) + 2.0f * (d3 - d1);
    to[4 * step] = (d4 - d2) - 2.0f * (d3 - d1);
    to[5 * step] = 4.0f * d1 - 5.0f * d3 + d5;
}

/* Four numbers for six, by the transpose of matrix A. */
INLINE void pass_result(Vector *to, int step, const Vector *m, int from_step) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step], m5 = m[5 * from_step];
    to[0] = m0 + (m1 + m2) + (m3 + m4);
    to[step] = (m1 - m2) + 2.0f * (m3 - m4);
    to[2 * step] = (m1 + m2) + 4.0f * (m3 + m4);
    to[3 * step] = (m1 - m2) + 8.0f * (m3 - m4) + m5;
}

/* Six numbers for four, by matrix A. */
INLINE void pass_gradient(Vector *to, int step, const Vector *s, int from_step) {
    Vector s0 = s[0], s1 = s[from_step], s2 = s[2 * from_step], s3 = s[3 * from_step];
    to[0] = s0;
    to[step] = (s0 + s2) + (s1 + s3);
    to[2 * step] = (s0 + s2) - (s1 + s3);
    to[3 * step] = (s0 + 4.0f * s2) + (2.0f * s1 + 8.0f * s3);
    to[4 * step] = (s0 + 4.0f * s2) - (2.0f * s1 + 8.0f * s3);
    to[5 * step] = s3;
}

/* Six numbers for three, by matrix G. */
INLINE void pass_weight(Vector *to, int step, const Vector *w, int from_step) {
    Vector w0 = w[0], w1 = w[from_step], w2 = w[2 * from_step];
    to[0] = w0 * (1.0f / 4);
    to[step] = (w0 + w1 + w2) * (-1.0f / 6);
    to[2 * step] = (w0 - w1 + w2) * (-1.0f / 6);
    to[3 * step] = w0 * (1.0f / 24) + w1 * (1.0f / 12) + w2 * (1.0f / 6);
    to[4 * step] = w0 * (1.0f / 24) - w1 * (1.0f / 12) + w2 * (1.0f / 6);
    to[5 * step] = w2;
}

INLINE void store_some(float *to, Vector value, int64_t count) {
    if (count >= LANES) store(to, value);
    else
        for (int64_t lane = 0; lane < count; lane++) to[lane] = value[lane];
}

/* Rows of an image with channels last, in vectors: `(row, column, channel)`, with zeros outside of the image. */
static Vector *strip_of(const float *image, int64_t channels, int64_t height, int64_t width, int64_t top, int64_t left, int64_t rows,
                        int64_t columns) {
    int64_t vectors = pieces(channels, LANES), lanes = vectors * LANES, inside = smaller(width, columns - left);
    float *strip = scratch(1, rows * columns * lanes * sizeof(float));
    for (int64_t r = 0; r < rows; r++) {
        float *line = strip + r * columns * lanes;
        if (top + r < 0 || top + r >= height) {
            memset(line, 0, columns * lanes * sizeof(float));
            continue;
        }
        memset(line, 0, left * lanes * sizeof(float));
        transpose(line + left * lanes, lanes, image + (top + r) * width, height * width, channels, inside);
        memset(line + (left + inside) * lanes, 0, (columns - left - inside) * lanes * sizeof(float));
    }
    return (Vector *)strip;
}

/* Arguments: tiles, images, the numbers of tiles down and right, padding at top and left. */
static void input_tiles_row(void *context, int64_t number) {
    const Argument *a = context;
    int64_t channels = SIZE(1, 1), height = SIZE(1, 2), width = SIZE(1, 3), down = INTEGER(2), right = INTEGER(3), tiles = SIZE(0, 1);
    int64_t n = number / down, i = number % down, columns = 4 * right + 2, vectors = pieces(channels, LANES);
    const Vector *strip = strip_of(FLOATS(1) + n * channels * height * width, channels, height, width, 4 * i - INTEGER(4), INTEGER(5), 6, columns);
    for (int64_t j = 0; j < right; j++)
        for (int64_t v = 0; v < vectors; v++) {
            Vector half[36], whole[36];
            for (int s = 0; s < 6; s++) pass_input(half + s, 6, strip + (4 * j + s) * vectors + v, (int)(columns * vectors));
            for (int r = 0; r < 6; r++) pass_input(whole + 6 * r, 1, half + 6 * r, 1);
            float *to = FLOATS(0) + (number * right + j) * channels + v * LANES;
            for (int place = 0; place < 36; place++) store_some(to + place * tiles * channels, whole[place], channels - v * LANES);
        }
}

/* Arguments: tiles, gradients of the result, the numbers of tiles down and right. */
static void gradient_tiles_row(void *context, int64_t number) {
    const Argument *a = context;
    int64_t channels = SIZE(1, 1), height = SIZE(1, 2), width = SIZE(1, 3), down = INTEGER(2), right = INTEGER(3), tiles = SIZE(0, 1);
    int64_t n = number / down, i = number % down, columns = 4 * right, vectors = pieces(channels, LANES);
    const Vector *strip = strip_of(FLOATS(1) + n * channels * height * width, channels, height, width, 4 * i, 0, 4, columns);
    for (int64_t j = 0; j < right; j++)
        for (int64_t v = 0; v < vectors; v++) {
            Vector half[24], whole[36];
            for (int s = 0; s < 4; s++) pass_gradient(half + s, 4, strip + (4 * j + s) * vectors + v, (int)(columns * vectors));
            for (int r = 0; r < 6; r++) pass_gradient(whole + 6 * r, 1, half + 4 * r, 1);
            float *to = FLOATS(0) + (number * right + j) * channels + v * LANES;
            for (int place = 0; place < 36; place++) store_some(to + place * tiles * channels, whole[place], channels - v * LANES);
        }
}

/* Arguments: images, tiles, bias (empty for none), the numbers of tiles down and right. */
static void results_row(void *context, int64_t number) {
    const Argument *a = context;
    int64_t channels = SIZE(0, 1), height = SIZE(0, 2), width = SIZE(0, 3), down = INTEGER(3), right = INTEGER(4), tiles = SIZE(1, 1);
    int64_t n = number / down, i = number % down, columns = 4 * right, vectors = pieces(channels, LANES);
    Vector *strip = scratch(1, 4 * columns * vectors * sizeof(Vector));
    for (int64_t j = 0; j < right; j++)
        for (int64_t v = 0; v < vectors; v++) {
            Vector tile[36], half[24], offset = {0};
            const float *from = FLOATS(1) + (number * right + j) * channels + v * LANES;
            int64_t count = channels - v * LANES;
            for (int place = 0; place < 36; place++)
                if (count >= LANES) tile[place] = load(from + place * tiles * channels);
                else
                    for (int64_t lane = 0; lane < count; lane++) tile[place][lane] = from[place * tiles * channels + lane];
            for (int64_t lane = 0; lane < smaller(count, LANES) && SIZE(2, 0); lane++) offset[lane] = FLOATS(2)[v * LANES + lane];
            for (int s = 0; s < 6; s++) pass_result(half + s, 6, tile + s, 6);
            for (int r = 0; r < 4; r++) {
                Vector *to = strip + (r * columns + 4 * j) * vectors + v;
                pass_result(to, (int)vectors, half + 6 * r, 1);
                for (int s = 0; s < 4; s++) to[s * vectors] += offset;
            }
        }
    for (int64_t r = 0; r < smaller(4, height - 4 * i); r++)
        transpose(FLOATS(0) + (n * channels * height + 4 * i + r) * width, height * width, (float *)(strip + r * columns * vectors),
                  vectors * LANES, width, channels);
}

static void input_tiles(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(1, 0) * INTEGER(2), input_tiles_row, (void *)a);
}

static void gradient_tiles(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(1, 0) * INTEGER(2), gradient_tiles_row, (void *)a);
}

static void results(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(0, 0) * INTEGER(3), results_row, (void *)a);
}

/* A row of transformed weights.  Context: the transformed, `(place, row, column)`, weights as `(row, column, 9)` in any order of the
first two, and whether kernels are flipped. */
static void weights_row(void *context, int64_t row) {
    const Argument *a = context;
    int64_t rows = SIZE(0, 1), columns = SIZE(0, 2);
    const float *end = FLOATS(1) + (rows - 1) * STEP(1, 0) + (columns - 1) * STEP(1, 1) + 9;
    for (int64_t column = 0; column < columns; column += LANES) {
        Vector half[18], whole[36];
        Vector kernel[9] = {{0}};
        const float *from = FLOATS(1) + row * STEP(1, 0) + column * STEP(1, 1);
#if LANES == 16
        if (column + LANES <= columns && from + (LANES - 1) * STEP(1, 1) + LANES <= end) {
            Vector taps[LANES];
            _Pragma("GCC unroll 16") for (int lane = 0; lane < LANES; lane++) taps[lane] = load(from + lane * STEP(1, 1));
            transpose_vectors(taps);
            for (int tap = 0; tap < 9; tap++) kernel[tap] = taps[INTEGER(2) ? 8 - tap : tap];
        } else
#endif
            for (int64_t lane = 0; lane < smaller(LANES, columns - column); lane++)
                for (int tap = 0; tap < 9; tap++) kernel[tap][lane] = from[lane * STEP(1, 1) + (INTEGER(2) ? 8 - tap : tap)];
        (void)end;
        for (int s = 0; s < 3; s++) pass_weight(half + s, 3, kernel + s, 3);
        for (int r = 0; r < 6; r++) pass_weight(whole + 6 * r, 1, half + 3 * r, 1);
        for (int place = 0; place < 36; place++)
            store_some(FLOATS(0) + (place * rows + row) * columns + column, whole[place], columns - column);
    }
}

/* Weights from numbers for each place, `(place, weight)`, by a matrix `(place, 9)`: out is `(weight, 9)`. */
static void weights_from_places(const Argument *a, int64_t first, int64_t last) {
    int64_t places = SIZE(1, 0), step = SIZE(1, 1);
    const float *matrix = FLOATS(2);
    for (int64_t i = first; i < last; i += LANES) {
        Vector sums[9] = {{0}};
        int64_t count = smaller(LANES, last - i);
        for (int64_t place = 0; place < places; place++) {
            Vector value = {0};
            if (count == LANES) value = load(FLOATS(1) + place * step + i);
            else
                for (int64_t lane = 0; lane < count; lane++) value[lane] = FLOATS(1)[place * step + i + lane];
            _Pragma("GCC unroll 9") for (int tap = 0; tap < 9; tap++) sums[tap] += value * matrix[place * 9 + tap];
        }
        float *out = FLOATS(0) + i * 9;
        for (int64_t lane = 0; lane < count; lane++)
            for (int tap = 0; tap < 9; tap++) out[lane * 9 + tap] = ((float *)sums)[tap * LANES + lane];
    }
}

static void winograd_weights(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    parallel(SIZE(0, 1), weights_row, (void *)a);
}

#define WINOGRAD_KERNELS                                                                                                           \
    {"input_tiles", "FFiiii", input_tiles, WHOLE}, {"gradient_tiles", "FFii", gradient_tiles, WHOLE},                              \
        {"winograd_results", "FFFii", results, WHOLE}, {"winograd_weights", "FFi", winograd_weights, WHOLE},                            \
        {"weights_from_places", "FFF", weights_from_places, ITEMS}

/* Winograd convolution F(4 x 4, 3 x 3) (Lavin & Gray 2016): 36 products in place of 144 for a tile of 4 x 4 results.

Terms: a place is one of the 36 elements of a transformed tile; a tap is an element of the kernel.

A chunk of tiles is transformed to `(piece of PIECE channels, place, tile, channel)`.  A few outputs are computed at a time:
their weights are transformed, multiplied, and the results are transformed back, all within the L2 cache.  Each chunk
transforms the weights again, which costs a tenth to a half of its products.  Transformed weights are four times as large, and
loading them would cost more.

If there are enough chunks, each thread has its own, which stay in its cache: loading what another thread transformed takes
longer than transforming it.  If there are few tiles, each thread has some of the channels, and results are added up.  Only if
there are more threads than both is a chunk shared.  The division of channels depends only on shapes, and therefore results do
as well.

With stride 2, even rows of an image meet two taps and odd rows one: five products for four results, and four more.  Tiles are
then 9 x 9 with 81 places, which share 36 transformed weights: 81 products in place of 144.  The gradient of such an image
consists of tiles of 8 x 8, also with 81 places: four rows where two taps meet, and four where one does.

Vectors contain channels or outputs, so that images are transposed on the way in and out, a row of tiles at a time. */
#pragma once

#include "matrix.h"

#define PLACES 36
#define PLACES_BY_2 81 /* number of places for stride 2 */
#define TILES_OF_TASK 112
#define TILES_OF_TASK_BY_2 84
#define BYTES_OF_TILES (1 << 22) /* size of a chunk of tiles shared by threads */
#define BYTES_OF_OWN_TILES 700000 /* size of a chunk of one thread, which has at least LEAST_TILES tiles */
#define LEAST_TILES 32
#define MOST_GROUPS 8 /* maximum number of groups of chunks with separate sums of weight gradients */
#define CHANNELS_OF_PART 256 /* number of channels of a part, chosen so that its tiles fit into the cache */
#define CHANNELS_OF_PART_BY_2 128
#define VECTORS (WIDTH / LANES)
#define WEIGHT_STEP (PIECE * WIDTH + LANES) /* distance of places: multiples of 4096 bytes would compete for a few cache sets */

/* Transform six elements to six, by the transpose of the paper's matrix B; elements are `step` apart in memory. */
INLINE void pass_input(Vector *to, int64_t step, const Vector *d, int64_t from_step) {
    Vector d0 = d[0], d1 = d[from_step], d2 = d[2 * from_step], d3 = d[3 * from_step], d4 = d[4 * from_step], d5 = d[5 * from_step];
    to[0] = 4.0f * d0 - 5.0f * d2 + d4;
    to[step] = (d4 - 4.0f * d2) + (d3 - 4.0f * d1);
    to[2 * step] = (d4 - 4.0f * d2) - (d3 - 4.0f * d1);
    to[3 * step] = (d4 - d2) + 2.0f * (d3 - d1);
    to[4 * step] = (d4 - d2) - 2.0f * (d3 - d1);
    to[5 * step] = 4.0f * d1 - 5.0f * d3 + d5;
}

/* Transform six elements to four, by the transpose of matrix A. */
INLINE void pass_result(Vector *to, int64_t step, const Vector *m, int64_t from_step) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step], m5 = m[5 * from_step];
    to[0] = m0 + (m1 + m2) + (m3 + m4);
    to[step] = (m1 - m2) + 2.0f * (m3 - m4);
    to[2 * step] = (m1 + m2) + 4.0f * (m3 + m4);
    to[3 * step] = (m1 - m2) + 8.0f * (m3 - m4) + m5;
}

/* Transform four elements to six, by matrix A. */
INLINE void pass_gradient(Vector *to, int64_t step, const Vector *s, int64_t from_step) {
    Vector s0 = s[0], s1 = s[from_step], s2 = s[2 * from_step], s3 = s[3 * from_step];
    to[0] = s0;
    to[step] = (s0 + s2) + (s1 + s3);
    to[2 * step] = (s0 + s2) - (s1 + s3);
    to[3 * step] = (s0 + 4.0f * s2) + (2.0f * s1 + 8.0f * s3);
    to[4 * step] = (s0 + 4.0f * s2) - (2.0f * s1 + 8.0f * s3);
    to[5 * step] = s3;
}

/* Transform three elements to six, by matrix G. */
INLINE void pass_weight(Vector *to, int64_t step, const Vector *w, int64_t from_step) {
    Vector w0 = w[0], w1 = w[from_step], w2 = w[2 * from_step];
    Vector near = (w0 + w2) * (-1.0f / 6), far = w0 * (1.0f / 24) + w2 * (1.0f / 6);
    to[0] = w0 * (1.0f / 4);
    to[step] = near - w1 * (1.0f / 6);
    to[2 * step] = near + w1 * (1.0f / 6);
    to[3 * step] = far + w1 * (1.0f / 12);
    to[4 * step] = far - w1 * (1.0f / 12);
    to[5 * step] = w2;
}

/* Transform six elements to three, by the transpose of matrix G. */
INLINE void pass_weight_back(Vector *to, int64_t step, const Vector *m, int64_t from_step) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step], m5 = m[5 * from_step];
    to[0] = m0 * (1.0f / 4) - (m1 + m2) * (1.0f / 6) + (m3 + m4) * (1.0f / 24);
    to[step] = (m2 - m1) * (1.0f / 6) + (m3 - m4) * (1.0f / 12);
    to[2 * step] = (m3 + m4 - m1 - m2) * (1.0f / 6) + m5;
}

/* The input transform for two taps: five elements to five, with the points 0, 1, -1, 2 and infinity. */
INLINE void pass_of_two_taps(Vector *to, int64_t step, const Vector *d, int64_t from_step) {
    Vector d0 = d[0], d1 = d[from_step], d2 = d[2 * from_step], d3 = d[3 * from_step], d4 = d[4 * from_step];
    to[0] = 2.0f * (d0 - d2) + (d3 - d1);
    to[step] = (d3 - d2) - 2.0f * d1;
    to[2 * step] = d3 - 3.0f * d2 + 2.0f * d1;
    to[3 * step] = d3 - d1;
    to[4 * step] = 2.0f * (d1 - d3) + (d4 - d2);
}

/* The input transform for stride 2: of nine elements, transform the five even ones for two taps, and copy the four odd ones. */
INLINE void pass_input_by_2(Vector *to, int64_t step, const Vector *d, int64_t from_step) {
    pass_of_two_taps(to, step, d, 2 * from_step);
    for (int i = 0; i < 4; i++) to[(5 + i) * step] = d[(2 * i + 1) * from_step];
}

/* Transform five elements of the output's gradient for the image's gradient, rows with one tap first, or last if `after`. */
INLINE void pass_input_back(Vector *to, int64_t step, const Vector *d, int64_t from_step, bool after) {
    pass_of_two_taps(to, step, d, from_step);
    for (int i = 0; i < 4; i++) to[(5 + i) * step] = d[(i + after) * from_step];
}

/* Transform four elements of the output's gradient for the weight's gradient. */
INLINE void pass_gradient_by_2(Vector *to, int64_t step, const Vector *s, int64_t from_step) {
    Vector s0 = s[0], s1 = s[from_step], s2 = s[2 * from_step], s3 = s[3 * from_step];
    to[0] = s0;
    to[step] = (s0 + s2) + (s1 + s3);
    to[2 * step] = (s0 + s2) - (s1 + s3);
    to[3 * step] = (s0 + 4.0f * s2) + (2.0f * s1 + 8.0f * s3);
    to[4 * step] = s3;
    for (int i = 0; i < 4; i++) to[(5 + i) * step] = s[i * from_step];
}

INLINE void pass_weight_by_2(Vector *to, int64_t step, const Vector *w, int64_t from_step) {
    Vector w0 = w[0], w1 = w[from_step], w2 = w[2 * from_step];
    to[0] = w0 * (1.0f / 2);
    to[step] = (w0 + w2) * (-1.0f / 2);
    to[2 * step] = (w0 - w2) * (-1.0f / 6);
    to[3 * step] = w0 * (1.0f / 6) + w2 * (1.0f / 3);
    to[4 * step] = w2;
    to[5 * step] = w1;
}

INLINE void pass_weight_back_by_2(Vector *to, int64_t step, const Vector *m, int64_t from_step) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step];
    to[0] = (m0 - m1) * (1.0f / 2) + (m3 - m2) * (1.0f / 6);
    to[step] = m[5 * from_step];
    to[2 * step] = m2 * (1.0f / 6) - m1 * (1.0f / 2) + m3 * (1.0f / 3) + m4;
}

INLINE void pass_result_by_2(Vector *to, int64_t step, const Vector *m, int64_t from_step) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step];
    to[0] = m0 + (m1 + m2) + m3 + m[5 * from_step];
    to[step] = (m1 - m2) + 2.0f * m3 + m[6 * from_step];
    to[2 * step] = (m1 + m2) + 4.0f * m3 + m[7 * from_step];
    to[3 * step] = (m1 - m2) + 8.0f * m3 + m4 + m[8 * from_step];
}

/* The result transform of the image's gradient: nine elements to eight, alternating results of two taps and of one. */
INLINE void pass_result_back(Vector *to, int64_t step, const Vector *m, int64_t from_step, bool after) {
    Vector m0 = m[0], m1 = m[from_step], m2 = m[2 * from_step], m3 = m[3 * from_step], m4 = m[4 * from_step];
    Vector *of_two = to + (after ? 0 : step), *of_one = to + (after ? step : 0);
    of_two[0] = m0 + (m1 + m2) + m3;
    of_two[2 * step] = (m1 - m2) + 2.0f * m3;
    of_two[4 * step] = (m1 + m2) + 4.0f * m3;
    of_two[6 * step] = (m1 - m2) + 8.0f * m3 + m4;
    for (int i = 0; i < 4; i++) of_one[2 * i * step] = m[(5 + i) * from_step];
}

/* --- tiles --- */

typedef struct {
    const float *images, *end;
    int64_t image_step, channels, height, width, top, left; /* padding */
    int64_t down, right;                        /* number of tiles of an image in each direction */
    float *tiles;
    int64_t first, place_step, piece_step; /* row of tiles, over all images, where the chunk starts; strides of `tiles` */
    bool row_after, column_after;          /* for INPUT_BACK: rows or columns with one tap come after those with two */
} Tiles;

/* Copy rows of an image, channels last, as vectors: `(row, column, channel)`, with zeros outside of the image. */
static Vector *strip_of(const Tiles *t, int64_t n, int64_t top, int64_t left, int64_t rows, int64_t columns) {
    const int64_t vectors = pieces(t->channels, LANES), width = t->width, plane = t->height * width, inside = smaller(width, columns - left);
    const int64_t begin = larger(top, 0) * width, stop = smaller(top + rows, t->height) * width;
    Vector *strip = scratch(1, rows * columns * vectors * sizeof(Vector));
    for (int64_t r = 0; r < rows; r++) {
        Vector *line = strip + r * columns * vectors;
        const bool is_inside = top + r >= 0 && top + r < t->height;
        memset(line, 0, (is_inside ? left : columns) * vectors * sizeof(Vector));
        if (is_inside) memset(line + (left + inside) * vectors, 0, (columns - left - inside) * vectors * sizeof(Vector));
    }
    for (int64_t v = 0; v < vectors; v++) {
        const float *from = t->images + n * t->image_step + v * LANES * plane;
        const int64_t count = smaller(LANES, t->channels - v * LANES);
        for (int64_t at = begin; at < stop; at += LANES) {
            Vector row[LANES];
            if (count == LANES && from + (LANES - 1) * plane + at + LANES <= t->end)
                _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) row[i] = load(from + i * plane + at);
            else {
                memset(row, 0, sizeof row);
                for (int64_t i = 0; i < count; i++) memcpy(row + i, from + i * plane + at, smaller(LANES, stop - at) * sizeof(float));
            }
            transpose_vectors(row);
            int64_t c = at % width;
            Vector *to = strip + ((at / width - top) * columns + left + c) * vectors + v;
            if (c + LANES <= inside) {
                _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) to[i * vectors] = row[i];
                continue;
            }
            for (int64_t i = 0; i < smaller(LANES, stop - at); i++) {
                if (c < inside) *to = row[i];
                to += vectors;
                if (++c == width) c = 0, to += (columns - width) * vectors;
            }
        }
    }
    return strip;
}

INLINE float *tile_at(const Tiles *t, int64_t channel, int64_t place, int64_t tile) {
    return t->tiles + channel / PIECE * t->piece_step + place * t->place_step + tile * PIECE + channel % PIECE;
}

enum { INPUT, GRADIENT, INPUT_BY_2, GRADIENT_BY_2, INPUT_BACK };

INLINE void transform_tiles(const Tiles *t, int64_t number, const int kind) {
    const int64_t row = t->first + number, i = row % t->down, vectors = pieces(t->channels, LANES);
    const int size = kind == INPUT ? 6 : kind == INPUT_BY_2 ? 9 : kind == INPUT_BACK ? 5 : 4, step = kind == INPUT_BY_2 ? 8 : 4;
    const int64_t columns = step * (t->right - 1) + size, apart = t->place_step / LANES;
    const Vector *strip = strip_of(t, row / t->down, step * i - t->top, t->left, size, columns);
    for (int64_t j = 0; j < t->right; j++)
        for (int64_t v = 0; v < vectors; v++) {
            Vector half[PLACES_BY_2], *to = (Vector *)tile_at(t, v * LANES, 0, number * t->right + j);
            const Vector *from = strip + step * j * vectors + v;
            if (kind == INPUT_BY_2) {
                for (int s = 0; s < 9; s++) pass_input_by_2(half + s, 9, from + s * vectors, columns * vectors);
                for (int r = 0; r < 9; r++) pass_input_by_2(to + 9 * r * apart, apart, half + 9 * r, 1);
            } else if (kind == INPUT_BACK) {
                for (int s = 0; s < 5; s++) pass_input_back(half + s, 5, from + s * vectors, columns * vectors, t->row_after);
                for (int r = 0; r < 9; r++) pass_input_back(to + 9 * r * apart, apart, half + 5 * r, 1, t->column_after);
            } else if (kind == GRADIENT_BY_2) {
                for (int s = 0; s < 4; s++) pass_gradient_by_2(half + s, 4, from + s * vectors, columns * vectors);
                for (int r = 0; r < 9; r++) pass_gradient_by_2(to + 9 * r * apart, apart, half + 4 * r, 1);
            } else if (kind == INPUT) {
                for (int s = 0; s < 6; s++) pass_input(half + s, 6, from + s * vectors, columns * vectors);
                for (int r = 0; r < 6; r++) pass_input(to + 6 * r * apart, apart, half + 6 * r, 1);
            } else {
                for (int s = 0; s < 4; s++) pass_gradient(half + s, 4, from + s * vectors, columns * vectors);
                for (int r = 0; r < 6; r++) pass_gradient(to + 6 * r * apart, apart, half + 4 * r, 1);
            }
        }
}

static void input_tiles(void *context, int64_t number) { transform_tiles(context, number, INPUT); }
static void input_tiles_by_2(void *context, int64_t number) { transform_tiles(context, number, INPUT_BY_2); }
static void input_tiles_back(void *context, int64_t number) { transform_tiles(context, number, INPUT_BACK); }
static void gradient_tiles(void *context, int64_t number) { transform_tiles(context, number, GRADIENT); }
static void gradient_tiles_by_2(void *context, int64_t number) { transform_tiles(context, number, GRADIENT_BY_2); }

/* Return the tiles of the images of argument `i`, without allocating them. */
static Tiles tiles_of(const Argument *a, int i, int64_t down, int64_t right, int64_t top, int64_t left) {
    const int64_t channels = SIZE(i, 1), height = SIZE(i, 2), width = SIZE(i, 3), image_step = channels * height * width;
    return (Tiles){FLOATS(i), FLOATS(i) + SIZE(i, 0) * image_step, image_step, channels, height, width, top, left, down, right, NULL, 0, 0, 0,
                   false, false};
}

/* Return some rows of tiles and some channels, with newly allocated tiles.  The number of tiles per place is made odd, because
places at multiples of 4096 bytes would compete for a few cache sets. */
static Tiles some_tiles(const Tiles *all, int64_t first, int64_t rows, int64_t channel, int64_t channels, bool by_2, int use) {
    Tiles t = *all;
    t.first = first, t.images += channel * t.height * t.width, t.channels = smaller(channels, t.channels - channel);
    t.place_step = (rows * t.right | 1) * PIECE, t.piece_step = (by_2 ? PLACES_BY_2 : PLACES) * t.place_step;
    t.tiles = scratch(use, pieces(t.channels, PIECE) * t.piece_step * sizeof(float));
    return t;
}

/* Return the number of rows of tiles to transform at a time; like every division of work here, it depends only on the shape. */
INLINE int64_t rows_at_a_time(int64_t all, int64_t right, int64_t channels, int places, int64_t least, int64_t bytes) {
    int64_t most = larger(pieces(least, right), bytes / (places * (int64_t)sizeof(float) * channels * right));
    return pieces(all, pieces(all, most));
}

/* --- weights --- */

/* Load the nine taps of LANES kernels, `step` apart. */
INLINE void taps_of(Vector taps[9], const float *from, int64_t step) {
    int tap = 0;
    for (; tap == 0 || tap + LANES <= 9; tap += LANES) { /* 16 lanes load all taps at once, 8 or 4 lanes all but one */
        Vector row[LANES];
        _Pragma("GCC unroll 16") for (int lane = 0; lane < LANES; lane++) row[lane] = load(from + lane * step + tap);
        transpose_vectors(row);
        for (int i = 0; i < LANES && tap + i < 9; i++) taps[tap + i] = row[i];
    }
    if (tap < 9) {
        Vector last = {0};
        for (int lane = 0; lane < LANES; lane++) last[lane] = from[lane * step + 8];
        taps[8] = last;
    }
}

/* Transform the weights of up to PIECE channels and WIDTH outputs to `(place, channel, output)`.  Either channels or outputs
are adjacent in memory.  Parts of the weights are copied first, because strides would make them compete for a few cache sets. */
static void transform_weights(float *to, const float *from, int64_t channels, int64_t channel_step, int64_t outputs, int64_t output_step, bool flipped,
                              bool by_2) {
    const int64_t step = WEIGHT_STEP / LANES;
    float part[LANES * WIDTH * 9 + LANES];
    if (outputs < WIDTH) memset(part, 0, sizeof part);
    for (int64_t first = 0; first < channels; first += LANES) {
        const int64_t count = smaller(LANES, channels - first);
        const bool along = channel_step == 9;
        const int64_t part_channel = along ? 9 : WIDTH * 9, part_output = along ? LANES * 9 : 9;
        if (along)
            for (int64_t o = 0; o < outputs; o++) memcpy(part + o * part_output, from + o * output_step + first * 9, count * 9 * sizeof(float));
        else
            for (int64_t c = 0; c < count; c++) memcpy(part + c * part_channel, from + (first + c) * channel_step, outputs * 9 * sizeof(float));
        for (int64_t c = 0; c < count; c++)
            for (int v = 0; v < VECTORS; v++) {
                Vector taps[9], kernel[9], half[18];
                taps_of(taps, part + c * part_channel + v * LANES * part_output, part_output);
                for (int tap = 0; tap < 9; tap++) kernel[tap] = flipped ? taps[8 - tap] : taps[tap];
                Vector *at = (Vector *)(to + (first + c) * WIDTH + v * LANES);
                if (by_2) {
                    for (int s = 0; s < 3; s++) pass_weight_by_2(half + s, 3, kernel + s, 3);
                    for (int r = 0; r < 6; r++) pass_weight_by_2(at + 6 * r * step, step, half + 3 * r, 1);
                } else {
                    for (int s = 0; s < 3; s++) pass_weight(half + s, 3, kernel + s, 3);
                    for (int r = 0; r < 6; r++) pass_weight(at + 6 * r * step, step, half + 3 * r, 1);
                }
            }
    }
}

/* --- the convolution --- */

typedef struct {
    const Argument *a;
    Tiles tiles;               /* at first of all channels, then of the current chunk and part */
    int64_t all, rows;         /* rows of tiles of all images; of a chunk */
    int64_t channels, channel; /* number of channels of a part; its first channel */
    int64_t rows_of_task, tasks_of_rows;
    float *out, *parts; /* destination; results of all parts but the first, to be added later */
    bool by_2, back;    /* stride 2; gradient of an image with stride 2 */
} Convolution;

/* Return the index of the transformed weight of a place; places with a single tap share one. */
INLINE int weight_of(int place) { return (int)(smaller(place / 9, 5) * 6 + smaller(place % 9, 5)); }

/* Transpose `(position, output)` to planes of the outputs; if `add`, add to them. */
static void write_planes(float *to, int64_t plane, const Vector *from, int64_t positions, int64_t outputs, bool add) {
    for (int64_t at = 0; at < positions; at += LANES)
        for (int64_t v = 0; v * LANES < outputs; v++) {
            Vector row[LANES];
            _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) row[i] = from[(at + i) * VECTORS + v];
            transpose_vectors(row);
            float *corner = to + v * LANES * plane + at;
            if (add || at + LANES > positions || (v + 1) * LANES > outputs) {
                for (int64_t i = 0; i < smaller(LANES, outputs - v * LANES); i++) store_some(corner + i * plane, row[i], positions - at, add);
            } else {
                _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) store(corner + i * plane, row[i]);
            }
        }
}

/* Transform a row of tiles back to results, from sums `(place, tile, output)`. */
static void write_results(const Convolution *w, int64_t row, const float *sums, int64_t sum_step, int64_t output, int64_t outputs) {
    const Argument *a = w->a;
    const int64_t height = SIZE(0, 2), width = SIZE(0, 3), right = w->tiles.right, i = row % w->tiles.down, edge = w->back ? 8 : 4, columns = edge * right;
    Vector *strip = scratch(1, (edge * columns + LANES) * VECTORS * sizeof(Vector)), bias[VECTORS] = {{0}};
    if (SIZE(3, 0) && w->channel == 0) memcpy(bias, FLOATS(3) + output, outputs * sizeof(float));
    for (int64_t j = 0; j < right; j++)
        for (int64_t v = 0; v < VECTORS; v++) {
            Vector tile[PLACES_BY_2], half[72];
            for (int place = 0; place < (w->by_2 ? PLACES_BY_2 : PLACES); place++)
                tile[place] = load(sums + place * sum_step + j * WIDTH + v * LANES);
            if (w->back)
                for (int s = 0; s < 9; s++) pass_result_back(half + s, 9, tile + s, 9, w->tiles.row_after);
            else if (w->by_2)
                for (int s = 0; s < 9; s++) pass_result_by_2(half + s, 9, tile + s, 9);
            else
                for (int s = 0; s < 6; s++) pass_result(half + s, 6, tile + s, 6);
            for (int r = 0; r < edge; r++) {
                Vector *to = strip + (r * columns + edge * j) * VECTORS + v;
                if (w->back) pass_result_back(to, VECTORS, half + 9 * r, 1, w->tiles.column_after);
                else if (w->by_2) pass_result_by_2(to, VECTORS, half + 9 * r, 1);
                else pass_result(to, VECTORS, half + 6 * r, 1);
                for (int s = 0; s < edge; s++) to[s * VECTORS] += bias[v];
            }
        }
    float *to = w->out + (row / w->tiles.down * SIZE(0, 1) + output) * height * width + edge * i * width;
    const int64_t inside = smaller(edge, height - edge * i);
    const bool add = w->channel && !w->parts;
    if (width == columns) write_planes(to, height * width, strip, inside * width, outputs, add);
    else
        for (int64_t r = 0; r < inside; r++) write_planes(to + r * width, height * width, strip + r * columns * VECTORS, width, outputs, add);
}

/* Multiply some tiles with a transformed weight.  With stride 2, four places share a weight if one tap is met in one direction, 16
if in both. */
static void multiply_tiles(const Convolution *w, int weight, const float *weights, int64_t depth, int64_t channel, int64_t first, int64_t tiles,
                           float *sums, int64_t sum_step) {
    const int64_t panels = pieces(tiles, ROWS);
    const int edge = w->by_2 ? 9 : 6, row = weight / 6, column = weight % 6;
    for (int r = row; r <= (row < 5 ? row : edge - 1); r++)
        for (int s = column; s <= (column < 5 ? column : edge - 1); s++)
            for (int64_t panel = 0, place = r * edge + s; panel < panels; panel++) {
                const int64_t start = panel * tiles / panels, count = (panel + 1) * tiles / panels - start;
                Panels p = {.depth = depth, .a = tile_at(&w->tiles, channel, place, first + start), .a_row = PIECE, .b = weights,
                            .b_step = WIDTH, .out = sums + place * sum_step + start * WIDTH, .out_row = WIDTH, .add = channel > 0};
                micro_kernels[count - 1][BY_ROWS](&p);
            }
}

static void convolve_block(void *context, int64_t number) {
    const Convolution *w = context;
    const Argument *a = w->a;
    const int64_t first = number % w->tasks_of_rows * w->rows_of_task, rows = smaller(w->rows_of_task, w->rows - first);
    const int64_t output = number / w->tasks_of_rows * WIDTH, outputs = smaller(WIDTH, SIZE(2, 1) - output), right = w->tiles.right;
    const int64_t tiles = rows * right, sum_step = tiles * WIDTH + LANES, channels = w->tiles.channels;
    float *weights = scratch(0, (PLACES * WEIGHT_STEP + (w->by_2 ? PLACES_BY_2 : PLACES) * sum_step) * sizeof(float));
    float *sums = weights + PLACES * WEIGHT_STEP;
    for (int64_t channel = 0; channel < channels; channel += PIECE) {
        const int64_t depth = smaller(PIECE, channels - channel);
        transform_weights(weights, FLOATS(2) + (w->channel + channel) * STEP(2, 0) + output * STEP(2, 1), depth, STEP(2, 0), outputs, STEP(2, 1),
                          INTEGER(4), w->by_2);
        for (int weight = 0; weight < PLACES; weight++)
            multiply_tiles(w, weight, weights + weight * WEIGHT_STEP, depth, channel, first * right, tiles, sums, sum_step);
    }
    for (int64_t row = 0; row < rows; row++)
        write_results(w, w->tiles.first + first + row, sums + row * right * WIDTH, sum_step, output, outputs);
}

/* Compute a part of a chunk: on one thread inside a parallel loop, else on all threads. */
static void convolve_part(const Convolution *all, int64_t chunk, int64_t part) {
    Convolution w = *all;
    const Argument *a = w.a;
    w.rows = smaller(w.rows, w.all - chunk * w.rows), w.channel = part * w.channels;
    w.tiles = some_tiles(&all->tiles, chunk * all->rows, w.rows, w.channel, w.channels, w.by_2, 2);
    w.out = part && w.parts ? w.parts + (part - 1) * SIZE(0, 0) * SIZE(0, 1) * SIZE(0, 2) * SIZE(0, 3) : FLOATS(0);
    w.rows_of_task = pieces(w.rows, pieces(w.rows, larger(1, (w.by_2 ? TILES_OF_TASK_BY_2 : TILES_OF_TASK) / w.tiles.right)));
    w.tasks_of_rows = pieces(w.rows, w.rows_of_task);
    parallel(w.rows, w.back ? input_tiles_back : w.by_2 ? input_tiles_by_2 : input_tiles, &w.tiles);
    parallel(pieces(SIZE(2, 1), WIDTH) * w.tasks_of_rows, convolve_block, &w);
}

static int64_t parts_of(const Convolution *w) { return pieces(w->tiles.channels, w->channels); }

static void convolve_chunk(void *context, int64_t chunk) {
    for (int64_t part = 0; part < parts_of(context); part++) convolve_part(context, chunk, part);
}

static void convolve_part_alone(void *context, int64_t number) {
    convolve_part(context, number / parts_of(context), number % parts_of(context));
}

static void add_parts(void *context, int64_t n) {
    const Convolution *w = context;
    const Argument *a = w->a;
    const int64_t size = SIZE(0, 1) * SIZE(0, 2) * SIZE(0, 3);
    for (int64_t part = 1; part < parts_of(w); part++) {
        float *to = FLOATS(0) + n * size, *from = w->parts + ((part - 1) * SIZE(0, 0) + n) * size;
        SIMD() for (int64_t i = 0; i < size; i++) to[i] += from[i];
    }
}

/* Arguments: out, images, weights `(channel, output, 3, 3)` (the last two dimensions and one of the first two are dense),
bias (may be empty), whether kernels are flipped, padding at top and left, stride (1 or 2).  Flipped and with stride 2, this
is the transposed convolution, with the padding of the convolution. */
static void winograd(const Argument *a, int64_t from, int64_t to) {
    (void)from, (void)to;
    const bool by_2 = INTEGER(7) == 2, back = by_2 && INTEGER(4);
    const int64_t batch = SIZE(0, 0), edge = back ? 8 : 4, down = pieces(SIZE(0, 2), edge), right = pieces(SIZE(0, 3), edge), all = batch * down;
    const int64_t top = back ? INTEGER(5) == 0 : INTEGER(5), left = back ? INTEGER(6) == 0 : INTEGER(6);
    const int places = by_2 ? PLACES_BY_2 : PLACES;
    const int64_t parts = pieces(SIZE(1, 1), by_2 ? CHANNELS_OF_PART_BY_2 : CHANNELS_OF_PART), channels = pieces(SIZE(1, 1), parts * PIECE) * PIECE;
    Convolution w = {.a = a, .all = all, .channels = channels, .by_2 = by_2, .back = back};
    w.tiles = tiles_of(a, 1, down, right, top, left);
    w.tiles.row_after = INTEGER(5) % 2 == 0, w.tiles.column_after = INTEGER(6) % 2 == 0;
    const int64_t threads = thread_count(), results = batch * SIZE(0, 1) * SIZE(0, 2) * SIZE(0, 3);
    const int64_t chunks = pieces(all, rows_at_a_time(all, right, channels, places, LEAST_TILES, BYTES_OF_OWN_TILES));
    if (chunks >= threads) {
        w.rows = pieces(all, pieces(chunks, threads) * threads);
        parallel(pieces(all, w.rows), convolve_chunk, &w);
    } else if (chunks * parts >= threads && (parts - 1) * results * (int64_t)sizeof(float) <= BYTES_OF_TILES) {
        w.rows = pieces(all, chunks);
        w.parts = scratch(3, (parts - 1) * results * sizeof(float));
        parallel(chunks * parts, convolve_part_alone, &w);
        parallel(batch, add_parts, &w);
    } else {
        w.rows = rows_at_a_time(all, right, channels, places, by_2 ? TILES_OF_TASK_BY_2 : TILES_OF_TASK, BYTES_OF_TILES);
        for (int64_t chunk = 0; chunk * w.rows < all; chunk++) convolve_chunk(&w, chunk);
    }
}

/* --- the gradient of the weight --- */

typedef struct {
    const Argument *a;
    Tiles input, grad;             /* all channels and outputs */
    int64_t all, rows;             /* rows of tiles of all images; of a chunk */
    int64_t rows_of_group, groups; /* rows of tiles in a group of chunks; number of groups with separate sums */
    int64_t channels, outputs;     /* input channels transformed at a time in a task; outputs of a task */
    float *parts;                  /* gradients of all groups but the first */
    bool by_2;
} WeightGradient;

/* Write the weight's gradient for up to PIECE outputs and WIDTH channels to `out`, where outputs are `out_row` apart. */
static void weight_gradient_block(const Tiles *grad, const Tiles *input, int64_t tiles, int64_t channel, bool by_2, float *out, int64_t out_row,
                                  bool add) {
    const int64_t outputs = grad->channels, few = smaller(WIDTH, input->channels - channel);
    const int64_t panels = pieces(outputs, ROWS), sum_step = PIECE * WIDTH + LANES, step = sum_step / LANES;
    float *sums = scratch(0, PLACES * sum_step * sizeof(float));
    for (int place = 0; place < (by_2 ? PLACES_BY_2 : PLACES); place++) {
        float *sum = sums + (by_2 ? weight_of(place) : place) * sum_step;
        for (int64_t panel = 0; panel < panels; panel++) {
            const int64_t start = panel * outputs / panels, count = (panel + 1) * outputs / panels - start;
            Panels p = {.depth = tiles, .a = tile_at(grad, start, place, 0), .b = tile_at(input, channel, place, 0), .b_step = PIECE,
                        .out = sum + start * WIDTH, .out_row = WIDTH, .add = by_2 && (place / 9 > 5 || place % 9 > 5)};
            micro_kernels[count - 1][COLUMNS_OF_PIECE](&p);
        }
    }
    for (int64_t o = 0; o < outputs; o++) {
        float lines[9 * WIDTH + LANES], *to = out + o * out_row;
        for (int64_t v = 0; v * LANES < few; v++) {
            const Vector *from = (const Vector *)(sums + o * WIDTH + v * LANES);
            Vector half[18], taps[9];
            if (by_2) {
                for (int s = 0; s < 6; s++) pass_weight_back_by_2(half + s, 6, from + s * step, 6 * step);
                for (int r = 0; r < 3; r++) pass_weight_back_by_2(taps + 3 * r, 1, half + 6 * r, 1);
            } else {
                for (int s = 0; s < 6; s++) pass_weight_back(half + s, 6, from + s * step, 6 * step);
                for (int r = 0; r < 3; r++) pass_weight_back(taps + 3 * r, 1, half + 6 * r, 1);
            }
            float *line = lines + v * LANES * 9;
#if LANES > 9
            Vector row[LANES] = {{0}};
            for (int tap = 0; tap < 9; tap++) row[tap] = taps[tap];
            transpose_vectors(row); /* writes beyond nine elements are overwritten by the next store */
            _Pragma("GCC unroll 16") for (int lane = 0; lane < LANES; lane++) store(line + lane * 9, row[lane]);
#else
            for (int lane = 0; lane < LANES; lane++)
                for (int tap = 0; tap < 9; tap++) line[lane * 9 + tap] = taps[tap][lane];
#endif
        }
        if (add) {
            SIMD() for (int64_t i = 0; i < few * 9; i++) to[i] += lines[i];
        } else memcpy(to, lines, few * 9 * sizeof(float));
    }
}

/* Compute the gradient of some outputs for a group of tiles. */
static void weight_gradient_task(void *context, int64_t number) {
    const WeightGradient *w = context;
    const Argument *a = w->a;
    const int64_t group = number % w->groups, start = number / w->groups * w->outputs, stop = smaller(start + w->outputs, SIZE(0, 0));
    const int64_t begin = group * w->rows_of_group, end = smaller(begin + w->rows_of_group, w->all), out_row = SIZE(0, 1) * 9;
    float *out = group ? w->parts + (group - 1) * SIZE(0, 0) * out_row : FLOATS(0);
    for (int64_t first = begin; first < end; first += w->rows)
        for (int64_t channel = 0; channel < SIZE(0, 1); channel += w->channels) {
            const int64_t rows = smaller(w->rows, end - first);
            const Tiles input = some_tiles(&w->input, first, rows, channel, w->channels, w->by_2, 2);
            for (int64_t row = 0; row < rows; row++) (w->by_2 ? input_tiles_by_2 : input_tiles)((void *)&input, row);
            for (int64_t output = start; output < stop; output += PIECE) {
                const Tiles grad = some_tiles(&w->grad, first, rows, output, PIECE, w->by_2, 3);
                for (int64_t row = 0; row < rows; row++) (w->by_2 ? gradient_tiles_by_2 : gradient_tiles)((void *)&grad, row);
                for (int64_t c = 0; c < input.channels; c += WIDTH)
                    weight_gradient_block(&grad, &input, rows * input.right, c, w->by_2, out + output * out_row + (channel + c) * 9, out_row,
                                          first > begin);
            }
        }
}

static void add_groups(void *context, int64_t output) {
    const WeightGradient *w = context;
    const Argument *a = w->a;
    const int64_t size = SIZE(0, 1) * 9;
    for (int64_t group = 1; group < w->groups; group++) {
        float *to = FLOATS(0) + output * size, *from = w->parts + ((group - 1) * SIZE(0, 0) + output) * size;
        SIMD() for (int64_t i = 0; i < size; i++) to[i] += from[i];
    }
}

/* The gradient of the weight.  Tiles are divided into groups, whose number depends only on the shape, and outputs are divided
if there are fewer groups than threads.  Each task transforms its own tiles.  Arguments: gradient of the weight, images,
gradient of the output, padding at top and left, stride (1 or 2). */
static void winograd_weight(const Argument *a, int64_t from, int64_t to) {
    (void)from, (void)to;
    const bool by_2 = INTEGER(5) == 2;
    const int64_t down = pieces(SIZE(2, 2), 4), right = pieces(SIZE(2, 3), 4), all = SIZE(1, 0) * down, size = SIZE(0, 0) * SIZE(0, 1) * 9;
    const int64_t channels = smaller(SIZE(0, 1), 2 * (by_2 ? CHANNELS_OF_PART_BY_2 : CHANNELS_OF_PART)), threads = thread_count();
    WeightGradient w = {.a = a, .all = all, .channels = channels, .by_2 = by_2, .groups = 1};
    w.input = tiles_of(a, 1, down, right, INTEGER(3), INTEGER(4)), w.grad = tiles_of(a, 2, down, right, 0, 0);
    /* PIECE outputs take a share of the cache; images take up to two, because all outputs reuse their elements. */
    w.rows = rows_at_a_time(all, right, channels, by_2 ? PLACES_BY_2 : PLACES, LEAST_TILES / 2,
                            smaller(pieces(channels, PIECE), 2) * BYTES_OF_OWN_TILES);
    while (2 * w.groups <= smaller(MOST_GROUPS, pieces(all, w.rows)) && (2 * w.groups - 1) * size * (int64_t)sizeof(float) <= BYTES_OF_TILES)
        w.groups *= 2;
    w.rows_of_group = pieces(all, w.groups);
    w.groups = pieces(all, w.rows_of_group);
    w.rows = pieces(w.rows_of_group, pieces(w.rows_of_group, w.rows));
    if (w.groups > 1) w.parts = scratch(4, (w.groups - 1) * size * sizeof(float));
    const int64_t pieces_of_outputs = pieces(SIZE(0, 0), PIECE), tasks = smaller(pieces_of_outputs, pieces(threads, w.groups));
    w.outputs = pieces(pieces_of_outputs, tasks) * PIECE;
    parallel(w.groups * pieces(SIZE(0, 0), w.outputs), weight_gradient_task, &w);
    if (w.groups > 1) parallel(SIZE(0, 0), add_groups, &w);
}

#define WINOGRAD_KERNELS                                                                                                           \
    {"winograd", "FFFFiiii", winograd, WHOLE}, {"winograd_weight", "FFFiii", winograd_weight, WHOLE}

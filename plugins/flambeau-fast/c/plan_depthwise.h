/* Depthwise convolutions of channels-last images in inference plans.

A task computes a band of rows of the output, or some channels of it.  For each vector of channels, it copies the rows of the image that
a row of the output reads, with their padding: they stay in the L1 cache, and all windows are inside.  Each further row of the output
replaces some of them. */
#pragma once

#define WINDOWS_AT_ONCE 7 /* widths are often multiples of 7 */
#define LEAST_ROWS 7      /* of an image, for each thread */
#define MOST_COLUMNS 5    /* of windows whose columns are loaded once for several windows */

typedef struct {
    int64_t tall, wide, right, down; /* of windows, and their distances */
    int64_t column_step;             /* distance of columns of a window, in elements */
    int64_t channels, count;         /* count: the number of channels in a vector */
    const float *weights, **lines;   /* a vector for each tap, WIDTH apart; the copied row for each row of the windows */
    Vector bias;
    Activation by;
} DepthwiseBand;

/* Multiply adjacent windows with the weights.  `wide` and `right` are those of `d`, or 0 for other windows than the usual ones. */
INLINE void sums_of_windows(const DepthwiseBand *d, int64_t start, float *to, const int windows, const int wide, const int right) {
    Vector sums[WINDOWS_AT_ONCE];
    for (int i = 0; i < windows; i++) sums[i] = d->bias;
    const float *weights = d->weights;
    for (int64_t r = 0; r < d->tall; r++, weights += d->wide * WIDTH) {
        const float *from = d->lines[r] + start;
        if (wide) {
            Vector by[MOST_COLUMNS];
            for (int q = 0; q < wide; q++) by[q] = load(weights + q * WIDTH);
            _Pragma("GCC unroll 20") for (int column = 0; column < (windows - 1) * right + wide; column++) {
                const Vector x = load(from + column * LANES);
                _Pragma("GCC unroll 5") for (int q = 0; q < wide; q++)
                    if (column >= q && (column - q) % right == 0 && (column - q) / right < windows) sums[(column - q) / right] += x * by[q];
            }
        } else
            for (int64_t q = 0; q < d->wide; q++) {
                const Vector by = load(weights + q * WIDTH);
                for (int i = 0; i < windows; i++) sums[i] += load(from + i * d->right * LANES + q * d->column_step) * by;
            }
    }
    for (int i = 0; i < windows; i++) store_some(to + i * d->channels, activated(sums[i], d->by), d->count, false);
}

INLINE void depthwise_row(const DepthwiseBand *d, float *to, int64_t columns, const int wide, const int right) {
    const int64_t step = d->right * LANES;
    int64_t x = 0;
    for (; x + WINDOWS_AT_ONCE <= columns; x += WINDOWS_AT_ONCE)
        sums_of_windows(d, x * step, to + x * d->channels, WINDOWS_AT_ONCE, wide, right);
    for (; x + 4 <= columns; x += 4) sums_of_windows(d, x * step, to + x * d->channels, 4, wide, right);
    for (; x < columns; x++) sums_of_windows(d, x * step, to + x * d->channels, 1, wide, right);
}

/* Copy a vector of channels of each column of row `y` of the image, with zeros outside the image.  `end` is the end of the images. */
INLINE void copy_padded(float *to, int64_t columns, const float *image, int64_t y, int64_t left, int64_t height, int64_t width, int64_t channels,
                        int64_t count, const float *end) {
    const int64_t inside = y < 0 || y >= height ? 0 : larger(0, smaller(width, columns - left));
    const float *from = image + y * width * channels;
    int64_t x = 0;
    for (; x < (inside ? left : columns); x++, to += LANES) store(to, (Vector){0});
    for (; x < left + inside && from + LANES <= end; x++, to += LANES, from += channels) store(to, load(from)); /* lanes from `count` on are not used */
    for (; x < left + inside; x++, to += LANES, from += channels) memcpy(to, from, count * sizeof(float));
    for (; x < columns; x++, to += LANES) store(to, (Vector){0});
}

/* Threads share the rows of large images, and the channels of small ones. */
static int64_t rows_of_band(const int64_t *l) {
    const int64_t threads = thread_count();
    return l[6] < LEAST_ROWS * threads ? l[9] : pieces(l[9], threads * larger(1, l[9] / (LEAST_ROWS * threads)));
}

static int64_t parts_of_channels(const int64_t *l) { return rows_of_band(l) == l[9] ? smaller(thread_count(), pieces(l[8], LANES)) : 1; }

/* Parameters: 1 out, 2 input, 3 weight `(tap, channel)` as panels, 4 bias, 5 batch, 6-10 height, width, channels, height and width of the output,
11-12 height and width of the kernel, 13-18 stride, padding, dilation, 19-21 activation. */
static void depthwise_band(void *context, int64_t number) {
    const Step *s = context;
    const int64_t *l = s->line, height = l[6], width = l[7], channels = l[8], out_width = l[10], band = rows_of_band(l), bands = pieces(l[9], band);
    const int64_t parts = parts_of_channels(l), part = pieces(pieces(channels, LANES), parts) * LANES, start = number % parts * part;
    const int64_t n = number / parts / bands, first = number / parts % bands * band, rows = smaller(band, l[9] - first);
    const Activation by = activation_at(s, 19);
    const int64_t columns = (out_width - 1) * l[14] + (l[12] - 1) * l[18] + 1, lines = (l[11] - 1) * l[17] + 1, taps = l[11] * l[12];
    const float *images = address(s, 2), *image = images + n * height * width * channels, *end = images + l[5] * height * width * channels;
    float *copy = scratch(6, lines * columns * LANES * sizeof(float)), *out = address(s, 1) + (n * l[9] + first) * out_width * channels;
    const float *line_of_row[l[11]], *bias = address(s, 4);
    DepthwiseBand d = {l[11], l[12], l[14], l[13], l[18] * LANES, channels, 0, NULL, line_of_row, {0}, by};
    for (int64_t c = start; c < smaller(channels, start + part); c += LANES) {
        d.count = smaller(LANES, channels - c);
        d.weights = address(s, 3) + c / WIDTH * WIDTH * taps + c % WIDTH;
        if (bias) d.bias = load_some(bias + c, d.count);
        for (int64_t row = 0, y = first * d.down - l[15], copied = y; row < rows; row++, y += d.down) {
            for (copied = larger(copied, y); copied < y + lines; copied++)
                copy_padded(copy + (copied + l[15]) % lines * columns * LANES, columns, image + c, copied, l[16], height, width, channels, d.count, end);
            for (int64_t r = 0; r < d.tall; r++) line_of_row[r] = copy + (y + l[15] + r * l[17]) % lines * columns * LANES;
            float *to = out + row * out_width * channels + c;
            switch (l[18] == 1 && d.right <= 2 ? d.right * 10 + d.wide : 0) {
            case 13: depthwise_row(&d, to, out_width, 3, 1); break;
            case 15: depthwise_row(&d, to, out_width, 5, 1); break;
            case 23: depthwise_row(&d, to, out_width, 3, 2); break;
            case 25: depthwise_row(&d, to, out_width, 5, 2); break;
            default: depthwise_row(&d, to, out_width, 0, 0);
            }
        }
    }
    for (int64_t i = 0; i < rows * out_width && !is_cheap(by); i++) activate(out + i * channels + start, smaller(part, channels - start), by);
}

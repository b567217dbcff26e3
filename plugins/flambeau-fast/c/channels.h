/* Channels of images `(sample, channel, position)`: sums, moments, batch normalization and its gradient.  Positions of a
channel are summed in float32, and their sums in float64. */
#pragma once

#include "kernel.h"

/* Sum strips of a vector.  Arguments: out, x. */
static void sums_of_strips(const Argument *a, int64_t first, int64_t last) {
    int64_t strips = SIZE(0, 0), size = SIZE(1, 0);
    for (int64_t strip = first; strip < last; strip++) {
        double total = 0.0;
        int64_t stop = (strip + 1) * size / strips;
        for (int64_t start = strip * size / strips; start < stop; start += 4096) {
            total += sum_of(FLOATS(1) + start, smaller(4096, stop - start));
        }
        DOUBLES(0)[strip] = total;
    }
}

enum { ELEMENTS, SQUARES, PRODUCTS };

/* Sum x, (x - mean)^2 or x (y - mean) over the runs of a channel, `step` apart.  For short runs, lanes are summed separately over
some thousand elements, because adding up the lanes takes longer than summing a short run. */
INLINE double sum_over_runs(const float *x, const float *y, float mean, int64_t runs, int64_t step, int64_t places, const int kind) {
    double total = 0.0;
    if (places >= 32 * LANES) {
        for (int64_t n = 0; n < runs; n++, x += step, y += step)
            total += kind == ELEMENTS ? sum_of(x, places) : kind == SQUARES ? sum_of_squares(x, places, mean) : sum_of_products(x, y, mean, places);
        return total;
    }
    const int64_t together = 4096 / larger(places, 1);
    for (int64_t n = 0; n < runs;) {
        Vector lanes[2] = {{0}};
        float rest = 0.0f;
        for (int64_t stop = smaller(n + together, runs); n < stop; n++, x += step, y += step) {
            int64_t j = 0;
            for (; j + LANES <= places; j += LANES) {
                const Vector value = load(x + j);
                lanes[j / LANES % 2] += kind == ELEMENTS ? value : kind == SQUARES ? (value - mean) * (value - mean) : value * (load(y + j) - mean);
            }
            for (; j < places; j++) rest += kind == ELEMENTS ? x[j] : kind == SQUARES ? (x[j] - mean) * (x[j] - mean) : x[j] * (y[j] - mean);
        }
        total += sum_of_lanes(lanes[0] + lanes[1]) + rest;
    }
    return total;
}

/* Sum each channel.  Arguments: out, x. */
static void sums_of_channels(const Argument *a, int64_t first, int64_t last) {
    int64_t batch = SIZE(1, 0), channels = SIZE(1, 1), places = SIZE(1, 2);
    for (int64_t c = first; c < last; c++) {
        const float *x = FLOATS(1) + c * places;
        FLOATS(0)[c] = (float)sum_over_runs(x, x, 0.0f, batch, channels * places, places, ELEMENTS);
    }
}

/* Compute the moments of each channel.  Arguments: means, variances, x. */
static void moments_of_channels(const Argument *a, int64_t first, int64_t last) {
    int64_t batch = SIZE(2, 0), channels = SIZE(2, 1), places = SIZE(2, 2);
    for (int64_t c = first; c < last; c++) {
        const float *x = FLOATS(2) + c * places;
        const float mean = (float)(sum_over_runs(x, x, 0.0f, batch, channels * places, places, ELEMENTS) / (double)(batch * places));
        const double spread = sum_over_runs(x, x, mean, batch, channels * places, places, SQUARES);
        FLOATS(0)[c] = mean;
        FLOATS(1)[c] = (float)(spread / (double)(batch * places));
    }
}

/* Mean of each row.  Arguments: out, x as rows. */
static void means_of_rows(const Argument *a, int64_t first, int64_t last) {
    const int64_t places = SIZE(1, 1);
    for (int64_t i = first; i < last; i++) {
        const float *x = FLOATS(1) + i * places;
        FLOATS(0)[i] = (float)(sum_over_runs(x, x, 0.0f, 1, places, places, ELEMENTS) / (double)places);
    }
}

/* Normalize channels by the given moments.  Arguments: out and x as `(sample and channel, position)`, weight and bias (may be
empty), mean, variance, epsilon, number of channels. */
static void normalized_channels(const Argument *a, int64_t first, int64_t last) {
    const int64_t places = SIZE(0, 1), channels = INTEGER(7);
    for (int64_t i = first; i < last; i++) {
        const int64_t c = i % channels;
        const float scale = 1.0f / sqrtf(FLOATS(5)[c] + NUMBER_OF(6)), factor = SIZE(2, 0) ? scale * FLOATS(2)[c] : scale;
        const float offset = (SIZE(3, 0) ? FLOATS(3)[c] : 0.0f) - FLOATS(4)[c] * factor, *x = FLOATS(1) + i * places;
        float *out = FLOATS(0) + i * places;
        SIMD() for (int64_t j = 0; j < places; j++) out[j] = x[j] * factor + offset;
    }
}

#define MOST_TOGETHER 64 /* maximum number of channels whose runs are summed alternately */

/* Compute the sums of g and g (x - mean) over the runs of some channels.  Runs of these channels alternate, because those of one
channel are pages apart in memory. */
INLINE void gradient_sums(const float *g, const float *x, const float *mean, int64_t channels, int64_t runs, int64_t step, int64_t places,
                          double *totals, double *projections) {
    memset(totals, 0, channels * sizeof(double)), memset(projections, 0, channels * sizeof(double));
    if (places >= 32 * LANES) {
        for (int64_t n = 0; n < runs; n++)
            for (int64_t c = 0; c < channels; c++) {
                const float *grad = g + n * step + c * places;
                totals[c] += sum_of(grad, places);
                projections[c] += sum_of_products(grad, x + n * step + c * places, mean[c], places);
            }
        return;
    }
    const int64_t together = 4096 / larger(places, 1); /* number of runs summed in float32 */
    for (int64_t n = 0, stop; n < runs; n = stop) {
        Vector of_grads[MOST_TOGETHER], of_products[MOST_TOGETHER];
        memset(of_grads, 0, channels * sizeof(Vector)), memset(of_products, 0, channels * sizeof(Vector));
        for (int64_t run = n; stop = smaller(n + together, runs), run < stop; run++)
            for (int64_t c = 0; c < channels; c++) {
                const float *grads = g + run * step + c * places, *xs = x + run * step + c * places, centre = mean[c];
                Vector grad_sums[2] = {of_grads[c], {0}}, product_sums[2] = {of_products[c], {0}};
                int64_t j = 0;
                for (; j + 2 * LANES <= places; j += 2 * LANES)
                    for (int i = 0; i < 2; i++) {
                        const Vector grad = load(grads + j + i * LANES);
                        grad_sums[i] += grad, product_sums[i] += grad * (load(xs + j + i * LANES) - centre);
                    }
                if (j + LANES <= places) {
                    const Vector grad = load(grads + j);
                    grad_sums[0] += grad, product_sums[0] += grad * (load(xs + j) - centre);
                    j += LANES;
                }
                for (; j < places; j++) grad_sums[1][0] += grads[j], product_sums[1][0] += grads[j] * (xs[j] - centre);
                of_grads[c] = grad_sums[0] + grad_sums[1], of_products[c] = product_sums[0] + product_sums[1];
            }
        for (int64_t c = 0; c < channels; c++) totals[c] += sum_of_lanes(of_grads[c]), projections[c] += sum_of_lanes(of_products[c]);
    }
}

/* Compute the gradients of batch normalization.  Arguments: grad_weight, grad_bias, grad_input, g, x, mean,
scale (1 / standard deviation), factor (scale * weight), whether the moments are fixed. */
static void norm_backward_channels(const Argument *a, int64_t first, int64_t last) {
    const int64_t batch = SIZE(3, 0), places = SIZE(3, 2), step = SIZE(3, 1) * places;
    const int64_t together = larger(1, smaller(MOST_TOGETHER, 1024 / larger(places, 1)));
    for (int64_t start = first, count; start < last; start += count) {
        count = smaller(together, last - start);
        const float *grads = FLOATS(3) + start * places, *xs = FLOATS(4) + start * places, share = 1.0f / (float)(batch * places);
        double totals[MOST_TOGETHER], projections[MOST_TOGETHER];
        float tilts[MOST_TOGETHER], offsets[MOST_TOGETHER];
        gradient_sums(grads, xs, FLOATS(5) + start, count, batch, step, places, totals, projections);
        for (int64_t c = 0; c < count; c++) {
            const float mean = FLOATS(5)[start + c], scale = FLOATS(6)[start + c], factor = FLOATS(7)[start + c];
            FLOATS(1)[start + c] = (float)totals[c];
            FLOATS(0)[start + c] = (float)projections[c] * scale;
            tilts[c] = INTEGER(8) ? 0.0f : -factor * (float)projections[c] * scale * scale * share;
            offsets[c] = INTEGER(8) ? 0.0f : -factor * (float)totals[c] * share - tilts[c] * mean;
        }
        for (int64_t n = 0; n < batch; n++)
            for (int64_t c = 0; c < count; c++) {
                float *out = FLOATS(2) + n * step + (start + c) * places;
                const float *grad = grads + n * step + c * places, *x = xs + n * step + c * places;
                const float factor = FLOATS(7)[start + c], tilt = tilts[c], offset = offsets[c];
                SIMD() for (int64_t j = 0; j < places; j++) out[j] = grad[j] * factor + x[j] * tilt + offset;
            }
    }
}

/* The gradient of group normalization.  Arguments: grad_weights and grad_biases `(group of a sample, channel)`, grad_input, g and x
`(group of a sample, channel, position)`, means, scales, weights `(group, channel)`. */
static void group_norm_backward_groups(const Argument *a, int64_t first, int64_t last) {
    const int64_t channels = SIZE(2, 1), places = SIZE(2, 2), groups = SIZE(7, 0), size = channels * places;
    for (int64_t i = first; i < last; i++) {
        const float *g = FLOATS(3) + i * size, *x = FLOATS(4) + i * size, *weight = FLOATS(7) + i % groups * channels;
        const float mean = FLOATS(5)[i], scale = FLOATS(6)[i];
        double total = 0.0, projection = 0.0;
        for (int64_t c = 0; c < channels; c++) {
            const double sum = sum_over_runs(g + c * places, x, 0.0f, 1, 0, places, ELEMENTS);
            const double product = sum_over_runs(g + c * places, x + c * places, mean, 1, 0, places, PRODUCTS) * scale;
            FLOATS(0)[i * channels + c] = (float)product;
            FLOATS(1)[i * channels + c] = (float)sum;
            total += weight[c] * sum;
            projection += weight[c] * product;
        }
        const float shift = (float)(total / (double)size), slope = (float)(projection / (double)size) * scale;
        for (int64_t c = 0; c < channels; c++) {
            float *out = FLOATS(2) + i * size + c * places;
            SIMD() for (int64_t j = 0; j < places; j++)
                out[j] = (g[c * places + j] * weight[c] - shift - (x[c * places + j] - mean) * slope) * scale;
        }
    }
}

#define CHANNEL_KERNELS                                                                                                            \
    {"sums_of_strips", "DF", sums_of_strips, ITEMS}, {"sums_of_channels", "FF", sums_of_channels, ITEMS},                          \
        {"moments", "FFF", moments_of_channels, ITEMS}, {"means_of_rows", "VR", means_of_rows, ITEMS},                             \
        {"normalized_channels", "FFCCCCfi", normalized_channels, ITEMS},                                                           \
        {"norm_backward", "FFFFFFFFi", norm_backward_channels, ITEMS},                                                             \
        {"group_norm_backward", "FFFFFFFF", group_norm_backward_groups, ITEMS}

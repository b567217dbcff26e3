/* Losses of classes, for small batches, too: each is one call, which also looks whether the targets are classes. */
#pragma once

#include "kernel.h"
#include "scalar.h"

/* Arguments: result, of two elements, log_sum, x, target.  The result is the sum of the losses and how many targets are no classes. */
static void cross_entropy_sum(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t rows = SIZE(2, 0), classes = SIZE(2, 1), *target = LONGS(3);
    const float *log_sum = FLOATS(1), *x = FLOATS(2);
    double total = 0.0;
    int64_t strange = 0;
    for (int64_t i = 0; i < rows; i++) {
        if ((uint64_t)target[i] >= (uint64_t)classes) strange++;
        else total += log_sum[2 * i] - x[i * classes + target[i]] + log_sum[2 * i + 1];
    }
    DOUBLES(0)[0] = total;
    DOUBLES(0)[1] = (double)strange;
}

/* Arguments: grad_input, x, log_sum, target, strange, scales, which is one for all rows or has one for each.  `strange`, of one
element, becomes 1 if a target is no class. */
static void cross_entropy_gradient_rows(const Argument *a, int64_t first, int64_t last) {
    const int64_t classes = SIZE(0, 1), *target = LONGS(3);
    const float *log_sum = FLOATS(2), *scales = FLOATS(5);
    const bool one_scale = SIZE(5, 0) == 1;
    for (int64_t i = first; i < last; i++) {
        float *grad_input = FLOATS(0) + i * classes;
        const float *x = FLOATS(1) + i * classes, shift = log_sum[2 * i], log_total = log_sum[2 * i + 1];
        const float scale = scales[one_scale ? 0 : i];
        SIMD() for (int64_t j = 0; j < classes; j++) grad_input[j] = exp_below(x[j] - shift - log_total) * scale;
        if ((uint64_t)target[i] >= (uint64_t)classes) LONGS(4)[0] = 1;
        else grad_input[target[i]] -= scale;
    }
}

#define LOSS_KERNELS                                                                                                               \
    {"cross_entropy_sum", "DFFL", cross_entropy_sum, WHOLE},                                                                       \
        {"cross_entropy_gradient", "FFFLLF", cross_entropy_gradient_rows, ITEMS}

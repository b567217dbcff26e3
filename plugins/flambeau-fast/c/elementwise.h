/* Elementwise operations; each loop reads its arrays only once. */
#pragma once

#include "kernel.h"
#include "scalar.h"

#define OF_ONE(name, expression)                                                                                                   \
    static void name##_loop(const Argument *a, int64_t first, int64_t last) {                                                      \
        float *out = FLOATS(0);                                                                                                    \
        const float *from = FLOATS(1);                                                                                             \
        SIMD() for (int64_t i = first; i < last; i++) {                                                                            \
            float x = from[i];                                                                                                     \
            out[i] = expression;                                                                                                   \
        }                                                                                                                          \
    }
#define OF_TWO(name, expression)                                                                                                   \
    static void name##_loop(const Argument *a, int64_t first, int64_t last) {                                                      \
        float *out = FLOATS(0);                                                                                                    \
        const float *left = FLOATS(1), *right = FLOATS(2);                                                                         \
        SIMD() for (int64_t i = first; i < last; i++) {                                                                            \
            float x = left[i], y = right[i];                                                                                       \
            out[i] = expression;                                                                                                   \
        }                                                                                                                          \
    }
#define OF_TWO_AND_NUMBER(name, expression)                                                                                        \
    static void name##_loop(const Argument *a, int64_t first, int64_t last) {                                                      \
        float *out = FLOATS(0);                                                                                                    \
        const float *left = FLOATS(1), *right = FLOATS(2), number = NUMBER_OF(3);                                                  \
        SIMD() for (int64_t i = first; i < last; i++) {                                                                            \
            float x = left[i], y = right[i];                                                                                       \
            out[i] = expression;                                                                                                   \
        }                                                                                                                          \
    }
#define OF_ROW(name, expression)                                                                                                   \
    static void name##_loop(const Argument *a, int64_t first, int64_t last) {                                                      \
        const float *row = FLOATS(2);                                                                                              \
        int64_t width = SIZE(0, 1);                                                                                                \
        for (int64_t i = first; i < last; i++) {                                                                                   \
            float *out = FLOATS(0) + i * width;                                                                                    \
            const float *from = FLOATS(1) + i * width;                                                                             \
            SIMD() for (int64_t j = 0; j < width; j++) {                                                                           \
                float x = from[j], y = row[j];                                                                                     \
                out[j] = expression;                                                                                               \
            }                                                                                                                      \
        }                                                                                                                          \
    }

OF_TWO(add, x + y)
OF_TWO(sub, x - y)
OF_TWO(mul, x * y)
OF_TWO(div, x / y)
OF_ROW(add_row, x + y)
OF_ROW(mul_row, x * y)
OF_TWO_AND_NUMBER(add_scaled, x + y * number)
OF_TWO_AND_NUMBER(squared_error_gradient, (x - y) * number)
OF_ONE(sqrt, sqrtf(x))
OF_ONE(exp, exponential(x))
OF_ONE(tanh, hyperbolic_tangent(x))
OF_ONE(sigmoid, sigmoid(x))
OF_ONE(relu, x < 0.0f ? 0.0f : x)
OF_ONE(silu, silu(x))
OF_ONE(hardswish, x * hardsigmoid(x))
OF_ONE(hardsigmoid, hardsigmoid(x))
OF_ONE(gelu, gelu(x))
OF_ONE(gelu_tanh, gelu_tanh(x))
OF_TWO(relu_backward, y <= 0.0f ? 0.0f : x)
OF_TWO(silu_backward, silu_backward(x, y))
OF_TWO(gelu_backward, gelu_backward(x, y))
OF_TWO(gelu_tanh_backward, gelu_tanh_backward(x, y))

static void scale_loop(const Argument *a, int64_t first, int64_t last) {
    float *out = FLOATS(0);
    const float *x = FLOATS(1), factor = NUMBER_OF(2);
    SIMD() for (int64_t i = first; i < last; i++) out[i] = x[i] * factor;
}

static void leaky_relu_loop(const Argument *a, int64_t first, int64_t last) {
    float *out = FLOATS(0);
    const float *x = FLOATS(1), slope = NUMBER_OF(2);
    SIMD() for (int64_t i = first; i < last; i++) out[i] = x[i] < 0.0f ? x[i] * slope : x[i];
}

static void masked_loop(const Argument *a, int64_t first, int64_t last) {
    float *out = FLOATS(0);
    const float *x = FLOATS(1);
    const uint8_t *mask = a[2].data;
    SIMD() for (int64_t i = first; i < last; i++) out[i] = mask[i] ? x[i] : 0.0f;
}

/* Sum strips of the squared difference of two vectors. */
static void squared_error_loop(const Argument *a, int64_t first, int64_t last) {
    int64_t strips = SIZE(0, 0), size = SIZE(1, 0);
    const float *left = FLOATS(1), *right = FLOATS(2);
    for (int64_t strip = first; strip < last; strip++) {
        double total = 0.0;
        SIMD(reduction(+ : total)) for (int64_t i = strip * size / strips; i < (strip + 1) * size / strips; i++) {
            float difference = left[i] - right[i];
            total += (double)difference * difference;
        }
        DOUBLES(0)[strip] = total;
    }
}

/* --- in-place operations, for optimizers --- */

static void lerp_loop(const Argument *a, int64_t first, int64_t last) {
    float *target = FLOATS(0);
    const float *end = FLOATS(1), weight = NUMBER_OF(2);
    SIMD() for (int64_t i = first; i < last; i++) target[i] += (end[i] - target[i]) * weight;
}

static void addcmul_loop(const Argument *a, int64_t first, int64_t last) {
    float *target = FLOATS(0);
    const float *left = FLOATS(1), *right = FLOATS(2), value = NUMBER_OF(3);
    SIMD() for (int64_t i = first; i < last; i++) target[i] += left[i] * value * right[i];
}

static void addcdiv_loop(const Argument *a, int64_t first, int64_t last) {
    float *target = FLOATS(0);
    const float *left = FLOATS(1), *right = FLOATS(2), value = NUMBER_OF(3);
    SIMD() for (int64_t i = first; i < last; i++) target[i] += left[i] * value / right[i];
}

/* A step of Adam, with the argument names of `optimizers.adam_step`; `sign` is -1 to maximize. */
static void adam_step_loop(const Argument *a, int64_t first, int64_t last) {
    float *param = FLOATS(0), *mean = FLOATS(2), *square = FLOATS(3);
    const float *grad = FLOATS(1), sign = NUMBER_OF(4), decay = NUMBER_OF(5), shrink = NUMBER_OF(6);
    const float one_minus_beta1 = NUMBER_OF(7), beta2 = NUMBER_OF(8), rate = NUMBER_OF(9), eps = NUMBER_OF(10);
    SIMD() for (int64_t i = first; i < last; i++) {
        float before = param[i] * shrink;
        float gradient = sign * grad[i] + decay * before;
        float new_mean = mean[i] + one_minus_beta1 * (gradient - mean[i]);
        float new_square = beta2 * square[i] + (1.0f - beta2) * gradient * gradient;
        mean[i] = new_mean;
        square[i] = new_square;
        param[i] = before - rate * new_mean / (sqrtf(new_square) + eps);
    }
}

#define ELEMENTWISE_KERNELS                                                                                                        \
    {"add", "VVV", add_loop, ITEMS}, {"sub", "VVV", sub_loop, ITEMS}, {"mul", "VVV", mul_loop, ITEMS},                             \
        {"div", "VVV", div_loop, ITEMS}, {"add_row", "FFF", add_row_loop, ITEMS}, {"mul_row", "FFF", mul_row_loop, ITEMS},         \
        {"add_scaled", "FFFf", add_scaled_loop, ITEMS}, {"scale", "FFf", scale_loop, ITEMS}, {"sqrt", "VV", sqrt_loop, ITEMS},     \
        {"exp", "VV", exp_loop, ITEMS}, {"tanh", "VV", tanh_loop, ITEMS}, {"sigmoid", "VV", sigmoid_loop, ITEMS},                  \
        {"relu", "VV", relu_loop, ITEMS}, {"hardswish", "VV", hardswish_loop, ITEMS},                                            \
        {"hardsigmoid", "VV", hardsigmoid_loop, ITEMS}, {"relu_backward", "VVV", relu_backward_loop, ITEMS},                                    \
        {"masked", "FFB", masked_loop, ITEMS}, {"silu", "VV", silu_loop, ITEMS},                                                  \
        {"silu_backward", "VVV", silu_backward_loop, ITEMS}, {"gelu", "VV", gelu_loop, ITEMS},                                     \
        {"gelu_backward", "VVV", gelu_backward_loop, ITEMS}, {"gelu_tanh", "VV", gelu_tanh_loop, ITEMS},                           \
        {"gelu_tanh_backward", "VVV", gelu_tanh_backward_loop, ITEMS}, {"leaky_relu", "FFf", leaky_relu_loop, ITEMS},              \
        {"squared_error_gradient", "FFFf", squared_error_gradient_loop, ITEMS}, {"squared_error", "DFF", squared_error_loop, ITEMS}, \
        {"lerp_", "FFf", lerp_loop, ITEMS}, {"addcmul_", "FFFf", addcmul_loop, ITEMS},                                             \
        {"addcdiv_", "FFFf", addcdiv_loop, ITEMS}, {"adam_step", "FFFFfffffff", adam_step_loop, ITEMS}

/* Steps of inference plans on sequences, and on arrays with any strides.  Included by `plan.h`, whose products they use. */
#pragma once

#include "attention.h"
#include "few_queries.h"
#include "recurrent.h"
#include "rows.h"

/* --- arrays with any strides --- */

#define DIMS_OF_PLAN 6

enum { COPY, SUM, DIFFERENCE, MULTIPLIED, QUOTIENT };

INLINE int64_t rows_of_strided(const int64_t *l) { return l[5] * l[6] * l[7] * l[8] * l[9]; }

/* Combine two rows, or copy one. */
INLINE void combine_rows(float *to, int64_t step, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t length, int64_t operation) {
#define EACH(to_at, a_at, b_at)                                                                                                    \
    switch (operation) {                                                                                                           \
    case SUM: SIMD() for (int64_t i = 0; i < length; i++) to[to_at] = a[a_at] + b[b_at]; break;                                    \
    case DIFFERENCE: SIMD() for (int64_t i = 0; i < length; i++) to[to_at] = a[a_at] - b[b_at]; break;                             \
    case MULTIPLIED: SIMD() for (int64_t i = 0; i < length; i++) to[to_at] = a[a_at] * b[b_at]; break;                             \
    case QUOTIENT: SIMD() for (int64_t i = 0; i < length; i++) to[to_at] = a[a_at] / b[b_at]; break;                               \
    default: SIMD() for (int64_t i = 0; i < length; i++) to[to_at] = a[a_at]; break;                                               \
    }
    if (step == 1 && a_step == 1 && operation == COPY) memcpy(to, a, length * sizeof(float));
    else if (step == 1 && a_step == 1 && b_step == 1) EACH(i, i, i)
    else if (step == 1 && a_step == 1 && b_step == 0) EACH(i, i, 0)
    else EACH(i * step, i * a_step, i * b_step)
#undef EACH
}

/* Parameters: 1 out, 2 input, 3 other, 4 operation, 5-10 shape, 11-16 strides of the output, 17-22 of the input, 23-28 of the other,
29-31 activation of contiguous rows. */
static void strided_rows(void *context, int64_t number) {
    const Step *s = context;
    const int64_t *l = s->line, length = l[10], step = larger(1, LEAST_OF_LOOP / 4 / length);
    const int64_t last = smaller((number + 1) * step, rows_of_strided(l));
    float *out = address(s, 1);
    const float *input = address(s, 2), *other = address(s, 3);
    for (int64_t row = number * step; row < last; row++) {
        int64_t to = 0, a = 0, b = 0;
        for (int64_t dim = DIMS_OF_PLAN - 2, rest = row; dim >= 0 && rest; dim--) {
            const int64_t size = l[5 + dim], index = rest % size;
            rest /= size;
            to += index * l[11 + dim], a += index * l[17 + dim], b += index * l[23 + dim];
        }
        combine_rows(out + to, l[16], input + a, l[22], other ? other + b : input + a, l[28], length, l[4]);
        activate(out + to, length, activation_at(s, 29));
    }
}

/* Parameters: 1 out, 2 input, 3 rows, 4 length. */
static void softmax_of_rows(void *context, int64_t number) {
    const Step *s = context;
    const int64_t step = larger(1, LEAST_OF_LOOP / 4 / s->line[4]), shape[2] = {s->line[3], s->line[4]};
    const Argument a[2] = {{.data = address(s, 1), .shape = shape}, {.data = address(s, 2), .shape = shape}};
    softmax_rows(a, number * step, smaller((number + 1) * step, s->line[3]));
}

/* --- products of two computed arrays, and attention --- */

/* Parameters: 1 out (contiguous), 2 a, 3 b, 4 and 5 numbers of matrices, 6 rows, 7 columns, 8 depth, 9-12 strides of a, 13-16 of b. */
static void run_batched(const Step *s) {
    const int64_t *l = s->line, shapes[3][4] = {{l[4], l[5], l[6], l[7]}, {l[4], l[5], l[6], l[8]}, {l[4], l[5], l[8], l[7]}};
    int64_t strides[3][4] = {{4 * l[5] * l[6] * l[7], 4 * l[6] * l[7], 4 * l[7], 4}};
    Argument a[3];
    for (int dim = 0; dim < 4; dim++) strides[1][dim] = 4 * l[9 + dim], strides[2][dim] = 4 * l[13 + dim];
    for (int i = 0; i < 3; i++) a[i] = (Argument){.data = address(s, i + 1), .shape = shapes[i], .strides = strides[i]};
    matrix_products(a, 0, 1);
}

#define FEW_PLANNED 8 /* maximum number of queries of `few_queries` */

/* Parameters: 1 out, 2 query, 3 key, 4 value, 5 bias, 6 whether causal, 7 scale, 8-13 samples, heads, queries, keys, features, features of
values, 14-25 strides of output, query, key and value, except the last, which is 1, 26-29 of the bias. */
static void run_attention(const Step *s) {
    const int64_t *l = s->line, n = l[8], heads = l[9], none[1] = {0};
    const int64_t shapes[5][4] = {{n, heads, l[10], l[13]}, {n, heads, l[10], l[12]}, {n, heads, l[11], l[12]}, {n, heads, l[11], l[13]},
                                  {n, heads, l[10], l[11]}};
    int64_t strides[5][4];
    Argument a[9], *to = l[10] <= FEW_PLANNED ? a : a + 1; /* `few_queries` has no argument for the softmax */
    a[1] = (Argument){.data = NULL, .shape = none, .strides = none};
    for (int i = 0; i < 5; i++) {
        for (int dim = 0; dim < 4; dim++) strides[i][dim] = 4 * (i == 4 ? l[26 + dim] : dim < 3 ? l[14 + 3 * i + dim] : 1);
        (i ? to : a)[i] = (Argument){.data = address(s, i + 1), .shape = shapes[i], .strides = strides[i]};
    }
    to[5].integer = l[5] >= 0, to[6].integer = l[6], to[7].number = of_bits((int32_t)l[7]);
    if (to == a) few_queries(a, 0, 1);
    else attention(a, 0, 1);
}

/* --- recurrent layers --- */

/* A block of units has the same number of columns in each gate, adjacent in the packed weight. */
enum { LSTM, GRU, ELMAN_TANH, ELMAN_RELU };
#define UNITS 32
#define COLUMNS_OF_BLOCK 128

/* One time step: units are divided between threads. */
typedef struct {
    const Step *s;
    const float *entered, *state, *cell;
    float *to_state, *to_cell;
    int64_t tasks;
} Moment;

INLINE void update_units(const Moment *m, int64_t n, int64_t unit, int64_t units, const float *sums, const float *bias) {
    const int64_t *l = m->s->line, size = l[10], at = n * size + unit;
    const float *before = m->state + at;
    float *to = m->to_state + at;
    if (l[7] == LSTM) {
        const float *entered = m->entered + n * 4 * size + unit, *cell = m->cell + at;
        float *to_cell = m->to_cell + at;
        SIMD() for (int64_t j = 0; j < units; j++) {
            const float i = sigmoid_of_gate(sums[j] + entered[j]), f = sigmoid_of_gate(sums[UNITS + j] + entered[size + j]);
            const float g = hyperbolic_tangent(sums[2 * UNITS + j] + entered[2 * size + j]);
            const float o = sigmoid_of_gate(sums[3 * UNITS + j] + entered[3 * size + j]), now = f * cell[j] + i * g;
            to_cell[j] = now;
            to[j] = o * hyperbolic_tangent(now);
        }
    } else if (l[7] == GRU) {
        const float *entered = m->entered + n * 3 * size + unit;
        SIMD() for (int64_t j = 0; j < units; j++) {
            const float r = sigmoid_of_gate(sums[j] + bias[j] + entered[j]);
            const float z = sigmoid_of_gate(sums[UNITS + j] + bias[UNITS + j] + entered[size + j]);
            const float now = hyperbolic_tangent(r * (sums[2 * UNITS + j] + bias[2 * UNITS + j]) + entered[2 * size + j]);
            to[j] = (before[j] - now) * z + now;
        }
    } else {
        const float *entered = m->entered + at;
        for (int64_t j = 0; j < units; j++) to[j] = sums[j] + entered[j];
        activate(to, units, (Activation){l[7] == ELMAN_TANH ? TANH : RELU, 0.0f, 0.0f});
    }
}

static void units_of_moment(void *context, int64_t number) {
    const Moment *m = context;
    const Step *s = m->s;
    const int64_t *l = s->line, batch = l[9], size = l[10], gates = l[7] == LSTM ? 4 : l[7] == GRU ? 3 : 1, units = gates == 1 ? COLUMNS_OF_BLOCK : UNITS;
    const int64_t columns = gates * units, blocks = pieces(size, units), height = pieces(batch, pieces(batch, ROWS));
    const float *weight = address(s, 3), *bias = address(s, 6);
    for (int64_t block = number * blocks / m->tasks; block < (number + 1) * blocks / m->tasks; block++)
        for (int64_t n = 0, some; n < batch; n += some) {
            float sums[ROWS * COLUMNS_OF_BLOCK];
            some = smaller(height, batch - n);
            for (int64_t j = 0; j < columns; j += WIDTH * PANELS_AT_ONCE) {
                const float *b = weight + (block * columns + j) * size;
                const int64_t panels = smaller(PANELS_AT_ONCE, (columns - j) / WIDTH);
                if (some == 1) multiply_few_panels(m->state + n * size, size, b, size * WIDTH, panels, sums + j);
                else
                    for (int64_t panel = 0; panel < panels; panel++) {
                        const Panels p = {.depth = size, .a = m->state + n * size, .a_row = size, .b = b + panel * size * WIDTH, .b_step = WIDTH,
                                          .out = sums + j + panel * WIDTH, .out_row = COLUMNS_OF_BLOCK};
                        micro_kernels[some - 1][BY_ROWS](&p);
                    }
            }
            for (int64_t i = 0; i < some; i++)
                update_units(m, n + i, block * units, smaller(units, size - block * units), sums + i * COLUMNS_OF_BLOCK, bias ? bias + block * columns : NULL);
        }
}

/* Parameters: 1 out, 2 products with the input, 3 weight, 4 h, 5 c, 6 bias, 7 kind, 8-10 time steps, batch, size, 11 whether reversed, 12 cells,
13 whether cells of all steps are stored. */
static void run_recurrent(const Step *s) {
    const int64_t *l = s->line, elements = l[9] * l[10], gates = l[7] == LSTM ? 4 : l[7] == GRU ? 3 : 1;
    Moment m = {.s = s, .state = address(s, 4), .cell = address(s, 5), .tasks = 1};
    if (elements * l[10] * gates >= LEAST_SHARED) m.tasks = smaller(thread_count(), pieces(l[10], gates == 1 ? COLUMNS_OF_BLOCK : UNITS));
    for (int64_t number = 0; number < l[8]; number++) {
        const int64_t step = l[11] ? l[8] - 1 - number : number;
        m.entered = address(s, 2) + step * elements * gates;
        m.to_state = address(s, 1) + step * elements;
        m.to_cell = l[7] == LSTM ? address(s, 12) + (l[13] ? step * elements : 0) : NULL;
        parallel(m.tasks, units_of_moment, &m);
        m.state = m.to_state, m.cell = m.to_cell;
    }
}

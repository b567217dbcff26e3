/* LSTM over all time steps: `(step, sample, gate and unit)`, with gates in the order input, forget, cell, output.

Each thread processes some samples through the entire sequence, so that threads do not wait for each other at every step.  For few
samples, threads divide the units of each step. */
#pragma once

#include "matrix.h"
#include "scalar.h"

#define LEAST_STRIP 8 /* minimum number of samples per thread */

typedef struct {
    float *at;
    int64_t step;
} Matrix;

INLINE void multiply(int64_t rows, int64_t columns, int64_t depth, Matrix a, Matrix b, Matrix out) {
    Product p = product(rows, columns, depth, a.at, a.step, 1, b.at, b.step, 1, out.at, out.step, false);
    compute(&p, 1);
}

/* The transposed weight as panels, used by all steps. */
typedef struct {
    const float *weight;
    float *panels;
    int64_t columns, depth;
} Gates;

static void panel_of_gates(void *context, int64_t number) {
    const Gates *g = context;
    const int64_t column = number * WIDTH;
    transpose(g->panels + number * panel_step(g->depth), WIDTH, g->weight + column * g->depth, g->depth, smaller(WIDTH, g->columns - column), g->depth);
}

/* Multiply `rows` states by `columns` columns of the transposed weight, from a multiple of WIDTH on. */
static void multiply_gates(const Gates *g, const float *state, int64_t rows, int64_t first, int64_t columns, float *out) {
    const int64_t panels = pieces(rows, ROWS), last = first + columns, step = panel_step(g->depth);
    if (rows == 1 && columns % WIDTH == 0) {
        for (int64_t column = first; column < last; column += PANELS_AT_ONCE * WIDTH)
            multiply_few_panels(state, g->depth, g->panels + column / WIDTH * step, step, smaller(PANELS_AT_ONCE, (last - column) / WIDTH), out + column);
        return;
    }
    for (int64_t column = first; column < last; column += WIDTH)
        for (int64_t panel = 0; panel < panels; panel++) {
            const int64_t start = panel * rows / panels, count = (panel + 1) * rows / panels - start, few = smaller(WIDTH, last - column);
            float sums[ROWS * WIDTH], *to = out + start * g->columns + column;
            const bool whole = few == WIDTH;
            Panels p = {.depth = g->depth, .a = state + start * g->depth, .a_row = g->depth, .b = g->panels + column / WIDTH * step,
                        .b_step = WIDTH, .out = whole ? to : sums, .out_row = whole ? g->columns : WIDTH};
            micro_kernels[count - 1][BY_ROWS](&p);
            for (int64_t i = 0; i < count && !whole; i++) memcpy(to + i * g->columns, sums + i * WIDTH, few * sizeof(float));
        }
}

INLINE int64_t strips_of(int64_t batch) { return larger(1, smaller(thread_count(), batch / LEAST_STRIP)); }

/* Sigmoid with an absolute error up to one ulp of 1: one tanh is faster than an exponential and a division. */
INLINE float sigmoid_of_gate(float x) { return 0.5f * hyperbolic_tangent(0.5f * x) + 0.5f; }

typedef struct {
    const Argument *a;
    Gates gates;
    int64_t number, blocks; /* the time step, and blocks of units, if threads divide the units */
} Sequence;

/* Compute time step `number` of some samples and units. */
static void lstm_step(const Sequence *sequence, int64_t number, int64_t first, int64_t last, int64_t unit, int64_t units) {
    const Argument *a = sequence->a;
    const int64_t steps = SIZE(3, 0), batch = SIZE(4, 0), size = SIZE(4, 1), kept = SIZE(0, 0), back = INTEGER(7) ? 1 : -1;
    const int64_t step = INTEGER(7) ? steps - 1 - number : number;
    const float *state = number ? FLOATS(2) + (step + back) * batch * size : FLOATS(4);
    const float *cell = number ? FLOATS(1) + (step + back) * batch * size : FLOATS(5);
    float *active = FLOATS(0) + step % kept * batch * 4 * size;
    if (units == size) multiply_gates(&sequence->gates, state + first * size, last - first, 0, 4 * size, active + first * 4 * size);
    else
        for (int gate = 0; gate < 4; gate++)
            multiply_gates(&sequence->gates, state + first * size, last - first, gate * size + unit, units, active + first * 4 * size);
    for (int64_t n = first; n < last; n++) {
        const int64_t at = n * size + unit;
        float *i = active + n * 4 * size + unit, *f = i + size, *g = f + size, *o = g + size;
        const float *entered = FLOATS(3) + (step * batch + n) * 4 * size + unit, *before = cell + at;
        float *to_cell = FLOATS(1) + step * batch * size + at, *to_state = FLOATS(2) + step * batch * size + at;
        SIMD() for (int64_t j = 0; j < units; j++) {
            i[j] = sigmoid_of_gate(i[j] + entered[j]);
            f[j] = sigmoid_of_gate(f[j] + entered[size + j]);
            g[j] = hyperbolic_tangent(g[j] + entered[2 * size + j]);
            o[j] = sigmoid_of_gate(o[j] + entered[3 * size + j]);
            const float now = f[j] * before[j] + i[j] * g[j];
            to_cell[j] = now;
            to_state[j] = o[j] * hyperbolic_tangent(now);
        }
    }
}

static void lstm_strip(void *context, int64_t strip) {
    const Sequence *sequence = context;
    const Argument *a = sequence->a;
    const int64_t batch = SIZE(4, 0), size = SIZE(4, 1), strips = strips_of(batch);
    for (int64_t number = 0; number < SIZE(3, 0); number++)
        lstm_step(sequence, number, strip * batch / strips, (strip + 1) * batch / strips, 0, size);
}

static void lstm_block(void *context, int64_t block) {
    const Sequence *sequence = context;
    const Argument *a = sequence->a;
    const int64_t panels = SIZE(4, 1) / WIDTH, first = block * panels / sequence->blocks, last = (block + 1) * panels / sequence->blocks;
    lstm_step(sequence, sequence->number, 0, SIZE(4, 0), first * WIDTH, (last - first) * WIDTH);
}

/* LSTM forward.  Arguments: activated gates (of all steps, or only the last if there is space for one), cells, output, gates
(products with the input), h, c, weight, whether reversed. */
static void lstm(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    const int64_t columns = SIZE(6, 0), depth = SIZE(6, 1), panels = pieces(columns, WIDTH), batch = SIZE(4, 0), size = SIZE(4, 1);
    Sequence sequence = {a, {FLOATS(6), scratch(3, panels * panel_step(depth) * sizeof(float)), columns, depth}, 0, 1};
    parallel(panels, panel_of_gates, &sequence.gates);
    if (size % WIDTH == 0 && batch * columns * depth >= LEAST_SHARED) sequence.blocks = smaller(thread_count(), size / WIDTH);
    if (strips_of(batch) > 1 || sequence.blocks == 1) parallel(strips_of(batch), lstm_strip, &sequence);
    else
        for (; sequence.number < SIZE(3, 0); sequence.number++) parallel(sequence.blocks, lstm_block, &sequence);
}

/* LSTM backward.  Context: grad_gates, d_h and d_c (zeros), d_weight, g_output, g_cells, activated gates, h, c, weight, output,
cells, whether reversed. */
static void lstm_backward_strip(void *context, int64_t strip) {
    const Argument *a = context;
    int64_t steps = SIZE(0, 0), batch = SIZE(7, 0), size = SIZE(7, 1), strips = strips_of(batch);
    int64_t first = strip * batch / strips, last = (strip + 1) * batch / strips;
    for (int64_t number = steps - 1; number >= 0; number--) {
        int64_t step = INTEGER(12) ? steps - 1 - number : number, earlier = INTEGER(12) ? step + 1 : step - 1;
        const float *cells_before = number ? FLOATS(11) + earlier * batch * size : FLOATS(8);
        for (int64_t n = first; n < last; n++) {
            int64_t at = (step * batch + n) * size;
            const float *i = FLOATS(6) + 4 * at, *f = i + size, *g = f + size, *o = g + size;
            float *to_i = FLOATS(0) + 4 * at, *to_f = to_i + size, *to_g = to_f + size, *to_o = to_g + size;
            float *to_output = FLOATS(1) + n * size, *to_cell = FLOATS(2) + n * size;
            const float *g_output = FLOATS(4) + at, *g_cell = FLOATS(5) + at, *now = FLOATS(11) + at, *before = cells_before + n * size;
            SIMD() for (int64_t j = 0; j < size; j++) {
                float squashed = hyperbolic_tangent(now[j]), d_out = to_output[j] + g_output[j];
                float d_cell = to_cell[j] + g_cell[j] + d_out * o[j] * (1.0f - squashed * squashed);
                to_o[j] = d_out * squashed * o[j] * (1.0f - o[j]);
                to_i[j] = d_cell * g[j] * i[j] * (1.0f - i[j]);
                to_g[j] = d_cell * i[j] * (1.0f - g[j] * g[j]);
                to_f[j] = d_cell * before[j] * f[j] * (1.0f - f[j]);
                to_cell[j] = d_cell * f[j];
            }
        }
        multiply(last - first, size, 4 * size, (Matrix){FLOATS(0) + (step * batch + first) * 4 * size, 4 * size},
                 (Matrix){FLOATS(9), size}, (Matrix){FLOATS(1) + first * size, size});
    }
}

static void lstm_backward(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    int64_t steps = SIZE(0, 0), batch = SIZE(7, 0), size = SIZE(7, 1), rows = (steps - 1) * batch;
    parallel(strips_of(batch), lstm_backward_strip, (void *)a);
    const float *start = FLOATS(0) + (INTEGER(12) ? rows * 4 * size : 0), *later = FLOATS(0) + (INTEGER(12) ? 0 : batch * 4 * size);
    const float *states = FLOATS(10) + (INTEGER(12) ? batch * size : 0);
    Product p = product(4 * size, size, batch, start, 1, 4 * size, FLOATS(7), size, 1, FLOATS(3), size, false);
    compute(&p, shared_blocks(4 * size * size * batch));
    if (rows) {
        p = product(4 * size, size, rows, later, 1, 4 * size, states, size, 1, FLOATS(3), size, true);
        compute(&p, shared_blocks(4 * size * size * rows));
    }
}

#define RECURRENT_KERNELS                                                                                                          \
    {"lstm", "FFFFFFFi", lstm, WHOLE}, {"lstm_backward", "FFFFFFFFFFFFi", lstm_backward, WHOLE}

/* Selection of elements: by index along a dimension, and the largest of each row. */
#pragma once

#include "kernel.h"
#include "scalar.h"

/* Compute `out[b, i, c] = x[b, index[b, i, c], c]`, where x may be longer in c than the others.  Arguments: out, x, index, length of
the dimension in x, in index, product of later dimensions in x, in index. */
static void gather(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    float *out = FLOATS(0);
    const float *x = FLOATS(1);
    const int64_t *index = LONGS(2), length = INTEGER(3), picked = INTEGER(4), width = INTEGER(5), after = INTEGER(6);
    for (int64_t slice = SIZE(0, 0) * SIZE(0, 1) / larger(1, picked * after); slice > 0; slice--, x += length * width)
        for (int64_t i = 0; i < picked; i++)
            for (int64_t c = 0; c < after; c++, index++) {
                if ((uint64_t)*index >= (uint64_t)length) {
                    decline();
                    return;
                }
                *out++ = x[*index * width + c];
            }
}

#define MOST_PICKED 64

/* Return an integer with the order of x; -0 equals 0, and NaN is the largest. */
INLINE int32_t rank_of(float x) { return x != x ? INT32_MAX : ordered_bits(x + 0.0f); }

/* Select the `count` largest (or smallest) elements of each row in order, the first of equal ones first, by insertion.  Arguments:
values, indices, x, whether to select the largest. */
static void top(const Argument *a, int64_t first, int64_t last) {
    const int64_t count = SIZE(0, 1), length = SIZE(2, 1), flip = INTEGER(3) ? 0 : -1;
    int32_t ranks[MOST_PICKED];
    for (int64_t i = first; i < last; i++) {
        const float *row = FLOATS(2) + i * length;
        float *values = FLOATS(0) + i * count;
        int64_t *indices = LONGS(1) + i * count, found = 0;
        for (int64_t j = 0; j < length; j++) {
            const int32_t rank = rank_of(row[j]) ^ (int32_t)flip;
            if (found == count && rank <= ranks[count - 1]) continue;
            int64_t place = found < count ? found++ : count - 1;
            for (; place > 0 && rank > ranks[place - 1]; place--) {
                ranks[place] = ranks[place - 1];
                indices[place] = indices[place - 1];
            }
            ranks[place] = rank;
            indices[place] = j;
        }
        for (int64_t k = 0; k < count; k++) values[k] = row[indices[k]];
    }
}

#define INDEXING_KERNELS {"gather", "RCLiiii", gather, WHOLE}, {"top", "RLRi", top, ITEMS}

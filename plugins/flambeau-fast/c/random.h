/* The words of an MT19937 (Matsumoto & Nishimura 1998, "Mersenne Twister"), and dropout from them.

`key` is the engine's state of 624 words, of which `used` have been consumed. */
#pragma once

#include "kernel.h"

/* The term of the recurrence that depends on two consecutive words of the state. */
INLINE uint32_t mixed(uint32_t word, uint32_t following) {
    uint32_t both = (word & 0x80000000u) | (following & 0x7fffffffu);
    return (both >> 1) ^ (-(both & 1) & 0x9908b0dfu);
}

static void renew(uint32_t *key) {
    for (int i = 0; i < 227; i++) key[i] = key[i + 397] ^ mixed(key[i], key[i + 1]);
    for (int i = 227; i < 623; i++) key[i] = key[i - 227] ^ mixed(key[i], key[i + 1]);
    key[623] = key[396] ^ mixed(key[623], key[0]);
}

/* Fill an array; returns the new `used`. */
static int64_t words(uint32_t *out, int64_t count, uint32_t *key, int64_t used) {
    for (int64_t filled = 0, some; filled < count; filled += some, used += some) {
        if (used == 624) {
            renew(key);
            used = 0;
        }
        some = smaller(624 - used, count - filled);
        for (int64_t i = 0; i < some; i++) {
            uint32_t word = key[used + i];
            word ^= word >> 11;
            word ^= (word << 7) & 0x9d2c5680u;
            word ^= (word << 15) & 0xefc60000u;
            out[filled + i] = word ^ (word >> 18);
        }
    }
    return used;
}

#define DRAWN 2048 /* elements at a time */

/* Keep and scale the elements for which 53 bits of two words are less than `high * 2**32 + low`.
Arguments: out, noise, x, key, used (in and out), high, low, scale. */
static void dropout(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    uint32_t drawn[2 * DRAWN], *key = a[3].data, high = (uint32_t)INTEGER(5), low = (uint32_t)INTEGER(6);
    const float scale = NUMBER_OF(7);
    int64_t used = LONGS(4)[0], size = SIZE(2, 0);
    for (int64_t start = 0; start < size; start += DRAWN) {
        int64_t count = smaller(DRAWN, size - start);
        float *out = FLOATS(0) + start, *noise = FLOATS(1) + start;
        const float *x = FLOATS(2) + start;
        used = words(drawn, 2 * count, key, used);
        SIMD() for (int64_t i = 0; i < count; i++) {
            uint32_t more = drawn[2 * i] & 0x1fffffu, less = drawn[2 * i + 1];
            bool keep = (more < high) | ((more == high) & (less < low));
            noise[i] = keep ? scale : 0.0f;
            out[i] = x[i] * noise[i];
        }
    }
    LONGS(4)[0] = used;
}

#define RANDOM_KERNELS {"dropout", "FFFULiif", dropout, WHOLE}

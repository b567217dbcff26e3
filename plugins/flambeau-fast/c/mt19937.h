/* MT19937 (Matsumoto & Nishimura 1998, "Mersenne Twister").

`key` is the engine's state of 624 words, of which `used` have been consumed. */
#pragma once

#include "kernel.h"

/* Compute the part of the recurrence that depends on two consecutive words of the state. */
INLINE uint32_t mixed(uint32_t word, uint32_t following) {
    uint32_t both = (word & 0x80000000u) | (following & 0x7fffffffu);
    return (both >> 1) ^ (-(both & 1) & 0x9908b0dfu);
}

static void renew(uint32_t *key) {
    for (int i = 0; i < 227; i++) key[i] = key[i + 397] ^ mixed(key[i], key[i + 1]);
    for (int i = 227; i < 623; i++) key[i] = key[i - 227] ^ mixed(key[i], key[i + 1]);
    key[623] = key[396] ^ mixed(key[623], key[0]);
}

/* Compute the random word that corresponds to a word of the state. */
INLINE uint32_t tempered(uint32_t word) {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

/* Fill an array with words; return the new value of `used`. */
static inline int64_t words(uint32_t *out, int64_t count, uint32_t *key, int64_t used) {
    for (int64_t filled = 0, some; filled < count; filled += some, used += some) {
        if (used == 624) {
            renew(key);
            used = 0;
        }
        some = smaller(624 - used, count - filled);
        for (int64_t i = 0; i < some; i++) out[filled + i] = tempered(key[used + i]);
    }
    return used;
}

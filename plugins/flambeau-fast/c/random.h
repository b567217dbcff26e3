/* Dropout and normal values from the words of MT19937. */
#pragma once

#include "mt19937.h"
#include "rejection.h"
#include "scalar.h"

#define DRAWN 2048 /* number of elements drawn at a time */

/* Dropout: keep and scale elements for which 53 bits of two words are less than `high * 2**32 + low`; set the others to zero.
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

/* --- normal values (Box & Muller 1958), bitwise equal to the NumPy backend's (box_muller.py), and therefore to PyTorch's ---

The polynomials are Cephes'.  Expressions that must be rounded once are written as `fused`, so that this does not depend on the
compiler.  Other products that it may fuse with sums are exact. */

INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * b + c); /* the product is exact; verified against the FMA instruction for all inputs that occur */
#endif
}

/* Compute sqrt(-2 * log(1 - unit)). */
INLINE float radius_of(float unit) {
    const float polynomial[] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,  -1.2420140846e-1f, 1.4249322787e-1f,
                                -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
    const int32_t bits = bits_of(1.0f - unit), exponent = (bits - 0x3f3504f3) >> 23; /* (1 - unit) / 2**exponent >= sqrt(1/2), < sqrt(2) */
    const float x = of_bits((int32_t)((uint32_t)bits - ((uint32_t)exponent << 23))) - 1.0f, power = (float)exponent, square = x * x;
    float p = polynomial[0];
    _Pragma("GCC unroll 8") for (int i = 1; i < 9; i++) p = fused(p, x, polynomial[i]);
    const float rest = fused(p * x, square, power * -2.12194440e-4f) - 0.5f * square;
    return sqrtf(-2.0f * fused(power, 0.693359375f, x + rest));
}

typedef struct { float cosine, sine; } Direction;

/* Compute cosine and sine of 2 * pi * unit. */
INLINE Direction direction_of(float unit) {
    const float angle = unit * 6.283185307179586f;
    const int32_t octant = ((int32_t)(angle * 1.2732395447351628f) + 1) & ~1; /* two octants are a quarter turn */
    const float turned = (float)octant;
    float x = fused(turned, -0.78515625f, angle);
    x = fused(turned, -2.4187564849853515625e-4f, x);
    x = fused(turned, -3.77489497744594108e-8f, x);
    const float square = x * x;
    float s = fused(square, -1.9515295891e-4f, 8.3321608736e-3f);
    s = fused(s, square, -1.6666654611e-1f);
    s = fused(s * square, x, x);
    float c = fused(square, 2.443315711809948e-5f, -1.388731625493765e-3f);
    c = fused(c, square, 4.166664568298827e-2f);
    c = fused(c * square, square, -0.5f * square) + 1.0f;
    const bool across = octant & 2;
    const int32_t cosine = bits_of(across ? s : c), sine = bits_of(across ? c : s);
    const uint32_t cosine_sign = (uint32_t)((octant + 2) & 4) << 29, sine_sign = (uint32_t)(octant & 4) << 29;
    return (Direction){of_bits(cosine ^ (int32_t)cosine_sign), of_bits(sine ^ (int32_t)sine_sign)};
}

/* Compute radii of uniform values.  Arguments: radii, units. */
static void radii(const Argument *a, int64_t first, int64_t last) {
    SIMD() for (int64_t i = first; i < last; i++) FLOATS(0)[i] = radius_of(FLOATS(1)[i]);
}

/* Compute directions of uniform values.  Arguments: cosines, sines, units. */
static void directions(const Argument *a, int64_t first, int64_t last) {
    SIMD() for (int64_t i = first; i < last; i++) {
        Direction direction = direction_of(FLOATS(2)[i]);
        FLOATS(0)[i] = direction.cosine;
        FLOATS(1)[i] = direction.sine;
    }
}

/* Draw blocks of 16 values from 8 radii and 8 angles.  Arguments: out, key, used (in and out). */
static void normal_blocks(const Argument *a, int64_t first, int64_t last) {
    (void)first, (void)last;
    uint32_t drawn[DRAWN];
    float units[2][DRAWN / 2], radius[DRAWN / 2], cosines[DRAWN / 2], sines[DRAWN / 2];
    int64_t used = LONGS(2)[0], size = SIZE(0, 0);
    for (int64_t start = 0; start < size; start += DRAWN) {
        int64_t count = smaller(DRAWN, size - start);
        float *out = FLOATS(0) + start;
        used = words(drawn, count, a[1].data, used);
        for (int64_t block = 0; block < count / 16; block++)
            for (int half = 0; half < 2; half++)
                for (int i = 0; i < 8; i++)
                    units[half][8 * block + i] = (float)(int32_t)(drawn[16 * block + 8 * half + i] & 0xffffffu) * 0x1p-24f;
        SIMD() for (int64_t i = 0; i < count / 2; i++) radius[i] = radius_of(units[0][i]);
        SIMD() for (int64_t i = 0; i < count / 2; i++) {
            Direction direction = direction_of(units[1][i]);
            cosines[i] = direction.cosine;
            sines[i] = direction.sine;
        }
        for (int64_t block = 0; block < count / 16; block++)
            for (int i = 0; i < 8; i++) {
                int64_t pair = 8 * block + i;
                out[16 * block + i] = radius[pair] * cosines[pair] + 0.0f; /* turns -0 into 0 */
                out[16 * block + 8 + i] = radius[pair] * sines[pair] + 0.0f;
            }
    }
    LONGS(2)[0] = used;
}

#define RANDOM_KERNELS                                                                                                             \
    {"dropout", "FFFULiif", dropout, WHOLE}, {"radii", "FF", radii, ITEMS}, {"directions", "FFF", directions, ITEMS},              \
        {"normal_blocks", "FUL", normal_blocks, WHOLE}, {"gamma_values", "DDDULD", gamma_values, WHOLE},                               \
        {"poisson_values", "DDULD", poisson_values, WHOLE}, {"binomial_values", "DDDDDDDDULD", binomial_values, WHOLE}

/* Vectors of the processor's width, as compiler vector extensions (gcc 12 or newer, clang). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4 /* SSE2, NEON */
#endif

#define INLINE static inline __attribute__((always_inline))
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define SIMD(...) PRAGMA(omp simd __VA_ARGS__)

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef int32_t Bits __attribute__((vector_size(4 * LANES)));
typedef float LooseVector __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* for unaligned memory */

INLINE Vector load(const float *from) { return *(const LooseVector *)from; }
INLINE void store(float *to, Vector value) { *(LooseVector *)to = value; }

/* Compute a > b ? a : b for each lane, which is b if either is NaN. */
INLINE Vector larger_lanes(Vector a, Vector b) {
    const Bits is_larger = a > b;
    return (Vector)((is_larger & (Bits)a) | (~is_larger & (Bits)b));
}

/* Compute a < b ? a : b for each lane, which is b if either is NaN. */
INLINE Vector smaller_lanes(Vector a, Vector b) {
    const Bits is_smaller = a < b;
    return (Vector)((is_smaller & (Bits)a) | (~is_smaller & (Bits)b));
}

/* Store the first `count` lanes, or add them to memory. */
INLINE void store_some(float *to, Vector value, int64_t count, bool add) {
    if (count >= LANES) store(to, add ? load(to) + value : value);
#if LANES == 16
    else {
        const __mmask16 lanes = (__mmask16)((1u << count) - 1);
        if (add) value += (Vector)_mm512_maskz_loadu_ps(lanes, to);
        _mm512_mask_storeu_ps(to, lanes, (__m512)value);
    }
#else
    else
        for (int64_t lane = 0; lane < count; lane++) to[lane] = value[lane] + (add ? to[lane] : 0.0f);
#endif
}

/* Load the first `count` lanes; the others are zero. */
INLINE Vector load_some(const float *from, int64_t count) {
    if (count >= LANES) return load(from);
#if LANES == 16
    return (Vector)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#else
    Vector value = {0};
    for (int64_t lane = 0; lane < count; lane++) value[lane] = from[lane];
    return value;
#endif
}

INLINE Bits lane_numbers(void) {
    Bits numbers;
    for (int i = 0; i < LANES; i++) numbers[i] = i;
    return numbers;
}

/* Keep some lanes, and set the others to zero, also those of infinities. */
INLINE Vector kept(Vector value, Bits lanes) { return (Vector)((Bits)value & lanes); }

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

typedef float Quad __attribute__((vector_size(16)));

/* Add the lanes in pairs, in log2(LANES) steps. */
INLINE float sum_of_lanes(Vector x) {
#if LANES == 16
    typedef float Half __attribute__((vector_size(32)));
    const Half half = (Half)__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) + (Half)__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    const Vector half = x;
#endif
#if LANES >= 8
    const Quad quad = (Quad)__builtin_shufflevector(half, half, 0, 1, 2, 3) + (Quad)__builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
    const Quad quad = half;
#endif
    return (quad[0] + quad[2]) + (quad[1] + quad[3]);
}

/* Define sums of elements, squares or products, as several partial sums, so that additions do not wait for each other. */
#define SUM(name, parameters, of_vector, of_number)                                                                                \
    INLINE float name parameters {                                                                                                 \
        Vector sums[8] = {{0}};                                                                                                    \
        int64_t j = 0;                                                                                                             \
        for (; j + 8 * LANES <= length; j += 8 * LANES)                                                                            \
            _Pragma("GCC unroll 8") for (int part = 0; part < 8; part++) {                                                          \
                const int64_t i = j + part * LANES;                                                                                \
                sums[part] += of_vector;                                                                                           \
            }                                                                                                                      \
        for (; j + 2 * LANES <= length; j += 2 * LANES)                                                                            \
            _Pragma("GCC unroll 2") for (int part = 0; part < 2; part++) {                                                          \
                const int64_t i = j + part * LANES;                                                                                \
                sums[part] += of_vector;                                                                                           \
            }                                                                                                                      \
        for (int64_t i = j; j + LANES <= length; i = j += LANES) sums[0] += of_vector;                                             \
        _Pragma("GCC unroll 4") for (int part = 0; part < 4; part++) sums[part] += sums[part + 4];                                  \
        float total = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));                                                     \
        for (int64_t i = j; i < length; i++) total += of_number;                                                                   \
        return total;                                                                                                              \
    }

SUM(sum_of, (const float *x, int64_t length), load(x + i), x[i])
SUM(sum_of_squares, (const float *x, int64_t length, float mean), (load(x + i) - mean) * (load(x + i) - mean), (x[i] - mean) * (x[i] - mean))
SUM(sum_of_products, (const float *x, const float *y, float mean, int64_t length), load(x + i) * (load(y + i) - mean), x[i] * (y[i] - mean))

/* Transpose a square of LANES vectors: blocks of 1, 2, 4 ... elements are swapped across the diagonal. */

#define UPPER(lane, block) ((lane) & (block) ? LANES + (lane) - (block) : (lane))
#define LOWER(lane, block) ((lane) & (block) ? LANES + (lane) : (lane) + (block))
#if LANES == 16
#define SHUFFLE(a, b, of, s)                                                                                                       \
    __builtin_shufflevector(a, b, of(0, s), of(1, s), of(2, s), of(3, s), of(4, s), of(5, s), of(6, s), of(7, s), of(8, s),         \
                            of(9, s), of(10, s), of(11, s), of(12, s), of(13, s), of(14, s), of(15, s))
#elif LANES == 8
#define SHUFFLE(a, b, of, s)                                                                                                       \
    __builtin_shufflevector(a, b, of(0, s), of(1, s), of(2, s), of(3, s), of(4, s), of(5, s), of(6, s), of(7, s))
#else
#define SHUFFLE(a, b, of, s) __builtin_shufflevector(a, b, of(0, s), of(1, s), of(2, s), of(3, s))
#endif
#define EXCHANGE(block)                                                                                                            \
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) if (!(i & (block))) {                                                  \
        Vector a = row[i], b = row[i + (block)];                                                                                   \
        row[i] = SHUFFLE(a, b, UPPER, block);                                                                                      \
        row[i + (block)] = SHUFFLE(a, b, LOWER, block);                                                                            \
    }

INLINE void transpose_vectors(Vector row[LANES]) {
#if LANES == 16
    EXCHANGE(8)
#endif
#if LANES >= 8
    EXCHANGE(4)
#endif
    EXCHANGE(2)
    EXCHANGE(1)
}

/* Set `to[k * to_step + i] = from[i * from_step + k]` for i and k below LANES. */
INLINE void transpose_square(float *to, int64_t to_step, const float *from, int64_t from_step) {
    Vector row[LANES];
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) row[i] = load(from + i * from_step);
    transpose_vectors(row);
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) store(to + i * to_step, row[i]);
}

/* Set `to[k * to_step + i] = from[i * from_step + k]` for i below rows and k below columns. */
__attribute__((unused)) static void transpose(float *to, int64_t to_step, const float *from, int64_t from_step, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i += LANES)
        for (int64_t k = 0; k < columns; k += LANES)
            if (i + LANES <= rows && k + LANES <= columns)
                transpose_square(to + k * to_step + i, to_step, from + i * from_step + k, from_step);
            else
                for (int64_t c = k; c < smaller(k + LANES, columns); c++)
                    for (int64_t r = i; r < smaller(i + LANES, rows); r++) to[c * to_step + r] = from[r * from_step + c];
}

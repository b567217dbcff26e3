/* Conversions between float32 and float16 or bfloat16.  All round to nearest, ties to even. */
#pragma once

#include "kernel.h"
#include "scalar.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

/* --- float16 --- */

#if defined(__F16C__)
INLINE float float_of_half(uint16_t half) { return _cvtsh_ss(half); }
INLINE uint16_t half_of_float(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(__aarch64__)
INLINE float float_of_half(uint16_t half) {
    __fp16 value;
    memcpy(&value, &half, sizeof value);
    return (float)value;
}
INLINE uint16_t half_of_float(float x) {
    __fp16 value = (__fp16)x;
    uint16_t half;
    memcpy(&half, &value, sizeof half);
    return half;
}
#else
/* Shift the bits to their positions in float32, without correcting the exponent bias. */
INLINE float float_of_half(uint16_t half) {
    const int32_t magnitude = (half & 0x7fff) << 13, sign = (int32_t)((half & 0x8000u) << 16);
    const int32_t bits = bits_of(of_bits(magnitude) * 0x1p112f);
    return of_bits(bits | (magnitude >= 0x0f800000 ? 0x7f800000 : 0) | sign);
}

/* Add a power of two chosen so that the sum is rounded at float16's last digit.  The result is the shifted exponent of the sum plus
its low digits, which count units in the last place.  The 2 is the difference of the exponent biases. */
INLINE uint16_t half_of_float(float x) {
    const int32_t bits = bits_of(x), exact = bits & 0x7fffffff;
    const int32_t magnitude = exact < 0x47800000 ? exact : 0x47800000, normal = magnitude > 0x38800000 ? magnitude : 0x38800000;
    const int32_t sum = bits_of(of_bits(normal & 0x7f800000) * (8192.0f + 2.0f) + of_bits(magnitude));
    const int32_t half = (sum >> 13) + sum;
    return (uint16_t)((half & 0x7fff) | (bits >> 16 & 0x8000) | (exact > 0x7f800000 ? 0x7e00 : 0));
}
#endif

/* --- bfloat16: the upper half of float32 --- */

INLINE float float_of_bfloat16(uint16_t half) { return of_bits((int32_t)((uint32_t)half << 16)); }

INLINE uint16_t bfloat16_of_float(float x) {
    const uint32_t bits = (uint32_t)bits_of(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
}

/* --- both --- */

/* How numbers are read.  PAIRS is for processors that multiply pairs of bfloat16 numbers.  INT8 is converted to float32; INTEGERS is
int8 that is multiplied exactly. */
enum { FLOAT16, BFLOAT16, PAIRS, FLOAT32, INT8, INTEGERS };

INLINE float widened(uint16_t half, const int dtype) { return dtype == FLOAT16 ? float_of_half(half) : float_of_bfloat16(half); }
INLINE uint16_t narrowed(float x, const int dtype) { return dtype == FLOAT16 ? half_of_float(x) : bfloat16_of_float(x); }

typedef uint16_t LooseWords __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef uint32_t UnsignedBits __attribute__((vector_size(4 * LANES)));

/* Convert LANES numbers to float32. */
INLINE Vector load_halves(const uint16_t *from, const int dtype) {
#if defined(__AVX512F__)
    const __m256i words = _mm256_loadu_si256((const __m256i *)from);
    return dtype == FLOAT16 ? (Vector)_mm512_cvtph_ps(words) : (Vector)_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16);
#elif defined(__F16C__)
    const __m128i words = _mm_loadu_si128((const __m128i *)from);
    return dtype == FLOAT16 ? (Vector)_mm256_cvtph_ps(words) : (Vector)_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16);
#else
    if (dtype == BFLOAT16) return (Vector)(__builtin_convertvector(*(const LooseWords *)from, UnsignedBits) << 16);
    Vector result;
    for (int lane = 0; lane < LANES; lane++) result[lane] = float_of_half(from[lane]);
    return result;
#endif
}

INLINE void widen_all(float *to, const uint16_t *from, int64_t count, const int dtype) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) store(to + i, load_halves(from + i, dtype));
    for (; i < count; i++) to[i] = widened(from[i], dtype);
}

INLINE void narrow_all(uint16_t *to, const float *from, int64_t count, const int dtype) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; dtype == FLOAT16 && i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    for (; dtype == FLOAT16 && i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    SIMD() for (int64_t j = i; j < count; j++) to[j] = narrowed(from[j], dtype);
}

/* Convert `count` numbers to float32. */
__attribute__((unused)) static void widen(float *to, const uint16_t *from, int64_t count, int dtype) {
    if (dtype == FLOAT16) widen_all(to, from, count, FLOAT16);
    else widen_all(to, from, count, BFLOAT16);
}

/* Round `count` numbers to 16 bits. */
__attribute__((unused)) static void narrow(uint16_t *to, const float *from, int64_t count, int dtype) {
    if (dtype == FLOAT16) narrow_all(to, from, count, FLOAT16);
    else narrow_all(to, from, count, BFLOAT16);
}

static void half_to_single_loop(const Argument *a, int64_t first, int64_t last) {
    widen_all(FLOATS(0) + first, HALVES(1) + first, last - first, FLOAT16);
}

static void single_to_half_loop(const Argument *a, int64_t first, int64_t last) {
    narrow_all(HALVES(0) + first, FLOATS(1) + first, last - first, FLOAT16);
}

static void bfloat16_to_single_loop(const Argument *a, int64_t first, int64_t last) {
    widen_all(FLOATS(0) + first, HALVES(1) + first, last - first, BFLOAT16);
}

static void single_to_bfloat16_loop(const Argument *a, int64_t first, int64_t last) {
    narrow_all(HALVES(0) + first, FLOATS(1) + first, last - first, BFLOAT16);
}

#define HALF_KERNELS                                                                                                               \
    {"half_to_single", "FH", half_to_single_loop, ITEMS}, {"single_to_half", "HF", single_to_half_loop, ITEMS},                    \
        {"bfloat16_to_single", "FH", bfloat16_to_single_loop, ITEMS}, {"single_to_bfloat16", "HF", single_to_bfloat16_loop, ITEMS}

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

static void half_to_single_loop(const Argument *a, int64_t first, int64_t last) {
    float *out = FLOATS(0);
    const uint16_t *from = HALVES(1);
    int64_t i = first;
#if defined(__AVX512F__)
    for (; i + 16 <= last; i += 16) _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= last; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#endif
    SIMD() for (int64_t j = i; j < last; j++) out[j] = float_of_half(from[j]);
}

static void single_to_half_loop(const Argument *a, int64_t first, int64_t last) {
    uint16_t *out = HALVES(0);
    const float *from = FLOATS(1);
    int64_t i = first;
#if defined(__AVX512F__)
    for (; i + 16 <= last; i += 16)
        _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    for (; i + 8 <= last; i += 8)
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    SIMD() for (int64_t j = i; j < last; j++) out[j] = half_of_float(from[j]);
}

/* --- bfloat16: the upper half of float32 --- */

static void bfloat16_to_single_loop(const Argument *a, int64_t first, int64_t last) {
    uint32_t *out = a[0].data;
    const uint16_t *from = HALVES(1);
    SIMD() for (int64_t i = first; i < last; i++) out[i] = (uint32_t)from[i] << 16;
}

static void single_to_bfloat16_loop(const Argument *a, int64_t first, int64_t last) {
    uint16_t *out = HALVES(0);
    const uint32_t *from = a[1].data;
    SIMD() for (int64_t i = first; i < last; i++) {
        const uint32_t rounded = (from[i] + 0x7fffu + (from[i] >> 16 & 1u)) >> 16;
        out[i] = (uint16_t)((from[i] & 0x7fffffffu) > 0x7f800000u ? (from[i] >> 16 & 0x8000u) | 0x7fc0u : rounded);
    }
}

#define HALF_KERNELS                                                                                                               \
    {"half_to_single", "FH", half_to_single_loop, ITEMS}, {"single_to_half", "HF", single_to_half_loop, ITEMS},                    \
        {"bfloat16_to_single", "FH", bfloat16_to_single_loop, ITEMS}, {"single_to_bfloat16", "HF", single_to_bfloat16_loop, ITEMS}

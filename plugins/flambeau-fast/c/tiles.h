/* Products with tiles, the matrix registers of AMX (Intel): eight registers of 16 rows of 64 bytes.

`tdpbf16ps` adds products of bfloat16 numbers to 16 x 16 sums in float32.  `tdpbusd` adds products of unsigned bytes of A and signed
bytes of B to 16 x 16 sums in int32.  A tile of A has up to 16 rows of 16 units.  A unit has 32 bits: two bfloat16 numbers or four
bytes, consecutive in the depth.  A tile of B has 16 rows of 16 units, one row for each position in the depth and one unit for each
column.  The panels of pairs in `gemm.h` have the same layouts.

Linux permits tiles to processes that request them (`module.c`).  A thread configures its tiles for a block of a product and releases
them after it, so that a switch between threads seldom saves their 8 KB. */
#pragma once

#include "pool.h"
#include "vector.h"

#ifndef HAS_TILES
#define HAS_TILES 0 /* 1 in the variant for AMX */
#endif
#if HAS_TILES
#include <immintrin.h>
#endif

#define TILE_ROWS 32       /* rows of A at a time: two tiles, so that each tile of B is used twice */
#define LEAST_TILE_ROWS 16 /* number of rows of A from which copying B to panels pays: an estimate, not measured */

INLINE bool suits_tiles(int64_t rows) { return HAS_TILES && rows >= LEAST_TILE_ROWS; }

#if HAS_TILES
/* Complete earlier writes to memory: the intrinsics of gcc do not declare which memory they read. */
#define COMPLETE_WRITES(address) __asm__ volatile("" ::"r"(address) : "memory")

/* Set the shapes of the tiles for up to TILE_ROWS rows of A:
    0, 1: sums of the upper rows, for the left and right columns of B
    2, 3: sums of the lower rows
    4, 5: the upper and lower rows of A
    6, 7: the left and right columns of B */
static void configure_tiles(int64_t rows) {
    struct {
        uint8_t palette, start_row, unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1};
    const uint8_t upper = (uint8_t)smaller(rows, 16), lower = (uint8_t)(rows - upper);
    const uint8_t heights[8] = {upper, upper, lower, lower, upper, lower, 16, 16};
    for (int tile = 0; tile < 8; tile++) shapes.rows[tile] = heights[tile], shapes.bytes[tile] = heights[tile] ? 64 : 0;
    COMPLETE_WRITES(&shapes);
    _tile_loadconfig(&shapes);
}

static void release_tiles(void) { _tile_release(); }

/* Add the products of two tiles to a third; the arguments are numbers of tiles. */
#define ADD_TILES(sums, a, b)                                                                                                      \
    if (integers) _tile_dpbusd(sums, a, b);                                                                                        \
    else _tile_dpbf16ps(sums, a, b)

/* Multiply a panel of A by a panel of B with 32 columns if it is `wide`, else 16.  The number of rows is that of `configure_tiles`, more
than 16 if A is `tall`.  The depth, a multiple of 16, and steps are in units. */
INLINE void multiply_by_tiles(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t depth, float *out, int64_t out_step,
                              bool add, const bool tall, const bool wide, const bool integers) {
    const int64_t a_bytes = a_step * 4, b_bytes = b_step * 4, out_bytes = out_step * 4;
    float *lower = out + 16 * out_step;
    COMPLETE_WRITES(a);
#define EACH_SUM(X)                                                                                                                \
    X(0, out);                                                                                                                     \
    if (wide) X(1, out + 16);                                                                                                      \
    if (tall) X(2, lower);                                                                                                         \
    if (tall && wide) X(3, lower + 16)
#define ZERO(tile, address) _tile_zero(tile)
#define LOAD(tile, address) _tile_loadd(tile, address, out_bytes)
#define STORE(tile, address) _tile_stored(tile, address, out_bytes)
    if (add) {
        EACH_SUM(LOAD);
    } else {
        EACH_SUM(ZERO);
    }
    for (int64_t k = 0; k < depth; k += 16) {
        _tile_loadd(4, a + k, a_bytes);
        _tile_loadd(6, b + k * b_step, b_bytes);
        ADD_TILES(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + k * b_step + 16, b_bytes);
            ADD_TILES(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, a + 16 * a_step + k, a_bytes);
            ADD_TILES(2, 5, 6);
            if (wide) {
                ADD_TILES(3, 5, 7);
            }
        }
    }
    EACH_SUM(STORE);
#undef EACH_SUM
#undef ZERO
#undef LOAD
#undef STORE
}
#undef ADD_TILES

/* Copy columns of B, contiguous and `step` bytes apart, to panels of shape (units, 32) in scratch memory.  Units beyond the `bytes` of
a column are 0, up to a multiple of 16; unused columns repeat the last one. */
static const float *tile_panels(const char *b, int64_t step, int64_t columns, int64_t bytes) {
    const int64_t units = pieces(bytes, 64) * 16;
    float *panels = scratch(6, pieces(columns, 32) * units * 32 * sizeof(float));
    for (int64_t j = 0; j < pieces(columns, 32) * 32; j += 16) {
        float *panel = panels + j / 32 * 32 * units + j % 32;
        for (int64_t k = 0; k < units; k += 16) {
            const int64_t left = bytes - 4 * k;
            const __mmask64 mask = left < 64 ? (UINT64_C(1) << left) - 1 : ~UINT64_C(0);
            Vector square[16];
            _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++)
                square[i] = (Vector)_mm512_maskz_loadu_epi8(mask, b + smaller(j + i, columns - 1) * step + 4 * k);
            transpose_vectors(square);
            _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) store(panel + (k + i) * 32, square[i]);
        }
    }
    return panels;
}

/* Compute products of up to TILE_ROWS rows of A, `step` units apart, with `columns` columns of `tile_panels`: product (i, j) at
`to[i * to_step + j]`.  Rows of A have zeros up to a multiple of 16 units; rows of the result have space for a multiple of 32 columns. */
static void tile_products(float *to, int64_t to_step, const float *panels, int64_t columns, const float *a, int64_t step, int64_t rows,
                          int64_t bytes, bool integers) {
    const int64_t units = pieces(bytes, 64) * 16;
    configure_tiles(rows);
    for (int64_t j = 0; j < columns; j += 32) {
#define MULTIPLY(tall, integers) multiply_by_tiles(a, step, panels + j * units, 32, units, to + j, to_step, false, tall, true, integers)
        if (rows > 16 && integers) MULTIPLY(true, true);
        else if (rows > 16) MULTIPLY(true, false);
        else if (integers) MULTIPLY(false, true);
        else MULTIPLY(false, false);
#undef MULTIPLY
    }
    release_tiles();
}
#else
INLINE void configure_tiles(int64_t rows) { (void)rows; }
INLINE void release_tiles(void) {}
INLINE const float *tile_panels(const char *b, int64_t step, int64_t columns, int64_t bytes) { return NULL; }
INLINE void tile_products(float *to, int64_t to_step, const float *panels, int64_t columns, const float *a, int64_t step, int64_t rows,
                          int64_t bytes, bool integers) {}
#endif

/* A kernel: a function over a range of items that threads divide, with arguments passed from Python. */
#pragma once

#include "pool.h"
#include "vector.h"

typedef union {
    struct {
        void *data;
        const int64_t *shape, *strides; /* strides in bytes */
    };
    int64_t integer;
    double number;
} Argument;

/* Compute the items from `first` to `last`, excluding `last`. */
typedef void Range(const Argument *a, int64_t first, int64_t last);

typedef struct {
    const char *name;
    /* A letter for each argument.  F, D, L, I, U, H, Y, b, B: array of float32, float64, int64, int32, uint32, uint16, uint8, int8, bool.  i, f: number.
    Contiguous float32 arrays: C in any shape, V as a vector, R as rows `(row, column)`, P as planes `(plane, row, column)`.
    For other arrays the call is declined, as by `decline`.  None is an empty array.  Arrays of V may instead all be float16, or bfloat16 as
    uint16. */
    const char *signature;
    Range *range;
    int items; /* ITEMS, ITEMS_OF_SECOND: length of the first or second array; WHOLE: the kernel splits its work itself */
} Kernel;

enum { WHOLE, ITEMS, ITEMS_OF_SECOND };

#define FLOATS(i) ((float *)a[i].data)
#define DOUBLES(i) ((double *)a[i].data)
#define HALVES(i) ((uint16_t *)a[i].data)
#define LONGS(i) ((int64_t *)a[i].data)
#define INTS(i) ((int32_t *)a[i].data)
#define BYTES(i) ((const char *)a[i].data)
#define NUMBER_OF(i) ((float)a[i].number)
#define INTEGER(i) (a[i].integer)
#define SIZE(i, dim) (a[i].shape[dim])

/* Decline the call from a WHOLE kernel: raises BufferError in Python, so that NumPy's kernel is called. */
void decline(void);

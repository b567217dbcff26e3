/* What a kernel is: a function over a range of items, which threads share, with arguments as Python passed them. */
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

/* Computes the items from `first` to before `last`. */
typedef void Range(const Argument *a, int64_t first, int64_t last);

typedef struct {
    const char *name;
    /* A letter for each argument: F, D, L, U, H, B for an array of float32, float64, int64, uint32, uint16, bool; i, f for a number.  C is a
    contiguous array of float32, V the same seen as a vector, R as rows `(row, column)`, P as planes `(plane, row, column)`: with any
    others a call is declined, as by `decline`.  E is F of an element-wise loop; arrays of E and V may instead all be of float16, or of
    bfloat16 as uint16. */
    const char *signature;
    Range *range;
    int items; /* in dimension 0 of the first array: ITEMS; of the second: ITEMS_OF_SECOND; WHOLE: it shares its work itself */
} Kernel;

enum { WHOLE, ITEMS, ITEMS_OF_SECOND };

#define FLOATS(i) ((float *)a[i].data)
#define DOUBLES(i) ((double *)a[i].data)
#define HALVES(i) ((uint16_t *)a[i].data)
#define LONGS(i) ((int64_t *)a[i].data)
#define NUMBER_OF(i) ((float)a[i].number)
#define INTEGER(i) (a[i].integer)
#define SIZE(i, dim) (a[i].shape[dim])

/* Let the caller of this kernel, which must be WHOLE, know that it cannot compute the call: BufferError in Python. */
void decline(void);

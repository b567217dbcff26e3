/* All kernels, compiled once per instruction set; TABLE is the name of that variant's table of kernels. */

#include "attention.h"
#include "channels.h"
#include "convolution.h"
#include "depthwise.h"
#include "elementwise.h"
#include "embedding.h"
#include "few_queries.h"
#include "few_rows.h"
#include "gamma.h"
#include "half.h"
#include "half_arithmetic.h"
#include "half_matrix.h"
#include "half_rows.h"
#include "indexing.h"
#include "matrix.h"
#include "plan.h"
#include "pooling.h"
#include "quantized.h"
#include "random.h"
#include "recurrent.h"
#include "rows.h"
#include "winograd.h"

const Kernel TABLE[] = {
    ELEMENTWISE_KERNELS, ROW_KERNELS,       CHANNEL_KERNELS,   POOLING_KERNELS,     RANDOM_KERNELS,   EMBEDDING_KERNELS,
    MATRIX_KERNELS,      ATTENTION_KERNELS, RECURRENT_KERNELS, CONVOLUTION_KERNELS, WINOGRAD_KERNELS, INDEXING_KERNELS,
    HALF_KERNELS,        HALF_MATRIX_KERNELS, FEW_QUERIES_KERNELS, HALF_ROW_KERNELS, QUANTIZED_KERNELS, PLAN_KERNELS,
    DEPTHWISE_KERNELS,   HALF_ARITHMETIC_KERNELS, FEW_ROWS_KERNELS, GAMMA_KERNELS,
    {NULL, NULL, NULL, 0},
};

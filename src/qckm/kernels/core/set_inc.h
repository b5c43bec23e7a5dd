/* All kernels of one instruction set. What includes this has defined LANES, VECTORS, SET, LOOPS and a few functions of vectors. */
#define REAL float
#define REALS LANES
#define WHOLE 8388608.0f /* 2^23: from here on, a float32 has no fraction */
#define NAMED(name) single_##name
#define ROUNDED(x) ROUND(ps)(x, 8) /* ties to even */
#define SELECTED(no, yes, mask) SELECT(ps)(no, yes, mask)
typedef int32_t single_integer;
#include "coding_inc.h"
#undef REAL
#undef REALS
#undef WHOLE
#undef NAMED
#undef ROUNDED
#undef SELECTED
#define REAL double
#define REALS (LANES / 2)
#define WHOLE 4503599627370496.0 /* 2^52 */
#define NAMED(name) double_##name
#define ROUNDED(x) ROUND(pd)(x, 8)
#define SELECTED(no, yes, mask) SELECT(pd)(no, yes, mask)
typedef int64_t double_integer;
#include "coding_inc.h"

#include "epilogues_inc.h"

#include "dense_inc.h"

#include "structured_inc.h"

#include "pooling_inc.h"

#include "products_inc.h"

INLINE void sum_kind(
    const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, void *scratch, int64_t *sums)
{
    if (kernel->size) {
        sum_structured(kernel, kind, paired, codes, rows, scratch, sums);
    } else if (kernel->octaves > 1) {
        sum_octaves(kernel, kind, paired, codes, rows, sums);
    } else {
        sum_dense(kernel, kind, paired, codes, rows, sums);
    }
}

/* Each kind of measurement is a loop of its own: what does not change in it is a constant there. */
static void sum(const qckm_kernel *kernel, const int16_t *codes, int64_t rows, void *scratch, int64_t *sums)
{
    switch (2 * kernel->kind + kernel->paired) {
    case 2 * QCKM_BITS: sum_kind(kernel, QCKM_BITS, 0, codes, rows, scratch, sums); break;
    case 2 * QCKM_BITS + 1: sum_kind(kernel, QCKM_BITS, 1, codes, rows, scratch, sums); break;
    case 2 * QCKM_COSINES: sum_kind(kernel, QCKM_COSINES, 0, codes, rows, scratch, sums); break;
    case 2 * QCKM_COSINES + 1: sum_kind(kernel, QCKM_COSINES, 1, codes, rows, scratch, sums); break;
    case 2 * QCKM_TABLE: sum_kind(kernel, QCKM_TABLE, 0, codes, rows, scratch, sums); break;
    default: sum_kind(kernel, QCKM_TABLE, 1, codes, rows, scratch, sums); break;
    }
}

static void store_bits(const qckm_kernel *kernel, const int16_t *codes, int64_t rows, void *scratch, uint8_t *first,
    uint8_t *second, int64_t row_bytes)
{
    if (kernel->size) {
        store_structured(kernel, codes, rows, scratch, first, second, row_bytes);
    } else {
        store_dense(kernel, codes, rows, first, second, row_bytes);
    }
}

static int pair_place(int lane, int half)
{
    return PAIR_PLACE(lane, half);
}

const qckm_set SET = {NAME, LANES, VECTORS, pair_place, single_code, double_code, sum, store_bits, count_positions, add_products, &LOOPS};

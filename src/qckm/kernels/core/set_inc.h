/* All kernels of one instruction set. What its file must define before it includes this is in kernels/README.md. */
#define QCKM_REAL float
#define QCKM_REALS QCKM_LANES
#define QCKM_WHOLE 8388608.0f /* 2^23: from here on, a float32 has no fraction */
#define QCKM_NAMED(name) single_##name
#define QCKM_ROUNDED(x) QCKM_ROUND(ps)(x, 8) /* ties to even */
#define QCKM_SELECTED(no, yes, mask) QCKM_SELECT(ps)(no, yes, mask)
typedef int32_t single_integer;
#include "coding_inc.h"
#undef QCKM_REAL
#undef QCKM_REALS
#undef QCKM_WHOLE
#undef QCKM_NAMED
#undef QCKM_ROUNDED
#undef QCKM_SELECTED
#define QCKM_REAL double
#define QCKM_REALS (QCKM_LANES / 2)
#define QCKM_WHOLE 4503599627370496.0 /* 2^52 */
#define QCKM_NAMED(name) double_##name
#define QCKM_ROUNDED(x) QCKM_ROUND(pd)(x, 8)
#define QCKM_SELECTED(no, yes, mask) QCKM_SELECT(pd)(no, yes, mask)
typedef int64_t double_integer;
#include "coding_inc.h"

#include "epilogues_inc.h"

#include "dense_inc.h"

#include "structured_inc.h"

#include "pooling_inc.h"

#include "products_inc.h"

QCKM_INLINE void sum_kind(
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
    return QCKM_PAIR_PLACE(lane, half);
}

const qckm_set QCKM_SET = {QCKM_NAME, QCKM_LANES, QCKM_VECTORS, pair_place, single_code, double_code, sum, store_bits,
    count_positions, add_products, &QCKM_LOOPS};

/* Any CPU: what the compiler makes of vectors of four, SSE2 on every x86-64. */
#define QCKM_NAME "plain"
#define QCKM_SET qckm_plain
#define QCKM_LOOPS qckm_plain_loops
#define QCKM_LANES 4
#define QCKM_VECTORS 2
#include "vectors.h"

#define QCKM_PAIR_PLACE(lane, half) (2 * (lane) + (half))
#define QCKM_PACKS_CHEAPLY 0

/* total + the products of both halves of a pair. */
QCKM_INLINE words multiply_add(words total, shorts pair, shorts frequencies)
{
    const ints low = ((ints)((words)pair << 16) >> 16) * ((ints)((words)frequencies << 16) >> 16);
    return total + (words)low + (words)(((ints)pair >> 16) * ((ints)frequencies >> 16));
}

QCKM_INLINE words add_pairs(words total, shorts values)
{
    return total + (words)((ints)((words)values << 16) >> 16) + (words)((ints)values >> 16);
}

QCKM_INLINE shorts rounding_product(shorts a, shorts b)
{
    shorts products;
    for (int lane = 0; lane < 2 * QCKM_LANES; lane++) {
        products[lane] = (int16_t)((a[lane] * b[lane] + (1 << 14)) >> 15);
    }
    return products;
}

QCKM_INLINE shorts magnitude(shorts values)
{
    const shorts sign = values >> 15;
    return (values ^ sign) - sign;
}

/* The top bytes, bits 16 to 23, of the phases of four rows. */
QCKM_INLINE bytes pack_rows(words a, words b, words c, words d)
{
    return (bytes)(((words)a >> 16 & 0xFF) | ((words)b >> 8 & 0xFF00) | ((words)c & 0xFF0000) | ((words)d << 8 & 0xFF000000));
}

QCKM_INLINE uint32_t negative_lanes(words values)
{
    uint32_t mask = 0;
    for (int lane = 0; lane < QCKM_LANES; lane++) {
        mask |= values[lane] >> 31 << lane;
    }
    return mask;
}

#include "bytes_inc.h"
#include "set_inc.h"

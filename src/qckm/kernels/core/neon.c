/* ARM of 64 bits: vectors of four, and room for 32 of them in registers. */
#if defined(__aarch64__)
#include <arm_neon.h>

#define QCKM_NAME "neon"
#define QCKM_SET qckm_neon
#define QCKM_LOOPS qckm_plain_loops
#define QCKM_LANES 4
#define QCKM_VECTORS 4
#include "vectors.h"

/* A pair's first frequencies, then its second ones: each half is multiplied and added by one instruction. */
#define QCKM_PAIR_PLACE(lane, half) ((half) * QCKM_LANES + (lane))
#define QCKM_PACKS_CHEAPLY 1

QCKM_INLINE words multiply_add(words total, shorts pair, shorts frequencies)
{
    const int16x4_t codes = vget_low_s16((int16x8_t)pair);
    const int32x4_t first = vmlal_lane_s16((int32x4_t)total, vget_low_s16((int16x8_t)frequencies), codes, 0);
    return (words)vmlal_high_lane_s16(first, (int16x8_t)frequencies, codes, 1);
}

QCKM_INLINE words add_pairs(words total, shorts values)
{
    return (words)vpadalq_s16((int32x4_t)total, (int16x8_t)values);
}

QCKM_INLINE shorts rounding_product(shorts a, shorts b)
{
    return (shorts)vqrdmulhq_s16((int16x8_t)a, (int16x8_t)b);
}

QCKM_INLINE shorts magnitude(shorts values)
{
    return (shorts)vabsq_s16((int16x8_t)values);
}

QCKM_INLINE bytes pack_rows(words a, words b, words c, words d)
{
    const uint16x8_t low = vuzp2q_u16((uint16x8_t)a, (uint16x8_t)b), high = vuzp2q_u16((uint16x8_t)c, (uint16x8_t)d);
    return (bytes)vuzp1q_u8((uint8x16_t)low, (uint8x16_t)high);
}

QCKM_INLINE uint32_t negative_lanes(words values)
{
    static const int32_t places[4] = {0, 1, 2, 3};
    return vaddvq_u32(vshlq_u32(vshrq_n_u32((uint32x4_t)values, 31), vld1q_s32(places)));
}

QCKM_INLINE words count_negative(words counter, bytes tops)
{
    return (words)((bytes)counter - (bytes)((signed_bytes)tops < 0));
}

/* The rows counted in each lane: rows lie one after the other, each with its lanes. */
QCKM_INLINE words counted(words counter)
{
    const uint8x16_t counts = (uint8x16_t)counter;
    const uint16x8_t halves = vaddl_u8(vget_low_u8(counts), vget_high_u8(counts));
    return (words)vaddl_u16(vget_low_u16(halves), vget_high_u16(halves));
}

#include "set_inc.h"
#endif

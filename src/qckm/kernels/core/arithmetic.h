/*
 * The arithmetic of qckm, version 1 (docs/arithmetic.md): phases are integers, so that bits do not depend on who
 * computes them. The kernels include it, and op.export_c copies its first part into the header for a sensor. C99, no library.
 */
#ifndef QCKM_ARITHMETIC_H
#define QCKM_ARITHMETIC_H

#include <stdint.h>

#ifndef QCKM_FUNCTION
#define QCKM_FUNCTION static inline
#endif

/* ---- From codes to phases and bits ------------------------------------------------------------------------------ */

/* One turn is 2^24. Phases are uint32 that wrap: 2^32 is a multiple of a turn. */
#define QCKM_TURN_BITS 24
#define QCKM_QUARTER_TURN (UINT32_C(1) << (QCKM_TURN_BITS - 2))
#define QCKM_CODE_LIMIT INT32_C(32767)

/* A code within +-32767; *clipped becomes 1 where it was not. */
QCKM_FUNCTION int16_t qckm_clip(int32_t code, int *clipped)
{
    if (code > QCKM_CODE_LIMIT) {
        *clipped = 1;
        return (int16_t)QCKM_CODE_LIMIT;
    }
    if (code < -QCKM_CODE_LIMIT) {
        *clipped = 1;
        return (int16_t)-QCKM_CODE_LIMIT;
    }
    return (int16_t)code;
}

/* A phase, with the product of a code and a frequency added. */
QCKM_FUNCTION uint32_t qckm_turned(uint32_t phase, int16_t code, int16_t frequency)
{
    return phase + (uint32_t)((int32_t)code * (int32_t)frequency);
}

/* The one-bit signature: 0 where the cosine is positive, which is the contribution +1; 1 for -1. */
QCKM_FUNCTION uint32_t qckm_bit(uint32_t phase)
{
    return (phase + QCKM_QUARTER_TURN) >> (QCKM_TURN_BITS - 1) & 1u;
}

/* ---- Other signatures ------------------------------------------------------------------------------------------- */

#define QCKM_TABLE_BITS 12

/* Which of the 4096 entries of a signature's table a phase falls on. */
QCKM_FUNCTION uint32_t qckm_part(uint32_t phase)
{
    return phase >> (QCKM_TURN_BITS - QCKM_TABLE_BITS) & ((UINT32_C(1) << QCKM_TABLE_BITS) - 1u);
}

/* The rounding product of 16-bit numbers, (a * b + 2^14) >> 15; shifted where it cannot be negative. */
QCKM_FUNCTION int16_t qckm_product(int16_t a, int16_t b)
{
    const uint32_t raised = (uint32_t)((int32_t)a * (int32_t)b + (INT32_C(1) << 14)) + (UINT32_C(1) << 31);
    return (int16_t)((int32_t)(raised >> 15) - (INT32_C(1) << 16));
}

/*
 * The exponential signature: 32767 cos, as s + s P(s^2) with s from -1 to 1 a quarter turn either side of the zero
 * crossing, P's coefficients in 32768ths. Of a phase, the middle of its 4096th of a turn counts.
 */
#define QCKM_COSINE_1 18701
#define QCKM_COSINE_3 (-21159)
#define QCKM_COSINE_5 2597
#define QCKM_COSINE_7 (-140)

QCKM_FUNCTION int16_t qckm_cosine(uint32_t phase)
{
    const int32_t middle = (int32_t)(qckm_part(phase) << 4 | 8u);                    /* in 65536ths of a turn */
    const int32_t from_top = middle < INT32_C(32768) ? middle : INT32_C(65536) - middle;
    const int16_t s = (int16_t)(2 * (INT32_C(16384) - from_top));
    const int16_t square = qckm_product(s, s);
    int16_t p = (int16_t)(qckm_product(square, QCKM_COSINE_7) + QCKM_COSINE_5);
    p = (int16_t)(qckm_product(square, p) + QCKM_COSINE_3);
    p = (int16_t)(qckm_product(square, p) + QCKM_COSINE_1);
    return (int16_t)(s + qckm_product(s, p));
}

#endif

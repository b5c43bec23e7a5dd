/* x86 with SSSE3: pmaddwd, pmulhrsw and pshufb on vectors of four. */
#if defined(__x86_64__)
#include <tmmintrin.h>

#define NAME "ssse3"
#define SET qckm_ssse3
#define LANES 4
#define VECTORS 2
#include "vectors.h"

#define PAIR_PLACE(lane, half) (2 * (lane) + (half))
#define PACKS_CHEAPLY 0

INLINE words multiply_add(words total, shorts pair, shorts frequencies)
{
    return total + (words)_mm_madd_epi16((__m128i)pair, (__m128i)frequencies);
}

INLINE words add_pairs(words total, shorts values)
{
    return total + (words)_mm_madd_epi16((__m128i)values, _mm_set1_epi16(1));
}

INLINE shorts rounding_product(shorts a, shorts b)
{
    return (shorts)_mm_mulhrs_epi16((__m128i)a, (__m128i)b);
}

/* The even halves of one vector, the odd ones of another. */
INLINE shorts alternate(shorts even, shorts odd)
{
    return (shorts)(((words)even & 0xFFFF) | ((words)odd & 0xFFFF0000));
}

INLINE shorts magnitude(shorts values)
{
    return (shorts)_mm_abs_epi16((__m128i)values);
}

/* The top bytes, bits 16 to 23, of the phases of four rows, side by side. */
INLINE bytes pack_rows(words a, words b, words c, words d)
{
    const __m128i to_0 = _mm_setr_epi32((int)0x80808002, (int)0x80808006, (int)0x8080800A, (int)0x8080800E);
    const __m128i to_1 = _mm_setr_epi32((int)0x80800280, (int)0x80800680, (int)0x80800A80, (int)0x80800E80);
    const __m128i to_3 = _mm_setr_epi32(0x02808080, 0x06808080, 0x0A808080, 0x0E808080);
    const bytes low = (bytes)_mm_shuffle_epi8((__m128i)a, to_0) | (bytes)_mm_shuffle_epi8((__m128i)b, to_1);
    return low | (bytes)(c & 0x00FF0000) | (bytes)_mm_shuffle_epi8((__m128i)d, to_3);
}

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps((__m128i)values));
}

#include "bytes_inc.h"
#include "set_inc.h"
#endif

/* What the two AVX-512 sets share: vectors of sixteen. */
#include <immintrin.h>

#define LANES 16
#define VECTORS 4
#include "vectors.h"

#define PAIR_PLACE(lane, half) (2 * (lane) + (half))
#define PACKS_CHEAPLY 1

INLINE shorts rounding_product(shorts a, shorts b)
{
    return (shorts)_mm512_mulhrs_epi16((__m512i)a, (__m512i)b);
}

/* The even halves of one vector, the odd ones of another. */
INLINE shorts alternate(shorts even, shorts odd)
{
    return (shorts)_mm512_mask_blend_epi16(0xAAAAAAAA, (__m512i)even, (__m512i)odd);
}

INLINE shorts magnitude(shorts values)
{
    return (shorts)_mm512_abs_epi16((__m512i)values);
}

/* The top bytes, bits 16 to 23, of the phases of four rows, side by side. */
INLINE bytes pack_rows(words a, words b, words c, words d)
{
    const __m512i to_0 = _mm512_broadcast_i32x4(_mm_setr_epi32((int)0x80808002, (int)0x80808006, (int)0x8080800A, (int)0x8080800E));
    const __m512i to_1 = _mm512_broadcast_i32x4(_mm_setr_epi32((int)0x80800280, (int)0x80800680, (int)0x80800A80, (int)0x80800E80));
    const __m512i to_3 = _mm512_broadcast_i32x4(_mm_setr_epi32(0x02808080, 0x06808080, 0x0A808080, 0x0E808080));
    __m512i packed = _mm512_shuffle_epi8((__m512i)a, to_0);
    packed = _mm512_mask_shuffle_epi8(packed, 0x2222222222222222, (__m512i)b, to_1);
    packed = _mm512_mask_mov_epi8(packed, 0x4444444444444444, (__m512i)c);
    return (bytes)_mm512_mask_shuffle_epi8(packed, 0x8888888888888888, (__m512i)d, to_3);
}

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm512_cmplt_epi32_mask((__m512i)values, _mm512_setzero_si512());
}

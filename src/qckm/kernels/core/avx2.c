/* x86 with AVX2: vectors of eight. */
#if defined(__x86_64__)
#include <immintrin.h>

#define NAME "avx2"
#define SET qckm_avx2
#define LANES 8
#define VECTORS 2
#include "vectors.h"

#define PAIR_PLACE(lane, half) (2 * (lane) + (half))
#define PACKS_CHEAPLY 0

INLINE words multiply_add(words total, shorts pair, shorts frequencies)
{
    return total + (words)_mm256_madd_epi16((__m256i)pair, (__m256i)frequencies);
}

INLINE words add_pairs(words total, shorts values)
{
    return total + (words)_mm256_madd_epi16((__m256i)values, _mm256_set1_epi16(1));
}

INLINE shorts rounding_product(shorts a, shorts b)
{
    return (shorts)_mm256_mulhrs_epi16((__m256i)a, (__m256i)b);
}

/* The even halves of one vector, the odd ones of another. */
INLINE shorts alternate(shorts even, shorts odd)
{
    return (shorts)_mm256_blend_epi16((__m256i)even, (__m256i)odd, 0xAA);
}

INLINE shorts magnitude(shorts values)
{
    return (shorts)_mm256_abs_epi16((__m256i)values);
}

/* The top bytes, bits 16 to 23, of the phases of four rows, side by side. */
INLINE bytes pack_rows(words a, words b, words c, words d)
{
    const __m256i to_0 = _mm256_broadcastsi128_si256(_mm_setr_epi32((int)0x80808002, (int)0x80808006, (int)0x8080800A, (int)0x8080800E));
    const __m256i to_1 = _mm256_broadcastsi128_si256(_mm_setr_epi32((int)0x80800280, (int)0x80800680, (int)0x80800A80, (int)0x80800E80));
    const __m256i to_3 = _mm256_broadcastsi128_si256(_mm_setr_epi32(0x02808080, 0x06808080, 0x0A808080, 0x0E808080));
    const bytes low = (bytes)_mm256_shuffle_epi8((__m256i)a, to_0) | (bytes)_mm256_shuffle_epi8((__m256i)b, to_1);
    return low | (bytes)(c & 0x00FF0000) | (bytes)_mm256_shuffle_epi8((__m256i)d, to_3);
}

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps((__m256i)values));
}

#include "bytes_inc.h"
#include "set_inc.h"
#endif

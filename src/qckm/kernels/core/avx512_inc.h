/* What the two AVX-512 sets share: vectors of sixteen. */
#include <immintrin.h>

#define QCKM_LANES 16
#define QCKM_VECTORS 4
#define QCKM_PACKS_CHEAPLY 1
#define QCKM_MM_VECTOR __m512i
#define QCKM_MM(f) _mm512_##f
#define QCKM_EVERYWHERE(v) _mm512_broadcast_i32x4(v)
#define QCKM_ROUND(type) _mm512_roundscale_##type
#define QCKM_BLEND(even, odd) _mm512_mask_blend_epi16(0xAAAAAAAA, even, odd)
#include "vectors.h"

#include "x86_inc.h"

QCKM_INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm512_cmplt_epi32_mask((__m512i)values, _mm512_setzero_si512());
}

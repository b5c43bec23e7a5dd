/* What the two AVX-512 sets share: vectors of sixteen. */
#include <immintrin.h>

#define LANES 16
#define VECTORS 4
#define PACKS_CHEAPLY 1
#define MM_VECTOR __m512i
#define MM(f) _mm512_##f
#define EVERYWHERE(v) _mm512_broadcast_i32x4(v)
#define ROUND(type) _mm512_roundscale_##type
#define BLEND(even, odd) _mm512_mask_blend_epi16(0xAAAAAAAA, even, odd)
#include "vectors.h"

#include "x86_inc.h"

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm512_cmplt_epi32_mask((__m512i)values, _mm512_setzero_si512());
}

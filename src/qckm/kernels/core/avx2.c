/* x86 with AVX2: vectors of eight. */
#if defined(__x86_64__)
#include <immintrin.h>

#define QCKM_NAME "avx2"
#define QCKM_SET qckm_avx2
#define QCKM_LOOPS qckm_avx2_loops
#define QCKM_LANES 8
#define QCKM_VECTORS 2
#define QCKM_PACKS_CHEAPLY 0
#define QCKM_MM_VECTOR __m256i
#define QCKM_MM(f) _mm256_##f
#define QCKM_EVERYWHERE(v) _mm256_broadcastsi128_si256(v)
#define QCKM_ROUND(type) _mm256_round_##type
#define QCKM_SELECT(type) _mm256_blendv_##type
#define QCKM_BLEND(even, odd) _mm256_blend_epi16(even, odd, 0xAA)
#include "vectors.h"

#include "x86_inc.h"

#include "bytes_inc.h"

QCKM_INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps((__m256i)values));
}

#include "set_inc.h"
#endif

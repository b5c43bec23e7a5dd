/* x86 with AVX2: vectors of eight. */
#if defined(__x86_64__)
#include <immintrin.h>

#define NAME "avx2"
#define SET qckm_avx2
#define LOOPS qckm_avx2_loops
#define LANES 8
#define VECTORS 2
#define PACKS_CHEAPLY 0
#define MM_VECTOR __m256i
#define MM(f) _mm256_##f
#define EVERYWHERE(v) _mm256_broadcastsi128_si256(v)
#define ROUND(type) _mm256_round_##type
#define SELECT(type) _mm256_blendv_##type
#define BLEND(even, odd) _mm256_blend_epi16(even, odd, 0xAA)
#include "vectors.h"

#include "x86_inc.h"

#include "bytes_inc.h"

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps((__m256i)values));
}

#include "set_inc.h"
#endif

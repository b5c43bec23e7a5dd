/* x86 with SSSE3: pmaddwd, pmulhrsw and pshufb on vectors of four. */
#if defined(__x86_64__)
#include <tmmintrin.h>

#define NAME "ssse3"
#define SET qckm_ssse3
#define LOOPS qckm_plain_loops
#define LANES 4
#define VECTORS 2
#define PACKS_CHEAPLY 0
#define MM_VECTOR __m128i
#define MM(f) _mm_##f
#define EVERYWHERE(v) (v)
#include "vectors.h"

#include "x86_inc.h"

#include "bytes_inc.h"

INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps((__m128i)values));
}

#include "set_inc.h"
#endif

/* x86 with SSSE3: pmaddwd, pmulhrsw and pshufb on vectors of four. */
#if defined(__x86_64__)
#include <tmmintrin.h>

#define QCKM_NAME "ssse3"
#define QCKM_SET qckm_ssse3
#define QCKM_LOOPS qckm_plain_loops
#define QCKM_LANES 4
#define QCKM_VECTORS 2
#define QCKM_PACKS_CHEAPLY 0
#define QCKM_MM_VECTOR __m128i
#define QCKM_MM(f) _mm_##f
#define QCKM_EVERYWHERE(v) (v)
#include "vectors.h"

#include "x86_inc.h"

#include "bytes_inc.h"

QCKM_INLINE uint32_t negative_lanes(words values)
{
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps((__m128i)values));
}

#include "set_inc.h"
#endif

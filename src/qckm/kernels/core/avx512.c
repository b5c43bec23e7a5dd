/* x86 with AVX-512 F, BW, VL and DQ. */
#if defined(__x86_64__)
#define QCKM_NAME "avx512"
#define QCKM_SET qckm_avx512
#define QCKM_LOOPS qckm_avx512_loops
#include "avx512_inc.h"

QCKM_INLINE words count_negative(words counter, bytes tops)
{
    const __mmask64 negative = _mm512_movepi8_mask((__m512i)tops);
    return (words)_mm512_mask_sub_epi8((__m512i)counter, negative, (__m512i)counter, _mm512_set1_epi8(-1));
}

/* The rows counted in each lane. */
QCKM_INLINE words counted(words counter)
{
    return (counter & 0xFF) + (counter >> 8 & 0xFF) + (counter >> 16 & 0xFF) + (counter >> 24);
}

#include "set_inc.h"
#endif

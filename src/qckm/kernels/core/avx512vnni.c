/* x86 with AVX-512 VNNI: products are added where they are made, and four counters of a tile at once. */
#if defined(__x86_64__)
#define QCKM_NAME "avx512vnni"
#define QCKM_SET qckm_avx512vnni
#define QCKM_LOOPS qckm_avx512_loops
#include "avx512_inc.h"

/* The bytes' top bits, 128 each, are added up by lane: an int32 holds millions of rows. */
QCKM_INLINE words count_negative(words counter, bytes tops)
{
    return (words)_mm512_dpbusd_epi32((__m512i)counter, (__m512i)(tops & 0x80), _mm512_set1_epi8(1));
}

QCKM_INLINE words counted(words counter)
{
    return counter >> 7;
}

#include "set_inc.h"
#endif

/*
 * What the sets of x86 share: QCKM_MM(f) is an intrinsic of their width, QCKM_MM_VECTOR its vectors of integers, and
 * QCKM_EVERYWHERE(v) repeats a vector of 128 bits.
 */
#define QCKM_PAIR_PLACE(lane, half) (2 * (lane) + (half))

/* total + the products of both halves of a pair. */
QCKM_INLINE words multiply_add(words total, shorts pair, shorts frequencies)
{
#if defined(__AVX512VNNI__)
    return (words)_mm512_dpwssd_epi32((__m512i)total, (__m512i)pair, (__m512i)frequencies);
#else
    return total + (words)QCKM_MM(madd_epi16)((QCKM_MM_VECTOR)pair, (QCKM_MM_VECTOR)frequencies);
#endif
}

QCKM_INLINE words add_pairs(words total, shorts values)
{
    return multiply_add(total, values, 1 - (shorts){0});
}

QCKM_INLINE shorts rounding_product(shorts a, shorts b)
{
    return (shorts)QCKM_MM(mulhrs_epi16)((QCKM_MM_VECTOR)a, (QCKM_MM_VECTOR)b);
}

QCKM_INLINE shorts magnitude(shorts values)
{
    return (shorts)QCKM_MM(abs_epi16)((QCKM_MM_VECTOR)values);
}

/* The top bytes, bits 16 to 23, of the phases of four rows, side by side. */
QCKM_INLINE bytes pack_rows(words a, words b, words c, words d)
{
    const QCKM_MM_VECTOR to_0 = QCKM_EVERYWHERE(
        _mm_setr_epi32((int)0x80808002, (int)0x80808006, (int)0x8080800A, (int)0x8080800E));
    const QCKM_MM_VECTOR to_1 = QCKM_EVERYWHERE(
        _mm_setr_epi32((int)0x80800280, (int)0x80800680, (int)0x80800A80, (int)0x80800E80));
    const QCKM_MM_VECTOR to_3 = QCKM_EVERYWHERE(_mm_setr_epi32(0x02808080, 0x06808080, 0x0A808080, 0x0E808080));
#if defined(__AVX512BW__)
    __m512i packed = _mm512_shuffle_epi8((__m512i)a, to_0);
    packed = _mm512_mask_shuffle_epi8(packed, 0x2222222222222222, (__m512i)b, to_1);
    packed = _mm512_mask_mov_epi8(packed, 0x4444444444444444, (__m512i)c);
    return (bytes)_mm512_mask_shuffle_epi8(packed, 0x8888888888888888, (__m512i)d, to_3);
#else
    const bytes low = (bytes)QCKM_MM(shuffle_epi8)((QCKM_MM_VECTOR)a, to_0)
        | (bytes)QCKM_MM(shuffle_epi8)((QCKM_MM_VECTOR)b, to_1);
    return low | (bytes)(c & 0x00FF0000) | (bytes)QCKM_MM(shuffle_epi8)((QCKM_MM_VECTOR)d, to_3);
#endif
}

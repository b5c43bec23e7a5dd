/* Vectors of doubles, as wide as the instruction set that this is compiled for. */
#ifndef QCKM_LANES_H
#define QCKM_LANES_H

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t lane_mask __attribute__((vector_size(8 * LANES)));

/* The numbers of `yes` where a < b, elsewhere those of `no`. */
static inline __attribute__((always_inline)) lanes where_less(lanes a, lanes b, lanes yes, lanes no)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ), (__m512d)no, (__m512d)yes);
#elif defined(__AVX2__)
    return (lanes)_mm256_blendv_pd((__m256d)no, (__m256d)yes, _mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LT_OQ));
#else
    const lane_mask less = (lane_mask)(a < b);
    return (lanes)((less & (lane_mask)yes) | (~less & (lane_mask)no));
#endif
}

static inline __attribute__((always_inline)) lanes lower_of(lanes a, lanes b)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return where_less(a, b, a, b);
#endif
}

static inline __attribute__((always_inline)) lanes higher_of(lanes a, lanes b)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return where_less(b, a, a, b);
#endif
}

#endif

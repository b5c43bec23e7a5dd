/*
 * Vectors of doubles, as wide as the instruction set that this is compiled for, and sums of them in an order that is the same
 * for all: eight running sums, whatever the width, that are added up in pairs at the end.
 */
#ifndef QCKM_LANES_H
#define QCKM_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define QCKM_INLINE static inline __attribute__((always_inline))
#if defined(__clang__) /* unrolls short loops unasked, and only then soon enough for the loops around them to become vectors */
#define QCKM_UNROLL
#else
#define QCKM_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
enum { SUMS = 8 };
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t lane_mask __attribute__((vector_size(8 * LANES)));

QCKM_INLINE lanes all(double number)
{
    return number - (lanes){0};
}

QCKM_INLINE lanes lanes_at(const double *from)
{
    lanes vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

QCKM_INLINE void put_lanes(double *to, lanes vector)
{
    memcpy(to, &vector, sizeof vector);
}

/* The numbers of `yes` where a < b, elsewhere those of `no`. */
QCKM_INLINE lanes where_less(lanes a, lanes b, lanes yes, lanes no)
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

/* The lower of two numbers, and the second where they are equal or one is NaN: as x86 has it. */
QCKM_INLINE lanes lower_of(lanes a, lanes b)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    return where_less(a, b, a, b);
#endif
}

QCKM_INLINE lanes higher_of(lanes a, lanes b)
{
#if defined(__AVX512F__)
    return (lanes)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (lanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return where_less(b, a, a, b);
#endif
}

/* Add up numbers, a power of two of them, in pairs: the second half to the first, and so on. They are used up. */
QCKM_INLINE double in_pairs(double *numbers, int count)
{
    QCKM_UNROLL
    for (int half = count / 2; half; half /= 2) {
        QCKM_UNROLL
        for (int i = 0; i < half; i++) {
            numbers[i] += numbers[i + half];
        }
    }
    return numbers[0];
}

/* The sum of a b, of many, with eight running sums. */
static inline double dot(const double *restrict a, const double *restrict b, int64_t size)
{
    double sums[SUMS] = {0};
    lanes running[SUMS / LANES] = {{0}};
    int64_t i = 0;
    for (; i + SUMS <= size; i += SUMS) {
        QCKM_UNROLL
        for (int part = 0; part < SUMS / LANES; part++) {
            running[part] += lanes_at(a + i + part * LANES) * lanes_at(b + i + part * LANES);
        }
    }
    QCKM_UNROLL
    for (int part = 0; part < SUMS / LANES; part++) {
        put_lanes(sums + part * LANES, running[part]);
    }
    for (int64_t k = 0; i + k < size; k++) {
        sums[k] += a[i + k] * b[i + k];
    }
    return in_pairs(sums, SUMS);
}

/* The squared distance of two points, or the squared norm of the first where there is no other: of few features, four running sums. */
QCKM_INLINE double squares_of(const double *restrict a, const double *restrict b, int64_t size)
{
    double first = 0, second = 0, third = 0, fourth = 0, rest = 0;
    int64_t i = 0;
    for (; i + 4 <= size; i += 4) {
        const double p = b ? a[i] - b[i] : a[i], q = b ? a[i + 1] - b[i + 1] : a[i + 1];
        const double r = b ? a[i + 2] - b[i + 2] : a[i + 2], s = b ? a[i + 3] - b[i + 3] : a[i + 3];
        first += p * p;
        second += q * q;
        third += r * r;
        fourth += s * s;
    }
    for (; i < size; i++) {
        const double p = b ? a[i] - b[i] : a[i];
        rest += p * p;
    }
    return (first + third) + (second + fourth) + rest;
}

static inline double square_distance(const double *a, const double *b, int64_t size)
{
    return squares_of(a, b, size);
}

/* The sum of numbers, with eight running sums. */
static inline double sum_of(const double *numbers, int64_t size)
{
    double sums[SUMS] = {0};
    lanes running[SUMS / LANES] = {{0}};
    int64_t i = 0;
    for (; i + SUMS <= size; i += SUMS) {
        QCKM_UNROLL
        for (int part = 0; part < SUMS / LANES; part++) {
            running[part] += lanes_at(numbers + i + part * LANES);
        }
    }
    QCKM_UNROLL
    for (int part = 0; part < SUMS / LANES; part++) {
        put_lanes(sums + part * LANES, running[part]);
    }
    for (int64_t k = 0; i + k < size; k++) {
        sums[k] += numbers[i + k];
    }
    return in_pairs(sums, SUMS);
}

#endif

/*
 * Vectors of QCKM_LANES 32-bit words and their parts, as gcc and clang know them: + - & | ^ << >> and comparisons need
 * no intrinsics.
 */
#ifndef QCKM_VECTORS_H
#define QCKM_VECTORS_H

#include <string.h>

#include "arithmetic.h"
#include "kernel.h"

#define QCKM_INLINE static inline __attribute__((always_inline))
#define QCKM_VECTOR_BYTES (4 * QCKM_LANES)
#define QCKM_WIDTH (QCKM_VECTORS * QCKM_LANES)
#define QCKM_UNROLL _Pragma("GCC unroll 16")

/* Have a vector in a register. With AVX-512, gcc would rather load it for each row, and loads are what limits a tile then. */
#if defined(__AVX512F__)
#define QCKM_HOLD(vector) __asm__ volatile("" : "+v"(vector))
#else
#define QCKM_HOLD(vector) (void)(vector)
#endif

typedef uint32_t words __attribute__((vector_size(QCKM_VECTOR_BYTES))); /* which wrap, as phases do */
typedef int32_t ints __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef int16_t shorts __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef uint16_t ushorts __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef int8_t signed_bytes __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef uint8_t bytes __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef int16_t half_shorts __attribute__((vector_size(QCKM_VECTOR_BYTES / 2)));
typedef words tile[QCKM_TILE_ROWS][QCKM_VECTORS];

QCKM_INLINE words load(const void *from)
{
    words vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

QCKM_INLINE void store(void *to, words vector)
{
    memcpy(to, &vector, sizeof vector);
}

/* A pair of codes, as an int32; codes of a row may begin at any of them. */
QCKM_INLINE int32_t pair_at(const int16_t *codes)
{
    int32_t pair;
    memcpy(&pair, codes, sizeof pair);
    return pair;
}

/* The even halves of one vector, the odd ones of another. */
QCKM_INLINE shorts alternate(shorts even, shorts odd)
{
#if defined(QCKM_BLEND)
    return (shorts)QCKM_BLEND((QCKM_MM_VECTOR)even, (QCKM_MM_VECTOR)odd);
#else
    return (shorts)(((words)even & 0xFFFF) | ((words)odd & 0xFFFF0000));
#endif
}

QCKM_INLINE words splat(int32_t value)
{
    return (uint32_t)value - (words){0};
}

#endif

/* Vectors of LANES 32-bit words and their parts, as gcc and clang know them: + - & | ^ << >> and comparisons need no intrinsics. */
#ifndef QCKM_VECTORS_H
#define QCKM_VECTORS_H

#include <string.h>

#include "arithmetic.h"
#include "kernel.h"

#define INLINE static inline __attribute__((always_inline))
#define VECTOR_BYTES (4 * LANES)
#define WIDTH (VECTORS * LANES)
#define UNROLL _Pragma("GCC unroll 16")

/* Have a vector in a register. With AVX-512, gcc would rather load it for each row, and loads are what limits a tile then. */
#if defined(__AVX512F__)
#define HOLD(vector) __asm__ volatile("" : "+v"(vector))
#else
#define HOLD(vector) (void)(vector)
#endif

typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES))); /* which wrap, as phases do */
typedef int32_t ints __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t shorts __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t ushorts __attribute__((vector_size(VECTOR_BYTES)));
typedef int8_t signed_bytes __attribute__((vector_size(VECTOR_BYTES)));
typedef uint8_t bytes __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t half_shorts __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef words tile[QCKM_TILE_ROWS][VECTORS];

INLINE words load(const void *from)
{
    words vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

INLINE void store(void *to, words vector)
{
    memcpy(to, &vector, sizeof vector);
}

/* A pair of codes, as an int32; codes of a row may begin at any of them. */
INLINE int32_t pair_at(const int16_t *codes)
{
    int32_t pair;
    memcpy(&pair, codes, sizeof pair);
    return pair;
}

/* The even halves of one vector, the odd ones of another. */
INLINE shorts alternate(shorts even, shorts odd)
{
#if defined(BLEND)
    return (shorts)BLEND((MM_VECTOR)even, (MM_VECTOR)odd);
#else
    return (shorts)(((words)even & 0xFFFF) | ((words)odd & 0xFFFF0000));
#endif
}

INLINE words splat(int32_t value)
{
    return (uint32_t)value - (words){0};
}

#endif

/* Makes frequencies and dither from recipes and writes them out: the same bytes on every machine. */
#include <stddef.h>
#include <stdint.h>

#include "recipes.h" /* generated: DENSE(X), STRUCTURED(X), and the recipe of each name */
#include "platform.h"

static void emit(uint32_t number, int bytes)
{
    for (; bytes > 0; bytes--, number >>= 8) {
        platform_emit((uint8_t)(number & 255u));
    }
}

/* Frequency by frequency, each with its dither. */
#define RUN_DENSE(name, NAME)                              \
    static void run_##name(void)                           \
    {                                                      \
        int16_t frequency[NAME##_FEATURES];                \
        size_t j, k;                                       \
        for (j = 0; j < NAME##_FREQUENCIES; j++) {         \
            name##_make(j, frequency);                     \
            for (k = 0; k < NAME##_FEATURES; k++) {        \
                emit((uint16_t)frequency[k], 2);           \
            }                                              \
            emit(name##_dither_of(j), 4);                  \
        }                                                  \
    }

/* The signs of all blocks, and then each radius with its dither. */
#define RUN_STRUCTURED(name, NAME)                                                            \
    static void run_##name(void)                                                              \
    {                                                                                         \
        uint32_t words[4], block, diagonal, i, w;                                             \
        size_t j;                                                                             \
        for (block = 0; block * NAME##_BLOCK < NAME##_FREQUENCIES; block++) {                 \
            for (diagonal = 0; diagonal < 3; diagonal++) {                                    \
                for (i = 0; i < NAME##_BLOCK / 128u; i++) {                                   \
                    words[0] = i, words[1] = block, words[2] = diagonal, words[3] = 1;        \
                    name##_philox(words);                                                     \
                    for (w = 0; w < 4; w++) {                                                 \
                        emit(words[w], 4);                                                    \
                    }                                                                         \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
        for (j = 0; j < NAME##_FREQUENCIES; j++) {                                            \
            uint64_t radius;                                                                  \
            name##_words(words, 0, j);                                                        \
            radius = ((uint64_t)name##_norm(words[0]) * NAME##_GAIN_OF(0) + UINT32_C(0x80000000)) >> 32; \
            emit(radius > 0 ? (uint32_t)radius : 1u, 4);                                      \
            emit(name##_dither_of(j), 4);                                                     \
        }                                                                                     \
    }

DENSE(RUN_DENSE)
STRUCTURED(RUN_STRUCTURED)

void run(void);
int main(void);

void run(void)
{
    platform_start();
#define CALL(name, NAME) run_##name();
    DENSE(CALL)
    STRUCTURED(CALL)
    platform_finish();
}

int main(void)
{
    run();
    return 0;
}

/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein), written for size. */
#include "mac.h"

static uint64_t v[4], word;
static uint32_t count;

static void turn(uint64_t *x, unsigned int by)
{
    *x = *x << by | *x >> (64u - by);
}

static void rounds(unsigned int many)
{
    while (many--) {
        v[0] += v[1];
        v[2] += v[3];
        turn(&v[1], 13);
        turn(&v[3], 16);
        v[1] ^= v[0];
        v[3] ^= v[2];
        turn(&v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        turn(&v[1], 17);
        turn(&v[3], 21);
        v[1] ^= v[2];
        v[3] ^= v[0];
        turn(&v[2], 32);
    }
}

static void absorb(void)
{
    v[3] ^= word;
    rounds(2);
    v[0] ^= word;
    word = 0;
}

void mac_start(const uint8_t *key)
{
    static const uint8_t name[33] = "uespemosmodnarodarenegylsetybdet";
    unsigned int i;
    for (i = 0; i < 4; i++) {
        v[i] = 0;
    }
    for (i = 0; i < 32; i++) {
        v[i >> 3] |= (uint64_t)(uint8_t)(name[i] ^ key[i & 15u]) << (8 * (i & 7u));
    }
    v[1] ^= 0xEE;
    word = 0;
    count = 0;
}

void mac_add(uint8_t byte)
{
    word |= (uint64_t)byte << (8 * (count & 7u));
    if ((++count & 7u) == 0) {
        absorb();
    }
}

void mac_finish(uint8_t *out)
{
    unsigned int half, i;
    word |= (uint64_t)(count & 0xFFu) << 56;
    absorb();
    v[2] ^= 0xEE;
    for (half = 0; half < 2; half++) {
        uint64_t tag;
        rounds(4);
        tag = v[0] ^ v[1] ^ v[2] ^ v[3];
        for (i = 0; i < 8; i++) {
            out[8 * half + i] = (uint8_t)(tag >> (8 * i) & 0xFFu);
        }
        v[1] ^= 0xDD;
    }
}

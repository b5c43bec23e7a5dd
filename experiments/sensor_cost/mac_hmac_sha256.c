/* HMAC-SHA-256 (RFC 2104, FIPS 180-4), cut to 128 bits, written for size. */
#include "mac.h"

static const uint32_t constants[64] FLASH = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t initial[8] FLASH = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static uint32_t state[8], count;
static uint8_t block[64], kept_key[16];

static uint32_t turned(uint32_t word, unsigned int by)
{
    return word >> by | word << (32u - by);
}

static void compress(void)
{
    uint32_t v[8], w[16];
    unsigned int i;
    for (i = 0; i < 8; i++) {
        v[i] = state[i];
    }
    for (i = 0; i < 64; i++) {
        uint32_t one, two, word;
        if (i < 16) {
            word = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        } else {
            one = w[(i + 1) & 15u];
            two = w[(i + 14) & 15u];
            one = turned(one, 7) ^ turned(one, 18) ^ one >> 3;
            two = turned(two, 17) ^ turned(two, 19) ^ two >> 10;
            word = w[i & 15u] + one + w[(i + 9) & 15u] + two;
        }
        w[i & 15u] = word;
        one = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
              (uint32_t)READ_32(&constants[i]) + word;
        two = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        v[7] = v[6];
        v[6] = v[5];
        v[5] = v[4];
        v[4] = v[3] + one;
        v[3] = v[2];
        v[2] = v[1];
        v[1] = v[0];
        v[0] = one + two;
    }
    for (i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

void mac_add(uint8_t byte)
{
    block[count & 63u] = byte;
    if ((++count & 63u) == 0) {
        compress();
    }
}

static void begin(uint8_t pad)
{
    unsigned int i;
    for (i = 0; i < 8; i++) {
        state[i] = (uint32_t)READ_32(&initial[i]);
    }
    count = 0;
    for (i = 0; i < 64; i++) {
        mac_add((uint8_t)((i < 16 ? kept_key[i] : 0u) ^ pad));
    }
}

static void end(uint8_t *out, unsigned int size)
{
    const uint32_t bits = count * 8;
    unsigned int i;
    mac_add(0x80);
    while ((count & 63u) != 56) {
        mac_add(0);
    }
    for (i = 0; i < 8; i++) {
        mac_add(i < 4 ? 0 : (uint8_t)(bits >> (8 * (7 - i)) & 0xFFu));
    }
    for (i = 0; i < size; i++) {
        out[i] = (uint8_t)(state[i >> 2] >> (8 * (3 - (i & 3u))) & 0xFFu);
    }
}

void mac_start(const uint8_t *key)
{
    unsigned int i;
    for (i = 0; i < 16; i++) {
        kept_key[i] = key[i];
    }
    begin(0x36);
}

void mac_finish(uint8_t *out)
{
    uint8_t inner[32];
    unsigned int i;
    end(inner, 32);
    begin(0x5c);
    for (i = 0; i < 32; i++) {
        mac_add(inner[i]);
    }
    end(out, 16);
}

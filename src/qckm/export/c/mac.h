/* ---- The MAC of a signed message: keyed BLAKE2s of 128 bits (RFC 7693), byte by byte ---------------------------------- */

#define QCKM_KEY_BYTES 16u
#define QCKM_MAC_BYTES 16u

typedef struct {
    uint32_t state[8];
    uint8_t block[64];
    uint32_t count; /* of bytes, the key's block included; a message has far fewer than 2^32 */
} qckm_mac;

/* Each round takes the words of a block in another order, two to a byte. */
static const uint8_t qckm_mac_order[80] QCKM_FLASH = {
    0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE, 0xAE, 0x84, 0xF9, 0x6D, 0xC1, 0x20, 0x7B, 0x35, 0x8B, 0x0C, 0x25, 0xDF,
    0xEA, 0x63, 0x17, 0x49, 0x97, 0x13, 0xCD, 0xEB, 0x62, 0xA5, 0x04, 0x8F, 0x09, 0x75, 0x42, 0xFA, 0x1E, 0xCB, 0x86, 0xD3,
    0xC2, 0xA6, 0xB0, 0x38, 0xD4, 0x57, 0xEF, 0x91, 0x5C, 0xF1, 0xDE, 0xA4, 0x70, 0x36, 0x29, 0xB8, 0xBD, 0xE7, 0x1C, 0x93,
    0x05, 0x4F, 0x68, 0xA2, 0xF6, 0x9E, 0x3B, 0x80, 0x2C, 0x7D, 0x41, 0x5A, 0x2A, 0x48, 0x67, 0x51, 0xBF, 0xE9, 0xC3, 0x0D};

static const uint32_t qckm_mac_initial[8] QCKM_FLASH = {
    UINT32_C(0x6A09E667), UINT32_C(0xBB67AE85), UINT32_C(0x3C6EF372), UINT32_C(0xA54FF53A),
    UINT32_C(0x510E527F), UINT32_C(0x9B05688C), UINT32_C(0x1F83D9AB), UINT32_C(0x5BE0CD19)};

/* Turned right by a constant. Of eight bits and of one, an AVR does it by moving bytes; others have an instruction. */
#define QCKM_MAC_TURNED(word, by) ((word) >> (by) | (word) << (32u - (by)))

QCKM_FUNCTION uint32_t qckm_mac_word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Mix the block into the state; the last block says so. */
QCKM_FUNCTION void qckm_mac_compress(qckm_mac *mac, int last)
{
    uint32_t v[16];
    unsigned int i, j;
    for (i = 0; i < 8; i++) {
        v[i] = mac->state[i];
        v[i + 8] = (uint32_t)QCKM_READ_32(&qckm_mac_initial[i]);
    }
    v[12] ^= mac->count;
    v[14] ^= last ? UINT32_C(0xFFFFFFFF) : 0u;
    for (i = 0; i < 80; i++) {
        /* Eight mixes a round: four columns, then four diagonals. */
        const unsigned int column = i & 3u, diagonal = i >> 2 & 1u;
        uint32_t *const at_a = &v[column];
        uint32_t *const at_b = &v[4 + ((column + diagonal) & 3u)];
        uint32_t *const at_c = &v[8 + ((column + 2 * diagonal) & 3u)];
        uint32_t *const at_d = &v[12 + ((column + 3 * diagonal) & 3u)];
        uint32_t a = *at_a, b = *at_b, c = *at_c, d = *at_d;
        uint8_t order = (uint8_t)QCKM_READ_8(&qckm_mac_order[i]);
        for (j = 0; j < 2; j++) {
            a += b + qckm_mac_word(mac->block + 4 * (order & 15u));
            order = (uint8_t)(order >> 4);
            d ^= a;
            d = QCKM_MAC_TURNED(d, 8);
            d = j ? d : QCKM_MAC_TURNED(d, 8);
            c += d;
            b ^= c;
            b = QCKM_MAC_TURNED(b, 8); /* by 7: 8 and back 1; by 12: 8 and 4 */
            b = j ? QCKM_MAC_TURNED(b, 31) : QCKM_MAC_TURNED(b, 4);
        }
        *at_a = a;
        *at_b = b;
        *at_c = c;
        *at_d = d;
    }
    for (i = 0; i < 8; i++) {
        mac->state[i] ^= v[i] ^ v[i + 8];
    }
}

QCKM_FUNCTION void qckm_mac_add(qckm_mac *mac, uint8_t byte)
{
    /* A full block waits until it is known not to be the last. */
    if (mac->count && (mac->count & 63u) == 0) {
        qckm_mac_compress(mac, 0);
    }
    mac->block[mac->count & 63u] = byte;
    mac->count++;
}

QCKM_FUNCTION void qckm_mac_start(qckm_mac *mac, const uint8_t *key)
{
    unsigned int i;
    for (i = 0; i < 8; i++) {
        mac->state[i] = (uint32_t)QCKM_READ_32(&qckm_mac_initial[i]);
    }
    mac->state[0] ^= UINT32_C(0x01010000) ^ QCKM_KEY_BYTES << 8 ^ QCKM_MAC_BYTES;
    mac->count = 0;
    for (i = 0; i < 64; i++) {
        qckm_mac_add(mac, i < QCKM_KEY_BYTES ? key[i] : 0);
    }
}

QCKM_FUNCTION uint8_t qckm_mac_byte(const qckm_mac *mac, unsigned int i)
{
    return (uint8_t)(mac->state[i >> 2] >> (8 * (i & 3u)) & 0xFFu);
}

/* After this, qckm_mac_byte gives the bytes of the MAC. */
QCKM_FUNCTION void qckm_mac_finish(qckm_mac *mac)
{
    unsigned int i;
    for (i = (mac->count - 1) & 63u; ++i < 64;) {
        mac->block[i] = 0;
    }
    qckm_mac_compress(mac, 1);
}

/* Keyed BLAKE2s of 128 bits (RFC 7693), as the exported encoder has it. */
#include "encoder.h"
#include "mac.h"

static qckm_mac state;

void mac_start(const uint8_t *key)
{
    qckm_mac_start(&state, key);
}

void mac_add(uint8_t byte)
{
    qckm_mac_add(&state, byte);
}

void mac_finish(uint8_t *out)
{
    unsigned int i;
    qckm_mac_finish(&state);
    for (i = 0; i < 16; i++) {
        out[i] = qckm_mac_byte(&state, i);
    }
}

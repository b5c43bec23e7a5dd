/* A message of MESSAGE bytes, as a device makes it byte by byte, and its MAC: sent at the end of each "sample". */
#include "cost.h"
#include "mac.h"

void start(void)
{
}

void take(const int16_t row[N])
{
    uint8_t key[16], out[16];
    uint16_t i;
    for (i = 0; i < 16; i++) {
        key[i] = (uint8_t)(17u * i);
    }
    (void)row;
    mac_start(key);
    for (i = 0; i < MESSAGE; i++) {
        mac_add((uint8_t)(7u * i + 1u));
    }
    mac_finish(out);
    for (i = 0; i < 16; i++) {
        send_byte(out[i]);
    }
}

void finish(void)
{
}

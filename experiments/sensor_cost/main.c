/* A device: a sensor's reading, what is to be done with it, and after ROWS of them what is to be sent. */
#include "cost.h"

#ifndef ROWS
#define ROWS 1
#endif

static int16_t read_sensor(void)
{
    static uint32_t x = 1;
    x = x * UINT32_C(1664525) + UINT32_C(1013904223);
    return (int16_t)((int32_t)(x >> 18) - 8192);
}

int main(void)
{
    int16_t row[N];
    uint16_t i;
    uint8_t k;
    begin();
    start();
    for (i = 0; i < ROWS; i++) {
        for (k = 0; k < N; k++) {
            row[k] = read_sensor();
        }
        take(row);
    }
    finish();
    end();
    return 0;
}

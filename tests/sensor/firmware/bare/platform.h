/* A microcontroller under qemu: rows from flash, messages to a file of the host's by semihosting. */
#define ROWS_IN_FLASH
#include "rows.h" /* generated: static const int16_t rows[] ROWS_IN_FLASH */

long semihost(long operation, const void *argument); /* of the board */

static long output;
static const int16_t *next_row = rows;
static uint8_t gathered[256];
static long n_gathered;

static void platform_start(void)
{
    static const char name[] = "output.bin";
    const long open[3] = {(long)name, 5 /* "wb" */, sizeof name - 1};
    output = semihost(0x01, open);
}

static void platform_flush(void)
{
    const long write[3] = {output, (long)gathered, n_gathered};
    semihost(0x05, write);
    n_gathered = 0;
}

static void platform_row(int16_t *row, size_t n)
{
    while (n-- > 0) {
        *row++ = *next_row++;
    }
}

static void platform_emit(uint8_t byte)
{
    gathered[n_gathered++] = byte;
    if (n_gathered == (long)sizeof gathered) {
        platform_flush();
    }
}

static void platform_finish(void)
{
    const long exit[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, 0};
    platform_flush();
    semihost(0x02, &output);
    semihost(0x18, sizeof(long) == 4 ? (const void *)0x20026 : (const void *)exit);
}

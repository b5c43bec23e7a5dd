/* A process: rows from standard input, messages to standard output. */
#include <stdio.h>
#include <stdlib.h>

static void platform_start(void)
{
}

static void platform_row(int16_t *row, size_t n)
{
    if (fread(row, sizeof *row, n, stdin) != n) {
        exit(3);
    }
}

static void platform_emit(uint8_t byte)
{
    putchar(byte);
}

static void platform_finish(void)
{
    fflush(stdout);
}

/* An ATmega under simavr: rows from flash, messages as hexadecimal over the serial line; then it sleeps for good. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>

#define ROWS_IN_FLASH PROGMEM
#include "rows.h" /* generated: static const int16_t rows[] ROWS_IN_FLASH */

static const int16_t *next_row = rows;
static uint8_t column;

static void put(char letter)
{
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)letter;
}

static void platform_start(void)
{
    UBRR0 = 0;
    UCSR0A = 1 << U2X0;
    UCSR0B = 1 << TXEN0;
}

static void platform_row(int16_t *row, size_t n)
{
    while (n-- > 0) {
        *row++ = (int16_t)pgm_read_word(next_row++);
    }
}

static void platform_emit(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    put(digits[byte >> 4]);
    put(digits[byte & 15]);
    if (++column == 32) {
        put('\n');
        column = 0;
    }
}

static void platform_finish(void)
{
    put('\n');
    cli();
    sleep_enable();
    sleep_cpu();
}

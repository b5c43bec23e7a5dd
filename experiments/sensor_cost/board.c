/* The board's side: a serial port's register, the end of the program and, if asked to MEASURE, how deep the stack became
 * and, on AVR, how many cycles it took (qemu counts instructions from outside, simavr does not). */
#include "cost.h"

#define PAINT 0xA5

#if defined(__AVR__)
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

extern uint8_t __heap_start;

void send_byte(uint8_t byte)
{
#if !MEASURE /* the port is where the measurements go */
    UDR0 = byte;
#else
    GPIOR0 = byte;
#endif
}

#if MEASURE
static void put_hexadecimal(uint32_t word)
{
    int8_t shift;
    for (shift = 28; shift >= 0; shift = (int8_t)(shift - 4)) {
        while (!(UCSR0A & (1 << UDRE0))) {
        }
        UDR0 = (uint8_t) "0123456789abcdef"[word >> shift & 15];
    }
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = '\n';
}

void begin(void)
{
    uint8_t here, *at;
    for (at = &__heap_start; at < &here - 16; at++) {
        *at = PAINT;
    }
    UCSR0B = 1 << TXEN0;
    TCCR1B = 5; /* one tick is 1024 cycles */
}

void end(void)
{
    const uint16_t ticks = TCNT1;
    uint8_t *at = &__heap_start;
    while (*at == PAINT) {
        at++;
    }
    put_hexadecimal(ticks);
    put_hexadecimal((uint32_t)(RAMEND + 1 - (uintptr_t)at));
    cli();
    sleep_enable();
    sleep_cpu();
}
#else
void begin(void)
{
}

void end(void)
{
}
#endif

#else
extern uint8_t bss_end[], stack_top[];
long semihost(long operation, const void *argument);

void send_byte(uint8_t byte)
{
#if defined(__riscv)
    *(volatile uint8_t *)SERIAL_PORT = byte;
#else
    *(volatile uint32_t *)SERIAL_PORT = byte;
#endif
}

void begin(void)
{
#if MEASURE
    uint8_t here, *at;
    for (at = bss_end; at < &here - 64; at++) {
        *(volatile uint8_t *)at = PAINT;
    }
#endif
}

void end(void)
{
#if MEASURE
    static const char name[] = "output.bin";
    const uint8_t *at = bss_end;
    long file, depth, words[3];
    while (*(const volatile uint8_t *)at == PAINT) {
        at++;
    }
    depth = (long)(stack_top - at);
    words[0] = (long)name; /* open for writing */
    words[1] = 5;
    words[2] = sizeof name - 1;
    file = semihost(0x01, words);
    words[0] = file;
    words[1] = (long)&depth;
    words[2] = 4;
    semihost(0x05, words);
    semihost(0x02, &file);
#endif
    semihost(0x18, (const void *)0x20026);
}
#endif

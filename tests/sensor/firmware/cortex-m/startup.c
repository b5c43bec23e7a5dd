/* The least a Cortex-M needs to reach main: vectors, .data, .bss, and the memset that compilers assume. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t data_source[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];
int main(void);

void *memset(void *to, int byte, size_t size)
{
    uint8_t *at = to;
    while (size-- > 0) {
        *at++ = (uint8_t)byte;
        __asm__ volatile("" : : : "memory"); /* or the compiler would see a memset */
    }
    return to;
}

__attribute__((naked)) long semihost(long operation, const void *argument)
{
    (void)operation;
    (void)argument;
    __asm__ volatile("bkpt 0xab\n bx lr");
}

static void stop(void)
{
    for (;;) {
    }
}

static void reset(void)
{
    uint32_t *from = data_source, *to;
    for (to = data_start; to < data_end; to++) {
        *to = *from++;
    }
    for (to = bss_start; to < bss_end; to++) {
        *to = 0;
    }
    main();
    stop();
}

struct vectors {
    const void *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {stack_top, {reset, stop, stop}};

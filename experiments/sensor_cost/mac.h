/* What every MAC that is compared has: a key of 16 bytes, bytes one at a time, 16 bytes of it at the end. */
#ifndef MAC_H
#define MAC_H
#include <stddef.h>
#include <stdint.h>

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define READ_8(address) pgm_read_byte(address)
#define READ_32(address) pgm_read_dword(address)
#else
#define FLASH
#define READ_8(address) (*(address))
#define READ_32(address) (*(address))
#endif

void mac_start(const uint8_t *key);
void mac_add(uint8_t byte);
void mac_finish(uint8_t *out);
#endif

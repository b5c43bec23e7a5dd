/* Functions that a program does not call cost nothing and warn of nothing. */
#if defined(__GNUC__)
#define QCKM_FUNCTION static __attribute__((unused))
#else
#define QCKM_FUNCTION static inline
#endif

/* Constant tables stay in flash. Only AVR, whose flash is another address space, has to be told. */
#if defined(__AVR__)
#include <avr/pgmspace.h>
#define QCKM_FLASH PROGMEM
#define QCKM_READ_8(address) pgm_read_byte(address)
#define QCKM_READ_16(address) pgm_read_word(address)
#define QCKM_READ_32(address) pgm_read_dword(address)
#else
#define QCKM_FLASH
#define QCKM_READ_8(address) (*(address))
#define QCKM_READ_16(address) (*(address))
#define QCKM_READ_32(address) (*(address))
#endif

/* ---- Self-test ---------------------------------------------------------------------------------------------------- */

/*
 * Encode rows whose bits are known, and compare the CRC of all of them. Returns 0 if all is well, else 1. The first row is
 * the least reading of every feature; the others are those of a linear congruential generator.
 */
QCKM_FUNCTION int qckm_self_test(void)
{
    int16_t row[QCKM_FEATURES];
    uint8_t bits[QCKM_BYTES];
    uint32_t x = 1, crc = 0;
    uint8_t number;
    size_t i;
    for (number = 0; number < QCKM_SELF_TESTS; number++) {
        for (i = 0; i < QCKM_FEATURES; i++) {
            x = x * UINT32_C(1664525) + UINT32_C(1013904223);
            row[i] = number == 0 ? INT16_MIN : (int16_t)((int32_t)(x >> 16) - INT32_C(32768));
        }
        crc = qckm_crc(crc, (uint8_t)qckm_encode(row, bits));
        for (i = 0; i < QCKM_BYTES; i++) {
            crc = qckm_crc(crc, bits[i]);
        }
    }
    return crc != QCKM_EXPECTED;
}

/* ---- Self-test ---------------------------------------------------------------------------------------------------- */

/*
 * Encode rows whose bits are known and compare. Returns 0 if all is well, else the number of the first row that was
 * wrong, from 1. Row 0 is the least reading of every feature; the others are those of a linear congruential generator.
 */
QCKM_FUNCTION int qckm_self_test(void)
{
    int16_t row[QCKM_FEATURES];
    uint8_t bits[QCKM_BYTES];
    uint32_t x = 1, crc;
    int number;
    size_t i;
    for (number = 0; number < QCKM_SELF_TESTS; number++) {
        for (i = 0; i < QCKM_FEATURES; i++) {
            x = x * UINT32_C(1664525) + UINT32_C(1013904223);
            row[i] = number == 0 ? INT16_MIN : (int16_t)((int32_t)(x >> 16) - INT32_C(32768));
        }
        crc = (uint32_t)qckm_encode(row, bits);
        for (i = 0; i < QCKM_BYTES; i++) {
            crc = qckm_crc(crc, bits[i]);
        }
        if (crc != (uint32_t)QCKM_READ_32(&qckm_expected[number])) {
            return number + 1;
        }
    }
    return 0;
}

/* ---- From a row to bits --------------------------------------------------------------------------------------- */

/* The code of one reading, counted from the origin; clipped to +-32767, and said so. */
QCKM_FUNCTION int16_t qckm_code(size_t k, int16_t reading, int *clipped)
{
    return qckm_clip((int32_t)reading - QCKM_ORIGIN_OF(k), clipped);
}

/* The measurements of frequency j: at its phase, and a quarter turn on. */
QCKM_FUNCTION void qckm_put_bits(uint8_t *bits, size_t j, uint32_t phase)
{
    bits[j >> 3] = (uint8_t)(bits[j >> 3] | qckm_bit(phase) << (j & 7u));
#if QCKM_PAIRED
    j += QCKM_FREQUENCIES;
    bits[j >> 3] = (uint8_t)(bits[j >> 3] | qckm_bit(phase + QCKM_QUARTER_TURN) << (j & 7u));
#endif
}

/*
 * Encode one row of QCKM_FEATURES readings, in steps, to QCKM_BYTES bytes of bits. Returns 1 if a reading had to be
 * clipped (count such rows: they are not what they seem), else 0.
 */
QCKM_FUNCTION int qckm_encode(const int16_t *row, uint8_t *bits)
{
    int16_t codes[QCKM_FEATURES];
    int clipped = 0;
    size_t i;
    for (i = 0; i < QCKM_FEATURES; i++) {
        codes[i] = qckm_code(i, row[i], &clipped);
    }
    for (i = 0; i < QCKM_BYTES; i++) {
        bits[i] = 0;
    }
    for (i = 0; i < QCKM_FREQUENCIES; i++) {
        qckm_put_bits(bits, i, qckm_phase(codes, i));
    }
    return clipped;
}

/* ---- Frequencies and dither, from tables ---------------------------------------------------------------------- */

QCKM_FUNCTION uint32_t qckm_dither_of(size_t j)
{
    return (uint32_t)QCKM_READ_32(&qckm_dither[j]);
}

QCKM_FUNCTION int16_t qckm_frequency(size_t j, size_t k)
{
    return (int16_t)QCKM_READ_16(&qckm_frequencies[j * QCKM_FEATURES + k]);
}

/* The phase of frequency j, in 2^24ths of a turn. What overflows is whole turns: 2^32 is a multiple of 2^24. */
QCKM_FUNCTION uint32_t qckm_phase(const int16_t *codes, size_t j)
{
    uint32_t phase = qckm_dither_of(j);
    size_t k;
    for (k = 0; k < QCKM_FEATURES; k++) {
        phase = qckm_turned(phase, codes[k], qckm_frequency(j, k));
    }
    return phase;
}

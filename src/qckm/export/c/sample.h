/* ---- One feature at a time: no row is ever held, only QCKM_FREQUENCIES phases ----------------------------------- */

typedef struct {
    uint32_t phases[QCKM_FREQUENCIES];
    int clipped;
} qckm_sample;

/* Start a row. */
QCKM_FUNCTION void qckm_sample_start(qckm_sample *sample)
{
    size_t j;
    for (j = 0; j < QCKM_FREQUENCIES; j++) {
        sample->phases[j] = qckm_dither_of(j);
    }
    sample->clipped = 0;
}

/* Take the reading of feature k, in steps: each feature once, in any order. */
QCKM_FUNCTION void qckm_sample_feature(qckm_sample *sample, size_t k, int16_t reading)
{
    const int16_t code = qckm_code(k, reading, &sample->clipped);
    size_t j;
    for (j = 0; j < QCKM_FREQUENCIES; j++) {
        sample->phases[j] = qckm_turned(sample->phases[j], code, qckm_frequency(j, k));
    }
}

/* The bits of the row, as qckm_encode gives them. Returns 1 if a reading had to be clipped, else 0. */
QCKM_FUNCTION int qckm_sample_bits(const qckm_sample *sample, uint8_t *bits)
{
    size_t i;
    for (i = 0; i < QCKM_BYTES; i++) {
        bits[i] = 0;
    }
    for (i = 0; i < QCKM_FREQUENCIES; i++) {
        qckm_put_bits(bits, i, sample->phases[i]);
    }
    return sample->clipped;
}

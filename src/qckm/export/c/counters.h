/* ---- Local counters: a sketch, summed up on the device ---------------------------------------------------------- */

typedef struct {
    uint32_t rows;
    uint32_t saturated;
    qckm_count ones[QCKM_MEASUREMENTS];
} qckm_counters;

/* Forget all rows. */
QCKM_FUNCTION void qckm_counters_clear(qckm_counters *counters)
{
    size_t i;
    counters->rows = 0;
    counters->saturated = 0;
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        counters->ones[i] = 0;
    }
}

/* Add the bits of one row. Returns 1, or 0 if the counters are full (QCKM_MOST_ROWS): send them first. */
QCKM_FUNCTION int qckm_counters_add_bits(qckm_counters *counters, const uint8_t *bits, int clipped)
{
    size_t i;
    if (counters->rows == QCKM_MOST_ROWS) {
        return 0;
    }
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        counters->ones[i] = (qckm_count)(counters->ones[i] + ((unsigned int)bits[i >> 3] >> (i & 7u) & 1u));
    }
    counters->rows++;
    counters->saturated += clipped ? 1u : 0u;
    return 1;
}

/* Add one row. Returns 1, or 0 if the counters are full (QCKM_MOST_ROWS): send them first. */
QCKM_FUNCTION int qckm_counters_add(qckm_counters *counters, const int16_t *row)
{
    uint8_t bits[QCKM_BYTES];
    const int clipped = qckm_encode(row, bits);
    return qckm_counters_add_bits(counters, bits, clipped);
}

/* The same for a row that came feature by feature. */
QCKM_FUNCTION int qckm_counters_add_sample(qckm_counters *counters, const qckm_sample *sample)
{
    uint8_t bits[QCKM_BYTES];
    const int clipped = qckm_sample_bits(sample, bits);
    return qckm_counters_add_bits(counters, bits, clipped);
}

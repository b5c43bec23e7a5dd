/* ---- Frequencies and dither, regenerated from the seed (qckm's docs/arithmetic.md, "Seeded frequencies") -------- */

#define QCKM_GOLDEN UINT32_C(0x9E3779B9)

QCKM_FUNCTION uint32_t qckm_mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * UINT32_C(0x045D9F3B);
    x = (x ^ (x >> 16)) * UINT32_C(0x045D9F3B);
    return x ^ (x >> 16);
}

/* Where the stream of frequency j starts. QCKM_ROOT is the mixed seed. */
QCKM_FUNCTION uint32_t qckm_stream(size_t j)
{
    return qckm_mix(QCKM_ROOT + (uint32_t)j * QCKM_GOLDEN);
}

/* A sum of four bytes, nearly Gaussian: -510 ... 510. */
QCKM_FUNCTION int16_t qckm_component(uint32_t *state)
{
    uint32_t word, pairs;
    *state += QCKM_GOLDEN;
    word = qckm_mix(*state);
    pairs = (word & UINT32_C(0x00FF00FF)) + ((word >> 8) & UINT32_C(0x00FF00FF));
    return (int16_t)((int16_t)((pairs & UINT32_C(0xFFFF)) + (pairs >> 16)) - 510);
}

#if QCKM_HINTED
/* How far the candidate that was kept lies behind the first one: the others need not be drawn. */
QCKM_FUNCTION uint32_t qckm_ahead(size_t j)
{
    return (uint32_t)QCKM_READ_8(&qckm_rejected[j]) * (QCKM_FEATURES * QCKM_GOLDEN);
}

QCKM_FUNCTION int qckm_keep(uint32_t squares)
{
    (void)squares;
    return 1;
}
#else
QCKM_FUNCTION uint32_t qckm_ahead(size_t j)
{
    (void)j;
    return 0;
}

/* Candidates are drawn until one lies in the shell. */
QCKM_FUNCTION int qckm_keep(uint32_t squares)
{
    return squares >= UINT32_C(15729) * QCKM_FEATURES && squares <= UINT32_C(29273) * QCKM_FEATURES;
}
#endif

/* (gain * g + 128) >> 8, rounded down; shifted where it cannot be negative, as C leaves open what that would mean. */
QCKM_FUNCTION int16_t qckm_scaled(int16_t component, size_t k)
{
    const int32_t offset = INT32_C(32768) * 256;
    const int32_t product = (int32_t)(int16_t)QCKM_READ_16(&qckm_gains[k]) * (int32_t)component;
    return (int16_t)((int32_t)((uint32_t)(product + offset + 128) >> 8) - INT32_C(32768));
}

QCKM_FUNCTION uint32_t qckm_dither_of(size_t j)
{
    return qckm_mix(qckm_stream(j) + QCKM_GOLDEN) >> 8;
}

/* One frequency's component, for those who see one feature at a time: those of the others are drawn, too. */
QCKM_FUNCTION int16_t qckm_frequency(size_t j, size_t k)
{
    uint32_t state = qckm_stream(j) + QCKM_GOLDEN + qckm_ahead(j), squares;
    int16_t wanted = 0;
    do {
        size_t i;
        squares = 0;
        for (i = 0; i < QCKM_FEATURES; i++) {
            const int16_t component = qckm_component(&state);
            squares += (uint32_t)((int32_t)component * (int32_t)component);
            wanted = i == k ? component : wanted;
        }
    } while (!qckm_keep(squares));
    return qckm_scaled(wanted, k);
}

/* The phase of frequency j, in 2^24ths of a turn; the sums of candidates that are not kept are forgotten. */
QCKM_FUNCTION uint32_t qckm_phase(const int16_t *codes, size_t j)
{
    uint32_t state = qckm_stream(j) + QCKM_GOLDEN, squares, phase;
    const uint32_t dither = qckm_mix(state) >> 8;
    state += qckm_ahead(j);
    do {
        size_t k;
        squares = 0;
        phase = dither;
        for (k = 0; k < QCKM_FEATURES; k++) {
            const int16_t component = qckm_component(&state);
            squares += (uint32_t)((int32_t)component * (int32_t)component);
            phase = qckm_turned(phase, codes[k], qckm_scaled(component, k));
        }
    } while (!qckm_keep(squares));
    return phase;
}

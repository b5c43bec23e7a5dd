/* ---- Frequencies and dither, made from a recipe (qckm's docs/arithmetic.md, "Frequencies from a recipe") -------- */

/* Philox4x32-10: counters become random words. The key is the seed. */
QCKM_FUNCTION void qckm_philox(uint32_t *words)
{
    uint32_t low = QCKM_SEED_LOW, high = QCKM_SEED_HIGH;
    int round;
    for (round = 0; round < 10; round++) {
        const uint64_t one = (uint64_t)words[0] * UINT32_C(0xD2511F53);
        const uint64_t two = (uint64_t)words[2] * UINT32_C(0xCD9E8D57);
        words[0] = (uint32_t)(two >> 32) ^ words[1] ^ low;
        words[1] = (uint32_t)two;
        words[2] = (uint32_t)(one >> 32) ^ words[3] ^ high;
        words[3] = (uint32_t)one;
        low += UINT32_C(0x9E3779B9);
        high += UINT32_C(0xBB67AE85);
    }
}

/* Block i of the four words of frequency j. */
QCKM_FUNCTION void qckm_words(uint32_t *words, size_t i, size_t j)
{
    words[0] = (uint32_t)i;
    words[1] = (uint32_t)j;
    words[2] = words[3] = 0;
    qckm_philox(words);
}

QCKM_FUNCTION uint32_t qckm_root(uint64_t square)
{
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    for (; bit != 0; bit >>= 2) {
        const uint64_t next = root + bit;
        root >>= 1;
        if (square >= next) {
            square -= next;
            root += bit;
        }
    }
    return (uint32_t)root;
}

/* x >> bits, rounded down: C leaves open what that is for negative numbers. */
QCKM_FUNCTION int64_t qckm_shifted(int64_t x, int bits)
{
    return x < 0 ? ~(~x >> bits) : x >> bits;
}

/* The size of a normal number in 4096ths: a cell of the half-normal law, and a place in it. */
QCKM_FUNCTION uint32_t qckm_size(uint32_t cell, uint32_t place, int bits)
{
    const uint32_t edge = QCKM_READ_16(&qckm_quantiles[cell]);
    return edge + ((QCKM_READ_16(&qckm_quantiles[cell + 1u]) - edge) * place >> bits);
}

/* The norm of a frequency in units of the rms, in 65536ths, after Wilson and Hilferty. */
QCKM_FUNCTION uint32_t qckm_norm(uint32_t word)
{
    const uint32_t size = qckm_size(word >> 23 & 255u, word >> 7 & UINT32_C(0xFFFF), 16);
    const int32_t spread = (int32_t)((size * QCKM_SPREAD + 2048u) >> 12);
    const int32_t root = (word >> 31) != 0 ? QCKM_CENTER - spread : QCKM_CENTER + spread;
    const uint32_t t = root < 4096 ? 4096u : (uint32_t)root;
    return (uint32_t)((uint64_t)t * qckm_root((uint64_t)t << 16) >> 16);
}

QCKM_FUNCTION uint32_t qckm_dither_of(size_t j)
{
#if QCKM_DITHERED
    uint32_t words[4];
    qckm_words(words, 0, j);
    return words[1] >> 8;
#else
    (void)j;
    return 0;
#endif
}

/* The codes of frequency j: normal numbers, which a common factor gives the norm. No other frequency is needed. */
QCKM_FUNCTION void qckm_make(size_t j, int16_t *frequency)
{
    const size_t octave = j / QCKM_BASE;
    const int64_t limit = QCKM_CODE_LIMIT >> (QCKM_OCTAVES - 1);
    uint32_t words[4], norm = 0;
    uint64_t squares = 0;
    int64_t factor;
    size_t k;
    for (k = 0; k < QCKM_FEATURES; k++) {
        const size_t half = k + 4u;
        uint32_t bits, size;
        if (k == 0 || half % 8u == 0) {
            qckm_words(words, half / 8u, j % QCKM_BASE);
            norm = k == 0 ? qckm_norm(words[0]) : norm;
        }
        bits = words[half / 2u % 4u] >> (half % 2u != 0 ? 16 : 0) & UINT32_C(0xFFFF);
        size = 2u * qckm_size(bits >> 7 & 255u, 2u * (bits & 127u) + 1u, 8) + 1u;
        frequency[k] = (int16_t)(bits >> 15 != 0 ? -(int32_t)size : (int32_t)size);
        squares += size * size;
    }
    factor = (int64_t)((uint64_t)norm * QCKM_WHOLE / qckm_root(squares << 14));
    for (k = 0; k < QCKM_FEATURES; k++) {
        const int64_t component = qckm_shifted(factor * frequency[k] + 4096, 13);
        const int64_t half = INT64_C(1) << (30 + QCKM_OCTAVES);
        int64_t code = qckm_shifted((int64_t)QCKM_GAIN_OF(k) * component + half, 31 + QCKM_OCTAVES);
        code = code > limit ? limit : code < -limit ? -limit : code;
        frequency[k] = (int16_t)(code * ((int64_t)1 << octave));
    }
}

/* One frequency's component, for those who see one feature at a time: those of the others are made, too. */
QCKM_FUNCTION int16_t qckm_frequency(size_t j, size_t k)
{
    int16_t frequency[QCKM_FEATURES];
    qckm_make(j, frequency);
    return frequency[k];
}

/* The phase of frequency j, in 2^24ths of a turn. What overflows is whole turns: 2^32 is a multiple of 2^24. */
QCKM_FUNCTION uint32_t qckm_phase(const int16_t *codes, size_t j)
{
    uint32_t phase = qckm_dither_of(j);
    int16_t frequency[QCKM_FEATURES];
    size_t k;
    qckm_make(j, frequency);
    for (k = 0; k < QCKM_FEATURES; k++) {
        phase = qckm_turned(phase, codes[k], frequency[k]);
    }
    return phase;
}

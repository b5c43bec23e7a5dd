/*
 * What becomes of phases in registers: bits are counted, cosines added, tables looked up. Counters are those of a panel:
 * at the phase, then, for paired dithers, a quarter turn on.
 */

/*
 * Count bit 23 of phases. The top bytes of the four rows of a tile share a vector, where both bits of a pair are counted.
 * A single bit is counted where it is, in units of 2^23, unless packing is cheap.
 */
QCKM_INLINE void count_bits(tile phases, int paired, words counters[2][QCKM_VECTORS])
{
    QCKM_UNROLL
    for (int v = 0; v < QCKM_VECTORS; v++) {
        if (!paired && !QCKM_PACKS_CHEAPLY) {
            QCKM_UNROLL
            for (int r = 0; r < QCKM_TILE_ROWS; r++) {
                counters[0][v] += phases[r][v] & (1u << (QCKM_TURN_BITS - 1));
            }
            continue;
        }
        const bytes tops = pack_rows(phases[0][v], phases[1][v], phases[2][v], phases[3][v]);
        counters[0][v] = count_negative(counters[0][v], tops);
        if (paired) {
            counters[1][v] = count_negative(counters[1][v], tops + 0x40);
        }
    }
}

/* The cosine of angles in 65536ths of a turn: arithmetic.h's polynomial, in 16-bit lanes. */
QCKM_INLINE shorts cosines_of(shorts angle)
{
    const shorts none = {0}, from_zero = 16384 - magnitude(angle), s = from_zero + from_zero;
    const shorts square = rounding_product(s, s);
    shorts p = rounding_product(square, QCKM_COSINE_7 - none) + QCKM_COSINE_5;
    p = rounding_product(square, p) + QCKM_COSINE_3;
    p = rounding_product(square, p) + QCKM_COSINE_1;
    return s + rounding_product(s, p);
}

/* Add the cosines of phases; two rows share a vector. */
QCKM_INLINE void add_cosines(tile phases, int paired, words counters[2][QCKM_VECTORS])
{
    QCKM_UNROLL
    for (int v = 0; v < QCKM_VECTORS; v++) {
        QCKM_UNROLL
        for (int r = 0; r < QCKM_TILE_ROWS; r += 2) {
            const shorts top = alternate((shorts)(phases[r][v] >> 8), (shorts)(phases[r + 1][v] << 8));
            const shorts angle = (top & -16) | 8; /* the middle of a 4096th of a turn */
            counters[0][v] = add_pairs(counters[0][v], cosines_of(angle));
            if (paired) {
                counters[1][v] = add_pairs(counters[1][v], cosines_of((shorts)((ushorts)angle + 16384)));
            }
        }
    }
}

/* Add what a table says. Number by number: gathers are slower on most CPUs. The table goes on for a quarter turn. */
QCKM_INLINE void add_from_table(tile phases, int paired, const int32_t *table, words counters[2][QCKM_VECTORS])
{
    uint32_t numbers[QCKM_TILE_ROWS][QCKM_WIDTH];
    int32_t found[2][QCKM_WIDTH];
    memcpy(numbers, phases, sizeof numbers);
    for (int j = 0; j < QCKM_WIDTH; j++) {
        int32_t here = 0, turned = 0;
        QCKM_UNROLL
        for (int r = 0; r < QCKM_TILE_ROWS; r++) {
            const int32_t *entry = table + qckm_part(numbers[r][j]);
            here += entry[0];
            turned += entry[1024];
        }
        found[0][j] = here;
        found[1][j] = turned;
    }
    for (int half = 0; half <= paired; half++) {
        for (int v = 0; v < QCKM_VECTORS; v++) {
            counters[half][v] += load(&found[half][v * QCKM_LANES]);
        }
    }
}

QCKM_INLINE void measure(int kind, int paired, tile phases, const int32_t *table, words counters[2][QCKM_VECTORS])
{
    if (kind == QCKM_BITS) {
        count_bits(phases, paired, counters);
    } else if (kind == QCKM_COSINES) {
        add_cosines(phases, paired, counters);
    } else {
        add_from_table(phases, paired, table, counters);
    }
}

/* Add a panel's counters to its sums, and clear them. */
QCKM_INLINE void drain(int kind, int paired, words counters[2][QCKM_VECTORS], int64_t *first, int64_t *second)
{
    for (int half = 0; half <= paired; half++) {
        int64_t *const sums = half ? second : first;
        for (int v = 0; v < QCKM_VECTORS; v++) {
            int32_t numbers[QCKM_LANES];
            const words found = counters[half][v];
            if (kind != QCKM_BITS) {
                store(numbers, found);
            } else if (paired || QCKM_PACKS_CHEAPLY) {
                store(numbers, counted(found));
            } else {
                store(numbers, found >> (QCKM_TURN_BITS - 1));
            }
            for (int lane = 0; lane < QCKM_LANES; lane++) {
                sums[v * QCKM_LANES + lane] += numbers[lane];
            }
            counters[half][v] = splat(0);
        }
    }
}

/* Write bit 23 of phases, packed, little bit first; consecutive rows are row_bytes apart. */
QCKM_INLINE void store_tile_bits(tile phases, int paired, uint8_t *first, uint8_t *second, int64_t row_bytes)
{
    for (int r = 0; r < QCKM_TILE_ROWS; r++) {
        for (int half = 0; half <= paired; half++) {
            uint64_t bits = 0;
            for (int v = 0; v < QCKM_VECTORS; v++) {
                const words turned = phases[r][v] + (half ? QCKM_QUARTER_TURN : 0u);
                bits |= (uint64_t)negative_lanes(turned << 8) << (v * QCKM_LANES);
            }
            QCKM_UNROLL
            for (int byte = 0; byte < QCKM_WIDTH / 8; byte++) {
                (half ? second : first)[r * row_bytes + byte] = (uint8_t)(bits >> (8 * byte));
            }
        }
    }
}

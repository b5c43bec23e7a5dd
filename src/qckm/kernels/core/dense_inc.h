/*
 * Dense frequencies: a tile of phases stays in registers over the whole loop over features. For each pair of them the
 * codes of four rows are broadcast, the frequencies of a panel loaded once, and a multiply-add does two products a lane.
 * No projection is written to memory.
 *
 * The frequencies of an octave are twice those of the one below, and so is the projection: that of the lowest is
 * shifted, and a dither of the octave's own added.
 */
INLINE void project(const qckm_kernel *kernel, const int16_t *codes, int64_t panel, const int32_t *dither, tile phases)
{
    const int64_t n = kernel->n, pairs = kernel->pairs;
    const int16_t *frequencies = kernel->frequencies + panel * pairs * 2 * WIDTH;
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const words start = dither ? load(dither + v * LANES) : splat(0);
        UNROLL
        for (int r = 0; r < QCKM_TILE_ROWS; r++) {
            phases[r][v] = start;
        }
    }
    for (int64_t k = 0; k < pairs; k++, frequencies += 2 * WIDTH) {
        shorts loaded[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            loaded[v] = (shorts)load(frequencies + 2 * v * LANES);
        }
        UNROLL
        for (int r = 0; r < QCKM_TILE_ROWS; r++) {
            const shorts pair = (shorts)splat(pair_at(codes + r * n + 2 * k));
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                phases[r][v] = multiply_add(phases[r][v], pair, loaded[v]);
            }
        }
    }
}

INLINE void sum_dense(const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, int64_t *sums)
{
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        int64_t *const first = sums + panel * WIDTH, *const second = first + kernel->width;
        words counters[2][VECTORS] = {{{0}}};
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            tile phases;
            project(kernel, codes + r * kernel->n, panel, kernel->dither + panel * WIDTH, phases);
            measure(kind, paired, phases, kernel->table, counters);
        }
        drain(kind, paired, counters, first, second);
    }
}

INLINE void sum_octaves(const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, int64_t *sums)
{
    const int octaves = (int)kernel->octaves;
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        words counters[QCKM_MOST_OCTAVES][2][VECTORS];
        memset(counters, 0, sizeof counters);
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            tile lowest;
            project(kernel, codes + r * kernel->n, panel, NULL, lowest);
            for (int octave = 0; octave < octaves; octave++) {
                const int32_t *dither = kernel->dither + (octave * kernel->panels + panel) * WIDTH;
                tile phases;
                UNROLL
                for (int t = 0; t < QCKM_TILE_ROWS; t++) {
                    UNROLL
                    for (int v = 0; v < VECTORS; v++) {
                        phases[t][v] = (lowest[t][v] << octave) + load(dither + v * LANES);
                    }
                }
                measure(kind, paired, phases, kernel->table, counters[octave]);
            }
        }
        for (int octave = 0; octave < octaves; octave++) {
            int64_t *const first = sums + (octave * kernel->panels + panel) * WIDTH;
            drain(kind, paired, counters[octave], first, first + kernel->width);
        }
    }
}

static void store_dense(const qckm_kernel *kernel, const int16_t *codes, int64_t rows, uint8_t *first, uint8_t *second,
    int64_t row_bytes)
{
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            const int64_t at = panel * (WIDTH / 8) + r * row_bytes;
            tile phases;
            project(kernel, codes + r * kernel->n, panel, kernel->dither + panel * WIDTH, phases);
            store_tile_bits(phases, kernel->paired, first + at, second + at, row_bytes);
        }
    }
}

/*
 * Dense frequencies: a tile of phases stays in registers over the whole loop over features. For each pair of them the
 * codes of four rows are broadcast, the frequencies of a panel loaded once, and a multiply-add does two products a lane.
 * No projection is written to memory.
 *
 * The frequencies of an octave are twice those of the one below, and so is the projection: that of the lowest is
 * shifted, and a dither of the octave's own added.
 */

/* Add the products of a pair of features; the first begins at the dither. */
QCKM_INLINE void project_pair(
    const int16_t *codes, int64_t n, const int16_t *frequencies, int first, const words *dither, tile phases)
{
    shorts loaded[QCKM_VECTORS];
    QCKM_UNROLL
    for (int v = 0; v < QCKM_VECTORS; v++) {
        loaded[v] = (shorts)load(frequencies + 2 * v * QCKM_LANES);
        QCKM_HOLD(loaded[v]);
    }
    QCKM_UNROLL
    for (int r = 0; r < QCKM_TILE_ROWS; r++) {
        const shorts pair = (shorts)splat(pair_at(codes + r * n));
        QCKM_UNROLL
        for (int v = 0; v < QCKM_VECTORS; v++) {
            phases[r][v] = multiply_add(first ? dither[v] : phases[r][v], pair, loaded[v]);
        }
    }
}

QCKM_INLINE void project(const qckm_kernel *kernel, const int16_t *codes, int64_t panel, const words *dither, tile phases)
{
    const int64_t n = kernel->n, pairs = kernel->pairs;
    const int16_t *frequencies = kernel->frequencies + panel * pairs * 2 * QCKM_WIDTH;
    project_pair(codes, n, frequencies, 1, dither, phases);
    for (int64_t k = 1; k < pairs; k++) {
        project_pair(codes + 2 * k, n, frequencies + k * 2 * QCKM_WIDTH, 0, dither, phases);
    }
}

QCKM_INLINE void load_panel(const int32_t *from, words vectors[QCKM_VECTORS])
{
    QCKM_UNROLL
    for (int v = 0; v < QCKM_VECTORS; v++) {
        vectors[v] = load(from + v * QCKM_LANES);
    }
}

QCKM_INLINE void sum_dense(const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, int64_t *sums)
{
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        int64_t *const first = sums + panel * QCKM_WIDTH, *const second = first + kernel->width;
        words counters[2][QCKM_VECTORS] = {{{0}}}, dither[QCKM_VECTORS];
        load_panel(kernel->dither + panel * QCKM_WIDTH, dither);
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            tile phases;
            project(kernel, codes + r * kernel->n, panel, dither, phases);
            measure(kind, paired, phases, kernel->table, counters);
        }
        drain(kind, paired, counters, first, second);
    }
}

QCKM_INLINE void sum_octaves(
    const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, int64_t *sums)
{
    const int octaves = (int)kernel->octaves;
    const words none[QCKM_VECTORS] = {{0}};
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        words counters[QCKM_MOST_OCTAVES][2][QCKM_VECTORS];
        memset(counters, 0, sizeof counters);
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            tile lowest;
            project(kernel, codes + r * kernel->n, panel, none, lowest);
            for (int octave = 0; octave < octaves; octave++) {
                const int32_t *dither = kernel->dither + (octave * kernel->panels + panel) * QCKM_WIDTH;
                tile phases;
                QCKM_UNROLL
                for (int t = 0; t < QCKM_TILE_ROWS; t++) {
                    QCKM_UNROLL
                    for (int v = 0; v < QCKM_VECTORS; v++) {
                        phases[t][v] = (lowest[t][v] << octave) + load(dither + v * QCKM_LANES);
                    }
                }
                measure(kind, paired, phases, kernel->table, counters[octave]);
            }
        }
        for (int octave = 0; octave < octaves; octave++) {
            int64_t *const first = sums + (octave * kernel->panels + panel) * QCKM_WIDTH;
            drain(kind, paired, counters[octave], first, first + kernel->width);
        }
    }
}

static void store_dense(const qckm_kernel *kernel, const int16_t *codes, int64_t rows, uint8_t *first, uint8_t *second,
    int64_t row_bytes)
{
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        words dither[QCKM_VECTORS];
        load_panel(kernel->dither + panel * QCKM_WIDTH, dither);
        for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
            const int64_t at = panel * (QCKM_WIDTH / 8) + r * row_bytes;
            tile phases;
            project(kernel, codes + r * kernel->n, panel, dither, phases);
            store_tile_bits(phases, kernel->paired, first + at, second + at, row_bytes);
        }
    }
}

/*
 * Structured frequencies: rows are transformed block by block, H S3 H S2 H S1, in int32 that wraps, then measured like
 * dense ones. One turn is 2^32 while phases are added up; their upper 24 bits are used (docs/arithmetic.md).
 *
 * Hadamard transforms are additions and subtractions only. Eight vectors at a time are transformed in registers: within
 * a vector by shuffles, between them by whole vectors. Other stages come three at a time, on vectors further apart.
 */
enum { GROUP = 8 * QCKM_LANES };

#if QCKM_LANES == 4
#define QCKM_ALL_LANES(f, d) f(0, d), f(1, d), f(2, d), f(3, d)
#elif QCKM_LANES == 8
#define QCKM_ALL_LANES(f, d) f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d)
#else
#define QCKM_ALL_LANES(f, d) \
    f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d), f(8, d), f(9, d), f(10, d), f(11, d), \
        f(12, d), f(13, d), f(14, d), f(15, d)
#endif
#define QCKM_PARTNER(lane, distance) (lane) ^ (distance)
#define QCKM_UPPER(lane, distance) (lane) & (distance) ? UINT32_MAX : 0
#if defined(__clang__)
#define QCKM_SHUFFLED(value, distance) __builtin_shufflevector(value, value, QCKM_ALL_LANES(QCKM_PARTNER, distance))
#else
#define QCKM_SHUFFLED(value, distance) __builtin_shuffle(value, (words){QCKM_ALL_LANES(QCKM_PARTNER, distance)})
#endif
/* Each lane meets the one whose number differs in one bit: their sum, or the lower less the upper one. */
#define QCKM_MEET(value, distance) \
    do { \
        const words upper = {QCKM_ALL_LANES(QCKM_UPPER, distance)}; \
        value = QCKM_SHUFFLED(value, distance) + ((value ^ upper) - upper); \
    } while (0)

/* Transform within a vector. */
QCKM_INLINE words transform_lanes(words value)
{
    QCKM_MEET(value, 1);
    QCKM_MEET(value, 2);
#if QCKM_LANES > 4
    QCKM_MEET(value, 4);
#endif
#if QCKM_LANES > 8
    QCKM_MEET(value, 8);
#endif
    return value;
}

/* Transform between vectors, two, four or eight of them. */
QCKM_INLINE void transform_vectors(words *values, int count)
{
    QCKM_UNROLL
    for (int distance = 1; distance < count; distance *= 2) {
        QCKM_UNROLL
        for (int low = 0; low < count; low++) {
            if (!(low & distance)) {
                const words a = values[low], b = values[low | distance];
                values[low] = a + b;
                values[low | distance] = a - b;
            }
        }
    }
}

QCKM_INLINE void store_group(words *values, int32_t *target)
{
    QCKM_UNROLL
    for (int v = 0; v < 8; v++) {
        values[v] = transform_lanes(values[v]);
    }
    transform_vectors(values, 8);
    QCKM_UNROLL
    for (int v = 0; v < 8; v++) {
        store(target + v * QCKM_LANES, values[v]);
    }
}

/* Some stages at once, on vectors that are so far apart. */
QCKM_INLINE void transform_apart(int32_t *start, int64_t distance, int count)
{
    words values[8];
    QCKM_UNROLL
    for (int v = 0; v < count; v++) {
        values[v] = load(start + v * distance);
    }
    transform_vectors(values, count);
    QCKM_UNROLL
    for (int v = 0; v < count; v++) {
        store(start + v * distance, values[v]);
    }
}

static void transform_groups(int32_t *values, int64_t size)
{
    for (int64_t distance = GROUP; distance < size;) {
        const int64_t left = size / distance, stride = distance * (left < 8 ? left : 8);
        for (int64_t start = 0; start < size; start += stride) {
            for (int64_t at = start; at < start + distance; at += QCKM_LANES) {
                if (left >= 8) {
                    transform_apart(values + at, distance, 8);
                } else if (left == 4) {
                    transform_apart(values + at, distance, 4);
                } else {
                    transform_apart(values + at, distance, 2);
                }
            }
        }
        distance = stride;
    }
}

/* One row's t = H S3 H S2 H (factors * codes), (size); factors are 0 from n on. */
static void transform_row(const qckm_kernel *kernel, int64_t block, const int16_t *codes, int32_t *values)
{
    const int64_t size = kernel->size;
    const int32_t *const factors = kernel->factors + block * size, *const flips = kernel->flips + 2 * block * size;
    for (int64_t k = 0; k < size; k += GROUP) {
        words group[8];
        QCKM_UNROLL
        for (int v = 0; v < 8; v++) {
            half_shorts narrow = {0};
            if (k < kernel->n) { /* past the last code are those of the next row: their factors are 0 */
                memcpy(&narrow, codes + k + v * QCKM_LANES, sizeof narrow);
            }
            group[v] = (words)__builtin_convertvector(narrow, ints) * load(factors + k + v * QCKM_LANES);
        }
        store_group(group, values + k);
    }
    transform_groups(values, size);
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t k = 0; k < size; k += GROUP) {
            words group[8];
            QCKM_UNROLL
            for (int v = 0; v < 8; v++) {
                const words flip = load(flips + turn * size + k + v * QCKM_LANES);
                group[v] = (load(values + k + v * QCKM_LANES) ^ flip) - flip;
            }
            store_group(group, values + k);
        }
        transform_groups(values, size);
    }
}

/* The phases of a panel: dither + radius * value, less the last 8 bits. A block's first panel transforms the rows. */
QCKM_INLINE void turn(const qckm_kernel *kernel, const int16_t *codes, int64_t panel, int32_t *values, tile phases)
{
    const int64_t at = panel * QCKM_WIDTH, inside = at % kernel->size;
    if (inside == 0) {
        for (int r = 0; r < QCKM_TILE_ROWS; r++) {
            transform_row(kernel, at / kernel->size, codes + r * kernel->n, values + r * kernel->size);
        }
    }
    QCKM_UNROLL
    for (int v = 0; v < QCKM_VECTORS; v++) {
        const words radius = load(kernel->radii + at + v * QCKM_LANES), start = load(kernel->dither + at + v * QCKM_LANES);
        QCKM_UNROLL
        for (int r = 0; r < QCKM_TILE_ROWS; r++) {
            const words value = load(values + r * kernel->size + inside + v * QCKM_LANES);
            phases[r][v] = (start + radius * value) >> 8;
        }
    }
}

/* Each panel has counters of its own, as all panels see each row: they lie behind the rows' values. */
QCKM_INLINE void sum_structured(
    const qckm_kernel *kernel, int kind, int paired, const int16_t *codes, int64_t rows, void *scratch, int64_t *sums)
{
    int32_t *const values = scratch;
    words(*counters)[2][QCKM_VECTORS] = (void *)(values + QCKM_TILE_ROWS * kernel->size);
    memset(counters, 0, (size_t)kernel->panels * sizeof *counters);
    for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
        for (int64_t panel = 0; panel < kernel->panels; panel++) {
            tile phases;
            turn(kernel, codes + r * kernel->n, panel, values, phases);
            measure(kind, paired, phases, kernel->table, counters[panel]);
        }
    }
    for (int64_t panel = 0; panel < kernel->panels; panel++) {
        drain(kind, paired, counters[panel], sums + panel * QCKM_WIDTH, sums + kernel->width + panel * QCKM_WIDTH);
    }
}

static void store_structured(const qckm_kernel *kernel, const int16_t *codes, int64_t rows, void *scratch,
    uint8_t *first, uint8_t *second, int64_t row_bytes)
{
    for (int64_t r = 0; r < rows; r += QCKM_TILE_ROWS) {
        for (int64_t panel = 0; panel < kernel->panels; panel++) {
            const int64_t at = panel * (QCKM_WIDTH / 8) + r * row_bytes;
            tile phases;
            turn(kernel, codes + r * kernel->n, panel, scratch, phases);
            store_tile_bits(phases, kernel->paired, first + at, second + at, row_bytes);
        }
    }
}

/*
 * Which rows a sample may hold (planning/row_sample.py): each row is hashed and counted, and chosen if its hash, or that shifted
 * by its level, is within a limit, or if it is frequent.
 */

enum { SAMPLE_TABLES = 4, SAMPLE_BITS = 15, SAMPLE_MOST_LEVEL = 40 };

/* The last step of splitmix64. */
QCKM_INLINE uint64_t mixed(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

/* The places of a hash in the tables, of SAMPLE_BITS bits each. */
QCKM_INLINE uint64_t places_of(uint64_t hash)
{
    return mixed(hash ^ UINT64_C(0xD6E8FEB86659FD93));
}

QCKM_INLINE double *place_in(double *table, int64_t number, uint64_t places)
{
    const uint64_t place = places >> (number * SAMPLE_BITS) & ((UINT64_C(1) << SAMPLE_BITS) - 1);
    return table + (number << SAMPLE_BITS) + place;
}

/* Add a column of a tile to the hashes and squared distances of its rows. */
QCKM_INLINE void add_column(const double *restrict column, uint64_t factor, double center, double scale,
    uint64_t *restrict hashes, double *restrict squares)
{
    for (int t = 0; t < TILE; t++) {
        const double value = column[t] + 0.0, off = (value - center) * scale; /* -0.0 becomes 0.0 */
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        hashes[t] += (bits ^ (bits >> 32)) * factor;
        squares[t] += off * off;
    }
}

/* Whether a row of a tile is finite: one whose square is finite is. */
static int is_finite_in(const double *tile, int64_t n, int64_t t)
{
    int finite = 1;
    for (int64_t j = 0; j < n; j++) {
        finite &= isfinite(tile[j * TILE + t]) != 0;
    }
    return finite;
}

/* Hash and count the rows; then, when all are counted, choose. */
static int screen(const qckm_rows *rows, qckm_screening *screening)
{
    const int64_t n = screening->n;
    double *tile = allocate(n * TILE), squares[TILE];
    uint64_t sums[TILE];
    if (!tile) {
        return QCKM_NO_MEMORY;
    }
    memset(tile, 0, (size_t)(n * TILE) * sizeof(double));
    for (int64_t start = 0; start < rows->rows; start += TILE) {
        const int64_t height = least(TILE, rows->rows - start);
        copy_rows(rows, n, start, height, tile);
        for (int t = 0; t < TILE; t++) {
            sums[t] = screening->multipliers[0];
            squares[t] = 0;
        }
        for (int64_t j = 0; j < n; j++) {
            add_column(tile + j * TILE, screening->multipliers[1 + j], screening->center[j], screening->factors[j], sums,
                squares);
        }
        for (int64_t t = 0; t < height; t++) {
            const double weight = screening->weights ? screening->weights[start + t] : 1;
            const double square = 1 + (squares[t] <= screening->beyond ? squares[t] : 0);
            const uint64_t hash = mixed(sums[t]), places = places_of(hash);
            uint64_t bits;
            memcpy(&bits, &square, sizeof bits);
            const int64_t level = least((int64_t)(bits >> 52) - 1023, SAMPLE_MOST_LEVEL);
            const int counts = weight > 0 && (squares[t] <= DBL_MAX || is_finite_in(tile, n, t));
            const int within = hash <= (uint64_t)screening->limit || hash >> level <= (uint64_t)screening->key_limit;
            screening->hashes[start + t] = hash;
            screening->chosen[start + t] = (uint8_t)(counts ? 1 + within : 0);
            for (int64_t number = 0; counts && number < SAMPLE_TABLES; number++) {
                *place_in(screening->table, number, places) += weight;
            }
            screening->total += counts ? weight : 0;
        }
    }
    const double bar = screening->share * screening->total;
    int64_t place = 0;
    while (place < INT64_C(1) << SAMPLE_BITS && !(screening->table[place] >= bar)) {
        place++;
    }
    const int none = place == INT64_C(1) << SAMPLE_BITS; /* as in most data: no row is frequent */
    for (int64_t row = 0; row < rows->rows; row++) {
        if (none || screening->chosen[row] != 1) {
            screening->chosen[row] >>= 1;
            continue;
        }
        const uint64_t places = places_of(screening->hashes[row]);
        int often = 1;
        for (int64_t number = 0; often && number < SAMPLE_TABLES; number++) {
            often = *place_in(screening->table, number, places) >= bar;
        }
        screening->chosen[row] = (uint8_t)often;
    }
    free(tile);
    return 0;
}

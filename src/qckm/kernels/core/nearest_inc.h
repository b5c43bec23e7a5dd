/*
 * The nearest centroid of each row, by differences: no digits are lost to a large offset, and nothing is copied.
 *
 * Rows stand side by side in a tile, so that a centroid is compared with all of them in vector instructions.
 */

enum { TILE = 256 }; /* rows: a tile of ten features is within the first-level cache */

#define QCKM_COPY(name, type) \
    case name: \
        for (int64_t t = 0; t < height; t++) { \
            for (int64_t j = 0; j < n; j++) { \
                type value; \
                memcpy(&value, from + t * rows->row_bytes + j * rows->feature_bytes, sizeof value); \
                tile[j * TILE + t] = (double)value; \
            } \
        } \
        break;

/* Copy rows from `first` on into the columns of a tile. */
static void copy_rows(const qckm_rows *rows, int64_t n, int64_t first, int64_t height, double *restrict tile)
{
    const char *from = rows->data + first * rows->row_bytes;
    switch (rows->number) {
        QCKM_COPY(QCKM_FLOAT32, float)
        QCKM_COPY(QCKM_FLOAT64, double)
        QCKM_COPY(QCKM_INT8, int8_t)
        QCKM_COPY(QCKM_UINT8, uint8_t)
        QCKM_COPY(QCKM_INT16, int16_t)
        QCKM_COPY(QCKM_UINT16, uint16_t)
        QCKM_COPY(QCKM_INT32, int32_t)
        QCKM_COPY(QCKM_UINT32, uint32_t)
        QCKM_COPY(QCKM_INT64, int64_t)
        QCKM_COPY(QCKM_UINT64, uint64_t)
    }
}

/* Add squared differences of a few features of all rows of a tile to those of a centroid. */
QCKM_INLINE void add_squares(double *restrict total, const double *restrict tile, const double *restrict center, int features)
{
    for (int t = 0; t < TILE; t++) {
        double sum = 0;
        QCKM_UNROLL
        for (int j = 0; j < features; j++) {
            const double off = tile[j * TILE + t] - center[j];
            sum += off * off;
        }
        total[t] += sum;
    }
}

/* Fill in labels and squared distances; return whether a row is at no finite distance from anything, as NaN is. */
static int nearest(
    const qckm_rows *rows, int64_t n, const double *centers, int64_t K, int32_t *labels, double *squares)
{
    double *tile = allocate(n * TILE), best[TILE], found[TILE], total[TILE];
    int lost = 0;
    if (!tile) {
        return QCKM_NO_MEMORY;
    }
    memset(tile, 0, (size_t)(n * TILE) * sizeof(double));
    for (int64_t start = 0; start < rows->rows; start += TILE) {
        const int64_t height = least(TILE, rows->rows - start);
        copy_rows(rows, n, start, height, tile);
        for (int t = 0; t < TILE; t++) {
            best[t] = (double)INFINITY;
            found[t] = 0;
        }
        for (int64_t k = 0; k < K; k++) {
            memset(total, 0, sizeof total);
            int64_t j = 0;
            for (; j + 4 <= n; j += 4) {
                add_squares(total, tile + j * TILE, centers + k * n + j, 4);
            }
            for (; j < n; j++) {
                add_squares(total, tile + j * TILE, centers + k * n + j, 1);
            }
            for (int t = 0; t < TILE; t++) {
                const int nearer = total[t] < best[t];
                best[t] = nearer ? total[t] : best[t];
                found[t] = nearer ? (double)k : found[t];
            }
        }
        for (int64_t t = 0; t < height; t++) {
            labels[start + t] = (int32_t)found[t];
            squares[start + t] = best[t];
            lost |= !(best[t] < (double)INFINITY);
        }
    }
    free(tile);
    return lost;
}

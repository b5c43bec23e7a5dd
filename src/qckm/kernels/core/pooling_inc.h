/*
 * Bits by their position in a row, counted over many rows. Fifteen rows go through full adders, bitwise, to the four
 * binary digits of their counts; each digit's bit is masked out and added to counters of one byte, which count 255 rows.
 */
enum { BITS_ROWS = 255, TOGETHER = 15 };

/* Add bits vertically: from 15 vectors, which are used up, to the 4 binary digits of their counts. */
QCKM_INLINE void add_up(bytes *rows, bytes *digits)
{
    int count = TOGETHER;
    QCKM_UNROLL
    for (int d = 0; d < 4; d++) {
        int carries = 0;
        QCKM_UNROLL
        for (int i = 1; i + 1 < count; i += 2) {
            const bytes odd = rows[0] ^ rows[i], both = (rows[0] & rows[i]) | (odd & rows[i + 1]);
            rows[0] = odd ^ rows[i + 1];
            rows[1 + carries++] = both; /* a place that was read already */
        }
        digits[d] = rows[0];
        QCKM_UNROLL
        for (int i = 0; i < carries; i++) {
            rows[i] = rows[i + 1];
        }
        count = carries;
    }
}

/* Add bit b of each digit, moved to where it counts. Shifts of 16 bits do: what crosses a byte is masked away. */
QCKM_INLINE void count_digits(const bytes *digits, int n_digits, bytes *counters)
{
    QCKM_UNROLL
    for (int b = 0; b < 8; b++) {
        bytes count = counters[b];
        QCKM_UNROLL
        for (int d = 0; d < n_digits; d++) {
            const ushorts moved = b > d ? (ushorts)digits[d] >> (b - d) : (ushorts)digits[d] << (d - b);
            count += (bytes)moved & (uint8_t)(1 << d);
        }
        counters[b] = count;
    }
}

/* Count rows of whole vectors at a time; the last vector of a row overlaps the one before, whose bits it masks. */
static void count_positions(
    const uint8_t *bits, int64_t row_bytes, int64_t rows, int64_t width, void *scratch, int64_t *counts)
{
    bytes(*counters)[8] = scratch;
    const int64_t n_vectors = (width + QCKM_VECTOR_BYTES - 1) / QCKM_VECTOR_BYTES;
    for (int64_t start = 0; start < rows; start += BITS_ROWS) {
        const int64_t height = rows - start < BITS_ROWS ? rows - start : BITS_ROWS;
        memset(counters, 0, (size_t)n_vectors * sizeof *counters);
        for (int64_t r = 0; r < height;) {
            const int together = height - r >= TOGETHER ? TOGETHER : 1;
            for (int64_t c = 0; c < n_vectors; c++) {
                const int64_t at = c * QCKM_VECTOR_BYTES;
                const size_t length = width - at < QCKM_VECTOR_BYTES ? (size_t)(width - at) : QCKM_VECTOR_BYTES;
                bytes held[TOGETHER] = {{0}}, digits[4];
                for (int i = 0; i < together; i++) {
                    const uint8_t *from = bits + (start + r + i) * row_bytes + at;
                    if (length == QCKM_VECTOR_BYTES) {
                        memcpy(&held[i], from, QCKM_VECTOR_BYTES);
                    } else {
                        memcpy(&held[i], from, length);
                    }
                }
                if (together == 1) {
                    count_digits(held, 1, counters[c]);
                } else {
                    add_up(held, digits);
                    count_digits(digits, 4, counters[c]);
                }
            }
            r += together;
        }
        for (int64_t byte = 0; byte < width; byte++) {
            for (int b = 0; b < 8; b++) {
                counts[8 * byte + b] += counters[byte / QCKM_VECTOR_BYTES][b][byte % QCKM_VECTOR_BYTES];
            }
        }
    }
}

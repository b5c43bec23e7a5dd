/*
 * Products of a matrix of signs, one bit each, with vectors of doubles: exact sums of integers, so that they do not depend on
 * the instruction set, on threads, or on how either shares out the work.
 *
 * A vector becomes int32, all its numbers times one power of two, so large that the sum of any SIGN_COLUMNS of them fits. What
 * a few neighbouring columns can add up to, whatever their signs, is looked up in a table by the bits themselves: with
 * AVX-512 by four of them, 16 rows at a time, with AVX2 by three, 8 rows at a time, elsewhere by eight, row by row.
 */
enum {
    SIGN_COLUMNS = 256, /* that share an int32 sum: their tables are within the first-level cache */
    SIGN_WORDS = SIGN_COLUMNS / 32,
    SIGN_ROWS = 16, /* whose words stand side by side; rows and columns are filled up to twice as many */
    SIGN_BLOCK = 2 * SIGN_ROWS
};

/* How a vector becomes integers; where one of its numbers is not finite it does not, and all its products are NaN. */
typedef struct {
    double scale, back; /* a power of two, and its inverse */
    int finite;
} fixed_point;

static int64_t blocks_of(int64_t count)
{
    return (count + SIGN_BLOCK - 1) / SIGN_BLOCK;
}

/* The power of two that makes integers of a vector: the largest at which the sums of all blocks are within 2^30, and roundings. */
static fixed_point fix(const double *vector, int64_t size)
{
    int64_t most = 0, heaviest = 0;
    for (int64_t j = 0; j < size; j++) {
        const int64_t bits = bits_of(vector[j]) & INT64_MAX; /* in the order of sizes */
        most = bits > most ? bits : most;
    }
    const int exponent = (int)(most >> 52) - 1022; /* all sizes are below 2^exponent */
    if (exponent > 1024) {
        return (fixed_point){0, (double)NAN, 0};
    }
    int power = 31 - exponent < 1000 ? 31 - exponent : 1000; /* of numbers near the least there is, less is left */
    const double scale = ldexp(1, power);
    for (int64_t start = 0; start < size; start += SIGN_COLUMNS) {
        const int64_t end = least(start + SIGN_COLUMNS, size);
        int64_t sum = 0;
        for (int64_t j = start; j < end; j++) {
            sum += rounded(fabs(vector[j]) * scale);
        }
        heaviest = sum > heaviest ? sum : heaviest;
    }
    for (; heaviest >> 30; heaviest >>= 1) {
        power--;
    }
    return (fixed_point){ldexp(1, power), ldexp(1, -power), 1};
}

/* The integers of a block of columns, filled up with 0. */
static void take_integers(const double *vector, int64_t count, const fixed_point *as, int32_t *integers)
{
    memset(integers, 0, SIGN_COLUMNS * sizeof *integers);
    for (int64_t j = 0; as->finite && j < count; j++) {
        integers[j] = (int32_t)rounded(vector[j] * as->scale);
    }
}

#if defined(__AVX512F__)
enum { SIGN_BITS = 4, SIGN_VECTORS = 2 }; /* multiplied at a time, as long as all tables fit the cache */
typedef __m512i sign_sums; /* of 16 rows */
QCKM_INLINE sign_sums look_up(sign_sums table, sign_sums bits)
{
    return _mm512_permutexvar_epi32(bits, table);
}
QCKM_INLINE sign_sums next_bits(sign_sums bits)
{
    return _mm512_srli_epi32(bits, SIGN_BITS);
}
QCKM_INLINE sign_sums add_sums(sign_sums a, sign_sums b)
{
    return _mm512_add_epi32(a, b);
}
#elif defined(__AVX2__)
enum { SIGN_BITS = 3, SIGN_VECTORS = 2 };
typedef __m256i sign_sums; /* of 8 rows */
QCKM_INLINE sign_sums look_up(sign_sums table, sign_sums bits)
{
    return _mm256_permutevar8x32_epi32(table, bits);
}
QCKM_INLINE sign_sums next_bits(sign_sums bits)
{
    return _mm256_srli_epi32(bits, SIGN_BITS);
}
QCKM_INLINE sign_sums add_sums(sign_sums a, sign_sums b)
{
    return _mm256_add_epi32(a, b);
}
#else
enum { SIGN_BITS = 8, SIGN_VECTORS = 1 };
#endif
enum {
    SIGN_LOOKUPS = (32 + SIGN_BITS - 1) / SIGN_BITS, /* of a word; the last may have fewer bits */
    SIGN_ENTRIES = 1 << SIGN_BITS
};
typedef int32_t sign_table[SIGN_WORDS * SIGN_LOOKUPS][SIGN_ENTRIES];

/* What the columns of each lookup add up to: -1 times a number where its bit is 1. */
static void make_tables(const int32_t *integers, sign_table tables)
{
    for (int word = 0; word < SIGN_WORDS; word++) {
        for (int lookup = 0; lookup < SIGN_LOOKUPS; lookup++) {
            const int32_t *numbers = integers + 32 * word + SIGN_BITS * lookup;
            int32_t *restrict table = tables[word * SIGN_LOOKUPS + lookup];
            const int bits = 32 - SIGN_BITS * lookup < SIGN_BITS ? 32 - SIGN_BITS * lookup : SIGN_BITS;
            table[0] = 0;
            for (int bit = 0; bit < bits; bit++) {
                table[0] += numbers[bit];
            }
            for (int bit = 0; bit < SIGN_BITS; bit++) { /* what is beyond the word is 0 there, and asked for by nobody */
                const int32_t number = bit < bits ? numbers[bit] : 0;
                for (int entry = 0; entry < 1 << bit; entry++) {
                    table[(1 << bit) + entry] = table[entry] - number - number;
                }
            }
        }
    }
}

/*
 * Add what a block of columns gives to SIGN_BLOCK rows, for one vector or more, whose sums are `padded` apart. A group of rows
 * begins every `apart` words.
 */
QCKM_INLINE void add_signs(const uint32_t *words, int64_t apart, int64_t count, const sign_table *tables, int vectors, double *to,
    int64_t padded)
{
#if defined(__AVX2__)
    enum { ACROSS = (int)(sizeof(sign_sums) / sizeof(int32_t)), PARTS = SIGN_BLOCK / ACROSS, EACH = SIGN_ROWS / ACROSS };
    sign_sums sums[PARTS][SIGN_VECTORS], index[PARTS];
    memset(sums, 0, sizeof sums);
    for (int64_t word = 0; word < count; word++) {
        QCKM_UNROLL
        for (int part = 0; part < PARTS; part++) {
            memcpy(&index[part], words + part / EACH * apart + word * SIGN_ROWS + part % EACH * ACROSS, sizeof *index);
        }
        QCKM_UNROLL
        for (int lookup = 0; lookup < SIGN_LOOKUPS; lookup++) {
            sign_sums table[SIGN_VECTORS];
            QCKM_UNROLL
            for (int v = 0; v < vectors; v++) {
                memcpy(&table[v], tables[v][word * SIGN_LOOKUPS + lookup], sizeof *table);
            }
            QCKM_UNROLL
            for (int part = 0; part < PARTS; part++) {
                QCKM_UNROLL
                for (int v = 0; v < vectors; v++) {
                    sums[part][v] = add_sums(sums[part][v], look_up(table[v], index[part]));
                }
                index[part] = next_bits(index[part]);
            }
        }
    }
    for (int v = 0; v < vectors; v++) {
        int32_t found[SIGN_BLOCK];
        for (int part = 0; part < PARTS; part++) {
            memcpy(found + part * ACROSS, &sums[part][v], sizeof **sums);
        }
        for (int row = 0; row < SIGN_BLOCK; row++) {
            to[v * padded + row] += found[row];
        }
    }
#else
    for (int v = 0; v < vectors; v++) {
        for (int row = 0; row < SIGN_BLOCK; row++) {
            const uint32_t *own = words + row / SIGN_ROWS * apart + row % SIGN_ROWS;
            int32_t sum = 0, other = 0;
            for (int64_t word = 0; word < count; word++) {
                const uint32_t signs = own[word * SIGN_ROWS];
                const int32_t(*table)[SIGN_ENTRIES] = &tables[v][word * SIGN_LOOKUPS];
                sum += table[0][signs & 255] + table[1][signs >> 8 & 255];
                other += table[2][signs >> 16 & 255] + table[3][signs >> 24];
            }
            to[v * padded + row] += sum + other;
        }
    }
#endif
}

/* The products of some rows of signs, (last - first), with vectors: sums of integers below 2^53, exact in doubles too. */
static int multiply_signs(const qckm_signs *signs, const qckm_products *products)
{
    const int64_t words = blocks_of(signs->columns), first = products->first, height = products->last - first;
    const int64_t blocks = blocks_of(height), padded = blocks * SIGN_BLOCK, apart = words * SIGN_ROWS;
    double *sums = allocate(SIGN_VECTORS * padded);
    sign_table *tables = malloc(SIGN_VECTORS * sizeof *tables);
    int32_t integers[SIGN_COLUMNS];
    if (!sums || !tables) {
        free(sums);
        free(tables);
        return QCKM_NO_MEMORY;
    }
    for (int64_t v = 0, taken; v < products->count; v += taken) {
        const double *vectors = products->vectors + v * signs->columns;
        fixed_point as[SIGN_VECTORS];
        taken = least(SIGN_VECTORS, products->count - v);
        memset(sums, 0, (size_t)(SIGN_VECTORS * padded) * sizeof *sums);
        for (int64_t i = 0; i < taken; i++) {
            as[i] = fix(vectors + i * signs->columns, signs->columns);
        }
        for (int64_t start = 0; start < signs->columns; start += SIGN_COLUMNS) {
            const int64_t count = least(SIGN_COLUMNS, signs->columns - start);
            for (int64_t i = 0; i < taken; i++) {
                take_integers(vectors + i * signs->columns + start, count, &as[i], integers);
                make_tables(integers, tables[i]);
            }
            for (int64_t block = 0; block < blocks; block++) {
                const uint32_t *at = signs->words + (first / SIGN_BLOCK + block) * 2 * apart + start / 32 * SIGN_ROWS;
                double *const to = sums + block * SIGN_BLOCK;
                if (taken == SIGN_VECTORS) {
                    add_signs(at, apart, blocks_of(count), tables, SIGN_VECTORS, to, padded);
                } else {
                    add_signs(at, apart, blocks_of(count), tables, 1, to, padded);
                }
            }
        }
        for (int64_t i = 0; i < taken; i++) {
            for (int64_t row = 0; row < height; row++) {
                products->out[(v + i) * signs->rows + first + row] = as[i].back * sums[i * padded + row];
            }
        }
    }
    free(sums);
    free(tables);
    return 0;
}

/* Blocks of 32 x 32 bits, SIGN_ROWS of them at a time, each turned about its diagonal. */
static void transpose_blocks(uint32_t words[32][SIGN_ROWS])
{
    uint32_t low = 0x0000FFFF;
    for (int apart = 16; apart; apart >>= 1, low ^= low << apart) {
        for (int k = 0; k < 32; k = (k + apart + 1) & ~apart) {
            for (int lane = 0; lane < SIGN_ROWS; lane++) {
                const uint32_t swapped = (words[k][lane] >> apart ^ words[k + apart][lane]) & low;
                words[k][lane] ^= swapped << apart;
                words[k + apart][lane] ^= swapped;
            }
        }
    }
}

/* Up to four bytes of a row, the lowest first. */
QCKM_INLINE uint32_t word_at(const uint8_t *row, int64_t bytes)
{
    uint32_t word = 0;
    if (bytes >= 4) {
        return (uint32_t)row[0] | (uint32_t)row[1] << 8 | (uint32_t)row[2] << 16 | (uint32_t)row[3] << 24;
    }
    for (int64_t i = 0; i < bytes; i++) {
        word |= (uint32_t)row[i] << 8 * i;
    }
    return word;
}

/* Bits of rows to signs, by rows and by columns; SIGN_BLOCK rows at a time go through all of it. */
static int pack_signs(const qckm_packing *packing)
{
    enum { AT_ONCE = 32 * SIGN_ROWS }; /* columns */
    const int64_t row_words = blocks_of(packing->columns), column_words = blocks_of(packing->rows);
    const int64_t width = (packing->measured + 7) / 8, all = (packing->measured + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    const int64_t chosen = (packing->columns + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    uint32_t *by_measurement = malloc((size_t)(all + chosen) * sizeof *by_measurement), *wanted = by_measurement + all;
    uint32_t words[32][SIGN_ROWS];
    if (!by_measurement) {
        return QCKM_NO_MEMORY;
    }
    for (int64_t block = 0; block < column_words; block++) {
        const int64_t height = least(32, packing->rows - 32 * block);
        for (int64_t start = 0; start < all; start += AT_ONCE) {
            memset(words, 0, sizeof words);
            for (int64_t row = 0; row < height; row++) {
                const uint8_t *bits = packing->bits + (32 * block + row) * packing->row_bytes;
                for (int64_t lane = 0, at = start / 8; lane < SIGN_ROWS && at < width; lane++, at += 4) {
                    words[row][lane] = word_at(bits + at, width - at);
                }
            }
            transpose_blocks(words);
            for (int bit = 0; bit < 32; bit++) {
                for (int lane = 0; lane < SIGN_ROWS; lane++) {
                    by_measurement[start + 32 * lane + bit] = words[bit][lane];
                }
            }
        }
        memset(wanted, 0, (size_t)chosen * sizeof *wanted);
        for (int64_t j = 0; j < packing->columns; j++) {
            wanted[j] = by_measurement[packing->which ? packing->which[j] : j];
        }
        for (int64_t j = 0; j < SIGN_BLOCK * row_words; j++) {
            packing->by_columns[(j / SIGN_ROWS * column_words + block) * SIGN_ROWS + j % SIGN_ROWS] = wanted[j];
        }
        for (int64_t start = 0; start < chosen; start += AT_ONCE) {
            for (int bit = 0; bit < 32; bit++) {
                for (int lane = 0; lane < SIGN_ROWS; lane++) {
                    words[bit][lane] = wanted[start + 32 * lane + bit];
                }
            }
            transpose_blocks(words);
            for (int64_t lane = 0, word = start / 32; lane < SIGN_ROWS && word < row_words; lane++, word++) {
                for (int row = 0; row < 32; row++) {
                    packing->by_rows[((2 * block + row / SIGN_ROWS) * row_words + word) * SIGN_ROWS + row % SIGN_ROWS] =
                        words[row][lane];
                }
            }
        }
    }
    free(by_measurement);
    return 0;
}

/*
 * Sums of codes and of their products, column by column: Q'Q of rows Q (rows, n), and what a column of ones gives with it.
 *
 * Two rows at a time are laid out as frequencies are: for a block of QCKM_LANES columns, the codes of both rows in each lane. A
 * multiply-add with a pair of codes of one column, in all lanes, then adds both products. Sums stay in int32 lanes as long
 * as they cannot overflow, whatever the codes: for so many rows that rows * largest^2 < 2^31. Where these are few, a code is
 * split into 128 h + l, both small, and multiplied twice: 64 rows always fit then.
 *
 * Only columns up to the block's last are multiplied with a block: the matrix is symmetric.
 */
enum {
    PRODUCT_HEIGHT = QCKM_VECTORS == 4 ? QCKM_PRODUCT_HEIGHT : 8, /* sums at a time, as registers are there */
    FEW_ROWS = 16, /* to add up before sums would overflow: with fewer, to split codes is faster */
    LOW_BITS = 7,
    INTERLEAVED = QCKM_PAIR_PLACE(0, 1) == 1
};

typedef uint16_t half_ushorts __attribute__((vector_size(QCKM_VECTOR_BYTES / 2)));

/* Lay out two rows: blocks of columns, and, where these are not pairs of codes already, such pairs. */
QCKM_INLINE void lay_out_pair(const int16_t *first, const int16_t *second, int64_t n, int16_t *blocks, int32_t *pairs)
{
    /* What is read past a row is in lanes that nobody asks for. */
    for (int64_t k = 0; k < n; k += QCKM_LANES, blocks += 2 * QCKM_LANES) {
        half_ushorts a, b;
        memcpy(&a, first + k, sizeof a);
        memcpy(&b, second + k, sizeof b);
        if (INTERLEAVED) {
            store(blocks, __builtin_convertvector(a, words) | __builtin_convertvector(b, words) << 16);
        } else {
            memcpy(blocks, &a, sizeof a);
            memcpy(blocks + QCKM_LANES, &b, sizeof b);
        }
    }
    for (int64_t k = 0; !INTERLEAVED && k < n; k++) {
        pairs[k] = (int32_t)((uint32_t)(uint16_t)first[k] | (uint32_t)(uint16_t)second[k] << 16);
    }
}

/*
 * Add the products of `height` columns, from the first of `pairs` on, with a block of columns over all pairs of rows; and the
 * sums of the block's columns, where they are asked for. Products count 2^shift each.
 */
QCKM_INLINE void multiply_columns(
    const int16_t *block, int64_t block_step, const int32_t *pairs, int64_t pairs_step, int64_t count,
    int height, int with_sums, int shift, int64_t width, int64_t *sums, int64_t *products)
{
    const shorts ones = 1 - (shorts){0};
    words total = {0}, found[PRODUCT_HEIGHT];
    QCKM_UNROLL
    for (int i = 0; i < height; i++) {
        found[i] = (words){0};
    }
    for (int64_t p = 0; p < count; p++, block += block_step, pairs += pairs_step) {
        const shorts columns = (shorts)load(block);
        if (with_sums) {
            total = multiply_add(total, ones, columns);
        }
        QCKM_UNROLL
        for (int i = 0; i < height; i++) {
            found[i] = multiply_add(found[i], (shorts)splat(pairs[i]), columns);
        }
    }
    for (int lane = 0; with_sums && lane < QCKM_LANES; lane++) {
        sums[lane] += (int32_t)total[lane];
    }
    QCKM_UNROLL
    for (int i = 0; i < height; i++) {
        for (int lane = 0; lane < QCKM_LANES; lane++) {
            products[i * width + lane] += (int64_t)(int32_t)found[i][lane] * (1 << shift);
        }
    }
}

static int64_t largest_of(const int16_t *codes, int64_t count)
{
    int16_t most = 0;
    for (int64_t t = 0; t < count; t++) {
        const int16_t size = codes[t] < 0 ? (int16_t)-codes[t] : codes[t];
        most = size > most ? size : most;
    }
    return most;
}

/* Split pairs of codes (count): each is 128 times one of the first plus one of the second. */
QCKM_INLINE void split_pairs(const int32_t *pairs, int64_t count, int32_t *high, int32_t *low)
{
    for (int64_t t = 0; t < count; t += QCKM_LANES) {
        const shorts codes = (shorts)load(pairs + t);
        store(high + t, (words)(codes >> LOW_BITS));
        store(low + t, (words)(codes & ((1 << LOW_BITS) - 1)));
    }
}

/* Multiply all columns with all blocks, over pairs of rows that are laid out. */
QCKM_INLINE void multiply_blocks(const int16_t *laid_out, const int32_t *pairs, int64_t pairs_step, int64_t count, int64_t n,
    int with_sums, int shift, int64_t *sums, int64_t *products)
{
    const int64_t blocks = (n + QCKM_LANES - 1) / QCKM_LANES, width = blocks * QCKM_LANES;
    for (int64_t b = 0; b < blocks; b++) {
        const int16_t *const block = laid_out + 2 * b * QCKM_LANES;
        const int64_t end = (b + 1) * QCKM_LANES < n ? (b + 1) * QCKM_LANES : n;
        int64_t *const total = sums + b * QCKM_LANES;
        for (int64_t i = 0; i < end; i += PRODUCT_HEIGHT) {
            int64_t *const to = products + i * width + b * QCKM_LANES;
            const int64_t left = end - i;
            const int first = with_sums && i == 0;
#define QCKM_MULTIPLY(height, sums_too) \
    multiply_columns(block, 2 * width, pairs + i, pairs_step, count, height, sums_too, shift, width, total, to)
            if (left > 8) {
                first ? QCKM_MULTIPLY(PRODUCT_HEIGHT, 1) : QCKM_MULTIPLY(PRODUCT_HEIGHT, 0);
            } else if (left > 4) {
                first ? QCKM_MULTIPLY(8, 1) : QCKM_MULTIPLY(8, 0);
            } else {
                first ? QCKM_MULTIPLY(4, 1) : QCKM_MULTIPLY(4, 0);
            }
#undef QCKM_MULTIPLY
        }
    }
}

/*
 * Add up codes (rows, n), after which a row of zeros follows: the sums of columns to `sums` (width), width being n rounded up to
 * QCKM_LANES, and the products of column i with column j >= i to `products` (n + QCKM_PRODUCT_HEIGHT, width). Other places get what
 * is not to be used. There is room for QCKM_PRODUCT_PARTS * QCKM_PRODUCT_ROWS * width codes in `scratch`.
 */
static void add_products(const int16_t *codes, int64_t rows, int64_t n, void *scratch, int64_t *sums, int64_t *products)
{
    const int64_t width = (n + QCKM_LANES - 1) / QCKM_LANES * QCKM_LANES, size = QCKM_PRODUCT_ROWS / 2 * width;
    int16_t *const laid_out = scratch; /* (pairs of rows, blocks, 2 QCKM_LANES) */
    int32_t *const apart = INTERLEAVED ? scratch : (int32_t *)scratch + size; /* (pairs of rows, width) */
    int32_t *const high = (int32_t *)scratch + 2 * size, *const low = high + size;
    for (int64_t at = 0, height; at < rows; at += height) {
        height = rows - at < QCKM_PRODUCT_ROWS ? rows - at : QCKM_PRODUCT_ROWS;
        const int64_t most = largest_of(codes + at * n, height * n), safe = INT32_MAX / (most ? most * most : 1) / 2 * 2;
        const int split = safe < height && safe < FEW_ROWS;
        height = split || height < safe ? height : safe;
        const int64_t count = (height + 1) / 2;
        for (int64_t p = 0; p < count; p++) {
            const int16_t *first = codes + (at + 2 * p) * n;
            lay_out_pair(first, first + n, n, laid_out + 2 * p * width, apart + p * width);
        }
        if (split) {
            split_pairs(apart, count * width, high, low);
            multiply_blocks(laid_out, high, width, count, n, 0, LOW_BITS, sums, products);
            multiply_blocks(laid_out, low, width, count, n, 1, 0, sums, products);
        } else {
            multiply_blocks(laid_out, apart, width, count, n, 1, 0, sums, products);
        }
    }
}

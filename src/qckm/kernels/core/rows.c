/* Rows to sums and bits, a block at a time that stays in the cache: coded, projected, measured, added up. */
#include <math.h>
#include <string.h>

#include "arithmetic.h"
#include "kernel.h"

/* Of a block: more rows, and their codes leave the second-level cache; fewer, and frequencies are loaded too often. */
enum { BLOCK_CODES = 1 << 17, LEAST_ROWS = 256, ABREAST = 16 };

/* What a thread works with. */
typedef struct {
    int64_t most_rows; /* of a block */
    int single; /* whether numbers are coded as float32 */
    qckm_room room;
    char *buffer; /* rows of other numbers, or with gaps between, as contiguous ones */
    int16_t *codes, *chosen; /* (most rows, n) */
    int64_t *sums; /* (2, width): of rows whose contributions are not in the total yet */
    int64_t summed, at_origin; /* how many these rows are, and how many of them only fill up tiles */
    int64_t abreast; /* rows whose codes are added up side by side: of few features, a vector of codes or more */
    int64_t *moments; /* (2, abreast, n): sums of codes and of their squares, over a block */
    int64_t columns; /* n, rounded up to whole vectors */
    int64_t *products; /* (1 + n + QCKM_PRODUCT_HEIGHT, columns): sums of codes, then of their products */
    void *laid_out; /* for them, rows as they are multiplied */
    uint8_t *halves; /* of bits: (2, most rows, half_bytes) */
    int64_t half_bytes;
} workspace;

static void close_workspace(workspace *work)
{
    void *const parts[] = {
        work->room.lower, work->room.upper, work->room.scratch, work->buffer, work->codes, work->chosen, work->sums, work->moments, work->products, work->laid_out, work->halves};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        qckm_free(parts[i]);
    }
}

/* Whether rows can be coded where they lie: of the type that is coded, no gaps where they are shorter than a vector. */
static int is_direct(const qckm_kernel *kernel, const qckm_rows *rows, int single)
{
    const int64_t n = kernel->n, size = single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const int64_t numbers = single ? kernel->set->lanes : kernel->set->lanes / 2;
    return rows->number == (single ? QCKM_FLOAT32 : QCKM_FLOAT64) && (n == 1 || rows->feature_bytes == size)
        && (n >= numbers || rows->row_bytes == n * size);
}

static int64_t products_bytes(int64_t n, int64_t columns)
{
    return (1 + n + QCKM_PRODUCT_HEIGHT) * columns * (int64_t)sizeof(int64_t);
}

/* Forget what was seen of the features. */
static void clear_bounds(workspace *work, const qckm_kernel *kernel)
{
    const int64_t period = work->single ? kernel->singles.period : kernel->doubles.period;
    for (int64_t k = 0; k < period; k++) {
        if (work->single) {
            ((float *)work->room.lower)[k] = INFINITY;
            ((float *)work->room.upper)[k] = -INFINITY;
        } else {
            ((double *)work->room.lower)[k] = (double)INFINITY;
            ((double *)work->room.upper)[k] = (double)-INFINITY;
        }
    }
}

static int open_workspace(
    workspace *work, const qckm_kernel *kernel, const qckm_rows *rows, int weighted, int bits, int products)
{
    const int64_t n = kernel->n, number = (int64_t)sizeof(double);
    int64_t most = BLOCK_CODES / n < LEAST_ROWS ? LEAST_ROWS : BLOCK_CODES / n;
    most = most > QCKM_MOST_ROWS ? QCKM_MOST_ROWS : most;
    most = rows->rows < most ? (rows->rows + QCKM_TILE_ROWS - 1) / QCKM_TILE_ROWS * QCKM_TILE_ROWS : most / QCKM_TILE_ROWS * QCKM_TILE_ROWS;
    memset(work, 0, sizeof *work);
    work->most_rows = most;
    work->single = rows->number == QCKM_FLOAT32 && kernel->single;
    const int64_t period = work->single ? kernel->singles.period : kernel->doubles.period;
    const int direct = !weighted && is_direct(kernel, rows, work->single);
    work->half_bytes = (kernel->width + 7) / 8 + 16; /* what is read past the bits when halves are joined */
    work->room.lower = qckm_allocate(period * number);
    work->room.upper = qckm_allocate(period * number);
    work->room.scratch = qckm_allocate(kernel->scratch_bytes);
    work->buffer = direct ? NULL : qckm_allocate(most * n * number);
    work->codes = qckm_allocate(most * n * (int64_t)sizeof(int16_t));
    work->chosen = weighted ? qckm_allocate(most * n * (int64_t)sizeof(int16_t)) : NULL;
    work->sums = bits ? NULL : qckm_allocate(2 * kernel->width * (int64_t)sizeof(int64_t));
    work->abreast = n < ABREAST ? ABREAST : 1;
    work->moments = bits ? NULL : qckm_allocate(2 * work->abreast * n * (int64_t)sizeof(int64_t));
    work->columns = (n + kernel->set->lanes - 1) / kernel->set->lanes * kernel->set->lanes;
    work->products = products ? qckm_allocate(products_bytes(n, work->columns)) : NULL;
    work->laid_out = products ? qckm_allocate(QCKM_PRODUCT_PARTS * QCKM_PRODUCT_ROWS * work->columns * (int64_t)sizeof(int16_t)) : NULL;
    work->halves = bits ? qckm_allocate(2 * most * work->half_bytes) : NULL;
    if (!work->room.lower || !work->room.upper || !work->room.scratch || !(direct || work->buffer) || !work->codes
        || (weighted && !work->chosen) || (bits ? !work->halves : !work->sums || !work->moments)
        || (products && (!work->products || !work->laid_out))) {
        close_workspace(work);
        return 0;
    }
    if (work->sums) {
        memset(work->sums, 0, 2 * (size_t)kernel->width * sizeof *work->sums);
    }
    if (work->products) {
        memset(work->products, 0, (size_t)products_bytes(n, work->columns));
    }
    clear_bounds(work, kernel);
    return 1;
}

/* Add what was seen of each feature to bounds. */
static void add_bounds(const workspace *work, const qckm_kernel *kernel, qckm_summary *summary)
{
    const int64_t period = work->single ? kernel->singles.period : kernel->doubles.period;
    for (int64_t k = 0; k < period; k++) {
        const double low = work->single ? (double)((float *)work->room.lower)[k] : ((double *)work->room.lower)[k];
        const double high = work->single ? (double)((float *)work->room.upper)[k] : ((double *)work->room.upper)[k];
        const int64_t feature = k % kernel->n;
        summary->lower[feature] = low < summary->lower[feature] ? low : summary->lower[feature];
        summary->upper[feature] = high > summary->upper[feature] ? high : summary->upper[feature];
    }
}

#define QCKM_NUMBER(name, type) \
    case name: { \
        type value; \
        memcpy(&value, from, sizeof value); \
        return (double)value; \
    }

static double number_at(const char *from, int64_t number)
{
    switch (number) {
        QCKM_NUMBER(QCKM_FLOAT32, float)
        QCKM_NUMBER(QCKM_FLOAT64, double)
        QCKM_NUMBER(QCKM_INT8, int8_t)
        QCKM_NUMBER(QCKM_UINT8, uint8_t)
        QCKM_NUMBER(QCKM_INT16, int16_t)
        QCKM_NUMBER(QCKM_UINT16, uint16_t)
        QCKM_NUMBER(QCKM_INT32, int32_t)
        QCKM_NUMBER(QCKM_UINT32, uint32_t)
        QCKM_NUMBER(QCKM_INT64, int64_t)
    default: {
        uint64_t value;
        memcpy(&value, from, sizeof value);
        return (double)value;
    }
    }
}

/* Copy a row of any numbers to contiguous ones of the type that is coded. */
static void copy_row(const workspace *work, const qckm_rows *rows, const char *from, int64_t n, char *to)
{
    for (int64_t k = 0; k < n; k++, from += rows->feature_bytes) {
        if (work->single) {
            memcpy(to + k * (int64_t)sizeof(float), from, sizeof(float));
        } else {
            const double value = number_at(from, rows->number);
            memcpy(to + k * (int64_t)sizeof(double), &value, sizeof value);
        }
    }
}

/* Whether a row is finite throughout; *clipped becomes 1 where a feature is out of reach. */
static int is_finite_row(const qckm_kernel *kernel, const qckm_rows *rows, const char *row, int *clipped)
{
    *clipped = 0;
    for (int64_t k = 0; k < kernel->n; k++) {
        const double x = number_at(row + k * rows->feature_bytes, rows->number);
        if (!isfinite(x)) {
            return 0;
        }
        const double scaled = x * kernel->inverse_steps[k], steps = nearbyint(scaled) - kernel->origin_codes[k];
        *clipped |= fabs(steps) > (double)QCKM_CODE_LIMIT;
    }
    return 1;
}

/*
 * Code the rows of a block, but those of weight 0; return how many, or QCKM_NO_MEMORY minus 1 minus the number, in the block, of
 * a row that is not finite. Clipped rows are rare: they are looked for only where the coding says that there are some.
 */
static int64_t code_block(const qckm_kernel *kernel, workspace *work, const qckm_rows *rows, const int64_t *weights,
    int64_t first, int64_t height, int64_t *saturated)
{
    const int64_t n = kernel->n, size = work->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const qckm_coding *coding = work->single ? &kernel->singles : &kernel->doubles;
    const char *data = rows->data + first * rows->row_bytes;
    int64_t row_bytes = rows->row_bytes, kept = height, end = height; /* the first row known not to be finite */
    int clipped;
    if (work->buffer) {
        kept = 0;
        for (int64_t r = 0; r < end; r++) {
            const char *row = data + r * rows->row_bytes;
            if (!weights || weights[first + r]) {
                copy_row(work, rows, row, n, work->buffer + kept++ * n * size);
            } else if (!is_finite_row(kernel, rows, row, &clipped)) { /* nor may it widen the bounds */
                end = r;
            }
        }
        data = work->buffer;
        row_bytes = n * size;
    }
    const int flagged = (work->single ? kernel->set->code_singles : kernel->set->code_doubles)(
        coding, &work->room, data, kept, row_bytes, n, work->codes);
    for (int64_t r = 0; flagged && r < end; r++) {
        if (!is_finite_row(kernel, rows, rows->data + (first + r) * rows->row_bytes, &clipped)) {
            end = r;
        }
        *saturated += clipped ? (weights ? weights[first + r] : 1) : 0;
    }
    return end < height ? QCKM_NO_MEMORY - 1 - end : kept;
}

/* Add a number, times a power of two, to a sum of two words. Unsigned numbers wrap as whoever counts the rows allows. */
static void add_to_words(int64_t *high, int64_t *low, int64_t value, int shift)
{
    const uint64_t upper = (uint64_t)(value >> 32), lower = (uint64_t)value & UINT32_MAX;
    const uint64_t moved = shift < 32 ? lower << shift : 0;
    const uint64_t whole = shift < 32 ? upper << shift : (upper << 32 | lower) << (shift - 32);
    const uint64_t sum = (uint64_t)*low + (moved & UINT32_MAX);
    *high = (int64_t)((uint64_t)*high + whole + (moved >> 32) + (sum >> 32));
    *low = (int64_t)(sum & UINT32_MAX);
}

/* Add up codes and their squares where they stand in `width` of them, four times as many at a time: 4 squares fit 32 bits. */
static void add_across(const int16_t *codes, int64_t times, int64_t width, int64_t *restrict sums, int64_t *restrict squares)
{
    for (; times >= 4; times -= 4, codes += 4 * width) {
        const int16_t *const second = codes + width, *const third = second + width, *const fourth = third + width;
        for (int64_t k = 0; k < width; k++) {
            const int32_t a = codes[k], b = second[k], c = third[k], d = fourth[k];
            sums[k] += a + b + c + d;
            squares[k] += (uint32_t)(a * a) + (uint32_t)(b * b) + (uint32_t)(c * c) + (uint32_t)(d * d);
        }
    }
    for (; times > 0; times--, codes += width) {
        for (int64_t k = 0; k < width; k++) {
            sums[k] += codes[k];
            squares[k] += codes[k] * codes[k];
        }
    }
}

/* Add the codes of rows and their squares, so many times each, to the sums of the features. */
static void add_moments(const qckm_kernel *kernel, workspace *work, const int16_t *codes, int64_t rows, int shift, qckm_summary *summary)
{
    if (!summary->codes || work->products) {
        return;
    }
    const int64_t n = kernel->n, width = n * work->abreast;
    int64_t *const sums = work->moments, *const squares = sums + width;
    memset(sums, 0, 2 * (size_t)width * sizeof *sums);
    add_across(codes, rows / work->abreast, width, sums, squares);
    add_across(codes + rows / work->abreast * width, rows % work->abreast, n, sums, squares);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t again = k + n; again < width; again += n) {
            sums[k] += sums[again];
            squares[k] += squares[again];
        }
        add_to_words(summary->codes + k, summary->codes + n + k, sums[k], shift);
        add_to_words(summary->squares + k, summary->squares + n + k, squares[k], shift);
    }
}

/* Add the workspace's sums of codes and of products to those of the features, shifted, and clear them. */
static void add_columns(const qckm_kernel *kernel, workspace *work, int shift, qckm_summary *summary)
{
    const int64_t n = kernel->n, pairs = n * (n - 1) / 2;
    const int64_t *row = work->products + work->columns;
    for (int64_t i = 0, pair = 0; i < n; i++, row += work->columns) {
        add_to_words(summary->codes + i, summary->codes + n + i, work->products[i], shift);
        add_to_words(summary->squares + i, summary->squares + n + i, row[i], shift);
        for (int64_t j = i + 1; j < n; j++, pair++) {
            add_to_words(summary->products + pair, summary->products + pairs + pair, row[j], shift);
        }
    }
    memset(work->products, 0, (size_t)products_bytes(n, work->columns));
}

/* Sum up coded rows in the workspace: rows at the origin fill up the last tile. */
static void sum_codes(const qckm_kernel *kernel, workspace *work, int16_t *codes, int64_t rows)
{
    const int64_t filled = (rows + QCKM_TILE_ROWS - 1) / QCKM_TILE_ROWS * QCKM_TILE_ROWS;
    memset(codes + rows * kernel->n, 0, (size_t)((filled - rows) * kernel->n) * sizeof *codes);
    if (work->products) {
        kernel->set->add_products(
            codes, rows, kernel->n, work->laid_out, work->products, work->products + work->columns);
    }
    kernel->set->sum(kernel, codes, filled, work->room.scratch, work->sums);
    work->summed += filled;
    work->at_origin += filled - rows;
}

/* Add the workspace's sums to a total, shifted, and clear them; what rows at the origin contributed is taken off. */
static void add_sums(const qckm_kernel *kernel, workspace *work, int shift, int64_t *total)
{
    const int64_t lowest = kernel->m / kernel->octaves, wide = kernel->width / kernel->octaves;
    for (int64_t part = 0; part < kernel->measurements / lowest; part++) { /* an octave, at one of both dithers */
        for (int64_t j = 0; j < lowest; j++) {
            const int64_t found = work->sums[part * wide + j], place = part * lowest + j;
            const int64_t value = kernel->kind == QCKM_BITS ? work->summed - 2 * found : found;
            /* In unsigned numbers, which may wrap: whether the sum fits is known to whoever counts the rows. */
            const uint64_t added = (uint64_t)(value - work->at_origin * kernel->at_origin[place]) << shift;
            total[place] = (int64_t)((uint64_t)total[place] + added);
        }
    }
    memset(work->sums, 0, 2 * (size_t)kernel->width * sizeof *work->sums);
    work->summed = work->at_origin = 0;
}

/* A whole weight is a sum of powers of two: rows that have a bit set in their weight make up a sum of their own. */
static void add_weighted(const qckm_kernel *kernel, workspace *work, const int64_t *weights, int64_t height, qckm_summary *summary)
{
    const size_t row = (size_t)kernel->n * sizeof(int16_t);
    int64_t all = 0;
    for (int64_t r = 0; r < height; r++) {
        all |= weights[r];
    }
    for (int bit = 0; all >> bit; bit++) {
        int64_t chosen = 0, kept = 0;
        for (int64_t r = 0; r < height; r++) {
            if (weights[r] >> bit & 1) {
                memcpy(work->chosen + chosen++ * kernel->n, work->codes + kept * kernel->n, row);
            }
            kept += weights[r] != 0;
        }
        add_moments(kernel, work, work->chosen, chosen, bit, summary);
        sum_codes(kernel, work, work->chosen, chosen);
        add_sums(kernel, work, bit, summary->total);
        if (work->products) {
            add_columns(kernel, work, bit, summary);
        }
    }
}

static int is_summary(const qckm_summary *summary)
{
    return summary && summary->total && summary->lower && summary->upper && !summary->codes == !summary->squares
        && (!summary->products || summary->codes);
}

/* Sum rows from the first up to the last, and what was seen of them, to a summary; return as qckm_sum does. */
static int64_t sum_rows(const qckm_kernel *kernel, workspace *work, const qckm_rows *rows, const int64_t *weights,
    int64_t begin, int64_t end, qckm_summary *summary)
{
    int64_t wrong = QCKM_DONE;
    for (int64_t first = begin; first < end && wrong == QCKM_DONE; first += work->most_rows) {
        const int64_t left = end - first, height = left < work->most_rows ? left : work->most_rows;
        const int64_t kept = code_block(kernel, work, rows, weights, first, height, &summary->saturated);
        if (kept < 0) {
            wrong = first + QCKM_NO_MEMORY - 1 - kept;
        } else if (weights) {
            for (int64_t r = 0; r < height; r++) {
                summary->count += weights[first + r];
            }
            add_weighted(kernel, work, weights + first, height, summary);
        } else {
            summary->count += height;
            add_moments(kernel, work, work->codes, kept, 0, summary);
            sum_codes(kernel, work, work->codes, kept);
        }
    }
    add_sums(kernel, work, 0, summary->total);
    if (work->products) {
        add_columns(kernel, work, 0, summary);
    }
    add_bounds(work, kernel, summary);
    return wrong;
}

/*
 * Sum the contributions of rows, each as often as its weight says if there are weights. Return QCKM_DONE; or the number
 * of the first row with a NaN or an infinity, and nothing else is then right; or QCKM_NO_MEMORY.
 */
int64_t qckm_sum(const qckm_kernel *kernel, const qckm_rows *rows, const int64_t *weights, qckm_summary *summary)
{
    workspace work;
    if (!kernel || !qckm_are_rows(rows) || !is_summary(summary)) {
        return QCKM_REFUSED;
    }
    if (!open_workspace(&work, kernel, rows, weights != NULL, 0, summary->products != NULL)) {
        return QCKM_NO_MEMORY;
    }
    const int64_t wrong = sum_rows(kernel, &work, rows, weights, 0, rows->rows, summary);
    close_workspace(&work);
    return wrong;
}

/* The same for groups of rows that follow each other, each to a summary of its own: group g ends before row stops[g]. */
int64_t qckm_sum_groups(
    const qckm_kernel *kernel, const qckm_rows *rows, const int64_t *stops, int64_t groups, qckm_summary *summaries)
{
    workspace work;
    if (!kernel || !qckm_are_rows(rows) || groups < 0 || (groups && (!stops || !summaries))) {
        return QCKM_REFUSED;
    }
    for (int64_t g = 0; g < groups; g++) {
        if (!is_summary(summaries + g) || !summaries[g].products != !summaries[0].products
            || stops[g] < (g ? stops[g - 1] : 0) || stops[g] > rows->rows) {
            return QCKM_REFUSED;
        }
    }
    if (!groups) {
        return QCKM_DONE;
    }
    if (!open_workspace(&work, kernel, rows, 0, 0, summaries->products != NULL)) {
        return QCKM_NO_MEMORY;
    }
    int64_t wrong = QCKM_DONE;
    for (int64_t g = 0; g < groups && wrong == QCKM_DONE; g++) {
        wrong = sum_rows(kernel, &work, rows, NULL, g ? stops[g - 1] : 0, stops[g], summaries + g);
        clear_bounds(&work, kernel);
    }
    close_workspace(&work);
    return wrong;
}

/*
 * Copy rows, row_bytes each and one after the other, so that those of a group follow each other, groups in the order of
 * their numbers, and rows of a group in theirs; stops[g] becomes where group g ends. 0, or QCKM_REFUSED.
 */
int qckm_gather(
    const char *rows, int64_t row_bytes, int64_t count, const int64_t *numbers, int64_t groups, int64_t *stops, char *gathered)
{
    if (count < 0 || row_bytes < 1 || groups < 1 || !stops || (count && (!rows || !numbers || !gathered))) {
        return QCKM_REFUSED;
    }
    memset(stops, 0, (size_t)groups * sizeof *stops);
    for (int64_t r = 0; r < count; r++) {
        if (numbers[r] < 0 || numbers[r] >= groups) {
            return QCKM_REFUSED;
        }
        stops[numbers[r]]++;
    }
    for (int64_t g = 0, before = 0; g < groups; g++) { /* now where a group begins; in the end where the next does */
        const int64_t own = stops[g];
        stops[g] = before;
        before += own;
    }
    for (int64_t r = 0; r < count; r++) {
        memcpy(gathered + stops[numbers[r]]++ * row_bytes, rows + r * row_bytes, (size_t)row_bytes);
    }
    return 0;
}

/* Eight bytes, little end first, whatever the machine. */
static uint64_t word_at(const uint8_t *from)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word |= (uint64_t)from[i] << (8 * i);
    }
    return word;
}

/* Write m bits of one half followed, where dithers are paired, by m of the other; bits beyond are 0. */
static void join_halves(const qckm_kernel *kernel, const uint8_t *first, const uint8_t *second, uint8_t *target)
{
    const int64_t m = kernel->m, bits = kernel->measurements, width = (bits + 7) / 8;
    for (int64_t at = 0; at < width; at += 8) {
        const int64_t begin = 8 * at - m; /* the bit of the second half that comes first in this word */
        uint64_t word = 0;
        if (begin < 0) {
            word = word_at(first + at);
            word &= -begin < 64 ? (UINT64_C(1) << -begin) - 1 : UINT64_MAX;
        }
        if (kernel->paired && begin >= 0) {
            const uint8_t *from = second + begin / 8;
            const int shift = (int)(begin % 8);
            word |= word_at(from) >> shift | (shift ? (uint64_t)from[8] << (64 - shift) : 0);
        } else if (kernel->paired && begin > -64) {
            word |= word_at(second) << -begin;
        }
        word &= bits - 8 * at < 64 ? (UINT64_C(1) << (bits - 8 * at)) - 1 : UINT64_MAX;
        for (int64_t i = 0; i < 8 && at + i < width; i++) {
            target[at + i] = (uint8_t)(word >> (8 * i));
        }
    }
}

/* Write the bits of rows, ceil(M / 8) bytes each, row_bytes apart; the kernel has one octave. Returns as qckm_sum does. */
int64_t qckm_encode(const qckm_kernel *kernel, const qckm_rows *rows, uint8_t *bits, int64_t row_bytes)
{
    workspace work;
    if (!kernel || !qckm_are_rows(rows) || kernel->kind != QCKM_BITS || kernel->octaves != 1
        || (rows->rows && (!bits || row_bytes < (kernel->measurements + 7) / 8))) {
        return QCKM_REFUSED;
    }
    if (!open_workspace(&work, kernel, rows, 0, 1, 0)) {
        return QCKM_NO_MEMORY;
    }
    int64_t wrong = QCKM_DONE, saturated = 0;
    uint8_t *const second = work.halves + work.most_rows * work.half_bytes;
    for (int64_t first = 0; first < rows->rows && wrong == QCKM_DONE; first += work.most_rows) {
        const int64_t left = rows->rows - first, height = left < work.most_rows ? left : work.most_rows;
        const int64_t kept = code_block(kernel, &work, rows, NULL, first, height, &saturated);
        if (kept < 0) {
            wrong = first + QCKM_NO_MEMORY - 1 - kept;
            break;
        }
        const int64_t filled = (kept + QCKM_TILE_ROWS - 1) / QCKM_TILE_ROWS * QCKM_TILE_ROWS;
        memset(work.codes + kept * kernel->n, 0, (size_t)((filled - kept) * kernel->n) * sizeof *work.codes);
        kernel->set->store_bits(kernel, work.codes, filled, work.room.scratch, work.halves, second, work.half_bytes);
        for (int64_t r = 0; r < kept; r++) {
            const int64_t at = r * work.half_bytes;
            join_halves(kernel, work.halves + at, second + at, bits + (first + r) * row_bytes);
        }
    }
    close_workspace(&work);
    return wrong;
}

/* Add the ones at each position of rows of bits, (rows, width) bytes, to counts (8 width). */
int qckm_count_bits(const uint8_t *bits, int64_t row_bytes, int64_t rows, int64_t width, int64_t *counts)
{
    const qckm_set *set = qckm_set_in_use();
    if ((!bits && rows) || !counts || rows < 0 || width < 1 || width > QCKM_MOST_NUMBERS) {
        return QCKM_REFUSED;
    }
    void *scratch = qckm_allocate(8 * (width + 4 * set->lanes));
    if (!scratch) {
        return QCKM_NO_MEMORY;
    }
    set->count_bits(bits, row_bytes, rows, width, scratch, counts);
    qckm_free(scratch);
    return 0;
}

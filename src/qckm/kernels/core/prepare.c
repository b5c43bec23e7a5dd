/* From an operator's numbers to a kernel: frequencies in panels, dither, signature and coding as the loops want them. */
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "kernel.h"

enum { CACHE_LINE = 64 };

/* Memory that starts on a cache line, with QCKM_SPARE bytes after its end; NULL where there is none. */
void *qckm_allocate(int64_t bytes)
{
    const size_t size = ((size_t)bytes + QCKM_SPARE + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
#if defined(_WIN32)
    void *memory = _aligned_malloc(size, CACHE_LINE);
#else
    void *memory = aligned_alloc(CACHE_LINE, size);
#endif
    return memory;
}

/* The same, zeroed. */
static void *allocate_zeros(int64_t bytes)
{
    void *memory = qckm_allocate(bytes);
    return memory ? memset(memory, 0, (size_t)bytes + QCKM_SPARE) : NULL;
}

void qckm_free(void *memory)
{
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}

void qckm_release(qckm_kernel *kernel)
{
    if (kernel) {
        void *const parts[] = {kernel->frequencies, kernel->dither, kernel->table, kernel->factors, kernel->flips,
            kernel->radii, kernel->at_origin, kernel->inverse_steps, kernel->origin_codes, kernel->singles.inverse,
            kernel->singles.origin, kernel->doubles.inverse, kernel->doubles.origin};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            qckm_free(parts[i]);
        }
        qckm_free(kernel);
    }
}

/* Of numbers: five arrays of them are within 32 kB, in float32. */
enum { LONGEST_PERIOD = 1024 };

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* Fill in what codes are made with, repeated over whole vectors of so many numbers. */
static int lay_out_coding(qckm_coding *coding, const qckm_spec *spec, int64_t numbers, int single)
{
    const int64_t n = spec->n, size = single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    const int64_t period = n * numbers / gcd(n, numbers);
    coding->whole = n < numbers || period <= LONGEST_PERIOD;
    coding->period = coding->whole ? period : n;
    coding->inverse = allocate_zeros(coding->period * size);
    coding->origin = allocate_zeros(coding->period * size);
    if (!coding->inverse || !coding->origin) {
        return 0;
    }
    for (int64_t k = 0; k < coding->period; k++) {
        if (single) {
            ((float *)coding->inverse)[k] = (float)spec->inverse_steps[k % n];
            ((float *)coding->origin)[k] = (float)spec->origin_codes[k % n];
        } else {
            ((double *)coding->inverse)[k] = spec->inverse_steps[k % n];
            ((double *)coding->origin)[k] = spec->origin_codes[k % n];
        }
    }
    return 1;
}

/* Panels of frequencies: for each pair of features, vectors of pairs. */
static int lay_out_dense(qckm_kernel *kernel, const qckm_spec *spec)
{
    const int64_t lanes = kernel->set->lanes, wide = lanes * kernel->set->vectors, lowest = spec->m / kernel->octaves;
    kernel->frequencies = allocate_zeros(kernel->panels * kernel->pairs * 2 * wide * (int64_t)sizeof(int16_t));
    if (!kernel->frequencies) {
        return 0;
    }
    for (int64_t k = 0; k < spec->n; k++) {
        for (int64_t j = 0; j < lowest; j++) {
            const int64_t panel = j / wide, vector = j % wide / lanes;
            const int place = kernel->set->pair_place((int)(j % lanes), (int)(k % 2));
            const int64_t at = ((panel * kernel->pairs + k / 2) * kernel->set->vectors + vector) * 2 * lanes + place;
            kernel->frequencies[at] = spec->frequencies[k * spec->m + j];
        }
    }
    return 1;
}

static int lay_out_structured(qckm_kernel *kernel, const qckm_spec *spec)
{
    const int64_t size = spec->size, blocks = (spec->m + size - 1) / size;
    kernel->size = size;
    kernel->factors = allocate_zeros(blocks * size * (int64_t)sizeof(int32_t));
    kernel->flips = allocate_zeros(2 * blocks * size * (int64_t)sizeof(int32_t));
    kernel->radii = allocate_zeros(kernel->width * (int64_t)sizeof(int32_t));
    if (!kernel->factors || !kernel->flips || !kernel->radii) {
        return 0;
    }
    for (int64_t block = 0; block < blocks; block++) {
        const int8_t *signs = spec->signs + 3 * block * size;
        for (int64_t k = 0; k < size; k++) {
            kernel->factors[block * size + k] = k < spec->n ? signs[k] * spec->factors[k] : 0;
            kernel->flips[2 * block * size + k] = -(signs[size + k] < 0);
            kernel->flips[(2 * block + 1) * size + k] = -(signs[2 * size + k] < 0);
        }
    }
    memcpy(kernel->radii, spec->radii, (size_t)spec->m * sizeof(int32_t));
    return 1;
}

static int64_t contribution(const qckm_spec *spec, uint32_t phase)
{
    if (spec->kind == QCKM_BITS) {
        return 1 - 2 * (int64_t)qckm_bit(phase);
    }
    return spec->kind == QCKM_COSINES ? qckm_cosine(phase) : spec->table[qckm_part(phase)];
}

static int lay_out_signature(qckm_kernel *kernel, const qckm_spec *spec)
{
    const int64_t m = spec->m, lowest = m / kernel->octaves, entries = INT64_C(1) << QCKM_TABLE_BITS;
    kernel->dither = allocate_zeros(kernel->width * (int64_t)sizeof(int32_t));
    kernel->table = allocate_zeros((entries + entries / 4) * (int64_t)sizeof(int32_t));
    kernel->at_origin = allocate_zeros(kernel->measurements * (int64_t)sizeof(int64_t));
    if (!kernel->dither || !kernel->table || !kernel->at_origin) {
        return 0;
    }
    for (int64_t i = 0; i < entries + entries / 4; i++) {
        kernel->table[i] = spec->table[i % entries];
    }
    for (int64_t j = 0; j < m; j++) {
        const uint32_t phase = (uint32_t)spec->dither[j];
        /* The bit that is counted is that of the phase a quarter turn on. */
        const uint32_t start = phase + (spec->kind == QCKM_BITS ? QCKM_QUARTER_TURN : 0u);
        kernel->dither[j / lowest * (kernel->width / kernel->octaves) + j % lowest]
            = (int32_t)(kernel->size ? start << 8 : start);
        kernel->at_origin[j] = contribution(spec, phase);
        if (kernel->paired) {
            kernel->at_origin[m + j] = contribution(spec, phase + QCKM_QUARTER_TURN);
        }
    }
    return 1;
}

static int lay_out(qckm_kernel *kernel, const qckm_spec *spec)
{
    const int64_t bytes = spec->n * (int64_t)sizeof(double);
    kernel->inverse_steps = allocate_zeros(bytes);
    kernel->origin_codes = allocate_zeros(bytes);
    if (!kernel->inverse_steps || !kernel->origin_codes) {
        return 0;
    }
    memcpy(kernel->inverse_steps, spec->inverse_steps, (size_t)bytes);
    memcpy(kernel->origin_codes, spec->origin_codes, (size_t)bytes);
    return (spec->size ? lay_out_structured(kernel, spec) : lay_out_dense(kernel, spec)) && lay_out_signature(kernel, spec)
        && lay_out_coding(&kernel->singles, spec, kernel->set->lanes, 1)
        && lay_out_coding(&kernel->doubles, spec, kernel->set->lanes / 2, 0);
}

/* Whether an operator is one that the loops can be laid out for. */
static int is_possible(const qckm_spec *spec)
{
    if (!spec || spec->n < 1 || spec->m < 1 || spec->n > QCKM_MOST_NUMBERS / spec->m || !spec->dither || !spec->table
        || !spec->inverse_steps || !spec->origin_codes || spec->kind < QCKM_BITS || spec->kind > QCKM_TABLE
        || spec->octaves < 1 || spec->octaves > QCKM_MOST_OCTAVES || spec->m % spec->octaves) {
        return 0;
    }
    if (!spec->size) {
        return spec->frequencies != NULL;
    }
    return spec->octaves == 1 && spec->size >= 128 && spec->size >= spec->n && spec->size <= INT32_MAX
        && !(spec->size & (spec->size - 1)) && spec->signs && spec->factors && spec->radii;
}

/* Make the kernel of an operator. */
int qckm_prepare(const qckm_spec *spec, qckm_kernel **made)
{
    if (made) {
        *made = NULL;
    }
    if (!made || !is_possible(spec)) {
        return QCKM_REFUSED;
    }
    qckm_kernel *kernel = allocate_zeros((int64_t)sizeof *kernel);
    if (!kernel) {
        return QCKM_NO_MEMORY;
    }
    kernel->set = qckm_set_in_use();
    const int64_t wide = kernel->set->lanes * kernel->set->vectors;
    kernel->n = spec->n;
    kernel->m = spec->m;
    kernel->paired = spec->paired != 0;
    kernel->kind = (int)spec->kind;
    kernel->single = spec->single != 0;
    kernel->octaves = spec->octaves;
    kernel->measurements = spec->m * (kernel->paired + 1);
    kernel->pairs = (spec->n + 1) / 2;
    kernel->panels = (spec->m / spec->octaves + wide - 1) / wide;
    kernel->width = spec->octaves * kernel->panels * wide;
    /* The values of a tile's rows, and two counters a frequency. */
    kernel->scratch_bytes = spec->size ? 4 * (QCKM_TILE_ROWS * spec->size + 2 * kernel->width) : 0;
    if (!lay_out(kernel, spec)) {
        qckm_release(kernel);
        return QCKM_NO_MEMORY;
    }
    *made = kernel;
    return 0;
}

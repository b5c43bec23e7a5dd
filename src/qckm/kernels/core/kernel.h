/* An operator laid out for one instruction set, and what an instruction set can do with it. */
#ifndef QCKM_KERNEL_H
#define QCKM_KERNEL_H

#include "core.h"
#include "loops.h"

enum {
    QCKM_TILE_ROWS = 4, /* rows that are projected together: numbers of rows are multiples of this */
    QCKM_MOST_ROWS = 508, /* projected between two looks at counters, some of which count to 511 */
    QCKM_SPARE = 512, /* bytes after an array that may be read: the codes of eight vectors */
    QCKM_PRODUCT_ROWS = 64, /* whose codes are multiplied with each other at a time … */
    QCKM_PRODUCT_HEIGHT = 12, /* … so many columns with a vector of others, at most */
    QCKM_PRODUCT_PARTS = 4, /* what these rows take while they are, in codes of theirs */
    QCKM_MOST_OCTAVES = 15
};

/* What codes of features are made with, for one number type. */
typedef struct {
    int64_t period; /* numbers after which features repeat at the same places of vectors, in contiguous rows; or n … */
    int whole; /* … where this is 0, as the period would be so long that it leaves the first-level cache */
    void *inverse, *origin; /* (period) */
} qckm_coding;

/* Where a thread works. */
typedef struct {
    void *lower, *upper; /* (period), of the coding's number type */
    void *scratch;
} qckm_room;

typedef struct {
    const char *name;
    int64_t lanes, vectors; /* a tile's phases: rows x vectors of so many int32 */
    int (*pair_place)(int lane, int half); /* where the frequencies of a pair of features stand in a vector */
    /* Code rows whose features are neighbours; return whether a code was clipped, or a number is none. */
    int (*code_singles)(const qckm_coding *, const qckm_room *, const char *, int64_t, int64_t, int64_t, int16_t *);
    int (*code_doubles)(const qckm_coding *, const qckm_room *, const char *, int64_t, int64_t, int64_t, int16_t *);
    void (*sum)(const qckm_kernel *, const int16_t *codes, int64_t rows, void *scratch, int64_t *sums);
    void (*store_bits)(const qckm_kernel *, const int16_t *codes, int64_t rows, void *scratch, uint8_t *, uint8_t *, int64_t);
    void (*count_bits)(const uint8_t *, int64_t, int64_t, int64_t, void *scratch, int64_t *);
    void (*add_products)(const int16_t *codes, int64_t rows, int64_t n, void *scratch, int64_t *sums, int64_t *products);
    const qckm_loops *loops; /* over floats */
} qckm_set;

struct qckm_kernel {
    const qckm_set *set;
    int64_t n, m, measurements;
    int paired, kind, single;
    int64_t octaves, panels, width; /* panels of one octave; frequencies of all, filled up to whole panels */
    int64_t pairs; /* of features */
    int64_t size; /* of a structured block; 0 for dense frequencies */
    int16_t *frequencies; /* (panels, pairs, vectors, 2 lanes) */
    int32_t *dither; /* (octaves, width of one): where a phase starts, in 2^32nds of a turn if structured */
    int32_t *table; /* (4096 + 1024), a quarter turn longer than a turn */
    int32_t *factors, *flips, *radii; /* structured: (blocks, size), (blocks, 2, size) as 0 or -1, (width) */
    int64_t *at_origin; /* (measurements): of a row at the origin */
    double *inverse_steps, *origin_codes; /* (n) */
    qckm_coding singles, doubles;
    int64_t scratch_bytes; /* of a thread's room */
};

extern const qckm_set qckm_plain;
#if defined(__x86_64__)
extern const qckm_set qckm_ssse3, qckm_avx2, qckm_avx512, qckm_avx512vnni;
#elif defined(__aarch64__)
extern const qckm_set qckm_neon;
#endif

const qckm_set *qckm_set_in_use(void);
int qckm_are_rows(const qckm_rows *rows);
void *qckm_allocate(int64_t bytes);
void qckm_free(void *memory);

#endif

/* What the library offers: an operator laid out for this CPU, and rows to sums, to bits, and from bits to counts. */
#ifndef QCKM_CORE_H
#define QCKM_CORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define QCKM_EXPORT __declspec(dllexport)
#else
#define QCKM_EXPORT __attribute__((visibility("default")))
#endif

/*
 * The number of this contract: that of core.h and decoder.h. It is raised whenever one of them changes, so that Python
 * does not call a library that was built from others (library.py has the number, too; tests/kernels/test_contract.py).
 */
#define QCKM_ABI 7

/* What functions return: 0 or QCKM_DONE where all is well, and what is said beside a function. */
enum {
    QCKM_DONE = -1, /* of a pass over rows: none has a NaN or an infinity */
    QCKM_NO_MEMORY = -2,
    QCKM_REFUSED = -3 /* arguments that contradict each other: nothing was done */
};

/* The largest array, in numbers: products of sizes stay far from overflow. */
#define QCKM_MOST_NUMBERS (INT64_C(1) << 48)

/* How a signature is computed from a phase: a bit of it, a polynomial, or a look into a table. */
enum { QCKM_BITS, QCKM_COSINES, QCKM_TABLE };

/* The number types of rows. */
enum {
    QCKM_FLOAT32, QCKM_FLOAT64, QCKM_INT8, QCKM_UINT8, QCKM_INT16, QCKM_UINT16, QCKM_INT32, QCKM_UINT32, QCKM_INT64,
    QCKM_UINT64
};

/* What is measured. Arrays stay the caller's, and are not needed once the kernel is made. */
typedef struct {
    int64_t n, m; /* features, frequencies */
    int64_t paired;
    int64_t kind; /* of signature */
    int64_t octaves; /* blocks of frequencies, up to 15, each twice the one before; 1 for any other frequencies */
    int64_t single; /* whether float32 rows may be coded in float32 */
    const int16_t *frequencies; /* (n, m); NULL where they are structured */
    const int32_t *dither; /* (m) */
    const int16_t *table; /* (4096) */
    const double *inverse_steps, *origin_codes; /* (n): a code is rint(x * inverse) - origin */
    int64_t size; /* of a structured block, a power of two from 128 on, and no less than n; 0 where they are not */
    const int8_t *signs; /* (blocks, 3, size): +1 or -1 */
    const int32_t *factors, *radii; /* (n), (m) */
} qckm_spec;

/* Rows anywhere in memory: strides in bytes, of any sign. */
typedef struct {
    const char *data;
    int64_t rows, row_bytes, feature_bytes, number;
} qckm_rows;

/* What a pass over rows found. */
typedef struct {
    int64_t *total; /* (M): the contributions, added to what is there */
    double *lower, *upper; /* (n): narrowed or widened to what was seen */
    int64_t count, saturated; /* rows, and clipped ones, as weights count them */
    int64_t *codes, *squares; /* (2, n): the sums of codes and of their squares, added; NULL where nobody asks. A sum is
                                 the first of its words times 2^32 plus the second, which is from 0 to 2^32 - 1 */
    int64_t *products; /* (2, n (n - 1) / 2), beside codes and squares: of features i and j > i, row by row */
} qckm_summary;

typedef struct qckm_kernel qckm_kernel;

QCKM_EXPORT int64_t qckm_abi(void);
/* The bytes of a structure of this contract, by its name; 0 for any other name. */
QCKM_EXPORT int64_t qckm_size_of(const char *structure);
QCKM_EXPORT const char *qckm_instructions(void);
QCKM_EXPORT int qckm_use(const char *instructions);
/* 0, QCKM_NO_MEMORY or QCKM_REFUSED; the kernel is NULL then. */
QCKM_EXPORT int qckm_prepare(const qckm_spec *spec, qckm_kernel **kernel);
QCKM_EXPORT void qckm_release(qckm_kernel *kernel);
/* QCKM_DONE, QCKM_NO_MEMORY, QCKM_REFUSED, or the number of the first row that is not finite. */
QCKM_EXPORT int64_t qckm_sum(
    const qckm_kernel *kernel, const qckm_rows *rows, const int64_t *weights, qckm_summary *summary);
QCKM_EXPORT int64_t qckm_sum_groups(
    const qckm_kernel *kernel, const qckm_rows *rows, const int64_t *stops, int64_t groups, qckm_summary *summaries);
/* 0 or QCKM_REFUSED. */
QCKM_EXPORT int qckm_gather(const char *rows, int64_t row_bytes, int64_t count, const int64_t *numbers, int64_t groups,
    int64_t *stops, char *gathered);
QCKM_EXPORT int64_t qckm_encode(const qckm_kernel *kernel, const qckm_rows *rows, uint8_t *bits, int64_t row_bytes);
/* 0, QCKM_NO_MEMORY or QCKM_REFUSED. */
QCKM_EXPORT int qckm_count_bits(
    const uint8_t *bits, int64_t row_bytes, int64_t rows, int64_t width, int64_t *counts);

#endif

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
    int64_t octaves; /* blocks of frequencies, each twice the one before; 1 for any other frequencies */
    int64_t single; /* whether float32 rows may be coded in float32 */
    const int16_t *frequencies; /* (n, m); NULL where they are structured */
    const int32_t *dither; /* (m) */
    const int16_t *table; /* (4096) */
    const double *inverse_steps, *origin_codes; /* (n): a code is rint(x * inverse) - origin */
    int64_t size; /* of a structured block, a power of two from 128 on */
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
} qckm_summary;

typedef struct qckm_kernel qckm_kernel;

QCKM_EXPORT const char *qckm_instructions(void);
QCKM_EXPORT int qckm_use(const char *instructions);
QCKM_EXPORT qckm_kernel *qckm_prepare(const qckm_spec *spec);
QCKM_EXPORT void qckm_release(qckm_kernel *kernel);
QCKM_EXPORT int64_t qckm_sum(
    const qckm_kernel *kernel, const qckm_rows *rows, const int64_t *weights, qckm_summary *summary);
QCKM_EXPORT int64_t qckm_encode(const qckm_kernel *kernel, const qckm_rows *rows, uint8_t *bits, int64_t row_bytes);
QCKM_EXPORT int qckm_count_bits(
    const uint8_t *bits, int64_t row_bytes, int64_t rows, int64_t width, int64_t *counts);

#endif

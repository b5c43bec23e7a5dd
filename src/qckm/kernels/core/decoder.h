/* What the library offers beside sketches: the decoder's loops over floats, the nearest centroid of rows, k-means. */
#ifndef QCKM_DECODER_H
#define QCKM_DECODER_H

#include "core.h"

/* A sketch to explain, and how clusters would show in it. */
typedef struct {
    int64_t n, m; /* features, frequencies */
    int64_t n_harmonics, step; /* from one harmonic to the next: 2 where the even ones vanish */
    const double *frequencies; /* (n, m) */
    const double *phases, *halves; /* (m): the halves are |omega|^2 / 2 */
    const double *harmonics; /* (n_harmonics, 4): real and imaginary part of A_h, and of A_h i^h */
    const double *z; /* (2, m); the second row is 0 in a single sketch */
} qckm_waves;

/* K clusters N(c, tau I + sum of v v^T). */
typedef struct {
    int64_t K, r; /* clusters, and axes of each */
    const double *points, *weights, *widths, *axes; /* (K, n), (K), (K), (K, r, n) */
} qckm_clusters;

/* Derivatives by all that clusters are, shaped as these. */
typedef struct {
    double *points, *weights, *widths, *axes;
} qckm_slopes;

/* When a descent ends. */
typedef struct {
    int64_t iterations; /* at most */
    int64_t every; /* so many iterations, it is asked what they gained */
    double gain, least; /* too little: no more than `gain` times the value, or times `least` where the value is less */
    double slope; /* no derivative within the bounds is steeper */
} qckm_rules;

/* Variables x to be moved within bounds to where a cost is low; value and evaluations are what came of it. */
typedef struct {
    int64_t size;
    double *x;
    const double *low, *high; /* (size) each */
    double value;
    int64_t evaluations;
} qckm_descent;

/* Clusters to be fitted: x is points, weights, free widths, axes. */
typedef struct {
    int64_t K, r;
    int64_t free; /* widths: 0 where all are fixed, 1 where they are one, or K */
    double evenness; /* the price of widths that differ */
    double *widths; /* (K) */
} qckm_fitting;

/* Points that climb, (S, n), within bounds; values and slopes are those where they end. */
typedef struct {
    int64_t S, steps;
    double stride;
    const double *residual, *damping; /* (2, m), (m) */
    const double *lower, *upper; /* (n) */
    double *points, *values, *slopes; /* (S, n), (S), (S, n) */
} qckm_ascent;

/* Points to be clustered. Their mean is near 0: distances then lose no digits. */
typedef struct {
    int64_t P, n;
    const double *rows, *weights; /* (P, n), (P) */
} qckm_points;

#define QCKM_MOST_TRIALS 64

/* K points that k-means may begin at: of so many candidates each the best. */
typedef struct {
    int64_t K, trials;
    const double *uniforms; /* (1 + (K - 1) * trials), within [0, 1) */
    int64_t *chosen; /* (K) */
} qckm_choice;

/* A run of Lloyd's iterations from given centres. */
typedef struct {
    int64_t K, most; /* iterations at most */
    double tolerance; /* at rest where the squares of all moves add up to no more */
    double *centers; /* (K, n), and where they end */
    int32_t *labels; /* (P) */
    double inertia; /* the weighted sum of squared distances */
    int64_t iterations;
} qckm_lloyd;

/*
 * A matrix of signs, +1 where a bit is 0 and -1 where it is 1: words of 32 columns, the first the lowest bit, those of 16 rows
 * side by side, (2 * rows / 32, columns / 32, 16), both quotients rounded up.
 */
typedef struct {
    int64_t rows, columns;
    const uint32_t *words;
} qckm_signs;

/* Bits of rows, as qckm_encode writes them, to be made a matrix of signs and its transpose. */
typedef struct {
    int64_t rows, row_bytes, measured; /* bits of a row */
    int64_t columns; /* of the matrix: some measurements, or all of them */
    const uint8_t *bits;
    const int64_t *which; /* (columns): measurements; NULL for all of them, in order */
    uint32_t *by_rows, *by_columns; /* words of (rows, columns), and of (columns, rows) */
} qckm_packing;

/* A matrix (rows, columns) of float32 or int16, each of which stands for so many units. */
typedef struct {
    int64_t rows, columns, number;
    double unit;
    const void *numbers;
} qckm_values;

/*
 * Rows of a matrix from `first` up to `last`, to be multiplied with vectors; others of `out` stay as they are. Of signs, `first`
 * is a multiple of 32. Where columns are multiplied, they are meant by rows here, and rows by columns.
 */
typedef struct {
    int64_t first, last, count;
    const double *vectors; /* (count, columns) */
    double *out; /* (count, rows) */
} qckm_products;

/* A product of matrices, (rows, inner) times (inner, columns). */
typedef struct {
    int64_t rows, inner, columns;
    const double *left, *right;
    double *out; /* (rows, columns) */
} qckm_matrices;

enum { QCKM_EXP, QCKM_LOG, QCKM_SINE, QCKM_COSINE };

/* A function of each of some numbers. */
typedef struct {
    int64_t count, function;
    const double *numbers;
    double *out; /* (count) */
} qckm_mapping;

/* A symmetric matrix L L', its factor L, and vectors b that become x with L L' x = b. */
typedef struct {
    int64_t size, count;
    const double *matrix; /* (size, size) */
    double *factor, *vectors; /* (size, size), (count, size) */
} qckm_system;

/* Which rows a sample may hold. */
typedef struct {
    int64_t n, limit, key_limit; /* the limits of hashes and keys, as unsigned numbers */
    double beyond, share, total; /* squares that count as 0; the share of the total from which on a row is frequent; the weights */
    const uint64_t *multipliers; /* (1 + n): what a hash begins with, and a factor for each column */
    const double *center, *factors; /* (n): a level is log2 of 1 plus the squares of (x - center) * factor */
    const double *weights; /* (rows), or NULL; rows of weight 0 and those that are not finite are none */
    double *table; /* (4, 2^15): weights by hash, added to what is there */
    uint64_t *hashes; /* (rows) */
    uint8_t *chosen; /* (rows): whether the sample may hold the row */
} qckm_screening;

/* All return 0, QCKM_NO_MEMORY or QCKM_REFUSED. */
QCKM_EXPORT int qckm_atoms(const qckm_waves *waves, const qckm_clusters *clusters, double *atoms);
QCKM_EXPORT int qckm_misfit(
    const qckm_waves *waves, const qckm_clusters *clusters, const qckm_slopes *slopes, double *misfit);
QCKM_EXPORT int qckm_ascend(const qckm_waves *waves, const qckm_ascent *ascent);
QCKM_EXPORT int qckm_correlation(const qckm_waves *waves, const double *point, double *slopes, double *correlation);
QCKM_EXPORT int qckm_fit(
    const qckm_waves *waves, const qckm_fitting *fitting, const qckm_rules *rules, qckm_descent *descent);
QCKM_EXPORT int qckm_match(const qckm_waves *waves, const qckm_rules *rules, qckm_descent *descent);
/* Also 1, where a row is at no finite distance from any centroid. */
QCKM_EXPORT int qckm_nearest(
    const qckm_rows *rows, int64_t n, const double *centers, int64_t K, int32_t *labels, double *squares);
QCKM_EXPORT int qckm_screen(const qckm_rows *rows, qckm_screening *screening);
QCKM_EXPORT int qckm_plus_plus(const qckm_points *points, const qckm_choice *choice);
QCKM_EXPORT int qckm_lloyd_run(const qckm_points *points, qckm_lloyd *run);
QCKM_EXPORT int qckm_pack_signs(const qckm_packing *packing);
QCKM_EXPORT int qckm_multiply_signs(const qckm_signs *signs, const qckm_products *products);
QCKM_EXPORT int qckm_multiply_values(const qckm_values *values, const qckm_products *products);
QCKM_EXPORT int qckm_multiply_columns_of_values(const qckm_values *values, const qckm_products *products);
QCKM_EXPORT int qckm_multiply(const qckm_matrices *product);
QCKM_EXPORT int qckm_map(const qckm_mapping *mapping);
/* Also 1, where the matrix is not positive definite. */
QCKM_EXPORT int qckm_solve(const qckm_system *system);

#endif

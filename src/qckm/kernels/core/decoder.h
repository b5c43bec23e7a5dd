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
QCKM_EXPORT int qckm_plus_plus(const qckm_points *points, const qckm_choice *choice);
QCKM_EXPORT int qckm_lloyd_run(const qckm_points *points, qckm_lloyd *run);

#endif

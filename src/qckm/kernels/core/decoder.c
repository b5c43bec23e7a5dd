/* The entry points of the loops over floats: those of the instruction set in use. */
#include "decoder.h"

#include "kernel.h"
#include "loops.h"

/* Whether two sizes are some, and an array of both is no larger than any. */
static int fit_together(int64_t a, int64_t b)
{
    return a > 0 && b > 0 && a <= QCKM_MOST_NUMBERS / b;
}

static int are_waves(const qckm_waves *waves)
{
    return waves && fit_together(waves->n, waves->m) && fit_together(waves->n_harmonics, waves->step)
        && waves->frequencies && waves->phases && waves->halves && waves->harmonics && waves->z;
}

/* Clusters, each with a point of n numbers and r axes of as many. */
static int are_some(int64_t K, int64_t r, int64_t n)
{
    return K > 0 && r >= 0 && r < QCKM_MOST_NUMBERS && fit_together(n, r + 1) && fit_together(K, n * (r + 1));
}

static int are_clusters(const qckm_clusters *clusters, int64_t n)
{
    return clusters && are_some(clusters->K, clusters->r, n) && clusters->points && clusters->weights
        && clusters->widths && (clusters->axes || !clusters->r);
}

static int can_descend(const qckm_rules *rules, const qckm_descent *descent, int64_t size)
{
    return rules && rules->iterations >= 0 && rules->every > 0 && descent && descent->size == size && descent->x
        && descent->low && descent->high;
}

static int are_points(const qckm_points *points)
{
    return points && fit_together(points->P, points->n) && points->rows && points->weights;
}

int qckm_atoms(const qckm_waves *waves, const qckm_clusters *clusters, double *atoms)
{
    if (!are_waves(waves) || !are_clusters(clusters, waves->n) || !fit_together(clusters->K, 2 * waves->m) || !atoms) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->atoms(waves, clusters, atoms);
}

int qckm_misfit(const qckm_waves *waves, const qckm_clusters *clusters, const qckm_slopes *slopes, double *misfit)
{
    if (!are_waves(waves) || !are_clusters(clusters, waves->n) || !slopes || !slopes->points || !slopes->weights
        || !slopes->widths || (!slopes->axes && clusters->r) || !misfit) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->misfit(waves, clusters, slopes, misfit);
}

int qckm_ascend(const qckm_waves *waves, const qckm_ascent *ascent)
{
    if (!are_waves(waves) || !ascent || ascent->S < 0 || ascent->S > QCKM_MOST_NUMBERS / waves->n || ascent->steps < 0
        || !ascent->residual || !ascent->damping || !ascent->lower || !ascent->upper
        || (ascent->S && (!ascent->points || !ascent->values || !ascent->slopes))) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->ascend(waves, ascent);
}

int qckm_correlation(const qckm_waves *waves, const double *point, double *slopes, double *correlation)
{
    if (!are_waves(waves) || !point || !slopes || !correlation) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->correlation(waves, point, slopes, correlation);
}

int qckm_fit(const qckm_waves *waves, const qckm_fitting *fitting, const qckm_rules *rules, qckm_descent *descent)
{
    if (!are_waves(waves) || !fitting || !are_some(fitting->K, fitting->r, waves->n) || !fitting->widths
        || (fitting->free != 0 && fitting->free != 1 && fitting->free != fitting->K)
        || !can_descend(rules, descent, fitting->K * (waves->n * (fitting->r + 1) + 1) + fitting->free)) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->fit(waves, fitting, rules, descent);
}

int qckm_match(const qckm_waves *waves, const qckm_rules *rules, qckm_descent *descent)
{
    if (!are_waves(waves) || !can_descend(rules, descent, waves->n)) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->match(waves, rules, descent);
}

int qckm_nearest(const qckm_rows *rows, int64_t n, const double *centers, int64_t K, int32_t *labels, double *squares)
{
    if (!qckm_are_rows(rows) || !fit_together(n, K) || K > INT32_MAX || !centers || !labels || !squares) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->nearest(rows, n, centers, K, labels, squares);
}

int qckm_plus_plus(const qckm_points *points, const qckm_choice *choice)
{
    if (!are_points(points) || !choice || choice->K < 1 || choice->trials < 1 || choice->trials > QCKM_MOST_TRIALS
        || !fit_together(choice->K, choice->trials) || !choice->uniforms || !choice->chosen) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->plus_plus(points, choice);
}

int qckm_lloyd_run(const qckm_points *points, qckm_lloyd *run)
{
    if (!are_points(points) || !run || !fit_together(run->K, points->n) || run->K > INT32_MAX || run->most < 0
        || !run->centers || !run->labels) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->lloyd(points, run);
}

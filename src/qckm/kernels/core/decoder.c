/* The entry points of the loops over floats: those of the instruction set in use. */
#include "decoder.h"

#include "kernel.h"
#include "loops.h"

int qckm_atoms(const qckm_waves *waves, const qckm_clusters *clusters, double *atoms)
{
    return qckm_set_in_use()->loops->atoms(waves, clusters, atoms);
}

int qckm_misfit(const qckm_waves *waves, const qckm_clusters *clusters, const qckm_slopes *slopes, double *misfit)
{
    return qckm_set_in_use()->loops->misfit(waves, clusters, slopes, misfit);
}

int qckm_ascend(const qckm_waves *waves, const qckm_ascent *ascent)
{
    return qckm_set_in_use()->loops->ascend(waves, ascent);
}

int qckm_correlation(const qckm_waves *waves, const double *point, double *slopes, double *correlation)
{
    return qckm_set_in_use()->loops->correlation(waves, point, slopes, correlation);
}

int qckm_fit(const qckm_waves *waves, const qckm_fitting *fitting, const qckm_rules *rules, qckm_descent *descent)
{
    return qckm_set_in_use()->loops->fit(waves, fitting, rules, descent);
}

int qckm_match(const qckm_waves *waves, const qckm_rules *rules, qckm_descent *descent)
{
    return qckm_set_in_use()->loops->match(waves, rules, descent);
}

int qckm_nearest(const qckm_rows *rows, int64_t n, const double *centers, int64_t K, int32_t *labels, double *squares)
{
    return qckm_set_in_use()->loops->nearest(rows, n, centers, K, labels, squares);
}

int qckm_plus_plus(const qckm_points *points, const qckm_choice *choice)
{
    return qckm_set_in_use()->loops->plus_plus(points, choice);
}

int qckm_lloyd_run(const qckm_points *points, qckm_lloyd *run)
{
    return qckm_set_in_use()->loops->lloyd(points, run);
}

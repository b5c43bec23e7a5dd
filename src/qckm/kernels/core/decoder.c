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

int qckm_screen(const qckm_rows *rows, qckm_screening *screening)
{
    if (!qckm_are_rows(rows) || !screening || !fit_together(screening->n, 1) || !screening->multipliers || !screening->center
        || !screening->factors || !screening->table || !screening->hashes || !screening->chosen) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->screen(rows, screening);
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

/* Whether some rows of a matrix can be multiplied with vectors. */
static int can_multiply(const qckm_products *products, int64_t rows, int64_t columns)
{
    return products && products->first >= 0 && products->last >= products->first && products->last <= rows
        && fit_together(products->count, rows) && fit_together(products->count, columns) && products->vectors
        && products->out;
}

int qckm_pack_signs(const qckm_packing *packing)
{
    if (!packing || !fit_together(packing->rows, packing->measured) || !fit_together(packing->rows, packing->columns)
        || packing->row_bytes < (packing->measured + 7) / 8 || !packing->bits || !packing->by_rows || !packing->by_columns
        || (!packing->which && packing->columns != packing->measured)) {
        return QCKM_REFUSED;
    }
    for (int64_t j = 0; packing->which && j < packing->columns; j++) {
        if (packing->which[j] < 0 || packing->which[j] >= packing->measured) {
            return QCKM_REFUSED;
        }
    }
    return qckm_set_in_use()->loops->pack_signs(packing);
}

int qckm_multiply_signs(const qckm_signs *signs, const qckm_products *products)
{
    if (!signs || !fit_together(signs->rows, signs->columns) || !signs->words
        || !can_multiply(products, signs->rows, signs->columns) || products->first % 32) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->multiply_signs(signs, products);
}

static int are_values(const qckm_values *values)
{
    return values && fit_together(values->rows, values->columns) && values->numbers
        && (values->number == QCKM_FLOAT32 || values->number == QCKM_INT16);
}

int qckm_multiply_values(const qckm_values *values, const qckm_products *products)
{
    if (!are_values(values) || !can_multiply(products, values->rows, values->columns)) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->multiply_values(values, products);
}

int qckm_multiply_columns_of_values(const qckm_values *values, const qckm_products *products)
{
    if (!are_values(values) || !can_multiply(products, values->columns, values->rows)) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->multiply_columns_of_values(values, products);
}

int qckm_multiply(const qckm_matrices *product)
{
    if (!product || !fit_together(product->rows, product->inner) || !fit_together(product->inner, product->columns)
        || !fit_together(product->rows, product->columns) || !product->left || !product->right || !product->out) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->multiply(product);
}

int qckm_map(const qckm_mapping *mapping)
{
    if (!mapping || mapping->count < 0 || mapping->count > QCKM_MOST_NUMBERS || mapping->function < QCKM_EXP
        || mapping->function > QCKM_COSINE || !mapping->numbers || !mapping->out) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->map(mapping);
}

int qckm_solve(const qckm_system *system)
{
    if (!system || !fit_together(system->size, system->size) || system->count < 0
        || system->count > QCKM_MOST_NUMBERS / system->size || !system->matrix || !system->factor
        || (system->count && !system->vectors)) {
        return QCKM_REFUSED;
    }
    return qckm_set_in_use()->loops->solve(system);
}

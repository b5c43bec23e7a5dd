/* The two costs that descents are made on: the misfit of clusters, and the correlation of one point. */

typedef struct {
    const qckm_waves *waves;
    const qckm_fitting *fitting;
    double *by_widths, *memory; /* (K), and the misfit's room */
} clusters_cost;

/* Set the widths: as they are, one for all, or each its own. */
static void set_widths(const qckm_fitting *fitting, const double *own)
{
    for (int64_t k = 0; k < fitting->K && fitting->free; k++) {
        fitting->widths[k] = own[fitting->free == 1 ? 0 : k];
    }
}

/* The price of unequal widths; it is added to the derivatives by them. */
static double price(const qckm_fitting *fitting, double *by_widths)
{
    const int64_t K = fitting->K;
    double mean = 0, sum = 0;
    if (fitting->evenness == 0 || fitting->free <= 1) {
        return 0;
    }
    for (int64_t k = 0; k < K; k++) {
        mean += logarithm(fitting->widths[k]) / (double)K;
    }
    for (int64_t k = 0; k < K; k++) {
        const double off = logarithm(fitting->widths[k]) - mean;
        sum += fitting->evenness * off * off;
        by_widths[k] += 2 * fitting->evenness * off / fitting->widths[k];
    }
    return sum;
}

static double cost_of_clusters(void *problem, const double *x, double *gradient)
{
    const clusters_cost *at = problem;
    const qckm_fitting *fitting = at->fitting;
    const int64_t K = fitting->K, weights = K * at->waves->n, own = weights + K, axes = own + fitting->free;
    const qckm_clusters clusters = {K, fitting->r, x, x + weights, fitting->widths, x + axes};
    const qckm_slopes slopes = {gradient, gradient + weights, at->by_widths, gradient + axes};
    set_widths(fitting, x + own);
    const double value = misfit_in(at->waves, &clusters, &slopes, at->memory) + price(fitting, at->by_widths);
    for (int64_t k = 0; k < fitting->free; k++) {
        gradient[own + k] = 0;
    }
    for (int64_t k = 0; k < K && fitting->free; k++) {
        gradient[own + (fitting->free == 1 ? 0 : k)] += at->by_widths[k];
    }
    return value;
}

/* Fit points, weights, free widths and axes together; the value is the misfit, without the price of unequal widths. */
static int fit(const qckm_waves *waves, const qckm_fitting *fitting, const qckm_rules *rules, qckm_descent *descent)
{
    const int64_t past = history_size(descent->size), room = room_size(fitting->K, fitting->r);
    double *memory = allocate(past + room + fitting->K);
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    clusters_cost problem = {waves, fitting, memory + past + room, memory + past};
    descend(descent, rules, cost_of_clusters, &problem, memory);
    set_widths(fitting, descent->x + fitting->K * (waves->n + 1));
    descent->value -= price(fitting, problem.by_widths);
    free(memory);
    return 0;
}

typedef struct {
    const qckm_waves *waves;
    double *memory;
} point_cost;

static double cost_of_point(void *problem, const double *x, double *gradient)
{
    const point_cost *at = problem;
    const double value = correlation_in(at->waves, x, gradient, at->memory);
    for (int64_t d = 0; d < at->waves->n; d++) {
        gradient[d] = -gradient[d];
    }
    return -value;
}

/* Move a point to where its atom correlates best with z; the value is minus the correlation. */
static int match(const qckm_waves *waves, const qckm_rules *rules, qckm_descent *descent)
{
    const int64_t past = history_size(descent->size);
    double *memory = allocate(past + 2 * BLOCK + 2 * waves->n);
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    point_cost problem = {waves, memory + past};
    descend(descent, rules, cost_of_point, &problem, memory);
    free(memory);
    return 0;
}

/*
 * L-BFGS within bounds: variables at a bound whose gradient pushes outwards rest, the others move along the
 * quasi-Newton direction, and what would leave the bounds is put back on them.
 */

/* Steps that are remembered; lengths tried of a direction. */
enum { MEMORY = 12, LENGTHS = 20 };

/* A cost at x, and its derivatives. */
typedef double cost(void *problem, const double *x, double *gradient);

/* Where a descent works: (size) each, the steps and how the gradient turned over them (MEMORY, size). */
typedef struct {
    double *gradient, *new_gradient, *trial, *direction, *spare, *moves, *turns;
    double curvatures[MEMORY];
    int64_t stored; /* of steps, ever: the last MEMORY are there */
} history;

static int64_t history_size(int64_t size)
{
    return (5 + 2 * MEMORY) * size;
}

/* Keep a step and how the gradient turned over it, where it curves upwards. */
static void remember(history *past, const qckm_descent *descent)
{
    const int64_t size = descent->size, spot = past->stored % MEMORY;
    double *restrict move = past->direction, *restrict turned = past->spare; /* nobody needs either by now */
    for (int64_t i = 0; i < size; i++) {
        move[i] = past->trial[i] - descent->x[i];
        turned[i] = past->new_gradient[i] - past->gradient[i];
    }
    const double curvature = dot(move, turned, size);
    if (curvature > 1e-10 * sqrt(dot(move, move, size) * dot(turned, turned, size))) {
        memcpy(past->moves + spot * size, move, (size_t)size * sizeof(double));
        memcpy(past->turns + spot * size, turned, (size_t)size * sizeof(double));
        past->curvatures[spot] = curvature;
        past->stored++;
    }
}

/* Set to 0 what would only push against a bound. */
static void hold_back(const history *past, const qckm_descent *descent)
{
    for (int64_t i = 0; i < descent->size; i++) {
        const double slope = past->gradient[i];
        if ((descent->x[i] <= descent->low[i] && slope > 0) || (descent->x[i] >= descent->high[i] && slope < 0)) {
            past->direction[i] = 0;
        }
    }
}

/* The two-loop quasi-Newton direction over the variables that are free to move. */
static void turn_downhill(const history *past, const qckm_descent *descent)
{
    const int64_t size = descent->size, stored = past->stored, used = least(stored, MEMORY);
    double *direction = past->direction, alphas[MEMORY];
    for (int64_t i = 0; i < size; i++) {
        direction[i] = -past->gradient[i];
    }
    hold_back(past, descent);
    for (int64_t back = 1; back <= used; back++) {
        const int64_t spot = (stored - back) % MEMORY;
        alphas[spot] = dot(past->moves + spot * size, direction, size) / past->curvatures[spot];
        add(direction, -alphas[spot], past->turns + spot * size, size);
    }
    double factor = 0.1 / (sqrt(dot(direction, direction, size)) + 1e-300); /* a tenth of the unit of length */
    if (used) {
        const int64_t last = (stored - 1) % MEMORY;
        const double *turned = past->turns + last * size;
        factor = past->curvatures[last] / dot(turned, turned, size);
    }
    for (int64_t i = 0; i < size; i++) {
        direction[i] *= factor;
    }
    for (int64_t back = used; back >= 1; back--) {
        const int64_t spot = (stored - back) % MEMORY;
        const double beta = dot(past->turns + spot * size, direction, size) / past->curvatures[spot];
        add(direction, alphas[spot] - beta, past->moves + spot * size, size);
    }
    hold_back(past, descent);
}

/* Look along the direction for a step that keeps a share of the decrease that the gradient promised; 0 if there is none. */
static int step_down(history *past, qckm_descent *descent, cost *evaluate, void *problem, double *new_value)
{
    double length = 1;
    for (int attempt = 0; attempt < LENGTHS; attempt++) {
        for (int64_t i = 0; i < descent->size; i++) {
            past->trial[i] = within(descent->x[i] + length * past->direction[i], descent->low[i], descent->high[i]);
            past->spare[i] = past->trial[i] - descent->x[i];
        }
        const double promised = dot(past->gradient, past->spare, descent->size);
        if (!(promised < 0)) {
            return 0;
        }
        *new_value = evaluate(problem, past->trial, past->new_gradient);
        descent->evaluations++;
        const double excess = *new_value - descent->value - promised;
        if (*new_value <= descent->value + 1e-4 * promised) {
            return 1;
        }
        /* To the minimum of the parabola through both values and the slope, within reason. */
        length *= within(-0.5 * promised / excess, 0.1, 0.5);
    }
    return 0;
}

static double steepest(const history *past, const qckm_descent *descent)
{
    double most = 0;
    for (int64_t i = 0; i < descent->size; i++) {
        const double x = descent->x[i];
        const double reach = fabs(within(x - past->gradient[i], descent->low[i], descent->high[i]) - x);
        most = reach > most ? reach : most;
    }
    return most;
}

/* Descend from x to where the rules say that it ends. */
static void descend(qckm_descent *descent, const qckm_rules *rules, cost *evaluate, void *problem, double *memory)
{
    const int64_t size = descent->size;
    double before = (double)INFINITY, value = 0;
    history past = {memory, memory + size, memory + 2 * size, memory + 3 * size, memory + 4 * size, memory + 5 * size,
        memory + (5 + MEMORY) * size, {0}, 0};
    for (int64_t i = 0; i < size; i++) {
        descent->x[i] = within(descent->x[i], descent->low[i], descent->high[i]);
    }
    descent->value = evaluate(problem, descent->x, past.gradient);
    descent->evaluations = 1;
    for (int64_t iteration = 0; iteration < rules->iterations; iteration++) {
        if (iteration % rules->every == 0) {
            const double scale = descent->value > rules->least ? descent->value : rules->least;
            if (before - descent->value <= rules->gain * scale) {
                break;
            }
            before = descent->value;
        }
        if (steepest(&past, descent) <= rules->slope) {
            break;
        }
        turn_downhill(&past, descent);
        if (!step_down(&past, descent, evaluate, problem, &value)) {
            if (past.stored == 0) {
                break;
            }
            past.stored = 0; /* no way down: forget the curvature, and try once more along the gradient */
            turn_downhill(&past, descent);
            if (!step_down(&past, descent, evaluate, problem, &value)) {
                break;
            }
        }
        remember(&past, descent);
        memcpy(descent->x, past.trial, (size_t)size * sizeof(double));
        memcpy(past.gradient, past.new_gradient, (size_t)size * sizeof(double));
        descent->value = value;
    }
}

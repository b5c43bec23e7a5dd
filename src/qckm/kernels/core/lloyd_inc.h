/*
 * Lloyd's iterations of weighted k-means, in Hamerly's way: a bound on the distance of each point to its centre, and one
 * on that to all others, tell of most points that their centre is still the nearest. The rest are compared with all.
 */

typedef struct {
    const qckm_points *points;
    qckm_lloyd *run;
    double *upper, *lower; /* (P): the distance to the own centre is at most, to others at least this */
    double *norms; /* (P): half the squared norms */
    double *halves, *masses, *moves; /* (K): of centres: half the squared norm, the weight, how far it moved */
    double *moved; /* (K, n): the centres to be */
    double *panel; /* (n, PANEL) */
    int64_t waiting[PANEL]; /* the points of the panel */
    int64_t changed; /* labels */
} lloyd_state;

/* Compare the points that wait with all centres. */
static void settle(lloyd_state *s, int waiting)
{
    winners w;
    compare_panel(&w, s->panel, s->points->n, s->run->centers, s->halves, s->run->K);
    for (int t = 0; t < waiting; t++) {
        const int64_t i = s->waiting[t];
        const double best = 2 * (s->norms[i] + w.best[t]);
        const double next = 2 * (s->norms[i] + w.next[t]);
        const int32_t label = (int32_t)w.found[t];
        s->changed += label != s->run->labels[i];
        s->run->labels[i] = label;
        s->upper[i] = sqrt(best > 0 ? best : 0);
        s->lower[i] = sqrt(next > 0 ? next : 0);
    }
}

/* Find the nearest centre of each point, anew where the bounds leave it open. */
static void assign(lloyd_state *s)
{
    const int64_t n = s->points->n;
    int waiting = 0;
    s->changed = 0;
    for (int64_t i = 0; i < s->points->P; i++) {
        if (s->upper[i] < s->lower[i]) {
            continue;
        }
        const double *row = s->points->rows + i * n;
        const int32_t label = s->run->labels[i];
        if (label >= 0) {
            s->upper[i] = sqrt(square_distance(row, s->run->centers + label * n, n));
            if (s->upper[i] < s->lower[i]) {
                continue;
            }
        }
        fill_panel(s->panel, n, waiting, row);
        s->waiting[waiting++] = i;
        if (waiting == PANEL) {
            settle(s, waiting);
            waiting = 0;
        }
    }
    if (waiting) {
        settle(s, waiting);
    }
}

/* Give each cluster without points the one of all points that is furthest from its centre, as scikit-learn does. */
static void fill_empty(lloyd_state *s)
{
    const int64_t P = s->points->P, n = s->points->n;
    for (int64_t k = 0; k < s->run->K; k++) {
        if (s->masses[k] > 0) {
            continue;
        }
        int64_t furthest = -1;
        double distance = 0;
        for (int64_t i = 0; i < P; i++) {
            const double off = square_distance(s->points->rows + i * n, s->run->centers + s->run->labels[i] * n, n);
            /* A point is taken once. */
            if (off > distance && s->upper[i] < (double)INFINITY && s->points->weights[i] > 0) {
                furthest = i;
                distance = off;
            }
        }
        if (furthest < 0) {
            return; /* fewer distinct points than clusters */
        }
        const double weight = s->points->weights[furthest], *row = s->points->rows + furthest * n;
        const int64_t from = s->run->labels[furthest];
        s->upper[furthest] = (double)INFINITY;
        add(s->moved + from * n, -weight, row, n);
        s->masses[from] -= weight;
        s->masses[k] = weight;
        for (int64_t j = 0; j < n; j++) {
            s->moved[k * n + j] = weight * row[j];
        }
    }
}

/* Move centres to the means of their points; return the sum of the squares of how far. */
static double move(lloyd_state *s)
{
    const int64_t P = s->points->P, n = s->points->n, K = s->run->K;
    memset(s->moved, 0, (size_t)(K * n) * sizeof(double));
    memset(s->masses, 0, (size_t)K * sizeof(double));
    for (int64_t i = 0; i < P; i++) {
        const int64_t label = s->run->labels[i];
        add(s->moved + label * n, s->points->weights[i], s->points->rows + i * n, n);
        s->masses[label] += s->points->weights[i];
    }
    fill_empty(s);
    double squares = 0, most = 0, next = 0;
    int64_t which = 0;
    for (int64_t k = 0; k < K; k++) {
        double *center = s->run->centers + k * n, *to = s->moved + k * n;
        for (int64_t j = 0; j < n; j++) {
            to[j] = s->masses[k] > 0 ? to[j] / s->masses[k] : center[j];
        }
        const double square = square_distance(center, to, n), distance = sqrt(square);
        squares += square;
        s->moves[k] = distance;
        if (distance > most) {
            next = most;
            most = distance;
            which = k;
        } else if (distance > next) {
            next = distance;
        }
    }
    memcpy(s->run->centers, s->moved, (size_t)(K * n) * sizeof(double));
    halve_norms(s->run->centers, K, n, s->halves);
    for (int64_t i = 0; i < P; i++) {
        const int32_t label = s->run->labels[i];
        s->upper[i] += s->moves[label];
        s->lower[i] -= label == which ? next : most;
    }
    return squares;
}

static int lloyd(const qckm_points *points, qckm_lloyd *run)
{
    const int64_t P = points->P, n = points->n, K = run->K;
    double *memory = allocate(3 * P + K * (n + 3) + n * PANEL);
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    lloyd_state s = {.points = points, .run = run, .upper = memory, .lower = memory + P, .norms = memory + 2 * P};
    s.halves = memory + 3 * P;
    s.masses = s.halves + K;
    s.moves = s.masses + K;
    s.moved = s.moves + K;
    s.panel = s.moved + K * n;
    memset(s.panel, 0, (size_t)(n * PANEL) * sizeof(double));
    halve_norms(points->rows, P, n, s.norms);
    halve_norms(run->centers, K, n, s.halves);
    for (int64_t i = 0; i < P; i++) {
        run->labels[i] = -1;
        s.upper[i] = (double)INFINITY;
        s.lower[i] = 0;
    }
    int at_rest = 0;
    for (run->iterations = 0; run->iterations < run->most && !at_rest; run->iterations++) {
        assign(&s);
        at_rest = !s.changed;
        const double squares = move(&s);
        if (!at_rest && squares <= run->tolerance) {
            break;
        }
    }
    if (!at_rest) {
        assign(&s); /* the labels of the centres as they are now */
    }
    run->inertia = 0;
    for (int64_t i = 0; i < P; i++) {
        run->inertia += points->weights[i] * square_distance(points->rows + i * n, run->centers + run->labels[i] * n, n);
    }
    free(memory);
    return 0;
}

/*
 * The starts of weighted k-means, as greedy k-means++ chooses them: each of a few candidates that are drawn in
 * proportion to weight times squared distance, the one that leaves the least.
 */

/* Points side by side in panels, (panels, n, PANEL), the last filled up with points of no weight. */
typedef struct {
    int64_t count, n; /* panels, features */
    double *at, *halves, *weights; /* (count, n, PANEL), (count, PANEL), (count, PANEL) */
} panels;

static void fill_panel(double *panel, int64_t n, int place, const double *row)
{
    for (int64_t j = 0; j < n; j++) {
        panel[j * PANEL + place] = row[j];
    }
}

static panels in_panels(const qckm_points *points)
{
    const int64_t P = points->P, n = points->n, count = (P + PANEL - 1) / PANEL;
    double *memory = calloc((size_t)(count * PANEL * (n + 2)) + 1, sizeof(double));
    panels laid = {count, n, memory, NULL, NULL};
    if (memory) {
        laid.halves = memory + count * PANEL * n;
        laid.weights = laid.halves + count * PANEL;
        for (int64_t i = 0; i < P; i++) {
            fill_panel(laid.at + i / PANEL * PANEL * n, n, (int)(i % PANEL), points->rows + i * n);
        }
        halve_norms(points->rows, P, n, laid.halves);
        memcpy(laid.weights, points->weights, (size_t)P * sizeof(double));
    }
    return laid;
}

/* The squared distances of some points of a panel to the nearest of those chosen before and of one of `scores`. */
QCKM_INLINE lanes nearer(const panels *p, int64_t at, const double *closest, lanes score)
{
    const lanes square = 2 * (lanes_at(p->halves + at) + score);
    return lower_of(lanes_at(closest + at), higher_of(square, all(0)));
}

/* Add up the squares that would be left if each of `count` candidates were chosen: a running sum for each place in a panel. */
QCKM_INLINE void weigh_group(
    const panels *p, const double *closest, const double *candidates, const double *halves, int count, double *left)
{
    lanes sums[PANEL / STRIP][GROUP][2], scores[GROUP][2];
    double numbers[PANEL];
    memset(sums, 0, sizeof sums);
    for (int64_t panel = 0; panel < p->count; panel++) {
        QCKM_UNROLL
        for (int strip = 0; strip < PANEL / STRIP; strip++) {
            score(p->at + panel * PANEL * p->n + strip * STRIP, p->n, candidates, halves, count, scores);
            QCKM_UNROLL
            for (int c = 0; c < count; c++) {
                QCKM_UNROLL
                for (int half = 0; half < 2; half++) {
                    const int64_t at = panel * PANEL + strip * STRIP + half * LANES;
                    sums[strip][c][half] += lanes_at(p->weights + at) * nearer(p, at, closest, scores[c][half]);
                }
            }
        }
    }
    for (int c = 0; c < count; c++) {
        for (int part = 0; part < PANEL / LANES; part++) {
            put_lanes(numbers + part * LANES, sums[part / 2][c][part % 2]);
        }
        left[c] = in_pairs(numbers, PANEL);
    }
}

static void weigh(
    const panels *p, const double *closest, const double *candidates, const double *halves, int64_t count, double *left)
{
    for (int64_t c = 0; c < count;) {
        switch (count - c) {
        case 1:
            weigh_group(p, closest, candidates + c * p->n, halves + c, 1, left + c);
            c += 1;
            break;
        case 2:
            weigh_group(p, closest, candidates + c * p->n, halves + c, 2, left + c);
            c += 2;
            break;
        case 3:
        case 5:
        case 6:
            weigh_group(p, closest, candidates + c * p->n, halves + c, 3, left + c);
            c += 3;
            break;
        default:
            weigh_group(p, closest, candidates + c * p->n, halves + c, GROUP, left + c);
            c += GROUP;
        }
    }
}

/* Choose a point: bring `closest` up to date, and the weighted squares of each panel; return their sum. */
static double choose(const panels *p, const double *center, double half_norm, double *closest, double *masses)
{
    double sum = 0, mass[PANEL];
    for (int64_t panel = 0; panel < p->count; panel++) {
        QCKM_UNROLL
        for (int strip = 0; strip < PANEL / STRIP; strip++) {
            lanes scores[GROUP][2];
            score(p->at + panel * PANEL * p->n + strip * STRIP, p->n, center, &half_norm, 1, scores);
            QCKM_UNROLL
            for (int half = 0; half < 2; half++) {
                const int place = strip * STRIP + half * LANES;
                const int64_t at = panel * PANEL + place;
                const lanes square = nearer(p, at, closest, scores[0][half]);
                put_lanes(closest + at, square);
                put_lanes(mass + place, square * lanes_at(p->weights + at));
            }
        }
        masses[panel] = in_pairs(mass, PANEL);
        sum += masses[panel];
    }
    return sum;
}

/* The point at which running sums of weight times square reach `mark`; `squares` may be NULL: all are 1. */
static int64_t drawn(const panels *p, const double *squares, const double *masses, int64_t P, double mark)
{
    int64_t panel = 0, last = -1;
    for (; masses && panel + 1 < p->count && mark > masses[panel]; panel++) {
        mark -= masses[panel];
    }
    for (int64_t i = panel * PANEL; i < P; i++) {
        const double mass = p->weights[i] * (squares ? squares[i] : 1);
        if (mass > 0) {
            last = i;
            if (mark <= mass) {
                break;
            }
        }
        mark -= mass;
    }
    return last < 0 ? least(panel * PANEL, P - 1) : last;
}

static int plus_plus(const qckm_points *points, const qckm_choice *choice)
{
    const int64_t P = points->P, n = points->n, trials = choice->trials;
    const panels p = in_panels(points);
    double *closest = allocate(p.count * (PANEL + 1) + trials * (n + 2)), *masses = closest + p.count * PANEL;
    double *candidates = masses + p.count, *halves = candidates + trials * n, *left = halves + trials;
    const double *uniforms = choice->uniforms;
    if (!p.at || !closest) {
        free(p.at);
        free(closest);
        return QCKM_NO_MEMORY;
    }
    double all_weights = 0;
    for (int64_t i = 0; i < P; i++) {
        all_weights += points->weights[i];
    }
    for (int64_t i = 0; i < p.count * PANEL; i++) {
        closest[i] = (double)INFINITY;
    }
    int64_t *chosen = choice->chosen;
    chosen[0] = drawn(&p, NULL, NULL, P, *uniforms++ * all_weights);
    for (int64_t k = 0;; k++) {
        const double sum = choose(&p, points->rows + chosen[k] * n, p.halves[chosen[k]], closest, masses);
        if (k + 1 == choice->K) {
            break;
        }
        int64_t tried[QCKM_MOST_TRIALS], best = 0;
        for (int64_t c = 0; c < trials; c++) {
            tried[c] = drawn(&p, closest, masses, P, *uniforms++ * sum);
            memcpy(candidates + c * n, points->rows + tried[c] * n, (size_t)n * sizeof(double));
            halves[c] = p.halves[tried[c]];
        }
        weigh(&p, closest, candidates, halves, trials, left);
        for (int64_t c = 1; c < trials; c++) {
            best = left[c] < left[best] ? c : best;
        }
        chosen[k + 1] = tried[best];
    }
    free(p.at);
    free(closest);
    return 0;
}

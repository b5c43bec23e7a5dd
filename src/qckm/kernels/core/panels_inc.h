/*
 * Squared distances of many points to many centres, in registers.
 *
 * Points stand side by side in panels of PANEL, feature by feature. A score is |c|^2 / 2 - x c: the squared distance is
 * |x|^2 and twice that. Centres near the points' mean lose no digits by it, which callers see to.
 */
/* Points of a panel, centres that share its loads; and the points of a strip, which is what registers hold. */
enum { PANEL = 16, GROUP = 4, STRIP = 2 * LANES };

/* Score `count` centres, up to GROUP of them, for a strip of a panel. */
QCKM_INLINE void score(
    const double *strip, int64_t n, const double *centers, const double *halves, int count, lanes scores[GROUP][2])
{
    QCKM_UNROLL
    for (int c = 0; c < count; c++) {
        scores[c][0] = scores[c][1] = all(halves[c]);
    }
    for (int64_t j = 0; j < n; j++) {
        const lanes left = lanes_at(strip + j * PANEL), right = lanes_at(strip + j * PANEL + LANES);
        QCKM_UNROLL
        for (int c = 0; c < count; c++) {
            const lanes center = all(centers[c * n + j]);
            scores[c][0] -= center * left;
            scores[c][1] -= center * right;
        }
    }
}

/* For the points of a panel: the lowest score and whose it is, and the lowest of all others. */
typedef struct {
    double best[PANEL], next[PANEL], found[PANEL];
} winners;

/* The same for a strip. */
typedef struct {
    lanes best[2], next[2], found[2];
} strip_winners;

QCKM_INLINE void compare_group(
    strip_winners *w, const double *strip, int64_t n, const double *centers, const double *halves, int64_t first, int count)
{
    lanes scores[GROUP][2];
    score(strip, n, centers + first * n, halves + first, count, scores);
    QCKM_UNROLL
    for (int c = 0; c < count; c++) {
        QCKM_UNROLL
        for (int half = 0; half < 2; half++) {
            const lanes own = scores[c][half], best = w->best[half];
            w->next[half] = lower_of(w->next[half], higher_of(best, own));
            w->found[half] = where_less(own, best, all((double)(first + c)), w->found[half]);
            w->best[half] = lower_of(own, best);
        }
    }
}

static void compare_panel(
    winners *found, const double *panel, int64_t n, const double *centers, const double *halves, int64_t K)
{
    for (int at = 0; at < PANEL; at += STRIP) {
        strip_winners w;
        for (int half = 0; half < 2; half++) {
            w.best[half] = w.next[half] = all((double)INFINITY);
            w.found[half] = all(0);
        }
        int64_t k = 0;
        for (; k + GROUP <= K; k += GROUP) {
            compare_group(&w, panel + at, n, centers, halves, k, GROUP);
        }
        for (; k < K; k++) {
            compare_group(&w, panel + at, n, centers, halves, k, 1);
        }
        for (int half = 0; half < 2; half++) {
            put_lanes(found->best + at + half * LANES, w.best[half]);
            put_lanes(found->next + at + half * LANES, w.next[half]);
            put_lanes(found->found + at + half * LANES, w.found[half]);
        }
    }
}

/* Half the squared norms of vectors (count, n). */
static void halve_norms(const double *vectors, int64_t count, int64_t n, double *halves)
{
    for (int64_t k = 0; k < count; k++) {
        halves[k] = squares_of(vectors + k * n, NULL, n) / 2;
    }
}

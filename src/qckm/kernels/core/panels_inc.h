/*
 * Squared distances of many points to many centres, in registers.
 *
 * Points stand side by side in panels of PANEL, feature by feature. A score is |c|^2 / 2 - x c: the squared distance is
 * |x|^2 and twice that. Centres near the points' mean lose no digits by it, which callers see to.
 */
#include "lanes.h"

enum { PANEL = 2 * LANES, GROUP = 4 }; /* points of a panel, centres that share its loads */

INLINE lanes all(double number)
{
    return number - (lanes){0};
}

INLINE lanes lanes_at(const double *from)
{
    lanes vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

/* Score `count` centres, up to GROUP of them. */
INLINE void score(
    const double *panel, int64_t n, const double *centers, const double *halves, int count, lanes scores[GROUP][2])
{
    UNROLL
    for (int c = 0; c < count; c++) {
        scores[c][0] = scores[c][1] = all(halves[c]);
    }
    for (int64_t j = 0; j < n; j++) {
        const lanes left = lanes_at(panel + j * PANEL), right = lanes_at(panel + j * PANEL + LANES);
        UNROLL
        for (int c = 0; c < count; c++) {
            const lanes center = all(centers[c * n + j]);
            scores[c][0] -= center * left;
            scores[c][1] -= center * right;
        }
    }
}

/* For the points of a panel: the lowest score and whose it is, and the lowest of all others. */
typedef struct {
    lanes best[2], next[2], found[2];
} winners;

INLINE void compare_group(
    winners *w, const double *panel, int64_t n, const double *centers, const double *halves, int64_t first, int count)
{
    lanes scores[GROUP][2];
    score(panel, n, centers + first * n, halves + first, count, scores);
    UNROLL
    for (int c = 0; c < count; c++) {
        UNROLL
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
    winners w;
    for (int half = 0; half < 2; half++) {
        w.best[half] = w.next[half] = all((double)INFINITY);
        w.found[half] = all(0);
    }
    int64_t k = 0;
    for (; k + GROUP <= K; k += GROUP) {
        compare_group(&w, panel, n, centers, halves, k, GROUP);
    }
    for (; k < K; k++) {
        compare_group(&w, panel, n, centers, halves, k, 1);
    }
    *found = w;
}

/* Half the squared norms of vectors (count, n). */
static void halve_norms(const double *vectors, int64_t count, int64_t n, double *halves)
{
    for (int64_t k = 0; k < count; k++) {
        halves[k] = dot(vectors + k * n, vectors + k * n, n) / 2;
    }
}

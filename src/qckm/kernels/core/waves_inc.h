/*
 * What clusters contribute to a sketch, and the derivatives of its misfit; decoding/model/waves.py has the formulas.
 *
 * A block of frequencies at a time goes through all of it, so that nothing leaves the cache; harmonics are unrolled,
 * and loops over frequencies become vector instructions.
 */

enum { BLOCK = 256 };

/* Add the products of a few features of one row or two, (rows, n), with their frequencies to rows of a block. */
QCKM_INLINE void project_tile(const double *restrict f, int64_t m, int64_t width, int rows, int features, const double *x,
    int64_t n, double *restrict to)
{
    const double *y = rows == 2 ? x + n : x;
    double *restrict next = to + BLOCK;
    double a[4] = {0}, b[4] = {0};
    for (int i = 0; i < features; i++) {
        a[i] = x[i];
        b[i] = y[i];
    }
    for (int64_t j = 0; j < width; j++) {
        double first = to[j], second = rows == 2 ? next[j] : 0;
        QCKM_UNROLL
        for (int i = 0; i < features; i++) {
            first += a[i] * f[i * m + j];
            second += b[i] * f[i * m + j];
        }
        to[j] = first;
        if (rows == 2) {
            next[j] = second;
        }
    }
}

/*
 * Add the products of one row of a block, or two, with the frequencies of a few features to these, (rows, n): the order of sums is
 * that of `dot`. Where vectors are narrower than eight, some of the running sums are made at a time, for all products.
 */
QCKM_INLINE void pull_tile(const double *restrict f, int64_t m, int64_t width, int rows, int features,
    const double *restrict x, int64_t n, double *to)
{
    const int64_t whole = width - width % SUMS;
    double sums[2][4][SUMS];
    for (int part = 0; part < SUMS; part += LANES) {
        lanes running[2][4] = {{{0}}};
        for (int64_t j = part; j < whole; j += SUMS) {
            const lanes first = lanes_at(x + j), second = rows == 2 ? lanes_at(x + BLOCK + j) : first;
            QCKM_UNROLL
            for (int i = 0; i < features; i++) {
                const lanes frequencies = lanes_at(f + i * m + j);
                running[0][i] += first * frequencies;
                running[1][i] += second * frequencies;
            }
        }
        QCKM_UNROLL
        for (int i = 0; i < features; i++) {
            put_lanes(&sums[0][i][part], running[0][i]);
            put_lanes(&sums[1][i][part], running[1][i]);
        }
    }
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < features; i++) {
            for (int64_t j = whole; j < width; j++) {
                sums[row][i][j - whole] += x[row * BLOCK + j] * f[i * m + j];
            }
            to[row * n + i] += in_pairs(sums[row][i], SUMS);
        }
    }
}

/* Features outside, so that their frequencies stay in the cache for all rows. */
#define QCKM_EACH_TILE(tile, from, from_row, from_feature, to, to_row, to_feature) \
    for (int64_t i = 0, taken; i < waves->n; i += taken) { \
        const double *f = waves->frequencies + i * waves->m + start; \
        taken = least(4, waves->n - i); \
        for (int64_t k = 0; k < count; k += 2) { \
            const double *x = from + k * from_row + i * from_feature; \
            double *y = to + k * to_row + i * to_feature; \
            switch (2 * taken + (k + 1 < count)) { \
            case 9: tile(f, waves->m, width, 2, 4, x, waves->n, y); break; \
            case 8: tile(f, waves->m, width, 1, 4, x, waves->n, y); break; \
            case 7: tile(f, waves->m, width, 2, 3, x, waves->n, y); break; \
            case 6: tile(f, waves->m, width, 1, 3, x, waves->n, y); break; \
            case 5: tile(f, waves->m, width, 2, 2, x, waves->n, y); break; \
            case 4: tile(f, waves->m, width, 1, 2, x, waves->n, y); break; \
            case 3: tile(f, waves->m, width, 2, 1, x, waves->n, y); break; \
            default: tile(f, waves->m, width, 1, 1, x, waves->n, y); break; \
            } \
        } \
    }

/* Add the products of rows (count, n) with a block of the frequencies to rows (count, BLOCK). */
static void project(const qckm_waves *waves, int64_t start, int64_t width, const double *rows, int64_t count, double *out)
{
    QCKM_EACH_TILE(project_tile, rows, waves->n, 1, out, BLOCK, 0)
}

/* Add the products of rows (count, BLOCK) with a block of the transposed frequencies to rows (count, n). */
static void pull_back(const qckm_waves *waves, int64_t start, int64_t width, const double *rows, int64_t count, double *out)
{
    QCKM_EACH_TILE(pull_tile, rows, BLOCK, 0, out, waves->n, 1)
}

/* Where a block is worked on: (K, BLOCK) each, `along` (K r, BLOCK), the residual (2, BLOCK). */
typedef struct {
    double *sine, *cosine, *damping, *along, *residual;
} room;

static int64_t room_size(int64_t K, int64_t r)
{
    return (3 * K + K * r + 2) * BLOCK;
}

static room lay_out(double *memory, int64_t K, int64_t r)
{
    const room parts = {memory, memory + K * BLOCK, memory + 2 * K * BLOCK, memory + 3 * K * BLOCK,
        memory + (3 * K + K * r) * BLOCK};
    return parts;
}

/* Sine and cosine of the phases of clusters, their damping e^-b, and omega v of their axes, at a block of frequencies. */
static void spread_out(const qckm_waves *waves, const qckm_clusters *clusters, int64_t start, int64_t width, const room *at)
{
    const int64_t K = clusters->K, r = clusters->r;
    for (int64_t k = 0; k < K; k++) {
        memcpy(at->sine + k * BLOCK, waves->phases + start, (size_t)width * sizeof(double));
    }
    project(waves, start, width, clusters->points, K, at->sine);
    memset(at->along, 0, (size_t)(K * r * BLOCK) * sizeof(double));
    project(waves, start, width, clusters->axes, K * r, at->along);
    for (int64_t k = 0; k < K; k++) {
        double *restrict sine = at->sine + k * BLOCK, *restrict cosine = at->cosine + k * BLOCK;
        double *restrict damping = at->damping + k * BLOCK;
        const double *restrict halves = waves->halves + start;
        const double tau = clusters->widths[k];
        for (int64_t j = 0; j < width; j++) {
            sine_cosine(sine[j], &sine[j], &cosine[j]);
        }
        if (tau == 0 && r == 0) { /* points, as the paper has them, are not blurred */
            for (int64_t j = 0; j < width; j++) {
                damping[j] = 1;
            }
            continue;
        }
        for (int64_t j = 0; j < width; j++) {
            damping[j] = tau * halves[j];
        }
        for (int64_t i = k * r; i < k * r + r; i++) {
            const double *restrict along = at->along + i * BLOCK;
            for (int64_t j = 0; j < width; j++) {
                damping[j] += 0.5 * (along[j] * along[j]);
            }
        }
        for (int64_t j = 0; j < width; j++) {
            damping[j] = decay(damping[j]);
        }
    }
}

/* What leads from a harmonic to the next: a rotation, and the ratio of their dampings with its own ratio. */
typedef struct {
    double s, c, ratio, grow;
} turn;

QCKM_INLINE turn turn_of(double s, double c, double e, int step)
{
    const double squared = e * e, fourth = squared * squared;
    if (step == 2) {
        return (turn){2 * s * c, c * c - s * s, fourth * fourth, fourth * fourth};
    }
    return (turn){s, c, squared * e, squared};
}

QCKM_INLINE void rotate(const turn *by, double *s, double *c)
{
    const double old = *c;
    *c = old * by->c - *s * by->s;
    *s = *s * by->c + old * by->s;
}

/* Add an atom, as often as its weight says, to a block of both measurements. */
QCKM_INLINE void add_harmonics(const double *restrict A, int count, int step, double weight, int64_t width, const double *restrict sine,
    const double *restrict cosine, const double *restrict damping, double *restrict first, double *restrict second)
{
    for (int64_t j = 0; j < width; j++) {
        double s = sine[j], c = cosine[j], e = damping[j], p = 0, q = 0;
        turn by = turn_of(s, c, e, step);
        QCKM_UNROLL
        for (int h = 0; h < count; h++) {
            p += e * (A[4 * h] * c - A[4 * h + 1] * s);
            q += e * (A[4 * h + 2] * c - A[4 * h + 3] * s);
            rotate(&by, &s, &c);
            e *= by.ratio;
            by.ratio *= by.grow;
        }
        first[j] += weight * p;
        second[j] += weight * q;
    }
}

/* An atom's products with a residual replace the cosine; its derivatives by phase and blur the sine and the damping. */
QCKM_INLINE void derive_harmonics(const double *restrict A, int count, int step, int64_t width, double *restrict sine,
    double *restrict cosine, double *restrict damping, const double *restrict first, const double *restrict second)
{
    for (int64_t j = 0; j < width; j++) {
        double s = sine[j], c = cosine[j], e = damping[j], product = 0, turned = 0, blurred = 0;
        turn by = turn_of(s, c, e, step);
        QCKM_UNROLL
        for (int h = 0; h < count; h++) {
            const double order = 1.0 + h * step;
            /* Both measurements are multiplied by their residuals at once. */
            const double a = e * (A[4 * h] * first[j] + A[4 * h + 2] * second[j]);
            const double b = e * (A[4 * h + 1] * first[j] + A[4 * h + 3] * second[j]);
            const double u = a * c - b * s;
            product += u;
            blurred -= order * order * u;
            turned -= order * (a * s + b * c);
            rotate(&by, &s, &c);
            e *= by.ratio;
            by.ratio *= by.grow;
        }
        cosine[j] = product;
        sine[j] = turned;
        damping[j] = blurred;
    }
}

/* The usual numbers of harmonics (waves.py) have loops of their own. */
#define QCKM_EACH_COUNT(waves, call) \
    const int step = (int)(waves)->step, count = (int)(waves)->n_harmonics; \
    if (count == 1) { \
        call(1, 1); \
    } else if (count == 4 && step == 2) { \
        call(4, 2); \
    } else if (count == 12 && step == 2) { \
        call(12, 2); \
    } else if (count == 12 && step == 1) { \
        call(12, 1); \
    } else { \
        call(count, step); \
    }

static void add_atom(const qckm_waves *waves, const room *at, int64_t k, double weight, int64_t width, double *first, double *second)
{
    const double *sine = at->sine + k * BLOCK, *cosine = at->cosine + k * BLOCK, *damping = at->damping + k * BLOCK;
#define QCKM_ADD(count, step) add_harmonics(waves->harmonics, count, step, weight, width, sine, cosine, damping, first, second)
    QCKM_EACH_COUNT(waves, QCKM_ADD)
#undef QCKM_ADD
}

static double derive(const qckm_waves *waves, const room *at, int64_t k, int64_t width)
{
    double *sine = at->sine + k * BLOCK, *cosine = at->cosine + k * BLOCK, *damping = at->damping + k * BLOCK;
    const double *first = at->residual, *second = at->residual + BLOCK;
#define QCKM_DERIVE(count, step) derive_harmonics(waves->harmonics, count, step, width, sine, cosine, damping, first, second)
    QCKM_EACH_COUNT(waves, QCKM_DERIVE)
#undef QCKM_DERIVE
    return sum_of(cosine, width);
}

/* The atoms (K, 2, m) of clusters. */
static int atoms(const qckm_waves *waves, const qckm_clusters *clusters, double *out)
{
    const int64_t K = clusters->K, m = waves->m;
    double *memory = allocate(room_size(K, clusters->r));
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    const room at = lay_out(memory, K, clusters->r);
    memset(out, 0, (size_t)(2 * K * m) * sizeof(double));
    for (int64_t start = 0; start < m; start += BLOCK) {
        const int64_t width = least(BLOCK, m - start);
        spread_out(waves, clusters, start, width, &at);
        for (int64_t k = 0; k < K; k++) {
            double *first = out + 2 * k * m + start;
            add_atom(waves, &at, k, 1.0, width, first, first + m);
        }
    }
    free(memory);
    return 0;
}

/* What a block leaves unexplained, z subtracted; its square is returned. */
static double leave(const qckm_waves *waves, const qckm_clusters *clusters, int64_t start, int64_t width, const room *at)
{
    double *restrict first = at->residual, *restrict second = at->residual + BLOCK;
    for (int64_t j = 0; j < width; j++) {
        first[j] = -waves->z[start + j];
        second[j] = -waves->z[waves->m + start + j];
    }
    for (int64_t k = 0; k < clusters->K; k++) {
        add_atom(waves, at, k, clusters->weights[k], width, first, second);
    }
    return dot(first, first, width) + dot(second, second, width);
}

/* |z - sum of weighted atoms|^2, with its derivatives. */
static double misfit_in(
    const qckm_waves *waves, const qckm_clusters *clusters, const qckm_slopes *slopes, double *memory)
{
    const int64_t K = clusters->K, r = clusters->r, n = waves->n;
    const room at = lay_out(memory, K, r);
    double value = 0;
    memset(slopes->points, 0, (size_t)(K * n) * sizeof(double));
    memset(slopes->weights, 0, (size_t)K * sizeof(double));
    memset(slopes->widths, 0, (size_t)K * sizeof(double));
    memset(slopes->axes, 0, (size_t)(K * r * n) * sizeof(double));
    for (int64_t start = 0; start < waves->m; start += BLOCK) {
        const int64_t width = least(BLOCK, waves->m - start);
        const double *restrict halves = waves->halves + start;
        spread_out(waves, clusters, start, width, &at);
        value += leave(waves, clusters, start, width, &at);
        for (int64_t k = 0; k < K; k++) {
            double *restrict sine = at.sine + k * BLOCK, *restrict damping = at.damping + k * BLOCK;
            const double factor = 2 * clusters->weights[k];
            slopes->weights[k] += 2 * derive(waves, &at, k, width);
            for (int64_t j = 0; j < width; j++) {
                sine[j] *= factor;
                damping[j] *= factor;
            }
            slopes->widths[k] += dot(damping, halves, width);
            for (int64_t i = k * r; i < k * r + r; i++) {
                double *restrict along = at.along + i * BLOCK;
                for (int64_t j = 0; j < width; j++) {
                    along[j] *= damping[j];
                }
            }
        }
        pull_back(waves, start, width, at.sine, K, slopes->points);
        pull_back(waves, start, width, at.along, K * r, slopes->axes);
    }
    return value;
}

static int misfit(const qckm_waves *waves, const qckm_clusters *clusters, const qckm_slopes *slopes, double *value)
{
    double *memory = allocate(room_size(clusters->K, clusters->r));
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    *value = misfit_in(waves, clusters, slopes, memory);
    free(memory);
    return 0;
}

/* Points that look for a residual through the first harmonic: many climbing at once, or one matched exactly. */

/* The values, and slopes, of sum of a cos T - b sin T at points (S, n). */
static void correlate(const qckm_waves *waves, const qckm_ascent *ascent, const double *a, const double *b, double *rows)
{
    const int64_t S = ascent->S;
    memset(ascent->values, 0, (size_t)S * sizeof(double));
    memset(ascent->slopes, 0, (size_t)(S * waves->n) * sizeof(double));
    for (int64_t start = 0; start < waves->m; start += BLOCK) {
        const int64_t width = least(BLOCK, waves->m - start);
        const double *restrict x = a + start, *restrict y = b + start;
        for (int64_t i = 0; i < S; i++) {
            memcpy(rows + i * BLOCK, waves->phases + start, (size_t)width * sizeof(double));
        }
        project(waves, start, width, ascent->points, S, rows);
        for (int64_t i = 0; i < S; i++) {
            double *restrict row = rows + i * BLOCK, heard[BLOCK];
            for (int64_t j = 0; j < width; j++) {
                double s, c;
                sine_cosine(row[j], &s, &c);
                heard[j] = x[j] * c - y[j] * s;
                row[j] = -x[j] * s - y[j] * c;
            }
            ascent->values[i] += sum_of(heard, width);
        }
        pull_back(waves, start, width, rows, S, ascent->slopes);
    }
}

/*
 * Climb to where the first harmonic correlates with a damped residual. Steps have a length of their own, shorter and
 * shorter, whatever the slope; and momentum.
 */
static int ascend(const qckm_waves *waves, const qckm_ascent *ascent)
{
    const int64_t S = ascent->S, n = waves->n, m = waves->m;
    double *memory = allocate(2 * m + S * BLOCK + S * n), stride = ascent->stride;
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    double *a = memory, *b = a + m, *rows = b + m, *velocity = rows + S * BLOCK;
    const double *A = waves->harmonics, *first = ascent->residual, *second = first + m;
    for (int64_t j = 0; j < m; j++) {
        a[j] = ascent->damping[j] * (A[0] * first[j] + A[2] * second[j]);
        b[j] = ascent->damping[j] * (A[1] * first[j] + A[3] * second[j]);
    }
    memset(velocity, 0, (size_t)(S * n) * sizeof(double));
    correlate(waves, ascent, a, b, rows);
    for (int64_t step = 0; step < ascent->steps; step++, stride *= 0.85) {
        for (int64_t i = 0; i < S; i++) {
            const double *slope = ascent->slopes + i * n;
            const double pull = 0.4 / sqrt(squares_of(slope, NULL, n) + 1e-300);
            for (int64_t d = 0; d < n; d++) {
                double *const moved = ascent->points + i * n + d, *const speed = velocity + i * n + d;
                *speed = 0.6 * *speed + pull * slope[d];
                *moved = within(*moved + stride * *speed, ascent->lower[d], ascent->upper[d]);
            }
        }
        correlate(waves, ascent, a, b, rows);
    }
    free(memory);
    return 0;
}

/*
 * <a, z> / |a| of the atom a of a point, a pure tone of no width, and its derivatives
 *
 *     d(<a, z> / |a|) = (<a', z> - <a, z> / |a|^2 <a', a>) / |a|.
 *
 * In a paired sketch |a| is constant and the second part vanishes. Both are added up at once.
 */
static double correlation_in(const qckm_waves *waves, const double *point, double *slopes, double *memory)
{
    const double *A = waves->harmonics;
    const int64_t n = waves->n, m = waves->m;
    double *restrict by_product = memory, *restrict by_square = memory + BLOCK, *both = memory + 2 * BLOCK;
    double product = 0, square = 0, heard[BLOCK], squares[BLOCK];
    memset(both, 0, (size_t)(2 * n) * sizeof(double));
    for (int64_t start = 0; start < m; start += BLOCK) {
        const int64_t width = least(BLOCK, m - start);
        const double *restrict first = waves->z + start, *restrict second = waves->z + m + start;
        memcpy(by_product, waves->phases + start, (size_t)width * sizeof(double));
        project(waves, start, width, point, 1, by_product);
        for (int64_t j = 0; j < width; j++) {
            double s, c;
            sine_cosine(by_product[j], &s, &c);
            const double x = A[0] * c - A[1] * s, y = A[2] * c - A[3] * s;
            const double turned_x = -A[0] * s - A[1] * c, turned_y = -A[2] * s - A[3] * c;
            heard[j] = x * first[j] + y * second[j];
            squares[j] = x * x + y * y;
            by_product[j] = turned_x * first[j] + turned_y * second[j];
            by_square[j] = turned_x * x + turned_y * y;
        }
        product += sum_of(heard, width);
        square += sum_of(squares, width);
        pull_back(waves, start, width, memory, 2, both);
    }
    const double norm = sqrt(square);
    for (int64_t d = 0; d < n; d++) {
        slopes[d] = (both[d] - product / square * both[n + d]) / norm;
    }
    return product / norm;
}

static int correlation(const qckm_waves *waves, const double *point, double *slopes, double *value)
{
    double *memory = allocate(2 * BLOCK + 2 * waves->n);
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    *value = correlation_in(waves, point, slopes, memory);
    free(memory);
    return 0;
}

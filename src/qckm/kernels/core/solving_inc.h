/* Systems of linear equations, and what symmetric matrices stretch: small ones, in one order of sums. */

/*
 * The factor L of a symmetric matrix L L', of whose entries the lower half is looked at, and x of L L' x = b for each of some b.
 * Return 1 where the matrix is not positive definite.
 */
static int solve(const qckm_system *system)
{
    const int64_t n = system->size;
    double *L = system->factor;
    memset(L, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const double left = system->matrix[i * n + j] - dot(L + i * n, L + j * n, j);
            if (j == i && !(left > 0 && left < (double)INFINITY)) {
                return 1;
            }
            L[i * n + j] = j == i ? sqrt(left) : left / L[j * n + j];
        }
    }
    for (int64_t v = 0; v < system->count; v++) {
        double *x = system->vectors + v * n;
        for (int64_t i = 0; i < n; i++) {
            x[i] = (x[i] - dot(L + i * n, x, i)) / L[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            x[i] /= L[i * n + i];
            add(x, -x[i], L + i * n, i);
        }
    }
    return 0;
}

/* sqrt(a^2 + b^2), whatever their sizes. */
QCKM_INLINE double hypotenuse(double a, double b)
{
    const double most = fabs(a) > fabs(b) ? fabs(a) : fabs(b), least_of_both = fabs(a) > fabs(b) ? fabs(b) : fabs(a);
    const double share = most > 0 ? least_of_both / most : 0;
    return most * sqrt(1 + share * share);
}

/*
 * Bring a symmetric matrix A (n, n) to three diagonals by reflections I - beta v v', each of which clears a column below its
 * neighbour; `turned` becomes the product of all of them, the last first. A is used up.
 */
static void make_tridiagonal(double *A, int64_t n, double *diagonal, double *beside, double *turned, double *memory)
{
    double *betas = memory, *p = memory + n;
    for (int64_t k = 0; k < n; k++) {
        diagonal[k] = A[k * n + k];
        double *v = A + k * n + k + 1; /* the row is the column, and is not needed any more: v stays there */
        const int64_t size = n - k - 1;
        betas[k] = 0;
        beside[k] = size ? v[0] : 0;
        if (size < 2) {
            continue;
        }
        double most = 0;
        for (int64_t i = 1; i < size; i++) {
            most = fabs(v[i]) > most ? fabs(v[i]) : most;
        }
        if (most == 0) {
            continue;
        }
        most = fabs(v[0]) > most ? fabs(v[0]) : most;
        for (int64_t i = 0; i < size; i++) { /* of size 1, so that no square is too small or too large */
            v[i] /= most;
        }
        const double length = v[0] > 0 ? -sqrt(dot(v, v, size)) : sqrt(dot(v, v, size));
        beside[k] = most * length;
        v[0] -= length;
        betas[k] = 2 / dot(v, v, size);
        for (int64_t i = 0; i < size; i++) {
            p[i] = betas[k] * dot(A + (k + 1 + i) * n + k + 1, v, size);
        }
        const double half = betas[k] / 2 * dot(p, v, size);
        for (int64_t i = 0; i < size; i++) {
            p[i] -= half * v[i];
        }
        for (int64_t i = 0; i < size; i++) {
            add(A + (k + 1 + i) * n + k + 1, -v[i], p, size);
            add(A + (k + 1 + i) * n + k + 1, -p[i], v, size);
        }
    }
    memset(turned, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t k = n - 1; k >= 0; k--) {
        turned[k * n + k] = 1;
        const double *v = A + k * n + k + 1;
        for (int64_t i = k + 1; i < n && betas[k] != 0; i++) {
            double *row = turned + i * n + k + 1;
            add(row, -betas[k] * dot(row, v, n - k - 1), v, n - k - 1);
        }
    }
}

/*
 * The eigenvalues of a matrix of three diagonals by QL steps with shifts, its rotations applied to pairs of rows of `turned`,
 * which become the eigenvectors. Return 1 where that does not end.
 */
static int rotate_to_rest(int64_t n, double *d, double *e, double *turned)
{
    for (int64_t l = 0; l < n; l++) {
        for (int turn = 0;; turn++) {
            int64_t m = l;
            while (m + 1 < n && fabs(e[m]) > 2.2204460492503131e-16 * (fabs(d[m]) + fabs(d[m + 1]))) {
                m++;
            }
            if (m == l) {
                break;
            }
            if (turn == 60) {
                return 1;
            }
            double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypotenuse(g, 1), s = 1, c = 1, p = 0;
            g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
            int64_t i = m - 1;
            for (; i >= l; i--) {
                const double f = s * e[i], b = c * e[i];
                r = hypotenuse(f, g);
                e[i + 1] = r;
                if (r == 0) {
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                double *restrict upper = turned + i * n, *restrict lower = upper + n;
                for (int64_t k = 0; k < n; k++) {
                    const double first = upper[k], second = lower[k];
                    lower[k] = s * first + c * second;
                    upper[k] = c * first - s * second;
                }
            }
            if (i < l) {
                d[l] -= p;
                e[l] = g;
                e[m] = 0;
            }
        }
    }
    return 0;
}

/* Eigenvalues, rising, and their vectors (rows), of which the largest component is positive; 1 where they are not found. */
static int find_spectrum(const qckm_spectrum *spectrum)
{
    const int64_t n = spectrum->size;
    double *A = allocate(2 * n * n + 4 * n), *turned = A + n * n, *d = turned + n * n, *e = d + n;
    if (!A) {
        return QCKM_NO_MEMORY;
    }
    memcpy(A, spectrum->matrix, (size_t)(n * n) * sizeof(double));
    make_tridiagonal(A, n, d, e, turned, e + n);
    if (rotate_to_rest(n, d, e, turned)) {
        free(A);
        return 1;
    }
    for (int64_t place = 0; place < n; place++) {
        int64_t lowest = -1;
        for (int64_t k = 0; k < n; k++) { /* those that were taken are no numbers */
            lowest = d[k] == d[k] && (lowest < 0 || d[k] < d[lowest]) ? k : lowest;
        }
        if (lowest < 0) {
            free(A);
            return 1;
        }
        const double *vector = turned + lowest * n;
        int64_t largest = 0;
        for (int64_t k = 1; k < n; k++) {
            largest = fabs(vector[k]) > fabs(vector[largest]) ? k : largest;
        }
        spectrum->values[place] = d[lowest];
        for (int64_t k = 0; k < n; k++) {
            spectrum->vectors[place * n + k] = vector[largest] < 0 ? -vector[k] : vector[k];
        }
        d[lowest] = (double)NAN;
    }
    free(A);
    return 0;
}

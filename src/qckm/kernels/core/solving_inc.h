/* Systems of linear equations: small ones, in one order of sums. */

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

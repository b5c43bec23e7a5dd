/*
 * The loops over floats in four threads at once, for ThreadSanitizer: all of them read the same rows and the same sketch,
 * write to arrays of their own, and must find what one thread alone finds, to the last bit; and with every instruction set the
 * same. The digest at the end is that of every CPU (tests/targets/test_core.py).
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder.h"

enum { N = 3, M = 130, P = 700, K = 5, TRIALS = 4, HARMONICS = 4, SIZE = K * (N + 1) + 1, THREADS = 4 };
enum { BITS = 301, BYTES = (BITS + 7) / 8, WORDS = (P + 31) / 32 * ((BITS + 31) / 32) * 32, VECTORS = 3 };

static double rows[P][N], weights[P], uniforms[1 + (K - 1) * TRIALS];
static double frequencies[N][M], phases[M], halves[M], harmonics[HARMONICS][4], z[2][M], low[SIZE], high[SIZE];
static double vectors[VECTORS][BITS], columns[N][P];
static float small[P][N];
static uint8_t bits[P][BYTES];

/* What a thread finds; where its numbers are doubles, they come first. */
typedef struct {
    double along[VECTORS][P], back[VECTORS][BITS];
    double gram[N][N], factor[N][N], solution[N];
    double exponentials[P], logarithms[P], sines[P], cosines[P], by_rows_of_small[P], by_columns_of_small[N];
    double centers[K][N], squares[P], x[SIZE], widths[K], inertia, value, misfit;
    double by_points[K][N], by_weights[K], by_widths[K];
    int64_t chosen[K];
    int32_t labels[P], nearest[P];
    uint32_t by_rows[WORDS], by_columns[WORDS];
} job;

/* A digest of doubles that does not depend on the order of bytes. */
static uint64_t digest(const double *numbers, size_t count)
{
    uint64_t found = UINT64_C(0xCBF29CE484222325), bits_of_one;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits_of_one, &numbers[i], sizeof bits_of_one);
        found = (found ^ bits_of_one) * UINT64_C(0x100000001B3);
        found ^= found >> 29;
    }
    return found;
}

static double next_random(void)
{
    static uint32_t state = 1;
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (double)(state >> 8) / (1 << 24);
}

static void *work(void *argument)
{
    job *mine = argument;
    const qckm_points points = {P, N, &rows[0][0], weights};
    const qckm_choice choice = {K, TRIALS, uniforms, mine->chosen};
    const qckm_rows at = {(const char *)rows, P, sizeof rows[0], sizeof rows[0][0], QCKM_FLOAT64};
    const qckm_waves waves = {N, M, HARMONICS, 1, &frequencies[0][0], phases, halves, &harmonics[0][0], &z[0][0]};
    const qckm_rules rules = {20, 5, 1e-6, 1e-9, 1e-9};
    const qckm_fitting fitting = {K, 0, 1, 0.0, mine->widths};
    qckm_descent descent = {SIZE, mine->x, low, high, 0, 0};
    qckm_lloyd run = {K, 20, 0, &mine->centers[0][0], mine->labels, 0, 0};
    if (qckm_plus_plus(&points, &choice)) {
        abort();
    }
    for (int k = 0; k < K; k++) {
        memcpy(mine->centers[k], rows[mine->chosen[k]], sizeof rows[0]);
        memcpy(mine->x + k * N, rows[mine->chosen[k]], sizeof rows[0]);
        mine->x[K * N + k] = 1.0 / K;
        mine->widths[k] = 0.1;
    }
    mine->x[SIZE - 1] = 0.1;
    if (qckm_lloyd_run(&points, &run) || qckm_nearest(&at, N, run.centers, K, mine->nearest, mine->squares)
        || qckm_fit(&waves, &fitting, &rules, &descent)) {
        abort();
    }
    const qckm_clusters clusters = {K, 0, mine->x, mine->x + K * N, mine->widths, NULL};
    const qckm_slopes slopes = {&mine->by_points[0][0], mine->by_weights, mine->by_widths, NULL};
    if (qckm_misfit(&waves, &clusters, &slopes, &mine->misfit)) {
        abort();
    }
    const qckm_packing packing = {P, BYTES, BITS, BITS, &bits[0][0], NULL, mine->by_rows, mine->by_columns};
    const qckm_signs by_rows = {P, BITS, mine->by_rows}, by_columns = {BITS, P, mine->by_columns};
    const qckm_products along = {0, P, VECTORS, &vectors[0][0], &mine->along[0][0]};
    const qckm_products back = {0, BITS, VECTORS, &mine->along[0][0], &mine->back[0][0]};
    if (qckm_pack_signs(&packing) || qckm_multiply_signs(&by_rows, &along) || qckm_multiply_signs(&by_columns, &back)) {
        abort();
    }
    const qckm_matrices square = {N, P, N, &columns[0][0], &rows[0][0], &mine->gram[0][0]};
    const qckm_system system = {N, 1, &mine->gram[0][0], &mine->factor[0][0], mine->solution};
    const qckm_mapping maps[] = {{P, QCKM_EXP, weights, mine->exponentials}, {P, QCKM_LOG, weights, mine->logarithms},
        {P, QCKM_SINE, weights, mine->sines}, {P, QCKM_COSINE, weights, mine->cosines}};
    const qckm_values values = {P, N, QCKM_FLOAT32, 0.5, small};
    const qckm_products of_rows = {0, P, 1, rows[0], mine->by_rows_of_small};
    const qckm_products of_columns = {0, N, 1, weights, mine->by_columns_of_small};
    mine->solution[0] = 1;
    if (qckm_multiply(&square) || qckm_solve(&system) || qckm_map(&maps[0])
        || qckm_map(&maps[1]) || qckm_map(&maps[2]) || qckm_map(&maps[3]) || qckm_multiply_values(&values, &of_rows)
        || qckm_multiply_columns_of_values(&values, &of_columns)) {
        abort();
    }
    mine->inertia = run.inertia;
    mine->value = descent.value;
    return NULL;
}

int main(void)
{
    static const char *const names[] = {"avx512vnni", "avx512", "avx2", "ssse3", "neon", "plain"};
    static job alone, shared[THREADS];
    pthread_t threads[THREADS];
    uint64_t found = 0;
    int wrong = 0;
    for (int i = 0; i < P * N; i++) {
        rows[i / N][i % N] = columns[i % N][i / N] = next_random() + (double)(i % 5);
        small[i / N][i % N] = (float)next_random();
        weights[i / N] = next_random();
    }
    for (size_t i = 0; i < sizeof uniforms / sizeof *uniforms; i++) {
        uniforms[i] = next_random();
    }
    for (int j = 0; j < M; j++) {
        phases[j] = 6 * next_random();
        for (int k = 0; k < N; k++) {
            frequencies[k][j] = next_random() - 0.5;
            halves[j] += frequencies[k][j] * frequencies[k][j] / 2;
        }
        z[0][j] = next_random() - 0.5;
        z[1][j] = next_random() - 0.5;
    }
    for (int h = 0; h < HARMONICS; h++) {
        harmonics[h][0] = harmonics[h][3] = 0.6 / (1 + h * h);
    }
    for (int i = 0; i < SIZE; i++) {
        low[i] = i < K * N ? -1 : 1e-3;
        high[i] = 6;
    }
    for (int i = 0; i < P * BYTES; i++) {
        bits[i / BYTES][i % BYTES] = (uint8_t)(256 * next_random());
    }
    for (int i = 0; i < VECTORS * BITS; i++) {
        vectors[i / BITS][i % BITS] = next_random() - 0.5;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (qckm_use(names[i])) {
            memset(&alone, 0, sizeof alone);
            memset(shared, 0, sizeof shared);
            work(&alone);
            for (int t = 0; t < THREADS; t++) {
                pthread_create(&threads[t], NULL, work, &shared[t]);
            }
            int same = 1;
            for (int t = 0; t < THREADS; t++) {
                pthread_join(threads[t], NULL);
                same &= !memcmp(&alone, &shared[t], sizeof alone);
            }
            const uint64_t now = digest(&alone.along[0][0], offsetof(job, chosen) / sizeof(double));
            same &= found == 0 || found == now;
            found = now;
            printf("%s, loops over floats: %s\n", names[i], same ? "same" : "WRONG");
            wrong |= !same;
        }
    }
    printf("digest %016" PRIx64 "\n", found);
    return wrong;
}

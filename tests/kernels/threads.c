/*
 * Threads that share a kernel, for ThreadSanitizer: four of them ask for the instruction set, sum and encode parts of the
 * same rows and count their bits, all at once; together they must find what one thread alone finds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

enum { N = 5, M = 203, ROWS = 1200, THREADS = 4, WIDTH = (2 * M + 7) / 8, SIZE = 128 };

static float data[ROWS][N];
static int16_t frequencies[N * M], table[4096];
static int32_t dither[M], factors[N], radii[M];
static int8_t signs[2 * 3 * SIZE];
static double inverse_steps[N], origin_codes[N];
static qckm_kernel *kernel; /* shared */
static uint8_t bits[ROWS][WIDTH]; /* each thread writes rows of its own */

typedef struct {
    int64_t first, rows, total[2 * M], ones[8 * WIDTH];
    double lower[N], upper[N];
} job;

static void *work(void *argument)
{
    job *mine = argument;
    const qckm_rows rows = {(const char *)data[mine->first], mine->rows, sizeof data[0], sizeof(float), QCKM_FLOAT32};
    qckm_summary found = {mine->total, mine->lower, mine->upper, 0, 0, NULL, NULL, NULL};
    if (qckm_sum(kernel, &rows, NULL, &found) != -1 || found.count != mine->rows
        || qckm_encode(kernel, &rows, bits[mine->first], WIDTH) != -1
        || qckm_count_bits(bits[mine->first], WIDTH, mine->rows, WIDTH, mine->ones) || !qckm_instructions()) {
        abort();
    }
    return NULL;
}

static uint32_t next_random(void)
{
    static uint32_t state = 1;
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return state >> 16;
}

/* Whether threads find the sums of one thread alone. */
static int agree(const qckm_spec *spec)
{
    static job alone, shared[THREADS];
    pthread_t threads[THREADS];
    int same = 1;
    if (qckm_prepare(spec, &kernel)) {
        abort();
    }
    memset(&alone, 0, sizeof alone);
    memset(shared, 0, sizeof shared);
    alone.rows = ROWS;
    work(&alone);
    for (int t = 0; t < THREADS; t++) {
        shared[t].first = t * (ROWS / THREADS);
        shared[t].rows = ROWS / THREADS;
        pthread_create(&threads[t], NULL, work, &shared[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    for (int j = 0; j < 2 * M; j++) {
        int64_t total = 0, ones = 0;
        for (int t = 0; t < THREADS; t++) {
            total += shared[t].total[j];
            ones += shared[t].ones[j];
        }
        same &= total == alone.total[j] && ones == alone.ones[j] && total == ROWS - 2 * ones;
    }
    qckm_release(kernel);
    return same;
}

int main(void)
{
    static const char *const names[] = {"avx512vnni", "avx512", "avx2", "ssse3", "neon", "plain"};
    qckm_spec spec = {N, M, 1, QCKM_BITS, 1, 1, frequencies, dither, table, inverse_steps, origin_codes, 0, signs, factors, radii};
    int wrong = 0;
    for (int i = 0; i < ROWS * N; i++) {
        data[i / N][i % N] = (float)next_random() / 64;
    }
    for (int i = 0; i < N * M; i++) {
        frequencies[i] = (int16_t)next_random();
    }
    for (int i = 0; i < M; i++) {
        dither[i] = (int32_t)next_random() * 256;
        radii[i] = (int32_t)next_random();
    }
    for (int i = 0; i < 2 * 3 * SIZE; i++) {
        signs[i] = next_random() & 1 ? 1 : -1;
    }
    for (int k = 0; k < N; k++) {
        inverse_steps[k] = 1;
        factors[k] = 3;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (qckm_use(names[i])) {
            for (spec.size = 0; spec.size <= SIZE; spec.size += SIZE) {
                const int same = agree(&spec);
                printf("%s, %s frequencies: %s\n", names[i], spec.size ? "structured" : "dense", same ? "same" : "WRONG");
                wrong |= !same;
            }
        }
    }
    return wrong;
}

/* K-means on the device: keep a buffer of samples, run Lloyd's iterations on it, send the centroids and their counts. */
#include "cost.h"

#define K 5
#define KEPT 256
#define ITERATIONS 10

static int16_t kept[KEPT][N];
static int16_t centers[K][N];
static int32_t sums[K][N];
static uint16_t counts[K];
static uint16_t n_kept;

void start(void)
{
}

static void assign(const int16_t row[N])
{
    uint32_t least = UINT32_MAX;
    uint8_t nearest = 0, c, k;
    for (c = 0; c < K; c++) {
        uint32_t distance = 0;
        for (k = 0; k < N; k++) {
            const int32_t difference = (int32_t)row[k] - centers[c][k];
            distance += (uint32_t)(difference * difference) >> 2;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    counts[nearest]++;
    for (k = 0; k < N; k++) {
        sums[nearest][k] += row[k];
    }
}

static void cluster(void)
{
    uint16_t i;
    uint8_t c, k, iteration;
    for (c = 0; c < K; c++) {
        for (k = 0; k < N; k++) {
            centers[c][k] = kept[c * (KEPT / K)][k];
        }
    }
    for (iteration = 0; iteration < ITERATIONS; iteration++) {
        for (c = 0; c < K; c++) {
            counts[c] = 0;
            for (k = 0; k < N; k++) {
                sums[c][k] = 0;
            }
        }
        for (i = 0; i < KEPT; i++) {
            assign(kept[i]);
        }
        for (c = 0; c < K; c++) {
            for (k = 0; k < N && counts[c]; k++) {
                centers[c][k] = (int16_t)(sums[c][k] / counts[c]);
            }
        }
    }
}

void take(const int16_t row[N])
{
    uint8_t c, k;
    for (k = 0; k < N; k++) {
        kept[n_kept][k] = row[k];
    }
    if (++n_kept < KEPT) {
        return;
    }
    n_kept = 0;
    cluster();
    for (c = 0; c < K; c++) {
        for (k = 0; k < N; k++) {
            send_byte((uint8_t)((uint16_t)centers[c][k] & 0xFFu));
            send_byte((uint8_t)((uint16_t)centers[c][k] >> 8));
        }
        send_byte((uint8_t)(counts[c] & 0xFFu));
        send_byte((uint8_t)(counts[c] >> 8));
    }
}

void finish(void)
{
}

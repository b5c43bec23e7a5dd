/* CKM: the sum of exp(-i omega x) in single precision, by the C library's sine and cosine. */
#include <math.h>

#include "cost.h"
#include "frequencies.h" /* generated: M and static const float omega[N * M] */

static float real[M], imaginary[M];

void start(void)
{
}

void take(const int16_t row[N])
{
    uint16_t j;
    uint8_t k;
    for (j = 0; j < M; j++) {
        float phase = 0;
        for (k = 0; k < N; k++) {
            phase += OMEGA(N * j + k) * (float)row[k];
        }
        real[j] += cosf(phase);
        imaginary[j] -= sinf(phase);
    }
}

static void send_floats(const float *values)
{
    const uint8_t *bytes = (const uint8_t *)values;
    uint16_t i;
    for (i = 0; i < M * sizeof(float); i++) {
        send_byte(bytes[i]);
    }
}

void finish(void)
{
    send_floats(real);
    send_floats(imaginary);
}

/* What else is done with rows on a GPU: the nearest of some centroids, and the counting of bits. */

typedef long long int64;

/* The nearest centroid of each row, by differences in double precision, and the squared distance to it. */
template <typename number> __device__ void nearest(
    const number *x, int64 rows, int64 row_stride, int64 feature_stride, const double *centers, int clusters, int n, int *labels,
    double *squares)
{
    for (int64 r = blockIdx.x * (int64)blockDim.x + threadIdx.x; r < rows; r += gridDim.x * (int64)blockDim.x) {
        const number *const row = x + r * row_stride;
        double best = __longlong_as_double(0x7ff0000000000000LL);
        int found = 0;
        for (int k = 0; k < clusters; k++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++) {
                const double off = (double)row[j * feature_stride] - centers[(int64)k * n + j];
                sum += off * off;
            }
            if (sum < best) {
                best = sum;
                found = k;
            }
        }
        labels[r] = found;
        squares[r] = best;
    }
}

#define NEAREST(number, name)                                                                                              \
    extern "C" __global__ void name(                                                                                       \
        const number *x, int64 rows, int64 row_stride, int64 feature_stride, const double *centers, int clusters, int n,    \
        int *labels, double *squares)                                                                                      \
    {                                                                                                                      \
        nearest<number>(x, rows, row_stride, feature_stride, centers, clusters, n, labels, squares);                       \
    }

NEAREST(float, nearest_float32)
NEAREST(double, nearest_float64)

/*
 * Count the ones at each of the 8 positions of each byte of packed rows. A thread has one column of bytes: eight counters
 * of a byte each in two words, which are emptied before they overflow.
 */
extern "C" __global__ void count_bits(const unsigned char *bits, int64 rows, int width, unsigned long long *counts)
{
    const int column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= width)
        return;
    unsigned long long total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    const int64 height = (rows + gridDim.x - 1) / gridDim.x, last = min(rows, (blockIdx.x + 1) * height);
    for (int64 start = blockIdx.x * height; start < last; start += 255) {
        unsigned low = 0, high = 0;
        for (int64 r = start; r < min(last, start + 255); r++) {
            const unsigned byte = bits[r * width + column];
            low += (byte & 15u) * 0x00204081u & 0x01010101u; /* its four low bits, one in each byte */
            high += (byte >> 4) * 0x00204081u & 0x01010101u;
        }
        for (int i = 0; i < 4; i++) {
            total[i] += low >> (8 * i) & 255u;
            total[i + 4] += high >> (8 * i) & 255u;
        }
    }
    for (int i = 0; i < 8; i++)
        if (total[i])
            atomicAdd(counts + 8 * column + i, total[i]);
}

/*
 * Rows on a GPU to sums of their columns' codes, of the squares, and of the products of two columns: the integers of
 * kernels/portable.py.
 *
 * A block codes ROWS rows at a time into shared memory, of up to COLUMNS columns, and a column of ones behind them. Every
 * sum is then one of products of two columns, and belongs to one thread; where there are fewer sums than threads, groups of
 * them share the rows. cuda/totals.py says what the capitals stand for.
 */
typedef NUMBER number;
typedef long long int64;
typedef unsigned long long word;

#define LOW_BITS 20       /* of a weight, which has up to 40: a product times either half is below 2^50, ... */
#define TILES_BETWEEN 32  /* ... and the sum of so many tiles of 64 of them below 2^61 */

#if HALF == 1 /* number is the bits of a float16, here of a bfloat16 */
__device__ __forceinline__ double real_of(number x) { return (double)__uint_as_float((unsigned)x << 16); }
#elif HALF == 2
__device__ __forceinline__ double real_of(number x)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return (double)value;
}
#else
__device__ __forceinline__ double real_of(number x) { return (double)x; }
#endif

/* The code of a value: rint(x / step) - origin, within +-LIMIT; of a NaN, which is refused elsewhere, any. */
__device__ __forceinline__ short code_of(double x, double inverse_step, double origin)
{
    double steps = rint(x * inverse_step) - origin;
    steps = steps > -LIMIT ? steps : -LIMIT;
    steps = steps < LIMIT ? steps : LIMIT;
    return (short)(int)steps;
}

/* Add a value, times a power of two below 2^32, to a sum of two words, whose carry is left to whoever reads it. */
__device__ __forceinline__ void add_to_words(word *high, word *low, int64 value, int shift)
{
    const word moved = ((word)value & 0xffffffffull) << shift;
    if (value) {
        atomicAdd(low, moved & 0xffffffffull);
        atomicAdd(high, ((word)(value >> 32) << shift) + (moved >> 32));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) qckm_columns(
    const number *__restrict__ x, int64 rows, int64 row_stride, int64 feature_stride, const int64 *__restrict__ weights,
    const double *__restrict__ inverse_steps, const double *__restrict__ origins, int n, const short2 *__restrict__ pairs,
    int n_pairs, word *__restrict__ high, word *__restrict__ low)
{
    extern __shared__ int64 sums[]; /* [1 + WEIGHTED][groups][items] */
    __shared__ short codes[ROWS][COLUMNS + 1];
    __shared__ int64 heavy[ROWS];
    const int first = blockIdx.y * COLUMNS, width = min(COLUMNS, n - first), items = 2 * width + n_pairs;
    const int groups = max(1, THREADS / items), group = threadIdx.x / items, slots = groups * items;
    const bool works = items > THREADS || group < groups; /* of more sums than threads, each thread has several */
    const int mine = items > THREADS ? threadIdx.x : threadIdx.x % items, which = items > THREADS ? 0 : group;
    for (int i = threadIdx.x; i < (1 + WEIGHTED) * slots; i += THREADS)
        sums[i] = 0;
    int since = 0;
    for (int64 start = (int64)blockIdx.x * ROWS; start < rows; start += (int64)gridDim.x * ROWS) {
        const int height = (int)min((int64)ROWS, rows - start);
        __syncthreads(); /* the codes before have been read, and sums are 0 */
        for (int i = threadIdx.x; i < height * width; i += THREADS) {
            const int r = i / width, k = i % width, feature = first + k;
            const double value = real_of(x[(start + r) * row_stride + feature * feature_stride]);
            codes[r][k] = code_of(value, inverse_steps[feature], origins[feature]);
        }
        for (int r = threadIdx.x; r < height; r += THREADS) {
            codes[r][width] = 1;
            heavy[r] = WEIGHTED ? weights[start + r] : 1;
        }
        __syncthreads();
        const bool flush = WEIGHTED && ++since == TILES_BETWEEN;
        for (int item = mine; works && item < items; item += THREADS) {
            int a = item, b = width, place = first + item; /* the sum of a column: its products with ones */
            if (item >= 2 * width) {
                a = pairs[item - 2 * width].x;
                b = pairs[item - 2 * width].y;
                place = 2 * n + item - 2 * width;
            } else if (item >= width) {
                a = b = item - width;
                place = n + first + a;
            }
            int64 total = 0, upper = 0;
            for (int r = which; r < height; r += groups) {
                const int64 product = (int)codes[r][a] * (int)codes[r][b];
                if (WEIGHTED) {
                    total += product * (heavy[r] & ((1 << LOW_BITS) - 1));
                    upper += product * (heavy[r] >> LOW_BITS);
                } else {
                    total += product;
                }
            }
            int64 *const own = sums + which * items + item;
            own[0] += total;
            if (WEIGHTED)
                own[slots] += upper;
            if (flush) {
                add_to_words(high + place, low + place, own[0], 0);
                add_to_words(high + place, low + place, own[WEIGHTED * slots], LOW_BITS);
                own[0] = own[WEIGHTED * slots] = 0;
            }
        }
        since = flush ? 0 : since;
    }
    for (int item = mine; works && item < items; item += THREADS) {
        const int place = item < width ? first + item : item < 2 * width ? n + first + item - width : 2 * n + item - 2 * width;
        const int64 *const own = sums + which * items + item;
        add_to_words(high + place, low + place, own[0], 0);
        if (WEIGHTED)
            add_to_words(high + place, low + place, own[slots], LOW_BITS);
    }
}

/*
 * Rows on a GPU to sums or bits: the integers of kernels/reference.py, by int8 tensor cores.
 *
 * A phase is D + sum over k of q[k] W[k] modulo 2^24, codes q and frequencies W being 16-bit numbers. Both are split into
 * bytes, W = 256 wh + wl with wl in [-128, 127], and q = 256 qh + ql + 128, where 128 sum(W) goes into D. Then
 *
 *     phase = D + 2^16 sum(qh wh) + 2^8 sum(qh wl + ql wh) + sum(ql wl),
 *
 * three matrix products of signed bytes with int32 sums, which wrap as phases do. A warp multiplies 16 frequencies by
 * 8 rows at a time (mma.sync): "steps" are 16 features, "tiles" 16 frequencies, "groups" 8 rows.
 *
 * A block holds the frequencies of its tiles in shared memory and walks through the rows, ROWS at a time: it codes the
 * next ones while it measures these. Compiled for each shape; cuda/programs.py says what the capitals stand for.
 */

typedef NUMBER number;
typedef REAL real; /* what codes are computed in: float where that is exact, else double */
typedef long long int64;


#define THREADS (32 * WARPS)
#define SLOTS (FEATURES + AGAIN)
#define SHORT (SLOTS <= 16)                /* one step of 16 features does; else steps are of 32 */
#define STEPS (SHORT ? 1 : (SLOTS + 31) / 32)
#define STEP_SLOTS (SHORT ? 16 : 32)
#define SPARE (SLOTS + 2 <= STEPS * STEP_SLOTS) /* two slots are left for the dither: W = D >> 8 and D & 255 of codes 256 and 1 */
#define WORDS ((SLOTS + (SPARE ? 2 : 0) + 3) / 4) /* of four codes, those of a row that are not all padding */
#define STEP_WORDS (SHORT ? 8 : 16)       /* of a row: low and high bytes of its codes */
#define ROW_WORDS (SHORT ? 8 : 16 * (STEPS | 1)) /* an odd multiple of a step's: no bank conflicts */
#define STEP_LOADS (SHORT ? 1 : 2)        /* of 16 bytes a lane: what a step's frequencies take */
#define FEW_STEPS 2
#define BLOCK_TILES (WARPS * TILES)
#define GROUPS (2 * HALVES)               /* a warp takes 16 * HALVES rows at a time */

constexpr int steps_at_once = STEPS <= FEW_STEPS ? STEPS : 2;

struct bounds { real lower[4], upper[4]; };

#define INFINITY __int_as_float(0x7f800000)

#if HALF == 1 /* number is the bits of a float16, here of a bfloat16 */
__device__ __forceinline__ real real_of(number x) { return (real)__uint_as_float((unsigned)x << 16); }
#elif HALF == 2
__device__ __forceinline__ real real_of(number x)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return (real)value;
}
#else
__device__ __forceinline__ real real_of(number x) { return (real)x; }
#endif

/* An integer that sorts as the number does. */
__device__ __forceinline__ unsigned long long sortable(double x)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}

/* s += a b of 16 frequencies (a), 8 rows (b) and 16 features. */
__device__ __forceinline__ void multiply_16(int (&s)[4], unsigned a0, unsigned a1, unsigned b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(a0), "r"(a1), "r"(b));
}

/* The same of 32 features. */
__device__ __forceinline__ void multiply_32(int (&s)[4], uint4 a, unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

#if SHORT
/* A lane's part of a step: 16 frequencies, high bytes and low bytes; 8 rows, low bytes and high bytes. */
struct left { uint4 both; };
typedef uint2 right;

__device__ __forceinline__ left left_of(const uint4 *w, int lane) { return {w[lane]}; }

/* s += the products of high bytes; of high with low and low with high bytes; of low bytes. */
__device__ __forceinline__ void high(int (&s)[4], const left &a, const right &b) { multiply_16(s, a.both.x, a.both.y, b.y); }
__device__ __forceinline__ void cross(int (&s)[4], const left &a, const right &b) { multiply_32(s, a.both, b.x, b.y); }
__device__ __forceinline__ void low(int (&s)[4], const left &a, const right &b) { multiply_16(s, a.both.z, a.both.w, b.x); }
#else
struct left { uint4 high, low; };
typedef uint4 right;

__device__ __forceinline__ left left_of(const uint4 *w, int lane) { return {w[lane], w[lane + 32]}; }

__device__ __forceinline__ void high(int (&s)[4], const left &a, const right &b) { multiply_32(s, a.high, b.z, b.w); }
__device__ __forceinline__ void cross(int (&s)[4], const left &a, const right &b)
{
    multiply_32(s, a.high, b.x, b.y);
    multiply_32(s, a.low, b.z, b.w);
}
__device__ __forceinline__ void low(int (&s)[4], const left &a, const right &b) { multiply_32(s, a.low, b.x, b.y); }
#endif

__device__ __forceinline__ right right_of(const unsigned *coded, int row, int step, int t)
{
    return *(const right *)&coded[row * ROW_WORDS + step * STEP_WORDS + t * (STEP_WORDS / 4)];
}

struct coder { /* of the four slots of a word, in shared memory */
    real inverse_step[4], least[4], greatest[4]; /* value of a code, that is within reach */
    real whole_origin[4];                        /* in steps */
#if EXACT_FLOAT
    int origin[4];
#else
    double origin[4];
#endif
};

/* Within half a step, clipping rounds a value to the last code that there is; beyond, it is told. */
__device__ __noinline__ bool is_beyond(double x, double inverse_step, double origin)
{
    return fabs(rint(x * inverse_step) - origin) > QCKM_CODE_LIMIT;
}

/* The code of a value: rint(x / step) - origin, within +-QCKM_CODE_LIMIT; `outside` is not 0 where x was moved for that. */
__device__ __forceinline__ unsigned code_of(real x, const coder &c, int j, unsigned &outside)
{
    const real near = min(max(x, c.least[j]), c.greatest[j]);
#if EXACT_FLOAT
    /* 1.5 * 2^23 more, a float's last bit is a whole step. Its bits are in `origin`, too. */
    outside |= __float_as_uint(near) ^ __float_as_uint(x);
    return (unsigned)(__float_as_int(fmaf(near, c.inverse_step[j], 12582912.0f)) - c.origin[j]);
#else
    outside |= near != x;
    return (unsigned)(int)(rint(near * c.inverse_step[j]) - c.origin[j]);
#endif
}

/* Four slots of a row, always the same ones, are a thread's; of the rows of a tile it has as many as it takes. */
#define HEIGHT (THREADS / WORDS)
#define TURNS ((ROWS + HEIGHT - 1) / HEIGHT)
#if CONTIGUOUS
#define OFFSET(j) (4 * word + j)
#else
#define OFFSET(j) offset[j]
#endif

struct __align__(VECTOR * sizeof(number)) vector { number values[VECTOR]; };

struct reader {
    const number *x;
    const int64 *weights;
    int64 rows, row_stride;
#if !CONTIGUOUS
    int64 offset[4]; /* of the slots' features, in a row */
#endif

    /* Read a thread's part of the tile that begins with a row: far ahead of its use, as that takes long. */
    template <bool whole> __device__ __forceinline__ void read_tile(number (&values)[TURNS][4], int64 first) const
    {
        const int word = threadIdx.x % WORDS;
        const number *const begin = x + (first + threadIdx.x / WORDS) * (CONTIGUOUS ? FEATURES : row_stride);
#pragma unroll
        for (int turn = 0; turn < TURNS; turn++) {
            const int r = threadIdx.x / WORDS + turn * HEIGHT;
            const number *const row = begin + turn * HEIGHT * (CONTIGUOUS ? FEATURES : row_stride);
            if (threadIdx.x >= HEIGHT * WORDS || (turn == TURNS - 1 && r >= ROWS) || (!whole && first + r >= rows))
                continue;
#pragma unroll
            for (int j = 0; j < 4; j += VECTOR)
                if (4 * word + j < SLOTS)
                    *(vector *)&values[turn][j] = *(const vector *)(row + OFFSET(j));
        }
    }

    __device__ __forceinline__ void read(number (&values)[TURNS][4], int64 first) const
    {
        if (first + ROWS <= rows)
            read_tile<true>(values, first);
        else
            read_tile<false>(values, first);
    }
};

/*
 * Code what was read of the tile that begins with a row into shared memory; return whether a row may have been clipped,
 * and flag those that were. `whole`: none of the tile's rows is beyond the last.
 */
template <bool whole> __device__ __forceinline__ bool code(
    unsigned *coded, unsigned char *flags, int64 *heavy, const number (&values)[TURNS][4], const reader &source, int64 first,
    const coder &shared_how, bounds &seen, real &finite)
{
    const int word = threadIdx.x % WORDS;
    const coder how = shared_how;
    bool some_outside = false;
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) {
        const int r = threadIdx.x / WORDS + turn * HEIGHT;
        if (threadIdx.x >= HEIGHT * WORDS || (turn == TURNS - 1 && r >= ROWS))
            continue;
        unsigned codes[4], outside = 0;
        const bool there = whole || first + r < source.rows; /* beyond the last row, codes are 0 */
        const bool counts = there && (!WEIGHTED || source.weights[first + r] > 0); /* weight 0 must not widen the bounds */
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int slot = 4 * word + j;
            const real value = real_of(values[turn][j]); /* 0 where there is no feature */
            if (counts) {
                seen.lower[j] = min(value, seen.lower[j]);
                seen.upper[j] = max(value, seen.upper[j]);
            }
            finite += there ? value * (real)0 : (real)0; /* NaN once a value is NaN or infinite */
            codes[j] = code_of(value, how, j, outside);
            if (!there)
                codes[j] = 0;
            if (SPARE && slot >= SLOTS)
                codes[j] = slot == SLOTS ? 256 + 128 : 1 + 128;
        }
        if (there && outside) {
            some_outside = true;
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (4 * word + j < SLOTS && is_beyond((double)real_of(values[turn][j]), how.inverse_step[j], how.whole_origin[j]))
                    flags[r] = 1;
        }
        const unsigned a = __byte_perm(codes[0], codes[1], 0x5140), b = __byte_perm(codes[2], codes[3], 0x5140);
        const unsigned low = __byte_perm(a, b, 0x5410) ^ 0x80808080u, high = __byte_perm(a, b, 0x7632);
#if SHORT
        *(uint2 *)&coded[r * ROW_WORDS + 2 * word] = make_uint2(low, high);
#else
        unsigned *const place = &coded[r * ROW_WORDS + word / 8 * 16 + word % 4 * 4 + word / 4 % 2];
        place[0] = low;
        place[2] = high;
#endif
    }
#if WEIGHTED
    for (int r = threadIdx.x; r < ROWS; r += THREADS)
        heavy[r] = first + r < source.rows ? source.weights[first + r] : 0;
#endif
    return some_outside;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) qckm_rows(
    const number *__restrict__ x, int64 rows, int64 row_stride, int64 feature_stride, const int64 *__restrict__ weights,
    const double *__restrict__ inverse_steps, const double *__restrict__ origins, const int *__restrict__ again,
    const uint4 *__restrict__ frequencies, const int2 *__restrict__ dithers, const int *__restrict__ table,
    unsigned long long *__restrict__ totals, unsigned long long *__restrict__ saturated, unsigned long long *__restrict__ lower,
    unsigned long long *__restrict__ upper, int *__restrict__ not_finite, unsigned char *__restrict__ bits, int64 bits_stride, int m)
{
    extern __shared__ __align__(16) unsigned char memory[];
    uint4 *const w = (uint4 *)memory;                                         /* [tile][step][load][lane] */
    int2 *const d = (int2 *)(w + BLOCK_TILES * STEPS * STEP_LOADS * 32);                   /* [tile][8]: of frequencies g and g + 8 */
    unsigned *const coded = (unsigned *)(d + BLOCK_TILES * 8);                /* [2][ROWS][ROW_WORDS] */
    int64 *const heavy = (int64 *)(coded + 2 * ROWS * ROW_WORDS);             /* [2][ROWS] */
    int *const entries = (int *)(heavy + (WEIGHTED ? 2 * ROWS : 0));          /* [4096]: a signature and its pair */
    coder *const coders = (coder *)(entries + (LOOKUP ? 4096 : 0));              /* [WORDS] */
    unsigned char *const flags = (unsigned char *)(coders + WORDS);           /* [2][ROWS]: clipped */

    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
    const int first_tile = blockIdx.y * BLOCK_TILES;
    for (int i = threadIdx.x; i < BLOCK_TILES * STEPS * STEP_LOADS * 32; i += THREADS)
        w[i] = frequencies[(int64)first_tile * STEPS * STEP_LOADS * 32 + i];
    for (int i = threadIdx.x; i < BLOCK_TILES * 8; i += THREADS)
        d[i] = dithers[first_tile * 8 + i];
    for (int i = threadIdx.x; i < 2 * ROWS * ROW_WORDS; i += THREADS)
        coded[i] = 0;
    for (int i = threadIdx.x; i < 2 * ROWS; i += THREADS)
        flags[i] = 0;
#if LOOKUP
    for (int i = threadIdx.x; i < 4096; i += THREADS)
        entries[i] = table[i];
#endif

    bounds seen;
    reader source = {x, weights, rows, row_stride};
    coder &how = coders[threadIdx.x % WORDS];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int slot = min(4 * (int)(threadIdx.x % WORDS) + j, SLOTS - 1);
        const int feature = slot < FEATURES ? slot : again[slot - FEATURES];
        const double inverse = inverse_steps[feature], origin = origins[feature];
#if !CONTIGUOUS
        source.offset[j] = feature * feature_stride;
#endif
        const bool none = 4 * (int)(threadIdx.x % WORDS) + j >= SLOTS;
        how.inverse_step[j] = none ? (real)1 : (real)inverse;
        how.least[j] = none ? (real)0 : (real)((origin - QCKM_CODE_LIMIT) / inverse);
        how.greatest[j] = none ? (real)0 : (real)((origin + QCKM_CODE_LIMIT) / inverse);
        how.whole_origin[j] = none ? (real)0 : (real)origin;
#if EXACT_FLOAT
        how.origin[j] = 0x4b400000 + (none ? 0 : (int)origin); /* the bits of 1.5 * 2^23 */
#else
        how.origin[j] = none ? 0.0 : origin;
#endif
        seen.lower[j] = (real)INFINITY;
        seen.upper[j] = (real)-INFINITY;
    }
    real finite = 0;
    int64 n_clipped = 0;

    SUM first_sum[TILES][2], second_sum[TILES][2];
#pragma unroll
    for (int i = 0; i < TILES; i++)
        first_sum[i][0] = first_sum[i][1] = second_sum[i][0] = second_sum[i][1] = 0;
    __syncthreads();

    const int64 n_tiles = (rows + ROWS - 1) / ROWS;
    int now = 0, since_flush = 0;
    int64 tile = blockIdx.x;
    number values[TURNS][4];
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            values[turn][j] = 0;
    bool some_outside = false;
    if (tile < n_tiles) {
        source.read(values, tile * ROWS);
        some_outside = code<false>(coded, flags, heavy, values, source, tile * ROWS, how, seen, finite);
    }
    bool any_outside = __syncthreads_or(some_outside);
    for (; tile < n_tiles; tile += gridDim.x, now ^= 1) {
        const int64 next = tile + gridDim.x;
        if (next < n_tiles)
            source.read(values, next * ROWS);
        if (any_outside)
            for (int r = threadIdx.x; r < ROWS; r += THREADS)
                if (flags[now * ROWS + r]) {
                    n_clipped += WEIGHTED ? heavy[now * ROWS + r] : 1;
                    flags[now * ROWS + r] = 0;
                }
        const unsigned *const here = coded + now * ROWS * ROW_WORDS;
#pragma unroll 1
        for (int row = 0; row < ROWS; row += 16 * HALVES) {
#if STEPS <= FEW_STEPS
            right held[GROUPS][STEPS];
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
#pragma unroll
                for (int k = 0; k < STEPS; k++)
                    held[group][k] = right_of(here, row + 8 * group + g, k, t);
#endif
#pragma unroll
            for (int i = 0; i < TILES; i++) {
                const int mine = warp * TILES + i;
                const int2 dither = d[mine * 8 + g];
                unsigned phase[GROUPS][4]; /* of rows 2t and 2t + 1, frequencies g, then g + 8 */
#if STEPS <= FEW_STEPS && !SPARE
                /* Add up from the high bytes down, in place, and the dither on the way. */
                left a[STEPS];
#pragma unroll
                for (int k = 0; k < STEPS; k++)
                    a[k] = left_of(w + (mine * STEPS + k) * STEP_LOADS * 32, lane);
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    int s[4] = {0, 0, 0, 0};
#pragma unroll
                    for (int k = 0; k < STEPS; k++)
                        high(s, a[k], held[group][k]);
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        s[j] = (int)((unsigned)s[j] * 256u);
#pragma unroll
                    for (int k = 0; k < STEPS; k++)
                        cross(s, a[k], held[group][k]);
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        s[j] = (int)((unsigned)s[j] * 256u + (unsigned)(j < 2 ? dither.x : dither.y));
#pragma unroll
                    for (int k = 0; k < STEPS; k++)
                        low(s, a[k], held[group][k]);
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        phase[group][j] = (unsigned)s[j];
                }
#else
                int s0[GROUPS][4], s1[GROUPS][4], s2[GROUPS][4];
#pragma unroll
                for (int group = 0; group < GROUPS; group++)
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        s0[group][j] = SPARE ? 0 : j < 2 ? dither.x : dither.y;
                        s1[group][j] = s2[group][j] = 0;
                    }
#pragma unroll steps_at_once
                for (int k = 0; k < STEPS; k++) {
                    const left a = left_of(w + (mine * STEPS + k) * STEP_LOADS * 32, lane);
#pragma unroll
                    for (int group = 0; group < GROUPS; group++) {
#if STEPS <= FEW_STEPS
                        const right b = held[group][k];
#else
                        const right b = right_of(here, row + 8 * group + g, k, t);
#endif
                        high(s2[group], a, b);
                        cross(s1[group], a, b);
                        low(s0[group], a, b);
                    }
                }
#pragma unroll
                for (int group = 0; group < GROUPS; group++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        phase[group][j] = (unsigned)s2[group][j] * 65536u + ((unsigned)s1[group][j] * 256u + (unsigned)s0[group][j]);
#endif
#if ENCODE
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    unsigned byte = 0; /* rows 2t, 2t + 1 of frequencies 0 to 7; the same of 8 to 15 */
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        byte |= (phase[group][j] >> (QCKM_TURN_BITS - 1) & 1u) << (8 * j + g);
#pragma unroll
                    for (int step = 4; step < 32; step *= 2)
                        byte |= __shfl_xor_sync(~0u, byte, step);
                    const int64 at = tile * ROWS + row + 8 * group + 2 * t + (g & 1);
                    const int place = 2 * (first_tile + mine) + (g >> 1);
                    const int which = (g & 1) + 2 * (g >> 1);
                    if (g < 4 && at < rows && 8 * place < m)
                        bits[at * bits_stride + place] = (unsigned char)((byte >> (8 * which)) & (m - 8 * place >= 8 ? 255u : (1u << (m - 8 * place)) - 1u));
                }
#elif LOOKUP
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
#if WEIGHTED
                    const longlong2 load = *(const longlong2 *)&heavy[now * ROWS + row + 8 * group + 2 * t];
#endif
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        const int entry = entries[phase[group][j] >> (QCKM_TURN_BITS - QCKM_TABLE_BITS) & 4095u];
                        const SUM first = (short)entry, second = entry >> 16;
#if WEIGHTED
                        const SUM times = j & 1 ? load.y : load.x;
#else
                        const SUM times = 1;
#endif
                        first_sum[i][j >> 1] += times * first;
                        if (PAIRED)
                            second_sum[i][j >> 1] += times * second;
                    }
                }
#else
                /* Dithers are a quarter turn on: a row's bit is bit 23 of the phase, its pair's that xor bit 22. Both bits
                   of 16 rows fill a word, and two population counts do for all. */
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    unsigned quadrants = 0;
#pragma unroll
                    for (int q = 0; q < HALVES; q++) {
                        const unsigned a = __byte_perm(phase[2 * q][2 * half], phase[2 * q][2 * half + 1], 0x0062);
                        const unsigned b = __byte_perm(phase[2 * q + 1][2 * half], phase[2 * q + 1][2 * half + 1], 0x0062);
                        const unsigned top = __byte_perm(a, b, 0x5410);
                        quadrants = (quadrants >> 2 & 0x3f3f3f3fu) | (top & 0xc0c0c0c0u);
                    }
                    first_sum[i][half] += __popc(quadrants & 0xaaaaaaaau);
                    if (PAIRED)
                        second_sum[i][half] += __popc((quadrants ^ quadrants << 1) & 0xaaaaaaaau);
                }
#endif
            }
        }
        since_flush += ROWS / 4; /* rows of a thread */
        const bool last = next >= n_tiles;
        if (!ENCODE && (last || (LOOKUP && !WEIGHTED && since_flush > 65000 - ROWS / 4))) {
            since_flush = 0;
#pragma unroll
            for (int i = 0; i < TILES; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int64 a = (int64)first_sum[i][half], b = (int64)second_sum[i][half];
                    first_sum[i][half] = second_sum[i][half] = 0;
#pragma unroll
                    for (int step = 1; step < 4; step *= 2) {
                        a += __shfl_xor_sync(~0u, a, step);
                        b += __shfl_xor_sync(~0u, b, step);
                    }
                    const int j = (first_tile + warp * TILES + i) * 16 + 8 * half + g;
                    if (t == 0 && j < m) {
                        atomicAdd(totals + j, (unsigned long long)a);
                        if (PAIRED)
                            atomicAdd(totals + m + j, (unsigned long long)b);
                    }
                }
        }
        some_outside = false;
        if (next < n_tiles) {
            unsigned *const there = coded + (now ^ 1) * ROWS * ROW_WORDS;
            unsigned char *const flagged = flags + (now ^ 1) * ROWS;
            int64 *const weighed = heavy + (now ^ 1) * ROWS;
            if ((next + 1) * ROWS <= rows)
                some_outside = code<true>(there, flagged, weighed, values, source, next * ROWS, how, seen, finite);
            else
                some_outside = code<false>(there, flagged, weighed, values, source, next * ROWS, how, seen, finite);
        }
        any_outside = __syncthreads_or(some_outside);
    }

    if (blockIdx.y != 0) /* every column of blocks has seen all rows */
        return;
    if (n_clipped)
        atomicAdd(saturated, (unsigned long long)n_clipped);
    if (!(finite == (real)0))
        *not_finite = 1;
    bounds *const all = (bounds *)memory;
    all[threadIdx.x] = seen;
    __syncthreads();
    for (int slot = threadIdx.x; slot < SLOTS; slot += THREADS) {
        real least = (real)INFINITY, greatest = (real)-INFINITY;
        for (int i = slot / 4; i < THREADS / WORDS * WORDS; i += WORDS) {
            least = min(least, all[i].lower[slot % 4]);
            greatest = max(greatest, all[i].upper[slot % 4]);
        }
        if (slot < FEATURES && least <= greatest) {
            atomicMin(lower + slot, sortable((double)least));
            atomicMax(upper + slot, sortable((double)greatest));
        }
    }
}

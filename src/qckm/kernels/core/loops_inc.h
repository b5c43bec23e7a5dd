/*
 * All loops over floats, for the instruction set that this is compiled for; LOOPS names the table of them.
 *
 * Unlike the kernels', these results may differ in their last digits from one CPU to another: sums are added up in any
 * order and products are fused, as vector instructions do it best. NaN and infinity stay what they are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "loops.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__) /* unrolls short loops unasked, and only then soon enough for the loops around them to become vectors */
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

INLINE double within(double x, double low, double high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

static double *allocate(int64_t numbers)
{
    return malloc((size_t)(numbers ? numbers : 1) * sizeof(double));
}

static double dot(const double *restrict a, const double *restrict b, int64_t size)
{
    double total = 0;
    for (int64_t i = 0; i < size; i++) {
        total += a[i] * b[i];
    }
    return total;
}

/* to += factor * what */
static void add(double *restrict to, double factor, const double *restrict what, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        to[i] += factor * what[i];
    }
}

#include "waves_inc.h"

#include "climbing_inc.h"

#include "quasi_newton_inc.h"

#include "fitting_inc.h"

#include "nearest_inc.h"

#include "panels_inc.h"

#include "plus_plus_inc.h"

#include "lloyd_inc.h"

const qckm_loops LOOPS = {atoms, misfit, ascend, correlation, fit, match, nearest, plus_plus, lloyd};

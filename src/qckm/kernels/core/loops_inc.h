/*
 * All loops over floats, for the instruction set that this is compiled for; QCKM_LOOPS names the table of them.
 *
 * Results are the same to the last bit for every instruction set, compiler and CPU whose doubles are IEEE 754: what is added up
 * is added up in an order that does not depend on the width of vectors (lanes.h), no product is fused with a sum, and
 * of the C library only what is exact is called (sqrt, frexp, ldexp, fabs, rint): exp, log, sine and cosine are ours.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "lanes.h"
#include "loops.h"

QCKM_INLINE int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

QCKM_INLINE double within(double x, double low, double high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

static double *allocate(int64_t numbers)
{
    return malloc((size_t)(numbers ? numbers : 1) * sizeof(double));
}

/* to += factor * what */
static void add(double *restrict to, double factor, const double *restrict what, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        to[i] += factor * what[i];
    }
}

#include "elementary_inc.h"

#include "waves_inc.h"

#include "climbing_inc.h"

#include "quasi_newton_inc.h"

#include "fitting_inc.h"

#include "nearest_inc.h"

#include "screening_inc.h"

#include "panels_inc.h"

#include "plus_plus_inc.h"

#include "lloyd_inc.h"

#include "signs_inc.h"

#include "algebra_inc.h"

#include "solving_inc.h"

const qckm_loops QCKM_LOOPS = {atoms, misfit, ascend, correlation, fit, match, nearest, screen, plus_plus, lloyd, pack_signs,
    multiply_signs, multiply_values, multiply_columns_of_values, multiply, map, solve};

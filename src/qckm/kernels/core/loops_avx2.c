/* Loops over floats for x86 with AVX2 and fused multiplication. */
#if defined(__x86_64__)
#define LOOPS qckm_avx2_loops
#include "loops_inc.h"
#endif

/* Loops over floats for x86 with AVX2. */
#if defined(__x86_64__)
#define QCKM_LOOPS qckm_avx2_loops
#include "loops_inc.h"
#endif

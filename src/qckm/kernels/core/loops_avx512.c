/* Loops over floats for x86 with AVX-512. */
#if defined(__x86_64__)
#define QCKM_LOOPS qckm_avx512_loops
#include "loops_inc.h"
#endif

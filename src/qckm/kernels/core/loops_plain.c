/* Loops over floats for any CPU: SSE2 on every x86-64, NEON on ARM. */
#define QCKM_LOOPS qckm_plain_loops
#include "loops_inc.h"

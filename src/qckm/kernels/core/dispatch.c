/* Which instruction set is used: the best that this CPU has, or one that was asked for. */
#include <string.h>

#include "kernel.h"

#if defined(__x86_64__)
static int has_vnni(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

static int has_ssse3(void)
{
    return __builtin_cpu_supports("ssse3");
}
#endif

static int always(void)
{
    return 1;
}

/* The best first. */
static const struct {
    const qckm_set *set;
    int (*supported)(void);
} SETS[] = {
#if defined(__x86_64__)
    {&qckm_avx512vnni, has_vnni},
    {&qckm_avx512, has_avx512},
    {&qckm_avx2, has_avx2},
    {&qckm_ssse3, has_ssse3},
#elif defined(__aarch64__)
    {&qckm_neon, always},
#endif
    {&qckm_plain, always},
};

/* Threads that ask for it at once find the same. */
static _Atomic(const qckm_set *) in_use;

const qckm_set *qckm_set_in_use(void)
{
    const qckm_set *set = in_use;
    for (size_t i = 0; !set; i++) {
        set = SETS[i].supported() ? SETS[i].set : NULL;
    }
    in_use = set;
    return set;
}

/* The name of the instruction set in use. */
const char *qckm_instructions(void)
{
    return qckm_set_in_use()->name;
}

/* Use an instruction set by its name; return 1, or 0 where this CPU, or this library, does not have it. */
int qckm_use(const char *instructions)
{
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++) {
        if (!strcmp(SETS[i].set->name, instructions)) {
            if (!SETS[i].supported()) {
                return 0;
            }
            in_use = SETS[i].set;
            return 1;
        }
    }
    return 0;
}

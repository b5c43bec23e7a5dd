/* Which instruction set is used: the best that this CPU has, or one that was asked for. */
#include <string.h>

#include "kernel.h"

int64_t qckm_abi(void)
{
    return QCKM_ABI;
}

#define QCKM_SIZE(name) {#name, (int64_t)sizeof(name)}

int64_t qckm_size_of(const char *structure)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } sizes[] = {QCKM_SIZE(qckm_spec), QCKM_SIZE(qckm_rows), QCKM_SIZE(qckm_summary), QCKM_SIZE(qckm_waves),
        QCKM_SIZE(qckm_clusters), QCKM_SIZE(qckm_slopes), QCKM_SIZE(qckm_rules), QCKM_SIZE(qckm_descent),
        QCKM_SIZE(qckm_fitting), QCKM_SIZE(qckm_ascent), QCKM_SIZE(qckm_points), QCKM_SIZE(qckm_choice),
        QCKM_SIZE(qckm_lloyd), QCKM_SIZE(qckm_signs), QCKM_SIZE(qckm_packing), QCKM_SIZE(qckm_products),
        QCKM_SIZE(qckm_values), QCKM_SIZE(qckm_matrices), QCKM_SIZE(qckm_mapping), QCKM_SIZE(qckm_system),
        QCKM_SIZE(qckm_screening)};
    for (size_t i = 0; structure && i < sizeof sizes / sizeof *sizes; i++) {
        if (!strcmp(sizes[i].name, structure)) {
            return sizes[i].bytes;
        }
    }
    return 0;
}

/* Whether rows are somewhere, and of numbers that are known. */
int qckm_are_rows(const qckm_rows *rows)
{
    return rows && rows->rows >= 0 && (rows->data || !rows->rows) && rows->number >= QCKM_FLOAT32
        && rows->number <= QCKM_UINT64;
}

/* What a set needs: bits of CPUID, ECX of leaf 1, EBX and ECX of leaf 7, and of XCR0, the registers that the system saves. */
typedef struct {
    const qckm_set *set;
    uint32_t first_c, seventh_b, seventh_c, saved;
} candidate;

#if defined(__x86_64__)
#include <cpuid.h>

#define QCKM_AVX512_ALL ((uint32_t)(bit_AVX512F | bit_AVX512DQ | bit_AVX512BW) | (uint32_t)bit_AVX512VL)
enum { AVX_SAVED = 0x06, AVX512_SAVED = 0xE6 };

/* Not __builtin_cpu_supports: it wants a part of the compiler's own library that zig does not have. */
static int is_supported(const candidate *wanted)
{
    uint32_t a, b, c = 0, d, seventh_b = 0, seventh_c = 0, saved = 0; /* leaves that are not there stay 0 */
    (void)__get_cpuid(1, &a, &b, &c, &d);
    (void)__get_cpuid_count(7, 0, &a, &seventh_b, &seventh_c, &d);
    if (c & bit_OSXSAVE) {
        __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    }
    return !(wanted->first_c & ~c) && !(wanted->seventh_b & ~seventh_b) && !(wanted->seventh_c & ~seventh_c)
        && !(wanted->saved & ~saved);
}
#else
static int is_supported(const candidate *wanted)
{
    return wanted->set != NULL;
}
#endif

/* The best first. */
static const candidate SETS[] = {
#if defined(__x86_64__)
    {&qckm_avx512vnni, 0, QCKM_AVX512_ALL, bit_AVX512VNNI, AVX512_SAVED},
    {&qckm_avx512, 0, QCKM_AVX512_ALL, 0, AVX512_SAVED},
    {&qckm_avx2, bit_FMA, bit_AVX2, 0, AVX_SAVED},
    {&qckm_ssse3, bit_SSSE3, 0, 0, 0},
#elif defined(__aarch64__)
    {&qckm_neon, 0, 0, 0, 0},
#endif
    {&qckm_plain, 0, 0, 0, 0},
};

/* Threads that ask for it at once find the same. */
static _Atomic(const qckm_set *) in_use;

const qckm_set *qckm_set_in_use(void)
{
    const qckm_set *set = in_use;
    for (size_t i = 0; !set; i++) {
        set = is_supported(&SETS[i]) ? SETS[i].set : NULL;
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
    for (size_t i = 0; instructions && i < sizeof SETS / sizeof *SETS; i++) {
        if (!strcmp(SETS[i].set->name, instructions) && is_supported(&SETS[i])) {
            in_use = SETS[i].set;
            return 1;
        }
    }
    return 0;
}

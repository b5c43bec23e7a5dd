/*
 * Rows to codes, for one number type: QCKM_REAL, of which a vector holds QCKM_REALS; QCKM_NAMED(x) is x for that type. A code is
 * rint(x * inverse) - origin within +-32767: exact but for the rounding, ties to even (docs/arithmetic.md).
 *
 * Contiguous rows are coded as one sequence, in which features repeat after a period of whole vectors. Rows with gaps
 * between, which are of at least a vector, are coded one after the other; the last vector of each overlaps the one before.
 */
typedef QCKM_REAL QCKM_NAMED(reals) __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef QCKM_NAMED(integer) QCKM_NAMED(masks) __attribute__((vector_size(QCKM_VECTOR_BYTES)));
typedef int32_t QCKM_NAMED(words) __attribute__((vector_size(4 * QCKM_REALS)));
typedef int16_t QCKM_NAMED(halves) __attribute__((vector_size(2 * QCKM_REALS)));

QCKM_INLINE QCKM_NAMED(reals) QCKM_NAMED(choose)(QCKM_NAMED(masks) mask, QCKM_NAMED(reals) yes, QCKM_NAMED(reals) no)
{
#if defined(QCKM_SELECT)
    return QCKM_SELECTED(no, yes, (QCKM_NAMED(reals))mask);
#else
    return (QCKM_NAMED(reals))(((QCKM_NAMED(masks))yes & mask) | ((QCKM_NAMED(masks))no & ~mask));
#endif
}

/* The nearest whole numbers, ties to even. */
QCKM_INLINE QCKM_NAMED(reals) QCKM_NAMED(round)(QCKM_NAMED(reals) x)
{
#if defined(QCKM_ROUND)
    return QCKM_ROUNDED(x);
#else
    /* The sum has no room for a fraction: it is rounded as sums are, ties to even. Larger numbers have no fraction. */
    const QCKM_NAMED(reals) none = {0}, magic = QCKM_NAMED(choose)(x < none, none - QCKM_WHOLE, none + QCKM_WHOLE);
    return QCKM_NAMED(choose)((x < QCKM_WHOLE) & (x > -QCKM_WHOLE), x + magic - magic, x);
#endif
}

/* Code a vector; bounds are narrowed to what was seen, and what was clipped is marked. */
QCKM_INLINE void QCKM_NAMED(code_vector)(const char *from, const QCKM_REAL *inverse, const QCKM_REAL *origin,
    QCKM_REAL *lower, QCKM_REAL *upper,
    int16_t *codes, QCKM_NAMED(masks) *clipped)
{
    const QCKM_NAMED(reals) least = (QCKM_REAL)-QCKM_CODE_LIMIT - (QCKM_NAMED(reals)){0}, greatest = -least;
    QCKM_NAMED(reals) x, scale, start, low, high, steps, within;
    QCKM_NAMED(words) wide;
    QCKM_NAMED(halves) narrow;
    memcpy(&x, from, sizeof x);
    memcpy(&scale, inverse, sizeof x);
    memcpy(&start, origin, sizeof x);
    memcpy(&low, lower, sizeof x);
    memcpy(&high, upper, sizeof x);
    steps = QCKM_NAMED(round)(x * scale) - start;
    within = QCKM_NAMED(choose)(steps > least, steps, least); /* of a NaN, the least */
    within = QCKM_NAMED(choose)(within < greatest, within, greatest);
    *clipped |= within != steps;
    wide = __builtin_convertvector(within, QCKM_NAMED(words));
    narrow = __builtin_convertvector(wide, QCKM_NAMED(halves));
    memcpy(codes, &narrow, sizeof narrow);
    low = QCKM_NAMED(choose)(x < low, x, low);
    high = QCKM_NAMED(choose)(x > high, x, high);
    memcpy(lower, &low, sizeof x);
    memcpy(upper, &high, sizeof x);
}

/* The same for so few numbers that they are no vector. */
QCKM_INLINE void QCKM_NAMED(code_few)(const char *from, const QCKM_REAL *inverse, const QCKM_REAL *origin,
    QCKM_REAL *lower, QCKM_REAL *upper,
    int16_t *codes, int64_t count, QCKM_NAMED(masks) *clipped)
{
    QCKM_REAL numbers[5][QCKM_REALS] = {{0}};
    int16_t coded[QCKM_REALS];
    const size_t size = (size_t)count * sizeof(QCKM_REAL);
    memcpy(numbers[0], from, size);
    memcpy(numbers[1], inverse, size);
    memcpy(numbers[2], origin, size);
    memcpy(numbers[3], lower, size);
    memcpy(numbers[4], upper, size);
    QCKM_NAMED(code_vector)((const char *)numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], coded, clipped);
    memcpy(lower, numbers[3], size);
    memcpy(upper, numbers[4], size);
    memcpy(codes, coded, (size_t)count * sizeof *codes);
}

static int QCKM_NAMED(code)(const qckm_coding *coding, const qckm_room *room, const char *data, int64_t rows,
    int64_t row_bytes, int64_t n, int16_t *codes)
{
    const QCKM_REAL *const inverse = coding->inverse, *const origin = coding->origin;
    QCKM_REAL *const lower = room->lower, *const upper = room->upper;
    QCKM_NAMED(masks) clipped = {0};
    int any = 0;
    if (row_bytes != n * (int64_t)sizeof(QCKM_REAL) || !coding->whole) {
        for (int64_t r = 0; r < rows; r++, data += row_bytes, codes += n) {
            for (int64_t k = 0; k < n; k += QCKM_REALS) {
                const int64_t at = k + QCKM_REALS <= n ? k : n - QCKM_REALS;
                const char *from = data + at * (int64_t)sizeof(QCKM_REAL);
                QCKM_NAMED(code_vector)(from, inverse + at, origin + at, lower + at, upper + at, codes + at, &clipped);
            }
        }
    } else {
        const int64_t period = coding->period;
        for (int64_t left = rows * n; left > 0; left -= period, codes += period) {
            const int64_t whole = (left < period ? left : period) / QCKM_REALS * QCKM_REALS;
            for (int64_t k = 0; k < whole; k += QCKM_REALS, data += QCKM_VECTOR_BYTES) {
                QCKM_NAMED(code_vector)(data, inverse + k, origin + k, lower + k, upper + k, codes + k, &clipped);
            }
            if (left < period && whole < left) {
                QCKM_NAMED(code_few)(data, inverse + whole, origin + whole, lower + whole, upper + whole, codes + whole,
                    left - whole, &clipped);
            }
        }
    }
    for (int lane = 0; lane < QCKM_REALS; lane++) {
        any |= clipped[lane] != 0;
    }
    return any;
}

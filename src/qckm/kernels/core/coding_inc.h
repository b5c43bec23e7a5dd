/*
 * Rows to codes, for one number type: REAL, of which a vector holds REALS; NAMED(x) is x for that type. A code is
 * rint(x * inverse) - origin within +-32767: exact but for the rounding, ties to even (docs/arithmetic.md).
 *
 * Contiguous rows are coded as one sequence, in which features repeat after a period of whole vectors. Rows with gaps
 * between, which are of at least a vector, are coded one after the other; the last vector of each overlaps the one before.
 */
typedef REAL NAMED(reals) __attribute__((vector_size(VECTOR_BYTES)));
typedef NAMED(integer) NAMED(masks) __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t NAMED(words) __attribute__((vector_size(4 * REALS)));
typedef int16_t NAMED(halves) __attribute__((vector_size(2 * REALS)));

INLINE NAMED(reals) NAMED(choose)(NAMED(masks) mask, NAMED(reals) yes, NAMED(reals) no)
{
#if defined(SELECT)
    return SELECTED(no, yes, (NAMED(reals))mask);
#else
    return (NAMED(reals))(((NAMED(masks))yes & mask) | ((NAMED(masks))no & ~mask));
#endif
}

/* The nearest whole numbers, ties to even. */
INLINE NAMED(reals) NAMED(round)(NAMED(reals) x)
{
#if defined(ROUND)
    return ROUNDED(x);
#else
    /* The sum has no room for a fraction: it is rounded as sums are, ties to even. Larger numbers have no fraction. */
    const NAMED(reals) none = {0}, magic = NAMED(choose)(x < none, none - WHOLE, none + WHOLE);
    return NAMED(choose)((x < WHOLE) & (x > -WHOLE), x + magic - magic, x);
#endif
}

/* Code a vector; bounds are narrowed to what was seen, and what was clipped is marked. */
INLINE void NAMED(code_vector)(const char *from, const REAL *inverse, const REAL *origin, REAL *lower, REAL *upper,
    int16_t *codes, NAMED(masks) *clipped)
{
    const NAMED(reals) least = (REAL)-QCKM_CODE_LIMIT - (NAMED(reals)){0}, greatest = -least;
    NAMED(reals) x, scale, start, low, high, steps, within;
    NAMED(words) wide;
    NAMED(halves) narrow;
    memcpy(&x, from, sizeof x);
    memcpy(&scale, inverse, sizeof x);
    memcpy(&start, origin, sizeof x);
    memcpy(&low, lower, sizeof x);
    memcpy(&high, upper, sizeof x);
    steps = NAMED(round)(x * scale) - start;
    within = NAMED(choose)(steps > least, steps, least); /* of a NaN, the least */
    within = NAMED(choose)(within < greatest, within, greatest);
    *clipped |= within != steps;
    wide = __builtin_convertvector(within, NAMED(words));
    narrow = __builtin_convertvector(wide, NAMED(halves));
    memcpy(codes, &narrow, sizeof narrow);
    low = NAMED(choose)(x < low, x, low);
    high = NAMED(choose)(x > high, x, high);
    memcpy(lower, &low, sizeof x);
    memcpy(upper, &high, sizeof x);
}

/* The same for so few numbers that they are no vector. */
INLINE void NAMED(code_few)(const char *from, const REAL *inverse, const REAL *origin, REAL *lower, REAL *upper,
    int16_t *codes, int64_t count, NAMED(masks) *clipped)
{
    REAL numbers[5][REALS] = {{0}};
    int16_t coded[REALS];
    const size_t size = (size_t)count * sizeof(REAL);
    memcpy(numbers[0], from, size);
    memcpy(numbers[1], inverse, size);
    memcpy(numbers[2], origin, size);
    memcpy(numbers[3], lower, size);
    memcpy(numbers[4], upper, size);
    NAMED(code_vector)((const char *)numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], coded, clipped);
    memcpy(lower, numbers[3], size);
    memcpy(upper, numbers[4], size);
    memcpy(codes, coded, (size_t)count * sizeof *codes);
}

static int NAMED(code)(const qckm_coding *coding, const qckm_room *room, const char *data, int64_t rows,
    int64_t row_bytes, int64_t n, int16_t *codes)
{
    const REAL *const inverse = coding->inverse, *const origin = coding->origin;
    REAL *const lower = room->lower, *const upper = room->upper;
    NAMED(masks) clipped = {0};
    int any = 0;
    if (row_bytes != n * (int64_t)sizeof(REAL) || !coding->whole) {
        for (int64_t r = 0; r < rows; r++, data += row_bytes, codes += n) {
            for (int64_t k = 0; k < n; k += REALS) {
                const int64_t at = k + REALS <= n ? k : n - REALS;
                const char *from = data + at * (int64_t)sizeof(REAL);
                NAMED(code_vector)(from, inverse + at, origin + at, lower + at, upper + at, codes + at, &clipped);
            }
        }
    } else {
        const int64_t period = coding->period;
        for (int64_t left = rows * n; left > 0; left -= period, codes += period) {
            const int64_t whole = (left < period ? left : period) / REALS * REALS;
            for (int64_t k = 0; k < whole; k += REALS, data += VECTOR_BYTES) {
                NAMED(code_vector)(data, inverse + k, origin + k, lower + k, upper + k, codes + k, &clipped);
            }
            if (left < period && whole < left) {
                NAMED(code_few)(data, inverse + whole, origin + whole, lower + whole, upper + whole, codes + whole,
                    left - whole, &clipped);
            }
        }
    }
    for (int lane = 0; lane < REALS; lane++) {
        any |= clipped[lane] != 0;
    }
    return any;
}
